"""The demo's dbt project under Airflow: checked offline, run through the guard, audited.

Data, warehouse and dbt's target directory lie below the Airflow Variable `planproof_demo_home`, else below
$PLANPROOF_DEMO_HOME, else in `.demo` beside this file's folder. The dbt project is $PLANPROOF_DEMO_PROJECT, else the
folder `project` beside this file. Run it with the parameter `customer_join: left` to see a contract broken.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

from airflow.providers.common.compat.sdk import DAG, Asset, task

from airflow_planproof import PlanproofAuditOperator, PlanproofCheckOperator, PlanproofRunOperator

HERE = Path(__file__).resolve().parent
PROJECT = os.environ.get("PLANPROOF_DEMO_PROJECT", str(HERE / "project"))
HOME = os.environ.get("PLANPROOF_DEMO_HOME", str(HERE.parent / ".demo"))
HOME = f"{{{{ var.value.get('planproof_demo_home', '{HOME}') }}}}"
# The project's profile asks for the first one; the others keep dbt from writing into the project's folder.
ENV = {"PLANPROOF_DEMO_HOME": HOME, "DBT_TARGET_PATH": f"{HOME}/target", "DBT_LOG_PATH": f"{HOME}/logs"}
MANIFEST = f"{HOME}/target/manifest.json"

with DAG(
    "planproof_shop",
    schedule=None,
    start_date=datetime(2026, 1, 1),
    # The embedded metastore serves one process at a time.
    max_active_runs=1,
    max_active_tasks=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=1), "execution_timeout": timedelta(minutes=30)},
    params={"customer_join": "inner", "scale": 0.02, "select": ""},
    tags=["planproof"],
    doc_md=__doc__,
) as dag:

    @task
    def prepare(env: dict[str, str], join: str, scale: str) -> None:
        """Generates the sources, registers them, loads the seed, and compiles the project for the offline check."""
        import json
        import sys

        from dbt.cli.main import dbtRunner

        sys.path.insert(0, str(HERE))
        from demo_data import generate

        os.environ.update(env)
        generate(Path(env["PLANPROOF_DEMO_HOME"]), float(scale))
        for command in (["run-operation", "register_sources"], ["seed"], ["compile"]):
            place = ["--project-dir", PROJECT, "--profiles-dir", PROJECT, "--vars", json.dumps({"customer_join": join})]
            result = dbtRunner().invoke([*command, *place])
            if not result.success:
                raise RuntimeError(f"dbt {command[0]} failed: {result.exception or 'see the log above'}")

    check = PlanproofCheckOperator(
        task_id="check",
        project_dir=PROJECT,
        manifest=MANIFEST,
        env=ENV,
    )
    run = PlanproofRunOperator(
        task_id="run",
        project_dir=PROJECT,
        profiles_dir=PROJECT,
        select="{{ params.select }}",
        vars={"customer_join": "{{ params.customer_join }}"},
        env=ENV,
        outlets=[Asset("x-planproof://shop/marts")],
    )
    audit = PlanproofAuditOperator(
        task_id="audit",
        project_dir=PROJECT,
        profiles_dir=PROJECT,
        manifest=MANIFEST,
        select="marts",
        env=ENV,
    )
    prepare(ENV, "{{ params.customer_join }}", "{{ params.scale }}") >> check >> run >> audit


if __name__ == "__main__":
    dag.test()
