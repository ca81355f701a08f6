"""Reports for a terminal. Names, types and messages are untrusted: they never become markup or escape sequences."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, cast

from rich.console import Console, Group, RenderableType
from rich.text import Text

from planproof.report import folding, parts
from planproof.report.model import IN_BASELINE, Report
from planproof_engine import CODES, Finding, Origin, Verdict
from planproof_engine.types import quote_if_needed

# They take a while to import: healthy models are shown without.
if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.table import Table

WIDTH = 110
_AT_ONCE = 200
_LONGEST_NAME = 400
_MOST = 500
"""Findings of one model in its panel: rich takes a second for a thousand."""
_COPIED = 80
"""Lines that a query may have that is shown whole."""
_THERE = "these rows:"
_AGAIN = "these rows, while the sources stay as they are (`keep_rejected: true` keeps them):"

_ENDS = {
    "published": "published",
    "moved": "moved back",
    "rejected": "stopped",
    "failed": "could not run",
    "skipped": "skipped",
}
"""What is said of how many models ended in which way."""

Part = tuple[str, str]
"""A text and its style."""

MARKS = {
    "proved": ("✓", "green"),
    "published": ("✓", "green"),
    "violated": ("✗", "bold red"),
    "unproved": ("?", "yellow"),
    "failed": ("!", "bold red"),
    "skipped": ("-", "dim"),
}


class Lines:
    """A stream for rich, which ends lines where it likes: none that it begins is a command to a runner of CI."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(parts.refuse_commands(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def render_plain(reports: Iterable[Report]) -> str:
    """The text of `show` without colour."""
    out = io.StringIO()
    console = Console(
        file=cast("IO[str]", Lines(out)),
        width=WIDTH,
        color_system=None,
        force_terminal=False,
        legacy_windows=False,
        emoji=False,
    )
    show(list(reports), console)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def show(reports: Sequence[Report], console: Console, *, lines: bool = True, seconds: float | None = None) -> None:
    """One line per model, a panel per model that was stopped, what is unproved or a hazard, and a summary.

    `lines` is False where `render_line` was printed for each report already.
    """
    width = min(max((len(r.model) for r in reports), default=0), _LONGEST_NAME)
    if lines:
        _print_lines(console, reports, width)
    below, folded = folding.find_consequences(reports)
    for report, *others in folding.group_by_cause(folding.find_causes(reports, folded)):
        console.print()
        console.print(
            render_panel(report, others, [name for r in (report, *others) for name in below.get(r.model, ())])
        )
        for part in _render_queries(report):
            console.print(part, soft_wrap=True)
    _print_list(console, "Quarantined", [text for report in reports for text in _render_quarantined(report)])
    for title, verdict in (("Unproved", Verdict.UNPROVED), ("Warnings", Verdict.WARNING)):
        _print_list(console, title, list(_render_remarks(reports, verdict)))
    _print_list(
        console,
        "Data tests that did not run before the publish",
        [Text(parts.neutralize(t)) for r in reports for t in parts.list_untried_tests(r)],
    )
    style = _render_style(reports)
    if style is not None:
        console.print()
        console.print(style, soft_wrap=True)
    console.print()
    console.print(render_summary(reports, seconds))


def _print_list(console: Console, title: str, remarks: Sequence[Text]) -> None:
    if not remarks:
        return
    console.print()
    console.print(Text(title, "bold"))
    for remark in remarks:
        for row in remark.wrap(console, console.width - 2):
            row.rstrip()
            console.print(Text("  ").append_text(row), soft_wrap=True)


def _print_lines(console: Console, reports: Sequence[Report], width: int) -> None:
    """A line per model, and below it what its publish changed. Of a project of thousands of models that is most of the
    text: rich gets many lines at once, and those without colour not at all."""
    for start in range(0, len(reports), _AT_ONCE):
        pieces: list[Part] = []
        for report in reports[start : start + _AT_ONCE]:
            pieces += [*_build_line(report, width), ("\n", "")]
            changed = change_line(report)
            pieces += [(changed.plain, "dim"), ("\n", "")] if changed is not None else []
        if console.color_system is None:
            console.file.write("".join(text for text, _ in pieces))
        else:
            console.print(Text.assemble(*pieces), soft_wrap=True, end="")


