"""Two renames: the old relation steps aside, the staged table takes its name, the old one is dropped.

For a first publish (one rename, atomic in the metastore), a changed schema, a partitioned table, or a view in the
table's place. Other sessions see a gap between the two renames.
"""

from __future__ import annotations

from contextlib import suppress

from planproof.publish.transaction import Evicted, JournaledPublication, Remains
from planproof.publish.transaction.deletion import Holdings, has_detour, is_version_of
from planproof.publish.transaction.journal import Prior
from planproof.publish.transaction.names import FOUND, Refused, is_within, join
from planproof.publish.transaction.partition import format_spec, list_locations, list_names, partitions_of
from planproof.publish.transaction.verification import parent_version
from planproof.publish.transaction.versions import drop_prior
from planproof.session import SparkFailure, StoredTable, decode_uri
from planproof_engine import RelationName, quote_literal


class Rename:
    """The old relation steps aside, and the staged table takes its name."""

    def swap(self, publication: JournaledPublication) -> None:
        entry = publication.entry
        if entry.place is not None and not publication.stored(entry.staging).partition_by:  # type: ignore[union-attr]
            publication.step("place")
            publication.move(entry.stage_location, entry.place)
            publication.set_location(entry.staging, entry.place)
        if entry.prior is not None:
            publication.step("away")
            publication.rename(entry.target, entry.away, entry.prior.kind)
            _refuse_repointed(publication)
        try:
            publication.step("swap")
            if publication.is_occupied:
                publication.store.prune(entry.native)
            publication.rename(entry.staging, entry.target)
        except Evicted:
            publication.bring_back()
            raise
        publication.step("clean")
        self.finish(publication)

    def is_here(self, publication: JournaledPublication) -> bool:
        if publication.is_staged() or publication.stored(publication.entry.away) is not None:
            return True
        target = publication.stored(publication.entry.target)
        if target is None:
            return False
        # All that `clean` deletes is what the catalog knows by the name that the old table got.
        return publication.entry.step == "clean" or self._is_new(publication, target)

    def _is_new(self, publication: JournaledPublication, target: StoredTable) -> bool:
        """Whether the target has what was staged: a managed table's directory went with its name."""
        entry = publication.entry
        if not entry.external:
            return not publication.store.exists(entry.stage_location)
        location = decode_uri(target.location) if target.location else ""
        return any(is_within(location, place) for place in (entry.place, entry.stage_location) if place)

    def is_swapped(self, publication: JournaledPublication) -> bool:
        if not self._has_name(publication):
            return False
        remains, is_done = self._look(publication), publication.entry.step == "clean"
        if remains is None or remains.is_taken:
            return is_done
        return remains.is_final or (bool(remains.there) and not self._has_old(publication))

    def _has_name(self, publication: JournaledPublication) -> bool:
        entry = publication.entry
        return publication.stored(entry.target) is not None and publication.stored(entry.staging) is None

    def _look(self, publication: JournaledPublication) -> Remains | None:
        """What of the audited files lies where the target does now; None where that is no table."""
        location = publication.location(publication.entry.target)
        return None if location is None else publication.look_for_files(location)

    def finish(self, publication: JournaledPublication) -> None:
        entry, prior = publication.entry, publication.entry.prior
        now = publication.stored(entry.target)
        repoint_partitions(publication, entry.target, entry.stage_location, now)
        if prior is None:
            return
        if prior.managed and publication.is_in_memory():
            repoint_partitions(publication, entry.away, prior.location, publication.stored(entry.away))
        _delete_overwritten(publication)
        drop_prior(publication, now)

    def undo(self, publication: JournaledPublication) -> None:
        entry, prior = publication.entry, publication.entry.prior
        if entry.place is not None and publication.store.exists(entry.stage_location):
            # The staged files were never moved there: what lies there now is another table's.
            publication.step(entry.step, place=None)
            entry = publication.entry
        if self._has_name(publication):
            remains = self._look(publication)
            if remains is None or remains.is_taken:
                # Somebody has given the name to rows of theirs: the old relation waits under the name that it got.
                publication.discard()
                return
            if remains.missing:
                self._give_name_up(publication)
        self._return_directories(publication)
        if prior is not None:
            _give_name_back(publication, prior)
            _give_place_back(publication, prior)
        if entry.place is not None:
            publication.delete_unused(entry.place)
        publication.discard()

    def _has_old(self, publication: JournaledPublication) -> bool:
        """Whether there is a state before this publish: nothing at all, or a relation that waits under its other
        name."""
        entry = publication.entry
        return entry.prior is None or publication.stored(entry.away) is not None

    def _give_name_up(self, publication: JournaledPublication) -> None:
        """Files of the new table were deleted by somebody: it gets its staging name back, and the old one returns,
        unless that has never stepped aside, or has its name back."""
        if self._has_old(publication):
            publication.rename(publication.entry.target, publication.entry.staging)

    def _return_directories(self, publication: JournaledPublication) -> None:
        """A rename that died in the metastore may have moved a managed table's directory and not its name."""
        entry, store = publication.entry, publication.store
        staged_is_away = not entry.external and not store.exists(entry.stage_location)
        name_is_free = publication.stored(entry.target) is None
        if staged_is_away and name_is_free and publication.stored(entry.staging) and store.exists(entry.native):
            publication.move(entry.native, entry.stage_location)
        publication.return_old_directory()


