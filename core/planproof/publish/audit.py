"""The audit: what was staged, read from the files, and counted where neither plan nor files can tell."""

from __future__ import annotations

from collections.abc import Sequence

from planproof.arrow.footers import FooterError, Undecodable
from planproof.claims import batches, files
from planproof.claims.model import Facts, dotted
from planproof.invariants import counting, registered, stored
from planproof.invariants.contract import COUNTABLE, settle
from planproof.origin import AnalysisError
from planproof.publish.constraints import broken
from planproof.publish.draft import Draft
from planproof.publish.examine import Examined, judge, judge_loosened
from planproof.publish.materialization import Job
from planproof.publish.names import quoted
from planproof.publish.publication import Publication
from planproof.publish.stage import describe, query
from planproof.report.model import Finding, Verdict
from planproof.schema import PhysicalSchema
from planproof.session.protocol import Session, SparkFailure, StoredTable
from planproof.session.store import decoded, local
from planproof.types import Char, String, Varchar


def audit_files(job: Job, publication: Publication, planned: PhysicalSchema, flags: bool = True) -> None:
    """Staged files: footers against the plan (I5), batches (I2), the contract by facts, then by counting.

    `flags` is False where `planned` is a V1 table's schema, which forgets them: a file may then promise more.
    """
    entry, draft = publication.entry, job.draft
    staging = publication.stored(entry.staging)
    assert staging is not None
    facts = read_files(draft, job.session, staging, planned)
    if not flags:
        draft.findings = [f for f in draft.findings if f.code != "PP401" or f.promised != "nullable"]
    if facts is not None:
        draft.rows = facts.rows
    judge(draft, _as_stored(job.examined, staging.partition_by), facts, "files")
    judge_loosened(draft, job.examined.planes, facts)
    if not draft.violated():
        count(draft, job.session, entry.staging)
        draft.add(broken(job.session, job.model, _constrained(job, entry.staging), entry.staging))
    draft.findings = settle(draft.findings, draft.settings)


def _as_stored(examined: Examined, partition_by: Sequence[str]) -> Examined:
    """Without the evidence that storing undoes: a partition column holds an empty string as NULL (V1Writes)."""
    partitions = {name.lower() for name in partition_by}
    texts = {
        dotted((f.name,))
        for f in examined.promised
        if f.name.lower() in partitions and isinstance(f.type, String | Char | Varchar)
    }
    return examined._replace(evidence={k: why for k, why in examined.evidence.items() if k not in texts})


def audit_query(job: Job) -> None:
    """A view's query: nothing is stored, so that only what the contract asks and no plan proves is counted."""
    draft = job.draft
    for plane in ("batches", "files"):
        draft.absent(plane, "a view stores nothing")
    draft.not_enforced("I2", "a view stores nothing")
    draft.not_enforced("I5", "a view stores nothing")
    relation = f"(\n{query(job.model.sql)}\n)"
    if not draft.violated():
        count(draft, job.session, relation)
        draft.add(broken(job.session, job.model, relation, relation))
    draft.findings = settle(draft.findings, draft.settings)


def read_files(draft: Draft, session: Session, table: StoredTable, planned: PhysicalSchema | None) -> Facts | None:
    """The claims of a stored table's files; None where they cannot be read from here."""
    location = decoded(table.location) if table.location else None
    path = local(location) if location else None
    if path is None:
        reason = f"{location or table.name} is not on this machine"
        for plane in ("files", "batches"):
            draft.unreadable(plane, reason)
        draft.not_enforced("I5", reason)
        draft.not_enforced("I2", reason)
        return None
    return read_paths(draft, session.files(path), planned, table.partition_by)


def read_paths(
    draft: Draft, paths: Sequence[str], planned: PhysicalSchema | None, partition_by: Sequence[str]
) -> Facts:
    if not paths:
        for plane in ("files", "batches"):
            draft.absent(plane, "no file was written: there are no rows")
        draft.enforced("I5", "no file was written")
        draft.not_enforced("I2", "no file was written")
        return Facts(0, {}, 0, "no files")
    try:
        claim, footers = files.read(paths)
    except FooterError as error:
        draft.unreadable("files", str(error))
        draft.add([Finding(Verdict.VIOLATED, "PP401", "files", message=str(error))])
        return Facts(source="no footer")
    draft.read("files", claim.schema)
    draft.add(stored.check(planned, footers, tuple(partition_by)))
    draft.enforced("I5", f"footers of all {len(paths)} files")
    try:
        draft.add(batches.sample(paths, draft.settings.batches))
    except Undecodable as error:
        draft.unreadable("batches", str(error))
        draft.not_enforced("I2", str(error))
        return claim.facts
    if draft.settings.batches == "off":
        draft.absent("batches", "batches: off")
        draft.not_enforced("I2", "batches: off")
    else:
        draft.read("batches", claim.schema)
        draft.enforced("I2", f"row groups of the staged files, {draft.settings.batches}")
    return claim.facts


def count(draft: Draft, session: Session, relation: str) -> None:
    """Decides every NOT NULL and length that is still unproved, in one query over those columns only."""
    open_terms = [f for f in draft.findings if f.code in COUNTABLE and f.verdict is Verdict.UNPROVED]
    if open_terms:
        decided = counting.count(session, relation, open_terms)
        draft.findings = [f for f in draft.findings if f not in open_terms]
        draft.add(decided)


def _constrained(job: Job, staging: str) -> str:
    """The rows over which a key must be unique: what the table will hold."""
    target = job.target
    if job.draft.strategy not in ("append", "partitions") or target is None:
        return staging
    names = quoted(job.names.target)
    columns = ", ".join(quoted((c,)) for c in target.schema.names)
    kept = f"SELECT {columns} FROM {names}"
    if job.draft.strategy == "partitions":
        same = " AND ".join(f"old.{quoted((c,))} <=> new.{quoted((c,))}" for c in target.partition_by)
        kept = f"SELECT {columns} FROM {names} AS old LEFT ANTI JOIN {staging} AS new ON {same}"
    return f"({kept} UNION ALL SELECT {columns} FROM {staging})"


def look(job: Job) -> None:
    """The catalog's plane: the relation as it is registered now, against what was written.

    The target has changed by now: what Spark does not answer here makes no publish undone.
    """
    name, draft = quoted(job.names.target), job.draft
    try:
        if draft.strategy == "location" and job.target is not None:
            describe(job.session, job.model, job.target, name)
        now = job.session.table(name)
    except (SparkFailure, AnalysisError) as error:
        draft.unreadable("catalog", str(error))
        message = f"{job.model.name} was published; its comment and properties could not be set or read: {error}"
        draft.add([Finding(Verdict.WARNING, "PP403", "catalog", message=message)])
        return
    if now is None:
        draft.unreadable("catalog", "the catalog does not show the relation")
        return
    draft.read("catalog", now.schema)
    if now.kind == "table" and draft.strategy in ("rename", "location"):
        draft.add(registered.check(now.schema, job.examined.promised, now.partition_by))
