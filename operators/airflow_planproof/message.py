"""What a failed task says: enough to correct the model without opening another page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planproof.report import Finding, Report

MOST_FINDINGS = 10
"""Findings named per model; the report in XCom holds all of them."""


def violation(failing: Sequence[Report], reports: Sequence[Report], url: str | None = None) -> str:
    """The message of a task in which `failing`, a part of `reports`, broke their contracts."""
    lines = [f"planproof: {len(failing)} of {_count(len(reports), 'model')} failed"]
    for report in failing:
        lines += ["", f"{report.model}: {_fate(report)}", *_findings(report)]
    lines += [*_skipped(reports), *_link(url)]
    return "\n".join(lines)


def failure(failed: Sequence[Report], reports: Sequence[Report], url: str | None = None) -> str:
    """The message of a task in which Spark failed and no contract is known to be broken."""
    lines = [f"planproof: {len(failed)} of {_count(len(reports), 'model')} could not run"]
    for report in failed:
        lines += ["", f"{report.model}: {report.error or 'no reason given'}", *_findings(report)]
    lines += [*_skipped(reports), *_link(url)]
    return "\n".join(lines)


def breaking(changes: Sequence[str], since: str, url: str | None = None) -> str:
    """The message of a check that found changes that break their readers."""
    lines = [f"planproof: {_count(len(changes), 'breaking change')} since {since}"]
    return "\n".join([*lines, *(f"  {change}" for change in changes), *_link(url)])


def dbt_failed(command: str, said: str, url: str | None = None) -> str:
    """The message of a dbt command that failed, and not by a broken contract."""
    return "\n".join([f"dbt {command} failed: {said}", *_link(url)])


def summary(reports: Iterable[Report]) -> list[str]:
    """One line per model, for the task's log."""
    return [
        f"{r.verdict.value:<9} {r.outcome:<10} {r.model}"
        + (f"  {r.rows:,} rows" if r.rows is not None else "")
        + (f"  {r.seconds:.1f} s" if r.seconds is not None else "")
        for r in reports
    ]


def _fate(report: Report) -> str:
    if report.outcome != "rejected":
        return {"audited": "what is stored breaks its contract"}.get(report.outcome, report.outcome)
    if report.details.get("previous") is False:
        return "not published; there was no table before"
    rows = report.details.get("previous_rows")
    return "not published; the table is as it was" + ("" if rows is None else f" ({_count(rows, 'row')})")


def _findings(report: Report) -> list[str]:
    found = sorted((f for f in report.findings if f.verdict.value != "proved"), key=_severity, reverse=True)
    lines: list[str] = []
    for finding in found[:MOST_FINDINGS]:
        lines += _finding(finding, str(finding.origin or report.details.get("file") or ""))
    if len(found) > MOST_FINDINGS:
        lines.append(f"  ... and {len(found) - MOST_FINDINGS} more in the report (XCom key planproof_report)")
    return lines


def _severity(finding: Finding) -> int:
    return ("proved", "warning", "unproved", "violated").index(finding.verdict.value)


def _finding(finding: Finding, place: str) -> list[str]:
    head = f"  {finding.code} {finding.verdict.value}"
    if finding.field:
        head += f" column {finding.field}"
    if finding.promised is not None or finding.found is not None:
        head += f": promised {finding.promised or 'nothing'}, found {finding.found or 'nothing'}"
    lines = [head]
    if finding.message:
        lines.append(f"    {finding.message}")
    if place:
        lines.append(f"    at {place}")
    lines.append(f"    next: {finding.next_step}")
    return lines


def _skipped(reports: Iterable[Report]) -> list[str]:
    names = [r.model for r in reports if r.outcome == "skipped"]
    return ["", f"skipped, because a parent was stopped: {', '.join(names)}"] if names else []


def _link(url: str | None) -> list[str]:
    return ["", f"report: {url}"] if url else []


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def statements(named: Iterable[tuple[str, str | None]]) -> str:
    """SQL of several models as one text, each under its model's name."""
    return "\n\n".join(f"-- {model}\n{sql.strip()}" for model, sql in named if sql)
