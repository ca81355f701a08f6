"""The recipes of docs/ci, walked: their commands on a project of two schemas, the second one a pull request's."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof.report.run import RunReport

pytestmark = pytest.mark.hive

RECIPES = Path(__file__).parents[2] / "docs" / "ci"
SCHEMA = """
    models:
      - name: mart
        config: {contract: {enforced: true}}
        columns:
          - {name: id, data_type: bigint, constraints: [{type: not_null}]}
          - {name: total, data_type: int, constraints: [{type: not_null}]}
    """
MODELS = {
    "models/schema.yml": SCHEMA,
    "models/stg.sql": "{{ config(materialized='table') }} select * from values (1L, 10), (2L, 20) as t(id, total)",
    "models/mart.sql": "{{ config(materialized='table') }} select id, total from {{ ref('stg') }}",
    "models/top.sql": "{{ config(materialized='table') }} select sum(total) as s from {{ ref('mart') }}",
    "models/aside.sql": "{{ config(materialized='table') }} select 1 as one",
}


def github(job: str) -> list[str]:
    form = yaml.safe_load((RECIPES / "github-actions.yml").read_text())
    return [step["run"] for step in form["jobs"][job]["steps"] if "run" in step and "pip " not in step["run"]]


def gitlab(job: str) -> list[str]:
    found: list[str] = yaml.safe_load((RECIPES / "gitlab-ci.yml").read_text())[job]["script"]
    return found


@pytest.mark.parametrize("job", ["main", "pull_request"])
def test_both_recipes_say_the_same(job: str) -> None:
    assert github(job) == gitlab(job)
    assert len(github(job)) >= 2


@pytest.fixture
def own(dbt: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The project after main's job, in its directory; the name of the pull request's database."""
    own = f"{dbt.schema}_pr"
    outputs = "".join(
        f"        {name}: {{type: spark, method: session, host: NA, threads: 2, schema: {schema}}}\n"
        for name, schema in (("prod", dbt.schema), ("pr", own))
    )
    profile = f"    shop:\n      target: prod\n      outputs:\n{outputs}"
    dbt.write({**MODELS, "profiles.yml": profile})
    monkeypatch.chdir(dbt.root)
    monkeypatch.setenv("DBT_PROFILES_DIR", str(dbt.root))
    for command in github("main"):
        walk(dbt, command)
    yield own
    dbt.spark.sql(f"drop database if exists {own} cascade")


def walk(dbt: Any, command: str) -> Any:
    """Runs a recipe's command as it is written: dbt and planproof in this process, on the run's Spark."""
    words = shlex.split(command)
    if words[0] == "dbt":
        return dbt.run(*words[1:])
    if words[0] == "planproof":
        return CliRunner().invoke(cli, words[1:])
    return subprocess.run(["sh", "-c", command], check=True, cwd=dbt.root)


@pytest.mark.conformance
def test_pull_requests_are_checked_and_built_guarded(dbt: Any, own: str) -> None:
    before = dbt.state("mart")

    def changed(to: str) -> list[Any]:
        dbt.write({"models/mart.sql": MODELS["models/mart.sql"].replace("id, total", to)})
        return [walk(dbt, command) for command in github("pull_request")]

    # Nothing changed: nothing is checked or built.
    compiled, check, build = changed("id, total")
    assert (compiled.success, check.exit_code, build.success) == (True, 0, True), check.output
    assert not dbt.spark.catalog.tableExists(f"{own}.mart")

    # A type breaks the contract: the check says so without Spark, and the build stops it.
    compiled, check, build = changed("id, cast(total as string) as total")
    assert (compiled.success, check.exit_code, build.success) == (True, 1, False)
    assert "PP504" in check.stdout
    assert dbt.statuses == {"mart": "error", "top": "skipped"}

    # A null that only rows show: the check leaves it open, the build counts it.
    compiled, check, build = changed("id, nullif(total, 20) as total")
    assert (compiled.success, check.exit_code, build.success) == (True, 0, False), check.output
    assert "2 models" in check.stdout
    assert "unproved" in check.stdout
    assert "PP505" in dbt.results["mart"]["message"]
    assert not dbt.spark.catalog.tableExists(f"{own}.mart")

    compiled, check, build = changed("id, total + 1 as total")
    assert build.success, dbt.results
    assert dbt.statuses == {"mart": "success", "top": "success"}
    assert dbt.reports["mart"]["outcome"] == "published"
    assert {row.tableName for row in dbt.spark.sql(f"show tables in {own}").collect()} == {"mart", "top"}
    assert dbt.state("mart") == before

    # The manifest that this build left holds two texts, which read `stg` where main has it.
    select = ["--select", "state:modified+", "--state", "state"]
    after = CliRunner().invoke(cli, ["check", "--target", "pr", *select, "--json", "--verbose"])
    reports = RunReport.from_json(after.stdout).reports
    assert {r.details.name: r.planes[1].status for r in reports} == {"mart": "read", "top": "read"}
    assert reports[0].details.inputs == {f"{own}.stg": "planned"}


@pytest.mark.conformance
def test_the_manifest_of_an_empty_run_is_checked_as_one_of_a_compile(dbt: Any, own: str) -> None:
    """`dbt run --empty` reads each parent through a subquery of no rows, and prints what a run prints."""

    def findings() -> dict[str, list[tuple[str, str, str]]]:
        done = CliRunner().invoke(cli, ["check", "--target", "pr", "--json"])
        assert done.exit_code == 0, done.output
        reports = RunReport.from_json(done.stdout).reports
        return {r.details.name: [(f.code, f.verdict.value, f.field or "") for f in r.findings] for r in reports}

    assert dbt.run("compile", "--target", "pr").success
    compiled = findings()
    assert dbt.run("run", "--empty", "--target", "pr").success
    assert "where false limit 0" in (dbt.root / "target" / "manifest.json").read_text()
    assert findings() == compiled
    assert compiled["mart"]
