"""Reports as Markdown, for a comment on a pull request. Names and messages are untrusted: none becomes markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from planproof.report import compared
from planproof.report.folding import Remark, causes, consequences, groups, listed, remarks, unjudged
from planproof.report.model import Report
from planproof.report.parts import (
    Parts,
    also_open,
    counted,
    harmless,
    next_steps,
    not_tried,
    one_line,
    promised_at,
    said,
    samples_of,
    skipped,
    uncounted,
    where,
)
from planproof.report.text import summary
from planproof_engine.finding import Finding, Verdict

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|<>~&-])")


def render(reports: Sequence[Report], command: str = "") -> str:
    """The summary, each model that was stopped with what stopped it, and what else is unproved, folded. Of two compiles
    (`command` is `diff`): what changed."""
    lines = [f"**planproof:** {escaped(summary(reports, command=command).plain)}", ""]
    if compared.is_of_two(reports, command):
        return "\n".join([*lines, *compared.markdown(reports, escaped)])
    below, folded = consequences(reports)
    for report, *others in groups(causes(reports, folded)):
        names = [name for r in (report, *others) for name in below.get(r.model, ())]
        lines += [*_stopped(report, [other.model for other in others], names), ""]
    for reason, names in skipped(reports).items():
        lines += [f"Skipped, because {escaped(reason)}: {', '.join(map(escaped, names))}", ""]
    changed = [(r, r.details.change) for r in reports if r.outcome == "published" and r.details.change is not None]
    if changed:
        lines += ["<details><summary>What was published</summary>", ""]
        lines += [f"- {escaped(r.model)}: {escaped(change.line())}" for r, change in changed]
        lines += ["", "</details>", ""]
    open_ones = [remark for verdict in (Verdict.UNPROVED, Verdict.WARNING) for remark in remarks(reports, verdict)]
    if open_ones:
        lines += ["<details><summary>Unproved, and warnings</summary>", ""]
        lines += [line for remark in open_ones for line in _remark(remark)]
        lines += _next_steps(remark.finding for remark in open_ones)
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
    return _MARKUP.sub(r"\\\1", harmless(one_line(text))).replace("@", "@\u200b")


def _remark(remark: Remark) -> Iterator[str]:
    f = remark.finding
    at = f"{_at(f)}{', and elsewhere' if remark.is_elsewhere else ''}"
    yield f"- {escaped(f.code)} {escaped(remark.named)}: {escaped(remark.message)}{at}"
    if remark.following:
        yield f"  - {escaped(unjudged(remark.following, 1 + len(remark.others)))}"


def _next_steps(findings: Iterable[Finding]) -> list[str]:
    return [f"- Next ({', '.join(codes)}): {escaped(step)}" for step, codes in next_steps(findings).items()]


def _stopped(report: Report, others: Sequence[str], following: Sequence[str]) -> Iterator[str]:
    parts = Parts.of(report)
    why = f": {parts.reason}" if report.outcome != "failed" or report.of(Verdict.VIOLATED) else ""
    yield f"### {escaped(parts.model)} {parts.heading}{why}"
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
        yield from _next_steps(parts.findings)
        yield ""
    if parts.error:
        yield escaped(parts.error)
        yield ""
    for left in filter(None, (also_open(report), uncounted(report))):
        yield escaped(left)
        yield ""
    if others:
        yield f"The same in {counted(len(others), 'other model')}: {escaped(listed(others))}"
        yield ""
    if following:
        yield f"S{escaped(unjudged(following, 1 + len(others)))[1:]}"
        yield ""
    yield f"**{escaped(parts.fate)}**"


def _promised(finding: Finding) -> str:
    return f" ({escaped(promised_at(finding))})" if finding.promise else ""


def _at(finding: Finding) -> str:
    return f" ({escaped(where(finding.origin))})" if finding.origin else ""
