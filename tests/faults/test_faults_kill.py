"""kill -9 of Python and its JVM while every materialization is being published, then recovery by another process.

Whatever the moment, each table is entirely old or entirely new afterwards, recovery says which, and nothing staged,
no lock and no journal entry is left. A reader beside the publish sees old rows, new rows, or, of an append, a part of
the new ones.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.faults
SCRIPT = Path(__file__).with_name("publishing.py")
TOGETHER = 5


@pytest.fixture(scope="module")
def publishing() -> ModuleType:
    import importlib.util

    pytest.importorskip("pyspark")
    spec = importlib.util.spec_from_file_location("fault_publishing", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def start(home: Path, *args: str) -> subprocess.Popen[str]:
    """A group of processes of its own, so that its end is not ours."""
    log = (home / "stderr.log").open("a")
    command = [sys.executable, str(SCRIPT), str(home), *args]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=home, start_new_session=True)


def finish(process: subprocess.Popen[str], home: Path) -> str:
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 0, (home / "stderr.log").read_text()[-3000:]
    return out


def judge(publishing: ModuleType, home: Path, suffixes: list[str]) -> dict[str, int]:
    """Recovers and compares; counts what became of the killed publishes."""
    found = json.loads(finish(start(home, "rescue", *suffixes), home).strip().splitlines()[-1])
    said = {model.split(".")[-1]: outcome for model, outcome, _, _ in found["reports"]}
    failed = [report for report in found["reports"] if report[1] not in ("published", "rejected")]
    assert failed == []
    count = {"old": 0, "new": 0, "recovered": len(said)}
    for suffix in suffixes:
        for name, case in publishing.CASES.items():
            table = f"{name}_{suffix}"
            rows = found["rows"][table]
            assert rows in (case.old, case.new), f"{table} is neither old nor new: {rows}"
            count["new" if rows == case.new else "old"] += 1
            assert found["quarantine"].get(table, []) == (case.quarantined if rows == case.new else []), (
                f"{table}: quarantined"
            )
            if table in said:
                assert rows == (case.new if said[table] == "published" else case.old), f"{table}: {said[table]}"
    assert found["left"] == []
    return count


def reads(publishing: ModuleType, home: Path, suffix: str) -> dict[str, int]:
    """Every successful read of the reader beside the publish was old, new, or part of an append."""
    errors: dict[str, int] = {}
    for line in (home / f"seen_{suffix}.jsonl").read_text().splitlines():
        try:
            name, found = json.loads(line)
        except ValueError:
            continue  # The last line, cut by the kill.
        case = publishing.CASES[name]
        if isinstance(found, str):
            errors[name] = errors.get(name, 0) + 1
        elif found not in (case.old, case.new, None):
            assert name in ("append", "grown", "overwritten"), f"{name}_{suffix} was read as {found}"
    return errors


def test_killed_at_every_named_step(publishing: ModuleType, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    given = request.config.getoption("--steps", "")
    steps = given.split(",") if given else list(publishing.STEPS)
    assert set(steps) <= set(publishing.STEPS)
    finish(start(tmp_path, "prepare", *steps), tmp_path)
    for step in steps:
        victim = start(tmp_path, "victim", step, step)
        victim.communicate(timeout=600)
        assert victim.returncode == -9, (step, (tmp_path / "stderr.log").read_text()[-3000:])
        print(step, "reader errors:", reads(publishing, tmp_path, step))
    count = judge(publishing, tmp_path, steps)
    print(count)
    killed = sum(step in case.steps for step in steps for case in publishing.CASES.values())
    assert count["recovered"] == killed
    if "clean" in steps:
        assert count["new"] >= sum("clean" in case.steps for case in publishing.CASES.values())


def test_killed_at_random_moments(publishing: ModuleType, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    number = request.config.getoption("--random", 20)
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance, longest = random.Random(seed), 30.0
    # A recovery asks where each table of its database lies: a few publishes in a warehouse of their own.
    for first in range(0, number, TOGETHER):
        home = tmp_path / f"from{first}"
        home.mkdir()
        suffixes = [f"r{i}" for i in range(first, min(first + TOGETHER, number))]
        finish(start(home, "prepare", *suffixes), home)
        for suffix in suffixes:
            longest = kill_at_random(chance, longest, home, suffix)
            reads(publishing, home, suffix)
        print(judge(publishing, home, suffixes))


def kill_at_random(chance: random.Random, longest: float, home: Path, suffix: str) -> float:
    """Kills a publish somewhere within `longest` seconds; returns how long one takes, once one came to its end."""
    victim = start(home, "victim", suffix, "")
    assert victim.stdout is not None
    assert victim.stdout.readline().strip() == "go"
    began, wait = time.monotonic(), chance.uniform(0.5, longest)
    while victim.poll() is None and time.monotonic() - began < wait:
        time.sleep(0.05)
    if victim.poll() is None:
        os.killpg(victim.pid, signal.SIGKILL)
    else:
        longest = max(2.0, time.monotonic() - began)
    victim.communicate(timeout=60)
    return longest


def test_the_metastore_goes_in_the_middle(publishing: ModuleType, tmp_path: Path) -> None:
    finish(start(tmp_path, "prepare", "m"), tmp_path)
    victim = start(tmp_path, "metastore", "m")
    out, _ = victim.communicate(timeout=600)
    assert out.strip(), (tmp_path / "stderr.log").read_text()[-3000:]
    outcome, error, codes, code = json.loads(out.strip().splitlines()[-1])
    assert outcome in ("failed", "published"), error
    if outcome == "failed":
        assert code == 2
        assert error
        assert codes[-1] in ("PP608", "PP302", "PP110"), codes
    judge(publishing, tmp_path, ["m"])
