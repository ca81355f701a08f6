"""What dbt's log says of a model: a small table that fits on one screen."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from planproof.report.model import Finding, Report, Verdict

LINES = 8
WIDTH = 44
_ORDER = (Verdict.VIOLATED, Verdict.UNPROVED, Verdict.WARNING)


def failure(report: Report, name: str, path: Path) -> str:
    """Why a node was not published, the next step for each code, and where the whole report lies."""
    shown = _shown(report.findings)
    kept = "keeps its rows, and the column that was added" if report.details.get("altered") else "is as it was"
    lines = [f"planproof stopped {name}: {_reason(report)}; nothing was published, {report.model} {kept}"]
    if shown:
        lines += _table(shown[:LINES])
    if len(shown) > LINES:
        lines.append(f"  ... and {len(shown) - LINES} more")
    if report.error and not any(report.error == f.message for f in shown):
        lines += [f"  {line}" for line in report.error.strip().splitlines()[:LINES]]
    if "rejected" in report.details:
        lines.append(f"  the rejected rows: {report.details['rejected']}")
    steps = {f.code: f.next_step for f in shown[:LINES]}
    lines += [f"  next ({code}): {step}" for code, step in steps.items()]
    lines.append(f"  report: {_short(path)}")
    return "\n".join(lines)


def remarks(report: Report) -> list[str]:
    """One line for what was not proved of a published node, the worst of it, or none."""
    found = [f for verdict in _ORDER for f in report.findings if f.verdict is verdict]
    if not found:
        return []
    first = found[0]
    more = f" (and {len(found) - 1} more in planproof/report.json)" if len(found) > 1 else ""
    return [f"planproof: {report.model}: {_one_line(str(first))}{more}"]


def changes(report: Report) -> list[str]:
    """One line per schema change that was applied to a published node."""
    return [f"planproof: {_one_line(f.message)}" for f in report.findings if f.code == "PP607"]


def suggestions(report: Report) -> list[str]:
    """One line where rewriting would help a published node, or none."""
    count = sum(f.code == "PP210" for f in report.findings)
    ways = "rewriting gives" if count == 1 else "rewritings give"
    said = f"planproof: {report.model}: {count} {ways} the same rows faster; see planproof/report.json, `rewrite: on`"
    return [said] if count else []


def _reason(report: Report) -> str:
    violated = report.of(Verdict.VIOLATED)
    if violated:
        return f"{len(violated)} violation{'s' if len(violated) > 1 else ''}"
    unproved = report.of(Verdict.UNPROVED)
    if report.outcome == "failed":
        return "it could not be run"
    return f"{len(unproved)} unproved" if unproved else "a warning, and fail_on says so"


def _shown(findings: Sequence[Finding]) -> list[Finding]:
    """What stopped the model, worst first; warnings only where there is nothing worse."""
    by_verdict = [[f for f in findings if f.verdict is verdict] for verdict in _ORDER]
    return by_verdict[0] + by_verdict[1] or by_verdict[2]


def _table(findings: Sequence[Finding]) -> list[str]:
    head = ("code", "verdict", "column", "promised", "found", "plane", "where")
    rows = [
        (
            f.code,
            f.verdict.value,
            f.field or "-",
            f.promised or "-",
            f.found or "-",
            f.plane,
            str(f.origin or "-"),
        )
        for f in findings
    ]
    cells = [head, *[(*map(_cut, row[:-1]), row[-1]) for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = ["  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in cells]
    said: list[str] = []
    for f in findings:
        line = f"  {f.code}: {_one_line(f.message)}"
        if f.message and line not in said:
            said.append(line)
    return lines + said


def _short(path: Path) -> str:
    """The path from here, unless it leads upwards."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def _cut(text: str) -> str:
    text = _one_line(text)
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."


def _one_line(text: str) -> str:
    return " ".join(text.split())
