"""What an Iceberg table holds at one of its snapshots, against a contract: schema, flags and counts by Iceberg's own
metadata, and the rest by a query of that snapshot. Files that no snapshot names any more are not looked at."""

from __future__ import annotations

from planproof.invariants import contract as contract_terms
from planproof.judge.draft import Draft
from planproof.publish.audit.constraints import judge_constraints
from planproof.publish.audit.samples import sample_stored_rows
from planproof.publish.audit.staged import count, is_broken_by_rows_alone
from planproof.report import Report, format_count
from planproof.session import Session
from planproof.session.snapshots import Counts, Snapshot, SnapshotField
from planproof_engine import Claim, Facts, Finding, Verdict, evolve, join_path
from planproof_engine.types import BYTE, SHORT

_BY_ID = "Iceberg's manifests were read, and no data file: Iceberg maps its columns by field ids, not by names"


def audit_snapshot(draft: Draft, session: Session, snapshot: Snapshot) -> Report:
    """A required field is evidence that it holds no null: Iceberg's writers fail at a null there, and readers keep the
    flag. Two exceptions are looked for: files of other writers that the table took over (`add_files`, `migrate`), and a
    field that was optional in an older schema (`requireColumn`). There the manifests' counts decide. Where these have
    no counts the term stays open: Spark counts no null where it trusts the flag. A writer that enforces nothing shows
    in the manifests' counts only.
    """
    contract = draft.model.contract
    assert contract is not None
    facts = _facts(session, snapshot)
    draft.rows = facts.rows
    draft.read(Claim("catalog", snapshot.schema, what=describe_snapshot(snapshot)))
    draft.read(Claim("files", snapshot.schema, facts, what=facts.source))
    draft.mark_data_unread(_BY_ID, "batches", absent=True)
    draft.mark_not_enforced("I5", _BY_ID)
    draft.add(_find_contradictions(snapshot))
    found = contract_terms.check(
        contract, snapshot.schema, _evidence(snapshot), facts, draft.settings, "files", lambda column: None
    )
    draft.add(map(_explain_integers, found))
    doubted = {join_path(field.path) for field in snapshot.fields if field.required and not field.enforced}
    draft.uncountable |= frozenset(doubted)
    counts = is_broken_by_rows_alone(draft)
    if counts:
        failing = count(draft, session, snapshot.relation)
        draft.add(judge_constraints(session, draft.model, snapshot.relation, snapshot.relation, failing))
    countable = [f for f in draft.findings if f.field not in draft.uncountable]
    draft.findings = [
        *(contract_terms.conclude(countable, draft.settings) if counts else countable),
        *(_report_undecidable(f) for f in draft.findings if f.field in draft.uncountable),
    ]
    sample_stored_rows(draft, session, snapshot.relation)
    return draft.report("audited")


def describe_snapshot(snapshot: Snapshot) -> str:
    """The snapshot's number, its columns' field ids, and how the table is partitioned and sorted."""
    said = [f"Iceberg's schema at snapshot {snapshot.number}" if snapshot.number else "Iceberg's schema; no snapshot"]
    said.append("field ids " + ", ".join(f"{join_path((name,))} {number}" for name, number in snapshot.ids.items()))
    said.append(f"partitioned by {', '.join(snapshot.partitions)}" if snapshot.partitions else "not partitioned")
    if snapshot.sorting:
        said.append(f"sorted by {snapshot.sorting}")
    return "; ".join(said)


def _facts(session: Session, snapshot: Snapshot) -> Facts:
    """Where delete files take rows away, the manifests also count rows that are gone. A count of nulls then proves
    something only where it is 0, and rows are counted by a query."""
    counts, source = snapshot.counts, _source(snapshot)
    rows = counts.rows
    if counts.deletes:
        rows = int(session.rows(f"SELECT count(*) FROM {snapshot.relation}")[0][0])
    nulls = {p.path: counts.nulls[p.number] for p in snapshot.fields if _is_exact(p, counts)}
    return Facts(rows, nulls, counts.files, source)


def _is_exact(field: SnapshotField, counts: Counts) -> bool:
    """A nested count holds the nulls of the structs above."""
    found = counts.nulls.get(field.number)
    return found is not None and (found == 0 or (len(field.path) == 1 and not counts.deletes))


def _source(snapshot: Snapshot) -> str:
    counts = snapshot.counts
    if snapshot.number is None:
        return "the table, which has no snapshot"
    files = f"{counts.files} data file{'' if counts.files == 1 else 's'}"
    deletes = f", whose rows were counted by a query: {counts.deletes} delete files take some away"
    return f"the manifests of snapshot {snapshot.number}, {files}{deletes if counts.deletes else ''}"


def _evidence(snapshot: Snapshot) -> dict[str, str]:
    why = "required by Iceberg's schema in all of its versions, which its writers enforce"
    return {join_path(field.path): why for field in snapshot.fields if field.enforced}


def _find_contradictions(snapshot: Snapshot) -> list[Finding]:
    """Required columns of which files hold nulls: Spark reads something else there, zeros for numbers."""
    found: list[Finding] = []
    for field in snapshot.fields:
        number = snapshot.counts.nulls.get(field.number, 0)
        if field.required and number and len(field.path) == 1:
            name, nulls = join_path(field.path), format_count(number, "null")
            message = (
                f"{name} is required by Iceberg's schema, and its data files hold {nulls}: "
                "what Spark reads there is no value that anybody wrote. Drop NOT NULL (ALTER COLUMN ... DROP NOT NULL)"
            )
            found.append(Finding(Verdict.VIOLATED, "PP402", "files", name, "NOT NULL", nulls, message))
    return found


def _explain_integers(finding: Finding) -> Finding:
    """Iceberg has no integers of one or two bytes: Spark's catalog makes an int of them."""
    if finding.code == "PP504" and finding.promised in (BYTE.simple, SHORT.simple) and finding.found == "int":
        message = f"{finding.message}; Iceberg has no {finding.promised}, and stores int: promise int"
        return evolve(finding, message=message)
    return finding


def _report_undecidable(finding: Finding) -> Finding:
    if finding.verdict is not Verdict.UNPROVED:
        return finding
    why = (
        "the flag was not enforced when all of its rows were written, the manifests do not count its nulls, and Spark "
        "trusts the flag when it counts. Rewrite the files (rewrite_data_files) with "
        "write.metadata.metrics.default=full"
    )
    return evolve(finding, message=f"{finding.field}: promised NOT NULL; {why}")
