"""The quarantine of Delta tables: the bad rows are staged in its folder, and a commit of their own."""

from __future__ import annotations

from planproof.publish.bad_rows import BadRows
from planproof.publish.delta.actions import count_for_history
from planproof.publish.delta.left import take_back
from planproof.publish.delta.publication import DeltaPublication
from planproof.publish.delta.staging import StagedTable
from planproof.publish.materialize.materialization import Job
from planproof.publish.notes import NotedQuarantine, QuarantinedFiles
from planproof.session import Session, SparkFailure, decode_uri, store_of
from planproof.session.delta.protocol import DeltaTables, NewVersion


class DeltaQuarantine(NotedQuarantine[DeltaPublication]):
    """`publish.protocol.QuarantineTable` of Delta tables."""

    stored_as = "delta"

    def __init__(self, session: Session, tables: DeltaTables) -> None:
        super().__init__(session)
        self._tables = tables

    def write(self, bad: BadRows, job: Job, publication: DeltaPublication) -> None:
        table = self.find(bad.table)
        if table is None or table.location is None:
            raise SparkFailure(f"{bad.table} is gone", outside=True)
        base = self._tables.state(decode_uri(table.location))
        staged = StagedTable(self._tables, store_of(self._session), base, bad.names.stamp)
        noted = QuarantinedFiles(bad.table, bad.names.stamp, staged.location, base=base.version)
        publication.bad_rows = StagedRows(self._session, staged, noted)
        self.note(noted, publication)
        staged.clone()
        self.insert(bad, staged.relation, base.schema)


class StagedRows:
    """The bad rows of one publish, staged in the quarantine's folder."""

    def __init__(self, session: Session, staged: StagedTable, noted: QuarantinedFiles) -> None:
        self._session, self._staged, self.noted = session, staged, noted
        self._is_interrupted = False

    def count(self) -> int:
        return self._staged.count(self._session)

    def commit(self) -> None:
        staged, base = self._staged, self._staged.base
        written, since = staged.written, base.version
        counts = count_for_history(written)
        change = NewVersion("append", base, since, written.added, (), None, reads=False, exact=False, counts=counts)
        try:
            staged.tables.commit(change, self.noted.table, staged.folder)
        except BaseException as error:
            # The JVM goes on with a commit whose caller was interrupted.
            self._is_interrupted = not isinstance(error, Exception)
            raise
        staged.forget_log()

    def take_back(self) -> None:
        if self._is_interrupted:
            self._staged.tables.fence(self._staged.base.location, self._staged.folder)
        take_back(self._session, self._staged.store, self.noted)

    def close(self) -> None:
        """Nothing is held."""
