"""kill -9 at each step of a publish: the table is wholly old or wholly new, and the next run needs nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

STEPS = ("stage", "audit", "commit", "committed", "clean", "close")
OLD = [[0, "new"], [1, "new"], [2, "new"]]
NEW = {
    "replace": [[0, "replaced"], [1, "replaced"]],
    "append": [*OLD, [3, "added"], [4, "added"]],
    "overwrite": [[3, "added"], [4, "added"]],
    "merge": [[0, "new"], *([n, "merged"] for n in range(1, 6))],
}


def run(home: Path, kind: str, step: str | None = None) -> tuple[Any, Any, int]:
    """What a process found, what its publish did (None where it was killed), and how it ended."""
    command = [sys.executable, str(Path(__file__).with_name("victim.py")), str(home), kind, *([step] if step else [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=home)
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith(("FOUND", "DID")))
    assert "FOUND" in lines, done.stderr[-3000:]
    return json.loads(lines["FOUND"]), json.loads(lines["DID"]) if "DID" in lines else None, done.returncode


@pytest.mark.faults
@pytest.mark.parametrize("kind", NEW)
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_change_leaves_the_old_table_or_the_new_one(tmp_path: Path, kind: str, step: str) -> None:
    assert run(tmp_path, "new")[1]["outcomes"] == ["published"]
    assert run(tmp_path, kind, step)[1:] == (None, -9)
    found, did, _ = run(tmp_path, kind)
    is_new = step in ("committed", "clean", "close")
    assert found["rows"] == (NEW[kind] if is_new else OLD)
    assert found["versions"] == (2 if is_new else 1)
    assert (did["outcomes"], did["left"]) == (["published"], []), did


@pytest.mark.faults
@pytest.mark.parametrize("step", STEPS[:4])
def test_a_killed_first_run_leaves_no_table_or_the_whole_one(tmp_path: Path, step: str) -> None:
    assert run(tmp_path, "new", step)[1:] == (None, -9)
    found, did, _ = run(tmp_path, "new")
    assert found["rows"] is None
    assert (did["outcomes"], did["left"]) == (["published"], []), did
    assert run(tmp_path, "append")[0]["rows"] == OLD


@pytest.mark.faults
@pytest.mark.parametrize("step", STEPS[:4])
def test_a_killed_first_run_at_a_location_root_is_recovered(tmp_path: Path, step: str) -> None:
    """No catalog knows the place yet, and no model says it to `recover`."""
    assert run(tmp_path, "placed", step)[1:] == (None, -9)
    found, did, _ = run(tmp_path, "recover")
    is_made = step == "committed"
    assert found["rows"] is None
    assert (did["outcomes"], did["left"]) == (["published" if is_made else "rejected"], []), did
    found, did, _ = run(tmp_path, "placed")
    assert found["rows"] == (OLD if is_made else None)
    assert did["outcomes"] == ["published"], did
