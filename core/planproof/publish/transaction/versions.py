"""What a publish makes superfluous: the relation that it replaced, and versions of files that nobody needs any more."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator

from planproof.publish.transaction.content import list_content, list_table_files
from planproof.publish.transaction.names import is_within, join, mark_of, parent
from planproof.publish.transaction.publication import JournaledPublication
from planproof.publish.transaction.version_note import list_added, read_note, write_note
from planproof.session import StoredTable

LATENESS = 7 * 86_400.0
"""For so many seconds what was staged stays on disk if its owner was evicted: it may be asleep, right before the call
that points the table there."""


def note_left(publication: JournaledPublication, folder: str) -> None:
    """Notes which files a folder has that the table, or a partition, has just left."""
    # Who recovers does not know since when it is left.
    if publication.is_own or read_note(publication.store, folder) is None:
        found = list_content(publication.store, folder)
        if found is not None:
            write_note(publication.store, folder, [name for name, _ in found])


def sweep(publication: JournaledPublication, version: str | None, kept: Iterable[str] = (), seconds: float = 0) -> None:
    """Removes the versions that bear the mark of `version`, but those `kept`, what was kept after a rejection, and
    those into which others have written since they were replaced: these are counted as `strays`.

    A table of the same name in another metastore has a mark of its own. A version that was replaced less than
    `seconds` ago stays for those who listed its files.
    """
    mark = mark_of(version) if version is not None and publication.is_version(version) else None
    if version is None or mark is None:
        return
    folder, store = parent(version), publication.store
    own = [join(folder, name) for name in store.names(folder) if mark_of(name) == mark]
    left = [one for one in own if not any(is_within(k, one) for k in kept if k)]
    publication.strays = {one: len(added) for one in left if (added := list_added(store, one))}
    replaced = {one for one, age in _list_ages(publication, own, set(own).difference(left)) if age >= seconds}
    spare = [one for one in left if one in replaced and one not in publication.strays]
    rejected = [location for _, location in publication.list_rejected()] if spare else []
    for one in spare:
        if not any(is_within(location, one) for location in rejected):
            publication.delete_unused(one)


def _list_ages(
    publication: JournaledPublication, versions: Iterable[str], kept: Collection[str]
) -> Iterator[tuple[str, float]]:
    """Since how many seconds each version is replaced: as its note says, or since the next one was written."""
    store = publication.store
    notes = {version: read_note(store, version) for version in versions}
    # The version that was replaced a moment ago is kept, and has a note of the store's own time.
    now = max((note.since for one, note in notes.items() if note is not None and one in kept), default=time.time())
    written = sorted((store.modification_time(version) or 0.0, version) for version in notes)
    for (_, version), (following, _) in zip(written, [*written[1:], (0.0, "")]):
        note = notes[version]
        if note is None:
            yield version, now - following
        else:
            yield version, now - note.since - (LATENESS if note.files is None else 0.0)


def drop_prior(publication: JournaledPublication, now: StoredTable | None = None) -> None:
    """Removes the old relation, which stands aside: nothing, where the catalog does not know it.

    A managed table's data go with it; of an external table's, only what planproof itself had written.
    """
    entry, prior = publication.entry, publication.entry.prior
    if prior is None or publication.stored(entry.away) is None:
        return
    is_version = publication.is_version(prior.location)
    if prior.location is not None and (is_version or prior.managed):
        publication.delete_replaced(prior.location, now)
    if publication.replaced is not None:
        publication.count_others(_list_prior_files(publication))
    if prior.location is not None and is_version:
        sweep(publication, prior.location, [prior.location])
    is_elsewhere = prior.managed and prior.location is not None and not is_within(prior.location, entry.native)
    if prior.kind == "table" and is_elsewhere and not publication.is_in_memory():
        # DROP deletes the folder that Hive holds, which may be one that somebody set right before the rename; Spark
        # shows the default one. It passes on only a location that differs from the one it shows.
        publication.set_location(entry.away, f"{publication.away_home}_dropped")
    publication.drop(entry.away, prior.kind)


def _list_prior_files(publication: JournaledPublication) -> list[str]:
    """The files of the old table, which stands aside. Hive leaves them where they lay if that was no table's default
    place."""
    entry, prior = publication.entry, publication.entry.prior
    files = list_table_files(publication.session, publication.store, publication.stored(entry.away))
    names = list(files.own) if files else []
    now = publication.location(entry.target)
    if prior is not None and prior.location is not None and not (now and is_within(now, prior.location)):
        names += publication.names_in(prior.location)
    return names
