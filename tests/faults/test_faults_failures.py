"""What fails while a publish is under way, with the process alive: nothing is lost, and the report says why."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from planproof import Guard, Model, Report
from planproof.publish.transaction.journal import Journal
from planproof.report.run import run_report

pytestmark = pytest.mark.faults
HALF = "select id, if(id = 9, raise_error('half way'), 'b') as s from range(0, 10, 1, 2)"


def exit_code(report: Report) -> int:
    return run_report("run", [report], datetime.now(timezone.utc)).exit_code()


def assert_failed(report: Report, *words: str) -> None:
    assert report.outcome == "failed", report
    assert exit_code(report) == 2
    for word in words:
        assert word in (report.error or ""), report.error


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small file system needs root")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def shop(spark: Any, small: Path) -> Iterator[str]:
    """A database on that file system."""
    name = f"small_{os.getpid()}"
    spark.sql(f"create database {name} location '{small.as_uri()}/db'")
    yield name
    spark.sql(f"drop database {name} cascade")


def read(spark: Any, name: str) -> list[Any]:
    return sorted(tuple(r) for r in spark.newSession().table(name).collect())


def left(root: Path) -> list[str]:
    return [str(p) for p in root.rglob("*") if p.suffix == ".json" or p.name.startswith("__planproof_")]


def space_is_back(spark: Any, root: Path) -> None:
    """Waits for the space of deleted files: Hadoop leaves a stream open whose close failed, until Java collects it."""
    until = time.monotonic() + 30
    while shutil.disk_usage(root).used > 2**19:
        assert time.monotonic() < until
        spark._jvm.System.gc()
        time.sleep(0.1)


BIG = "select id, uuid() as s from range(0, 200000, 1, 4)"


@pytest.mark.parametrize(
    "more",
    [{}, {"partition_by": ["p"], "sql": f"select *, id % 3 as p from ({BIG})"}, {"materialized": "incremental"}],
    ids=["table", "partitioned", "append"],
)
def test_a_full_disk(spark: Any, shop: str, small: Path, more: dict[str, Any]) -> None:
    name, guard = f"{shop}.t", Guard(spark)
    assert guard.publish(Model(name, "select 1L as id, 'a' as s")).outcome == "published"
    assert_failed(guard.publish(Model(name, **{"sql": BIG, **more})), "No space left")
    assert read(spark, name) == [(1, "a")]
    assert left(small) == []
    space_is_back(spark, small)
    report = guard.publish(Model(name, "select 2L as id, 'b' as s"))
    assert report.outcome == "published", report.error
    assert read(spark, name) == [(2, "b")]


@pytest.mark.parametrize("step", ["stage", "audit", "swap", "files"])
def test_a_file_system_that_turns_read_only(
    spark: Any, shop: str, small: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As root, no permission is denied: a file system that refuses to be written is what comes next to it."""
    name, guard = f"{shop}.t", Guard(spark)
    assert guard.publish(Model(name, "select 1 as id")).outcome == "published"
    method = "note" if step == "audit" else "step"
    plain = getattr(Journal, method)

    def stepping(self: Journal, at: str, **changes: Any) -> None:
        plain(self, at, **changes)
        if at == step:
            subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)

    kind = "incremental" if step == "files" else "table"
    with monkeypatch.context() as patch:
        patch.setattr(Journal, method, stepping)
        report = guard.publish(Model(name, "select 2 as id", materialized=kind))
    subprocess.run(["mount", "-o", "remount,rw", str(small)], check=True)
    assert_failed(report)
    assert "Read-only" in (report.error or "") or "read-only" in (report.error or ""), report.error
    Guard(spark).recover()
    assert read(spark, name) in ([(1,)], [(2,)] if kind == "table" else [(1,), (2,)])
    assert left(small) == []


def test_a_job_that_fails_after_half_of_its_files(spark: Any, database: str, session: Any) -> None:
    from planproof.publish.transaction.places import database_root

    name, guard = f"{database}.t", Guard(spark)
    root = Path(database_root(session, (database,)).removeprefix("file:"))
    assert guard.publish(Model(name, "select 1L as id, 'a' as s")).outcome == "published"
    for more in ({}, {"materialized": "incremental"}, {"partition_by": ["id"]}):
        assert_failed(guard.publish(Model(name, HALF, **more)), "half way")
        assert read(spark, name) == [(1, "a")]
        assert left(root) == []


@pytest.mark.parametrize("kind", ["table", "incremental"])
def test_a_footer_that_is_damaged_after_the_write(
    spark: Any, database: str, session: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, guard = f"{database}.t", Guard(spark)
    assert guard.publish(Model(name, "select 1 as id")).outcome == "published"
    plain = Journal.note

    def noting(self: Journal, at: str, **changes: Any) -> None:
        plain(self, at, **changes)
        if at == "audit":
            [file] = session.files(self.entry.stage_location.removeprefix("file:"))
            Path(file).write_bytes(Path(file).read_bytes()[:-6] + b"\0" * 6)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "note", noting)
        report = guard.publish(Model(name, "select 2 as id", materialized=kind))
    assert (report.outcome, [f.code for f in report.findings][-1]) == ("rejected", "PP401")
    assert "footer" in report.findings[-1].message
    assert read(spark, name) == [(1,)]


def test_a_query_that_is_cancelled(spark: Any, database: str, session: Any) -> None:
    name, guard = f"{database}.t", Guard(spark)
    assert guard.publish(Model(name, "select 1 as id")).outcome == "published"
    reports: list[Report] = []

    def publish() -> None:
        session.tag("slow")
        slow = "select cast(count(*) as int) as id from range(0, 2000000000, 1, 4) a where hash(id, uuid()) % 7 = 3"
        reports.append(guard.publish(Model(name, slow)))

    worker = threading.Thread(target=publish)
    worker.start()
    until = time.monotonic() + 120
    while worker.is_alive() and time.monotonic() < until:
        session.cancel("slow")
        time.sleep(0.3)
    worker.join(10)
    assert_failed(reports[0], "cancel")
    assert read(spark, name) == [(1,)]
