"""Rows that others have brought to a folder which a table, or one of its partitions, had left: no table reads them."""

from __future__ import annotations

from planproof.publish.transaction import JournaledPublication
from planproof.publish.transaction.deletion import Holdings
from planproof.publish.transaction.names import join, parent
from planproof.publish.transaction.version_note import list_added
from planproof_engine import RelationName


def count_strays(publication: JournaledPublication) -> dict[str, int]:
    """The folders, each with the number of such files. Raises `SparkFailure`."""
    return {**publication.strays, **_count_at_home(publication), **_count_in_partitions(publication)}


def _count_at_home(publication: JournaledPublication) -> dict[str, int]:
    """A managed table that lies in a version has emptied its default folder when it left that; of an external one, the
    folder beside its versions has a note."""
    entry, prior, target = publication.entry, publication.entry.prior, RelationName.parse(publication.entry.target)
    if (
        entry.strategy != "location"
        or prior is None
        or not prior.location
        or not publication.is_version(prior.location)
    ):
        return {}
    home = entry.native if prior.managed else join(parent(parent(parent(prior.location))), target.last)
    # What lies deeper is another table's, or nobody knows whose.
    added = [name for name in list_added(publication.store, home, is_emptied=prior.managed) if "/" not in name]
    if not added or Holdings(publication.session).holder(home, [target]) is not None:
        return {}
    return {home: len(added)}


def _count_in_partitions(publication: JournaledPublication) -> dict[str, int]:
    entry, prior = publication.entry, publication.entry.prior
    left = [swap for swap in entry.partitions if publication.is_version(swap.old)]
    root = publication.location(entry.target) if left and entry.strategy == "partitions" else None
    if root is None or prior is None:
        return {}
    homes = [join(root, swap.partition) for swap in left]
    found = {home: len(list_added(publication.store, home, is_emptied=prior.managed)) for home in homes}
    return {home: number for home, number in found.items() if number}
