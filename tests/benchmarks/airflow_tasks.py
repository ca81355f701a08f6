"""What the operators cost beside the work itself: DAG parsing, and a task around the guard.

    .venv/bin/python tests/benchmarks/airflow_tasks.py

Both figures are differences of medians in one run. The second one starts Spark.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

ROUNDS = 5
PARSED = """
import time
from airflow.providers.common.compat.sdk import DAG, BaseOperator, BaseSensorOperator
from airflow.providers.standard.operators.empty import EmptyOperator
began = time.process_time()
{dag}
print(time.process_time() - began)
"""
PLAIN = """
with DAG("d", schedule=None):
    EmptyOperator(task_id="run")
    EmptyOperator(task_id="check")
"""
OURS = """
from airflow_planproof import PlanproofAuditOperator, PlanproofCheckOperator, PlanproofContractSensor
from airflow_planproof import PlanproofDbtOperator, PlanproofRunOperator
with DAG("d", schedule=None):
    PlanproofRunOperator(task_id="run", project_dir=".")
    PlanproofCheckOperator(task_id="check", project_dir=".")
"""


def parsing() -> float:
    """Seconds of CPU that our import and two operators add to a DAG file, in a fresh process each."""

    def once(dag: str) -> float:
        ran = subprocess.run([sys.executable, "-c", PARSED.format(dag=dag)], capture_output=True, text=True, check=True)
        return float(ran.stdout.split()[-1])

    rounds = [(once(OURS), once(PLAIN)) for _ in range(2 * ROUNDS + 1)]
    return statistics.median(ours for ours, _ in rounds) - statistics.median(plain for _, plain in rounds)


class Task:
    """As much of a task instance as an operator asks for."""

    dag_id, run_id, task_id, map_index = "d", "r", "run", -1

    def xcom_push(self, key: str, value: Any) -> None: ...


def overhead(home: Path) -> tuple[float, list[float]]:
    """(seconds of a run by the core alone, seconds that the operator around it adds, per round), on a warm Spark."""
    from airflow_planproof import PlanproofRunOperator

    project = _project(home)
    os.environ["BENCH_SCHEMA"] = "default"
    operator = PlanproofRunOperator(task_id="run", project_dir=str(project), profiles_dir=str(project), threads=1)
    request = operator.request()
    spark = {"spark.sql.warehouse.dir": (home / "warehouse").as_uri(), "spark.sql.shuffle.partitions": "2"}
    os.chdir(home)
    session = replace(request, spark=spark).open_session()

    def alone() -> None:
        with session.preserve_settings():
            request.reports(session)

    def task() -> None:
        operator.execute({"ti": Task(), "outlet_events": {}})

    alone()
    task()
    rounds = []
    for number in range(2 * ROUNDS):
        # Spark grows faster from one run to the next: each of the two is the first one as often.
        pair = (alone, task) if number % 2 else (task, alone)
        seconds = {call: _seconds(call) for call in pair}
        rounds.append((seconds[alone], seconds[task]))
    session.stop()
    return statistics.median(core for core, _ in rounds), sorted(with_task - core for core, with_task in rounds)


def _seconds(call: Callable[[], None]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _project(home: Path) -> Path:
    files = {
        "dbt_project.yml": "name: bench\nprofile: bench\nmodels: {+materialized: table, +file_format: parquet}\n",
        "profiles.yml": """
            bench:
              target: test
              outputs: {test: {type: spark, method: session, host: NA, schema: "{{ env_var('BENCH_SCHEMA') }}"}}
            """,
        "models/one.sql": "select id from range(1000)",
        "models/two.sql": "select id + 1 as id from {{ ref('one') }}",
    }
    for name, text in files.items():
        file = home / "project" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text).lstrip())
    return home / "project"


def main() -> None:
    home = Path(tempfile.mkdtemp(prefix="planproof-bench-"))
    os.environ.setdefault("AIRFLOW_HOME", str(home / "airflow"))
    os.environ.setdefault("AIRFLOW__OPENLINEAGE__DISABLED", "True")
    try:
        print(f"parsing: {parsing() * 1000:.0f} ms of CPU added to a DAG file")
        core, added = overhead(home)
        middle = f"{statistics.median(added):.2f} s ({added[0]:.2f} to {added[-1]:.2f})"
        print(f"a task: {middle} added to {core:.2f} s of dbt compile and guard")
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
