"""The offline check of a project that dbt-databricks compiled."""

from __future__ import annotations

import pytest
from offline_reports import ID, ORDERS, VIEW

from planproof.project import ProjectError, read_project
from planproof.project.check import describe_rules, remark_on_schemas
from planproof.project.location import ProjectLocation
from planproof.project.offline import OfflineCheck
from planproof.project.profile import DBT_CONF
from planproof.project.sources import read_frozen
from planproof_engine.finding import Verdict

STREAM = {"materialized": "streaming_table"}


def of_databricks(manifest):
    manifest["metadata"]["adapter_type"] = "databricks"
    for node in manifest["nodes"].values():
        node["database"] = "main"
        node["relation_name"] = f"`main`.`{node['schema']}`.`{node['name']}`"


def test_a_project_of_databricks_is_judged_where_spark_s_rules_hold(check):
    models = {
        "asked": {"sql": "select ai_query('m', 'hello') as answer", "config": {"materialized": "materialized_view"}},
        "loaded": {"sql": "select * from stream read_files('/landing')", "config": STREAM},
        "read": {"sql": "select id from main.shop.loaded", "parents": ["loaded"]},
        "parsed": {"sql": "select id, tags::string as tags from raw.orders", "parents": ["raw.orders"], "config": VIEW},
        "kept": {
            "sql": "select id, '{}':a.b as b from main.shop.parsed qualify row_number() over (order by id) = 1",
            "parents": ["parsed"],
            "contract": True,
            "columns": {"id": ID, "b": "string"},
        },
        "broken": {
            "sql": "select id as other from main.shop.parsed",
            "parents": ["parsed"],
            "contract": True,
            "columns": {"id": ID},
        },
    }
    reports = check(models, change=of_databricks)
    assert {name: report.verdict for name, report in reports.items()} == {
        "asked": Verdict.UNPROVED,
        "loaded": Verdict.UNPROVED,
        "read": Verdict.UNPROVED,
        "parsed": Verdict.PROVED,
        "kept": Verdict.PROVED,
        "broken": Verdict.VIOLATED,
    }
    said = {name: " ".join(f.message for f in report.findings) for name, report in reports.items()}
    assert "ai_query" in said["asked"]
    assert "STREAM" in said["loaded"]
    assert "main.shop.loaded" in said["read"]


def test_the_runtime_says_whether_a_cast_fails(check):
    """ANSI is on from Runtime 17 on; dbt-spark's own setting is not dbt-databricks'."""
    models = {
        "cast": {
            "sql": "select cast('1' as int) as n",
            "contract": True,
            "columns": {"n": {"data_type": "int", "constraints": [{"type": "not_null"}]}},
        }
    }
    found = {
        runtime: check(models, change=of_databricks, overrides={"spark": f"databricks-{runtime}"})["cast"].verdict
        for runtime in ("16.4", "17.3")
    }
    assert found == {"16.4": Verdict.UNPROVED, "17.3": Verdict.PROVED}


def test_a_relation_of_another_catalog_is_unproved_in_plain_words(check):
    models = {"read": {"sql": "select o_orderkey from samples.tpch.orders"}}
    (finding,) = check(models, change=of_databricks)["read"].findings
    assert finding.verdict is Verdict.UNPROVED
    assert finding.message == (
        "[TABLE_OR_VIEW_NOT_FOUND] The table or view `samples`.`tpch`.`orders` cannot be found; a hook, a macro or "
        "another job may provide it"
    )


def test_dbt_spark_may_build_on_databricks(check):
    """`spark: databricks-...` is said of a project of dbt-spark, which reaches a cluster over Thrift or ODBC."""
    models = {
        "read": {"sql": "select '{}':kind::int as kind, main.shop.mask(id) as id from raw.orders"},
        "text": {"sql": "select '{}':kind as kind from raw.orders", "parents": ["raw.orders"]},
    }
    found = {spark: check(models, overrides={"spark": spark}) for spark in ("databricks-17.3", "4.0")}
    assert [r.verdict for r in found["databricks-17.3"].values()] == [Verdict.UNPROVED, Verdict.PROVED]
    assert "main.shop.mask" in found["databricks-17.3"]["read"].findings[0].message
    assert found["4.0"]["text"].verdict is Verdict.VIOLATED


def test_what_was_frozen_says_which_rules_hold(dbt_manifest, tmp_path):
    manifest = dbt_manifest({"m": {"sql": "select id from raw.orders", "parents": ["raw.orders"]}}, ORDERS)
    of_databricks(manifest)
    frozen = tmp_path / "sources.json"
    frozen.write_text('{"version": 1, "spark": "4.0", "sources": {}}')
    project = read_project(manifest)
    said = describe_rules(OfflineCheck(project, DBT_CONF, read_frozen(project, frozen), {}))
    assert said.startswith("checked for Databricks by the rules of Spark 4.0 (named in ")


def test_no_step_is_advised_that_a_target_of_databricks_refuses(dbt_manifest):
    manifest = dbt_manifest({"m": {"sql": "select id from raw.orders", "parents": ["raw.orders"]}}, {"raw.orders": {}})
    of_databricks(manifest)
    project = read_project(manifest)
    check = OfflineCheck(project, DBT_CONF, read_frozen(project, None), {})
    for node in project.nodes.values():
        check.visit(node)
    assert "declare the data_type of every column" in str(remark_on_schemas(check))


def test_a_target_of_databricks_that_is_named_stops_no_offline_check(tmp_path):
    """As `dbt compile -t prod` was told it."""
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    outputs = "dev: {type: databricks, schema: shop}, mine: {type: duckdb}"
    (tmp_path / "profiles.yml").write_text(f"shop: {{target: dev, outputs: {{{outputs}}}}}")
    assert ProjectLocation(tmp_path, profiles_dir=tmp_path, target="dev").conf() == DBT_CONF
    with pytest.raises(ProjectError, match="type 'duckdb'"):
        ProjectLocation(tmp_path, profiles_dir=tmp_path, target="mine").conf()
