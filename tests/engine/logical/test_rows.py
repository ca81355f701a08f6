"""What a plan's shape says of its rows. The data that break each rule's condition stand beside it, on a real Spark."""

from __future__ import annotations

from typing import Any

import pytest

import planproof
from planproof import Catalog, Conf
from planproof_engine.logical.rows import StoredColumn, rows_of

T, U = "(1, 1, 'a'), (2, 1, 'b'), (2, 2, null), (null, 2, 'b'), (null, null, 'c')", "(1, 1), (1, 2), (2, 1), (null, 1)"
RELATIONS = {"t": f"select * from values {T} as v(id, x, s)", "u": f"select * from values {U} as v(id, y)"}

# A query, and its keys as they are printed: names of columns, sorted.
KEYS: dict[str, list[str]] = {
    "select id, sum(x) as n from t group by id": ["id"],
    "select id, x from t group by id, x": ["id x"],
    "select x, count(*) as n from t group by id, x": [],
    "select lower(s) as k, count(*) as n from t group by 1": ["k"],
    "select id, sum(x) as n from t group by id having n > 1": ["id"],
    "select id, sum(x) as n from t group by id with rollup": [],
    "select id, x, count(*) as n from t group by grouping sets ((id), (x))": [],
    "select abs(id) as id, n from (select id, count(*) as n from t group by id)": [],
    "select id as k, id as l, n from (select id, count(*) as n from t group by id)": ["k", "l"],
    "select count(*) as n from t": [""],
    "select 1 as one": [""],
    "select distinct id, x from t": ["id x"],
    "select id from t union select id from u": ["id"],
    "select id from t intersect select id from u": ["id"],
    "select id from t except all select id from u": [],
    "select id from t union all select id from u": [],
    "select * from (select *, row_number() over (partition by id order by x) as rn from t) where rn = 1": ["id"],
    "select * from (select *, row_number() over (partition by id order by x) as rn from t) where 1 = rn and x > 0": [
        "id"
    ],
    "select * from (select *, row_number() over (partition by id order by x) as rn from t) where rn = 2": [],
    "select * from (select *, row_number() over (partition by id order by x) as rn from t) where rn = 1 or x > 0": [],
    "select * from (select *, rank() over (partition by id order by s is null) as rn from t) where rn = 1": [],
    "select * from (select *, row_number() over (partition by abs(id) order by x) as rn from t) where rn = 1": [],
    "select * from (select id, row_number() over (partition by id, x order by x) as rn from t) where rn = 1": [],
    "select id, x from t qualify row_number() over (partition by id order by x) = 1": ["id"],
    # A join keeps the keys of the side whose rows meet one row of the other at most.
    "select a.id, n from (select id, max(x) as x from t group by id) a left join "
    "(select id, count(*) as n from u group by id) b on a.id = b.id": ["id"],
    "select a.id, y from (select id, max(x) as x from t group by id) a left join u on a.id = u.id": [],
    "select a.id, n from (select id, max(x) as x from t group by id) a right join "
    "(select y, count(*) as n from u group by y) b on a.x = b.y": [],
    "select a.id, n from (select id, max(x) as x from t group by id) a left join "
    "(select id, y, count(*) as n from u group by id, y) b on a.id = b.id": [],
    "select a.id, n from (select id, max(x) as x from t group by id) a left join "
    "(select id, y, count(*) as n from u group by id, y) b on a.id = b.id and b.y = 1": ["id"],
    "select a.id, n from (select id, max(x) as x from t group by id) a left join "
    "(select id, count(*) as n from u group by id) b on a.id = b.id or a.x = b.n": [],
    "select a.id, b.id as other from (select id, max(x) as x from t group by id) a join "
    "(select id, max(y) as y from u group by id) b on a.x = b.id": ["id"],
    "with c as (select id, max(x) as x from t group by id) "
    "select a.id, b.id as other from c a join c b on a.x = b.id": ["id"],
    "select a.id from (select id, max(x) as x from t group by id) a left semi join u on a.x = u.y": ["id"],
    "select id, e from (select id, max(x) as x from t group by id) lateral view explode(array(1, 2)) as e": [],
    "select id, n from (select id, count(*) as n from t group by id) order by n limit 2": ["id"],
}


def catalog() -> Catalog:
    t = [("id", "int", True), ("x", "int", True), ("s", "string", True)]
    return Catalog({"t": t, "u": [("id", "int", True), ("y", "int", True)]})


def planned(sql: str) -> Any:
    return planproof.plan(sql, catalog(), conf=Conf(ansi=False))


@pytest.fixture(scope="module")
def views(spark: Any) -> Any:
    for name, sql in RELATIONS.items():
        spark.sql(f"create or replace temporary view {name} as {sql}")
    yield spark
    for name in RELATIONS:
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize("sql", KEYS)
def test_keys_are_those_that_the_rows_have(sql: str, views: Any) -> None:
    plan = planned(sql)
    names = {c.id: c.name for c in plan.root.output}
    found = sorted(" ".join(sorted(names[i] for i in key)) for key in rows_of(plan.root).keys)
    assert found == sorted(KEYS[sql])
    rows = views.sql(sql).collect()
    for key in found:
        values = [tuple(row[name] for name in key.split()) for row in rows]
        assert len(set(values)) == len(values), (key, rows)


ONCE = StoredColumn("t", "id")
STORED = {
    "select id as k from t": ONCE,
    "select k from (select id as k, x from t order by x)": ONCE,
    "select id as k from t where x > 0": StoredColumn("t", "id", whole=False),
    "select id as k from t limit 3": StoredColumn("t", "id", whole=False),
    "select id as k from t group by id": StoredColumn("t", "id", once=False),
    "select id + 0 as k from t": None,
    "select cast(id as bigint) as k from t": None,
    "select coalesce(id, 0) as k from t": None,
    "select id as k from t union all select id from t": None,
    "select id as k from t left join u using (id)": StoredColumn("t", "id", once=False),
    "select t.id as k from t left join (select distinct y from u) v on t.x = v.y": ONCE,
    "select t.id as k from t join (select distinct y from u) v on t.x = v.y": StoredColumn("t", "id", whole=False),
    "select t.id as k from u left join t on t.x = u.y": StoredColumn("t", "id", once=False, padded=True, whole=False),
    "select t.id as k from t full join u on t.x = u.y": StoredColumn("t", "id", once=False, padded=True),
    "select id as k from t left anti join u using (id)": StoredColumn("t", "id", whole=False),
    "select id as k from t lateral view explode(array(1, 2)) as e": StoredColumn("t", "id", once=False, whole=False),
}


@pytest.mark.parametrize("sql", STORED)
def test_a_column_is_known_by_the_one_that_it_is_stored_as(sql: str, views: Any) -> None:
    plan = planned(sql)
    found = rows_of(plan.root).stored.get(plan.root.output[0].id)
    assert found == STORED[sql]
    if found is None:
        return
    values = [row[0] for row in views.sql(sql).collect()]
    below = [row[0] for row in views.sql("select id from t").collect()]
    assert found.padded or set(values) <= set(below)
    assert not found.whole or set(values) >= set(below)
    assert not found.once or all(values.count(v) <= below.count(v) for v in values)
