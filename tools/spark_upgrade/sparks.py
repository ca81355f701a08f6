"""Sparks at hand: a Python that has pyspark, or the folder of a distribution or of a pyspark package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spark_upgrade import facts

ROOT = Path(__file__).resolve().parents[2]
_ROOMS = ("core", "tests/engine/functions", "tests/engine/analysis", "tools")
"""What a script of ours may import beside pyspark."""


class NoSpark(ValueError):
    """An argument that is neither a Python, a folder with a Spark, nor a version whose facts are checked in."""


def find_command(spark: str) -> tuple[str, list[str]]:
    """The Python that runs scripts on a Spark, and the folders that it has to search for pyspark."""
    path = Path(spark)
    if path.is_file() and os.access(path, os.X_OK):
        return str(path.absolute()), []
    if (path / "jars").is_dir() and (path / "__init__.py").is_file():
        return sys.executable, [str(path.parent.absolute())]
    if (path / "jars").is_dir():
        sources = path.absolute() / "python"
        return sys.executable, [str(sources), *map(str, sorted(sources.glob("lib/py4j-*.zip")))]
    raise NoSpark(f"{spark} is no Python, and no folder of a Spark with its jars")


def run_script(spark: str, script: Path, args: Sequence[str], *, ends: Sequence[int] = (0,)) -> str:
    """What a script of ours prints that runs on a Spark; its errors go to this process's own error stream.

    Raises subprocess.CalledProcessError where it ends with another exit code than `ends`.
    """
    python, found = find_command(spark)
    # A mode of the shell's own would change the defaults that Spark reports.
    kept = {k: v for k, v in os.environ.items() if k not in ("SPARK_ANSI_SQL_MODE", "SPARK_HOME", "PYTHONPATH")}
    path = os.pathsep.join([*found, *(str(ROOT / room) for room in _ROOMS)])
    environment = {**kept, "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": python}
    ended = subprocess.run([python, str(script), *args], env=environment, stdout=subprocess.PIPE, text=True)
    if ended.returncode not in ends:
        raise subprocess.CalledProcessError(ended.returncode, ended.args, ended.stdout)
    return ended.stdout


def ask(spark: str, script: Path, *args: str) -> Any:
    """What a script writes as JSON to the file that is its first argument."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "answer.json"
        run_script(spark, script, [str(out), *args])
        return json.loads(out.read_text())


def form(spark: str) -> dict[str, Any]:
    """The facts of a Spark at hand, in the form in which they are written."""
    return facts.compact(ask(spark, Path(__file__).parent / "asking.py"))


def facts_of(spark: str) -> facts.Facts:
    """The facts of a Spark: asked where it is at hand, read where it is a version whose facts are checked in."""
    found = facts.read_known()
    if spark in found:
        return found[spark]
    if not Path(spark).exists():
        raise NoSpark(f"{spark} is no Python, no folder, and none of {', '.join(found)}")
    return facts.load(form(spark))
