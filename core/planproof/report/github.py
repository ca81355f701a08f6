"""Findings as GitHub's workflow commands: each one becomes an annotation at its line of a pull request."""

from __future__ import annotations

from planproof.report.model import Finding, Report, Verdict
from planproof.report.parts import said, stopped
from planproof.report.run import RunReport
from planproof.report.text import clean, summary

LEVELS = {Verdict.VIOLATED: "error", Verdict.UNPROVED: "warning", Verdict.WARNING: "notice"}


def render(run: RunReport, prefix: str = "") -> str:
    """One line per finding, the worst first, as GitHub shows only the first ten of each level; then the summary.
    `prefix` is the dbt project's folder below the repository's root, such as `dbt/`."""
    lines = [
        _annotation(report, finding, level, prefix)
        for verdict, level in LEVELS.items()
        for report in run.reports
        for finding in report.of(verdict)
    ]
    for report in run.reports:
        if report.outcome == "failed" and not report.of(Verdict.VIOLATED):
            said_so = f"{report.model} could not run: {report.error or 'no reason given'}"
            lines.append(_command("error", {"title": f"planproof: {report.model}"}, said_so))
    level = "stopped or violated" if any(map(stopped, run.reports)) else "nothing stopped"
    return "\n".join([*lines, f"planproof: {_data(clean(summary(run.reports).plain))} ({level})", ""])


def _annotation(report: Report, finding: Finding, level: str, prefix: str) -> str:
    origin, given = finding.origin, {"title": f"{finding.code} {report.model}"}
    file = origin.file if origin is not None and origin.file else report.details.file
    if file is not None:
        given["file"] = f"{prefix}{file}"
    if origin is not None and origin.file:
        given["line"] = str(origin.line)
        if not origin.approximate:
            given["col"] = str(origin.column)
    return _command(level, given, f"{said(finding)} Next: {finding.next_step}")


def _command(level: str, given: dict[str, str], message: str) -> str:
    """A workflow command; what a name or a message holds can end neither it nor one of its properties.

    >>> print(_command("error", {"title": "a,b: c"}, "x\\n::warning::y"))
    ::error title=a%2Cb%3A c::x%0A::warning::y
    """
    properties = ",".join(f"{key}={_property(value)}" for key, value in given.items())
    return f"::{level} {properties}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
