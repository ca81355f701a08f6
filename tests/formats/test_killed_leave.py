"""What others do to a table whose move back was killed is not undone, and at no moment is a row of it missing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from killed import ACTS, FILL, kill
from quick import keep_quick
from test_every_format import said
from under_test import OLD, OVERWRITE, PARTS, Case, Format, Place

from planproof import Guard, Model, Report
from planproof.publish.transaction.leave import move_back
from planproof.publish.transaction.places import database_root
from planproof.session import open as opened
from planproof.session.store import store_of

SQL = "select 2 as id, 'b' as s"
PARTED = "select * from values (3, 'x'), (4, 'z') as v(id, d)"
ROOT = {"location_root": ""}
KINDS = {
    "managed": Case(OLD, {"sql": SQL}, [(1, "a")], [(2, "b")]),
    "located": Case(None, {"sql": SQL, "options": ROOT}, None, [(2, "b")]),
    "partitions": Case(PARTS, {"sql": PARTED, **OVERWRITE}, [(1, "x"), (2, "y")], [(2, "y"), (3, "x"), (4, "z")]),
    "located partitions": Case(
        None, {"sql": PARTED, "partition_by": ["d"], "options": ROOT}, None, [(3, "x"), (4, "z")]
    ),
}
MOVES = {**ACTS, "set elsewhere": ["alter table {t} set location '{elsewhere}'", FILL]}


class Leaving(Place):
    """A published table, files of which lie in version directories."""

    root: Path

    def make(self) -> None:
        super().make()
        self.root = self.home() / "root"
        for _ in range(1 if self.case.before else 2):
            assert self.publish().outcome == "published"
        # The first version of a table that lies where its model says.
        shutil.rmtree(self.root / "t", ignore_errors=True)

    def model(self, **more: Any) -> Model:
        options = {name: str(self.root) for name in self.case.model.get("options", {})}
        return super().model(**more, **({"options": options} if options else {}))

    def clean(self, guard: Guard | None = None, force: bool = False) -> list[Report]:
        session = opened(self.other) if guard is None else guard.session
        return move_back(session, store_of(session), [database_root(session, (self.database,))], force)

    def act(self, act: str) -> None:
        is_parted = "partitions" in self.kind
        columns, parts = ("(id int, d string)", "partitioned by (d)") if is_parted else ("(id int, s string)", "")
        for statement in MOVES[act]:
            words = {"columns": columns, "parts": parts, "elsewhere": self.root / "elsewhere"}
            self.other.sql(statement.format(t=self.t, using="parquet", **words))

    @property
    def kind(self) -> str:
        return next(kind for kind, case in KINDS.items() if case is self.case)


@contextmanager
def leaving(spark: Any, kind: str) -> Iterator[Leaving]:
    format = Format("parquet", "parquet", KINDS)
    with format.database(spark) as database:
        yield Leaving(spark, format, kind, database)


def _clean(there: Leaving) -> list[Report]:
    return there.clean()


def _recover(there: Leaving) -> list[Report]:
    there.recover()
    return there.clean(force=True)


def _publish(there: Leaving) -> list[Report]:
    return [there.publish(Guard(there.other))]


FOLLOWS: dict[str, Callable[[Leaving], list[Report]]] = {"clean": _clean, "recover": _recover, "publish": _publish}


def find_harm(spark: Any, kind: str, act: str, follow: str, every: int = 1) -> list[str]:
    """What was harmed, killed at each of the calls."""
    at, harms = 0, list[str]()
    while True:
        with leaving(spark, kind) as there:
            full = there.rows()
            reports = kill(at, there, there.clean)
            if reports is not None:
                assert {r.outcome for r in reports} == {"moved"}, [said(r) for r in reports]
                return harms
            where = f"{kind}, killed at {at}, {act}, {follow}"
            harms += [f"{where}: {harm}" for harm in _play(there, full, act, follow)]
        at += every


def _play(there: Leaving, full: Any, act: str, follow: str) -> Iterator[str]:
    if there.rows() != full:
        yield f"{full} -> {there.rows()} by the kill"
    try:
        there.act(act)
    except Exception as error:
        # Spark makes no table over files, not even over those that were just copied home.
        if "LOCATION_ALREADY_EXISTS" not in str(error):
            yield f"refused {str(error).splitlines()[0][:150]}"
    left, moved = there.rows(), there.rows(f"{there.t}_moved")
    if act == "inserted" and len(left or ()) != len(full) + 2:
        yield f"{full} and two rows -> {left}"
    reports = FOLLOWS[follow](there)
    told, found = [said(r)[:300] for r in reports], there.rows()
    if follow == "publish" and reports[0].outcome != "published":
        yield str(told)
    if follow != "publish" and found != left:
        yield f"{left} -> {found}; {told}"
    if "internal" in str(told):
        yield str(told)
    said_again = [said(r)[:300] for r in there.clean()]
    if there.rows() != found:
        yield f"cleaned again: {found} -> {there.rows()}"
    if there.rows(f"{there.t}_moved") != moved:
        yield f"moved {moved} -> {there.rows(f'{there.t}_moved')}; {told}"
    rest = {path.name for path in there.home().iterdir()} & {".planproof", "__planproof"}
    if rest and act == "nothing" and follow == "recover":
        yield f"left {rest}; {told}; {said_again}"


@pytest.mark.parametrize("every", [11, pytest.param(1, marks=pytest.mark.faults)])
@pytest.mark.parametrize("act", keep_quick(MOVES, "inserted"))
@pytest.mark.parametrize(("kind", "follow"), keep_quick([(k, f) for k in KINDS for f in FOLLOWS], ("managed", "clean")))
def test_what_others_do_after_a_killed_move_back_is_not_undone(
    kind: str, act: str, follow: str, every: int, spark: Any
) -> None:
    assert find_harm(spark, kind, act, follow, every) == []
