"""The quarantine of Delta tables where SQL is all that reaches Spark: an INSERT of its own, just before the publish."""

from __future__ import annotations

from planproof.publish.bad_rows import BadRows
from planproof.publish.delta.statements.left import take_back
from planproof.publish.delta.statements.publication import BAD, StatementPublication
from planproof.publish.materialize.materialization import Job
from planproof.publish.notes import NotedQuarantine, QuarantinedFiles
from planproof.session import Session, SparkFailure, Store, store_of
from planproof.session.delta.statements import DeltaStatements
from planproof_engine import quote_parts


class StatementQuarantine(NotedQuarantine[StatementPublication]):
    """`publish.protocol.QuarantineTable` of Delta tables."""

    stored_as = "delta"

    def __init__(self, session: Session, tables: DeltaStatements) -> None:
        super().__init__(session)
        self._tables = tables

    def write(self, bad: BadRows, job: Job, publication: StatementPublication) -> None:
        table = self.find(bad.table)
        if table is None:
            raise SparkFailure(f"{bad.table} is gone", outside=True)
        folder = publication.folder + BAD
        noted = QuarantinedFiles(bad.table, bad.names.stamp, folder)
        publication.bad_rows = StagedBadRows(self._session, publication, store_of(self._session), noted)
        self.note(noted, publication)
        rows = quote_parts(("delta", folder))
        with publication.ask():
            self._session.rows(f"CREATE TABLE {rows} USING delta AS SELECT * FROM {bad.table} WHERE false")
            self.insert(bad, rows, table.schema)


class StagedBadRows:
    """The bad rows of one publish, staged beside the target. `noted` names their folder."""

    def __init__(
        self, session: Session, publication: StatementPublication, store: Store, noted: QuarantinedFiles
    ) -> None:
        self._session, self._publication, self._store, self.noted = session, publication, store, noted
        self._rows = quote_parts(("delta", noted.folder or ""))

    def count(self) -> int:
        return int(self._session.rows(f"SELECT count(*) FROM {self._rows}")[0][0])

    def commit(self) -> None:
        tables = self._publication.tables
        with tables.take_turns(), self._publication.ask(), tables.mark(self.noted.run):
            self._session.rows(f"INSERT INTO {self.noted.table} BY NAME SELECT * FROM {self._rows}")

    def take_back(self) -> None:
        take_back(self._session, self._store, self.noted)

    def close(self) -> None:
        """Nothing is held."""
