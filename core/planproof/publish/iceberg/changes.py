"""`incremental` on Iceberg: rows are added, overwritten or merged in a transaction, new columns with them.

What SQL reads under the staged name is the table as it will be. Keys are counted over all of it. What the contract says
of single rows is counted over the files that this change added.
"""

from __future__ import annotations

from planproof.judge.draft import Effect
from planproof.publish.audit.changes import change_of_log
from planproof.publish.audit.staged import decide
from planproof.publish.iceberg.facts import convert_types, drop_declared_lengths, read
from planproof.publish.iceberg.on_top import OnTop
from planproof.publish.iceberg.partitioning import list_unknown
from planproof.publish.iceberg.publication import IcebergPublication, begin_publication, open_change
from planproof.publish.iceberg.required import relax, restore
from planproof.publish.materialize import logged_change
from planproof.publish.materialize.evolution import Evolution
from planproof.publish.materialize.incremental import count_changed_values, plan_change
from planproof.publish.materialize.materialization import Job
from planproof.publish.materialize.table import relax_schema
from planproof.publish.staged_version import StagedVersion
from planproof.publish.transaction import Refused
from planproof.session import Changing
from planproof_engine import PhysicalSchema, evolve


class Change:
    """`planproof.publish.materialize.materialization.Materialization` of a later run of an incremental model."""

    def __init__(self, tables: Changing) -> None:
        self._tables = tables
        self._evolution: Evolution | None = None

    def begin(self, job: Job) -> IcebergPublication | None:
        job = logged_change.limit_to_stored_columns(job)
        target, model = job.target, job.model
        assert target is not None
        if target.format != "iceberg":
            raise Refused(f"{model.name} is a {target.format or target.kind}, no Iceberg table; run with full_refresh")
        logged_change.refuse_other_partitions(
            job, list_unknown(model.partition_by, target.partition_by), target.partition_by
        )
        change = self._evolution = plan_change(job, "planproof adds columns to an Iceberg table", convert_types)
        if job.draft.fails_already or change.is_refused:
            return None
        logged_change.write_merge_clauses(job)
        transaction = open_change(job, self._tables)
        if change.columns and not transaction.alters:
            transaction.discard()
            kind = job.session.capabilities.kind
            raise Refused(
                f"{model.name} gets the column {change.columns[0][0]}, which a session of kind {kind} cannot add "
                "together with the rows. Run it once where Spark's driver is at hand (in dbt: method: session)"
            )
        return begin_publication(job, self._tables, transaction, "change", Effect.CHANGES)

    def stage(self, job: Job, publication: IcebergPublication) -> str:
        change = self._evolution
        assert change is not None
        if change.columns:
            publication.transaction.add_columns(job.examined.planes, [name for name, _ in change.columns])
        relax(job, publication)
        publication.set_apart()
        return logged_change.write(job, publication.entry.staging, change.after)

    def audit(self, job: Job, publication: IcebergPublication) -> None:
        with publication.guard_reads(job.draft):
            self._audit(job, publication)

    def _audit(self, job: Job, publication: IcebergPublication) -> None:
        counted = count_changed_values(job)
        counted = evolve(counted, examined=drop_declared_lengths(counted.examined))
        written = read(counted, publication, relax_schema(publication.transaction.schema()), says_types=False)
        staged = StagedVersion(job, publication)
        facts = logged_change.drop_rows_rewritten(job, written)
        decide(counted, facts, counted.examined, staged, lambda: change_of_log(job, publication))
        restore(job, publication, written)
        publication.on_top = OnTop(job, _describe_change(job), staged)

    def published_schema(self, job: Job, publication: IcebergPublication) -> PhysicalSchema:
        return publication.transaction.schema()


def _describe_change(job: Job) -> str:
    strategy = job.model.incremental_strategy
    return {"merge": "merge", "insert_overwrite": "overwrite"}.get(strategy or "", "append")
