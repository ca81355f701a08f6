"""The plan that wrote a delta's rows, as it ran, held against what they were to be stored as."""

from __future__ import annotations

from typing import Any

import pytest

from planproof import Guard, Model, Report, Verdict
from planproof.invariants import physical
from planproof_engine.schema import PhysicalField, PhysicalSchema
from planproof_engine.types import parse_type

COUNTED = "select id % 3 as k, count(*) as n from range(10) group by id % 3"
TURNED = "select cast(count(*) as int) as n, k from values (1L, 2) as v(k, x) group by k"


def executed(report: Report) -> tuple[str, list[tuple[str, str]]]:
    [plane] = [p for p in report.planes if p.plane == "executed"]
    return plane.status, [(name, t) for name, t, _ in plane.schema or ()]


def how(report: Report) -> str:
    return next(e.how for e in report.invariants if e.invariant == "I7")


@pytest.mark.parametrize("partition_by", [(), ("k",)])
def test_the_final_plan_of_a_delta_is_read(spark: Any, database: str, partition_by: tuple[str, ...]) -> None:
    guard = Guard(spark)
    first = guard.publish(Model(f"{database}.t", COUNTED, materialized="incremental", partition_by=partition_by))
    assert ("final plan" in how(first)) is not bool(partition_by)
    delta = guard.publish(Model(f"{database}.t", TURNED, materialized="incremental", partition_by=partition_by))
    assert (delta.outcome, delta.of(Verdict.VIOLATED)) == ("published", [])
    status, columns = executed(delta)
    assert (status, sorted(columns)) == ("read", [("k", "bigint"), ("n", "bigint")])
    assert "final plan" in how(delta)


def test_the_final_plan_of_a_table_is_read(spark: Any, database: str) -> None:
    guard = Guard(spark)
    first, second = (guard.publish(Model(f"{database}.t", COUNTED)) for _ in range(2))
    assert (first.strategy, "final plan" in how(first)) == ("rename", True)
    assert (second.strategy, "final plan" in how(second), second.findings) == ("location", True, first.findings)
    assert executed(second) == executed(first) == ("read", [("k", "bigint"), ("n", "bigint")])
    assert second.executed_sql == COUNTED
    assert [p.schema for p in first.planes if p.plane == "optimized"] == [
        p.schema for p in second.planes if p.plane == "optimized"
    ]
    assert spark.table(f"{database}.t").count() == 3


def test_a_new_table_is_what_create_table_as_makes_of_it(spark: Any, database: str) -> None:
    """A column's comment, which CREATE TABLE AS takes from the query, is kept: such a query is written by that."""
    guard, d = Guard(spark), database
    spark.sql(f"create table {d}.src (id bigint comment 'the key', s struct<a:int not null>, c char(3)) using parquet")
    spark.sql(f"insert into {d}.src values (1, named_struct('a', 1), 'x')")
    for name, sql in (
        ("plain", f"select id + 1 as `Id``s`, array(s) as xs, cast(1 as decimal(9,2)) as d, now() as at from {d}.src"),
        ("told", f"select id, s, c from {d}.src"),
        ("empty", f"select id + 1 as id from {d}.src where false"),
    ):
        spark.sql(f"create table {d}.{name}_bare using parquet as {sql}")
        report = guard.publish(Model(f"{d}.{name}", sql, comment="a table"))
        assert report.outcome == "published", report.findings
        assert ("final plan" in how(report)) is (name != "told")
        made, bare = (spark.table(f"{d}.{t}") for t in (name, f"{name}_bare"))
        assert made.schema.json() == bare.schema.json()
        assert made.drop("at").collect() == bare.drop("at").collect()
        assert spark.catalog.getTable(f"{d}.{name}").tableType == "MANAGED"
        assert spark.catalog.getTable(f"{d}.{name}").description == "a table"


def test_a_query_is_written_as_it_was_analyzed(spark: Any, database: str, session: Any, tmp_path: Any) -> None:
    planes = session.analyze(COUNTED)
    assert (planes.optimized, planes.executed) == (None, None)
    place = f"{tmp_path}/a b%20'c"
    for _ in range(2):
        written = session.write_files(planes, place)
        assert written == session.planes(COUNTED)
        assert spark.read.parquet(place).count() == 3


def schema(**columns: str) -> PhysicalSchema:
    return PhysicalSchema(tuple(PhysicalField(name, parse_type(t), True) for name, t in columns.items()))


@pytest.mark.parametrize(
    ("ran", "field", "found"),
    [
        ({"K": "bigint", "n": "int"}, "n", "int"),
        ({"k": "bigint"}, "n", None),
        ({"n": "bigint", "k": "bigint"}, None, None),
        ({"K": "bigint", "N": "bigint"}, None, None),
    ],
)
def test_another_type_or_a_missing_column_is_a_break(ran: dict[str, str], field: str | None, found: str | None) -> None:
    findings = physical.check_written(schema(k="bigint", n="bigint"), schema(**ran))
    expected = [("PP203", "executed", field, found)] if field else []
    assert [(f.code, f.plane, f.field, f.found) for f in findings] == expected
