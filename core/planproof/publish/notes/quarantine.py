"""The quarantine of tables with a log: the bad rows are a commit of their own, just before that of the target.

No catalog commits two tables at once. So a note that a recovery reads is written first, the bad rows are committed to
`<table>__quarantine` under the run's own name, and then the target. Where the target is not committed, the rows of that
run are taken back. Where no note can be written, no row is quarantined.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime, timezone
from typing import Generic, TypeVar

from planproof.invariants.count_queries import TERMS
from planproof.publish.bad_rows import AT, DATE, RUN, BadRows, Unquarantinable
from planproof.publish.materialize.materialization import Job
from planproof.publish.notes.note import QuarantinedFiles
from planproof.publish.notes.publication import NotedPublication
from planproof.publish.transaction import Refused
from planproof.session import Moved, Session, StoredTable
from planproof_engine import ByColumn, PhysicalSchema, quote_literal, quote_name
from planproof_engine.types import format_ddl

C = TypeVar("C", bound=NotedPublication)


class NotedQuarantine(ABC, Generic[C]):
    """`publish.protocol.QuarantineTable` of tables of whose publishes notes tell."""

    stored_as: str

    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, name: str) -> StoredTable | None:
        return self._session.registered_table(name)

    @abstractmethod
    def write(self, bad: BadRows, job: Job, publication: C) -> None: ...

    def refuse(self, raw: C) -> None:
        if not raw.notebook.is_written:
            raise Unquarantinable(
                "no note of them can be kept: the catalog names no location for the namespace, or it cannot be written"
            )

    def convert_types(self, schema: PhysicalSchema) -> PhysicalSchema:
        return schema

    def attach(self, bad: BadRows, raw: C, publication: C) -> None:
        if publication.base != raw.base:
            publication.discard()
            publication.close()
            raise Moved(f"{publication.entry.model} was changed while its rows were looked at")

    def count(self, job: Job, publication: C) -> tuple[int, int]:
        assert publication.bad_rows is not None, "they were written"
        return publication.bad_rows.count(), publication.count()

    def publish(self, bad: BadRows, publication: C) -> None:
        publication.publish_bad_rows()

    def expire(self, name: str, table: StoredTable, oldest: str) -> None:
        old = f"FROM {name} WHERE {DATE} < DATE{quote_literal(oldest)}"
        if self._session.rows(f"SELECT 1 {old} LIMIT 1"):
            self._session.rows(f"DELETE {old}")

    def insert(self, bad: BadRows, into: str, schema: PhysicalSchema) -> None:
        """Writes the bad rows to a staged table of the quarantine's columns."""
        day = datetime.now(timezone.utc).date().isoformat()
        own = {
            TERMS: TERMS,
            AT: "current_timestamp()",
            DATE: f"DATE{quote_literal(day)}",
            RUN: quote_literal(bad.names.stamp),
        }
        given = ByColumn([*((name, quote_name(name)) for name in bad.columns), *own.items()])
        # A column that the model had once holds nothing now.
        columns = ", ".join(
            f"{given.get(f.name, f'CAST(NULL AS {format_ddl(f.type)})')} AS {quote_name(f.name)}" for f in schema
        )
        self._session.write(f"INSERT INTO {into}\nSELECT {columns} {bad.source}")

    def note(self, noted: QuarantinedFiles, publication: C) -> None:
        """Without a note a kill would leave rows of which nobody knows whether they are published as well."""
        if not publication.notebook.write(quarantine=noted):
            publication.stop_if_evicted()
            raise Refused(
                f"{publication.entry.model}: {publication.notebook.location} cannot be written, so that no "
                "row is quarantined. Nothing was published",
                transient=True,
            )


def read_quarantine_time(session: Session, bad_rows: QuarantinedFiles) -> datetime | None:
    """When the rows of a run were quarantined; None where its quarantine has none. Raises `SparkFailure`."""
    found = session.rows(f"SELECT min({AT}) FROM {bad_rows.table} WHERE {RUN} = {quote_literal(bad_rows.run)}")
    at: datetime | None = found[0][0]
    return at


def delete_rows(session: Session, bad_rows: QuarantinedFiles) -> None:
    """Deletes the rows of a run that were committed to its quarantine; may be called again. Raises `SparkFailure`."""
    of_run = f"FROM {bad_rows.table} WHERE {RUN} = {quote_literal(bad_rows.run)}"
    if session.rows(f"SELECT 1 {of_run} LIMIT 1"):
        session.rows(f"DELETE {of_run}")
