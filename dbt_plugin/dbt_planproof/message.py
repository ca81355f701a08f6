"""What dbt's log says of a model: a small table that fits on one screen."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from planproof.report import Report, parts
from planproof.report.folding import STYLE, is_secondary
from planproof_engine import Finding, Verdict

LINES = 8
WIDTH = 44
LOSING = ("PP126", "PP136", "PP138")
"""Values that are lost in a cast or in arithmetic: what these findings promise is the type of the value, which no row
breaks."""
_ORDER = (Verdict.VIOLATED, Verdict.UNPROVED, Verdict.WARNING)


def describe_failure(report: Report, name: str, path: Path) -> str:
    """Why a node was not published, the next step for each code, and where the whole report lies."""
    return _write_message(report, f"stopped {name}", path)


def describe_watched(report: Report, name: str, path: Path) -> str:
    """The same of a node that was published because it is only watched."""
    return _write_message(report, f"would have stopped {name}", path)


def _write_message(report: Report, what: str, path: Path) -> str:
    told = parts.Parts.of(report)
    shown = [*told.findings, *(f for f in told.beside if f.verdict is Verdict.UNPROVED)]
    lines = [f"planproof {what}: {told.reason}. {told.fate} ({told.model})"]
    if shown:
        lines += _format_table(shown[:LINES])
    if len(shown) > LINES:
        lines.append(f"  ... and {len(shown) - LINES} more")
    if told.error:
        lines += [f"  {line}" for line in told.error.strip().splitlines()[:LINES]]
    if told.rejected:
        lines.append(f"  the rejected rows: {told.rejected}")
    lines += [f"  next ({', '.join(codes)}): {step}" for step, codes in parts.next_steps(shown[:LINES]).items()]
    for finding in shown[:LINES]:
        query, rows = parts.short_query(report, finding) or "", parts.samples_of(report, finding)
        lines += [f"  rows that {_describe_rows(finding)}:"] if query or rows else []
        lines += [f"    {parts.join_lines(row)}" for row in rows]
        lines += [f"    {line}" for line in query.strip().splitlines()]
    lines.append(f"  report: {shorten_path(path)}")
    return "\n".join(lines)


def list_remarks(report: Report) -> list[str]:
    """One line with the worst of what was not proved of a published node, or none. Matters of style stand in the report
    only."""
    found = [f for verdict in _ORDER for f in report.findings if f.verdict is verdict and f.code not in STYLE]
    if not found:
        return []
    first = min(found, key=lambda finding: (_ORDER.index(finding.verdict), is_secondary(finding)))
    more = f" (and {len(found) - 1} more in planproof/report.json)" if len(found) > 1 else ""
    return [parts.join_lines(f"planproof: {report.model}: {first}{more}")]


def list_changes(report: Report) -> list[str]:
    """What a publish did to the table on one line, and a line per schema change that was applied to it."""
    change = report.details.change
    told = (
        [] if change is None or not change.is_any else [f"planproof: {report.model}: {parts.join_lines(change.line())}"]
    )
    told += [f"planproof: {parts.join_lines(f.message)}" for f in report.findings if f.code == "PP607"]
    return [parts.join_lines(line) for line in told]


def list_suggestions(report: Report) -> list[str]:
    """One line where rewriting would help a published node, or none."""
    count = sum(f.code == "PP210" for f in report.findings)
    ways = "rewriting gives" if count == 1 else "rewritings give"
    said = f"planproof: {report.model}: {count} {ways} the same rows faster; see planproof/report.json, `rewrite: on`"
    return [parts.join_lines(said)] if count else []


def _format_table(findings: Sequence[Finding]) -> list[str]:
    head = ("code", "verdict", "column", "promised", "found", "plane", "where")
    rows = [
        (f.code, f.verdict.value, f.field or "-", f.promised or "-", f.found or "-", f.plane, _format_where(f))
        for f in findings
    ]
    cells = [head, *[(*map(_cut_text, row[:-1]), row[-1]) for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = ["  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in cells]
    return [
        *lines,
        *dict.fromkeys(f"  {f.code}: {parts.join_lines(parts.message_of(f))}{_describe_promise(f)}" for f in findings),
    ]


def _describe_rows(finding: Finding) -> str:
    if finding.code == "PP513":
        return f"{finding.promised} finds"
    return "lose a value" if finding.code in LOSING else f"break {finding.promised}"


def _format_where(finding: Finding) -> str:
    """The place in the query; of what no part of the query tells, the place of the promise."""
    if finding.origin is not None:
        return parts.format_place(finding.origin)
    return parts.line_of(finding.promise) if finding.promise is not None else "-"


def _describe_promise(finding: Finding) -> str:
    return f" ({parts.format_promise(finding)})" if finding.promise is not None else ""


def shorten_path(path: Path) -> str:
    """The path from here, unless it leads upwards."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def _cut_text(text: str) -> str:
    text = parts.join_lines(text)
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."
