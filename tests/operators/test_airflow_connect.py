"""Tasks and a cancel over Spark Connect, in processes of their own: one Python process holds one kind of session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from standalone import PATIENCE

pytestmark = [pytest.mark.slow, pytest.mark.conformance]
pytest.importorskip("grpc")
pytest.importorskip("grpc_status")
pytest.importorskip("pandas")
pytest.importorskip("zstandard")

STORY = """
import json, sys, threading, time
from airflow_planproof.work import SparkWork, WorkCancelled
from planproof.project.request import Request

path = sys.argv[1]
contract = {"columns": [{"name": "id", "type": "bigint", "nullable": False}]}
spark = {
    "spark.remote": "local[2]", "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1", "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.memory": "1g",
}
request = Request("audit", names=(path,), contract=contract, spark=spark)
session = request.open_session()
session.spark.range(5).write.parquet(path)
(report,) = request.reports(session)

def endless(running):
    running.watch(session)
    return session.rows("select sum(hash(a.id, b.id)) from range(3000000) a cross join range(3000000) b")

running = SparkWork(endless)
seconds, ended = [], []
def cancel():
    time.sleep(8)
    began = time.monotonic()
    ended.append(running.cancel())
    seconds.append(time.monotonic() - began)
threading.Thread(target=cancel).start()
try:
    running.run()
    cancelled = False
except WorkCancelled:
    cancelled = True
print(json.dumps({
    "kind": session.capabilities.kind, "verdict": report.verdict.value, "rows": report.rows, "cancelled": cancelled,
    "ended": ended, "seconds": seconds, "after": session.rows("select 1"),
}))
session.stop()
"""


def test_an_audit_and_a_cancel(tmp_path: Path) -> None:
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", STORY, str(tmp_path / "t")]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, env=environment)
    assert ran.returncode == 0, ran.stderr[-4000:]
    # py4j logs to standard output when it closes its connections.
    (told,) = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    found = json.loads(told)
    assert (found["kind"], found["verdict"], found["rows"]) == ("connect", "proved", 5)
    assert (found["cancelled"], found["ended"], found["after"]) == (True, [True], [[1]])
    assert found["seconds"][0] < 5


SERVER = """
import sys
from pyspark import SparkConf, SparkContext

settings = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin", "spark.master": "local[2]",
    "spark.connect.grpc.binding.port": sys.argv[1], "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
}
context = SparkContext(conf=SparkConf().setAll(settings.items()))
sys.stdin.read()
"""
DAG = """
import datetime, json, sys
from airflow.providers.common.compat.sdk import DAG, Asset, task
from airflow_planproof import PlanproofAuditOperator, PlanproofContractSensor
from airflow.utils.db import initdb

again = {"retries": 3, "retry_delay": datetime.timedelta(0), "conn_id": "server"}
with DAG("tested", schedule=None, start_date=datetime.datetime(2026, 1, 1), default_args=again) as dag:
    @task.planproof(
        table="default.numbers", contract=[("id", "bigint", False)], outlets=[Asset("x-shop://host/default/numbers")]
    )
    def numbers(spark, nothing=False):
        return spark.range(5).selectExpr("nullif(id, 3) as id" if nothing else "id")

    kept = {"tables": "default.numbers", "contract": [("id", "bigint", True)]}
    wait = PlanproofContractSensor(task_id="wait", poke_interval=1, timeout=60, **kept)
    audit = PlanproofAuditOperator(task_id="audit", trigger_rule="all_done", **kept)
    numbers() >> wait >> numbers.override(task_id="broken")(nothing=True) >> audit

if __name__ == "__main__":
    initdb()
    run = dag.test()
    audited = run.get_task_instance("audit").xcom_pull(task_ids="audit", key="planproof_report") or {"reports": ()}
    print(json.dumps({t.task_id: [t.state, t.try_number] for t in run.get_task_instances()}), file=sys.stderr)
    print(json.dumps([[r["model"], r["verdict"], r["rows"]] for r in audited["reports"]]), file=sys.stderr)
"""


def test_tasks_on_a_server(tmp_path: Path, ports: Any) -> None:
    """A function publishes there, a sensor and an audit look there; a broken contract leaves the table as it was."""
    port = ports.free()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")} | {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__OPENLINEAGE__DISABLED": "True",
        "AIRFLOW__COSMOS__ENABLE_TELEMETRY": "False",
        "AIRFLOW_CONN_SERVER": f"spark-connect://:a-token@localhost:{port}",
    }
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "tested.py").write_text(DAG)
    python = {"cwd": tmp_path, "text": True}
    serving = {**environment, "SPARK_CONNECT_AUTHENTICATE_TOKEN": "a-token"}
    with (
        (tmp_path / "server.log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-c", SERVER, str(port)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=serving,
            **python,
        ) as server,
    ):
        try:
            ports.wait(port, 120)
            command = [sys.executable, str(tmp_path / "dags" / "tested.py")]
            ran = subprocess.run(command, capture_output=True, timeout=PATIENCE, env=environment, **python)
        finally:
            server.kill()
    assert ran.returncode == 0, ran.stderr[-4000:]
    states, audited = (json.loads(line) for line in ran.stderr.splitlines()[-2:])
    expected = {name: ["success", 1] for name in ("numbers", "wait", "audit")} | {"broken": ["failed", 1]}
    assert states == expected, ran.stdout[-4000:]
    assert audited == [["default.numbers", "proved", 5]]
    assert "PP505 violated column id: promised NOT NULL, found 1 null" in ran.stdout
