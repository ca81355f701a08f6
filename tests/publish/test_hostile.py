"""Names and sizes that nobody should send: an error or a publish, never an injection, never a file elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planproof import Contract, Guard, Model
from planproof.publish.transaction.places import database_root

TABLES = (
    "quote'd",
    'double"quoted',
    "back`tick",
    "dot.ted",
    "two words",
    "ünïcödé",
    "表",
    "..",
    ".",
    "../outside",
    "a/../../outside",
    "/etc/planproof",
    "back\\slash",
    "per%2Fcent",
    "t; drop table canary",
    "t` as select 1 as id; drop table `canary",
    "t' or '1'='1",
    "${spark.app.name}",
    "{{ 1 + 1 }}",
    "new\nline",
    "tab\tbed",
    "nul\0l",
    "-- comment",
    "/* comment */",
    "x" * 300,
    "_hidden",
    ".hidden",
    "d=1",
    "null",
    "select",
    "__planproof_t",
)
COLUMNS = tuple(name for name in TABLES if not {"\0", "${"} & {name[3:4], name[:2]})
"""Spark puts a variable's value in the place of `${...}` before it reads a statement, the model's own text too."""


QUICK = ("quote'd", "../outside", "t` as select 1 as id; drop table `canary", "null")
EXTENTS = [pytest.param(QUICK, id="quick"), pytest.param(None, id="all", marks=pytest.mark.conformance)]


@pytest.fixture
def guard(spark: Any) -> Guard:
    return Guard(spark)


@pytest.fixture
def room(spark: Any, session: Any, database: str) -> Iterator[Path]:
    """The database's folder, with a canary beside every table; the folders around it hold what they held."""
    spark.sql(f"create table {database}.canary using parquet as select 1 as id")
    folder = Path(database_root(session, (database,)).removeprefix("file:"))
    before = sorted(folder.parent.iterdir())
    etc = sorted(Path("/etc").iterdir())
    yield folder
    assert sorted(folder.parent.iterdir()) == before
    assert sorted(Path("/etc").iterdir()) == etc
    assert [tuple(r) for r in spark.newSession().table(f"{database}.canary").collect()] == [(1,)]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@pytest.mark.parametrize("names", EXTENTS)
def test_a_name_of_a_table_is_a_name_or_an_error(
    names: tuple[str, ...] | None, guard: Guard, room: Path, database: str, spark: Any
) -> None:
    published = []
    for name in names or TABLES:
        for sql in ("select 1 as id", "select 2 as id"):
            report = guard.publish(Model(f"{database}.{quoted(name)}", sql))
            assert report.outcome in ("published", "failed", "rejected"), name
            if report.outcome == "published":
                published.append(name)
            else:
                assert report.error or report.findings, name
                assert "internal error" not in (report.error or ""), (name, report.error)
    tables = {row[1] for row in spark.sql(f"show tables in {database}").collect()}
    assert tables == {"canary", *(name.lower() for name in published)}
    assert "null" in published
    left = [p.name for p in room.rglob("*") if p.name.startswith("__planproof_") or p.suffix == ".json"]
    assert left == [name for name in published[-1:] if name.startswith("__planproof_")], "a table of that very name"
    assert Guard(spark).recover() == []


@pytest.mark.parametrize("names", EXTENTS)
def test_a_name_of_a_column_is_a_name_or_an_error(
    names: tuple[str, ...] | None, guard: Guard, room: Path, database: str, spark: Any
) -> None:
    for at, name in enumerate(names or COLUMNS):
        table = f"{database}.c{at}"
        sql = f"select * from values (1, 'x') as t({quoted(name)}, p)"
        contract = Contract([(name, "int", False), ("p", "string", True)])
        report = guard.publish(Model(table, sql, contract=contract))
        assert report.outcome == "published", (name, report.error, report.findings)
        assert spark.table(table).columns == [name, "p"]
        delta = Model(table, sql, contract=contract, materialized="incremental", incremental_strategy="append")
        assert guard.publish(delta).outcome == "published", name
        assert spark.table(table).count() == 2


