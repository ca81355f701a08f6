"""The support matrix claims what tests hold, and nothing else."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml

import support_matrix
from spark_upgrade import facts
from suites import Result

MATRIX = support_matrix.read()
FORM = yaml.safe_load(support_matrix.DATA.read_text())


def test_every_test_and_command_that_the_matrix_names_is_there() -> None:
    assert support_matrix.find_problems(MATRIX) == []


def test_the_page_is_made_of_the_data() -> None:
    assert support_matrix.render_page(MATRIX) == support_matrix.PAGE.read_text(), "run python tools/support_matrix.py"


def test_the_versions_of_the_test_run_are_those_of_the_lock() -> None:
    lock = (support_matrix.ROOT / "uv.lock").read_text()
    versions = FORM["runs"]["test"]["versions"]
    for package, axis in (("pyspark", "spark"), ("dbt-core", "dbt"), ("apache-airflow", "airflow")):
        locked = re.findall(rf'^name = "{package}"\nversion = "([\d.]+)"', lock, re.MULTILINE)[-1]
        assert locked.startswith(f"{versions[axis]}."), package


def test_what_is_tried_with_hive_has_hive_in_the_test_run() -> None:
    given = re.search(r"^WITH_HIVE = (\(.*?\))$", (support_matrix.ROOT / "tests/conftest.py").read_text(), re.MULTILINE)
    assert given is not None
    with_hive = ast.literal_eval(given[1])
    tried = [p for p in FORM["tried"] if (p["catalog"], p["connection"]) == ("Hive", "in process")]
    files = {name.partition("::")[0] for point in tried for name in point["tests"]}
    own = [file for file in files if file.split("/")[1] not in with_hive]
    without = [file for file in own if "pytest.mark.hive" not in (support_matrix.ROOT / file).read_text()]
    assert without == [], "mark them hive"


@pytest.mark.parametrize("axis", support_matrix.AXES)
def test_a_table_has_every_value_of_an_axis(axis: str) -> None:
    assert all(f"| {value} |" in support_matrix.PAGE.read_text() for value in MATRIX.values[axis])


def test_a_cell_says_at_which_commit_its_suite_was_green() -> None:
    def row(result: Result) -> str:
        lines = support_matrix.render_page(MATRIX, {"make test-airflow2": result}).splitlines()
        return next(line for line in lines if line.startswith("| 2.11 |"))

    assert re.match(r"\| 2.11 \| \*\*held\*\* \S+, abc \|", row(Result("abc", "green", 1, "1 passed", "abc")))
    assert ", red after abc |" in row(Result("def", "red", 1, "1 failed", "abc"))
    assert ", red |" in row(Result("def", "red", 1, "1 failed"))


def test_nothing_is_held_without_a_green_run_on_record() -> None:
    red = dict.fromkeys((point.run.command for point in MATRIX.points), Result("def", "red", 1, "1 failed", "abc"))
    for results in ({}, red):
        assert "held" not in support_matrix.render_page(MATRIX, results).partition("## ")[2]


def test_a_cell_counts_the_tests_that_a_green_run_holds() -> None:
    page = support_matrix.render_page(MATRIX, {"make test": Result("abc", "green", 1, "1 passed", "abc")})
    row = next(line for line in page.partition("## Catalog")[2].splitlines() if line.startswith("| Hive |"))
    assert re.match(r"\| Hive \| \*\*held\*\* \[\d+ of \d+\]", row)


def test_the_last_run_of_any_suite_stands_on_the_page() -> None:
    results = {"make walks WALKS=50": Result("abc", "green", 1, "50 passed", "abc", "2026-11-26")}
    assert "| `make walks WALKS=50` | green at abc (2026-11-26) |" in support_matrix.render_page(MATRIX, results)


def _with(**changes: object) -> str:
    entry = {"run": "test", "connection": "Thrift", "catalog": "Hive", "format": "Parquet", "what": "read"}
    entry["tests"] = ["tests/tools/test_support_matrix.py::test_a_table_has_every_value_of_an_axis"]
    return yaml.safe_dump({**FORM, "tried": [{**entry, **changes}]})


def test_a_cell_says_what_holds_and_leads_to_its_tests_and_the_others_are_dashes() -> None:
    told = support_matrix.render_page(support_matrix.read(_with()), {}).splitlines()
    text = _with()
    line = text[: text.index("- catalog: Hive\n")].count("\n") + 1
    assert f"| 4.3 | - | - | - | read [1](support.yml#L{line}) |" in told
    assert "| 4.2 | - | - | - | - |" in told


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None),
        ({"tests": ["tests/tools/test_support_matrix.py::test_gone"]}, "no such test"),
        ({"tests": ["tests/tools/gone.py::test_gone"]}, "no such test"),
        ({"tests": ["tests/session/test_elsewhere.py::test_healthy_models_are_published"]}, "has the marks"),
        ({"run": "conformance"}, "has the marks"),
    ],
)
def test_what_the_repository_does_not_have_is_told(changes: dict[str, object], problem: str | None) -> None:
    found = support_matrix.find_problems(support_matrix.read(_with(**changes)))
    assert [problem in line for line in found] == ([True] if problem else [])


def test_a_command_that_is_gone_is_told() -> None:
    runs = {"test": {"command": "make gone", "versions": FORM["runs"]["test"]["versions"]}}
    form = yaml.safe_dump({**yaml.safe_load(_with()), "runs": runs})
    assert support_matrix.find_problems(support_matrix.read(form)) == ["no such command: make gone"]


def test_a_value_that_no_axis_has_is_refused() -> None:
    with pytest.raises(ValueError, match="Cassette is no connection"):
        support_matrix.read(_with(connection="Cassette"))


def test_docs_are_where_the_page_says() -> None:
    assert Path(support_matrix.PAGE).with_suffix(".yml") == support_matrix.DATA


def test_the_releases_whose_rules_are_known_are_those_that_were_asked() -> None:
    assert {rules.spark: rules.release for rules in MATRIX.rules} == {
        f.minor: f.version for f in facts.read_known().values()
    }


def test_a_slow_test_holds_no_rules() -> None:
    slow = "tests/session/test_elsewhere.py::test_healthy_models_are_published"
    form = {**FORM, "rules": [{"spark": "4.3", "release": "4.3.0", "tests": [slow]}]}
    assert support_matrix.find_problems(support_matrix.read(yaml.safe_dump(form))) == [
        f"no such test, or a slow one: {slow}"
    ]
