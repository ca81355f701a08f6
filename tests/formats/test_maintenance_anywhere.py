"""What Delta can do to a table, right before any call of a publish: others' change stays, and rows are those of who
came last."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from quick import keep_quick
from test_every_format import is_told, said
from under_test import Place, Rows, meanwhile

from planproof import Guard

OTHER = (5, "e")
ACTS = {
    "restored": ["restore table {t} to version as of 0"],
    "optimized": ["optimize {t}"],
    "upgraded": ["alter table {t} set tblproperties ('delta.feature.typeWidening' = 'supported')"],
    "widened": [
        "alter table {t} set tblproperties ('delta.enableTypeWidening' = 'true')",
        "alter table {t} change column id type bigint",
    ],
    "constrained": ["alter table {t} add constraint small check (id < 100)"],
    "deleted from": ["delete from {t} where id = 5"],
}
"""Of a table whose version 1 has added `OTHER`."""
CASES = ("append", "replace", "merge")


def apply(case: str, rows: Rows) -> list[Rows]:
    """What the model makes of those rows, and what it leaves where they are its own already."""
    new = {"append": [(2, "b")], "replace": [(2, "b")], "merge": [(1, "c"), (2, "b")]}[case]
    kept = [] if case == "replace" else [row for row in rows if case == "append" or row[0] not in (1, 2)]
    made = sorted([*kept, *new], key=str)
    # Of what was published before others acted, they may have taken some back.
    return [made, rows] if (2, "b") in rows else [made]


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.faults)])
@pytest.mark.parametrize("act", keep_quick(ACTS, "restored"))
@pytest.mark.parametrize("case", keep_quick(CASES, "append"))
def test_maintenance_right_before_any_call(case: str, act: str, every: int, place: Callable[[str, str], Place]) -> None:
    for at in itertools.count(1, every):
        there, after = place("delta", case), list[Rows]()
        there.other.sql(f"insert into {there.t} values {OTHER}")

        def do(there: Place = there, after: list[Rows] = after) -> None:
            there.carry_out(ACTS[act])
            after.append(there.rows() or [])

        guard = Guard(there.spark.newSession())
        with pytest.MonkeyPatch.context() as patch:
            seen = meanwhile(guard, there.format, patch, at, do)
            report = there.publish(guard)
        if len(seen) <= at:
            return
        where = f"{act} at {at} {seen[-1:]}: {said(report)}; {report.details.exception}"
        assert not {f.code for f in report.findings if f.verdict == "violated"}, where
        found = there.rows()
        if report.outcome == "published":
            wanted = apply(case, after[0])
            if act == "restored" and "PP623" in {f.code for f in report.findings}:
                wanted.append(after[0])  # What was committed before was taken back, and the report says so.
            assert found in wanted, f"{where}: {after} -> {found}"
        else:
            is_told(report)
            assert found == after[0], f"{where}: {after} -> {found}"
        Guard(there.other).recover(force=True)
        assert (there.left(), there.rows()) == ([], found), where