def render_line(report: Report, width: int = 0, counter: str = "") -> Text:
    """One model: `counter` where there is one, mark, name, kind, rows, seconds, what was proved or counted."""
    return Text.assemble((f"{counter} " if counter else "", "dim"), *_build_line(report, width))


def _build_line(report: Report, width: int) -> list[Part]:
    mark, style = MARKS[_state_of(report)]
    rows = f"{report.rows:,} rows" if report.rows is not None else ""
    seconds = f"{report.seconds:.1f} s" if report.seconds is not None else ""
    return [
        (f" {mark} ", style),
        (f"{parts.neutralize(parts.join_lines(report.model)):<{width}}  ", ""),
        (f"{parts.neutralize(str(report.details.materialized or '')):<11}", "dim"),
        (f"{rows:>15}", ""),
        (f"{seconds:>9}  ", "dim"),
        _describe(report),
    ]


def change_line(report: Report) -> Text | None:
    """What the model's publish changed in the table that was there before; None where that is nothing."""
    change = report.details.change
    if change is None or report.outcome != "published" or not change.is_any:
        return None
    return Text(parts.neutralize(f"     {change.line()}"), "dim")


def _state_of(report: Report) -> str:
    if report.outcome in ("failed", "skipped"):
        return report.outcome
    if report.outcome == "rejected":
        return "violated"
    return report.verdict.value


def _describe(report: Report) -> Part:
    violated, unproved = len(report.of(Verdict.VIOLATED)), len(report.of(Verdict.UNPROVED))
    if report.outcome in ("failed", "skipped"):
        return parts.neutralize(f"{report.outcome}: {report.error or 'no reason given'}".splitlines()[0]), "dim"
    pieces = [] if report.outcome in ("checked", "audited", "compared") else [report.outcome]
    pieces += [f"{violated} violated"] if violated else []
    pieces += [f"{unproved} unproved"] if unproved else []
    pieces += [f"{len(report.details.known)} in the baseline"] if report.details.known else []
    pieces += [_describe_proved(report)]
    left = len(report.details.uncounted or ())
    pieces += [f"{left} for a run to count"] if left and report.outcome == "checked" else []
    pieces += [f"not enforced: {', '.join(report.details.unenforced)}"] if report.details.unenforced else []
    pieces += [f"{plane} sampled" for plane in (p.plane for p in report.planes if p.looked_at == "sample")]
    pieces += [f"{p.plane} read in part" for p in report.planes if p.looked_at == "part"]
    applied, suggested = _list_rules(report, applied=True), _list_rules(report, applied=False)
    pieces += [f"rewritten by {', '.join(applied)}"] if applied else []
    pieces += [f"could be rewritten by {', '.join(suggested)}"] if suggested else []
    return parts.neutralize(", ".join(part for part in pieces if part)), ""


def _list_rules(report: Report, *, applied: bool) -> list[str]:
    """Each rule once: several may have made one rewriting together."""
    return sorted({rule for r in report.rewrites if r.applied is applied for rule in r.rule.split(" + ")})


def _describe_proved(report: Report) -> str:
    proved = report.of(Verdict.PROVED)
    counted = sum(parts.is_counted(f) for f in proved)
    without = [] if report.has_contract else ["no contract"]
    pieces = [f"{len(proved) - counted} proved"] if len(proved) > counted and report.has_contract else []
    pieces += [f"{counted} counted"] if counted else []
    if pieces or report.verdict is not Verdict.PROVED:
        return ", ".join([*without, " + ".join(pieces)] if pieces else [])
    holds = report.details.contract or any(p.plane == "contract" and p.status == "read" for p in report.planes)
    held = "columns hold" if report.details.uncounted else "contract holds"
    held = "what is enforced holds" if report.details.unenforced else held
    return ", ".join(without) or (held if holds else "")