@pytest.mark.conformance
def test_a_value_of_a_partition_is_a_value(guard: Guard, room: Path, database: str, spark: Any) -> None:
    values = [name for name in COLUMNS if len(name) < 100]
    rows = ", ".join("({}, '{}')".format(i, v.replace("\\", "\\\\").replace("'", "\\'")) for i, v in enumerate(values))
    model = {"sql": f"select * from values {rows} as v(id, d)", "partition_by": ["d"]}
    delta = {"materialized": "incremental", "incremental_strategy": "insert_overwrite"}
    for more in ({}, delta, {**delta, "incremental_strategy": "append"}):
        report = guard.publish(Model(f"{database}.t", **model, **more))
        assert report.outcome == "published", report.error
    found = [tuple(r) for r in spark.table(f"{database}.t").orderBy("id").collect()]
    assert found == [(i, v) for i, v in enumerate(values) for _ in range(2)]
    assert [p.name for p in room.iterdir() if p.name.startswith("__planproof_")] == []


@pytest.mark.parametrize("strategy", ["append", "insert_overwrite"])
def test_a_value_that_reads_as_a_setting_is_a_value(strategy: str, guard: Guard, database: str, spark: Any) -> None:
    name, more = f"{database}.t", {"materialized": "incremental", "incremental_strategy": strategy}
    for number in (1, 2):
        sql = f"select {number} as id, concat('$', '{{spark.app.name}}') as d"
        report = guard.publish(Model(name, sql, partition_by=["d"], comment="${spark.app.name}", **more))
        assert report.outcome == "published", report.error
    found = [tuple(row) for row in spark.newSession().sql(f"select * from {name} order by id").collect()]
    assert found == [(n, "${spark.app.name}") for n in ((1, 2) if strategy == "append" else (2,))]
    table = guard.session.table(name)
    assert table is not None
    assert table.comment == "${spark.app.name}"


def test_a_comment_and_a_property_are_texts(guard: Guard, room: Path, database: str) -> None:
    evil = "x'); drop table canary; --\\"
    model = Model(f"{database}.t", "select 1 as id", comment=evil, options={"tblproperties": {evil: evil}})
    assert guard.publish(model).outcome == "published"
    table = guard.session.table(f"{database}.t")
    assert table is not None
    assert (table.comment, table.properties[evil]) == (evil, evil)


def test_a_thousand_columns(guard: Guard, room: Path, database: str) -> None:
    columns = ", ".join(f"id + {i} as c{i}" for i in range(1000))
    contract = Contract([(f"c{i}", "bigint", False) for i in range(1000)])
    report = guard.publish(Model(f"{database}.t", f"select {columns} from range(3)", contract=contract))
    assert (report.outcome, report.verdict) == ("published", "proved"), report.error


def test_forty_levels(guard: Guard, room: Path, database: str) -> None:
    sql, data_type = "select 1 as v", "int"
    for level in range(40):
        sql = f"select named_struct('f{level}', v) as v from ({sql}) as q{level}"
        data_type = f"struct<f{level}:{data_type}>"
    report = guard.publish(Model(f"{database}.t", sql, contract=Contract([("v", data_type, True)])))
    assert (report.outcome, report.verdict) == ("published", "proved"), (report.error, report.findings)


@pytest.mark.conformance
def test_five_megabytes_of_sql(guard: Guard, room: Path, database: str) -> None:
    numbers = ", ".join(map(str, range(1_000_000, 1_620_000)))
    texts = {
        "comment": f"select 1 as id /* {'x' * 5_000_000} */",
        "literal": f"select length('{'x' * 5_000_000}') as id",
        "list": f"select id from range(3) where id in ({numbers}, 1)",
    }
    for name, sql in texts.items():
        report = guard.publish(Model(f"{database}.{name}", sql))
        assert report.outcome in ("published", "failed"), (name, report.findings[:2])
        assert "internal error" not in (report.error or "")
