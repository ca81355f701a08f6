"""Ctrl-C in a real `planproof run`: one sentence, exit code 130, and no publish left half way."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

SLOW = "select sum(a.id * b.id) as total from range(10000000) a cross join range(100000) b"


def listened(stream, lines: queue.Queue[str]) -> None:
    for line in stream:
        lines.put(line)
    lines.put("")


def until(lines: queue.Queue[str], wanted: str, seconds: float) -> list[str]:
    """The lines up to the first one with `wanted`, or to the end."""
    seen, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            line = lines.get(timeout=1)
        except queue.Empty:
            continue
        seen.append(line)
        if not line or wanted in line:
            break
    return seen


def test_an_interrupted_run_says_one_sentence_and_keeps_what_was_published(tmp_path: Path, dbt_manifest) -> None:
    models = {"quick": {"sql": "select 1 as id"}, "slow": {"sql": SLOW, "parents": ["quick"]}}
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (tmp_path / "manifest.json").write_text(json.dumps(dbt_manifest(models)))
    warehouse = tmp_path / "warehouse"
    (warehouse / "shop.db").mkdir(parents=True)
    settings = {
        "spark.sql.warehouse.dir": str(warehouse),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.master": "local[1]",
    }
    command = [sys.executable, "-c", STARTED, "run", "--project-dir", str(tmp_path), "--threads", "1"]
    command += ["--manifest", str(tmp_path / "manifest.json")]
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True
    )
    try:
        lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=listened, args=(process.stderr, lines), daemon=True).start()
        seen = until(lines, "START table shop.slow", 180)
        assert "START table shop.slow" in seen[-1], seen
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        after = until(lines, "planproof recover", 90)
        assert process.wait(timeout=60) == 130, (seen, after)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    said = "".join(after)
    assert said.count("interrupted") == 1
    assert "Traceback" not in said
    left = [path.relative_to(warehouse).as_posix() for path in warehouse.rglob("*") if path.is_file()]
    assert not [path for path in left if ".planproof/" in path], "a journal or a lock"
    # A task that still writes when its job is cancelled may leave files in the staged folder; no table has them.
    assert not [path for path in left if "slow" in path and "/_temporary/" not in path], "staged files"
    assert [path for path in left if "quick" in path and path.endswith(".parquet")], "what was published stays"


def dbt_project(folder: Path) -> None:
    (folder / "models").mkdir()
    for number in range(40):
        (folder / f"models/m{number}.sql").write_text("select 1 as id")
    (folder / "dbt_project.yml").write_text("name: shop\nversion: '1.0'\nprofile: shop\n")
    (folder / "profiles.yml").write_text(PROFILE)


def test_an_interrupt_while_spark_starts_says_that_nothing_was_begun(tmp_path: Path) -> None:
    pytest.importorskip("dbt.adapters.spark")
    dbt_project(tmp_path)
    java = tmp_path / "java" / "bin" / "java"  # One that takes its time.
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nexec sleep 300\n")
    java.chmod(0o755)
    # As from a terminal: Spark's own processes get the signal, too.
    process = subprocess.Popen(
        [sys.executable, "-m", "planproof", "run", "--project-dir", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        start_new_session=True,
        env={**os.environ, "JAVA_HOME": str(tmp_path / "java")},
    )
    try:
        lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=listened, args=(process.stderr, lines), daemon=True).start()
        seen = until(lines, "Spark starts", 60)
        assert "Spark starts" in seen[-1], seen
        time.sleep(2)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=60) == 130
        said = until(lines, "interrupted", 10)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert said == ["interrupted before any model was begun: all tables are as they were\n"]


def test_an_interrupt_while_dbt_compiles_is_no_failure_of_the_compile(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("dbt.adapters.spark")
    from dbt.parser.manifest import ManifestLoader

    from dbt_planproof.compiler import _compile

    def interrupted(*_given: object) -> None:
        signal.raise_signal(signal.SIGINT)

    dbt_project(tmp_path)
    monkeypatch.setattr(ManifestLoader, "load", interrupted)
    words = ["compile", "--quiet", "--project-dir", str(tmp_path), "--profiles-dir", str(tmp_path)]
    with pytest.raises(KeyboardInterrupt):
        _compile(words, None)


PROFILE = """
shop:
  target: dev
  outputs:
    dev:
      type: spark
      method: session
      host: NA
      schema: shop
      server_side_parameters: {spark.sql.catalogImplementation: in-memory, spark.ui.enabled: 'false'}
"""

STARTED = """
import sys
from pyspark.sql import SparkSession
settings = dict(one.split("=", 1) for flag, one in zip(sys.argv, sys.argv[1:]) if flag == "--conf")
builder = SparkSession.builder
for key, value in {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", **settings}.items():
    builder = builder.config(key, value)
builder.getOrCreate().sql("create database if not exists shop")
from planproof.cli import main
main()
"""
