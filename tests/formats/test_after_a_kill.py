"""What others do to a table whose publish was killed at any call, before somebody recovers it, is not undone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from quick import keep_quick
from test_every_format import Killed, cases, dying, said
from under_test import Place, Rows

from planproof import Guard
from planproof.publish.transaction import owner

Make = Callable[[str, str], Place]
THEIRS = [(8, "x"), (9, "x")]
FILL = "insert into {t} values (8, 'x'), (9, 'x')"
ACTS = {
    "dropped": ["drop table {t}"],
    "made anew": ["drop table {t}", "create table {t} {columns} using {using} {parts}", FILL],
    "renamed": ["alter table {t} rename to {t}_moved"],
    "renamed and made anew": [
        "alter table {t} rename to {t}_moved",
        "create table {t} {columns} using {using} {parts}",
        FILL,
    ],
    "inserted": [FILL],
    "overwritten": ["insert overwrite {t} values (8, 'x'), (9, 'x')"],
    "truncated": ["truncate table {t}"],
}


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.faults)])
@pytest.mark.parametrize("act", keep_quick(ACTS, "renamed and made anew", "overwritten"))
@cases("location", "replace", "rename", but=("view",))
def test_what_others_do_after_a_kill_is_not_undone(name: str, case: str, act: str, every: int, place: Make) -> None:
    if name == "iceberg" and "renamed" in act:
        pytest.skip("a catalog of folders renames no table")
    # Before that, nothing is staged.
    at = 12 if every > 1 else 0
    while True:
        there = place(name, case)
        with pytest.MonkeyPatch.context() as patch:
            guard = dying(at, there, patch)
            try:
                report = there.publish(guard)
            except Killed:
                owner._running.clear()
            else:
                assert report.outcome == "published", said(report)
                return
        killed = there.rows()
        at += every
        if killed is None:
            continue
        # Delta has no TRUNCATE.
        acts = ["delete from {t}"] if act == "truncated" and name == "delta" else ACTS[act]
        try:
            there.carry_out(acts)
        except Exception as error:
            # Spark makes no table where files of the killed publish lie.
            if "LOCATION_ALREADY_EXISTS" in str(error):
                continue
            raise
        left, moved = there.rows(), there.rows(f"{there.t}_moved")
        reports = Guard(there.other).recover(force=True)
        assert "failed" not in [r.outcome for r in reports], [r.error for r in reports]
        where = f"died at {at - every} with {killed}, {act}: left {left}, moved {moved}"
        found = there.rows()
        either = [there.case.old or [], there.case.new]
        allowed: list[Rows | None] = [left]
        if act == "inserted":
            allowed = [sorted([*rows, *THEIRS], key=str) for rows in either]
        elif act in ("dropped", "renamed"):
            allowed += [there.case.old, there.case.new]
        elif act == "truncated":
            # Nobody can tell it from files that were deleted: then the old rows come back, each partition's by itself.
            allowed += [there.case.old, *([row] for row in there.case.old or [])]
        assert found in allowed, f"{where}; then {found}"
        assert there.rows(f"{there.t}_moved") == moved, where
        # Where only the files could tell that the new table had its name by then, the old one is kept, and named.
        said_of = " ".join(f.message or "" for r in reports for f in r.findings)
        assert [name for name in there.left() if f"`{name}`; " not in said_of] == [], f"{where}: {said_of}"
        Guard(there.other).recover(force=True)
        assert there.rows() == found, where