def render_panel(report: Report, others: Sequence[Report] = (), following: Sequence[str] = ()) -> Panel:
    """Why a model was stopped: promised and found, the line itself, the next step, and what became of the table.
    `others` are models that are stopped by the same cause, `following` those that cannot be judged because of it."""
    from rich.panel import Panel

    message, pieces = parts.Parts.of(report), list[RenderableType]()
    # A model that could not run leaves its promises open, and its error says why.
    of_end = [f for f in message.findings if report.outcome != "failed" or f.verdict is Verdict.VIOLATED]
    shown, left_out = of_end[:_MOST], len(of_end[_MOST:])
    with_values = [f for f in shown if f.field or f.promised]
    if with_values:
        pieces += [_make_table(with_values), Text()]
    if shown:
        pieces += [*_render_reasons(report, shown), Text()]
    if left_out:
        pieces += [Text(f"and {parts.format_count(left_out, 'other finding')}: --format json lists all"), Text()]
    error = message.error if shown else parts.describe_failure(report)
    if error:
        pieces += [Text(parts.shorten(error)), Text()]
    for left in filter(None, (parts.describe_open_terms(report), parts.describe_uncounted(report))):
        pieces += [Text(parts.neutralize(left), "dim"), Text()]
    if others:
        many = f"the same in {parts.format_count(len(others), 'other model')}: "
        pieces += [
            Text.assemble((many, "bold"), parts.neutralize(folding.list_names([other.model for other in others]))),
            Text(),
        ]
    if following:
        pieces += [Text(parts.neutralize(folding.describe_unjudged(following, 1 + len(others)))), Text()]
    pieces.append(Text(message.fate, "bold"))
    mark = (f" {MARKS['violated'][0]} ", "bold red")
    heading = Text.assemble(mark, (f"{parts.shorten(message.model)} {message.heading} ", "bold"))
    return Panel(Group(*pieces), title=heading, title_align="left", border_style="red", padding=(1, 2))


