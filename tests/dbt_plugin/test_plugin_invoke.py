"""dbt in this process, for planproof's own executor; and where the plugin does not patch dbt."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dbt.adapters.spark")

from planproof.project.reads import ProjectError
from planproof.project.request import is_lasting

MODELS = {
    "models/first.sql": "select {{ var('n', 1) }} as id",
    "models/grown.sql": """
        {{ config(materialized='incremental') }}
        select id from {{ ref('first') }}
        {% if is_incremental() %}where id > 1{% endif %}
        """,
}


def test_compiling_gives_the_manifest_for_the_warehouse_as_it_is(dbt: Any, capfd: pytest.CaptureFixture[str]) -> None:
    from dbt_planproof.compiler import compile_project

    dbt.write(MODELS)
    manifest = compile_project(dbt.root, profiles_dir=dbt.root, target="dev", vars={"n": 7})
    sql = {n["name"]: n["compiled_code"] for n in manifest["nodes"].values()}
    assert sql["first"] == "select 7 as id"
    assert "where" not in sql["grown"]
    assert not dbt.exists("first")

    assert dbt.run("run", guarded=False).success
    capfd.readouterr()
    manifest = compile_project(dbt.root, profiles_dir=dbt.root, select=["grown"])
    assert "select id" not in capfd.readouterr().out, "dbt prints the text of a model that is selected"
    assert "where id > 1" in manifest["nodes"]["model.shop.grown"]["compiled_code"]
    assert not manifest["nodes"]["model.shop.first"].get("compiled_code")
    manifest = compile_project(dbt.root, profiles_dir=dbt.root, select=["grown"], full_refresh=True)
    assert "where" not in manifest["nodes"]["model.shop.grown"]["compiled_code"]


def test_dbt_takes_the_nearest_settings_as_a_whole(dbt: Any) -> None:
    """As docs/settings.md says: a model that says one thing has nothing of what its folder says."""
    from dbt_planproof.compiler import compile_project
    from planproof.project.nodes import settings_of

    unsaid = (dbt.root / "dbt_project.yml").read_text("utf-8")
    folders = """
    models:
      shop:
        +meta: {owner: us, planproof: {guard: off, fail_on: unproved}}
        marts: {+meta: {planproof: {guard: on}}}
    """
    own = "{{ config(meta={'planproof': {'guard': 'watch'}}) }} select 1 as id"
    dbt.write({**MODELS, "models/marts/mart.sql": "select 1 as id", "models/marts/own.sql": own})
    try:
        dbt.write({"dbt_project.yml": unsaid + textwrap.dedent(folders)})
        nodes = compile_project(dbt.root, profiles_dir=dbt.root)["nodes"]
    finally:
        dbt.write({"dbt_project.yml": unsaid})
        shutil.rmtree(dbt.root / "models/marts")
    found = {name: settings_of(nodes[f"model.shop.{name}"]) for name in ("first", "mart", "own")}
    assert {name: (found[name].guard, found[name].fail_on) for name in found} == {
        "first": ("off", "unproved"),
        "mart": ("on", "violated"),
        "own": ("watch", "violated"),
    }
    assert nodes["model.shop.own"]["config"]["meta"]["owner"] == "us"


def test_the_manifest_of_another_dbt_in_the_same_target_is_not_taken() -> None:
    from dbt_planproof.compiler import read_own_manifest

    written = b'{"metadata": {"invocation_id": "mine"}, "nodes": {}}'
    assert read_own_manifest("mine", written) == {"metadata": {"invocation_id": "mine"}, "nodes": {}}
    assert read_own_manifest("another", written) is None
    assert read_own_manifest("mine", written[:-9]) is None


def test_a_project_that_does_not_compile_says_why(dbt: Any) -> None:
    from dbt_planproof.compiler import CompileFailed, compile_project

    dbt.write({**MODELS, "models/wrong.sql": "select * from {{ ref('nowhere') }}"})
    with pytest.raises(CompileFailed, match="nowhere") as failure:
        compile_project(dbt.root, profiles_dir=dbt.root)
    assert isinstance(failure.value, ProjectError)
    (dbt.root / "models/wrong.sql").unlink()


def test_one_model_that_does_not_compile_leaves_the_texts_of_the_others(dbt: Any) -> None:
    from dbt_planproof.compiler import CompileFailed, compile_project

    wrong = "{% if execute %}{{ exceptions.raise_compiler_error('not in this warehouse') }}{% endif %} select 1 as id"
    dbt.write({**MODELS, "models/wrong.sql": wrong})
    with pytest.raises(CompileFailed, match="not in this warehouse"):
        compile_project(dbt.root, profiles_dir=dbt.root)
    said: list[str] = []
    manifest = compile_project(dbt.root, profiles_dir=dbt.root, failed=said.append)
    assert [("wrong" in why, "not in this warehouse" in why) for why in said] == [(True, True)]
    texts = {n["name"] for n in manifest["nodes"].values() if n.get("compiled_code")}
    assert texts == {"first", "grown"}
    (dbt.root / "models/wrong.sql").unlink()


@pytest.mark.parametrize(("query", "lasting"), [("select id from {t}", False), ("select no_such from {t}", True)])
def test_a_file_that_is_gone_while_a_model_compiles_is_no_lasting_failure(dbt: Any, query: str, lasting: bool) -> None:
    """Another writer has just replaced it, or the storage was away: Airflow tries again."""
    from dbt_planproof.compiler import CompileFailed, compile_project

    table = f"{dbt.place}.read_{'well' if lasting else 'not'}"
    dbt.spark.sql(f"create table {table} using parquet as select 1 as id")
    if not lasting:
        [[file]] = dbt.spark.sql(f"select input_file_name() from {table}").collect()
        Path(file.removeprefix("file:").replace("///", "/")).unlink()
    asks = "{% if execute %}{% set rows = run_query('" + query.format(t=table) + "') %}{% endif %} select 1 as id"
    dbt.write({**MODELS, "models/asks.sql": asks})
    with pytest.raises(CompileFailed) as failure:
        compile_project(dbt.root, profiles_dir=dbt.root)
    assert is_lasting(failure.value) == lasting, failure.value
    (dbt.root / "models/asks.sql").unlink()


def test_the_switch_leaves_dbt_as_it_is(dbt: Any) -> None:
    import dbt.adapters.spark as plain

    dbt.write(MODELS)
    assert dbt.run("run", "--select", "first", guarded=True).success
    assert hasattr(plain.Plugin.adapter, "planproof_gated")
    assert dbt.run("run", "--select", "first", guarded=False).success
    assert not hasattr(plain.Plugin.adapter, "planproof_gated")
    assert plain.Plugin.adapter.__name__ == "SparkAdapter"


def test_importing_the_plugin_imports_the_standard_library_only() -> None:
    code = "import sys, dbt_planproof; print([m for m in sys.modules if m.split('.')[0] in ('dbt', 'planproof')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_dbt_there_is_no_plugin() -> None:
    code = "import sys; sys.modules['dbt'] = None; import dbt_planproof; print(dbt_planproof.plugins)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
