"""Dynamic overwrite: each partition that the delta holds gets the delta's directory as its location.

One metastore call per partition; the others are not touched. What a partition held stays on disk until all are
switched, so that the whole can be undone.
"""

from __future__ import annotations

from planproof.publish.journal import PartitionSwap
from planproof.publish.names import literal, parent, within
from planproof.publish.partition import location_of, names, places, spec
from planproof.publish.publication import Publication


class Partitions:
    def swap(self, publication: Publication) -> None:
        entry = publication.entry
        known = set(names(publication.session, entry.target))
        swaps = tuple(
            PartitionSwap(
                place.partition,
                location_of(publication.session, entry.target, place.partition) if place.partition in known else None,
                place.location,
            )
            for place in places(publication.session, entry.staging)
        )
        publication.step("partitions", partitions=swaps)
        for swap in swaps:
            self._point(publication, swap, swap.new)
        publication.step("clean")
        self._clean(publication)

    def settle(self, publication: Publication) -> bool:
        entry = publication.entry
        known = set(names(publication.session, entry.target))
        switched = [
            swap.partition in known and within(location_of(publication.session, entry.target, swap.partition), swap.new)
            for swap in entry.partitions
        ]
        if all(switched):
            self._clean(publication)
            return True
        for swap, done in zip(entry.partitions, switched):
            if done and swap.old is not None:
                self._point(publication, swap, swap.old)
            elif done:
                publication.run(f"ALTER TABLE {entry.target} DROP IF EXISTS PARTITION ({spec(swap.partition)})")
        publication.discard()
        return False

    def _point(self, publication: Publication, swap: PartitionSwap, location: str) -> None:
        table, partition, place = publication.entry.target, spec(swap.partition), literal(location)
        if swap.old is None:
            publication.run(f"ALTER TABLE {table} ADD IF NOT EXISTS PARTITION ({partition}) LOCATION {place}")
        else:
            publication.run(f"ALTER TABLE {table} PARTITION ({partition}) SET LOCATION {place}")

    def _clean(self, publication: Publication) -> None:
        entry = publication.entry
        publication.drop(entry.staging)
        publication.run(f"REFRESH TABLE {entry.target}")
        for swap in entry.partitions:
            if swap.old is not None and not within(swap.old, swap.new):
                self._delete(publication, swap.old)

    def _delete(self, publication: Publication, location: str) -> None:
        """Deletes a replaced partition's directory, and its version directory once that holds nothing more."""
        publication.store.delete(location)
        folder = parent(location)
        while publication.is_version(parent(folder)) and not publication.store.names(folder):
            publication.store.delete(folder)
            folder = parent(folder)
