"""The guarded run in real DAGs on real Spark: what is published, what is retried, what is announced."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.hive

RUN = """
from airflow.providers.common.compat.sdk import DAG, Asset
from airflow_planproof import PlanproofRunOperator

GIVEN = {"retries": 3, "retry_delay": datetime.timedelta(0), **GIVEN}
with DAG("tested", schedule=None, start_date=datetime.datetime(2026, 1, 1)) as dag:
    PlanproofRunOperator(
        task_id="run", project_dir=PROJECT, profiles_dir=PROJECT, env={"SHOP_SCHEMA": SCHEMA},
        outlets=[Asset("x-shop://totals")], **GIVEN,
    )
"""


@pytest.fixture
def run(run_dag: Callable[..., Any], shop: Path, database: str) -> Callable[..., Any]:
    """Runs the shop's models as a DAG of one task `run` with three retries, on top of these arguments."""
    return lambda **given: run_dag(RUN, PROJECT=str(shop), SCHEMA=database, GIVEN=given)


def outcomes(report: dict[str, Any]) -> dict[str, str]:
    return {r["model"].rpartition(".")[2]: r["outcome"] for r in report["reports"]}


def test_published_then_stopped(run: Callable[..., Any], spark: SparkSession, database: str) -> None:
    """One healthy run, one that breaks a contract, one that breaks it where nothing may fail."""
    ansi = spark.conf.get("spark.sql.ansi.enabled")
    green = run()
    assert green.states == {"run": "success"}, green.failures
    assert green.xcoms["run"]["planproof_report"] == green.xcoms["run"]["return_value"]
    assert green.xcoms["run"]["return_value"]["verdict"] == "proved"
    assert set(outcomes(green.xcoms["run"]["return_value"]).values()) == {"published"}
    assert [uri.rstrip("/") for uri in green.events] == ["x-shop://totals"]
    (extra,) = green.extras.values()
    totals = extra["models"][f"{database}.customer_orders"]
    assert (totals["rows"], totals["verdict"]) == (3, "proved")
    assert totals["contract_hash"]
    assert totals["schema_hash"]
    rows = sorted(spark.table(f"{database}.customer_orders").collect())
    assert rows == [(1, 10), (1, 11), (2, 12)]
    assert spark.conf.get("spark.sql.ansi.enabled") == ansi

    red = run(vars={"join": "left"})
    assert red.states == {"run": "failed"}, red.failures
    assert red.tries == {"run": 1}
    assert set(red.xcoms["run"]) == {"planproof_report", "planproof_report_url"}
    assert outcomes(red.xcoms["run"]["planproof_report"]) == {
        "customers": "published",
        "orders": "published",
        "customer_orders": "rejected",
        "customer_totals": "skipped",
    }
    assert red.events == []
    assert sorted(spark.table(f"{database}.customer_orders").collect()) == rows
    said = red.log[red.log.index("PlanproofViolation: ") :].partition("::group::")[0]
    assert f"{database}.customer_orders was not published: 1 violation" in said
    assert "The table published before is still there, with its 3 rows." in said
    assert "PP505 violated column order_id: promised NOT NULL, found 1 null" in said
    assert "at models/customer_orders.sql:3:5" in said
    assert "next (" in said
    assert f"skipped, because its parent {database}.customer_orders was not published: " in said
    url = red.xcoms["run"]["planproof_report"]["url"]
    assert url == red.xcoms["run"]["planproof_report_url"]
    assert "/planproof/report/tested/" in url
    assert f"report: {url}" in said

    never = run(vars={"join": "left"}, fail_on="never")
    assert never.states == {"run": "success"}, never.failures
    assert never.xcoms["run"]["return_value"]["verdict"] == "violated"
    assert set(outcomes(never.xcoms["run"]["return_value"]).values()) == {"published"}
    assert len(never.events) == 1
    assert spark.table(f"{database}.customer_orders").count() == 4


def test_nothing_is_announced_that_was_not_published(run: Callable[..., Any], shop: Path, spark: SparkSession) -> None:
    """Spark rejects the model, which `fail_on: never` lets pass."""
    (shop / "models" / "customers.sql").write_text("select no_such_column as id, 'ada' as name")
    ran = run(select="customers", fail_on="never")
    assert ran.states == {"run": "success"}, ran.failures
    assert outcomes(ran.xcoms["run"]["return_value"]) == {"customers": "rejected"}
    assert ran.events == []


