"""An audit and a cancel over Spark Connect, in a process of its own: one Python process holds one kind of session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.conformance]
pytest.importorskip("grpc")
pytest.importorskip("grpc_status")
pytest.importorskip("pandas")
pytest.importorskip("zstandard")

STORY = """
import json, sys, threading, time
from airflow_planproof.work import SparkWork, WorkCancelled
from planproof.project.work import Work

path = sys.argv[1]
contract = {"columns": [{"name": "id", "type": "bigint", "nullable": False}]}
spark = {
    "spark.remote": "local[2]", "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1", "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.memory": "1g",
}
work = Work("audit", names=(path,), contract=contract, spark=spark)
session = work.open_session()
session.spark.range(5).write.parquet(path)
(report,) = work.reports(session)

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
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, env=environment)
    assert ran.returncode == 0, ran.stderr[-4000:]
    # py4j logs to standard output when it closes its connections.
    (told,) = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    found = json.loads(told)
    assert (found["kind"], found["verdict"], found["rows"]) == ("connect", "proved", 5)
    assert (found["cancelled"], found["ended"], found["after"]) == (True, [True], [[1]])
    assert found["seconds"][0] < 5
