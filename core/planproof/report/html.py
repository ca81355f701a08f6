"""Reports as one HTML page: nothing loaded from elsewhere, and no script but the page's own, which searches in it.

Without that script, and where it may not run, all is there: models fold, and the states filter, by HTML and CSS.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from markupsafe import Markup

from planproof.report import folding, parts
from planproof.report.model import PLANES, Report
from planproof.report.picture import Ways, build_matrix, draw_plan, load_template
from planproof.report.run import RunReport
from planproof.report.text import quote, render_summary
from planproof_engine import Finding, Verdict

_STATES = ("violated", "skipped", "unproved", "none", "proved")
_LONG = 300
"""On a page of more models than these, healthy ones are one line each, so that the page opens at once. The JSON form
has everything."""
_FIRST = (Verdict.VIOLATED, Verdict.UNPROVED, Verdict.WARNING, Verdict.PROVED)


class PlaneBox(NamedTuple):
    """One box of a model's plane picture."""

    name: str
    status: str
    reason: str
    style: str
    sampled: bool = False


class Banner(NamedTuple):
    """The verdict on the whole page: a word, and a sentence."""

    style: str
    word: str
    said: str


def render(
    reports: Iterable[Report], run: RunReport | None = None, title: str = "planproof", *, script: bool = True
) -> str:
    """The page of some reports, what was stopped first; `run` adds when they were made and with which versions.

    `script` False leaves out the search, for a page that is served where no script may run. All text is escaped.
    """
    given = list(reports)
    shown = sorted(given, key=lambda report: _STATES.index(state_of(report)))
    states = Counter(map(state_of, shown))
    text = _read_script()
    return load_template("page.html").render(
        title=title,
        summary=render_summary(given, command=run.command if run else "").plain,
        banner=_make_banner_of_two(given)
        if folding.is_of_two(given, run.command if run else "")
        else make_banner(states, all(map(_is_broken, filter(parts.is_stopped, given)))),
        counts={"all": len(shown), **{state: states[state] for state in _STATES}},
        run=run,
        reports=shown,
        is_long=len(shown) > _LONG,
        brief_line=_summarize,
        ways=Ways(shown),
        state_of=state_of,
        words=_search_words,
        ordered=_sort_findings,
        asked_once=_find_first_steps,
        matrix=build_matrix,
        sql_lines=lambda report: list(_sql_lines(report)),
        planes=lambda report: list(plane_boxes(report)),
        picture=draw_plan,
        stopped=parts.is_stopped,
        not_tried=parts.list_untried_tests,
        fate=parts.describe_table,
        quote=quote,
        where=parts.format_place,
        line_of=parts.line_of,
        promised=parts.promise_label,
        script=Markup(text) if script else None,
        script_hash=f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}",
    )


def render_run(run: RunReport, *, script: bool = True) -> str:
    """The page of one command."""
    project = f" · {run.project}" if run.project else ""
    return render(run.reports, run, f"planproof {run.command}{project}", script=script)


def state_of(report: Report) -> str:
    """The state under which a model is listed: `violated` where it was stopped, `skipped` where it was not run,
    `unproved`, `none` where it promises nothing, else `proved`."""
    if parts.is_stopped(report):
        return "violated"
    if report.outcome == "skipped":
        return "skipped"
    if report.verdict is not Verdict.PROVED:
        return "unproved"
    return "proved" if report.has_contract else "none"


def _is_broken(report: Report) -> bool:
    return report.outcome in ("rejected", "failed") or bool(report.of(Verdict.VIOLATED))


def _make_banner_of_two(reports: Sequence[Report]) -> Banner:
    """The page's verdict on two compiles. Where some relations were not compared, it speaks of what was seen."""
    left = folding.describe_skipped(reports)
    breaking = sum(report.verdict is Verdict.VIOLATED for report in reports)
    if breaking:
        changed = f"{parts.format_count(breaking, 'relation')} changed under their readers"
        return Banner("violated", "Breaking.", f"{changed}; {left}" if left else changed)
    if left:
        return Banner("none", "No breaking change was found.", left)
    return Banner("none", "Nothing breaks.", "readers of the old relations can read the new ones")


