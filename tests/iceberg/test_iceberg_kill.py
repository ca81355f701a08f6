"""kill -9 of Python and its JVM while every kind of publish is under way on Iceberg, then recovery by another process.

Whatever the step, a table is entirely old or entirely new, before any recovery. Recovery names each killed publish, and
deletes what no snapshot names; the next run needs none.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.faults
SCRIPT = Path(__file__).with_name("victims.py")


@pytest.fixture(scope="module")
def victims() -> ModuleType:
    import importlib.util

    spec = importlib.util.spec_from_file_location("iceberg_victims", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def run(home: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """A group of processes of its own, so that its end is not ours."""
    command = [sys.executable, str(SCRIPT), str(home), *args]
    return subprocess.run(command, capture_output=True, text=True, cwd=home, start_new_session=True, timeout=300)


def test_killed_at_every_step(victims: ModuleType, tmp_path: Path, lake_settings: Any) -> None:
    (tmp_path / "settings.json").write_text(json.dumps(lake_settings(tmp_path)))
    prepared = run(tmp_path, "prepare")
    assert prepared.returncode == 0, prepared.stderr[-3000:]
    for step in victims.STEPS:
        died = run(tmp_path, "victim", step)
        assert died.returncode == -signal.SIGKILL, (step, died.stdout, died.stderr[-3000:])
    rescued = run(tmp_path, "rescue")
    assert rescued.returncode == 0, rescued.stderr[-3000:]
    found = json.loads(rescued.stdout.strip().splitlines()[-1])

    def case(table: str) -> Any:
        return victims.CASES[table.rpartition(".")[2].partition("_")[0]]

    def is_new(table: str) -> bool:
        return table.endswith("_committed")

    expected = {table: case(table).new if is_new(table) else case(table).old for table in found["before"]}
    assert len(expected) == len(victims.STEPS) * len(victims.CASES) * 2
    assert found["before"] == expected
    assert found["after"] == expected
    said = {model: (outcome, *codes) for model, outcome, codes, _ in found["said"]}
    # Some that were to be killed at their first file had not begun.
    assert {t for t in expected if t not in said and not t.endswith("_writing")} == set()
    for table, told in said.items():
        what = ("published", "PP603") if is_new(table) else ("rejected", "PP602")
        if table.endswith("_commit"):
            what = ("rejected", "PP609")  # Its catalog may still carry it out.
        assert told == what, table
    assert {model for model, *_ in found["forced"]} == {t for t in said if t.endswith("_commit")}
    assert {codes[0] for _, _, codes, _ in found["forced"]} == {"PP602"}
    assert {table: files for table, files in found["left"].items() if files} == {}
    assert found["notes"] == []
    assert set(found["again"].values()) == {"published"}
