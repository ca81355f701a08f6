"""Manifests: order, graph, and input that nobody should trust."""

from __future__ import annotations

import json
import sys

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof.project import ProjectError, read_project, select_models


@pytest.fixture
def shop(dbt_manifest):
    return dbt_manifest(
        {
            "z_stg": {
                "sql": "select 1",
                "parents": ["raw.orders"],
                "config": {"materialized": "view"},
                "folder": ["stg"],
            },
            "b_eph": {"sql": "select 1", "parents": ["z_stg", "codes"], "config": {"materialized": "ephemeral"}},
            "a_mart": {"sql": "select 1", "parents": ["b_eph"], "tags": ["nightly"]},
            "c_inc": {"sql": "select 1", "parents": ["z_stg"], "config": {"materialized": "incremental"}},
        },
        {"raw.orders": {"id": "bigint"}, "raw.lines": {"id": "bigint"}},
        {"codes": {"config": {"column_types": {"code": "string"}}}},
        **{"test.shop.t": {"resource_type": "test", "depends_on": {"nodes": ["model.shop.a_mart"]}}},
    )


def names(nodes):
    return [node.name for node in nodes]


def test_models_stand_in_dag_order_whatever_their_names(shop):
    project = read_project(shop)
    assert names(project.models) == ["z_stg", "b_eph", "a_mart", "c_inc"]
    assert names(project.sources) == ["lines", "orders"]
    assert (project.name, project.dbt_version, project.adapter) == ("shop", "1.11.16", "spark")


def test_ephemeral_parents_stand_for_what_they_read(shop):
    project = read_project(shop)
    assert names(project.stored_parents(project.nodes["model.shop.a_mart"])) == ["z_stg", "codes"]
    assert project.ancestors(["model.shop.a_mart"]) == {
        "model.shop.b_eph",
        "model.shop.z_stg",
        "seed.shop.codes",
        "source.shop.raw.orders",
    }


def test_relations_are_found_by_any_of_their_names(shop):
    project = read_project(shop)
    for name in ("a_mart", "SHOP.A_MART", "model.shop.a_mart"):
        assert project.find_by_relation(name).name == "a_mart"
    assert project.find_by_relation("nobody") is None


@pytest.mark.parametrize(
    ("select", "found"),
    [
        ([], ["z_stg", "b_eph", "a_mart", "c_inc"]),
        (["a_mart"], ["a_mart"]),
        (["a_mart c_inc"], ["a_mart", "c_inc"]),
        (["a_mart", "c_inc"], ["a_mart", "c_inc"]),
        (["*_mart"], ["a_mart"]),
        (["+a_mart"], ["z_stg", "b_eph", "a_mart"]),
        (["1+a_mart"], ["b_eph", "a_mart"]),
        (["z_stg+1"], ["z_stg", "b_eph", "c_inc"]),
        (["z_stg+"], ["z_stg", "b_eph", "a_mart", "c_inc"]),
        (["stg"], ["z_stg"]),
        (["shop.stg"], ["z_stg"]),
        (["shop.stg.*"], ["z_stg"]),
        (["stg.z_stg"], ["z_stg"]),
        (["fqn:shop"], ["z_stg", "b_eph", "a_mart", "c_inc"]),
        (["tag:nightly"], ["a_mart"]),
        (["path:models/a_mart.sql"], ["a_mart"]),
        (["models/"], ["z_stg", "b_eph", "a_mart", "c_inc"]),
        (["a_mart.sql"], ["a_mart"]),
        (["config.materialized:view"], ["z_stg"]),
        (["source:raw.orders+"], ["z_stg", "b_eph", "a_mart", "c_inc"]),
        (["source:raw+1"], ["z_stg"]),
        (["codes+"], ["b_eph", "a_mart"]),
        (["+a_mart,config.materialized:ephemeral"], ["b_eph"]),
    ],
)
def test_selection(shop, select, found):
    assert names(select_models(read_project(shop), select)) == found


def test_exclusion(shop):
    project = read_project(shop)
    assert names(select_models(project, [], ["b_eph+"])) == ["z_stg", "c_inc"]
    assert names(select_models(project, ["+a_mart"], ["config.materialized:ephemeral"])) == ["z_stg", "a_mart"]


@pytest.mark.parametrize("select", ["mart.v2", "mart_v2"])
def test_a_version_of_a_model(dbt_manifest, select):
    manifest = dbt_manifest({"mart_v1": {"sql": "select 1"}, "mart_v2": {"sql": "select 1"}})
    for number in (1, 2):
        node = manifest["nodes"][f"model.shop.mart_v{number}"]
        node.update(name="mart", version=number, fqn=["shop", "marts", "mart", f"v{number}"])
    project = read_project(manifest)
    assert [node.relation for node in select_models(project, [select])] == ["shop.mart_v2"]
    assert len(select_models(project, ["mart"])) == 2


