"""Findings as GitHub's workflow commands: each one becomes an annotation at its line of a pull request."""

from __future__ import annotations

from collections.abc import Collection

from planproof.report import parts
from planproof.report.folding import describe_unjudged, find_consequences, is_secondary
from planproof.report.model import Report
from planproof.report.run import HOW, RunReport
from planproof.report.text import render_summary
from planproof_engine import Finding, Verdict

LEVELS = {Verdict.VIOLATED: "error", Verdict.UNPROVED: "warning", Verdict.WARNING: "notice"}


def render(run: RunReport, prefix: str = "") -> str:
    """A notice of what is true of the project as a whole; one line per finding, the worst first, as GitHub shows only
    the first ten of each level; then the summary. What follows from another model's finding stands with that one, and
    of a model each next step is said once. `prefix` is the dbt project's folder below the repository's root, such as
    `dbt/`."""
    below, folded = find_consequences(run.reports)
    told = [(report, _select_findings(report, folded)) for report in run.reports]
    failed = [report for report in run.reports if report.outcome == "failed" and not report.of(Verdict.VIOLATED)]
    next_of = {first: f" Next: {step}" for _, found in told for first, step in parts.find_first_steps(found).items()}
    remarks = "\n".join(remark for remark in run.remarks if not remark.startswith(HOW))
    lines = [_format_command("notice", {"title": "planproof"}, remarks)] if remarks else []
    for verdict in LEVELS:
        of_level = [(report, f) for report, found in told for f in found if f.verdict is verdict]
        for report, finding in sorted(of_level, key=lambda pair: is_secondary(pair[1])):
            following = below.pop(report.model, []) if verdict is not Verdict.WARNING else []
            so = f" S{describe_unjudged(following)[1:]}." if following else ""
            lines.append(_render_annotation(report, finding, prefix, f"{so}{next_of.get(id(finding), '')}"))
        if verdict is Verdict.VIOLATED:
            lines += [_render_failure(report, prefix) for report in failed]
    failing = sum(map(parts.is_stopped, run.reports))
    ends = f"{parts.format_count(failing, 'model')} failed" if failing else "nothing failed"
    return "\n".join(
        [*lines, f"planproof: {_escape_data(render_summary(run.reports, command=run.command).plain)} ({ends})", ""]
    )


def _select_findings(report: Report, folded: Collection[int]) -> list[Finding]:
    """The findings that get a line, in the order in which they are told."""
    violated = report.of(Verdict.VIOLATED)
    found = [f for verdict in LEVELS for f in sorted(report.of(verdict), key=is_secondary)]
    return [f for f in found if id(f) not in folded and not parts.is_explained(f, violated) and not _is_said(report, f)]


def _is_said(report: Report, finding: Finding) -> bool:
    """Whether the model's own line says it already: why the model could not run, or why a promise stayed open."""
    if report.outcome != "failed" or finding.verdict is not Verdict.UNPROVED:
        return False
    return parts.is_promise(finding) or finding.message == report.error


def _render_failure(report: Report, prefix: str) -> str:
    file = report.details.file
    given = {"title": f"planproof: {report.model}", **({"file": f"{prefix}{file}"} if file is not None else {})}
    return _format_command(
        "error", given, f"{report.model} {parts.heading(report)}: {parts.describe_failure(report) or 'no reason given'}"
    )


def _render_annotation(report: Report, finding: Finding, prefix: str, more: str) -> str:
    level = "error" if parts.is_stopping(report, finding) else LEVELS[finding.verdict]
    origin, given = finding.origin, {"title": f"{finding.code} {report.model}"}
    file = origin.file if origin is not None and origin.file else report.details.file
    if file is not None:
        given["file"] = f"{prefix}{file}"
    if origin is not None and origin.file:
        given["line"] = str(origin.line)
        if not origin.approximate:
            given["col"] = str(origin.column)
    elif finding.promise is not None:
        # A column that is not there has no place in the model; its promise has one.
        given |= {"file": f"{prefix}{finding.promise.file}", "line": str(finding.promise.line)}
    return _format_command(level, given, f"{parts.message_of(finding).rstrip('.')}.{more}")


def _format_command(level: str, given: dict[str, str], message: str) -> str:
    """A workflow command; what a name or a message holds can end neither it nor one of its properties.

    >>> print(_format_command("error", {"title": "a,b: c"}, "x: y"))
    ::error title=a%2Cb%3A c::x: y
    """
    properties = ",".join(f"{key}={_escape_property(value)}" for key, value in given.items())
    return f"::{level} {properties}::{_escape_data(message)}"


def _escape_data(text: str) -> str:
    return parts.neutralize(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")
