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
from click.testing import CliRunner

from planproof import Guard
from planproof.cli.group import cli

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
    return subprocess.run(command, capture_output=True, text=True, cwd=home, start_new_session=True, timeout=900)


def test_killed_at_every_step(victims: ModuleType, tmp_path: Path, lakes_of_a_server: dict[str, str]) -> None:
    (tmp_path / "settings.json").write_text(json.dumps(lakes_of_a_server))
    catalogs = [key for key, value in lakes_of_a_server.items() if value.endswith(".SparkCatalog")]
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
    assert len(expected) == len(victims.STEPS) * len(victims.CASES) * len(catalogs)
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


def test_killed_at_every_step_of_a_branch(victims: ModuleType, tmp_path: Path, thrift: str) -> None:
    """The server lives on. The next run of a model, or `planproof recover`, drops the branch and says what became of
    the publish."""
    pytest.importorskip("pyhive.hive")
    host, _, port = thrift.partition(":")
    (tmp_path / "server.json").write_text(json.dumps([host, int(port)]))
    session = victims.connected(tmp_path)
    session.rows("create database if not exists lake_hadoop.kill")
    tables = {
        f"lake_hadoop.kill.{case}_{step}": victims.CASES[case]
        for step in victims.ON_BRANCH
        for case in victims.BRANCHED
    }
    for table, case in tables.items():
        for statement in case.before:
            session.rows(statement.replace("{t}", table))
    for step in victims.ON_BRANCH:
        died = run(tmp_path, "branched", step)
        assert died.returncode == -signal.SIGKILL, (step, died.stdout, died.stderr[-3000:])

    def held(table: str) -> Any:
        session.rows(f"refresh table {table}")
        return sorted(([*row] for row in session.rows(f"select * from {table}")), key=str)

    def branches(table: str) -> int:
        return len(session.rows(f"select name from {table}.refs where name <> 'main'"))

    def is_new(table: str) -> bool:
        return table.endswith(("_forwarded", "_committed"))

    expected = {table: case.new if is_new(table) else case.old for table, case in tables.items()}
    assert {table: held(table) for table in tables} == expected
    assert {table for table in tables if not branches(table)} == {t for t in tables if t.endswith("_committed")}
    told = {table: "PP603" if is_new(table) else "PP602" for table in tables}
    # Half of the tables are published again first; the others are left to a recovery.
    again = [table for table in tables if ".merge_" in table or ".same_" in table]
    for table in again:
        report = Guard(session).publish(victims.model(tables[table], table))
        assert (report.outcome, branches(table)) == ("published", 0), (table, report.error)
        assert told[table] in {f.code for f in report.findings}, table
        assert "PP604" not in {f.code for f in report.findings}, table
        assert held(table) == tables[table].new
    given = ["recover", "--conf", f"thrift.host={host}", "--conf", f"thrift.port={port}", "--json"]
    done = CliRunner().invoke(cli, given)
    said = {r["model"]: [f["code"] for f in r["findings"]] for r in json.loads(done.stdout)["reports"]}
    assert said == {table: [code] for table, code in told.items() if table not in again}, done.output
    assert {table: (held(table), branches(table)) for table in tables if table not in again} == {
        table: (rows, 0) for table, rows in expected.items() if table not in again
    }
    assert Guard(session).recover() == []
    session.stop()
