"""`table`: the whole table is staged, audited, and swapped in."""

from __future__ import annotations

from planproof.contract import Model
from planproof.judge.planes import examine_plans
from planproof.publish.audit.staged import audit_files
from planproof.publish.materialize import stage
from planproof.publish.materialize.materialization import Job
from planproof.publish.transaction import JournaledPublication, Refused, begin_publication
from planproof.publish.transaction.places import is_moved
from planproof.session import StoredTable
from planproof_engine import PhysicalSchema, evolve


class Table:
    """The materialization `table`: the whole table is staged and swapped in."""

    def begin(self, job: Job) -> JournaledPublication:
        refuse_foreign(job)
        options, target = dict(job.model.options), job.target
        # dbt makes the table anew of what the config says: where that names no place, in the database's folder.
        is_left = job.model.unique_id is not None and target is not None and not target.managed
        moved = is_moved(target, options.get("location_root") or (job.home if is_left else None))
        strategy = "rename" if moved else _choose_strategy(job.target, job.examined.promised, job.model)
        return begin_publication(
            job.session, job.names, job.target, strategy, job.root, options, job.lock, job.home, moved=moved
        )

    def stage(self, job: Job, publication: JournaledPublication) -> str:
        if publication.entry.swap.repoints:
            return stage.write(publication, job.examined, relax_schema(job.examined.promised))
        return stage.create(publication, job.model, job.examined, job.target)

    def audit(self, job: Job, publication: JournaledPublication) -> None:
        if job.after_quarantine:  # The plan of the good rows is planproof's own.
            audit_files(job, publication, relax_schema(self.published_schema(job, publication)), flags=False)
            return
        # A rewritten text has the same schema; which flags Spark's optimizer tightens may differ.
        planes = publication.planes or job.session.add_plans(job.examined.runs)
        examined = examine_plans(job.draft, job.session, job.examined, planes)
        if publication.planes is not None:
            job.draft.mark_enforced("I7", "the optimized plan and the final plan of the write against the analyzed one")
        # Files get the optimizer's flags; where that plane cannot be read, a file may promise more than the analyzer.
        promised = planes.optimized or planes.analyzed
        audit_files(evolve(job, examined=examined), publication, promised, flags=planes.optimized is not None)

    def published_schema(self, job: Job, publication: JournaledPublication) -> PhysicalSchema:
        return job.examined.promised


def refuse_foreign(job: Job) -> None:
    """Raises `Refused` for a target that is never swapped by name or location."""
    target = job.target
    if target is None:
        return
    if target.kind == "temporary view":
        raise Refused(f"{job.model.name} is a temporary view of this session, which hides the table; drop the view")
    if target.has_log:
        raise Refused(f"{job.model.name} exists as a {target.format} table; drop it, or publish under another name")


def _choose_strategy(target: StoredTable | None, planned: PhysicalSchema, model: Model) -> str:
    """`location` where one metastore call suffices, else `rename`."""
    if target is None or not target.is_plain_parquet:
        return "rename"
    if target.partition_by or model.partition_by or model.options.get("buckets"):
        return "rename"
    if target.bucketed:
        # The catalog would say of files without buckets that they have some.
        return "rename"
    if model.options.get("options") or (target.has_options and model.unique_id is not None):
        # Options stay in the catalog as they were; a new location cannot change them.
        return "rename"
    return "location" if _is_same_schema(target.schema, planned) else "rename"


def _is_same_schema(stored: PhysicalSchema, planned: PhysicalSchema) -> bool:
    """Equal but for nullability, which a V1 table forgets."""
    return stored.as_nullable() == planned.as_nullable()


def relax_schema(schema: PhysicalSchema) -> PhysicalSchema:
    """The schema with every flag nullable and without char and varchar lengths, as a Parquet file is read."""
    return schema.as_nullable().drop_lengths()
