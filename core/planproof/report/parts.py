"""The parts of the message about a model that was stopped.

The terminal, dbt's log, Airflow's log, Markdown and the HTML page take these parts and add their form alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from planproof.report.details import BrokenRows
from planproof.report.model import Report
from planproof_engine import CODES, Finding, Origin, Verdict, evolve, record, split_name

_LONG, _TERMS = 12, 6
_LONGEST = 20_000
_OTHER_COLUMN = ("PP501", "PP504")
"""Codes of a column that is missing, or is not the promised one."""
_NEVER_RAN = (
    *("PP110", "PP220", "PP221", "PP222", "PP223", "PP224"),
    *("PP301", "PP302", "PP601", "PP604", "PP605", "PP606"),
)
"""Codes of findings that ended the query early, so that no row was counted."""
_WORST_FIRST = (Verdict.VIOLATED, Verdict.UNPROVED, Verdict.WARNING)


@record(frozen=True, slots=True)
class Parts:
    """The parts of one model's message, in the order in which they are read.

    `heading` completes the model's name to a sentence; `reason` counts what stopped it. `findings` is what stopped it,
    worst first: its violations, else what is unproved, else its warnings; `beside` is what else was not proved.
    `error` is said where no finding says it. `rejected` is the relation that keeps the rejected rows.
    """

    model: str
    heading: str
    reason: str
    findings: tuple[Finding, ...]
    beside: tuple[Finding, ...]
    error: str | None
    fate: str
    rejected: str | None

    @classmethod
    def of(cls, report: Report) -> Parts:
        found = {verdict: tuple(report.of(verdict)) for verdict in _WORST_FIRST}
        stopping = next((findings for findings in found.values() if findings), ())
        beside = tuple(f for findings in found.values() for f in findings if findings is not stopping)
        if report.outcome == "failed" and report.error:
            # A model that could not run leaves its promises open, and its error says why.
            causes = tuple(f for f in stopping if f.verdict is not Verdict.UNPROVED or not is_promise(f))
            stopping, beside = causes, tuple(f for f in beside if not is_promise(f))
        beside = tuple(f for f in beside if not is_explained(f, found[Verdict.VIOLATED]))
        said = {f.message for f in stopping}
        rejected = report.details.rejected
        return cls(
            join_lines(report.model),
            heading(report),
            reason(report),
            stopping,
            beside,
            report.error if report.error and report.error not in said else None,
            describe_table(report),
            str(rejected) if rejected is not None else None,
        )


def describe_failure(report: Report) -> str | None:
    """Why a model could not run; an error of Spark's has its condition, which people search for."""
    of_spark = (f for f in report.findings if f.code == "PP302" and f.found and f.message == report.error)
    condition = next((f.found for f in of_spark), None)
    return f"Spark: [{condition}] {report.error}" if condition else report.error


def describe_uncounted(report: Report) -> str | None:
    """The terms of the contract that were not counted, because the model was stopped before."""
    left = report.details.uncounted
    if report.outcome != "rejected" or not left:
        return None
    return f"not counted, because this stopped the model first: {', '.join(left)}"


def describe_open_terms(report: Report) -> str | None:
    """The terms that are open beside what stopped the model, and are not explained by it."""
    terms = [f for f in Parts.of(report).beside if f.verdict is Verdict.UNPROVED and is_promise(f)]
    if not terms or not report.of(Verdict.VIOLATED):
        return None
    shown = [" ".join(filter(None, (f.field, f.promised))) or f.code for f in terms]
    more = f" and {len(shown) - _TERMS} more" if len(shown) > _TERMS else ""
    return f"not proved either: {', '.join(shown[:_TERMS])}{more}"


def is_promise(finding: Finding) -> bool:
    """Whether a finding is about a term of the contract."""
    return finding.code.startswith("PP5")


def is_explained(finding: Finding, violations: Iterable[Finding]) -> bool:
    """Whether a term that is open is no news beside a violation: its column is missing or of another type, or nothing
    ran that could have decided it."""
    if finding.verdict is not Verdict.UNPROVED or not is_promise(finding):
        return False
    column = split_name(finding.field or "")[0]
    return any(
        f.code in _NEVER_RAN or (f.code in _OTHER_COLUMN and split_name(f.field or "")[0] == column) for f in violations
    )


def is_failing(report: Report, fail_on: str | None = None) -> bool:
    """Whether a report is at or above `fail_on`, else its model's own; what was refused without `never` fails too.
    A model that is only watched fails where nothing of it could be published.

    What could not run is no finding, whatever it left open: only a violation that was found before counts there.
    """
    if report.details.guard == "watch":
        return report.outcome == "rejected"
    least = fail_on or report.details.fail_on or "violated"
    if report.outcome in ("failed", "skipped"):
        return least != "never" and bool(report.of(Verdict.VIOLATED))
    return report.fails(least) or (report.outcome == "rejected" and least != "never")


