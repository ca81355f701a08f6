"""Two compiles side by side as a report: each relation that changed, breaking changes as violations."""

from __future__ import annotations

from collections.abc import Iterable

from planproof.project.changes import BREAKING, Comparison, SchemaChange
from planproof.report.details import Details
from planproof.report.model import Report
from planproof_engine.finding import Finding, Verdict


def reports_of(found: Comparison) -> list[Report]:
    """One report per relation that changed, the breaking ones first; what could not be compared is skipped, and why."""
    by_relation: dict[str, list[SchemaChange]] = {}
    for change in found.changes:
        by_relation.setdefault(change.relation, []).append(change)
    compared = [_report(relation, changes) for relation, changes in by_relation.items()]
    compared.sort(key=lambda report: (report.verdict is not Verdict.VIOLATED, report.model))
    return [*compared, *(Report(name, "skipped", error=f"not compared: {why}") for name, why in found.unread.items())]


def _report(relation: str, changes: Iterable[SchemaChange]) -> Report:
    changes = list(changes)
    details = Details(file=changes[0].file, fail_on="violated")
    findings = sorted(map(_finding, changes), key=lambda f: (f.verdict is not Verdict.VIOLATED, f.field or ""))
    return Report(relation, "compared", tuple(findings), details=details)


def _finding(change: SchemaChange) -> Finding:
    breaking = change.effect == BREAKING
    message = f"{change.column}: {change.said}" if change.column else change.said
    if change.before or change.after:
        message += f" ({change.before or 'nothing'} -> {change.after or 'nothing'})"
    if change.reaches:
        message += f"; reaches {', '.join(change.reaches)}"
    message += "".join(f"; {said}" for said in change.describe_reach())
    return Finding(
        Verdict.VIOLATED if breaking else Verdict.WARNING,
        "PP134" if breaking else "PP135",
        "logical",
        change.column,
        change.before,
        change.after,
        message,
    )
