"""Two compiles side by side, as people read them: changes are breaking or safe, and nothing is proved or published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from planproof.report.folding import list_names
from planproof.report.model import Report
from planproof.report.parts import format_count, group_skipped, message_of
from planproof_engine.finding import Finding, Verdict

NOTHING = "nothing changed"


def is_of_two(reports: Sequence[Report], command: str = "") -> bool:
    """Whether the reports are those of two compiles; where none changed, the command says it."""
    return any(report.outcome == "compared" for report in reports) or (
        command == "diff" and all(report.outcome == "skipped" for report in reports)
    )


def describe_changes(reports: Sequence[Report]) -> str:
    """`1 breaking change, 12 safe; 2 relations not compared`."""
    breaking, safe = (sum(len(r.of(verdict)) for r in reports) for verdict in (Verdict.VIOLATED, Verdict.WARNING))
    left = f"; {describe_skipped(reports)}" if describe_skipped(reports) else ""
    if breaking or safe:
        return f"{format_count(breaking, 'breaking change')}, {safe} safe{left}"
    return f"no change seen{left}" if left else NOTHING


def describe_skipped(reports: Sequence[Report]) -> str:
    """`2 relations not compared`; empty where each was."""
    unread = sum(report.outcome == "skipped" for report in reports)
    return f"{format_count(unread, 'relation')} not compared" if unread else ""


def render_markdown(reports: Sequence[Report], escaped: Callable[[str], str]) -> Iterator[str]:
    """What breaks readers, line by line; what is safe, folded; and what was not compared."""
    breaking, safe = (list(_render_lines(reports, verdict, escaped)) for verdict in (Verdict.VIOLATED, Verdict.WARNING))
    if breaking:
        yield from ("### Breaking", "", *breaking, "")
    if safe:
        yield from (f"<details><summary>Safe: {len(safe)}</summary>", "", *safe, "", "</details>", "")
    unread = [
        f"- {escaped(list_names(names))}: {escaped(why.removeprefix('not compared: '))}"
        for why, names in group_skipped(reports).items()
    ]
    if unread:
        yield from ("<details><summary>Not compared</summary>", "", *unread, "", "</details>", "")


def _render_lines(reports: Sequence[Report], verdict: Verdict, escaped: Callable[[str], str]) -> Iterator[str]:
    found: list[tuple[Report, Finding]] = [(report, f) for report in reports for f in report.of(verdict)]
    for report, finding in found:
        yield f"- {escaped(report.model)}: {escaped(message_of(finding))}"
