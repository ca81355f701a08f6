"""What a JVM says of itself while it starts goes to a file, and is told where it does not start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

STARTS = """
import sys
from pathlib import Path
import planproof.session
from planproof.session.jvm_log import log_to

with log_to(lambda: Path(sys.argv[1])):
    session = planproof.session.open_embedded({"spark.master": "local[1]", "spark.app.name": "logged"})
    print(session.rows("select 1")[0][0], session.spark.conf.get("spark.master"))
"""


def started(log: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", STARTS, str(log)],
        cwd=log.parent,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_what_spark_says_is_in_the_file_alone(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    done = started(log)
    assert done.returncode == 0, done.stderr
    assert (done.stdout.split(), done.stderr) == (["1", "local[1]"], "")
    assert "WARN" in log.read_text()


def test_why_a_jvm_does_not_start_is_told(tmp_path: Path) -> None:
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'no room for a heap' >&2\nexit 1\n")
    java.chmod(0o755)
    done = started(tmp_path / "spark.log", JAVA_HOME=str(java.parent.parent))
    assert done.returncode != 0
    assert "SparkFailure: Spark did not start" in done.stderr
    assert "no room for a heap" in done.stderr
    assert f"({tmp_path / 'spark.log'})); Spark 4 needs" in done.stderr
