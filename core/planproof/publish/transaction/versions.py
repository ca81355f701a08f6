"""What a publish makes superfluous: the relation that it replaced, and versions of files that nobody needs any more."""

from __future__ import annotations

import time
from collections.abc import Iterable

from planproof.publish.transaction.names import is_within, join, mark_of, parent
from planproof.publish.transaction.publication import JournaledPublication
from planproof.session.protocol import StoredTable


def sweep(publication: JournaledPublication, version: str | None, kept: Iterable[str] = (), seconds: float = 0) -> None:
    """Removes the versions that bear the mark of `version`, but those `kept` and what was kept after a rejection.

    A table of the same name in another metastore has a mark of its own. A version that was replaced less than
    `seconds` ago stays for those who listed its files: it was, when the next one was written.
    """
    mark = mark_of(version) if version is not None and publication.is_version(version) else None
    if version is None or mark is None:
        return
    folder = parent(version)
    own = [join(folder, name) for name in publication.store.names(folder) if mark_of(name) == mark]
    written = sorted((publication.store.modification_time(location) or 0.0, location) for location in own)
    until = time.time() - seconds
    replaced = [one for (_, one), (then, _) in zip(written, [*written[1:], (0.0, "")]) if then <= until]
    spare = [location for location in replaced if not any(is_within(one, location) for one in kept if one)]
    rejected = [location for _, location in publication.list_rejected()] if spare else []
    for location in spare:
        if not any(is_within(one, location) for one in rejected):
            publication.delete_unused(location)


def drop_prior(publication: JournaledPublication, now: StoredTable | None = None) -> None:
    """Removes the old relation, which stands aside: nothing, where the catalog does not know it.

    A managed table's data go with it; of an external table's, only what planproof itself had written.
    """
    entry, prior = publication.entry, publication.entry.prior
    if prior is None or publication.stored(entry.away) is None:
        return
    if publication.replaced is not None:
        publication.count_others(publication.list_prior_files())
    if prior.location is not None and publication.is_version(prior.location):
        publication.delete_unused(prior.location, now)
        sweep(publication, prior.location)
    elif prior.location is not None and prior.managed:
        publication.delete_replaced(prior.location)
    is_elsewhere = prior.managed and prior.location is not None and not is_within(prior.location, entry.native)
    if prior.kind == "table" and is_elsewhere and not publication.is_in_memory():
        # DROP deletes the folder that Hive holds, which may be one that somebody set right before the rename; Spark
        # shows the default one. It passes on only a location that differs from the one it shows.
        publication.set_location(entry.away, f"{publication.away_home}_dropped")
    publication.drop(entry.away, prior.kind)
