"""A scheduled audit of what is stored: tables against the dbt project's contracts, files against one written here.

It reads what the DAG `planproof_shop` left behind, and finds it in the same places.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

from airflow.providers.common.compat.sdk import DAG

from airflow_planproof import PlanproofAuditOperator

HERE = Path(__file__).resolve().parent
PROJECT = os.environ.get("PLANPROOF_DEMO_PROJECT", str(HERE / "project"))
HOME = os.environ.get("PLANPROOF_DEMO_HOME", str(HERE.parent / ".demo"))
HOME = f"{{{{ var.value.get('planproof_demo_home', '{HOME}') }}}}"
ENV = {"PLANPROOF_DEMO_HOME": HOME}

with DAG(
    "planproof_audit",
    schedule="0 6 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    max_active_tasks=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5), "execution_timeout": timedelta(minutes=30)},
    tags=["planproof"],
    doc_md=__doc__,
) as dag:
    marts = PlanproofAuditOperator(
        task_id="marts",
        project_dir=PROJECT,
        profiles_dir=PROJECT,
        manifest=f"{HOME}/target/manifest.json",
        select="marts",
        env=ENV,
    )
    nations = PlanproofAuditOperator(
        task_id="nations",
        paths=f"{HOME}/tpch/nation.parquet",
        contract={
            "columns": [
                {"name": "n_nationkey", "type": "bigint", "nullable": False},
                {"name": "n_name", "type": "string", "nullable": False},
                {"name": "n_regionkey", "type": "bigint", "nullable": False},
                {"name": "n_comment", "type": "string"},
            ],
            "constraints": [{"type": "unique", "columns": ["n_nationkey"]}],
        },
    )
    marts >> nations


if __name__ == "__main__":
    dag.test()
