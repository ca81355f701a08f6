"""What others do to a table whose publish was killed at any call is not undone, whether somebody recovers it then or
the next publish does."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from killed import ACTS, kill
from quick import keep_quick
from test_every_format import cases, said
from under_test import Place, Rows

from planproof import Guard

Make = Callable[[str, str], Place]
THEIRS = [(8, "x"), (9, "x")]


def carry_out(there: Place, act: str) -> bool:
    """False where Spark refuses it: it makes no table where files of the killed publish lie."""
    try:
        # Delta has no TRUNCATE.
        is_delta = act == "truncated" and there.format.name == "delta"
        there.carry_out(["delete from {t}"] if is_delta else ACTS[act])
    except Exception as error:
        if "LOCATION_ALREADY_EXISTS" in str(error):
            return False
        raise
    return True


def own(rows: Rows | None) -> Rows | None:
    """The rows without the column that others added."""
    return rows and [row[:2] for row in rows]


def list_settled(there: Place, act: str, left: Rows | None) -> list[Rows | None]:
    """What may stand there once the killed publish is settled; `left` is what others left."""
    old, new = there.case.old, there.case.new
    if act == "inserted":
        return [sorted([*(rows or []), *THEIRS], key=str) for rows in (old, new)]
    if act == "truncated":
        # Nobody can tell it from files that were deleted: then the old rows come back, each partition's by itself.
        return [left, old, *([row] for row in old or [])]
    return [left] if act in ("overwritten", "made anew", "renamed and made anew") else [left, old, new]


def write(there: Place, rows: Rows | None) -> Rows:
    """What the table holds once the case's model has been published over `rows`."""
    new = [row for row in there.case.new if row not in (there.case.old or [])]
    strategy = there.case.model.get("incremental_strategy")
    if strategy is None:
        return there.case.new
    replaced = {"append": [], "insert_overwrite": [row[1] for row in new], "merge": [row[0] for row in new]}[strategy]
    key = 1 if strategy == "insert_overwrite" else 0
    return sorted([*(row for row in rows or [] if row[key] not in replaced), *new], key=str)


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.faults)])
@pytest.mark.parametrize("follow", keep_quick(("recover", "publish"), "recover"))
@pytest.mark.parametrize("act", keep_quick(ACTS, "renamed and made anew", "overwritten"))
@cases("location", "replace", "rename", but=("view",))
def test_what_others_do_after_a_kill_is_not_undone(
    name: str, case: str, act: str, follow: str, every: int, place: Make
) -> None:
    if name == "iceberg" and "renamed" in act:
        pytest.skip("a catalog of folders renames no table")
    # Before that, nothing is staged.
    at = 12 if every > 1 else 0
    while (report := kill(at, there := place(name, case), there.publish)) is None:
        killed = there.rows()
        if (act == "nothing" or killed is not None) and carry_out(there, act):
            judge(there, act, follow, f"killed at {at} with {killed}, {act}")
        at += every
    assert report.outcome == "published", said(report)


def judge(there: Place, act: str, follow: str, where: str) -> None:
    left, moved = own(there.rows()), there.rows(f"{there.t}_moved")
    allowed = list_settled(there, act, left)
    if follow == "publish":
        report = there.publish(Guard(there.other))
        where = f"{where}; {said(report)}"
        assert report.outcome == "published" or report.details.transient, where
        allowed = [write(there, rows) for rows in allowed] if report.outcome == "published" else allowed
    reports = Guard(there.other).recover(force=True)
    assert "failed" not in [r.outcome for r in reports], f"{where}: {[r.error for r in reports]}"
    found = own(there.rows())
    assert found in allowed, f"{where}: left {left}; then {found}"
    assert there.rows(f"{there.t}_moved") == moved, where
    # Where only the files could tell that the new table had its name by then, the old one is kept, and named.
    told = " ".join(f.message or "" for r in reports for f in r.findings)
    rest = [name for name in there.left() if not (there.format.name == "delta" and "/t_moved/" in name)]
    assert [name for name in rest if follow == "recover" and f"`{name}`; " not in told] == [], f"{where}: {told}"
    assert Guard(there.other).recover(force=True) == [], where
    assert own(there.rows()) == found, where


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.faults)])
def test_an_append_that_was_killed_is_added_once(every: int, place: Make) -> None:
    """As Airflow's retry adds it: rows that nobody was told of are taken back, unless only the last step is left."""
    at, taken_back = 15 if every > 1 else 0, 0
    while kill(at, there := place("parquet", "append"), there.publish) is None:
        stood = there.rows() == there.case.new
        entries = [json.loads(path.read_text()) for path in there.home().glob(".planproof/journal/*.json")]
        report = there.publish(Guard(there.other))
        assert report.outcome == "published", said(report)
        codes = [finding.code for finding in report.findings]
        is_last = "clean" in [entry["step"] for entry in entries]
        assert ("PP603" in codes) == is_last, (at, entries)
        if entries and not is_last:
            assert there.rows() == there.case.new, (at, entries)
            taken_back += stood
        at += every
    assert taken_back > 0
