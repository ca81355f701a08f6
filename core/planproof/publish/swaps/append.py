"""The audited files of the delta move into the target's directories; nothing is written a second time.

Parquet is read by column name, so the files fit wherever their columns stand. Each file's name holds the id of the job
that staged it: undoing removes exactly those names, whatever other writers added meanwhile.

A publish that died is undone until its very last step, `clean`, is written, also where all of its rows stand: nobody
was told of them, and whoever runs the model again would add them once more. A column that came with them stays, and so
do they.
"""

from __future__ import annotations

from planproof.publish.transaction import JournaledPublication
from planproof.publish.transaction.journal import Move, PartitionSwap
from planproof.publish.transaction.names import Refused, is_same_place, is_within, join, path_below
from planproof.publish.transaction.partition import format_spec, partitions_of, refuse_partitions
from planproof.session import SparkFailure, local


class Append:
    """The delta's files move into the target's directories."""

    def swap(self, publication: JournaledPublication) -> None:
        moves, partitions = self._plan_moves(publication)
        publication.step("files", moves=moves, partitions=partitions)
        for move in moves:
            self._move(publication, move)
        publication.refuse_changed()
        self._register(publication)
        self._refuse_elsewhere(publication)
        publication.add_columns()
        self.finish(publication)

    def _move(self, publication: JournaledPublication, move: Move) -> None:
        try:
            publication.move(move.source, move.target)
        except SparkFailure as failure:
            if publication.store.exists(move.source) or publication.store.exists(move.target):
                raise
            raise Refused(
                f"{move.source}, which was staged for {publication.entry.model}, is gone: somebody deleted it while "
                "the rows were added. Nothing was published; run the model again",
                transient=True,
            ) from failure

    def is_here(self, publication: JournaledPublication) -> bool:
        """Which files are the delta's stands in the journal: no catalog is needed for that."""
        return True

    def is_swapped(self, publication: JournaledPublication) -> bool:
        entry = publication.entry
        if entry.step == "clean":
            return True
        if not (publication.is_own or entry.columns) or (entry.step == "files" and publication.is_exchanged()):
            return False
        store = publication.store
        is_moved = all(store.exists(m.target) and not store.exists(m.source) for m in entry.moves)
        return is_moved and publication.has_columns() and not self._list_elsewhere(publication)

    def finish(self, publication: JournaledPublication) -> None:
        if publication.stored(publication.entry.target) is not None:
            self._measure(publication)
        publication.discard()
        publication.step("clean")

    def undo(self, publication: JournaledPublication) -> None:
        """The staging gets another name first: whoever is late finds no file there that he could still move.

        Then every file goes from the target, also one that is staged still: object stores move a file by copying it
        first, and a copy's name, too, holds the id of the job that staged it.
        """
        entry, store = publication.entry, publication.store
        undone = f"{entry.stage_location}_undone"
        if store.exists(entry.stage_location) and store.exists(undone):
            # Object stores move a folder file by file, and an earlier undo died on the way. Both are this publish's
            # own, and both go: nobody asks any more which of them has a file.
            publication.delete(entry.stage_location)
        elif store.exists(entry.stage_location):
            publication.move(entry.stage_location, undone)
        staged = {name.rpartition("/")[2] for name in store.contents(undone)}
        carried: set[str] = set()
        for move in entry.moves:
            name = move.target.rpartition("/")[2]
            if store.exists(move.target):
                publication.delete(move.target)
            elif name not in staged:
                carried.add(name)
        self._delete_carried(publication, carried)
        publication.delete(undone)
        if publication.stored(entry.target) is not None:
            self._unregister(publication)
            publication.refresh()
        else:
            self._delete_folder(publication)
        publication.discard()

    def _delete_folder(self, publication: JournaledPublication) -> None:
        """Deletes the empty folder of a managed table that somebody has dropped meanwhile: the moves made it anew, and
        Spark renames no table onto one. What lies there besides is another writer's."""
        entry, prior = publication.entry, publication.entry.prior
        if prior is None or not prior.managed or not prior.location or not is_same_place(prior.location, entry.native):
            return
        moved = [move.target for move in entry.moves if is_within(move.target, entry.native)]
        made = {path_below(target, entry.native).partition("/")[0] for target in moved}
        if moved and made.issuperset(publication.store.names(entry.native)):
            publication.store.prune(entry.native)

    def _delete_carried(self, publication: JournaledPublication, names: set[str]) -> None:
        """Deletes files of the delta that left their partition's folder: somebody has renamed the partition since."""
        target = publication.stored(publication.entry.target) if names else None
        if target is None or not target.partition_by:
            return
        for part in partitions_of(publication.session, target.name, target):
            for name in names.intersection(publication.store.names(part.location)):
                publication.delete(join(part.location, name))

    def _plan_moves(self, publication: JournaledPublication) -> tuple[tuple[Move, ...], tuple[PartitionSwap, ...]]:
        """Which file goes where, and the partitions that get files, each in the place that it has or will have."""
        entry = publication.entry
        root = publication.location(entry.target)
        assert root is not None
        staged = partitions_of(publication.session, entry.staging)
        asked = [part.partition for part in staged]
        refuse_partitions(publication.session, asked)
        known = {p.partition: p.location for p in partitions_of(publication.session, entry.target, among=asked)}
        moves: list[Move] = []
        swaps: list[PartitionSwap] = []
        for part in staged:
            target = root
            if part.partition:
                old = known.get(part.partition)
                target = old or join(root, part.partition)
                swaps.append(PartitionSwap(part.partition, old, target))
            for file in publication.session.files(part.local):
                moves.append(Move(file, join(target, file.rpartition("/")[2])))
        lost = set(publication.session.files(local(entry.stage_location) or entry.stage_location))
        lost -= {move.source for move in moves}
        if lost:
            raise SparkFailure(
                f"{sorted(lost)[0]} was staged for {entry.model} and lies in no partition of the staging"
            )
        return tuple(moves), tuple(swaps)

    def _register(self, publication: JournaledPublication) -> None:
        entry = publication.entry
        for swap in entry.partitions:
            if swap.old is None:
                publication.change(
                    f"ALTER TABLE {entry.target} ADD IF NOT EXISTS PARTITION ({format_spec(swap.partition)})"
                )

    def _refuse_elsewhere(self, publication: JournaledPublication) -> None:
        """Raises `Refused` where a partition does not lie where its new rows went, so that nobody would read them."""
        elsewhere = self._list_elsewhere(publication)
        if elsewhere:
            raise Refused(
                f"{publication.entry.model}: somebody dropped, renamed, added or moved the partition {elsewhere[0]} "
                "while rows were added to it. It was left as it is, and nothing was published; run the model again",
                transient=True,
            )

    def _list_elsewhere(self, publication: JournaledPublication) -> list[str]:
        """The partitions that do not lie where their new rows went: others need no lock of planproof's to change one.
        None of a table that is gone."""
        there = self._list_in_place(publication)
        return [] if there is None else [s.partition for s in publication.entry.partitions if s.partition not in there]

    def _list_in_place(self, publication: JournaledPublication) -> set[str] | None:
        """The partitions of the delta that lie where their new rows went; None where there is no table any more. The
        catalog is not asked about a table that has no partitions."""
        entry = publication.entry
        if not entry.partitions:
            return set()
        table = publication.stored(entry.target)
        if table is None:
            return None
        asked = {swap.partition: swap.new for swap in entry.partitions}
        found = partitions_of(publication.session, entry.target, table, among=asked)
        return {p.partition for p in found if p.partition in asked and is_same_place(p.location, asked[p.partition])}

    def _unregister(self, publication: JournaledPublication) -> None:
        """Drops the partitions that came with the delta, unless another writer has put files there since, or has made
        the partition himself, in another place."""
        table, own = publication.entry.target, self._list_in_place(publication) or ()
        for swap in publication.entry.partitions:
            if swap.old is None and swap.partition in own and not publication.store.names(swap.new):
                publication.change(f"ALTER TABLE {table} DROP IF EXISTS PARTITION ({format_spec(swap.partition)})")

    def _measure(self, publication: JournaledPublication) -> None:
        """Has Spark forget the size that the table had. With an old size Spark would broadcast a table that has
        grown."""
        publication.fence()
        publication.session.forget_size(publication.entry.target)
        publication.refresh()
