"""The offline check of a project that dbt-databricks compiled."""

from __future__ import annotations

from offline_reports import ID, VIEW

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
