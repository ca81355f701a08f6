"""Dynamic overwrite: each partition that the delta holds gets the delta's directory as its location.

One metastore call per partition; the others are not touched. What a partition held stays on disk until all are
switched, so that the whole can be undone.
"""

from __future__ import annotations

from planproof.publish.transaction import JournaledPublication, Remains
from planproof.publish.transaction.journal import PartitionSwap
from planproof.publish.transaction.names import is_within, join, list_empty_of, parent, path_below, refuse_unspeakable
from planproof.publish.transaction.partition import format_spec, list_locations, partitions_of, refuse_partitions
from planproof.publish.transaction.versions import note_left
from planproof.session import SparkFailure
from planproof_engine import quote_literal


class Partitions:
    """Each partition of the delta takes the place of the target's one."""

    def swap(self, publication: JournaledPublication) -> None:
        entry = publication.entry
        staged = partitions_of(publication.session, entry.staging)
        asked = [part.partition for part in staged]
        refuse_partitions(publication.session, asked)
        known = {p.partition: p.location for p in partitions_of(publication.session, entry.target, among=asked)}
        refuse_unspeakable(publication.session, known.values(), "a partition's folder")
        swaps = tuple(PartitionSwap(p.partition, known.get(p.partition), p.location) for p in staged)
        publication.step("partitions", partitions=swaps)
        for swap in swaps:
            self._point(publication, swap)
        if not all(self.are_switched(publication)):
            raise SparkFailure(f"another writer changed partitions of {entry.model} at the same time")
        publication.refuse_changed()
        publication.add_columns()
        publication.step("clean")
        self.finish(publication)
        publication.count_others(name for swap in swaps if swap.old for name in publication.names_in(swap.old))

    def is_here(self, publication: JournaledPublication) -> bool:
        return publication.is_staged() or all(self.are_switched(publication))

    def is_swapped(self, publication: JournaledPublication) -> bool:
        if publication.entry.step == "partitions" and publication.is_exchanged():
            return False
        switched = self.are_switched(publication)
        # Since `clean` the target is the new one: a partition that lies elsewhere now was changed by somebody later.
        if publication.entry.step != "clean" and not (all(switched) and publication.has_columns()):
            return False
        swaps = publication.entry.partitions
        return all(look(publication, swap).is_final for swap, is_here in zip(swaps, switched) if is_here)

    def undo(self, publication: JournaledPublication) -> None:
        entry, table = publication.entry, publication.holder_of_staged() or publication.entry.target
        for swap, done in zip(entry.partitions, self.are_switched(publication, table)):
            old = _find_moved(publication, table, swap.old)
            if done and _give_back(publication, swap, old):
                publication.change(_point_back(table, swap, old))
        if publication.stored(entry.target) is not None:
            publication.refresh()
        publication.discard()

    @staticmethod
    def are_switched(publication: JournaledPublication, table: str | None = None) -> list[bool]:
        entry = publication.entry
        asked = [swap.partition for swap in entry.partitions]
        found = partitions_of(publication.session, table or entry.target, among=asked)
        known = {p.partition: p.location for p in found}
        return [swap.partition in known and is_within(known[swap.partition], swap.new) for swap in entry.partitions]

    def _point(self, publication: JournaledPublication, swap: PartitionSwap) -> None:
        table, partition, quoted = publication.entry.target, format_spec(swap.partition), quote_literal(swap.new)
        if swap.old is None:
            publication.change(f"ALTER TABLE {table} ADD IF NOT EXISTS PARTITION ({partition}) LOCATION {quoted}")
        else:
            publication.change(f"ALTER TABLE {table} PARTITION ({partition}) SET LOCATION {quoted}")

    def finish(self, publication: JournaledPublication) -> None:
        entry = publication.entry
        publication.drop(entry.staging)
        publication.refresh()
        replaced = [swap.old for swap in entry.partitions if swap.old is not None]
        kept = list_locations(publication.session, entry.target) if replaced else []
        for left in list_empty_of(kept, replaced):
            if self._is_ours(publication, left) and not publication.is_shared(left):
                self._delete(publication, left)
            else:
                note_left(publication, left)

    def _is_ours(self, publication: JournaledPublication, location: str) -> bool:
        """Of an external table, as of one that other tables may read too, only what planproof itself had written."""
        prior = publication.entry.prior
        return publication.is_version(location) or (
            prior is not None and prior.managed and prior.location is not None and is_within(location, prior.location)
        )

    def _delete(self, publication: JournaledPublication, location: str) -> None:
        """Deletes a replaced partition's directory, and its version directory once that holds nothing more."""
        if publication.replaced is None:
            publication.delete(location)
        else:
            publication.delete_own(location)
        folder = parent(location)
        while publication.is_version(parent(folder)) and not publication.store.names(folder):
            publication.store.prune(folder)
            folder = parent(folder)


def look(publication: JournaledPublication, swap: PartitionSwap) -> Remains:
    """What lies in a switched partition of the files that were audited for it."""
    return publication.look_for_files(swap.new, path_below(swap.new, publication.entry.stage_location))


def _give_back(publication: JournaledPublication, swap: PartitionSwap, old: str | None) -> bool:
    """Whether a partition goes back to where its old files lie: `old`, None for a new one. Files that somebody has
    added go with it. A partition that somebody has overwritten stays theirs, and so does a new one to which somebody
    has added rows."""
    remains = look(publication, swap)
    if remains.is_taken:
        return False
    if old is not None:
        for name in remains.others:
            publication.move(join(swap.new, name), join(old, name))
    elif remains.others:
        for name in remains.there:
            publication.delete(join(swap.new, name))
    return old is not None or not remains.others


def list_switched(publication: JournaledPublication) -> list[str]:
    """The partitions of the target that lie where this publish has staged them; one that an append adds to lies where
    it did, whether or not it has the new rows."""
    swaps = publication.entry.partitions
    found = Partitions.are_switched(publication) if swaps else []
    return [swap.partition for swap, done in zip(swaps, found) if done and swap.old != swap.new]


def _point_back(table: str, swap: PartitionSwap, old: str | None) -> str:
    if old is None:
        return f"ALTER TABLE {table} DROP IF EXISTS PARTITION ({format_spec(swap.partition)})"
    return f"ALTER TABLE {table} PARTITION ({format_spec(swap.partition)}) SET LOCATION {quote_literal(old)}"


def _find_moved(publication: JournaledPublication, table: str, old: str | None) -> str | None:
    """Where an old partition lies by now: a managed table that somebody renamed has taken its folder along."""
    prior = publication.entry.prior
    if old is None or table == publication.entry.target or prior is None or prior.location is None:
        return old
    now = publication.location(table)
    moved = prior.managed and now is not None and is_within(old, prior.location) and not publication.store.exists(old)
    return join(str(now), path_below(old, prior.location)) if moved else old
