"""A table that Python makes, once the demo's tables keep their contracts: a sensor, `@task.planproof`, and dbt's tests.

It reads what the DAG `planproof_shop` left behind, and finds it in the same places.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

from airflow.providers.common.compat.sdk import DAG, Asset, task

from airflow_planproof import PlanproofContractSensor, PlanproofDbtOperator

HERE = Path(__file__).resolve().parent
PROJECT = os.environ.get("PLANPROOF_DEMO_PROJECT", str(HERE / "project"))
SCHEMA = os.environ.get("PLANPROOF_DEMO_SCHEMA", "shop")
HOME = os.environ.get("PLANPROOF_DEMO_HOME", str(HERE.parent / ".demo"))
HOME = f"{{{{ var.value.get('planproof_demo_home', '{HOME}') }}}}"
ENV = {"PLANPROOF_DEMO_HOME": HOME, "DBT_TARGET_PATH": f"{HOME}/target", "DBT_LOG_PATH": f"{HOME}/logs"}

with DAG(
    "planproof_segments",
    schedule=None,
    start_date=datetime(2026, 1, 1),
    # The embedded metastore serves one process at a time.
    max_active_runs=1,
    max_active_tasks=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=1), "execution_timeout": timedelta(minutes=30)},
    tags=["planproof"],
    doc_md=__doc__,
) as dag:
    customers = PlanproofContractSensor(
        task_id="customers",
        project_dir=PROJECT,
        profiles_dir=PROJECT,
        manifest=f"{HOME}/target/manifest.json",
        select="customer_activity",
        mode="reschedule",
        poke_interval=60,
        timeout=3600,
        env=ENV,
    )

    @task.planproof(
        table=f"{SCHEMA}.segment_sizes",
        contract=[("market_segment", "string", False), ("customers", "bigint", False)],
        outlets=[Asset(f"x-planproof://shop/{SCHEMA}/segment_sizes")],
        project_dir=PROJECT,
        env=ENV,
    )
    def segment_sizes(spark, schema):
        activity = spark.table(f"{schema}.customer_activity")
        return activity.groupBy("market_segment").count().withColumnRenamed("count", "customers")

    tests = PlanproofDbtOperator(
        task_id="tests",
        command="test",
        project_dir=PROJECT,
        profiles_dir=PROJECT,
        select="customer_activity nation_revenue",
        env=ENV,
    )
    customers >> segment_sizes(schema=SCHEMA) >> tests


if __name__ == "__main__":
    dag.test()
