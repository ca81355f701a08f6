"""The executor's loop with the real guard on real Spark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planproof.guard import Guard
from planproof.project import read_project, select_models
from planproof.project.run import run_project, select_runnable
from planproof.report.run import RunReport
from planproof.report.text import render_plain
from planproof_engine.finding import Verdict

pytestmark = pytest.mark.hive

NOT_NULL = [{"type": "not_null"}]


@pytest.fixture
def shop(dbt_manifest, database, tmp_path):
    """The project in a database of its own: two views, a contracted table in another order, and its child."""

    def build(total="total", tests=None, setting=None, **meta):
        meta = {**meta, "tests": setting} if setting else meta
        mart = f"select\n  {total} as total,\n  id\nfrom {database}.stg"
        (tmp_path / "models").mkdir(exist_ok=True)
        (tmp_path / "models" / "mart.sql").write_text(f"\n\n{mart}\n")
        models = {
            "stg": {
                "sql": "select * from values (1L, 10), (2L, 20) as t(id, total)",
                "config": {"materialized": "view"},
            },
            "mart": {
                "sql": mart,
                "parents": ["stg"],
                "contract": True,
                "columns": {"id": "bigint", "total": {"data_type": "int", "constraints": NOT_NULL}},
                "config": {"meta": {"planproof": meta}},
            },
            "child": {"sql": f"select sum(total) as s from {database}.mart", "parents": ["mart"]},
        }
        manifest = dbt_manifest(models)
        for node in manifest["nodes"].values():
            node["relation_name"] = f"`{database}`.`{node['name']}`"
        for name, (sql, *parents) in (tests or {}).items():
            manifest["nodes"][f"test.shop.{name}"] = {
                "resource_type": "test",
                "name": name,
                "compiled_code": sql,
                "config": {"severity": "ERROR"},
                "depends_on": {"nodes": [f"model.shop.{parent}" for parent in parents]},
                "original_file_path": f"tests/{name}.sql",
            }
        return replace(read_project(manifest), directory=tmp_path)

    return build


def run(project, session):
    reports = run_project(project, select_runnable(select_models(project), fresh=True), Guard(session), session=session)
    return {report.details.name: report for report in reports}


def test_models_are_published_in_order_and_as_dbt_stores_them(shop, session, spark, database):
    reports = run(shop(), session)
    assert {name: report.outcome for name, report in reports.items()} == dict.fromkeys(reports, "published")
    assert spark.table(f"{database}.mart").columns == ["id", "total"]
    assert spark.table(f"{database}.child").first().s == 30
    assert reports["mart"].verdict is Verdict.PROVED


def test_a_watched_model_is_published_and_its_report_says_what_would_have_stopped_it(shop, session, spark, database):
    reports = run(shop("nullif(total, 20)", guard="watch", on_violation="quarantine"), session)
    mart = reports["mart"]
    assert (mart.outcome, mart.verdict, mart.details.guard) == ("published", Verdict.VIOLATED, "watch")
    assert spark.table(f"{database}.mart").count() == 2
    assert RunReport((mart,)).exit_code("violated") == 0
    assert "`guard: watch` stops nothing" in render_plain([mart])


def test_a_broken_model_leaves_its_table_and_its_children_alone(shop, session, spark, database):
    run(shop(), session)
    reports = run(shop("nullif(total, 20)"), session)
    assert {name: report.outcome for name, report in reports.items()} == {
        "stg": "published",
        "mart": "rejected",
        "child": "skipped",
    }
    assert [tuple(row) for row in spark.table(f"{database}.mart").orderBy("id").collect()] == [(1, 10), (2, 20)]
    assert reports["mart"].details.previous_rows == 2
    text = render_plain(reports.values())
    assert "The table published before is still there, with its 2 rows." in text
    assert f"its parent {database}.mart was not published" in text


def test_a_first_publish_that_is_stopped_leaves_nothing(shop, session, spark, database):
    reports = run(shop("nullif(total, 20)"), session)
    assert reports["mart"].details.previous is False
    assert not spark.catalog.tableExists(f"{database}.mart")


def test_a_query_that_spark_rejects_is_stopped_at_its_line(shop, session):
    report = run(shop("totall"), session)["mart"]
    (finding,) = report.of(Verdict.VIOLATED)
    assert (report.outcome, finding.code) == ("rejected", "PP110")
    assert str(finding.origin) == "models/mart.sql:4:3"
    assert report.details.lines == {"models/mart.sql:4": "  totall as total,"}


def test_compiled_data_tests_run_before_a_model_is_published(shop, session, spark, database):
    tests = {
        "small": (f"select * from {database}.mart where total > 20", "mart"),
        "with_its_parent": (f"select 1 from {database}.mart join {database}.stg using (id) where false", "mart", "stg"),
        "with_its_child": (f"select 1 from {database}.child, {database}.mart where false", "child", "mart"),
        "not_compiled": (None, "mart"),
    }
    found = run(shop(tests=tests, setting="before"), session)
    assert found["mart"].outcome == "published"
    assert {t.name: (t.status, t.said.partition(",")[0]) for t in found["mart"].details.tests} == {
        "small": ("pass", "counted over the staged rows"),
        "with_its_parent": ("pass", "counted over the staged rows"),
        "with_its_child": ("not run", "it reads child"),
        "not_compiled": ("not run", "the manifest holds no compiled SQL for it; compile it with its model"),
    }
    stopped = run(shop("total + 1", tests=tests, setting="before"), session)
    assert {name: report.outcome for name, report in stopped.items()} == {
        "stg": "published",
        "mart": "rejected",
        "child": "skipped",
    }
    assert spark.table(f"{database}.child").first().s == 30
