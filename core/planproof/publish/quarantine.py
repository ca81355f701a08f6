"""Which format sets a model's rows aside in which way, and the quarantine of Parquet tables.

The bad rows are a partition of `<table>__quarantine` that its catalog does not know while the rest is staged. It learns
of it by one call just before the target changes.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

from planproof.arrow.footers import FooterError, Undecodable
from planproof.claims import files
from planproof.contract import Model
from planproof.invariants.row_terms import TERMS
from planproof.publish.audit.staged import audit_files
from planproof.publish.formats import Parquet
from planproof.publish.iceberg.aside import IcebergAside
from planproof.publish.materialize.materialization import Job, Materialization
from planproof.publish.materialize.table import plain
from planproof.publish.parting import (
    AT,
    DATE,
    PARTITIONS,
    RUN,
    Impossible,
    Parting,
    QuarantineFormat,
    begun,
    create_quarantine,
    quarantine_of,
    refuse_other_sums,
    refuse_retyped,
    rest_of,
    shown,
)
from planproof.publish.transaction.journal import QuarantinePartition
from planproof.publish.transaction.names import Refused, join, literal
from planproof.publish.transaction.partition import names as partition_names
from planproof.publish.transaction.partition import spec, values
from planproof.publish.transaction.publication import Publication, column_list
from planproof.quarantine import refusal
from planproof.session.protocol import Session, SparkFailure, StoredTable
from planproof.session.store import decoded, local, store_of
from planproof.settings import Settings
from planproof_engine.finding import Finding, Verdict
from planproof_engine.origin import AnalysisError
from planproof_engine.quoting import backticked, quoted
from planproof_engine.schema import PhysicalSchema


def refuse_setting(model: Model, settings: Settings) -> None:
    """Raises `Refused` where rows of the model cannot be set aside, whatever they hold."""
    if settings.on_violation != "quarantine":
        return
    why = refusal(model.materialized, model.incremental_strategy, model.file_format)
    if why is not None:
        raise Refused(f"{model.name}: on_violation: quarantine cannot be kept: {why}")


def aside_of(job: Job) -> QuarantineFormat[Any]:
    """How the rows of a model are set aside."""
    tables = job.session.transactions()
    if job.model.file_format == "iceberg" and tables is not None:
        return IcebergAside(job.session, tables)
    return ParquetAside(job.session)


def tidied(job: Job) -> None:
    """After a publish: the quarantine is there for whoever reads it, and without rows that are older than is asked."""
    settings = job.draft.settings
    if settings.on_violation != "quarantine":
        return
    oldest = (datetime.now(timezone.utc) - timedelta(days=settings.quarantine.days)).date().isoformat()
    try:
        aside_of(job).tidied(job, quarantine_of(job.names), oldest)
    except (Impossible, Refused, AnalysisError, SparkFailure) as error:
        message = f"{job.model.name} was published; its quarantine could not be tidied: {error}"
        job.draft.add([Finding(Verdict.WARNING, "PP515", "catalog", message=message)])


class ParquetAside:
    """`parting.QuarantineFormat` of Parquet tables."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def refuse(self, raw: Publication) -> None:
        """Nothing: rows of each kind of publish can be told apart."""

    def open(self, name: str, schema: PhysicalSchema) -> None:
        _table(self._session, name, schema)

    def begin(self, parting: Parting, way: Materialization[Publication], job: Job) -> tuple[Job, Publication]:
        rest = rest_of(parting, job)
        publication = begun(job, rest, way)
        table = job.session.registered(parting.table)
        if table is None or not table.location:
            raise SparkFailure(f"{shown(parting.table)} is gone", transient=True)
        day = datetime.now(timezone.utc).date().isoformat()
        partition = f"{DATE}={day}/{RUN}={parting.names.stamp}"
        aside = QuarantinePartition(parting.table, partition, join(decoded(table.location), partition))
        journal, raw = publication.journal, parting.raw
        assert isinstance(raw, Publication)
        # The lock is held under the first staging's name.
        journal.entry = replace(journal.entry, aside=aside, owner=raw.entry.owner)
        publication.watched = raw.watched
        return rest, publication

    def room(self, parting: Parting) -> Parted:
        return Parted(self._session, parting)

    def way(self, parting: Parting, way: Materialization[Publication]) -> Rest:
        return Rest(parting, way)

    def tidied(self, job: Job, name: str, oldest: str) -> None:
        session, store = self._session, store_of(self._session)
        table = _table(session, name, plain(job.examined.promised))
        for partition in partition_names(session, name):
            day = dict(values(partition)).get(DATE)
            if day is not None and day < oldest:
                session.rows(f"ALTER TABLE {name} DROP IF EXISTS PARTITION ({spec(partition)})")
                store.delete(join(decoded(table.location or ""), partition))


