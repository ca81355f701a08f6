"""The guard on a Spark beyond this process: Spark Connect, a Thrift server, a standalone cluster whose disk is shared.

Each runs in a process of its own: one Python process holds one kind of SparkSession.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.conformance
STORY = Path(__file__).with_name("story.py")
ENVIRONMENT = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}


def told(where: str, home: Path) -> dict[str, Any]:
    run = subprocess.run(
        [sys.executable, str(STORY), where, str(home)],
        cwd=home,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    found: dict[str, Any] = json.loads(run.stdout.strip().splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A standalone master with one worker, and its address."""
    import pyspark

    home = tmp_path_factory.mktemp("cluster")
    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    port = _free_port()
    address = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    ui = ["--webui-port", "0", "--host", "127.0.0.1"]
    commands = (
        [f"{deploy}.master.Master", "--port", str(port), *ui],
        [f"{deploy}.worker.Worker", address, "--cores", "2", "--memory", "1g", "--work-dir", str(home / "work"), *ui],
    )
    started = []
    try:
        for command in commands:
            log = (home / f"{command[0]}.log").open("w")
            started.append(
                subprocess.Popen([str(spark_class), *command], env=ENVIRONMENT, stdout=log, stderr=subprocess.STDOUT)
            )
            _wait_for(port)
        yield address
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(30)


@pytest.fixture(scope="module")
def thrift(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Thrift server with a metastore of its own, and its address."""
    import pyspark

    home = tmp_path_factory.mktemp("thrift")
    submit = Path(pyspark.__file__).parent / "bin" / "spark-class"
    port = _free_port()
    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:thrift;create=true",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
    }
    confs = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    hive = ["--hiveconf", f"hive.server2.thrift.port={port}", "--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1"]
    server = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
    command = [str(submit), "org.apache.spark.deploy.SparkSubmit", "--class", server, *confs, "spark-internal", *hive]
    with (home / "server.log").open("w") as log:
        process = subprocess.Popen(command, cwd=home, env=ENVIRONMENT, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait_for(port, 180)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait_for(port: int, seconds: int = 60) -> None:
    for _ in range(seconds * 2):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.5)
    raise TimeoutError(f"nothing listens at {port}")


@pytest.fixture(scope="module", params=["connect", "standalone", "thrift"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if request.param == "connect":
        for module in ("grpc", "grpc_status", "pandas", "zstandard"):
            pytest.importorskip(module)
        where = "connect"
    elif request.param == "thrift":
        pytest.importorskip("pyhive.hive")
        where = request.getfixturevalue("thrift")
    else:
        where = request.getfixturevalue("cluster")
    return {"kind": request.param, **told(where, tmp_path_factory.mktemp("home"))}


def plain(rows: list[str]) -> list[str]:
    """Rows without quotes and blanks: PyHive hands an array over as its JSON text."""
    return [row.replace("'", "").replace(" ", "") for row in rows]


def codes(told: dict[str, Any], verdict: str) -> list[str]:
    return [code for v, code, *_ in told["findings"] if v == verdict]


def test_healthy_models_are_published(found: dict[str, Any]) -> None:
    expected = {
        "first": ["(1, 'a', [1.0, 2.0])", "(2, 'b', None)"],
        "second": ["(1, 'c', [1.0, 2.0])", "(2, 'b', None)"],
        "appended": ["(1, 'c', [1.0, 2.0])", "(2, 'b', None)", "(3, 'x', [5.0])"],
        "python": ["(1, 'c', [1.0, 2.0])", "(2, 'b', None)", "(3, 'x', [15.0])"],
        "widened": ["(1, 'c')", "(2, 'b')", "(3, 'x')"],
    }
    for name, stored in expected.items():
        told = found[name]
        assert (told["outcome"], told["error"]) == ("published", None), (name, told)
        assert plain(told["stored"]) == plain(stored), name
        assert codes(told, "violated") == codes(told, "unproved") == [], (name, told["findings"])
    assert found["view"]["outcome"] == found["partitioned"]["outcome"] == "published", found["view"]
    assert found["read"] == {"d.v": ["(1,)", "(2,)", "(3,)"], "d.p": expected["widened"]}
    assert found["audit"]["verdict"] == "proved", found["audit"]
    assert found["recovered"] == []
    assert sorted(found["made"]) == ["t"]


def test_bad_models_leave_the_table_as_it_was(found: dict[str, Any]) -> None:
    for name, code in {"null": "PP505", "rejected": "PP110", "command": "PP110"}.items():
        told = found[name]
        assert told["outcome"] == "rejected", told
        assert code in codes(told, "violated"), told
        assert told["stored"] == found["second"]["stored"]
    (place,) = [origin for *_, code, _, _, origin in found["rejected"]["findings"] if code == "PP110"]
    assert place == ("None" if found["kind"] == "thrift" else "line 2:3")


def test_what_cannot_be_read_is_said(found: dict[str, Any]) -> None:
    planes = found["first"]["planes"]
    read = {name for name, (status, _) in planes.items() if status == "read"}
    assert read >= {"contract", "logical", "analyzed", "files", "catalog"}
    later = {planes[name][0] for name in ("optimized", "executed")}
    assert later == ({"read"} if found["kind"] == "standalone" else {"unreadable"})
    if found["kind"] != "standalone":
        assert "as text only" in planes["optimized"][1]
    assert ("takes SQL only" in found.get("functions", "")) == (found["kind"] == "thrift")


def test_the_session_tells_what_is_stored(found: dict[str, Any]) -> None:
    assert found["tables"] == {
        "d.t": ["table", "parquet", True, []],
        "d.p": ["table", "parquet", True, ["name"]],
        "d.v": ["view", None, False, []],
        "temporary": ["temporary view", None, False, []],
        "d.nothing": None,
    }
    assert (found["conf"], found["changed"], found["restored"]) == (True, False, True)