@pytest.fixture
def damaged(spark: SparkSession, tmp_path: Path) -> Path:
    """A Parquet file with a sound footer and pages that cannot be read; its sound copy lies beside it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = tmp_path / "sales" / "part-0.parquet"
    file.parent.mkdir()
    pq.write_table(pa.table({"id": list(range(20_000))}), file, compression="zstd")
    sound = file.read_bytes()
    (tmp_path / "sound.parquet").write_bytes(sound)
    file.write_bytes(sound[:8] + bytes(len(sound) // 2) + sound[8 + len(sound) // 2 :])
    return file


def test_spark_trouble_is_retried(
    run_dag: Callable[..., Any], shop: Path, database: str, damaged: Path, spark: SparkSession
) -> None:
    (shop / "models" / "sales.sql").write_text(f"select id from parquet.`{damaged.parent}`")
    ran = run_dag(
        "import shutil\n"
        + RUN.replace("outlets=", "on_retry_callback=lambda context: shutil.copy(SOUND, DAMAGED), outlets="),
        PROJECT=str(shop),
        SCHEMA=database,
        GIVEN={"select": "sales"},
        SOUND=str(damaged.parents[1] / "sound.parquet"),
        DAMAGED=str(damaged),
    )
    assert "PlanproofRunFailed: planproof: 1 of 1 model could not run" in ran.log
    assert ran.states == {"run": "success"}, ran.failures
    assert ran.tries == {"run": 2}
    assert len(ran.events) == 1
    assert spark.table(f"{database}.sales").count() == 20_000


ENDLESS = "select sum(hash(a.id, b.id)) as total from range(3000000) as a cross join range(3000000) as b"


def test_a_timeout_cancels_the_spark_job(
    run: Callable[..., Any], shop: Path, database: str, spark: SparkSession
) -> None:
    (shop / "models" / "endless.sql").write_text(ENDLESS)
    ran = run(select="endless", retries=0, execution_timeout=timedelta(seconds=12))
    assert ran.states == {"run": "failed"}, ran.failures
    assert "AirflowTaskTimeout" in ran.log
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    assert not spark.catalog.tableExists(f"{database}.endless")


def test_a_kill_cancels_the_spark_job(run: Callable[..., Any], shop: Path, database: str, spark: SparkSession) -> None:
    """SIGTERM while the job runs, as Airflow sends it to a task that was set to failed; the next run is healthy."""
    (shop / "models" / "endless.sql").write_text(ENDLESS)
    jobs = spark.sparkContext.statusTracker()

    def kill() -> None:
        while not jobs.getActiveJobsIds():
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        ran = run(select="endless", retries=0)
    finally:
        signal.signal(signal.SIGTERM, before)
    killer.join()
    assert ran.states == {"run": "failed"}, ran.failures
    # Airflow 2 ends the task by an exception of its own once `on_kill` returned.
    assert "WorkCancelled" in ran.failures or "AirflowTaskTerminated" in ran.log
    assert "the Spark work was cancelled" in ran.log
    assert not jobs.getActiveJobsIds()
    assert not spark.catalog.tableExists(f"{database}.endless")
    (shop / "models" / "endless.sql").write_text("select 1 as total")
    again = run(select="endless")
    assert again.states == {"run": "success"}, again.failures


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"select": "custmers"}, "did you mean 'customers'"),
        ({"target": "prod"}, "has no target 'prod'"),
    ],
)
def test_wrong_arguments_fail_at_once(run: Callable[..., Any], spark: SparkSession, given: Any, reason: str) -> None:
    ran = run(**given)
    assert ran.states == {"run": "failed"}, ran.failures
    assert ran.tries == {"run": 1}
    assert reason in ran.log.partition("PlanproofCannotRun: ")[2]


def test_a_project_that_dbt_refuses_fails_at_once(run: Callable[..., Any], shop: Path, spark: SparkSession) -> None:
    (shop / "models" / "customers.sql").write_text("select {{ no_such_macro() }} as id")
    ran = run()
    assert ran.states == {"run": "failed"}, ran.failures
    assert ran.tries == {"run": 1}
    assert "no_such_macro" in ran.failures.partition("PlanproofCannotRun: ")[2]
