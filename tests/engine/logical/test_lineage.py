"""Which columns each output column is made of."""

from __future__ import annotations

import json

import pytest

import planproof
from planproof import Catalog
from planproof_engine.logical.lineage import feeds, lineage

CATALOG = Catalog(
    {
        "shop.orders": [
            ("id", "bigint", False),
            ("customer", "int", True),
            ("items", "array<struct<sku:string,qty:int>>", True),
        ],
        "shop.customers": [("id", "int", False), ("name", "string", True)],
    }
)


def found(sql):
    """Per output column its sources as `relation.column how`, and those of the rows, the database left out."""
    result = lineage(planproof.plan(sql, CATALOG).root)
    said = [{f"{s.relation.rpartition('.')[2]}.{s.column} {s.how}" for s in sources} for _, sources in result.columns]
    return said, {f"{s.relation.rpartition('.')[2]}.{s.column} {s.how}" for s in result.rows}


@pytest.mark.parametrize(
    ("sql", "columns", "rows"),
    [
        ("select id as a, 1 as one from shop.orders", [{"orders.id identity"}, set()], set()),
        (
            "select id + customer as a from shop.orders",
            [{"orders.id transformation", "orders.customer transformation"}],
            set(),
        ),
        ("select cast(id as string) as a from shop.orders", [{"orders.id transformation"}], set()),
        (
            "select transform(items, i -> i.qty + id) as a from shop.orders",
            [{"orders.items transformation", "orders.id transformation"}],
            set(),
        ),
        (
            "select customer, sum(id + 1) as s from shop.orders where id > 3 group by customer having sum(id) > 1",
            [{"orders.customer identity"}, {"orders.id aggregation"}],
            {"orders.id filter", "orders.customer group by"},
        ),
        (
            "select sum(id) filter (where customer = 1) as s from shop.orders",
            [{"orders.id aggregation"}],
            {"orders.customer filter"},
        ),
        (
            "with a as (select id, customer + 1 as n from shop.orders)"
            " select x.id, y.n from a x join a y on x.id = y.n",
            [{"orders.id identity"}, {"orders.customer transformation"}],
            {"orders.id join", "orders.customer join"},
        ),
        (
            "select o.id, (select max(name) from shop.customers c where c.id = o.customer) as n from shop.orders o",
            [{"orders.id identity"}, {"customers.name aggregation"}],
            {"customers.id filter", "orders.customer filter"},
        ),
        (
            "select id from shop.orders o where exists (select 1 from shop.customers c where c.id = o.customer)",
            [{"orders.id identity"}],
            {"customers.id filter", "orders.customer filter"},
        ),
        (
            "select id from shop.orders where customer in (select id from shop.customers)",
            [{"orders.id identity"}],
            {"customers.id filter", "orders.customer filter"},
        ),
        (
            "select id from shop.orders union all select id from shop.customers",
            [{"orders.id identity", "customers.id transformation"}],
            set(),
        ),
        (
            "select id, e.sku from shop.orders lateral view explode(items) t as e",
            [{"orders.id identity"}, {"orders.items transformation"}],
            set(),
        ),
        (
            "select row_number() over (partition by customer order by id) as n from shop.orders order by n",
            [set()],
            {"orders.customer window", "orders.id window"},
        ),
        (
            "with recursive r(n) as (select id from shop.customers union all select n + 1 from r where n < 3)"
            " select n from r",
            [{"customers.id identity"}],
            set(),
        ),
        (
            "select * from (select customer, id from shop.orders) pivot (max(id) for customer in (1 as a, 2 as b))",
            [{"orders.id aggregation"}, {"orders.id aggregation"}],
            {"orders.customer filter"},
        ),
        (
            "select id + 1 as k from shop.orders group by rollup(id + 1)",
            [{"orders.id transformation"}],
            {"orders.id group by"},
        ),
        ("select * from (select id as a from shop.orders) t(b)", [{"orders.id identity"}], set()),
        ("select * from values (1, 2) as t(a, b)", [set(), set()], set()),
    ],
)
def test_sources(sql, columns, rows):
    assert found(sql) == (columns, rows)


def test_a_cte_chain_is_walked_once():
    """Each CTE reads the one before it twice: 2^7 paths to the table."""
    ctes = ["c0 as (select id from shop.orders)"]
    ctes += [f"c{i} as (select a.id from c{i - 1} a join c{i - 1} b on a.id = b.id)" for i in range(1, 8)]
    columns, _ = found(f"with {', '.join(ctes)} select id from c7")
    assert columns == [{"orders.id identity"}]


def test_the_form_is_json():
    form = lineage(planproof.plan("select id as a, id as a from shop.orders", CATALOG).root).to_dict()
    assert json.loads(json.dumps(form)) == form
    assert [name for name, _ in form["columns"]] == ["a", "a"]


def test_what_feeds_what():
    plan = planproof.plan("select id, customer + 1 as n from shop.orders where id > 1", CATALOG).root
    scan = list(plan.walk())[-1]
    reached = feeds(plan)
    assert [sorted(reached.get(c.id, ())) for c in scan.output] == [[0], [1], []]
