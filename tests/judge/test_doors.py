"""One table of cases through all doors: they judge alike.

The cases are the examples of docs/codes: of each code a model that shows it, and the same one mended. The command line,
`dbt build`, the Airflow operators and `Guard` get them in one project, on one Spark. Codes that no such example shows
stand in `ELSEWHERE`, with what shows them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from click.testing import CliRunner
from projects import Dbt, project_files

from planproof import Contract, Guard, Model
from planproof.cli.code_examples import EXAMPLES as PAGES
from planproof.cli.code_examples import SOURCES, Case
from planproof.cli.group import cli
from planproof.project.location import ProjectLocation
from planproof.project.request import Request
from planproof.report.model import Report
from planproof.settings import Settings
from planproof_engine.codes import CODES
from planproof_engine.finding import Finding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = {code: example for code, example in PAGES.items() if not example.failing.settings}
"""One project has the same settings for all of them."""

ROWS = {
    "raw.t": "(null, 1, 'long text')",
    "raw.big": "(9007199254740993, 1.2345, '1', 1.5)",
    "raw.ids": "(1, 1.25)",
    "raw.times": "(timestamp'2026-01-02 03:04:05', timestamp_ntz'2026-01-02 03:04:05', date'2026-01-02')",
    "raw.nested": "(named_struct('a', 1, 'b', 2))",
}
"""A row of each source: it breaks what an example leaves to the rows."""

DECIDED = {
    "PP500": ("PP500", "violated"),
    "PP506": ("PP505", "violated"),
}
"""What rows decide, and how those of `ROWS` do, for doors that run: nulls and lengths. The examples of hazards have no
contract, and where nothing is promised a value that is lost stays a warning."""

ELSEWHERE = {
    "a file that is newer than its compile (tests/project/test_dbt2.py, tests/cli/test_cli_on_spark.py)": ("PP112",),
    "what costs more than one model may (tests/attacks/test_budgets.py)": ("PP113",),
    "what planproof does not know, or knows and Spark has otherwise (tests/guard, tests/engine/optimizer)": (
        *("PP111", "PP201", "PP202", "PP203", "PP204", "PP901"),
    ),
    "a table that stands already (tests/publish)": ("PP131", "PP133", "PP606", "PP607"),
    "two compiles (tests/project/test_diff.py)": ("PP134", "PP135"),
    "both texts of an incremental model (tests/incremental)": ("PP140", "PP141", "PP142", "PP143", "PP144", "PP145"),
    "hazards that are said once values decide them (tests/engine/hazards, tests/publish)": ("PP136", "PP137", "PP138"),
    "Python functions, which only Guard, run and the run operator take (tests/publish/test_python_entries.py)": (
        *("PP220", "PP221", "PP222", "PP223", "PP224", "PP301"),
    ),
    "lambdas that have a faster form (tests/engine/optimizer)": ("PP210",),
    "files and the catalog (tests/incidents, tests/invariants)": ("PP401", "PP402", "PP403"),
    "rows, limits and tests of a publish (tests/guard, tests/publish, tests/dbt_plugin)": (
        *("PP302", "PP505", "PP507", "PP508", "PP509", "PP510", "PP511", "PP512", "PP513", "PP514", "PP515"),
    ),
    "the publish itself, its locks and its recovery (tests/publish, tests/faults)": (
        *("PP601", "PP602", "PP603", "PP604", "PP605", "PP608", "PP609", "PP610", "PP611"),
        *("PP620", "PP621", "PP622", "PP623", "PP624"),
    ),
    "dbt's order of columns, which planproof puts right unless `enforce` forbids (tests/invariants)": ("PP503",),
}


class Seen(NamedTuple):
    """A finding as every door has it: the logical plane of one is the analyzed plane of another."""

    code: str
    verdict: str
    field: str | None
    line: int | None
    column: int | None


def seen(findings: Iterable[Finding]) -> set[Seen]:
    """What is no proof among the findings."""
    return {
        Seen(f.code, f.verdict.value, f.field, f.origin and f.origin.line, f.origin and f.origin.column)
        for f in findings
        if f.verdict.value != "proved"
    }


def decided(found: set[Seen]) -> set[Seen]:
    """The same after the rows were counted."""
    return {Seen(*DECIDED[one.code], *one[2:]) if one.code in DECIDED else one for one in found}


CASES = {
    f"{code}_{which}".lower(): case
    for code, example in EXAMPLES.items()
    for which, case in (("failing", example.failing), ("fixed", example.fixed))
    if not case.ansi
}
"""Models by name. dbt-spark runs with ANSI off, so that cases of ANSI mode never come through its door."""

FAILING = [name for name in CASES if name.endswith("failing")]
FEW = ("pp102_failing", "pp110_failing", "pp120_failing", "pp501_failing", "pp504_failing", "pp506_failing")
"""The run operator builds the request that `planproof run` builds: these are enough to see it."""


def columns(case: Case) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "data_type": kind.lstrip("!"),
            "constraints": [{"type": "not_null"}] if kind.startswith("!") else [],
        }
        for name, kind in case.columns
    ]


def model(name: str, case: Case) -> dict[str, Any]:
    contract = {"contract": {"enforced": True}} if case.columns else {}
    return {"name": name, "config": {"materialized": "table", **contract}, "columns": columns(case)}


def schema_yml(strict: str | None = None) -> str:
    """The models' YAML; one of them may be planned strictly."""
    models = [model(name, case) for name, case in CASES.items()]
    for form in models:
        if form["name"] == strict:
            form["config"]["meta"] = {"planproof": {"planning": "strict"}}
    return json.dumps({"models": models})


