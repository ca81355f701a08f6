"""dbt's selection: every command chooses the models that `dbt ls` lists, with dbt's classes or without."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from quick import keep_quick

from dbt_planproof.compiler import DBT
from planproof.cli.group import cli
from planproof.project import Project, ProjectError, read_project, select_models
from planproof.project.selection import _is_own, read_default_selector
from planproof.report.run import RunReport

pytest.importorskip("dbt.adapters.spark")

FILES = {
    "dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\nflags: {send_anonymous_usage_stats: false}\n"
    "models: {shop: {marts: {+tags: [nightly], +materialized: table}}}\n",
    "selectors.yml": "selectors:\n  - name: nightly\n    definition:\n      union:\n        - method: tag\n"
    "          value: nightly\n        - exclude: [mart_b]\n",
    "models/sources.yml": "sources: [{name: raw, tables: [{name: orders}]}]\n",
    "models/stg/stg_a.sql": "select 1 as id",
    "models/stg/stg_b.sql": "{{ config(materialized='ephemeral') }} select id from {{ source('raw', 'orders') }}",
    "models/marts/mart_a.sql": "select id from {{ ref('stg_a') }}",
    "models/marts/mart_b.sql": "select a.id from {{ ref('stg_a') }} a join {{ ref('stg_b') }} b on a.id = b.id",
    "models/top.sql": "select id from {{ ref('mart_a') }}",
}
OWN = (
    "mart_a",
    "+mart_b",
    "1+mart_b",
    "stg_a+",
    "stg_a+1",
    "shop.marts.*",
    "marts",
    "tag:nightly",
    "tag:nightly,stg_a+",
    "path:models/stg",
    "models/marts",
    "config.materialized:table",
    "source:raw+",
    "mart_a stg_b",
    "mart_*",
)
OF_DBT = (
    "@stg_b",
    "package:shop",
    "config.tags:nightly",
    "resource_type:model",
    "file:mart_a.sql",
    "state:modified",
    "state:modified+",
    "state:new",
    "result:error+",
    "mart_b,state:modified+",
    "top @stg_b",
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was parsed by dbt; in `old` lies the state of before `stg_a` changed and `top` came."""
    root = tmp_path_factory.mktemp("shop")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    target = {"type": "spark", "method": "session", "host": "NA", "schema": "shop"}
    (root / "profiles.yml").write_text(json.dumps({"shop": {"target": "dev", "outputs": {"dev": target}}}))
    (root / "models" / "top.sql").rename(root / "top.sql")
    (root / "models" / "stg" / "stg_a.sql").write_text("select 1L as id")
    dbt(root, "parse")
    (root / "old").mkdir()
    shutil.copy(root / "target" / "manifest.json", root / "old")
    results = {
        "metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/run-results/v6.json"},
        "results": [result("model.shop.mart_a", "error"), result("model.shop.mart_b", "success")],
        "elapsed_time": 1.0,
        "args": {},
    }
    (root / "old" / "run_results.json").write_text(json.dumps(results))
    (root / "top.sql").rename(root / "models" / "top.sql")
    (root / "models" / "stg" / "stg_a.sql").write_text(FILES["models/stg/stg_a.sql"])
    dbt(root, "parse")
    return root


def project_of(source: Any) -> Project:
    return replace(read_project(source), compiler=DBT)


def result(unique_id: str, status: str) -> dict[str, Any]:
    told = {"status": status, "timing": [], "thread_id": "t", "execution_time": 1.0, "adapter_response": {}}
    kept = {"message": None, "failures": None, "compiled": True, "compiled_code": "", "relation_name": None}
    return {"unique_id": unique_id, **told, **kept}


def dbt(root: Path, *args: str) -> Any:
    from dbt.cli.main import dbtRunner

    done = dbtRunner().invoke([*args, "--quiet", "--project-dir", str(root), "--profiles-dir", str(root)])
    assert done.success, done.exception
    return done.result


def listed(root: Path, *args: str) -> list[str]:
    found = dbt(root, "ls", "--resource-type", "model", "--output", "name", *args)
    return sorted(name.rpartition(".")[2] for name in found)


QUICK = ("1+mart_b", "tag:nightly,stg_a+", "source:raw+", "mart_*", "@stg_b", "state:modified+", "top @stg_b")


@pytest.mark.parametrize("select", keep_quick([*OWN, *OF_DBT], *QUICK))
def test_the_models_are_those_that_dbt_lists(shop: Path, select: str) -> None:
    assert all(map(_is_own, select.split())) == (select in OWN)
    state = shop / "old" if "state" in select or "result" in select else None
    more = ["--state", str(state)] if state else []
    wanted = listed(shop, "--select", *select.split(), *more)
    if select == "mart_*" and metadata.version("dbt-core").startswith("1.10."):
        assert wanted == [], "dbt 1.10 matches a bare pattern with no name below a folder"
        return
    assert wanted or "state:new" in select
    found = select_models(project_of(shop), [select], state=state)
    assert sorted(node.name for node in found) == wanted


