"""The quarantine of Iceberg tables: the bad rows are an open transaction of their own."""

from __future__ import annotations

from contextlib import suppress

from planproof.publish.bad_rows import BadRows, format_name
from planproof.publish.iceberg.facts import convert_types
from planproof.publish.iceberg.left import take_back
from planproof.publish.iceberg.publication import IcebergPublication, refuse_redirected
from planproof.publish.materialize.materialization import Job
from planproof.publish.notes import NotedQuarantine, QuarantinedFiles
from planproof.session import store_of
from planproof.session.protocol import Moved, Session, SparkFailure, StoredTable, Transaction, Transactional
from planproof_engine import PhysicalSchema, evolve


class IcebergQuarantine(NotedQuarantine[IcebergPublication]):
    """`publish.protocol.QuarantineTable` of Iceberg tables."""

    stored_as = "iceberg"

    def __init__(self, session: Session, tables: Transactional) -> None:
        super().__init__(session)
        self._tables = tables

    def find(self, name: str) -> StoredTable | None:
        return self._tables.table(name) or self._session.registered_table(name)

    def convert_types(self, schema: PhysicalSchema) -> PhysicalSchema:
        return convert_types(schema)

    def write(self, bad: BadRows, job: Job, publication: IcebergPublication) -> None:
        run, transaction = bad.names.stamp, self._tables.change(bad.table)
        refuse_redirected(bad.table, self._tables, transaction)
        noted = QuarantinedFiles(bad.table, run, transaction.place_files(f"planproof_{run}"))
        rows = publication.bad_rows = OpenRows(self._session, self._tables, transaction, noted)
        self.note(noted, publication)
        self.insert(bad, transaction.staged, transaction.schema())
        rows.noted = evolve(noted, others=tuple(transaction.manifests()))
        self.note(rows.noted, publication)


class OpenRows:
    """The bad rows of one publish, in an open transaction of the quarantine."""

    def __init__(
        self, session: Session, tables: Transactional, transaction: Transaction, noted: QuarantinedFiles
    ) -> None:
        self._session, self._tables = session, tables
        self.transaction, self.noted = transaction, noted
        self._asked = False

    def commit(self) -> None:
        self._asked = True
        try:
            self.transaction.commit()
        except Moved:
            self._asked = False
            raise

    def count(self) -> int:
        return self.transaction.rows()

    def take_back(self) -> None:
        if not self._asked:
            self.transaction.discard()
        elif not self.transaction.is_committed():
            raise SparkFailure(f"the catalog may still carry out the commit of {format_name(self.noted.table)}")
        take_back(self._session, self._tables, store_of(self._session), self.noted)
        self.close()

    def close(self) -> None:
        with suppress(SparkFailure):  # A name that nobody uses again.
            self.transaction.close()
