"""The quarantine of Iceberg tables: the bad rows are a transaction of their own, committed just before the target.

No catalog commits two tables at once. So a note that a recovery reads is written first, the bad rows are committed to
`<table>__quarantine` under the run's own name, and then the target. Where the target is not committed, the rows of that
run are taken back. Where no note can be written, no row is quarantined.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone

from planproof.invariants.row_terms import TERMS
from planproof.publish.bad_rows import AT, DATE, RUN, BadRows, Unquarantinable, shown
from planproof.publish.iceberg.commit import Commit
from planproof.publish.iceberg.facts import as_kept
from planproof.publish.iceberg.left import take_back
from planproof.publish.iceberg.note import QuarantinedFiles
from planproof.publish.materialize.materialization import Job
from planproof.publish.transaction.names import Refused, literal
from planproof.session.protocol import Moved, Session, SparkFailure, StoredTable, Transaction, Transactional
from planproof.session.store import store_of
from planproof_engine.quoting import backticked
from planproof_engine.schema import PhysicalSchema
from planproof_engine.types import as_ddl


class QuarantineCommits:
    """`publish.protocol.QuarantineTable` of Iceberg tables."""

    stored_as = "iceberg"

    def __init__(self, session: Session, tables: Transactional) -> None:
        self._session, self._tables = session, tables

    def refuse(self, raw: Commit) -> None:
        if not raw.notebook.is_written:
            raise Unquarantinable(
                "no note of them can be kept: the catalog tells no location of the namespace, or it cannot be written"
            )

    def stored(self, name: str) -> StoredTable | None:
        return self._tables.table(name) or self._session.registered(name)

    def as_kept(self, schema: PhysicalSchema) -> PhysicalSchema:
        return as_kept(schema)

    def attach(self, bad: BadRows, raw: Commit, publication: Commit) -> None:
        if publication.transaction.base != raw.transaction.base:
            publication.discard()
            publication.close()
            raise Moved(f"{publication.entry.model} was changed while its rows were looked at")

    def write(self, bad: BadRows, job: Job, publication: Commit) -> None:
        run, transaction = bad.names.stamp, self._tables.change(bad.table)
        rows = OpenRows(self._session, self._tables, transaction, QuarantinedFiles(bad.table, run))
        publication.bad_rows = rows
        self._note(rows, publication, folder=transaction.set_apart(f"planproof_{run}"))
        day = datetime.now(timezone.utc).date().isoformat()
        given = {name.lower(): backticked(name) for name in bad.columns}
        given |= {TERMS: TERMS, AT: "current_timestamp()", DATE: f"DATE{literal(day)}", RUN: literal(run)}
        # A column that the model had once holds nothing now.
        columns = ", ".join(
            f"{given.get(f.name.lower(), f'CAST(NULL AS {as_ddl(f.type)})')} AS {backticked(f.name)}"
            for f in transaction.schema()
        )
        self._session.write(f"INSERT INTO {transaction.staged}\nSELECT {columns} {bad.source}")
        self._note(rows, publication, others=tuple(transaction.manifests()))

    def count(self, job: Job, publication: Commit) -> tuple[int, int]:
        assert publication.bad_rows is not None, "they were written"
        return publication.bad_rows.transaction.rows(), publication.transaction.rows()

    def publish(self, bad: BadRows, publication: Commit) -> None:
        publication.publish_bad_rows()

    def expire(self, name: str, table: StoredTable, oldest: str) -> None:
        old = f"FROM {name} WHERE {DATE} < DATE{literal(oldest)}"
        if self._session.rows(f"SELECT 1 {old} LIMIT 1"):
            self._session.rows(f"DELETE {old}")

    def _note(self, rows: OpenRows, publication: Commit, **changes: object) -> None:
        """Without a note a kill would leave rows of which nobody knows whether they are published as well."""
        rows.noted = replace(rows.noted, **changes)  # type: ignore[arg-type]
        if not publication.notebook.write(quarantine=rows.noted):
            publication.stop_if_evicted()
            raise Refused(
                f"{publication.entry.model}: {publication.notebook.location} cannot be written, so that no "
                "row is quarantined. Nothing was published",
                transient=True,
            )


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

    def take_back(self) -> None:
        if not self._asked:
            self.transaction.discard()
        elif not self.transaction.is_committed():
            raise SparkFailure(f"the catalog may still carry out the commit of {shown(self.noted.table)}")
        take_back(self._session, self._tables, store_of(self._session), self.noted)
        self.close()

    def close(self) -> None:
        with suppress(SparkFailure):  # A name that nobody uses again.
            self.transaction.close()
