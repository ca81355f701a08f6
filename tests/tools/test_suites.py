"""Suites are run one after the other, each result is that of a commit, and a second run goes on where the first
stopped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import suites


def git(root: Path, *args: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", *args], cwd=root, check=True, capture_output=True
    )


def suite(said: str, code: int = 0) -> str:
    return f"{sys.executable} -c \"print('{said}'); raise SystemExit({code})\""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / ".gitignore").write_text(".suites\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def ran(root: Path, *wanted: str) -> dict[str, str]:
    return {command: result.result for command, result in suites.run_suites(wanted, root)}


def test_what_is_green_is_not_run_again_until_a_file_changes(root: Path) -> None:
    good = suite("===== 3 passed, 1 skipped in 1.50s =====")
    bad = suite("1 failed, 2 passed in 0.10s", 1)
    assert ran(root, good, bad) == {good: "green", bad: "red"}
    assert suites.read_results(root)[good].said == "3 passed, 1 skipped"
    git(root, "add", ".")
    git(root, "commit", "-qm", "results")
    assert ran(root, good, bad) == {bad: "red"}
    (root / "model.py").write_text("x = 1\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "change")
    assert ran(root, good) == {good: "green"}


def test_the_last_green_commit_is_kept(root: Path) -> None:
    (root / "check.py").write_text("print('1 passed in 0.1s')\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "green")
    command = f"{sys.executable} check.py"
    assert ran(root, command) == {command: "green"}
    first = suites.read_results(root)[command].commit
    (root / "check.py").write_text("raise SystemExit(1)\n")
    git(root, "commit", "-qam", "red")
    assert ran(root, command) == {command: "red"}
    assert str(suites.read_results(root)[command]).endswith(f", green at {first}")


@pytest.mark.parametrize("said", ["no tests ran in 0.01s", "5 skipped in 0.20s", "12 deselected in 0.20s"])
def test_a_suite_that_ran_no_test_is_not_green(root: Path, said: str) -> None:
    assert set(ran(root, suite(said)).values()) == {"red"}


def test_a_changed_file_is_no_commit(root: Path) -> None:
    (root / ".gitignore").write_text("")
    with pytest.raises(ValueError, match=r"commit first: \.gitignore"):
        ran(root, suite("1 passed in 0.1s"))


def test_each_suite_of_the_repository_is_a_command_of_it() -> None:
    known = suites.list_commands(yaml.safe_load((suites.ROOT / "docs" / "support.yml").read_text()))
    targets = (suites.ROOT / "Makefile").read_text()
    assert len(known) == len(set(known)) > 15
    for command in known:
        first, target, *_ = command.split()
        assert first != "make" or f"\n{target}:" in targets, command
    named = {command.split()[1] for command in known if command.startswith("make ")}
    written = {line.split(":")[0] for line in targets.splitlines() if line.startswith(("test-", "sweep-", "smoke-"))}
    # `test-dbt112`, `test-spark35` are spelled so in the data, or by their version.
    assert written - named <= {"test-spark", "test-dbt"}, "a suite that `make suites` does not run"
