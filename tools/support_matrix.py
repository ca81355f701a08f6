"""The support matrix: docs/support.md, made of docs/support.yml, where each cell leads to the tests that hold it.

python tools/support_matrix.py    # writes docs/support.md
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from suites import Result, read_results

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs" / "support.yml"
PAGE = ROOT / "docs" / "support.md"

AXES = ("spark", "dbt", "connection", "catalog", "format", "airflow")
"""What a point of the matrix is made of. `none` stands where a test does without, and is no column of a table."""

_NONE = "none"
_UNTRIED = "-"
_SLOW = ("conformance", "slow", "faults")
"""Marks of tests that `make test` leaves out."""


@dataclass(frozen=True, slots=True)
class Run:
    """A command that runs tests in one environment: the versions of what is there, the marks it takes, and whether it
    runs tests without a mark beside those with one."""

    command: str
    versions: dict[str, str]
    marks: frozenset[str]
    unmarked: bool = False


@dataclass(frozen=True, slots=True)
class Point:
    """One combination that was tried: its value on each axis, what holds there, the tests `path::name` of a run, and
    the line of docs/support.yml that says so."""

    at: dict[str, str]
    what: str
    run: Run
    tests: tuple[str, ...]
    line: int = 1


@dataclass(frozen=True, slots=True)
class Rules:
    """What `planproof check` knows of a Spark: the release that was asked, and the tests that hold planproof to it."""

    spark: str
    release: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """`values` has of each axis all the values that a reader may ask for, also those that nobody tried."""

    values: dict[str, tuple[str, ...]]
    points: tuple[Point, ...]
    notes: dict[str, str]
    rules: tuple[Rules, ...]


def read(text: str | None = None) -> Matrix:
    """The matrix of docs/support.yml. Raises ValueError for a value that its axis does not have."""
    text = text or DATA.read_text()
    form = yaml.safe_load(text)
    values = {axis: tuple(form["axes"][axis]) for axis in AXES}
    runs = {
        name: Run(run["command"], run.get("versions", {}), frozenset(run.get("marks", ())), bool(run.get("unmarked")))
        for name, run in form["runs"].items()
    }
    lines = _lines(text)
    points = tuple(_point(entry, runs[entry["run"]], values, line) for entry, line in zip(form["tried"], lines))
    rules = tuple(Rules(part["spark"], part["release"], tuple(part["tests"])) for part in form["rules"])
    return Matrix(values, points, form.get("notes", {}), rules)


def _lines(text: str) -> list[int]:
    """The line on which each entry of `tried` begins, from one."""
    form: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    (tried,) = (value for key, value in form.value if key.value == "tried")
    return [entry.start_mark.line + 1 for entry in tried.value]


def _point(entry: dict[str, Any], run: Run, values: dict[str, tuple[str, ...]], line: int) -> Point:
    at = {}
    for axis in AXES:
        # An entry says of dbt and Airflow only whether they take part: their version is that of the run.
        at[axis] = entry.get(axis, run.versions.get(axis, _NONE) if axis == "spark" else _NONE)
        if at[axis] == "this":
            at[axis] = run.versions[axis]
        if at[axis] not in (*values[axis], _NONE):
            raise ValueError(f"{entry}: {at[axis]} is no {axis} of docs/support.yml")
    return Point(at, entry["what"], run, tuple(entry["tests"]), line)


def find_problems(matrix: Matrix) -> list[str]:
    """What the data claim and the repository does not have: tests, commands, marks."""
    offline = (test for rules in matrix.rules for test in rules.tests)
    found = [f"no such test, or a slow one: {test}" for test in offline if _marks(test) != frozenset()]
    for point in matrix.points:
        found += [f"no such command: {point.run.command}"] if not _is_command(point.run.command) else []
        for test in point.tests:
            marks = _marks(test)
            if marks is None:
                found.append(f"no such test: {test}")
            elif marks - point.run.marks or _is_only_marked(point.run, marks):
                found.append(f"{test} has the marks {sorted(marks)}, which `{point.run.command}` does not run")
    return sorted(set(found))


def _is_command(command: str) -> bool:
    """Whether `make TARGET` or `.ci/script ...` is there."""
    first, *rest = command.split()
    if first == "make":
        return re.search(rf"^{re.escape(rest[0])}:", (ROOT / "Makefile").read_text(), re.MULTILINE) is not None
    return (ROOT / first).is_file()


def _is_only_marked(run: Run, marks: frozenset[str]) -> bool:
    """Whether a command leaves out a test because it lacks the mark of sweeps."""
    return "conformance" in run.marks and not run.unmarked and "conformance" not in marks


def _marks(test: str) -> frozenset[str] | None:
    """The marks that keep a test out of `make test`; None where its file has no such test."""
    path, _, name = test.partition("::")
    if not (ROOT / path).is_file():
        return None
    return _tests(ROOT / path).get(name)


@cache
def _tests(path: Path) -> dict[str, frozenset[str]]:
    """The tests of a file, each with its slow marks and those of the file."""
    body = ast.parse(path.read_text()).body
    assigned = (node for node in body if isinstance(node, ast.Assign))
    whole = [node.value for node in assigned if any(ast.unparse(t) == "pytestmark" for t in node.targets)]
    return {
        node.name: frozenset(_list_slow([*whole, *node.decorator_list]))
        for node in body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def _list_slow(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        yield from (mark for mark in _SLOW if f"pytest.mark.{mark}" in ast.unparse(node))


_TABLES = (
    ("connection", "spark"),
    ("connection", "dbt"),
    ("format", "catalog"),
    ("format", "spark"),
    ("connection", "airflow"),
)
"""Columns and rows of the tables of the page."""

_TITLES = {
    "spark": "Spark",
    "dbt": "dbt-core",
    "connection": "Connection",
    "catalog": "Catalog",
    "format": "Format",
    "airflow": "Airflow",
}


WHOLE = ("published and stopped", "dbt build is guarded", "planproof run", "operators")
"""What holds of a combination where planproof does all that it promises there."""


def render_page(matrix: Matrix, results: Mapping[str, Result] | None = None) -> str:
    """The whole page, with what came of each suite; unless given, as docs/suites.yml has it."""
    results = read_results() if results is None else results
    lines = [
        "# What was tried",
        "",
        "A cell links to its tests, says how many there are, and at which commit they last passed.",
        "**held**: they publish healthy models there and stop broken ones. Anything less is named.",
        "**tests**: they exist; no passed run is on record. `20 of 26`: it is on record for 20.",
        "**red**: a later run of one of their suites failed.",
        f"**{_UNTRIED}**: no test. See [your platform](platforms.md).",
        "",
        "`python tools/support_matrix.py` makes this page from support.yml and suites.yml.",
        "",
    ]
    for columns, rows in _TABLES:
        lines += _table(matrix, columns, rows, results)
    lines += ["## Offline", "", *_offline(matrix)]
    lines += ["## Try it yourself", "", f"`make suites` runs all of them. {_UNTRIED}: no run is on record.", ""]
    lines += ["| command | last run |", "|---|---|"]
    commands = {**dict.fromkeys(point.run.command for point in matrix.points), **results}
    for command in commands:
        lines.append(f"| `{command}` | {results.get(command, _UNTRIED)} |")
    return "\n".join(lines) + "\n"


def _offline(matrix: Matrix) -> Iterator[str]:
    releases = ", ".join(f"{rules.spark} ({rules.release})" for rules in matrix.rules)
    tests = sum(len(rules.tests) for rules in matrix.rules)
    yield from textwrap.wrap(
        f"Without Spark, queries are planned by the rules of one version, and {tests} tests compare these rules with "
        f"the answers of a release: {releases}.",
        100,
    )
    yield ""


def _table(matrix: Matrix, columns: str, rows: str, results: Mapping[str, Result]) -> Iterator[str]:
    yield from (f"## {_TITLES[rows]} and {_TITLES[columns]}", "")
    yield f"| {_TITLES[rows]} | {' | '.join(matrix.values[columns])} |"
    yield "|---" * (len(matrix.values[columns]) + 1) + "|"
    for row in matrix.values[rows]:
        cells = (_cell(matrix, {rows: row, columns: column}, results) for column in matrix.values[columns])
        yield f"| {row} | {' | '.join(cells)} |"
    yield ""
    note = matrix.notes.get(f"{rows}, {columns}")
    if note:
        yield from (*textwrap.wrap(note, 100, break_long_words=False, break_on_hyphens=False), "")


def _cell(matrix: Matrix, where: dict[str, str], results: Mapping[str, Result]) -> str:
    found = [point for point in matrix.points if all(point.at[axis] == value for axis, value in where.items())]
    if not found:
        return _UNTRIED
    whole = [point for point in found if point.what in WHOLE]
    shown = whole or found
    tests = {test for point in shown for test in point.tests}
    green = {test for point in shown if _is_green(point, results) for test in point.tests}
    some = f"{len(green)} of {len(tests)}" if green and green != tests else str(len(tests))
    said = found[0].what if not whole else "**held**" if green else "tests"
    return f"{said} [{some}]({DATA.name}#L{shown[0].line}){''.join(_at(shown, results))}"


def _is_green(point: Point, results: Mapping[str, Result]) -> bool:
    return point.run.command in results and results[point.run.command].result == "green"


def _at(points: Sequence[Point], results: Mapping[str, Result]) -> Iterator[str]:
    """At which commits the suites of the points were green, and which are red now."""
    found = {point.run.command: results[point.run.command] for point in points if point.run.command in results}
    yield from dict.fromkeys(f", {result.green}" for result in found.values() if result.result == "green")
    for result in found.values():
        if result.result != "green":
            yield f", red{f' after {result.green}' if result.green else ''}"


def main() -> int:
    matrix = read()
    wrong = find_problems(matrix)
    if wrong:
        print(*wrong, sep="\n", file=sys.stderr)
        return 1
    PAGE.write_text(render_page(matrix))
    return 0


if __name__ == "__main__":
    sys.exit(main())