def is_stopped(report: Report) -> bool:
    """Whether a model was not published, could not run, breaks its promise, or has a finding at its `fail_on`."""
    return report.outcome in ("rejected", "failed") or report.verdict is Verdict.VIOLATED or is_failing(report)


def is_stopping(report: Report, finding: Finding) -> bool:
    """Whether one finding is enough to stop its model: a violation is, what its `fail_on` names, and, of a model that
    was refused for neither, the worst that was found."""
    if finding.verdict is Verdict.VIOLATED:
        return True
    if not is_stopped(report) or report.outcome == "failed":
        return False
    return evolve(report, findings=(finding,)).fails(_threshold(report)) or (
        not report.fails(_threshold(report)) and finding in Parts.of(report).findings
    )


def _threshold(report: Report) -> str:
    return report.details.fail_on or "violated"


def would_stop(report: Report) -> bool:
    """Whether a model is only watched, and would have been stopped by `guard: on`."""
    return report.details.guard == "watch" and report.fails(report.details.fail_on or "violated")


def heading(report: Report) -> str:
    """What completes the model's name to a sentence."""
    if report.details.absent:
        return "does not exist"
    known = {"failed": "could not run", "rejected": "was not published", "compared": "changed under its readers"}
    if report.outcome in known:
        return known[report.outcome]
    violated = report.of(Verdict.VIOLATED)
    if not violated:
        return "is not proved" if report.of(Verdict.UNPROVED) else "is warned of"
    promised = report.outcome != "checked" or any(map(is_promise, violated))
    return "breaks its promise" if promised else "cannot be published as it is"


def reason(report: Report) -> str:
    """What stopped the model, counted."""
    violated, unproved = report.of(Verdict.VIOLATED), report.of(Verdict.UNPROVED)
    if violated:
        return format_count(len(violated), "violation")
    if report.outcome == "failed":
        return "it could not be run"
    found = f"{len(unproved)} unproved" if unproved else format_count(len(report.of(Verdict.WARNING)), "warning")
    return f"{found}, which fail_on stops" if report.fails(_threshold(report)) else found


def describe_table(report: Report) -> str:
    """What became of the table that was published before, as a sentence."""
    if report.details.guard == "watch" and (report.outcome == "published" or report.details.published):
        return "It was published all the same: `guard: watch` stops nothing."
    if report.outcome == "published":
        return "It was published, as fail_on allows it."
    if report.outcome in ("checked", "audited", "compared"):
        return "Nothing was written."
    if report.details.absent:
        return "There is nothing to audit."
    if report.details.published:
        return "It was published; a later step failed."
    if report.details.altered:
        return "Nothing was published: the table keeps its rows, and the column that was added."
    if report.details.hooked is not None:
        return f"Nothing was published: the table is as a hook left it before ({report.details.hooked})."
    rows = report.details.previous_rows
    if isinstance(rows, int):
        return f"The table published before is still there, with its {format_count(rows, 'row')}."
    if report.details.previous is False:
        return "Nothing was published: no table of this name existed before, and none exists now."
    return "Nothing was published: the target is as it was."


def message_of(finding: Finding) -> str:
    """A finding's message, or its code's title where it has none."""
    return finding.message or CODES[finding.code].title


def next_steps(findings: Iterable[Finding]) -> dict[str, list[str]]:
    """Each next step once, with the codes that ask for it. Some name columns: names of others."""
    steps: dict[str, list[str]] = {}
    for finding in findings:
        codes = steps.setdefault(neutralize(finding.next_step), [])
        if finding.code not in codes:
            codes.append(finding.code)
    return steps


def find_first_steps(findings: Iterable[Finding]) -> dict[int, str]:
    """The next step by the identity of the first finding that asks for it: further ones need not repeat it."""
    steps: dict[str, int] = {}
    for finding in findings:
        steps.setdefault(finding.next_step, id(finding))
    return {first: step for step, first in steps.items()}


def is_counted(finding: Finding) -> bool:
    """Whether a finding rests on a count over the rows, and not on a derivation."""
    return finding.plane in ("batches", "files")


def format_place(origin: Origin) -> str:
    """`file:line:column`, as editors and terminals open it."""
    place = f"{origin.file}:{origin.line}:{origin.column}" if origin.file else f"SQL:{origin.line}:{origin.column}"
    return f"{place} (about)" if origin.approximate else place


def line_of(origin: Origin) -> str:
    """`models/schema.yml:12`."""
    return f"{origin.file}:{origin.line}"


def promise_label(finding: Finding) -> str:
    """What stands at the finding's `promise`: of what nobody promised, that is the model's contract."""
    return "the contract is at" if finding.code == "PP502" else "promised at"


