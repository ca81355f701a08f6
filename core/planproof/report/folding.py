"""Says one cause once: findings that many models share, and findings that follow from another model's. Changes between
two compiles are folded alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from planproof.report import parts
from planproof.report.model import Report
from planproof_engine import Finding, Verdict, record

STYLE = ("PP129", "PP130")
"""Codes that are a matter of style in most models. Reports for people only count them; JSON has each one."""

SUSPECT = ("PP120", "PP121", "PP122")
"""Codes that are nearly always a mistake: values land in another column. They come before other hazards."""

_NAMES = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|(?<=[A-Za-z_])\d+")
_UNREAD = re.compile(r"planproof does not know the schema of (\S+): not read offline")
_OF_NO_MODEL = re.compile(
    r"planproof does not know the schema of (?P<name>\S+): the (?P<kind>source|seed|snapshot) (?P=name) (?P<why>.*)"
)
_OF_A_FILTER = re.compile(r"(?P<said>a later run reads only rows with )`.*`(?P<why>: .*)", re.DOTALL)


def group_by_cause(stopped: Sequence[Report]) -> list[list[Report]]:
    """The reports of a check by their cause, in the order of the first of each: models whose findings differ in
    nothing but quoted names and the numbers in names, for another number is another cause; and those whose tables an
    audit did not find. What else a run or an audit stopped stands alone: each has a table of its own."""
    found: dict[object, list[Report]] = {}
    for report in stopped:
        key: object = _find_cause(report) if report.outcome == "checked" else bool(report.details.absent) or id(report)
        found.setdefault(key, []).append(report)
    return list(found.values())


def _find_cause(report: Report) -> tuple[tuple[str, str], ...]:
    return tuple(sorted({(f.code, _NAMES.sub("_", parts.message_of(f))) for f in parts.Parts.of(report).findings}))


def find_consequences(reports: Iterable[Report]) -> tuple[dict[str, list[str]], set[int]]:
    """Models that are unproved only because a model that they read is: their names by the model at the root, and the
    identities of the findings that say so. A root is a model whose own finding is no consequence."""
    read: dict[str, str] = {}
    findings: dict[str, Finding] = {}
    for report in reports:
        for finding in report.of(Verdict.UNPROVED):
            match = _UNREAD.match(finding.message)
            if match is not None and finding.code == "PP111":
                read[report.model], findings[report.model] = match[1], finding
    told = {r.model for r in reports if r.of(Verdict.VIOLATED, Verdict.UNPROVED)}
    below: dict[str, list[str]] = {}
    folded: set[int] = set()
    for model, finding in findings.items():
        root, seen = read[model], {model}
        while root in read and root not in seen:
            seen.add(root)
            root = read[root]
        if root in told and root not in seen:
            below.setdefault(root, []).append(model)
            folded.add(id(finding))
    return below, folded


@record(frozen=True, slots=True)
class Remark:
    """What is said once: a finding of the first model that has it, in words that hold for all, the other models of
    which the same is said, maybe at other places, and those that cannot be judged because of it."""

    report: Report
    finding: Finding
    message: str
    is_elsewhere: bool
    others: tuple[str, ...]
    following: tuple[str, ...]

    @property
    def named(self) -> str:
        return list_names((self.report.model, *self.others))

    @property
    def place(self) -> str:
        """` at models/a.sql:3:8, and elsewhere`; empty where nothing of it has a place in a text."""
        at = f" at {parts.format_place(self.finding.origin)}" if self.finding.origin else ""
        return f"{at}, and elsewhere" if at and self.is_elsewhere else at

    @property
    def promised(self) -> str:
        """` (promised at models/schema.yml:12)`; empty where no contract says it."""
        return f" ({parts.format_promise(self.finding)})" if self.finding.promise else ""


def is_secondary(finding: Finding) -> bool:
    """Whether a finding comes after the others of its verdict, which are nearly always a mistake."""
    return finding.code not in SUSPECT


def place_of(finding: Finding) -> str:
    """` at models/a.sql:3:8, promised at models/schema.yml:12`."""
    promised = f", {parts.format_promise(finding)}" if finding.promise else ""
    return (f" at {parts.format_place(finding.origin)}" if finding.origin else "") + promised


def collect_remarks(reports: Sequence[Report], verdict: Verdict) -> Iterator[Remark]:
    """The findings of one verdict; one that many models share is said once, and so is the same of many sources.

    Left out are consequences of another model's finding, which stand with that finding; matters of style, which are
    only counted; and what is unproved of a stopped model, which stands where the stop is said.
    """
    seen: dict[tuple[str, str], list[tuple[Report, Finding]]] = {}
    below, folded = find_consequences(reports)
    for report in reports:
        if parts.is_stopped(report) and (verdict is Verdict.UNPROVED or _is_warned_of(report)):
            continue
        for f in report.of(verdict):
            if id(f) not in folded and f.code not in STYLE:
                key = _find_shared(f) or f"{parts.message_of(f)}{place_of(f)}"
                seen.setdefault((f.code, key), []).append((report, f))
    for found in sorted(seen.values(), key=lambda found: is_secondary(found[0][1])):
        (report, finding), *others = found
        holders = [one for one, _ in found] if verdict is Verdict.UNPROVED else []
        following = [name for one in holders for name in below.pop(one.model, [])]
        models = tuple(dict.fromkeys(other.model for other, _ in others if other is not report))
        elsewhere = any(place_of(f) != place_of(finding) for _, f in others)
        yield Remark(report, finding, _merge_messages([f for _, f in found]), elsewhere, models, tuple(following))


def _find_shared(finding: Finding) -> str | None:
    """What the findings of other sources, or of other incremental models' filters, may say too."""
    unread = _OF_NO_MODEL.match(parts.message_of(finding)) if finding.code == "PP111" else None
    filtered = _OF_A_FILTER.match(parts.message_of(finding))
    return f"{unread['kind']}: {unread['why']}" if unread else filtered and filtered["why"]