def source(name: str, types: Mapping[str, str]) -> dict[str, Any]:
    return {"name": name.split(".")[1], "columns": [{"name": c, "data_type": t} for c, t in types.items()]}


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dbt]:
    """The compiled project of all cases; its sources have a row each, and are frozen."""
    root = tmp_path_factory.mktemp("doors")
    dbt = Dbt(root, spark)
    spark.sql("create database raw")
    for name, types in SOURCES.items():
        spark.sql(f"create table {name} ({', '.join(f'{c} {t}' for c, t in types.items())}) using parquet")
        spark.sql(f"insert into {name} values {ROWS[name]}")
    dbt.write(project_files(dbt.schema, "method: session, host: NA"))
    dbt.write({f"models/{name}.sql": case.sql for name, case in CASES.items()})
    sources = [{"name": "raw", "tables": [source(name, types) for name, types in SOURCES.items()]}]
    dbt.write({"models/sources.yml": json.dumps({"sources": sources})})
    dbt.write({"models/schema.yml": schema_yml()})
    assert dbt.run("compile").success
    yield dbt
    spark.catalog.setCurrentDatabase("default")
    spark.sql(f"drop database {dbt.schema} cascade")
    spark.sql("drop database raw cascade")


@pytest.fixture(scope="module", autouse=True)
def airflow_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Airflow writes into its home when it is imported."""
    with pytest.MonkeyPatch.context() as patched:
        if "AIRFLOW_HOME" not in os.environ:
            patched.setenv("AIRFLOW_HOME", str(tmp_path_factory.mktemp("airflow")))
        yield


@pytest.fixture(scope="module")
def through(shop: Dbt, session: Any) -> Any:
    """`through(command, *options)` is what a command of planproof reports, by model, on the run's Spark."""

    def called(command: str, *more: str) -> dict[str, set[Seen]]:
        where = ["--project-dir", str(shop.root), "--profiles-dir", str(shop.root)]
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Request, "open_session", lambda *_: session)
            patched.setattr(ProjectLocation, "open_session", lambda *_: session)
            done = CliRunner().invoke(cli, [command, *where, *more])
        assert done.exit_code in (0, 1), done.output
        return by_model(map(Report.from_dict, json.loads(done.stdout)["reports"])) if "--json" in more else {}

    return called


def by_model(reports: Iterable[Report]) -> dict[str, set[Seen]]:
    return {report.model.split(".")[-1]: seen(report.findings) for report in reports}


@pytest.fixture(scope="module")
def alone(through: Any) -> dict[str, set[Seen]]:
    """What `planproof check` finds, without Spark: what every other door is compared with."""
    through("freeze")
    found: dict[str, set[Seen]] = through("check", "--json", "--conf", "spark.sql.ansi.enabled=false")
    return found


def test_every_code_has_a_case_or_says_what_shows_it() -> None:
    elsewhere = [code for codes in ELSEWHERE.values() for code in codes]
    assert sorted([*EXAMPLES, *elsewhere]) == sorted(CODES)


def test_each_case_shows_its_code_and_the_mended_one_nothing_that_breaks(alone: dict[str, set[Seen]]) -> None:
    assert set(alone) == set(CASES)
    for name, found in alone.items():
        code, _, which = name.upper().partition("_")
        assert (code in {one.code for one in found}) is (which == "FAILING"), (name, found)


def test_guard_on_spark_finds_what_check_finds(alone: dict[str, set[Seen]], session: Any, ansi: Any) -> None:
    ansi(False)
    guard = Guard(session)
    for name, case in CASES.items():
        contract = Contract([(c, t.lstrip("!"), not t.startswith("!")) for c, t in case.columns])
        given = Model(f"doors.{name}", case.sql, contract=contract if case.columns else None)
        assert seen(guard.check(given).findings) == alone[name], name


