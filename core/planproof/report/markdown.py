"""Reports as Markdown, for a comment on a pull request. Names and messages are untrusted: none becomes markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from planproof.report.model import Finding, Report, Verdict
from planproof.report.parts import (
    Parts,
    line_of,
    next_steps,
    not_tried,
    one_line,
    said,
    samples_of,
    skipped,
    stopped,
    where,
)
from planproof.report.text import summary

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|<>~&-])")


def render(reports: Sequence[Report]) -> str:
    """The summary, each model that was stopped with what stopped it, and what else is unproved, folded."""
    lines = [f"**planproof:** {escaped(summary(reports).plain)}", ""]
    for report in reports:
        if stopped(report):
            lines += [*_stopped(report), ""]
    for reason, names in skipped(reports).items():
        lines += [f"Skipped, because {escaped(reason)}: {', '.join(map(escaped, names))}", ""]
    changed = [(r, r.details.change) for r in reports if r.outcome == "published" and r.details.change is not None]
    if changed:
        lines += ["<details><summary>What was published</summary>", ""]
        lines += [f"- {escaped(r.model)}: {escaped(change.line())}" for r, change in changed]
        lines += ["", "</details>", ""]
    open_ones = [(r, f) for r in reports if not stopped(r) for f in r.of(Verdict.UNPROVED, Verdict.WARNING)]
    if open_ones:
        lines += ["<details><summary>Unproved, and warnings</summary>", ""]
        lines += [f"- {escaped(f.code)} {escaped(r.model)}: {escaped(said(f))}{_at(f)}" for r, f in open_ones]
        lines += ["", "</details>", ""]
    untried = [(r, said) for r in reports for said in not_tried(r)]
    if untried:
        lines += ["<details><summary>Data tests that did not run before the publish</summary>", ""]
        lines += [f"- {escaped(r.model)}: {escaped(said)}" for r, said in untried]
        lines += ["", "</details>", ""]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """The text on one line: what Markdown or HTML would read as markup is made plain, and nobody is mentioned.

    >>> print(escaped("a_b | <c>"))
    a\\_b \\| \\<c\\>
    """
    return _MARKUP.sub(r"\\\1", one_line(text)).replace("@", "@\u200b")


def _stopped(report: Report) -> Iterator[str]:
    parts = Parts.of(report)
    yield f"### {escaped(parts.model)} {parts.heading}: {parts.reason}"
    yield ""
    if parts.findings:
        yield "| code | column | promised | found | plane | where |"
        yield "|---|---|---|---|---|---|"
        for f in parts.findings:
            cells = (f.code, f.field, f.promised, f.found, f.plane, where(f.origin) if f.origin else None)
            yield f"| {' | '.join(escaped(cell or '-') for cell in cells)} |"
        yield ""
        yield from dict.fromkeys(f"- {escaped(f.code)}: {escaped(said(f))}{_promised(f)}" for f in parts.findings)
        yield from (f"  - {escaped(row)}" for f in parts.findings for row in samples_of(report, f))
        for step, codes in next_steps(parts.findings).items():
            yield f"- Next ({', '.join(codes)}): {escaped(step)}"
        yield ""
    if parts.error:
        yield escaped(parts.error)
        yield ""
    yield f"**{escaped(parts.fate)}**"


def _promised(finding: Finding) -> str:
    return f" (promised at {escaped(line_of(finding.promise))})" if finding.promise else ""


def _at(finding: Finding) -> str:
    return f" ({escaped(where(finding.origin))})" if finding.origin else ""
