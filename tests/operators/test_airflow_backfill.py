"""Airflow 2's own backfill, as its command line starts it; Airflow 3's is part of the standalone story."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from standalone import spark_conf

pytestmark = [pytest.mark.slow, pytest.mark.conformance]
pytest.importorskip("airflow")
if importlib.util.find_spec("airflow.sdk") is not None:
    pytest.skip("`airflow dags backfill` is Airflow 2's", allow_module_level=True)

DAG = """
import datetime
from airflow.providers.common.compat.sdk import DAG
from airflow_planproof import PlanproofRunOperator

with DAG("daily", schedule="@daily", start_date=datetime.datetime(2026, 1, 1), catchup=False) as dag:
    PlanproofRunOperator(
        task_id="run", project_dir={project!r}, profiles_dir={project!r}, select="daily",
        vars={{"day": "{{{{ ds }}}}"}},
        env={{"SHOP_SCHEMA": "default"}}, spark_conf={spark!r}, max_active_tis_per_dag=1,
    )
"""
DAY = """
{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by=['day']) }}
select id, '{{ var("day", "none") }}' as day from range(3)
"""


def test_two_dates(tmp_path: Path, shop_files: dict[str, str]) -> None:
    import pyarrow.parquet as pq

    project = tmp_path / "shop"
    for name, text in {**shop_files, "models/daily.sql": DAY}.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(textwrap.dedent(text).lstrip())
    for folder in ("events", "dags"):
        (tmp_path / folder).mkdir()
    (tmp_path / "dags" / "daily.py").write_text(DAG.format(project=str(project), spark=spark_conf(tmp_path)))
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__OPENLINEAGE__DISABLED": "True",
        "AIRFLOW__COSMOS__ENABLE_TELEMETRY": "False",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    airflow = str(Path(sys.executable).parent / "airflow")
    dates = ["--start-date", "2026-01-01", "--end-date", "2026-01-02"]
    for command in (["db", "migrate"], ["dags", "backfill", *dates, "daily"]):
        ran = subprocess.run(
            [airflow, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
        )
        assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]

    with contextlib.closing(sqlite3.connect(tmp_path / "airflow.db")) as db:
        states = db.execute("select run_id, state, try_number from task_instance order by run_id").fetchall()
        reports = db.execute("select run_id, value from xcom where key = 'planproof_report' order by run_id").fetchall()
    days = ["2026-01-01", "2026-01-02"]
    assert states == [(f"backfill__{day}T00:00:00+00:00", "success", 1) for day in days]
    files = list((tmp_path / "warehouse").rglob("*.parquet"))
    for day, (run, value) in zip(days, reports, strict=True):
        assert day in run
        (report,) = json.loads(value)["reports"]
        assert f"'{day}' as day" in report["sql"]
        assert (report["outcome"], report["rows"]) == ("published", 3)
        assert sum(pq.read_metadata(file).num_rows for file in files if f"day={day}" in str(file)) == 3
