"""What the staged table's files show, and what of the contract is counted where they do not tell."""

from __future__ import annotations

from dataclasses import replace

from planproof.invariants import registered
from planproof.publish.audit.python_claims import keep_trusted
from planproof.publish.audit.staged import decide, drop_undone_evidence, read_paths
from planproof.publish.delta.publication import DeltaPublication
from planproof.publish.materialize.materialization import Job
from planproof.publish.staged_version import StagedVersion
from planproof_engine.claim import Claim, Facts
from planproof_engine.schema import PhysicalSchema
from planproof_engine.types import drop_lengths

_MAPPED = "the table maps its columns, and its files name them otherwise; what the contract promises is counted"

_FED = "the table keeps a feed of its changes, whose column stands in its files too; what is promised is counted"


def audit(job: Job, publication: DeltaPublication, says_types: bool) -> None:
    """`says_types`: a column that is kept in another type than the query's is said."""
    schema = publication.published = publication.schema()
    facts = _read(job, publication, schema, says_types)
    if job.model.incremental_strategy == "merge" and publication.entry.strategy == "change" and facts is not None:
        # What a merge writes anew holds old rows too: only where there is no null at all, the new ones hold none.
        facts = replace(facts, rows=None, nulls={path: n for path, n in facts.nulls.items() if not n})
    staged = StagedVersion(job, publication)
    judged = drop_undone_evidence(job.examined, publication.state().partition_by)
    decide(job, facts, judged, staged.new_rows, staged.rows_after)


def _read(job: Job, publication: DeltaPublication, schema: PhysicalSchema, says_types: bool) -> Facts | None:
    """The planes `catalog` and `files` of what was staged; None where no footer tells of the columns."""
    draft, state = job.draft, publication.state()
    draft.read(Claim("catalog", schema))
    promised = PhysicalSchema(tuple(replace(f, type=drop_lengths(f.type)) for f in job.examined.promised))
    draft.add(registered.check(_drop_lengths(schema), promised) if says_types else [])
    unread = _MAPPED if state.is_mapped else _FED if state.feeds_changes else None
    if unread is not None:
        for plane, invariant in (("files", "I5"), ("batches", "I2")):
            draft.mark_unreadable(plane, unread)
            draft.mark_not_enforced(invariant, unread)
        return None
    before = len(draft.findings)
    planned = _drop_lengths(schema).as_nullable()
    paths = [job.session.local_path(path) or path for path in publication.staged.paths()]
    facts = read_paths(draft, paths, planned, state.partition_by, job.session)
    # The table's flags bind its writers; a file says what the query knew, which may be more.
    draft.findings[before:] = [f for f in draft.findings[before:] if f.code != "PP401" or f.promised != "nullable"]
    return keep_trusted(job, publication, facts)


def _drop_lengths(schema: PhysicalSchema) -> PhysicalSchema:
    """Spark checks declared lengths as it writes; files hold texts."""
    return PhysicalSchema(tuple(replace(f, type=drop_lengths(f.type)) for f in schema))
