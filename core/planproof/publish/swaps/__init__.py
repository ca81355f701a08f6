"""The ways in which audited data take the target's place: one file each."""

from __future__ import annotations

from typing import Protocol

from planproof.publish.swaps import append, location, partitions, rename, view
from planproof.publish.swaps.rename import tell_found
from planproof.publish.transaction import JournaledPublication
from planproof.publish.transaction.states import STATES, UNDO, Ending, Target
from planproof.session import SparkFailure


class Strategy(Protocol):
    """`swap` puts the audited data in the target's place, a journaled step at a time, and cleans up.

    The others serve a publish that stopped after the audit. Each may be called again after it was interrupted itself.
    """

    def swap(self, publication: JournaledPublication) -> None: ...

    def is_here(self, publication: JournaledPublication) -> bool:
        """True where the session's catalog is the one in which the publish ran. Metastores may share a folder, and a
        catalog in memory dies: what another one calls its own must not be taken for the old table."""

    def is_swapped(self, publication: JournaledPublication) -> bool:
        """True where the target is the new one already, or can be made so by one call that was audited."""

    def finish(self, publication: JournaledPublication) -> None:
        """Tidies up behind a target that is the new one; leaves nothing staged."""

    def undo(self, publication: JournaledPublication) -> None:
        """Brings the target back to the old state; leaves nothing staged."""


STRATEGIES: dict[str, Strategy] = {
    "rename": rename.Rename(),
    "location": location.Location(),
    "append": append.Append(),
    "partitions": partitions.Partitions(),
    "view": view.View(),
}


def settle(publication: JournaledPublication, force: bool = False) -> Ending:
    """Finishes or undoes a publish that stopped at some step.

    What is found in the catalog and on disk decides, not the step alone: the process may have died within it. An undo
    is journaled before it begins, because half of one can look like a finished publish. May be called again after it
    was interrupted itself. In a catalog that does not know the publish nothing is touched: it is given up where it was
    all but finished, its catalog is dead or `force` says so; else `SparkFailure` is raised.
    Raises `Evicted` where another run has taken the table over.
    """
    publication.fence()
    step, strategy = publication.entry.step, STRATEGIES[publication.entry.strategy]
    ending: Ending
    target = STATES[step].target
    if target is Target.OLD:
        publication.discard()
        ending = "undone"
    elif not strategy.is_here(publication):
        if publication.is_own_catalog() and target is not Target.NEW:
            # Others dropped the target, or made another one: theirs stays as it is, and what was staged goes.
            publication.discard()
            ending = "undone"
        else:
            if not force and target is not Target.NEW:
                _refuse_another_catalog(publication)
            ending = "left"
    elif step != UNDO and strategy.is_swapped(publication):
        strategy.finish(publication)
        ending = "finished"
    else:
        publication.step(UNDO)
        strategy.undo(publication)
        ending = "undone"
    if ending == "undone":
        publication.withdraw()
    publication.journal.close()
    return ending


def _refuse_another_catalog(publication: JournaledPublication) -> None:
    """Raises `SparkFailure` where the publish may stand in another metastore; an in-memory catalog died with it."""
    if publication.is_in_memory():
        return
    entry = publication.entry
    raise SparkFailure(
        f"this session's catalog knows neither {entry.staging}, which the publish had staged, nor the version of "
        f"{entry.target} that it made: it ran in another metastore over the same folder, or its tables were dropped "
        "since. Recover from that metastore; where there is none, `recover --force` leaves the files as they lie"
    )


__all__ = ["STRATEGIES", "Strategy", "settle", "tell_found"]
