"""The audited files of the delta move into the target's directories; nothing is written a second time.

Parquet is read by column name, so the files fit wherever their columns stand. Each file's name holds the id of the job
that staged it: undoing removes exactly those names, whatever other writers added meanwhile.
"""

from __future__ import annotations

from planproof.publish.journal import Move
from planproof.publish.names import join, literal
from planproof.publish.partition import PartitionPlace, location_of, names, places, spec
from planproof.publish.publication import Publication


class Append:
    def swap(self, publication: Publication) -> None:
        moves, new = self._planned(publication)
        publication.step("files", moves=moves, partitions=tuple(p.swap for p in new))
        for move in moves:
            publication.store.move(move.source, move.target)
        self._finish(publication)

    def settle(self, publication: Publication) -> bool:
        entry = publication.entry
        if entry.step == "clean" or not any(publication.store.exists(m.source) for m in entry.moves):
            self._finish(publication)
            return True
        for move in entry.moves:
            if not publication.store.exists(move.source):
                publication.store.delete(move.target)
        if publication.stored(entry.target) is not None:
            publication.run(f"REFRESH TABLE {entry.target}")
        publication.discard()
        return False

    def _planned(self, publication: Publication) -> tuple[tuple[Move, ...], list[PartitionPlace]]:
        """Which file goes where, and the partitions that the target does not have yet."""
        entry = publication.entry
        root = publication.location(entry.target)
        assert root is not None
        staged = places(publication.session, entry.staging)
        known = {p.partition for p in places(publication.session, entry.target)}
        moves: list[Move] = []
        new: list[PartitionPlace] = []
        for place in staged:
            target = root
            if place.partition and place.partition in known:
                target = location_of(publication.session, entry.target, place.partition)
            elif place.partition:
                target = join(root, place.partition)
                new.append(PartitionPlace(place.partition, target))
            for file in publication.session.files(place.local):
                moves.append(Move(file, join(target, file.rpartition("/")[2])))
        return tuple(moves), new

    def _finish(self, publication: Publication) -> None:
        entry = publication.entry
        for swap in entry.partitions:
            publication.run(f"ALTER TABLE {entry.target} ADD IF NOT EXISTS PARTITION ({spec(swap.partition)})")
        publication.step("clean")
        self._measure(publication)
        publication.discard()

    def _measure(self, publication: Publication) -> None:
        """Has Spark forget the size that the table had: a stale one makes it broadcast tables that have grown."""
        table, root = publication.entry.target, publication.location(publication.entry.target)
        found = names(publication.session, table)
        if found:
            place = literal(location_of(publication.session, table, found[0]))
            publication.run(f"ALTER TABLE {table} PARTITION ({spec(found[0])}) SET LOCATION {place}")
        elif root is not None:
            publication.set_location(table, root)
        publication.run(f"REFRESH TABLE {table}")
