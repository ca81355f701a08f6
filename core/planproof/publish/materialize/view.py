"""`view`: nothing is staged; the contract is judged on the plan, and on a count where it cannot tell."""

from __future__ import annotations

from planproof.publish.audit.staged import audit_query
from planproof.publish.materialize.materialization import Job
from planproof.publish.swaps.view import digest_of, statement_of
from planproof.publish.transaction import JournaledPublication, Refused, begin_publication
from planproof.session import StoredTable
from planproof_engine import PhysicalSchema, drop_terminators, evolve


class View:
    """The materialization `view`: there are no rows to stage."""

    def begin(self, job: Job) -> JournaledPublication:
        target = job.target
        _refuse_versioned(job)
        if target is not None and target.kind == "temporary view":
            raise Refused(f"{job.model.name} is a temporary view of this session, which hides the view; drop it")
        if target is not None and target.is_iceberg_view and not _is_changed(job, target):
            target = evolve(target, properties={})  # It is replaced where it stands.
        return begin_publication(
            job.session, job.names, target, "view", job.root, dict(job.model.options), job.lock, job.home
        )

    def stage(self, job: Job, publication: JournaledPublication) -> str:
        statement = statement_of(publication.entry.target, job.model, job.examined.sql, job.target)
        publication.statement = statement
        publication.note("stage", view_text=digest_of(job.examined.sql))
        return statement

    def audit(self, job: Job, publication: JournaledPublication) -> None:
        audit_query(job)

    def published_schema(self, job: Job, publication: JournaledPublication) -> PhysicalSchema:
        return job.examined.promised


def _is_changed(job: Job, target: StoredTable) -> bool:
    """Whether the view gets another text, or columns that may be others."""
    return (
        target.text is None
        or target.text.strip() != drop_terminators(job.examined.sql).strip()
        or "columns" in job.model.options
    )


def _refuse_versioned(job: Job) -> None:
    """Raises `Refused` for a table that a view cannot safely take the place of."""
    target, tables = job.target, job.session.transactions()
    if target is None or target.kind != "table":
        return
    is_lake = tables is not None and tables.is_in_catalog(job.names.target.quoted)
    # A session that finds Iceberg's tables by loading them renames and drops them, too.
    is_loaded = is_lake and tables is not None and tables.table(job.names.target.quoted) is not None
    if target.has_log and not is_loaded:
        raise Refused(f"{job.model.name} exists as a {target.format} table; drop it before it becomes a view")
    if is_lake and not is_loaded:
        # Iceberg puts a view's metadata where the table's files lie, which are deleted with the table.
        raise Refused(f"{job.model.name} exists as a {target.format} table; drop it before it becomes Iceberg's view")
    if is_lake and tables is not None and tables.resolve_view(job.names.target.quoted):
        # Spark renames no table of another catalog than its own by its whole name.
        raise Refused(f"{job.model.name} exists as an Iceberg table; drop it before it becomes a view")