def test_a_selector_of_the_project(shop: Path) -> None:
    found = select_models(project_of(shop), selector="nightly")
    assert sorted(node.name for node in found) == listed(shop, "--selector", "nightly") == ["mart_a"]
    assert sorted(node.name for node in select_models(project_of(shop), (), ["@stg_b"])) == listed(
        shop, "--exclude", "@stg_b"
    )
    with pytest.raises(ProjectError, match="defines: nightly"):
        select_models(project_of(shop), selector="daily")
    with pytest.raises(ProjectError, match="give only one of them"):
        select_models(project_of(shop), ["mart_a"], selector="nightly")


@pytest.mark.parametrize(
    ("select", "said"),
    [
        ("package:nobody", "'package:nobody' names nothing in the project"),
        ("mart_a nobody @stg_a", "selector 'nobody': 'nobody' names nothing"),
        ("@stg_a,tag:hourly", "'tag:hourly' names nothing"),
        ("tagg:nightly", "'tagg' is not a valid method name"),
    ],
)
def test_a_name_that_dbt_does_not_find_is_an_error(shop: Path, select: str, said: str) -> None:
    with pytest.raises(ProjectError) as caught:
        select_models(project_of(shop), [select])
    assert said in str(caught.value)


def test_a_manifest_that_this_dbt_cannot_read_is_left_to_the_one_that_wrote_it(shop: Path) -> None:
    form = json.loads((shop / "target" / "manifest.json").read_text())
    form["metadata"]["dbt_version"] = "2.1.0"
    for node in form["nodes"].values():
        node["config"] = None
    with pytest.raises(
        ProjectError, match="let the dbt that wrote it name the models: `dbt ls --output name`"
    ) as caught:
        select_models(project_of(form), ["@stg_b"])
    assert len(str(caught.value)) < 500


def test_a_state_that_is_not_there(shop: Path) -> None:
    with pytest.raises(ProjectError, match=r"there is no manifest\.json"):
        select_models(project_of(shop), ["state:modified"], state=shop / "models")
    with pytest.raises(ProjectError, match=r"dbt's selection: .* no comparison manifest: give --state FOLDER"):
        select_models(project_of(shop), ["state:modified"])


def test_the_command_line_takes_several_words_and_nothing_that_changed_is_no_error(shop: Path) -> None:
    manifest = shop / "target" / "manifest.json"
    form = json.loads(manifest.read_text())
    for node in form["nodes"].values():
        node["compiled_code"] = "select 1 as id"
    compiled = shop / "compiled.json"
    compiled.write_text(json.dumps(form))

    def check(*args: str) -> Any:
        where = ["--project-dir", str(shop), "--manifest", str(compiled), "--json"]
        done = CliRunner().invoke(cli, ["check", *args, *where])
        assert done.exit_code == 0, done.output
        return [report.details.name for report in RunReport.from_json(done.stdout).reports]

    assert check("--select", "top", "stg_b", "--exclude", "stg_b", "mart_b") == ["top"]
    assert check("-s", "state:modified", "--state", str(shop / "old")) == ["stg_a", "top"]
    assert check("-s", "state:modified", "--state", str(shop / "target")) == []


def test_the_default_selector_of_the_project_counts_where_nothing_is_named(shop: Path, tmp_path: Path) -> None:
    root = shutil.copytree(shop, tmp_path / "shop")
    (root / "selectors.yml").write_text(FILES["selectors.yml"].rstrip() + "\n    default: true\n")
    project = project_of(root)
    assert read_default_selector(shop) is None
    assert read_default_selector(root) == "nightly"
    assert [node.name for node in select_models(project)] == listed(root) == ["mart_a"]
    assert sorted(node.name for node in select_models(project, exclude=["mart_a"])) == listed(
        root, "--exclude", "mart_a"
    )
    assert len(select_models(project, ["*"])) == len(project.models)
    manifest = json.loads((root / "target/manifest.json").read_text())
    for node in manifest["nodes"].values():
        node["compiled_code"] = "select 1L as id"
    (root / "target/manifest.json").write_text(json.dumps(manifest))
    done = CliRunner().invoke(cli, ["check", "--project-dir", str(root), "--json"])
    assert done.exit_code == 0, done.output
    report = RunReport.from_json(done.stdout)
    assert [r.details.name for r in report.reports] == ["mart_a"]
    assert "selected by 'nightly', the default selector of selectors.yml" in report.remarks
