"""`table` on Iceberg where a view stands: the table is committed under a name of its own, and the two change places.

No transaction replaces a view. Readers find neither for as long as two renames take. A process that dies between them
leaves a note. By it a recovery goes on, or back where the view still stands.
"""

from __future__ import annotations

from planproof.publish.iceberg.left import change_places, settle_exchange
from planproof.publish.iceberg.publication import IcebergPublication, begin_publication
from planproof.publish.iceberg.table import Replacement, collect_properties, list_partitions
from planproof.publish.materialize.materialization import Job
from planproof.publish.transaction import Ending, Evicted
from planproof.publish.transaction.names import join
from planproof.session import SparkFailure


class OverView(Replacement):
    """A `materialization.Materialization` of a table that takes the place of a view."""

    def begin(self, job: Job) -> IcebergPublication:
        staging, given = job.names.staging.in_schema.quoted, collect_properties(job)
        home = self._tables.namespace_location(job.names.target.namespace)
        if home is not None:
            # The name is another one by the time that people look.
            given.setdefault("location", join(home, f"{job.names.target.last}_{job.names.stamp}"))
        transaction = self._tables.replace(staging, job.examined.runs, list_partitions(job), given)
        commit = begin_publication(job, self._tables, transaction, "exchange")
        return Exchange(job, commit)


class Exchange(IcebergPublication):
    """A commit that ends with the table and the view changing places."""

    def __init__(self, job: Job, plain: IcebergPublication) -> None:
        super().__init__(plain.transaction, plain.entry, plain.notebook)
        self._session, self._names = job.session, job.names

    def commit(self) -> None:
        self.step("exchange")
        names = [name.in_schema.quoted for name in (self._names.staging, self._names.away, self._names.target)]
        is_noted = self.notebook.write(step="exchange", staging=names[0], away=names[1], target=names[2])
        if self.notebook.root is not None and not is_noted:
            said = f"{self.notebook.location} cannot be written, by which a kill between two renames is mended"
            raise SparkFailure(f"{said}; nothing was published", outside=True)
        try:
            self._refuse_evicted()
            self.transaction.commit()
            change_places(self._session, self.notebook.note, self._refuse_evicted)
        except Evicted:
            # A recovery has gone on or back. A rename of ours may have come between two of its own.
            self.step("evicted")
            if settle_exchange(self._session, self.notebook.note) == "undone":
                self.discard()
                self.close()
                raise
        self.step("clean")
        self.notebook.delete()

    def _refuse_evicted(self) -> None:
        if self.notebook.is_evicted():
            raise Evicted(self.entry.model)

    def find_undoing(self) -> str | None:
        """None: the name by which the transaction knows its table is not the table's any more."""
        return None

    def settle(self) -> Ending:
        if self.entry.step != "exchange":
            return super().settle()
        ending = settle_exchange(self._session, self.notebook.note)
        if ending == "undone":
            self.take_back()
            self.notebook.sweep()
        self.notebook.delete()
        self.close()
        return ending
