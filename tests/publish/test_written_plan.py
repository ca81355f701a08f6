"""The plan that wrote a delta's rows, as it ran, held against what they were to be stored as."""

from __future__ import annotations

from typing import Any

import pytest

from planproof import Guard, Model, Report, Verdict
from planproof.invariants import physical
from planproof.schema import PhysicalField, PhysicalSchema
from planproof.types import parse_type

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
    assert "final plan" not in how(first)
    delta = guard.publish(Model(f"{database}.t", TURNED, materialized="incremental", partition_by=partition_by))
    assert (delta.outcome, delta.of(Verdict.VIOLATED)) == ("published", [])
    status, columns = executed(delta)
    assert (status, sorted(columns)) == ("read", [("k", "bigint"), ("n", "bigint")])
    assert "final plan" in how(delta)


def test_the_final_plan_of_a_table_whose_schema_stays_is_read(spark: Any, database: str) -> None:
    guard = Guard(spark)
    first, second = (guard.publish(Model(f"{database}.t", COUNTED)) for _ in range(2))
    assert (first.strategy, "final plan" in how(first)) == ("rename", False)
    assert (second.strategy, "final plan" in how(second), second.findings) == ("location", True, first.findings)
    assert executed(second) == executed(first) == ("read", [("k", "bigint"), ("n", "bigint")])
    assert second.executed_sql == COUNTED
    assert [p.schema for p in first.planes if p.plane == "optimized"] == [
        p.schema for p in second.planes if p.plane == "optimized"
    ]
    assert spark.table(f"{database}.t").count() == 3


def test_a_query_is_written_as_it_was_analyzed(spark: Any, database: str, session: Any, tmp_path: Any) -> None:
    planes = session.analyzed(COUNTED)
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
    findings = physical.written(schema(k="bigint", n="bigint"), schema(**ran))
    expected = [("PP203", "executed", field, found)] if field else []
    assert [(f.code, f.plane, f.field, f.found) for f in findings] == expected
