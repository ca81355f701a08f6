"""The plan that wrote the rows, as it ran: read from the session, and held against the plan that was promised."""

from __future__ import annotations

from typing import Any

import pytest

from planproof import Guard, Model, Report, Verdict
from planproof.invariants import physical
from planproof.schema import PhysicalField, PhysicalSchema
from planproof.types import parse_type

COUNTED = "select id % 3 as k, count(*) as n from range(10) group by id % 3"


def executed(report: Report) -> tuple[str, list[tuple[str, str]]]:
    [plane] = [p for p in report.planes if p.plane == "executed"]
    return plane.status, [(name, t) for name, t, _ in plane.schema or ()]


def how(report: Report) -> str:
    return next(e.how for e in report.invariants if e.invariant == "I7")


def test_the_final_plan_of_a_write_is_read(spark: Any, database: str) -> None:
    guard, columns = Guard(spark), [("k", "bigint"), ("n", "bigint")]
    first = guard.publish(Model(f"{database}.t", COUNTED))
    assert (first.outcome, executed(first)) == ("published", ("read", columns)), first.error
    assert "the final plan of the write" in how(first)
    turned = "select cast(n as int) as n, k from (select k, n from values (1L, 2) as v(k, n))"
    delta = guard.publish(Model(f"{database}.t", turned, materialized="incremental"))
    assert (delta.outcome, executed(delta)) == ("published", ("read", columns)), delta.error
    parted = guard.publish(Model(f"{database}.p", "select 'x' as k, 1 as n", partition_by=["k"]))
    assert (parted.outcome, sorted(executed(parted)[1])) == ("published", [("k", "string"), ("n", "int")])
    assert [report.of(Verdict.VIOLATED) for report in (first, delta, parted)] == [[], [], []]


def test_nothing_is_written_by_a_check_or_a_view(spark: Any, database: str) -> None:
    guard = Guard(spark)
    for report in (
        guard.check(Model("t", COUNTED)),
        guard.publish(Model(f"{database}.v", COUNTED, materialized="view")),
    ):
        assert "the final plan of the write" not in how(report)


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
    assert [(f.code, f.plane, f.field, f.found) for f in findings] == (
        [("PP203", "executed", field, found)] if field else []
    )
