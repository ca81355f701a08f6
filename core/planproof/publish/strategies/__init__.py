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


def settle(publication: Publication) -> bool:
    """Finishes or undoes a publish that stopped at some step; True where it is finished, False where it is undone.

    What is found in the catalog and on disk decides, not the step alone: the process may have died within it. May be
    called again after it was interrupted itself.
    """
    entry = publication.entry
    if entry.step in BEFORE_SWAP:
        publication.discard()
        finished = False
    else:
        finished = STRATEGIES[entry.strategy].settle(publication)
    publication.journal.close()
    return finished


__all__ = ["STRATEGIES", "Strategy", "settle"]