def _merge_messages(found: Sequence[Finding]) -> str:
    """The message of findings that are one remark: sources of which the same is said are named one after the other, and
    filters are left out."""
    filtered = _OF_A_FILTER.match(parts.message_of(found[0]))
    if filtered is not None and len({*map(parts.message_of, found)}) > 1:
        return f"{filtered['said']}`...`{filtered['why']}"
    first, unread = parts.message_of(found[0]), [_OF_NO_MODEL.match(parts.message_of(f)) for f in found]
    names = list(dict.fromkeys(match["name"] for match in unread if match is not None))
    match = unread[0]
    if match is None or len(names) < 2:
        return first
    return f"planproof does not know the schemas of {list_names(names)}: each {match['kind']} {match['why']}"


def _is_warned_of(report: Report) -> bool:
    """Whether warnings are what stopped a model."""
    return all(f.verdict is Verdict.WARNING for f in parts.Parts.of(report).findings)


def find_causes(reports: Iterable[Report], folded: Collection[int]) -> list[Report]:
    """The models that were stopped, but for those that are only unproved because a model that they read is."""
    found = [report for report in reports if parts.is_stopped(report)]
    stopping = {report.model: parts.Parts.of(report).findings for report in found}
    return [r for r in found if not stopping[r.model] or not all(id(f) in folded for f in stopping[r.model])]


def describe_unjudged(names: Sequence[str], of: int = 1) -> str:
    """`so 2 models that read it cannot be judged: a, b`. `of`: how many are read."""
    it = "it" if of == 1 else "one of them"
    many = f"1 model that reads {it}" if len(names) == 1 else f"{len(names):,} models that read {it}"
    return f"so {many} cannot be judged: {list_names(names)}"


def list_names(names: Sequence[str], most: int = 6) -> str:
    """`a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(map(parts.join_lines, names[:most]))}{more}"


_NOTHING = "nothing changed"


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
        return f"{parts.format_count(breaking, 'breaking change')}, {safe} safe{left}"
    return f"no change seen{left}" if left else _NOTHING


def describe_skipped(reports: Sequence[Report]) -> str:
    """`2 relations not compared`; empty where each was."""
    unread = sum(report.outcome == "skipped" for report in reports)
    return f"{parts.format_count(unread, 'relation')} not compared" if unread else ""


def render_markdown(reports: Sequence[Report], escaped: Callable[[str], str]) -> Iterator[str]:
    """What breaks readers, line by line; what is safe, folded; and what was not compared."""
    breaking, safe = (
        list(_render_changes(reports, verdict, escaped)) for verdict in (Verdict.VIOLATED, Verdict.WARNING)
    )
    if breaking:
        yield from ("### Breaking", "", *breaking, "")
    if safe:
        yield from (f"<details><summary>Safe: {len(safe)}</summary>", "", *safe, "", "</details>", "")
    unread = [
        f"- {escaped(list_names(names))}: {escaped(why.removeprefix('not compared: '))}"
        for why, names in parts.group_skipped(reports).items()
    ]
    if unread:
        yield from ("<details><summary>Not compared</summary>", "", *unread, "", "</details>", "")


def _render_changes(reports: Sequence[Report], verdict: Verdict, escaped: Callable[[str], str]) -> Iterator[str]:
    found: list[tuple[Report, Finding]] = [(report, f) for report in reports for f in report.of(verdict)]
    for report, finding in found:
        yield f"- {escaped(report.model)}: {escaped(parts.message_of(finding))}"