def _make_table(findings: Sequence[Finding]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("column", "promised", "found", "plane"):
        table.add_column(heading, overflow="fold")
    for f in findings:
        table.add_row(*(Text(parts.shorten(cell or "-")) for cell in (f.field, f.promised, f.found, f.plane)))
    return table


def _render_reasons(report: Report, findings: Sequence[Finding]) -> Iterator[RenderableType]:
    quoted: set[str] = set()
    for f in findings:
        yield Text.assemble((f"{f.code} ", "bold"), parts.shorten(parts.message_of(f)))
        if f.origin is not None:
            yield Text.assemble(("      at ", "dim"), (parts.neutralize(parts.format_place(f.origin)), "cyan"))
        if f.promise is not None:
            yield Text.assemble(
                (f"      {parts.promise_label(f)} ", "dim"), (parts.neutralize(parts.line_of(f.promise)), "cyan")
            )
        excerpt = quote(report, f.origin)
        if excerpt is not None and excerpt.plain not in quoted:
            quoted.add(excerpt.plain)
            yield excerpt
        for sample in parts.samples_of(report, f):
            yield Text(f"      {parts.neutralize(sample)}")
    yield Text()
    for step in parts.next_steps(findings):
        yield Text.assemble(("next  ", "dim"), step)


def _render_queries(report: Report) -> Iterator[Text]:
    """The queries that show broken rows, without a frame or an indentation, so that they can be copied."""
    told: set[str] = set()
    for f in parts.Parts.of(report).findings:
        query = parts.short_query(report, f, _COPIED)
        if query is None or query in told:
            continue
        told.add(query)
        if report.details.rejected is None and f.code != "PP513":
            these = _THERE if report.outcome == "audited" else _AGAIN
            yield Text(parts.neutralize(f"{f.code}{f' {f.field}' if f.field else ''}: {these}"), "dim")
        yield Text(f"{parts.neutralize(query).strip()}\n", "cyan")


def quote(report: Report, origin: Origin | None) -> Text | None:
    """The source line at an origin with a caret below it, where the report holds the line."""
    if origin is None:
        return None
    source = parts.source_line(report, origin)
    if source is None:
        return None
    at = origin.column - 1
    cut = max(0, at - 60)
    # Only what is shown: one line may be all of a text of megabytes, with thousands of findings.
    shown = f"{'…' if cut else ''}{parts.neutralize(source[cut : cut + 90].replace(chr(9), ' '))}"
    gutter = f"  {origin.line:>5} │ "
    text = Text.assemble((gutter, "dim"), shown, no_wrap=True)
    if not origin.approximate and at <= len(source):
        blank = " " * (len(gutter) - 2) + "│ " + " " * (at - cut + (1 if cut else 0))
        text.append(f"\n{blank}").append("^", "bold red")
    return text


def _render_remarks(reports: Sequence[Report], verdict: Verdict) -> Iterator[Text]:
    """A text for each remark, a contract's with its line, and each next step once."""
    found = [
        r
        for r in folding.collect_remarks(reports, verdict)
        if r.finding.code != "PP514" or r.report.details.quarantine is None
    ]
    for remark in found:
        f = remark.finding
        named = (parts.shorten(remark.named), "cyan")
        message = parts.shorten(f"{remark.place}: {remark.message}{remark.promised}")
        yield Text.assemble((f"{f.code} ", "bold"), named, message)
        excerpt = quote(remark.report, f.origin) if verdict is Verdict.UNPROVED and f.code.startswith("PP5") else None
        if excerpt is not None:
            yield excerpt
        if remark.following:
            yield Text(
                f"      {parts.neutralize(folding.describe_unjudged(remark.following, 1 + len(remark.others)))}", "dim"
            )
    for step, codes in parts.next_steps(remark.finding for remark in found).items():
        yield Text(f"next ({', '.join(codes)}): {step}", "dim")


def _render_quarantined(report: Report) -> Iterator[Text]:
    """How many rows were quarantined, by which terms, and the query that shows them."""
    rows = report.details.quarantine
    if rows is None:
        return
    name = (parts.neutralize(f"{report.model}: "), "cyan")
    yield Text.assemble(
        ("PP514 ", "bold"), name, parts.neutralize(f"{rows.rows:,} of {parts.format_count(rows.of, 'row')} quarantined")
    )
    yield Text(parts.neutralize("; ".join(f"{term}: {number:,}" for term, number in rows.terms.items())), "dim")
    table = ".".join(quote_if_needed(part) for part in rows.table.split("."))
    yield Text(parts.neutralize(f"select * from {table} where quarantine_run = '{rows.run}'"), "cyan")


def _render_style(reports: Sequence[Report]) -> Text | None:
    found = Counter(f.code for report in reports for f in report.of(Verdict.WARNING) if f.code in folding.STYLE)
    if not found:
        return None
    codes = ", ".join(f"{number} of {code} ({CODES[code].title})" for code, number in sorted(found.items()))
    return Text(f"style: {codes}; `--format json` names each, `planproof explain {min(found)}` says more", "dim")


def render_summary(reports: Sequence[Report], seconds: float | None = None, command: str = "") -> Text:
    """How many models ended in which way; of two compiles (`command` is `diff`), how many changes."""
    if folding.is_of_two(reports, command):
        healthy = "bold yellow" if folding.describe_skipped(reports) else "bold green"
        return Text(folding.describe_changes(reports), "bold red" if any(map(parts.is_stopped, reports)) else healthy)
    outcomes = Counter(r.outcome for r in reports)
    verdicts = Counter(r.said for r in reports if r.outcome in ("checked", "audited"))
    pieces = [parts.format_count(len(reports), "model")]
    pieces += [f"{outcomes[outcome]} {word}" for outcome, word in _ENDS.items() if outcomes[outcome]]
    words = [*(v.value for v in Verdict), IN_BASELINE, "no contract"]
    pieces += [
        f"{verdicts[word]} {'without a contract' if word == 'no contract' else word}"
        for word in words
        if verdicts[word]
    ]
    left = sum(r.outcome == "checked" and bool(r.details.uncounted) for r in reports)
    pieces += [f"keys and checks of {parts.format_count(left, 'model')} for a run to count"] if left else []
    partly = sum(bool(r.details.unenforced) for r in reports)
    pieces += [f"{parts.format_count(partly, 'contract')} enforced in part"] if partly else []
    if seconds is not None:
        pieces.append(f"{seconds:.1f} s")
    bad = any(parts.is_stopped(r) for r in reports)
    return Text(" · ".join(pieces), "bold red" if bad else "bold green")