def _delete_overwritten(publication: JournaledPublication) -> None:
    """Deletes the old partitions that planproof wrote into versions of their own, beside a table that it did not make;
    and nothing that another table has. `drop_prior` sweeps the versions of one that it made."""
    prior, session, store = publication.entry.prior, publication.session, publication.store
    if prior is None or not prior.partitioned or prior.location is None or publication.is_version(prior.location):
        return
    if publication.stored(publication.entry.away) is None:
        return
    target, old = RelationName.parse(publication.entry.target), [RelationName.parse(publication.entry.away)]
    holdings = Holdings(session)
    for place in list_locations(session, publication.entry.away):
        version = parent_version(place)
        if is_version_of(version, target) and not has_detour(place) and holdings.holder(place, old) is None:
            publication.delete(place)
            if not store.contents(version):
                publication.delete(version)


def _refuse_repointed(publication: JournaledPublication) -> None:
    """Raises `Refused` where the managed table that has just stepped aside left its files behind: a rename takes along
    what lies at the default place, so somebody has set another location since the last look."""
    prior, native = publication.entry.prior, publication.entry.native
    if prior is None or not prior.managed or not prior.location or not publication.store.contents(prior.location):
        return
    if is_within(prior.location, native) or publication.is_in_memory():
        raise Refused(
            f"somebody gave {publication.entry.model} another location during its publish. Nothing was "
            "published; look at the table, and run the model again",
            transient=True,
        )


def _give_name_back(publication: JournaledPublication, prior: Prior) -> None:
    """The old relation gets its name back. The catalog renames no table onto a folder with files: others' files that
    came to the default place are moved beside it, and stay there if the table brings files of its own."""
    entry, store = publication.entry, publication.store
    found = _home_of_found_files(publication)
    try:
        if publication.stored(entry.target) is None and publication.stored(entry.away) is not None:
            waited = publication.location(entry.away)
            if prior.managed and store.contents(entry.native) and not store.exists(found):
                publication.move(entry.native, found)
            publication.rename(entry.away, entry.target, prior.kind)
            repoint_partitions(publication, entry.target, waited, publication.stored(entry.target))
    finally:
        _return_found(publication, prior, found)


def _home_of_found_files(publication: JournaledPublication) -> str:
    """Where files of others wait that came to the default place of a managed table while it stood aside."""
    return f"{publication.away_home}{FOUND}"


def tell_found(publication: JournaledPublication) -> str:
    """Names the folder in which files of others wait beside the table; empty where there is none."""
    found = _home_of_found_files(publication)
    with suppress(SparkFailure):
        if publication.store.exists(found):
            return (
                f"files that somebody put at {publication.entry.native} meanwhile lie in {found}: they are not "
                "planproof's, which never deletes them; add them to a table, or move them away"
            )
    return ""


def _return_found(publication: JournaledPublication, prior: Prior, found: str) -> None:
    """Moves the files that stood beside the default place back to it, if none came there."""
    entry, store = publication.entry, publication.store
    if not store.exists(found):
        return
    store.prune(entry.native)  # The rename may have made the folder.
    if store.exists(entry.native):
        return
    publication.move(found, entry.native)
    if prior.location and is_within(prior.location, entry.native) and publication.stored(entry.target) is not None:
        # Hive may still hold the folder that somebody has set. Spark passes on only a location that differs from the
        # one it shows: another one is set first.
        for folder in (found, entry.native):
            publication.set_location(entry.target, folder)


def _give_place_back(publication: JournaledPublication, prior: Prior) -> None:
    """Hive gives a renamed managed table its default place, whatever lies there, and leaves the data where they lie."""
    current, store = publication.location(publication.entry.target), publication.store
    if prior.kind != "table" or prior.location is None or current is None or is_within(current, prior.location):
        return
    by_rename = is_within(current, publication.entry.native) and not publication.is_in_memory()
    if (by_rename or not store.contents(current)) and store.exists(prior.location):
        publication.set_location(publication.entry.target, prior.location)


def repoint_partitions(
    publication: JournaledPublication, table: str, former: str | None, now: StoredTable | None
) -> None:
    """Lets partitions follow their table's directory from its `former` place: Hive's metastore does it, Spark's
    in-memory catalog does not.

    There the partitions of a table that stepped aside still name the directories of the one that took its place, and
    DROP TABLE deletes what they name (InMemoryCatalog.renameTable, dropTable).
    """
    if former is None or now is None or not now.partition_by or not now.location:
        return
    session, store = publication.session, publication.store
    if not publication.is_in_memory():
        any_one = list_names(session, table)[:1]
        if all(store.exists(p.location) for p in partitions_of(session, table, now, any_one)):
            return
    for old in partitions_of(session, table, now):
        new = join(decode_uri(now.location), old.partition)
        # A partition whose directory somebody removed must not name one of the new table's, which DROP would delete.
        is_there = table == publication.entry.away or store.exists(new)
        if is_within(old.location, former) and not is_within(new, old.location) and is_there:
            publication.change(
                f"ALTER TABLE {table} PARTITION ({format_spec(old.partition)}) SET LOCATION {quote_literal(new)}"
            )
