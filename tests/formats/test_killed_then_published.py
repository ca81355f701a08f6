"""A publish that was killed, others who act on its table then, and only then the next publish, or a recovery: what
others left is not undone, and no row is lost or doubled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from killed import ACTS, dies_after
from quick import keep_quick
from test_every_format import Make, cases, said
from under_test import Place, Rows

from planproof import Guard

THEIRS = [(8, "x"), (9, "x")]


def write(there: Place, rows: Rows | None) -> Rows:
    """What the table holds once the case's model has been published over `rows`."""
    model, case = there.case.model, there.case
    added = [row for row in case.new if row not in (case.old or ())]
    strategy = model.get("incremental_strategy")
    if strategy == "append":
        return sorted([*(rows or ()), *added], key=str)
    if strategy == "insert_overwrite":
        kept = [row for row in rows or () if row[1] not in ("x", "z")]
        return sorted([*kept, (3, "x"), (4, "z")], key=str)
    if strategy == "merge":
        return sorted([*(row for row in rows or () if row[0] not in (1, 2)), *case.new], key=str)
    return case.new


def own(rows: Rows | None) -> Rows | None:
    """The rows without the column that others added."""
    return rows and [row[:2] for row in rows]


def stood(there: Place, act: str, left: Rows | None) -> list[Rows | None]:
    """What may stand there once the killed publish is settled."""
    either = [there.case.old, there.case.new]
    if act in ("nothing", "altered"):
        return [left, *either]
    if act == "inserted":
        return [left, *(sorted([*(rows or ()), *THEIRS], key=str) for rows in either if THEIRS[0] in (left or ()))]
    return [left, *(either if left is None and act in ("dropped", "renamed") else ())]


def find_harm(there: Place, at: int, act: str, follow: str) -> Iterator[str] | None:
    """None where the publish came to its end before it was killed."""
    with pytest.MonkeyPatch.context() as patch:
        report = dies_after(at, there, patch, lambda guard: there.publish(guard))
    if report is not None:
        assert report.outcome == "published", said(report)
        return None
    return _play(there, act, follow)


def _play(there: Place, act: str, follow: str) -> Iterator[str]:
    killed, where = there.rows(), ""
    if act != "nothing" and killed is None:
        return
    try:
        there.carry_out(ACTS[act])
    except Exception as error:
        where = f"refused {str(error).splitlines()[0][:150]}; "
    left, moved = own(there.rows()), there.rows(f"{there.t}_moved")
    where += f"killed with {killed}, {act}: {left}, moved {moved}; {follow}: "
    before = stood(there, act, left)
    if follow == "recover":
        there.recover()
        allowed, told = before, ""
    else:
        report = there.publish(Guard(there.other))
        told = said(report)[:400]
        allowed = [write(there, rows) for rows in before] if report.outcome == "published" else before
        if report.outcome != "published":
            yield f"{where}{told}"
    found = own(there.rows())
    if found not in allowed:
        yield f"{where}{found}; {told}"
    if there.rows(f"{there.t}_moved") != moved:
        yield f"{where} moved is {there.rows(f'{there.t}_moved')}; {told}"
    try:
        there.recover()
    except AssertionError as error:
        yield f"{where}recovered: {str(error)[:300]}"
    if own(there.rows()) != found:
        yield f"{where}recovered: {found} -> {there.rows()}; {told}"
    with suppress(Exception):
        rest = [left for left in there.left() if not (there.format.name == "delta" and "/t_moved/" in left)]
        if rest:
            yield f"{where}left {rest}; {told}"


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.faults)])
@pytest.mark.parametrize("act", keep_quick(ACTS, "overwritten"))
@cases("replace", but=("view",))
def test_what_others_do_before_the_next_publish_is_not_undone(
    name: str, case: str, act: str, every: int, place: Make
) -> None:
    at, harms = 0, list[str]()
    while (found := find_harm(place(name, case), at, act, "publish")) is not None:
        harms += [f"died after {at}, {harm}" for harm in found]
        at += every
    assert harms == []
