"""The states of a publish that may stop at any moment, and the ways in which it ends: one table each, for all formats.

A publish moves from state to state by itself (`JournaledPublication.step`, `IcebergPublication.step`), as long as
it holds its table. Once it has stopped, only the holder of the table moves it: by `settle`, which begins with this
table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, NamedTuple

from planproof.report import Report
from planproof_engine import Finding, Verdict


class Target(Enum):
    """What the target holds while a publish is in a state, and so what recovery does with it. `OLD`: what was staged is
    removed. `EITHER`: what is found in the catalog and on disk decides whether the publish is finished or undone.
    `NEW`: it is finished, where the catalog is the publish's own."""

    OLD = "old"
    EITHER = "either"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class State:
    """`late`: a call that was asked for may still be carried out."""

    target: Target
    late: bool = False


UNDO, UNDONE = "undo", "undone"
"""Steps of an undo. In the first one the target is being brought back. In the second one the target and the files are
back, and only the staging table's name is left."""

STATES = {
    "begin": State(Target.OLD),
    "stage": State(Target.OLD),
    "audit": State(Target.OLD),
    "reject": State(Target.OLD),
    # The bad rows may be visible: whatever undoes the publish takes them back.
    "quarantine": State(Target.OLD, late=True),
    # The steps of Parquet's swaps and of views.
    "place": State(Target.EITHER),
    "away": State(Target.EITHER),
    "swap": State(Target.EITHER),
    "files": State(Target.EITHER),
    "partitions": State(Target.EITHER),
    "columns": State(Target.EITHER),
    UNDO: State(Target.EITHER),
    UNDONE: State(Target.OLD),
    # The steps of an open transaction.
    "commit": State(Target.EITHER, late=True),
    "exchange": State(Target.EITHER),
    "refused": State(Target.OLD),
    "evicted": State(Target.OLD),
    "clean": State(Target.NEW),
}

Ending = Literal["finished", "undone", "left"]
"""How a publish is settled. `left`: it is given up, and its files stay as they lie."""


class End(NamedTuple):
    """How a report tells of an ending: its code, how grave it is, and the report's outcome."""

    code: str | None
    verdict: Verdict
    outcome: str


ENDS = {
    "finished": End("PP603", Verdict.WARNING, "published"),
    "undone": End("PP602", Verdict.WARNING, "rejected"),
    "left": End("PP609", Verdict.WARNING, "rejected"),
    "moved back": End("PP610", Verdict.WARNING, "moved"),
    "locked": End("PP604", Verdict.UNPROVED, "failed"),
    "evicted": End("PP620", Verdict.UNPROVED, "failed"),
    "unsettled": End("PP608", Verdict.UNPROVED, "failed"),
    "refused": End("PP601", Verdict.UNPROVED, "failed"),
    "unreadable": End("PP601", Verdict.UNPROVED, "failed"),
    "disbelieved": End("PP622", Verdict.UNPROVED, "failed"),
    "unanswered": End("PP601", Verdict.UNPROVED, "failed"),
    "settled by another": End(None, Verdict.UNPROVED, "skipped"),
    "internal error": End("PP901", Verdict.UNPROVED, "failed"),
}


class Stopped(Exception):
    """A publish that was stopped, by nothing that its model has done. `end` is one of `ENDS`; `transient`: a new run
    may come to its end."""

    end = "refused"
    transient = False


def tell(end: str, message: str) -> list[Finding]:
    """What a report says of an ending (of `ENDS`); nothing where only its error tells."""
    code, verdict, _ = ENDS[end]
    return [] if code is None else [Finding(verdict, code, "catalog", message=message)]


def report_end(end: str, model: str, message: str, strategy: str | None = None) -> Report:
    """The whole report of a publish, or of a move back, that was found half way."""
    outcome = ENDS[end].outcome
    error = message if outcome in ("failed", "skipped") else None
    return Report(model, outcome, tuple(tell(end, message)), error=error, strategy=strategy)
