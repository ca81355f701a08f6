"""The guard on a Spark beyond this process: Spark Connect, a Thrift server, a standalone cluster whose disk is shared.

Each runs in a process of its own: one Python process holds one kind of SparkSession.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
def cluster(tmp_path_factory: pytest.TempPathFactory, ports: Any) -> Iterator[str]:
    """A standalone master with one worker, and its address."""
    import pyspark

    home = tmp_path_factory.mktemp("cluster")
    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    port = ports.free()
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
            ports.wait(port)
        yield address
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(30)


CONNECT = pytest.param("connect", marks=pytest.mark.needs_spark("4.0", "a Connect server in pip's package"))


@pytest.fixture(scope="module", params=[CONNECT, "standalone", "thrift"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if request.param == "connect":
        pytest.importorskip("grpc")
        pytest.importorskip("grpc_status")
        pytest.importorskip("pandas")
        pytest.importorskip("zstandard")
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
    parted = found["quarantined"]
    assert parted["outcome"] == "published", parted
    assert [plain(rows) for rows in found["quarantine"]] == [["(1,a)"], ["(b,)"]]
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
    if found["kind"] == "standalone":  # Of servers it is theirs to say.
        assert found["catalog"] == "in-memory"
    assert found["tables"] == {
        "d.t": ["table", "parquet", True, []],
        "d.p": ["table", "parquet", True, ["name"]],
        "d.v": ["view", None, False, []],
        "temporary": ["temporary view", None, False, []],
        "d.nothing": None,
    }
    assert (found["conf"], found["changed"], found["restored"]) == (True, False, True)
