"""The ways in which audited data take the target's place: one file each."""

from __future__ import annotations

from planproof.publish.publication import Publication
from planproof.publish.strategies import append, location, partitions, rename, view
from planproof.publish.strategies.model import Strategy

STRATEGIES: dict[str, Strategy] = {
    "rename": rename.Rename(),
    "location": location.Location(),
    "append": append.Append(),
    "partitions": partitions.Partitions(),
    "view": view.View(),
}
BEFORE_SWAP = ("begin", "stage", "audit", "reject")
UNDO = "undo"


def settle(publication: Publication) -> bool:
    """Finishes or undoes a publish that stopped at some step; True where it is finished, False where it is undone.

    What is found in the catalog and on disk decides, not the step alone: the process may have died within it. An undo
    is journaled before it begins, because half of one can look like a finished publish. May be called again after it
    was interrupted itself.
    """
    step, strategy = publication.entry.step, STRATEGIES[publication.entry.strategy]
    if step in BEFORE_SWAP:
        publication.discard()
        finished = False
    elif step != UNDO and strategy.is_swapped(publication):
        strategy.finish(publication)
        finished = True
    else:
        publication.step(UNDO)
        strategy.undo(publication)
        finished = False
    publication.journal.close()
    return finished


__all__ = ["STRATEGIES", "Strategy", "settle"]
