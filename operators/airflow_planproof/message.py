"""How a task ends, by what its reports found, and what a failed one says: enough to correct the model without opening
another page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from airflow_planproof.errors import PlanproofCannotRun, PlanproofRunFailed, PlanproofViolation

if TYPE_CHECKING:
    from planproof.report import Report, RunReport
    from planproof.report.parts import Parts
    from planproof_engine import Finding

MOST_FINDINGS = 10
"""Findings named per model; the report in XCom holds all of them."""


def describe_violation(failing: Sequence[Report], reports: Sequence[Report], url: str | None = None) -> str:
    """The message of a task in which `failing`, a part of `reports`, broke their contracts."""
    from planproof.report.parts import Parts, format_count

    lines = [f"planproof: {len(failing)} of {format_count(len(reports), 'model')} failed"]
    for report in failing:
        parts = Parts.of(report)
        lines += [
            "",
            f"{parts.model} {parts.heading}: {parts.reason}",
            *_list_findings(report, parts),
            f"  {parts.fate}",
        ]
    lines += [*_list_skipped(reports), *_link(url)]
    return _neutralize(lines)


def describe_failure(failed: Sequence[Report], reports: Sequence[Report], url: str | None = None) -> str:
    """The message of a task in which Spark failed and no contract is known to be broken."""
    from planproof.report.parts import Parts, format_count

    lines = [f"planproof: {len(failed)} of {format_count(len(reports), 'model')} could not run"]
    for report in failed:
        parts = Parts.of(report)
        lines += ["", f"{parts.model}: {report.error or 'no reason given'}", *_list_findings(report, parts)]
    lines += [*_list_skipped(reports), *_link(url)]
    return _neutralize(lines)


def describe_breaking(changes: Sequence[str], since: str, url: str | None = None) -> str:
    """The message of a check that found changes that break their readers."""
    from planproof.report import format_count

    lines = [f"planproof: {format_count(len(changes), 'breaking change')} since {since}"]
    return _neutralize([*lines, *(f"  {change}" for change in changes), *_link(url)])


def describe_dbt_failure(command: str, said: str, url: str | None = None) -> str:
    """The message of a dbt command that failed, and not by a broken contract."""
    return _neutralize([f"dbt {command} failed: {said}", *_link(url)])


def join_names(names: Iterable[str]) -> str:
    """Names of models or tables on one line of the task's log."""
    from planproof.report import join_lines

    return _neutralize([join_lines(", ".join(names))])


def summary(reports: Iterable[Report]) -> list[str]:
    """One line per model, for the task's log."""
    from planproof.report import format_count, join_lines, neutralize

    found = [
        f"{r.said:<11} {r.outcome:<10} {r.model}"
        + (f"  {format_count(r.rows, 'row')}" if r.rows is not None else "")
        + (f"  {r.seconds:.1f} s" if r.seconds is not None else "")
        for r in reports
    ]
    return [neutralize(join_lines(line) if "\n" in line else line) for line in found]


def _neutralize(lines: Iterable[str]) -> str:
    """Airflow's page of a log obeys escape sequences and `::group::`, and names are others'."""
    from planproof.report import neutralize

    return neutralize("\n".join(lines))


def _list_findings(report: Report, parts: Parts) -> list[str]:
    from planproof.report.parts import format_place, next_steps

    found = [*parts.findings, *parts.beside]
    lines: list[str] = []
    for finding in found[:MOST_FINDINGS]:
        place = format_place(finding.origin) if finding.origin else str(report.details.file or "")
        lines += _describe_finding(finding, place)
    lines += [f"  next ({', '.join(codes)}): {step}" for step, codes in next_steps(found[:MOST_FINDINGS]).items()]
    if len(found) > MOST_FINDINGS:
        lines.append(f"  ... and {len(found) - MOST_FINDINGS} more in the report (XCom key planproof_report)")
    return lines


def _describe_finding(finding: Finding, place: str) -> list[str]:
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
    return lines


def _list_skipped(reports: Iterable[Report]) -> list[str]:
    from planproof.report.parts import group_skipped

    found = group_skipped(reports)
    return ["", *(f"skipped, because {reason}: {', '.join(names)}" for reason, names in found.items())] if found else []


def _link(url: str | None) -> list[str]:
    return ["", f"report: {url}"] if url else []


def statements(named: Iterable[tuple[str, str | None]]) -> str:
    """SQL of several models as one text, each under its model's name."""
    return "\n\n".join(f"-- {model}\n{sql.strip()}" for model, sql in named if sql)


def end_task(report: RunReport, fail_on: str | None, url: str | None) -> None:
    """Raises `PlanproofViolation` for a broken contract, else `PlanproofCannotRun` or `PlanproofRunFailed` for a model
    that could not run; returns where nothing failed."""
    reports = report.reports
    failing = report.failing(fail_on)
    if failing:
        raise PlanproofViolation(describe_violation(failing, reports, url), reports)
    failed = [r for r in reports if r.outcome == "failed"]
    if failed:
        kind = PlanproofCannotRun if all(map(_is_refusal, failed)) else PlanproofRunFailed
        raise kind(describe_failure(failed, reports, url), reports)


def end_dbt_task(report: RunReport, fail_on: str | None, url: str | None) -> None:
    """As `end_task`. A model that dbt stopped, by its own `fail_on`, breaks its contract however weak `fail_on` is."""
    end_task(report, fail_on, url)
    if any(r.outcome == "rejected" for r in report.reports):
        end_task(report, None, url)


def _is_refusal(report: Report) -> bool:
    """Whether planproof refused to publish for a reason that stays."""
    return any(f.code == "PP601" for f in report.findings) and not report.details.transient
