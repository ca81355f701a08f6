"""What the staged table's files show, and what of the contract is counted where they do not tell."""

from __future__ import annotations

from planproof.invariants import registered
from planproof.judge.planes import examine_plans
from planproof.publish.audit.changes import change_of_log
from planproof.publish.audit.python_claims import keep_trusted
from planproof.publish.audit.staged import decide, drop_undone_evidence, read_paths
from planproof.publish.delta.written import WrittenTable
from planproof.publish.materialize.incremental import count_changed_values
from planproof.publish.materialize.logged_change import drop_rows_rewritten
from planproof.publish.materialize.materialization import Job
from planproof.publish.staged_write import StagedWrite
from planproof_engine import Claim, Facts, PhysicalSchema, evolve


class Audited:
    """The part of a `materialization.Materialization` that tells what was audited."""

    def published_schema(self, job: Job, publication: WrittenTable) -> PhysicalSchema:
        assert publication.published is not None
        return publication.published


def audit_whole(job: Job, publication: WrittenTable, staged: StagedWrite) -> None:
    """Of a table whose rows are all new."""
    examined = job.examined
    if not job.after_quarantine:  # The plan of the rest is planproof's own.
        examined = examine_plans(job.draft, job.session, examined, job.session.add_plans(examined.runs))
    _audit(evolve(job, examined=examined), publication, staged, says_types=not job.after_quarantine)


def audit_change(job: Job, publication: WrittenTable, staged: StagedWrite) -> None:
    """Of a later run of an incremental model."""
    _audit(count_changed_values(job), publication, staged, says_types=False)


def _audit(job: Job, publication: WrittenTable, staged: StagedWrite, says_types: bool) -> None:
    """`says_types`: a column that is kept in another type than the query's is said."""
    schema = publication.published = publication.schema()
    facts = _read(job, publication, schema, says_types)
    if publication.entry.strategy == "change":
        facts = drop_rows_rewritten(job, facts)
    judged = drop_undone_evidence(job.examined, publication.partition_by)
    decide(job, facts, judged, staged, lambda: change_of_log(job, publication))


def _read(job: Job, publication: WrittenTable, schema: PhysicalSchema, says_types: bool) -> Facts | None:
    """The planes `catalog` and `files` of what was staged; None where no footer tells of the columns."""
    draft, state = job.draft, publication.state()
    draft.read(Claim("catalog", schema))
    draft.add(registered.check(schema.drop_lengths(), job.examined.promised.drop_lengths()) if says_types else [])
    if publication.unread is not None:
        draft.mark_data_unread(publication.unread)
        return None
    planned = schema.drop_lengths().as_nullable()
    paths = [job.session.local_path(path) or path for path in publication.list_paths()]
    # The table's flags bind its writers; a file says what the query knew, which may be more.
    facts = read_paths(draft, paths, planned, state.partition_by, job.session, flags=False)
    return keep_trusted(job, publication, facts)
