"""`incremental` on Delta: the statement runs on a shallow clone, and what its log has then is committed to the table.

A clone is the table as it stood at one version: its log names the table's files, and new ones lie beside it. What SQL
reads under its name is the table as it will be.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from planproof.publish.delta.audit import audit
from planproof.publish.delta.left import left_by
from planproof.publish.delta.publication import DeltaPublication
from planproof.publish.delta.refusals import refuse_change
from planproof.publish.iceberg.changes import merges, with_stored_columns
from planproof.publish.materialize.evolution import Evolution, evolution
from planproof.publish.materialize.incremental import assignments, changed, misfits
from planproof.publish.materialize.materialization import Job
from planproof.publish.notes.notebook import sweep_earlier
from planproof.publish.transaction.names import Refused
from planproof.publish.transaction.places import database_root
from planproof.publish.transaction.publication import column_list
from planproof.session.delta.protocol import DeltaTables
from planproof_engine.quoting import quoted
from planproof_engine.schema import PhysicalSchema
from planproof_engine.texts import unterminated

_MODE = "spark.sql.sources.partitionOverwriteMode"


class Change:
    """`planproof.publish.materialize.materialization.Materialization` of a later run of an incremental model."""

    def __init__(self, tables: DeltaTables) -> None:
        self._tables = tables
        self._evolution: Evolution | None = None

    def begin(self, job: Job) -> DeltaPublication | None:
        job = with_stored_columns(job)
        target, model = job.target, job.model
        assert target is not None
        if target.format != "delta" or target.location is None:
            raise Refused(f"{model.name} is a {target.format or target.kind}, no Delta table; run with full_refresh")
        base = self._tables.state(target.location)
        refuse_change(job, base)
        found = evolution(model, target, job.examined.promised)
        change = self._evolution = replace(found, adds="planproof adds columns to a Delta table")
        fits = [replace(a.finding, origin=job.examined.locate(a.finding.field or "")) for a in assignments(job)]
        job.draft.add([*change.findings(job), *misfits(job, change), *fits])
        if job.draft.fails_already or change.is_refused:
            return None
        merges(job)
        sweep_earlier(left_by(), job, job.root or database_root(job.session, job.names.database))
        publication = DeltaPublication(job, self._tables, base, "change", managed=target.managed)
        # Rows that are written whatever the table holds go on top of what others have committed. Delta counts an append
        # that reads its own table as one of these, and `max(id) + 1` would be given twice.
        if model.incremental_strategy != "merge":
            publication.reads = self._tables.reads(quoted(job.names.target), base.location, job.examined.runs.execution)
            publication.whole = publication.whole or publication.reads
        return publication

    def stage(self, job: Job, publication: DeltaPublication) -> str:
        change, produced = self._evolution, job.examined.planes.analyzed.names
        assert change is not None
        staging = publication.entry.staging
        publication.staged.clone(job.session)
        if change.columns:
            job.session.rows(f"ALTER TABLE {staging} ADD COLUMNS ({column_list(change.columns)})")
        known = {name.lower() for name in change.after.names}
        text = unterminated(job.examined.sql)
        # A merge's clauses say what is stored; they may ask for other columns, too.
        if job.model.incremental_strategy != "merge" and any(name.lower() not in known for name in produced):
            kept = ", ".join(quoted((name,)) for name in produced if name.lower() in known)
            text = f"SELECT {kept} FROM (\n{text}\n)"
        statement = _statement(job, staging, text)
        with self._mode(job):
            job.session.write(statement)
        return statement

    def audit(self, job: Job, publication: DeltaPublication) -> None:
        counted = job.examined._replace(checks=(*job.examined.checks, *changed(job)))
        audit(replace(job, examined=counted), publication, says_types=False)

    def written(self, job: Job, publication: DeltaPublication) -> PhysicalSchema:
        assert publication.published is not None
        return publication.published

    def _mode(self, job: Job) -> AbstractContextManager[None]:
        """dbt asks for partitions to be replaced where the model names some, and leaves it to the session elsewhere."""
        model = job.model
        if model.incremental_strategy == "insert_overwrite" and model.partition_by:
            return job.session.settings({_MODE: "dynamic"})
        return nullcontext()


def _statement(job: Job, staging: str, text: str) -> str:
    strategy = job.model.incremental_strategy
    if strategy == "merge":
        clauses = unterminated(merges(job))
        return f"MERGE INTO {staging} AS DBT_INTERNAL_DEST USING (\n{text}\n) AS DBT_INTERNAL_SOURCE\n{clauses}"
    verb = "OVERWRITE" if strategy == "insert_overwrite" else "INTO"
    return f"INSERT {verb} {staging} BY NAME\n{text}"