def _table(session: Session, name: str, schema: PhysicalSchema) -> StoredTable:
    """The quarantine with all columns of the schema: made, or given what it lacks. Raises `Impossible`."""
    table = session.registered(name)
    if table is None:
        session.rows(create_quarantine(name, schema, "parquet"))
        table = session.registered(name)
        if table is None:
            raise SparkFailure(f"{shown(name)} was made, and the catalog does not show it")
    _refuse_another(table, name)
    lacks = refuse_retyped(name, table.schema, schema)
    if lacks:
        session.rows(f"ALTER TABLE {name} ADD COLUMNS ({column_list(lacks)})")
    return table


def _refuse_another(table: StoredTable, name: str) -> None:
    names = {f.name.lower() for f in table.schema}
    is_own = tuple(c.lower() for c in table.partition_by) == PARTITIONS and {TERMS, AT} <= names
    if table.kind != "table" or table.format != "parquet" or not is_own:
        raise Impossible(f"{shown(name)} exists and is no quarantine; rename it")
    if not table.tracked or not table.location:
        raise Impossible(f"the catalog does not hold the partitions of {shown(name)}")


class Rest:
    """How the rest is staged: the bad rows are written first."""

    def __init__(self, parting: Parting, way: Materialization[Publication]) -> None:
        self.parting, self.way = parting, way

    def begin(self, job: Job) -> Publication | None:
        return self.way.begin(job)

    def stage(self, job: Job, publication: Publication) -> str:
        parting, aside = self.parting, publication.entry.aside
        assert aside is not None
        columns = ", ".join(map(backticked, (*parting.columns, TERMS)))
        publication.run(
            f"INSERT OVERWRITE DIRECTORY {literal(aside.location)} USING parquet\n"
            f"SELECT {columns}, current_timestamp() AS {AT} {parting.bad_rows}"
        )
        return self.way.stage(job, publication)

    def audit(self, job: Job, publication: Publication) -> None:
        aside = publication.entry.aside
        assert aside is not None
        job.draft.rows = None  # Facts of all rows, until the files of the rest are read.
        audit_files(job, publication, plain(self.way.written(job, publication)), flags=False)
        bad, rest = _rows_below(job.session, aside.location), job.draft.rows
        if rest is None:
            publication.register()
            rest = _rows_of(job.session, publication.entry.staging)
        refuse_other_sums(job, self.parting, bad, rest)

    def written(self, job: Job, publication: Publication) -> PhysicalSchema:
        return self.way.written(job, publication)


def _rows_below(session: Session, location: str) -> int:
    """By the footers, or by Spark's count where they are out of reach."""
    try:
        claim, _ = files.read(session.files(local(location) or location), session)
        known = claim.facts.rows
    except (FooterError, Undecodable, SparkFailure):
        known = None
    return _rows_of(session, f"parquet.{quoted((location,))}") if known is None else known


def _rows_of(session: Session, relation: str) -> int:
    return int(session.rows(f"SELECT count(*) FROM {relation}")[0][0])


class Parted(Parquet):
    """The room in which the rest is published: the bad rows become visible just before it, or not at all."""

    def __init__(self, session: Session, parting: Parting) -> None:
        super().__init__(session)
        self.parting = parting

    def commit(self, publication: Publication) -> list[Finding]:
        aside = publication.entry.aside
        assert aside is not None
        publication.step("quarantine")
        publication.change(f"ALTER TABLE {aside.table} ADD IF NOT EXISTS PARTITION ({spec(aside.partition)})")
        self.parting.raw.discard()
        self.parting.raw.close()
        return super().commit(publication)
