"""DDL, and rows of others, right before any call of a publish: what others left is never lost."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from quick import keep_quick
from test_every_format import DDL, cases, is_told, said
from under_test import Place, Rows, meanwhile

from planproof import Guard

Make = Callable[[str, str], Place]
ACTS = {
    **DDL,
    "renamed and made anew": [
        "alter table {t} rename to {t}_moved",
        "create table {t} {columns} using {using} {parts}",
    ],
    "inserted": ["insert into {t} values (9, 'x')"],
}


def own(rows: Rows | None) -> Rows | None:
    """The rows without the column that others added."""
    return rows and [tuple(value for value in row if value is not None) for row in rows]


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.faults)])
@pytest.mark.parametrize("act", keep_quick(ACTS, "renamed", "inserted"))
@cases("location", but=("first", "view"))
def test_what_others_do_right_before_any_call_is_not_lost(
    name: str, case: str, act: str, every: int, place: Make
) -> None:
    for at in itertools.count(1, every):
        there, after = place(name, case), list[Rows | None]()

        def do(there: Place = there, after: list[Rows | None] = after) -> None:
            there.carry_out(ACTS[act])
            after.append(there.rows())
            after.append(there.rows(f"{there.t}_moved"))

        guard = Guard(there.spark.newSession())
        with pytest.MonkeyPatch.context() as patch:
            try:
                seen = meanwhile(guard, there.format, patch, at, do)
                report = there.publish(guard)
            except AssertionError as error:
                if "the other one failed" in str(error):
                    continue
                raise
        where = f"{act} at {at} {seen[-1:]}: {said(report)}; {report.details.exception}"
        if len(seen) <= at:
            return
        if not after:
            continue
        found = there.rows()
        # A partition may have been on its way when they looked: it goes back with the others.
        left = [after[0], *([there.case.old] if case == "partitions" else [])]
        violated = {f.code for f in report.findings if f.verdict == "violated"}
        assert violated <= {"PP402", "PP401", "PP606"}, where
        if report.outcome == "failed":
            is_told(report)
        new, theirs = there.case.new, after[0] or []
        added = [row for row in new if row not in (there.case.old or [])]  # To what others made anew.
        published = [new, *(sorted({*theirs, *rows}, key=str) for rows in (new, added))]
        if act == "altered":
            found, left = own(found), [own(rows) for rows in left]
            published = [own(rows) for rows in published]
        assert found in (*left, *(published if report.outcome == "published" else ())), f"{where}: {after} -> {found}"
        moved = there.rows(f"{there.t}_moved")
        # Spark's catalog in memory forgets where the other partitions of a renamed table lie.
        is_back = case == "partitions" and after[1] is not None and moved and {*moved} <= {*(there.case.old or ())}
        assert moved == after[1] or is_back, f"{where}: {after} -> moved {moved}"
        Guard(there.other).recover(force=True)
        assert [left for left in there.left() if not (name == "delta" and "/t_moved/" in left)] == [], where
        assert act == "altered" or there.rows() == found, where
