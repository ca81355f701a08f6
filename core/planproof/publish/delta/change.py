"""`incremental` on Delta: rows that are added, or overwrite others, are written in a transaction that is held open.

A merge, and whatever is counted over the whole table, runs on a shallow clone, and what its log has then is committed
to the table. A clone is the table as it stood at one version: its log names the table's files, and new ones lie beside
it. What SQL reads under its name is the table as it will be. To make and read one costs several of Spark's jobs.
"""

from __future__ import annotations

from collections.abc import Callable

from planproof.publish.delta import refusals
from planproof.publish.delta.audit import Audited, audit_change
from planproof.publish.delta.left import list_left
from planproof.publish.delta.publication import DeltaPublication
from planproof.publish.delta.table import list_partitions
from planproof.publish.materialize import logged_change
from planproof.publish.materialize.evolution import Evolution
from planproof.publish.materialize.incremental import overwrites_partitions, plan_change
from planproof.publish.materialize.materialization import Job
from planproof.publish.notes import sweep_earlier
from planproof.publish.staged_version import StagedVersion
from planproof.publish.transaction import Refused, column_list, database_root
from planproof.session import SparkFailure, decode_uri
from planproof.session.delta.protocol import DeltaTables, LogState
from planproof_engine import ColumnNames, PhysicalSchema, evolve

_MERGES_SCHEMAS = "spark.databricks.delta.schema.autoMerge.enabled"
_APART = {"spark.databricks.delta.autoCompact.enabled": "false"}
"""A clone names all files of the table. Where Delta writes small ones together after a write, rows that have stood long
would count as new ones, to the audit and to who reads the table as a stream."""


def begin_change(job: Job, find_state: Callable[[str], LogState]) -> tuple[Job, LogState, Evolution | None]:
    """The job, limited to the columns that are stored, the table as it is, and how its columns change; None for that
    where the draft says why they cannot. `find_state` looks at a folder. Raises `Refused`."""
    job = _merge_schemas(logged_change.limit_to_stored_columns(job))
    target, model = job.target, job.model
    assert target is not None
    if target.format != "delta" or target.location is None:
        raise Refused(f"{model.name} is a {target.format or target.kind}, no Delta table; run with full_refresh")
    base = find_state(decode_uri(target.location))
    refusals.refuse_change(job, base)
    held = ColumnNames(base.partition_by)
    logged_change.refuse_other_partitions(job, [c for c in list_partitions(model) if c not in held], base.partition_by)
    change = plan_change(job, "planproof adds columns to a Delta table")
    if job.draft.fails_already or change.is_refused:
        return job, base, None
    logged_change.write_merge_clauses(job)
    return job, base, change


def _merge_schemas(job: Job) -> Job:
    """Where the session has Delta merge schemas, a MERGE of all columns adds those that the table lacks, though the
    model asks for nothing."""
    options, is_merge = job.model.options, job.model.incremental_strategy == "merge"
    if not is_merge or not _merges_schemas(job) or options.get("on_schema_change") not in (None, "ignore"):
        return job
    return evolve(job, model=evolve(job.model, options={**options, "on_schema_change": "append_new_columns"}))


def _merges_schemas(job: Job) -> bool:
    return str(job.session.setting(_MERGES_SCHEMAS)).lower() == "true"


class Change(Audited):
    """`planproof.publish.materialize.materialization.Materialization` of a later run of an incremental model."""

    def __init__(self, tables: DeltaTables) -> None:
        self._tables = tables
        self._evolution: Evolution | None = None

    def begin(self, job: Job) -> DeltaPublication | None:
        job, base, self._evolution = begin_change(job, self._tables.state)
        if self._evolution is None:
            return None
        assert job.target is not None
        sweep_earlier(list_left(), job, job.root or database_root(job.session, job.names.target.namespace))
        publication = DeltaPublication(job, self._tables, base, "change", managed=job.target.managed)
        # Rows that are written whatever the table holds go on top of what others have committed. Delta counts an append
        # that reads its own table as one of these, and `max(id) + 1` would be given twice.
        if job.model.incremental_strategy != "merge":
            publication.reads = self._tables.is_read(
                job.names.target.quoted, base.location, job.examined.runs.execution
            )
            publication.whole = publication.whole or publication.reads
        return publication

    def stage(self, job: Job, publication: DeltaPublication) -> str:
        change = self._evolution
        assert change is not None
        staging, held, forbidden = publication.entry.staging, None, None
        try:
            held = None if change.columns else self._hold(job, publication, change.after)
        except SparkFailure as failure:
            forbidden = refusals.describe_forbidden_row(job, failure)
            if forbidden is None:
                raise
        if held is not None:
            return held
        refusals.refuse_clone(job, publication.base, forbidden)
        publication.staged.clone()
        if change.columns:
            job.session.rows(f"ALTER TABLE {staging} ADD COLUMNS ({column_list(change.columns)})")
        try:
            return _write_apart(job, staging, change.after)
        except SparkFailure as failure:
            publication.forbidden = refusals.describe_forbidden_row(job, failure)
            if publication.forbidden is None:
                raise
            if not refusals.drop_own_terms(job, publication.staged):
                raise Refused(publication.forbidden) from failure
        with refusals.refused_rows(job):
            return _write_apart(job, staging, change.after)

    def _hold(self, job: Job, publication: DeltaPublication, columns: PhysicalSchema) -> str | None:
        """Writes the rows in a transaction that stays open, and returns the statement; None where a clone is needed."""
        if job.model.incremental_strategy == "merge" or publication.needs_rows_after or not _is_plain(job, publication):
            return None
        statement = logged_change.insert_statement(job, job.names.target.quoted, columns, "INTO")
        if not publication.staged.insert(statement):
            return None
        if job.model.incremental_strategy != "insert_overwrite":
            return statement
        by_partition = overwrites_partitions(job, publication.base.partition_by)
        publication.overwrites = "partitions" if by_partition else "all"
        return logged_change.insert_statement(job, job.names.target.quoted, columns, "OVERWRITE")

    def audit(self, job: Job, publication: DeltaPublication) -> None:
        audit_change(job, publication, StagedVersion(job, publication))


def _write_apart(job: Job, staging: str, columns: PhysicalSchema) -> str:
    with job.session.change_settings(_APART):
        return logged_change.write(job, staging, columns)


def _is_plain(job: Job, publication: DeltaPublication) -> bool:
    """Whether a write to the target would change its rows alone, and its files name columns as it does."""
    return not publication.base.is_mapped and not _merges_schemas(job)