@pytest.mark.parametrize(
    ("select", "exclude", "said"),
    [
        (["a_mrt"], [], "selector 'a_mrt': 'a_mrt' names nothing in the project; did you mean 'a_mart'?"),
        (["source:raw.lines"], [], "--select source:raw.lines selects no model"),
        (["a_mart"], ["a_mart"], "--select a_mart --exclude a_mart selects no model"),
        (["a_mart nobody"], [], "selector 'nobody'"),
        (["a_mart"], ["nobody"], "selector 'nobody'"),
        (["tagg:x"], [], "tagg:x: only dbt can select this way, and it is not installed"),
        (["state:modified"], [], "Without it: a name, a glob"),
        (["@a_mart"], [], "@a_mart: only dbt can select this way"),
        (["a+b"], [], "cannot be read"),
        (["+"], [], "cannot be read"),
    ],
)
def test_selectors_that_cannot_be_meant(shop, select, exclude, said, monkeypatch):
    monkeypatch.setitem(sys.modules, "dbt.graph.selector", None)
    with pytest.raises(ProjectError, match="select") as caught:
        select_models(read_project(shop), select, exclude)
    assert said in str(caught.value)


def test_a_project_directory_and_a_manifest_file(shop, tmp_path):
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    (tmp_path / "target").mkdir()
    file = tmp_path / "target" / "manifest.json"
    with pytest.raises(ProjectError, match=r"there is no manifest; run `dbt compile`"):
        read_project(tmp_path)
    file.write_text(json.dumps(shop))
    assert read_project(tmp_path).directory == tmp_path
    assert read_project(file).directory == tmp_path


def test_the_manifest_is_where_dbt_writes_it(shop, tmp_path, monkeypatch):
    """What is given goes before the environment, that before the project file, that before `target`."""
    monkeypatch.delenv("DBT_TARGET_PATH", raising=False)
    project_file = tmp_path / "dbt_project.yml"
    project_file.write_text("name: shop\nprofile: shop\ntarget-path: \"{{ env_var('SHOP_OUT', 'out') }}\"\n")

    def read(folder, *args):
        for file in tmp_path.glob("**/manifest.json"):
            file.unlink()
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "manifest.json").write_text(json.dumps(shop))
        done = CliRunner().invoke(cli, ["check", "--project-dir", str(tmp_path), *args])
        assert done.exit_code != 2, done.output
        return read_project(tmp_path, args[1] if args else None)

    assert read("out").directory == tmp_path
    monkeypatch.setenv("DBT_TARGET_PATH", str(tmp_path / "elsewhere"))
    read("elsewhere")
    read("given", "--target-path", "given")
    monkeypatch.delenv("DBT_TARGET_PATH")
    project_file.write_text("name: shop\ntarget-path: \"{{ var('x') }}\"\n")
    with pytest.raises(ProjectError, match=r"target-path: .* cannot be rendered"):
        read_project(tmp_path)
    project_file.write_text("name: [shop\n")
    read("target")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ("[]", "is a JSON list, not a manifest"),
        ("[" * 100_000, "is no JSON"),
        ("{}", "its schema is not stated; planproof reads manifest v12"),
        ('{"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v9.json"}}', "manifest/v9.json"),
        ('{"metadata": []}', "`metadata` is list"),
    ],
)
def test_files_that_are_no_manifest(tmp_path, text, said):
    file = tmp_path / "manifest.json"
    file.write_text(text)
    with pytest.raises(ProjectError) as caught:
        read_project(file)
    assert said in str(caught.value)
    assert str(file) in str(caught.value)


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "manifest.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProjectError, match="cannot be read"):
        read_project(tmp_path / "manifest.json")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m["nodes"].update({"x": 1}), "node 'x' is int, not a mapping"),
        (lambda m: m.update(nodes=[]), "`nodes` is list"),
        (lambda m: m["nodes"]["model.shop.c_inc"].update(tags={}), "model.shop.c_inc: `tags` is dict, not a list"),
        (lambda m: m["nodes"]["model.shop.c_inc"].update(depends_on=[]), "`depends_on` is list"),
        (lambda m: m["metadata"].update(adapter_type="snowflake"), "compiled for snowflake"),
        (
            lambda m: m["nodes"]["model.shop.z_stg"].update(depends_on={"nodes": ["model.shop.a_mart"]}),
            "in a circle: model.shop.a_mart, model.shop.b_eph, model.shop.z_stg",
        ),
    ],
)
def test_manifests_that_are_broken(shop, change, said):
    change(shop)
    with pytest.raises(ProjectError) as caught:
        read_project(shop)
    assert said in str(caught.value)


def test_what_the_guard_cannot_run_is_said(dbt_manifest):
    project = read_project(
        dbt_manifest(
            {
                "fine": {"sql": "select 1"},
                "hooked": {"sql": "select 1", "config": {"pre-hook": [{"sql": "set x={{ 1 }}"}]}},
                "merged": {"sql": "s", "config": {"materialized": "incremental", "incremental_strategy": "merge"}},
                "lake": {"sql": "select 1", "config": {"file_format": "hudi"}},
                "snake": {"language": "python", "sql": "def model(): ..."},
                "odd": {"sql": "select 1", "config": {"materialized": "materialized_view"}},
                "headed": {"sql": "select 1", "config": {"sql_header": "create temporary function f"}},
            }
        )
    )
    assert {node.name: node.find_obstacle() for node in project.models} == {
        "fine": None,
        "headed": None,
        "hooked": "only dbt does what it asks for: pre-hook `set x={{ 1 }}` has Jinja",
        "lake": "file format 'hudi'",
        "merged": "incremental strategy 'merge'",
        "odd": "materialized as 'materialized_view'",
        "snake": "a Python model",
    }
