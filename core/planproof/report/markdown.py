"""Reports as Markdown, for a comment on a pull request. Names and messages are untrusted: none becomes markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from planproof.report import folding, parts
from planproof.report.model import Report
from planproof.report.text import render_summary
from planproof_engine import Finding, Verdict

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|<>~&-])")
_LINK = re.compile("@|:(?=//)|www(?=[.])")
"""What GitHub makes a mention or a link of, without any mark around it."""


def render(reports: Sequence[Report], command: str = "", remarks: Sequence[str] = ()) -> str:
    """The summary, the remarks on the project as a whole, each model that was stopped with what stopped it, and what
    else is unproved, folded. Of two compiles (`command` is `diff`): what changed."""
    lines = [f"**planproof:** {escape(render_summary(reports, command=command).plain)}", ""]
    if remarks:
        lines += [*(f"- note: {escape(remark)}" for remark in remarks), ""]
    if folding.is_of_two(reports, command):
        return "\n".join([*lines, *folding.render_markdown(reports, escape)])
    below, folded = folding.find_consequences(reports)
    for report, *others in folding.group_by_cause(folding.find_causes(reports, folded)):
        names = [name for r in (report, *others) for name in below.get(r.model, ())]
        lines += [*_render_stopped(report, [other.model for other in others], names), ""]
    for reason, names in parts.group_skipped(reports).items():
        lines += [f"Skipped, because {escape(reason)}: {', '.join(map(escape, names))}", ""]
    changed = [(r, r.details.change) for r in reports if r.outcome == "published" and r.details.change is not None]
    if changed:
        lines += ["<details><summary>What was published</summary>", ""]
        lines += [f"- {escape(r.model)}: {escape(change.line())}" for r, change in changed]
        lines += ["", "</details>", ""]
    open_ones = [
        remark
        for verdict in (Verdict.UNPROVED, Verdict.WARNING)
        for remark in folding.collect_remarks(reports, verdict)
    ]
    if open_ones:
        lines += ["<details><summary>Unproved, and warnings</summary>", ""]
        lines += [line for remark in open_ones for line in _render_remark(remark)]
        lines += _render_next_steps(remark.finding for remark in open_ones)
        lines += ["", "</details>", ""]
    untried = [(r, said) for r in reports for said in parts.list_untried_tests(r)]
    if untried:
        lines += ["<details><summary>Data tests that did not run before the publish</summary>", ""]
        lines += [f"- {escape(r.model)}: {escape(said)}" for r, said in untried]
        lines += ["", "</details>", ""]
    return "\n".join(lines)


def escape(text: str) -> str:
    """The text on one line: what Markdown or HTML would read as markup is made plain; nobody is mentioned, and
    GitHub links nothing.

    >>> print(escape("a_b | <c>"))
    a\\_b \\| \\<c\\>
    """
    return _LINK.sub("\\g<0>\u200b", _MARKUP.sub(r"\\\1", parts.neutralize(parts.join_lines(text))))


def _render_remark(remark: folding.Remark) -> Iterator[str]:
    f = remark.finding
    at = f"{_format_place(f)}{', and elsewhere' if remark.is_elsewhere else ''}"
    yield f"- {escape(f.code)} {escape(remark.named)}: {escape(remark.message)}{at}"
    if remark.following:
        yield f"  - {escape(folding.describe_unjudged(remark.following, 1 + len(remark.others)))}"


def _render_next_steps(findings: Iterable[Finding]) -> list[str]:
    return [f"- Next ({', '.join(codes)}): {escape(step)}" for step, codes in parts.next_steps(findings).items()]


def _render_stopped(report: Report, others: Sequence[str], following: Sequence[str]) -> Iterator[str]:
    message = parts.Parts.of(report)
    why = f": {message.reason}" if report.outcome != "failed" or report.of(Verdict.VIOLATED) else ""
    yield f"### {escape(message.model)} {message.heading}{why}"
    yield ""
    if message.findings:
        yield "| code | column | promised | found | plane | where |"
        yield "|---|---|---|---|---|---|"
        for f in message.findings:
            cells = (f.code, f.field, f.promised, f.found, f.plane, parts.format_place(f.origin) if f.origin else None)
            yield f"| {' | '.join(escape(cell or '-') for cell in cells)} |"
        yield ""
        yield from dict.fromkeys(
            f"- {escape(f.code)}: {escape(parts.message_of(f))}{_format_promise(f)}" for f in message.findings
        )
        yield from (f"  - {escape(row)}" for f in message.findings for row in parts.samples_of(report, f))
        yield from _render_next_steps(message.findings)
        yield ""
    if message.error:
        yield escape(message.error)
        yield ""
    for left in filter(None, (parts.describe_open_terms(report), parts.describe_uncounted(report))):
        yield escape(left)
        yield ""
    if others:
        yield f"The same in {parts.format_count(len(others), 'other model')}: {escape(folding.list_names(others))}"
        yield ""
    if following:
        yield f"S{escape(folding.describe_unjudged(following, 1 + len(others)))[1:]}"
        yield ""
    yield f"**{escape(message.fate)}**"


def _format_promise(finding: Finding) -> str:
    return f" ({escape(parts.format_promise(finding))})" if finding.promise else ""


def _format_place(finding: Finding) -> str:
    return f" ({escape(parts.format_place(finding.origin))})" if finding.origin else ""
