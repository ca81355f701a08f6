"""Rows of an Iceberg model that are set aside: a transaction of the quarantine table, committed just before the target.

No catalog commits two tables at once. So a note that a recovery reads is written first, the bad rows are committed to
`<table>__quarantine` under the run's own name, and then the target. Where the target is not committed, the rows of that
run are taken back. Where no note can be written, no row is set aside.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone

from planproof.invariants.row_terms import TERMS
from planproof.publish.iceberg import Iceberg
from planproof.publish.iceberg.commit import Commit
from planproof.publish.iceberg.facts import as_kept
from planproof.publish.iceberg.left import take_back
from planproof.publish.iceberg.note import Aside
from planproof.publish.materialize.materialization import Job, Materialization
from planproof.publish.materialize.table import plain
from planproof.publish.parting import (
    AT,
    DATE,
    OWN,
    PARTITIONS,
    RUN,
    Impossible,
    Parting,
    begun,
    create_quarantine,
    refuse_other_sums,
    refuse_retyped,
    rest_of,
    shown,
)
from planproof.publish.transaction.names import Refused, literal
from planproof.publish.transaction.publication import column_list
from planproof.session.protocol import Moved, Session, SparkFailure, Transaction, Transactional
from planproof.session.store import store_of
from planproof_engine.finding import Finding
from planproof_engine.quoting import backticked
from planproof_engine.schema import PhysicalSchema
from planproof_engine.types import as_ddl


class IcebergAside:
    """`parting.QuarantineFormat` of Iceberg tables."""

    def __init__(self, session: Session, tables: Transactional) -> None:
        self._session, self._tables = session, tables

    def refuse(self, raw: Commit) -> None:
        if not raw.notebook.is_written:
            raise Impossible(
                "no note of them can be kept: the catalog tells no location of the namespace, or it cannot be written"
            )

    def open(self, name: str, schema: PhysicalSchema) -> None:
        self._open(name, schema)

    def _open(self, name: str, schema: PhysicalSchema) -> None:
        schema, table = as_kept(schema), self._tables.table(name)
        if table is None:
            self._session.rows(create_quarantine(name, schema, "iceberg"))
            return
        names = {f.name.lower() for f in table.schema}
        if tuple(table.partition_by) != PARTITIONS or not {f.name for f in OWN} <= names:
            raise Impossible(f"{shown(name)} exists and is no quarantine; rename it")
        lacks = refuse_retyped(name, table.schema, schema)
        if lacks:
            self._session.rows(f"ALTER TABLE {name} ADD COLUMNS ({column_list(lacks)})")

    def begin(self, parting: Parting, way: Materialization[Commit], job: Job) -> tuple[Job, Commit]:
        rest, raw = rest_of(parting, job), parting.raw
        assert isinstance(raw, Commit)
        publication = begun(job, rest, way)
        if publication.transaction.base != raw.transaction.base:
            publication.discard()
            publication.close()
            raise Moved(f"{job.model.name} was changed while its rows were looked at")
        publication.watched = raw.watched
        return rest, publication

    def room(self, parting: Parting) -> Parted:
        return Parted(self._session, self._tables, parting)

    def way(self, parting: Parting, way: Materialization[Commit]) -> Rest:
        return Rest(self._session, self._tables, parting, way)

    def tidied(self, job: Job, name: str, oldest: str) -> None:
        self._open(name, plain(job.examined.promised))
        old = f"FROM {name} WHERE {DATE} < DATE{literal(oldest)}"
        if self._session.rows(f"SELECT 1 {old} LIMIT 1"):
            self._session.rows(f"DELETE {old}")


class BadRows:
    """The rows that one publish sets aside, in an open transaction of the quarantine."""

    def __init__(self, session: Session, tables: Transactional, transaction: Transaction, noted: Aside) -> None:
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


class Rest:
    """How the rest is staged: the bad rows are written first, where nobody sees them."""

    def __init__(self, session: Session, tables: Transactional, parting: Parting, way: Materialization[Commit]) -> None:
        self._session, self._tables, self.parting, self.way = session, tables, parting, way

    def begin(self, job: Job) -> Commit | None:
        return self.way.begin(job)

    def stage(self, job: Job, publication: Commit) -> str:
        parting, run = self.parting, self.parting.names.stamp
        transaction = self._tables.change(parting.table)
        publication.aside = BadRows(self._session, self._tables, transaction, Aside(parting.table, run))
        self._noted(publication, folder=transaction.set_apart(f"planproof_{run}"))
        day = datetime.now(timezone.utc).date().isoformat()
        given = {name.lower(): backticked(name) for name in parting.columns}
        given |= {TERMS: TERMS, AT: "current_timestamp()", DATE: f"DATE{literal(day)}", RUN: literal(run)}
        # A column that the model had once holds nothing now.
        columns = ", ".join(
            f"{given.get(f.name.lower(), f'CAST(NULL AS {as_ddl(f.type)})')} AS {backticked(f.name)}"
            for f in transaction.schema()
        )
        self._session.write(f"INSERT INTO {transaction.staged}\nSELECT {columns} {parting.bad_rows}")
        self._noted(publication, others=tuple(transaction.manifests()))
        return self.way.stage(job, publication)

    def _noted(self, publication: Commit, **changes: object) -> None:
        """Without a note a kill would leave rows of which nobody knows whether they are published as well."""
        aside = publication.aside
        assert aside is not None
        aside.noted = replace(aside.noted, **changes)  # type: ignore[arg-type]
        if not publication.notebook.write(aside=aside.noted):
            publication.stop_if_evicted()
            raise Refused(
                f"{publication.entry.model}: {publication.notebook.location} cannot be written, so that no "
                "row is set aside. Nothing was published",
                transient=True,
            )

    def audit(self, job: Job, publication: Commit) -> None:
        aside = publication.aside
        assert aside is not None
        self.way.audit(job, publication)
        refuse_other_sums(job, self.parting, aside.transaction.rows(), publication.transaction.rows())

    def written(self, job: Job, publication: Commit) -> PhysicalSchema:
        return self.way.written(job, publication)


class Parted(Iceberg):
    """The room in which the rest is published."""

    def __init__(self, session: Session, tables: Transactional, parting: Parting) -> None:
        super().__init__(session, tables)
        self.parting = parting

    def commit(self, publication: Commit) -> list[Finding]:
        self.parting.raw.discard()
        self.parting.raw.close()
        return super().commit(publication)
