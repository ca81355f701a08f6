"""The check and the audit in real DAGs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.hive

CHECK = """
from datetime import datetime, timedelta
from airflow.providers.common.compat.sdk import DAG
from airflow_planproof import PlanproofCheckOperator

again = {"retries": 3, "retry_delay": timedelta(0)}
with DAG("tested", schedule=None, start_date=datetime(2026, 1, 1), default_args=again) as dag:
    PlanproofCheckOperator(task_id="healthy", project_dir=PROJECT, select=["customers", "orders"])
    PlanproofCheckOperator(task_id="broken", manifest=PROJECT + "/target/manifest.json", fail_on="unproved")
    PlanproofCheckOperator(task_id="advice", project_dir="{{ params.project }}", fail_on="never")
    PlanproofCheckOperator(task_id="missing", project_dir=PROJECT + "/nowhere")
"""

AUDIT = """
from datetime import datetime, timedelta
from airflow.providers.common.compat.sdk import DAG
from airflow_planproof import PlanproofAuditOperator
from planproof import Contract

again = {"retries": 3, "retry_delay": timedelta(0)}
kept = [("id", "bigint", False), ("name", "string", True)]
promised = {"columns": [{"name": "id", "type": "bigint"}, {"name": "name", "type": "string", "nullable": False}]}
with DAG("tested", schedule=None, start_date=datetime(2026, 1, 1), default_args=again) as dag:
    PlanproofAuditOperator(task_id="table", tables=TABLE, contract=Contract(kept))
    PlanproofAuditOperator(task_id="broken", tables=["spark_catalog." + TABLE], contract=promised)
    PlanproofAuditOperator(task_id="files", paths="{{ params.path }}", contract=kept)
    PlanproofAuditOperator(task_id="project", project_dir=PROJECT, env={"SHOP_SCHEMA": SCHEMA}, select="customers")
"""


def test_check(
    run_dag: Callable[..., Any], shop: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, session: Any
) -> None:
    from dbt_planproof.compiler import compile_project

    monkeypatch.setenv("SHOP_SCHEMA", "shop")
    with session.preserve_settings():
        compile_project(shop, shop, vars={"join": "left"})
    monkeypatch.delenv("SHOP_SCHEMA")
    ran = run_dag(
        CHECK.replace("default_args=again", "default_args=again, params={'project': PROJECT}"), PROJECT=str(shop)
    )
    assert ran.states == {"healthy": "success", "broken": "failed", "advice": "success", "missing": "failed"}, (
        ran.failures
    )
    assert set(ran.tries.values()) == {1}
    assert [r["verdict"] for r in ran.xcoms["healthy"]["return_value"]["reports"]] == ["proved", "proved"]
    broken = ran.xcoms["broken"]["planproof_report"]
    assert "return_value" not in ran.xcoms["broken"]
    (stopped,) = [r for r in broken["reports"] if r["verdict"] != "proved"]
    assert stopped["model"] == "shop.customer_orders"
    assert {f["field"] for f in stopped["findings"] if f["verdict"] != "proved"} == {"order_id"}
    advice = ran.xcoms["advice"]["return_value"]["reports"]
    assert [r["findings"] for r in advice] == [r["findings"] for r in broken["reports"]]
    assert "PlanproofCannotRun" in ran.log
    assert "there is no such directory" in ran.log


def test_audit(
    run_dag: Callable[..., Any], shop: Path, spark: SparkSession, database: str, tmp_path: Path, session: Any
) -> None:
    from dbt_planproof.compiler import compile_project

    os.environ["SHOP_SCHEMA"] = database
    try:
        with session.preserve_settings():
            compile_project(shop, shop)
    finally:
        del os.environ["SHOP_SCHEMA"]
    rows = "select * from values (1L, 'ada'), (2L, cast(null as string)) as t(id, name)"
    spark.sql(f"create table {database}.people using parquet as {rows}")
    spark.sql(f"create table {database}.customers using parquet as select 1 as id, 'ada' as name")
    spark.sql(rows).write.parquet(str(tmp_path / "people"))
    before = sorted(p.name for p in tmp_path.rglob("*"))
    ran = run_dag(
        AUDIT.replace("default_args=again", "default_args=again, params={'path': PATH}"),
        TABLE=f"{database}.people",
        PATH=str(tmp_path / "people"),
        PROJECT=str(shop),
        SCHEMA=database,
    )
    assert ran.states == {"table": "success", "broken": "failed", "files": "success", "project": "success"}, (
        ran.failures
    )
    assert set(ran.tries.values()) == {1}
    (report,) = ran.xcoms["broken"]["planproof_report"]["reports"]
    assert (report["model"], report["outcome"]) == (f"spark_catalog.{database}.people", "audited")
    assert [(f["code"], f["field"]) for f in report["findings"] if f["verdict"] == "violated"] == [("PP505", "name")]
    assert "PP505 violated column name: promised" in ran.log
    assert [r["model"] for r in ran.xcoms["project"]["return_value"]["reports"]] == [f"{database}.customers"]
    assert sorted(p.name for p in tmp_path.rglob("*")) == before