def format_promise(finding: Finding) -> str:
    """`promised at models/schema.yml:12`."""
    return f"{promise_label(finding)} {line_of(finding.promise)}" if finding.promise else ""


def source_line(report: Report, origin: Origin | None) -> str | None:
    """The line at an origin, where the report holds it."""
    if origin is None:
        return None
    known = report.details.lines or {}
    source = known.get(f"{origin.file}:{origin.line}")
    if source is None and origin.file is None and report.sql is not None:
        rows = _split_lines(report.sql)
        source = rows[origin.line - 1] if 0 < origin.line <= len(rows) else None
    return source if isinstance(source, str) else None


@lru_cache(maxsize=1)
def _split_lines(text: str) -> list[str]:
    """One text has many findings."""
    return text.splitlines()


def query_of(report: Report, finding: Finding) -> str | None:
    """What shows the rows that a data test found, or that break a promise, where that stopped the model."""
    tests = report.details.tests or () if finding.code == "PP513" else ()
    found = next((t.query for t in tests if t.name == finding.promised and t.query is not None), None)
    broken = _find_broken_rows(report, finding)
    return broken.query if found is None and broken is not None else found


def short_query(report: Report, finding: Finding, most: int = _LONG) -> str | None:
    """The same for a message: a query of more than `most` lines names the model's SQL instead of quoting it. The JSON
    report has the whole query."""
    query, own = query_of(report, finding), (report.sql or "").strip()
    if query is None or len(query.strip().splitlines()) <= most or not own or own not in query:
        return query
    return query.replace(
        own, f"... the compiled SQL of {report.details.file or report.model}; the report has all of it ..."
    )


def samples_of(report: Report, finding: Finding) -> list[str]:
    """Some of the rows that break a promise, `column = value` for each column."""
    broken = _find_broken_rows(report, finding)
    if broken is None or broken.rows is None:
        return []
    names = broken.columns or ()
    cells = [
        [f"{n} = {'NULL' if value is None else join_lines(value)}" for n, value in zip(names, r)] for r in broken.rows
    ]
    return [", ".join(row) for row in cells]


def _find_broken_rows(report: Report, finding: Finding) -> BrokenRows | None:
    if finding.verdict not in (Verdict.VIOLATED, Verdict.WARNING):
        return None
    key = (finding.code, finding.promised, finding.field)
    return next((b for b in report.details.broken or () if (b.code, b.promised, b.field) == key), None)


def list_untried_tests(report: Report) -> list[str]:
    """The data tests that were to run before the publish and could not, each with its reason."""
    return [f"{test.name}: {test.said}" for test in report.details.tests or () if test.status == "not run"]


def group_skipped(reports: Iterable[Report]) -> dict[str, list[str]]:
    """The models that were not run, by the reason."""
    found: dict[str, list[str]] = {}
    for report in reports:
        if report.outcome == "skipped":
            found.setdefault(report.error or "no reason given", []).append(report.model)
    return found


def format_count(number: int, word: str) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def join_lines(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(text.split())


_UNSEEN = "\N{REPLACEMENT CHARACTER}"
_COMMAND = re.compile(r"(?m)^([^\S\n]*)(?=::)|(##)(?=\w*\[)")
"""Where a line would be a command to GitHub's runner (`::error ...`), or, anywhere in it, to Azure's (`##[error]`,
`##vso[task.complete]`) or TeamCity's (`##teamcity[...]`)."""


def neutralize_json(text: str) -> str:
    """The same JSON without `##`: a runner looks for its commands anywhere in a line, inside of a string too.

    >>> neutralize_json('{"a": "##vso[x]###"}')
    '{"a": "#\\\\u0023vso[x]#\\\\u0023#"}'
    """
    return text.replace("##", "#\\u0023")


def replace_invisible(text: str) -> str:
    """The text without control characters, escape sequences and marks that turn the direction of writing."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else " " if c == "\t" else _UNSEEN for c in text)


def neutralize(text: str) -> str:
    r"""Text of others, such as names and messages, as any form shows it: control characters, escape sequences and marks
    that turn the direction of writing are made visible, and no line of it is a command to a runner of CI.

    >>> neutralize("a\x1b[2Jb"), neutralize("x\n ::error::y ##[z]")
    ('a�[2Jb', 'x\n �::error::y ##�[z]')
    """
    return refuse_commands(replace_invisible(text))


def refuse_commands(text: str) -> str:
    """The text without commands to a runner of CI."""
    if "::" in text or "##" in text:
        text = _COMMAND.sub(lambda found: f"{found[1] or found[2] or ''}{_UNSEEN}", text)
    return text


def shorten(text: str) -> str:
    """Text of others for people: rich takes minutes to break a line of a hundred MB, and JSON has it whole."""
    return neutralize(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)")