@pytest.mark.parametrize("name", [code for code, example in EXAMPLES.items() if example.failing.ansi])
def test_cases_of_ansi_mode_are_judged_alike(name: str, shop: Dbt, session: Any, ansi: Any, dbt_manifest: Any) -> None:
    ansi(True)
    for case, shows in ((EXAMPLES[name].failing, True), (EXAMPLES[name].fixed, False)):
        manifest = shop.root / "ansi.json"
        manifest.write_text(
            json.dumps(dbt_manifest({"m": {"sql": case.sql, "parents": list(SOURCES)}}, sources=SOURCES))
        )
        request = Request("check", manifest=str(manifest), spark={"spark.sql.ansi.enabled": "true"})
        (report,) = request.reports(None)
        found = seen(report.findings)
        assert found == seen(Guard(session).check(Model("doors.m", case.sql)).findings)
        assert (name in {one.code for one in found}) is shows


def test_run_finds_what_check_finds(alone: dict[str, set[Seen]], through: Any) -> None:
    found = through("run", "--json", "--select", *FAILING)
    assert found == {name: decided(alone[name]) for name in FAILING}


def test_strict_planning_is_judged_alike(
    alone: dict[str, set[Seen]], through: Any, shop: Dbt, session: Any, ansi: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "pp101_failing"
    strict = {one._replace(verdict="violated") if one.code == "PP101" else one for one in alone[name]}
    assert strict != alone[name]
    options = ("--json", "--planning", "strict", "--select", name)
    assert through("check", "--conf", "spark.sql.ansi.enabled=false", *options) == {name: strict}
    assert through("run", *options) == {name: decided(strict)}
    shop.write({"models/schema.yml": schema_yml(strict=name)})
    try:
        shop.run("build", "--select", name)
        assert seen(Report.from_dict(shop.reports[name]).findings) == decided(strict)
    finally:
        shop.write({"models/schema.yml": schema_yml()})
        assert shop.run("compile").success
    ansi(False)
    guard = Guard(session, settings=Settings(planning="strict"))
    assert seen(guard.check(Model(f"doors.{name}", CASES[name].sql)).findings) == strict
    operators = pytest.importorskip("airflow_planproof")
    place = {"project_dir": str(shop.root), "profiles_dir": str(shop.root), "select": name, "planning": "strict"}
    monkeypatch.setattr(Request, "open_session", lambda *_: session)
    for operator, expected in (
        (operators.PlanproofCheckOperator, strict),
        (operators.PlanproofRunOperator, decided(strict)),
    ):
        assert by_model(operator(task_id="strict", **place).reports({})) == {name: expected}


def test_dbt_build_finds_what_check_finds(alone: dict[str, set[Seen]], shop: Dbt) -> None:
    shop.run("build")
    found = by_model(map(Report.from_dict, shop.reports.values()))
    assert found == {name: decided(alone[name]) for name in CASES}


def test_the_operators_find_what_check_finds(
    alone: dict[str, set[Seen]], shop: Dbt, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    operators = pytest.importorskip("airflow_planproof")
    place = {"project_dir": str(shop.root), "profiles_dir": str(shop.root)}
    monkeypatch.setattr(Request, "open_session", lambda *_: session)
    # The profile says nothing of ANSI, and dbt-spark turns it off: a check without dbt is told so.
    check = operators.PlanproofCheckOperator(task_id="check", **place)
    assert by_model(check.reports({})) == alone
    run = operators.PlanproofRunOperator(task_id="run", select=list(FEW), **place)
    assert by_model(run.reports({})) == {name: decided(alone[name]) for name in FEW}


def test_audit_finds_of_stored_tables_what_check_finds_of_their_contracts(
    alone: dict[str, set[Seen]], shop: Dbt, spark: SparkSession, through: Any, ansi: Any
) -> None:
    """The tables are written by Spark alone: nobody stopped what breaks its contract. Places in a text are unknown."""
    ansi(False)
    promised = [name for name, case in CASES.items() if case.columns]
    for name in promised:
        spark.sql(f"create or replace temporary view doors_one as {CASES[name].sql}")
        spark.sql(f"drop table if exists {shop.schema}.{name}")
        spark.sql(f"create table {shop.schema}.{name} using parquet as select * from doors_one")
    found = through("audit", "--json", *promised)
    for name in promised:
        assert {one[:3] for one in found[name]} == {one[:3] for one in decided(alone[name])}, name