def make_banner(states: Counter[str], broken: bool = True) -> Banner:
    """The page's verdict: the worst state of any model. Nothing is called proved where no model promises anything.
    `broken`: what was stopped broke a promise, could not be published or could not run; else fail_on stopped some."""
    counted = {state: parts.format_count(number, "model") for state, number in states.items() if number}
    without = f"; {counted['none']} without a contract, of which nothing is proved" if "none" in counted else ""
    if "violated" in counted:
        why = "broke a promise or could not run" if broken else "did not pass"
        return Banner("violated", "Stopped.", f"{counted['violated']} {why}")
    if "skipped" in counted:
        return Banner("unproved", "Not all was run.", f"{counted['skipped']} skipped{without}")
    if "unproved" in counted:
        return Banner("unproved", "Not all is proved.", f"{counted['unproved']} unproved{without}")
    if "proved" in counted:
        holds = "keeps its contract" if states["proved"] == 1 else "keep their contracts"
        return Banner("proved", "Proved.", f"{counted['proved']} {holds}{without}")
    return Banner("none", "Nothing was promised.", "no model here has a contract" if without else "no model is here")


def _sort_findings(report: Report) -> list[Finding]:
    return sorted(report.findings, key=lambda finding: (_FIRST.index(finding.verdict), folding.is_secondary(finding)))


def _find_first_steps(findings: Iterable[Finding]) -> dict[int, str]:
    return parts.find_first_steps(finding for finding in findings if finding.verdict is not Verdict.PROVED)


def _summarize(report: Report) -> str:
    proved = [report.word(f) for f in report.of(Verdict.PROVED)]
    said = ", ".join(f"{number} {word}" for word, number in Counter(proved).items()) or "nothing was promised"
    return f"{said}; the whole report of this model is in the JSON form"


def _search_words(report: Report) -> str:
    """What the search looks in: names, columns and codes, never a row of data."""
    columns = {name for reading in report.planes for name, _, _ in reading.schema or ()}
    found = {report.model, report.said, report.outcome, *columns}
    found |= {word for f in report.findings for word in (f.code, f.field or "")}
    return " ".join(sorted(found)).lower()


def _sql_lines(report: Report) -> Iterator[tuple[int, str, Sequence[str]]]:
    """The compiled text by line, each with what was found at it. A finding in the author's file is quoted there."""
    marks: dict[int, list[str]] = {}
    for finding in report.of(Verdict.VIOLATED, Verdict.UNPROVED, Verdict.WARNING):
        if finding.origin is not None and finding.origin.file is None:
            marks.setdefault(finding.origin.line, []).append(f"^ {finding.code} {finding.message}")
    for number, row in enumerate((report.sql or "").splitlines(), 1):
        yield number, row, marks.get(number, ())


def plane_boxes(report: Report) -> Iterator[PlaneBox]:
    """The nine planes in order: `broken` where a finding was violated, else by how the plane was read."""
    readings = {reading.plane: reading for reading in report.planes}
    broken = {finding.plane for finding in report.of(Verdict.VIOLATED)}
    for plane in PLANES:
        reading = readings.get(plane)
        status = reading.status if reading is not None else "not present"
        style = {"read": "read", "unreadable": "unreadable"}.get(status, "absent")
        reason = (reading.reason or reading.what if reading is not None else None) or ""
        sampled = reading is not None and reading.looked_at == "sample"
        yield PlaneBox(plane, status, reason, "broken" if plane in broken else style, sampled)


@lru_cache(maxsize=1)
def _read_script() -> str:
    return files("planproof.report").joinpath("page.js").read_text(encoding="utf-8")
