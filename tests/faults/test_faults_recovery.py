"""A process that is really killed while it publishes, and another one that recovers: Hive's metastore lies on disk."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.faults
SCRIPT = """
import json, os, sys
from pyspark.sql import SparkSession
from planproof import Guard, Model
home, role = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2]").enableHiveSupport()
    .config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.memory", "512m")
    .config("spark.sql.warehouse.dir", f"{home}/warehouse").config("spark.sql.shuffle.partitions", "2")
    .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home}")
    .config("spark.hadoop.javax.jdo.option.ConnectionURL", f"jdbc:derby:;databaseName={home}/metastore;create=true")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")
guard = Guard(spark)
delta = lambda sql: Model("t", sql, materialized="incremental")
if role == "victim":
    assert guard.publish(delta("select id from range(0, 4, 1, 2)")).outcome == "published"
    store = __import__("planproof.session.store", fromlist=["LocalStore"]).LocalStore
    move, moved = store.move, []
    def dying(self, source, target):
        if moved:
            print(spark.newSession().table("t").count(), flush=True)
            os._exit(9)
        moved.append(move(self, source, target))
    store.move = dying
    guard.publish(delta("select id from range(4, 8, 1, 2)"))
else:
    reports = [r.to_dict() for r in guard.recover()]
    again = guard.publish(delta("select id from range(4, 8, 1, 2)")).outcome
    rows = sorted(r[0] for r in spark.table("t").collect())
    tables = [r[1] for r in spark.sql("show tables").collect()]
    print(json.dumps([reports, again, rows, tables]), flush=True)
"""


def run(home: Path, role: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, str(home), role], capture_output=True, text=True, cwd=home, timeout=300
    )


def test_an_append_that_was_killed_half_way_is_undone_by_another_process(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    victim = run(tmp_path, "victim")
    assert victim.returncode == 9, victim.stderr[-2000:]
    assert victim.stdout.split()[-1] == "6", "half of the delta was visible when the process died"
    rescuer = run(tmp_path, "rescuer")
    assert rescuer.returncode == 0, rescuer.stderr[-2000:]
    found: list[Any] = json.loads(rescuer.stdout.strip().splitlines()[-1])
    reports, again, rows, tables = found
    assert [(r["outcome"], [f["code"] for f in r["findings"]]) for r in reports] == [("rejected", ["PP602"])]
    assert (again, rows, tables) == ("published", list(range(8)), ["t"])
