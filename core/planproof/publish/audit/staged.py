"""The audit: what was staged, read from the files, and counted where neither plan nor files can tell."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from planproof.arrow.footers import Footer, FooterError, Undecodable
from planproof.claims import batches, files
from planproof.invariants import count_queries, drift, file_schemas, physical, registered
from planproof.invariants.contract import COUNTABLE, conclude
from planproof.invariants.count_queries import is_of_rows
from planproof.judge.draft import Draft, Effect
from planproof.judge.planes import Examined, judge, judge_loosened
from planproof.publish.audit import limits
from planproof.publish.audit.changes import change
from planproof.publish.audit.constraints import checks, judge_constraints, looks_at_all
from planproof.publish.audit.hazards import decide_hazards
from planproof.publish.audit.python_claims import keep_trusted
from planproof.publish.materialize.materialization import Job
from planproof.publish.staged_write import StagedWrite, as_subquery
from planproof.publish.swaps.staged import StagedFiles
from planproof.publish.transaction import JournaledPublication
from planproof.publish.undoing import tell_of_undoing
from planproof.report.details import Files, TableChange
from planproof.session import Session, SparkFailure, StoredTable, decode_uri, local
from planproof_engine import AnalysisError, ColumnNames, Finding, PhysicalSchema, Verdict
from planproof_engine.claim import SAMPLE, Claim, Facts, join_path
from planproof_engine.types import Char, String, Varchar

FOOTERS = 200
"""Of a source with more files than these a count is as cheap as a look at all footers."""


def audit_files(job: Job, publication: JournaledPublication, planned: PhysicalSchema, flags: bool = True) -> None:
    """Staged files: footers against the plan (I5), batches (I2), the contract by facts, then by counting.

    `flags` is False where `planned` has not the flags that the write had (a V1 table's schema forgets them, not every
    session shows the optimizer's): a file may then promise more.
    """
    entry, draft = publication.entry, job.draft
    reads_target = entry.effect.is_partial or draft.settings.limits or job.keys
    if job.target is not None and job.target.kind == "table" and reads_target and looks_at_all(job):
        publication.refresh()  # This session may have listed the files before another one wrote rows.
    if publication.final is not None:
        draft.read(Claim("executed", publication.final))
        draft.add(physical.check_written(planned, publication.final))
        draft.mark_enforced(
            "I7", "optimized plan against the analyzed one, the final plan of the write against the table"
        )
    partition_by: tuple[str, ...] = ()
    if publication.unregistered is not None:
        facts = _read_facts_below(draft, job.session, entry.stage_location, planned, flags=flags)
    else:
        staging = publication.stored(entry.staging)
        if staging is None:
            raise SparkFailure(f"{entry.staging}, which was just written, is gone: was it dropped?", outside=True)
        partition_by = staging.partition_by
        facts = read_files(draft, job.session, staging, planned, flags)
    facts = keep_trusted(job, publication, facts)
    rows, judged = StagedFiles(job, publication), drop_undone_evidence(job.examined, partition_by)
    decide(job, facts, judged, rows, lambda: change(job, publication), decides_limits=True)


def decide(
    job: Job,
    facts: Facts | None,
    judged: Examined,
    staged: StagedWrite,
    find_change: Callable[[], TableChange],
    *,
    decides_limits: bool = False,
) -> None:
    """The contract by the facts, and by counting what they leave open: constraints, hazards and loosened flags too.

    `staged` is asked for its rows only where something is counted. `find_change` tells what footers say of the publish,
    and `decides_limits` whether that is enough for limits.
    """
    draft = job.draft
    if facts is not None:
        draft.rows = facts.rows
    changed = _report_change(job, find_change)
    judge(draft, judged, facts, "files")
    judge_loosened(draft, job.examined.planes, facts)
    whole_so_far = not draft.has_violation()
    # Rows that may be quarantined are counted for every term later.
    counts = whole_so_far or (draft.settings.on_violation != "quarantine" and is_broken_by_rows_alone(draft))
    if counts and (_open(draft) or (job.model.contract and job.model.contract.constraints)):
        rows = staged.new_rows()
        failing = count(draft, job.session, rows)
        draft.add(judge_constraints(job.session, job.model, staged.rows_after(), rows, failing))
        draft.set_details(uncounted=None)
    if whole_so_far:
        known = changed if decides_limits else None
        draft.add(limits.judge_limits(job, draft.settings.limits, known, staged.new_rows, staged.rows_after))
        decide_hazards(draft, job.session, job.examined, facts)
    if counts:
        settled = [f for f in draft.findings if f.field not in draft.uncountable]
        draft.findings = conclude(settled, draft.settings) + [f for f in draft.findings if f.field in draft.uncountable]


def is_broken_by_rows_alone(draft: Draft) -> bool:
    """Whether only rows break the contract so far. Then the other terms that rows may break are counted too, so that
    one report names all. A wrong schema stops the publish whatever its rows hold."""
    return all(is_of_rows(f) for f in draft.findings if f.verdict is Verdict.VIOLATED)


def _report_change(job: Job, find: Callable[[], TableChange]) -> TableChange | None:
    """What the publish changes, for the report, and for those limits that footers decide."""
    draft = job.draft
    if draft.settings.changes == "off" and not draft.settings.limits:
        return None
    try:
        found = find()
    except Exception as error:  # A failure to say what changes stops no publish.
        draft.add_own_error("files", error)
        return None
    if draft.settings.changes != "off":
        draft.set_details(change=found if draft.settings.changes == "values" else found.drop_values())
    return found


def drop_undone_evidence(examined: Examined, partition_by: Sequence[str]) -> Examined:
    """Without the evidence that storing undoes: a partition column holds an empty string as NULL (V1Writes)."""
    partitions = ColumnNames(partition_by)
    texts = {
        join_path((f.name,))
        for f in examined.promised
        if f.name in partitions and isinstance(f.type, (String, Char, Varchar))
    }
    return examined._replace(evidence={k: why for k, why in examined.evidence.items() if k not in texts})


def audit_query(job: Job) -> None:
    """Audits a view's query. Nothing is stored, so that only terms of the contract are counted that no plan proves."""
    draft, relation = job.draft, as_subquery(job.model.sql)
    draft.mark_data_unread("a view stores nothing", absent=True)
    if not draft.has_violation():
        failing = count(draft, job.session, relation)
        draft.add(judge_constraints(job.session, job.model, relation, relation, failing))
        draft.set_details(uncounted=None)
        draft.add(limits.judge_limits(job, draft.settings.limits, None, lambda: relation, lambda: relation))
        decide_hazards(draft, job.session, job.examined)
        draft.findings = conclude(draft.findings, draft.settings)


def read_files(
    draft: Draft, session: Session, table: StoredTable, planned: PhysicalSchema | None, flags: bool = True
) -> Facts | None:
    """The claims of a stored table's files, against what was `planned`, else against the table's own schema; `flags` as
    in `read_paths`. None where they cannot be read from here."""
    if table.location is None:
        draft.mark_data_unread(f"{table.name} has no location")
        return None
    registered_as = table if planned is None else None
    location, partition_by = decode_uri(table.location), table.partition_by
    return _read_facts_below(draft, session, location, planned, partition_by, registered_as, flags)


def _read_facts_below(
    draft: Draft,
    session: Session,
    location: str,
    planned: PhysicalSchema | None,
    partition_by: Sequence[str] = (),
    registered_as: StoredTable | None = None,
    flags: bool = True,
) -> Facts | None:
    paths, reason = _list_files(session, location)
    if reason is not None:
        draft.mark_data_unread(reason)
        return None
    if registered_as is not None:
        paths = drop_empty_files(draft, paths)
    return read_paths(draft, paths, planned, partition_by, session, registered_as, flags=flags)


def _list_files(session: Session, location: str) -> tuple[Sequence[str], str | None]:
    """The data files at a location, or why they cannot be listed from here."""
    try:
        return session.files(local(location) or location), None
    except SparkFailure as failure:
        return (), f"{location} cannot be listed: {failure}"


def read_paths(
    draft: Draft,
    paths: Sequence[str],
    planned: PhysicalSchema | None,
    partition_by: Sequence[str],
    session: Session,
    registered_as: StoredTable | None = None,
    of_format: Sequence[str] = (),
    flags: bool = True,
) -> Facts | None:
    """The claims of files, against the plan that wrote them (`planned`; columns `of_format` may stand there besides),
    or the table that they belong to (`registered_as`); with neither, against each other. Without `flags` a file may
    promise more than what was planned. None where nobody can read them here."""
    if not paths:
        for plane in ("files", "batches"):
            draft.mark_absent(plane, "no file was written: there are no rows")
        draft.mark_not_enforced("I5", "no file was written")
        draft.mark_not_enforced("I2", "no file was written")
        return Facts(0, {}, 0, "no files")
    try:
        claim, footers = files.read(paths, session)
    except FooterError as error:
        draft.mark_unreadable("files", str(error))
        draft.add([Finding(Verdict.VIOLATED, "PP401", "files", message=str(error))])
        return Facts(source="no footer")
    except Undecodable as error:
        draft.mark_data_unread(str(error))
        return None
    draft.read(claim)
    if registered_as is not None:
        table, is_exact = registered_as, session.conf.case_sensitive
        draft.add(drift.check(table.schema, footers, tuple(partition_by), is_exact, table.filled))
    else:
        found = file_schemas.check(planned, footers, tuple(partition_by), of_format)
        draft.add(f for f in found if flags or f.promised != "nullable")
    if planned is None:
        draft.add(drift.check_paths(footers, partition_by))
    draft.mark_enforced("I5", claim.what)
    draft.set_details(files=describe_files(footers))
    if any(session.local_path(path) is None for path in paths):
        reason = "the files are on another file system: their footers are read, and not their rows"
        draft.mark_data_unread(reason, "batches")
        return claim.facts
    _read_batches(draft, paths, footers)
    return claim.facts


def _read_batches(draft: Draft, paths: Sequence[str], footers: Sequence[Footer]) -> None:
    """I2 over what is decoded of the files, and how much that was."""
    if draft.settings.batches == "off":
        draft.mark_data_unread("batches: off", "batches", absent=True)
        return
    if not any(f.row_groups for f in footers):
        draft.mark_data_unread("no row group was written: there are no rows", "batches", absent=True)
        return
    try:
        claim, found = batches.read(paths, draft.settings.batches, footers)
    except Undecodable as error:
        draft.mark_data_unread(str(error), "batches")
        return
    draft.add(found)
    if claim is None:
        draft.mark_data_unread("no row group could be decoded", "batches")
        return
    draft.read(claim)
    draft.mark_enforced("I2", claim.what, sampled=claim.looked_at == SAMPLE)


def drop_empty_files(draft: Draft, paths: Sequence[str]) -> list[str]:
    """The files without those of no byte at all, which Spark skips (PartitioningAwareFileIndex)."""
    empty = {path for path in paths if os.path.isfile(path) and not os.path.getsize(path)}
    if empty:
        first = os.path.basename(min(empty))
        many = f"{len(empty)} file{'' if len(empty) == 1 else 's'} without a byte, {first} for one"
        message = f"{many}: Spark skips them, other readers may fail"
        draft.add([Finding(Verdict.WARNING, "PP402", "files", None, "a Parquet file", "0 bytes", message)])
    return [path for path in paths if path not in empty]


def describe_files(footers: Sequence[Footer]) -> Files:
    """What a report says of the files: how many, rows, bytes, compression, who wrote them, which lack statistics."""
    return Files(
        sum(f.files for f in footers),
        sum(f.files for f in footers if not f.rows),
        sum(f.bytes or 0 for f in footers),
        tuple(sorted({codec for f in footers for codec in f.codecs})),
        tuple(sorted({f.created_by for f in footers})),
        sum(f.files for f in footers if not f.has_statistics),
    )


def count(draft: Draft, session: Session, relation: str) -> list[int] | None:
    """Decides every NOT NULL and length that is still unproved, in one query over those columns only.

    The declared checks are counted by the same query; None where one of them cannot be analyzed, or fails.
    """
    open_terms = _open(draft)
    expressions = checks(draft.model)
    if not open_terms and not expressions:
        return []
    failing: list[int] | None
    try:
        decided, failing = count_queries.count(session, relation, open_terms, expressions)
    except (AnalysisError, SparkFailure) as error:
        if not expressions or getattr(error, "outside", False):
            raise
        decided, failing = count_queries.count(session, relation, open_terms)[0], None
    draft.findings = [f for f in draft.findings if f not in open_terms]
    draft.add(decided)
    return failing


def _open(draft: Draft) -> list[Finding]:
    """The terms that nothing has decided yet, and a count can."""
    return [
        f
        for f in draft.findings
        if f.code in COUNTABLE and f.verdict is Verdict.UNPROVED and f.field not in draft.uncountable
    ]


def look(
    job: Job, written: PhysicalSchema, describe: Callable[[], None], is_exchanged: Callable[[], bool]
) -> StoredTable | None:
    """The catalog's plane: the relation as it is registered now, against what was written; None where Spark does not
    show it.

    The target has changed by now: a failure of Spark here undoes no publish. `is_exchanged` is asked where the two
    differ: whether another relation has taken the published one's place.
    """
    name, draft = job.names.target.quoted, job.draft
    try:
        describe()
        now = job.session.registered_table(name)
    except (SparkFailure, AnalysisError) as error:
        draft.mark_unreadable("catalog", str(error))
        message = f"{job.model.name} was published; its comment and properties could not be set or read: {error}"
        draft.add([Finding(Verdict.WARNING, "PP403", "catalog", message=message)])
        return None
    if now is None:
        draft.mark_unreadable("catalog", "the catalog does not show the relation")
        return None
    is_replaced = now.kind == "table" and draft.effect is Effect.REPLACES
    # Partition columns stand last in Spark's own catalog; a log keeps the order of the model.
    last = () if now.has_log else now.partition_by
    differences = registered.check(now.schema, written, last) if is_replaced else []
    is_another = False
    with suppress(SparkFailure, AnalysisError):  # Where that cannot be told, it is judged as the published one.
        is_another = bool(differences) and is_exchanged()
    if is_another:
        draft.mark_unreadable("catalog", "another relation has taken the published one's place")
        draft.add(found for found in [tell_of_undoing(job.model.name)] if found not in draft.findings)
        return None
    draft.read(Claim("catalog", now.schema))
    draft.add(differences)
    return now
