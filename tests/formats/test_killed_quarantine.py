"""A publish that quarantined rows was killed, others act on its table or on the quarantine, and only then somebody
recovers or publishes again: no good row is lost, no bad row stands twice, other rows of the quarantine stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from killed import ACTS as DDL
from killed import kill
from quick import keep_quick
from test_every_format import Make, broken_by, cases, said
from under_test import BAD_ROWS, Place, Rows

from planproof import Guard

ACTS = {
    **{f"table {act}": statements for act, statements in DDL.items() if act not in ("altered", "truncated")},
    "quarantine inserted": ["insert into {q} select {columns}, 'theirs' as quarantine_run from {q} where id = -1"],
    "quarantine dropped": ["drop table {q}"],
    "quarantine renamed": ["alter table {q} rename to {q}_moved"],
}


def carry_out(there: Place, act: str) -> None:
    if act.startswith("table "):
        there.carry_out(DDL[act.removeprefix("table ")])
        return
    q = f"{there.t}__quarantine"
    columns = ", ".join(name for name in there.other.table(q).columns if name != "quarantine_run")
    for statement in ACTS[act]:
        there.other.sql(statement.format(q=q, columns=columns))


def quarantined(there: Place, table: str | None = None) -> Counter[tuple[Any, ...]]:
    """How often each row stands in the quarantine, with its run."""
    name = table or f"{there.t}__quarantine"
    return Counter(there.rows(name, "quarantine_run, id, s") or [])


def count_good(rows: Rows | None) -> int:
    return (rows or []).count((2, "b"))


def go_on(there: Place, follow: str) -> tuple[bool, str]:
    """Whether the table was recovered or published, and what was said of it."""
    if follow == "recover":
        there.recover()
        return True, ""
    report = there.publish(Guard(there.other), **broken_by(there))
    if any(f.code == "PP609" for f in report.findings):
        # The catalog may still commit the killed one for some minutes, and its bad rows wait as long, unless by force.
        there.recover()
    return report.outcome == "published", said(report)[:300]


def play(there: Place, act: str, follow: str, first: Counter[tuple[Any, ...]]) -> Iterator[str]:
    where = f"killed with {there.rows()} and {sum(quarantined(there).values())} bad rows, {act}, {follow}: "
    carry_out(there, act)
    left, bad = there.rows(), quarantined(there)
    theirs = Counter({row: n for row, n in bad.items() if row in first or row[0] == "theirs"})
    moved, bad_moved = there.rows(f"{there.t}_moved"), quarantined(there, f"{there.t}__quarantine_moved")
    is_done, told = go_on(there, follow)
    if not is_done:
        yield f"{where}{told}"
    found, now = there.rows(), quarantined(there)
    if any(now[row] != n for row, n in theirs.items()):
        yield f"{where}other rows of the quarantine {theirs} -> {now}; {told}"
    if any(n > 1 for row, n in now.items()):
        yield f"{where}bad rows twice: {now}; {told}"
    runs = {row[0] for row in now if row not in theirs}
    if any({row[1:] for row in now if row[0] == run} != {*BAD_ROWS} for run in runs):
        yield f"{where}bad rows of a run in part: {now}; {told}"
    # With each publish of good rows its bad ones stand there, and with none of them none.
    is_counted = act in ("table nothing", "table inserted", "quarantine inserted") and there.case.adds
    if is_counted and count_good(found) - 1 != len(runs):
        yield f"{where}{found} beside {now}; {told}"
    missing = [row for row in left or [] if row not in (found or [])]
    if missing and (follow == "recover" or there.case.adds):
        yield f"{where}{left} -> {found}; {told}"
    if there.rows(f"{there.t}_moved") != moved:
        yield f"{where}moved {moved} -> {there.rows(f'{there.t}_moved')}; {told}"
    kept = quarantined(there, f"{there.t}__quarantine_moved")
    if any(kept[row] != n for row, n in bad_moved.items() if row in first):
        yield f"{where}moved quarantine {bad_moved} -> {kept}; {told}"
    there.recover()
    if (there.rows(), quarantined(there)) != (found, now):
        yield f"{where}recovered: {found} -> {there.rows()}, {now} -> {quarantined(there)}"


def find_harm(there: Place, at: int, act: str, follow: str) -> Iterator[str] | None:
    """None where the publish came to its end before it was killed."""
    report = there.publish(**broken_by(there))
    assert report.outcome == "published", said(report)
    first = quarantined(there)
    report = kill(at, there, lambda guard: there.publish(guard, **broken_by(there)))
    if report is not None:
        assert report.outcome == "published", said(report)
        return None
    return play(there, act, follow, first)


@pytest.mark.parametrize("every", [45, pytest.param(1, marks=pytest.mark.faults)])
@pytest.mark.parametrize("follow", keep_quick(["recover", "publish"], "publish"))
@pytest.mark.parametrize("act", keep_quick(ACTS, "table inserted"))
@cases("append", but=("partitions", "view", "merge", "first"))
def test_what_others_do_after_a_killed_quarantine(
    name: str, case: str, act: str, follow: str, every: int, place: Make
) -> None:
    at, harms = 0, list[str]()
    while (found := find_harm(place(name, case), at, act, follow)) is not None:
        harms += [f"killed at {at}, {harm}" for harm in found]
        at += every
    assert harms == []
