"""`table` on Iceberg: a replacement, or a new table, is written to a transaction, audited there, and committed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planproof.judge.planes import examine_plans
from planproof.publish.audit.staged import decide
from planproof.publish.iceberg.facts import drop_declared_lengths, read
from planproof.publish.iceberg.on_top import OnTop
from planproof.publish.iceberg.publication import IcebergPublication, begin_publication
from planproof.publish.iceberg.required import require
from planproof.publish.materialize.logged_change import refuse_other
from planproof.publish.materialize.materialization import Job
from planproof.publish.staged_version import StagedVersion
from planproof.publish.transaction.names import Refused, join
from planproof.session.protocol import Transactional
from planproof_engine.quoting import quote_parts
from planproof_engine.schema import PhysicalSchema
from planproof_engine.texts import drop_terminators


class Whole:
    """What is said of a table whose rows are all new."""

    def audit(self, job: Job, publication: IcebergPublication) -> None:
        with publication.guard_reads(job.draft):
            self._audit(job, publication)

    def _audit(self, job: Job, publication: IcebergPublication) -> None:
        examined = job.examined
        if not job.after_quarantine:  # The plan of the good rows is planproof's own.
            planes = publication.planes or job.session.add_plans(examined.runs)
            examined = examine_plans(job.draft, job.session, examined, planes)
            if publication.planes is not None:
                job.draft.mark_enforced(
                    "I7", "the optimized plan and the final plan of the write against the analyzed one"
                )
        seen = replace(job, examined=drop_declared_lengths(examined))
        facts = read(seen, publication, publication.transaction.schema(), says_types=not job.after_quarantine)
        staged = StagedVersion(job, publication)
        decide(seen, facts, seen.examined, staged)
        require(job, publication, facts)
        publication.on_top = OnTop(job, "overwrite", staged)

    def published_schema(self, job: Job, publication: IcebergPublication) -> PhysicalSchema:
        return publication.transaction.schema()


class Replacement(Whole):
    """A `materialization.Materialization` of a whole table. Schema, partitions and rows change in one
    commit; what people gave to the old table stays: properties, comments, branches, tags and older snapshots."""

    def __init__(self, tables: Transactional) -> None:
        self._tables = tables

    def begin(self, job: Job) -> IcebergPublication:
        refuse_other(job, "iceberg", "Iceberg")
        target = job.names.target.quoted
        transaction = self._tables.replace(target, job.examined.runs, list_partitions(job), collect_properties(job))
        return begin_publication(job, self._tables, transaction, "replace")

    def stage(self, job: Job, publication: IcebergPublication) -> str:
        publication.set_apart()
        statement = f"INSERT INTO {publication.entry.staging}\n{drop_terminators(job.examined.sql)}"
        written = job.session.write(statement)
        # A query that Python feeds is written with a watch in it: its plans are not the query's alone.
        if written is not None and not job.examined.planes.python_fed:
            publication.planes = written.as_planned(job.examined.runs)
        return statement


def list_partitions(job: Job) -> list[str]:
    """The model's partitions, columns or transforms of one; dbt's buckets are Iceberg's transform of that name."""
    options, found = job.model.options, list(job.model.partition_by)
    columns, buckets = options.get("clustered_by"), options.get("buckets")
    names = [columns] if isinstance(columns, str) else list(columns or ())
    if not names or not buckets:
        return found
    if len(names) > 1:
        raise Refused(f"{job.model.name} is clustered by {', '.join(names)}; Iceberg makes buckets of one column")
    return [*found, f"bucket({int(buckets)}, {quote_parts((names[0],))})"]


def collect_properties(job: Job) -> dict[str, str]:
    """What the model says of its table besides columns and partitions, as Iceberg's properties."""
    options: dict[str, Any] = dict(job.model.options)
    found = {str(k): str(v) for part in ("options", "tblproperties") for k, v in (options.get(part) or {}).items()}
    if options.get("location_root"):
        found["location"] = join(str(options["location_root"]), job.names.target.last)
    if job.model.comment is not None:
        found["comment"] = job.model.comment
    return found
