"""A call that the catalog carries out after its publish was interrupted, killed, or told that nobody answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planproof import Guard, Model
from planproof.publish.transaction import owner
from planproof.publish.transaction.lock import Lock
from planproof.publish.transaction.publication import JournaledPublication
from planproof.session.protocol import SparkFailure

PARTS = "create table {t} using parquet partitioned by (d) as select * from values (1, 'x'), (2, 'y') as v(id, d)"
OVER = {"materialized": "incremental", "incremental_strategy": "insert_overwrite", "partition_by": ["d"]}
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "location": ("create table {t} using parquet as select 1 as id", "select 2 as id", {}),
    "partitions": (PARTS, "select 3 as id, 'x' as d", OVER),
}


class Killed(BaseException):
    """What no publish catches."""


def rows(spark: Any, name: str) -> list[tuple[Any, ...]]:
    spark.sql(f"refresh table {name}")
    return sorted(tuple(row) for row in spark.table(name).collect())


def hold_back(patch: pytest.MonkeyPatch, what: str, raised: BaseException) -> list[str]:
    """The first statement that holds `what` raises, and is put into the list instead of being run."""
    held: list[str] = []
    define = JournaledPublication.define

    def late(self: JournaledPublication, sql: str) -> None:
        session = self.session
        if what in sql and not held:
            held.append(sql)
            patch.setattr(type(session), "rows", fail)
        define(self, sql)

    def fail(self: Any, sql: str) -> list[tuple[Any, ...]]:
        patch.setattr(type(self), "rows", plain)
        raise raised

    from planproof.session.classic import ClassicSession

    plain = ClassicSession.rows
    patch.setattr(JournaledPublication, "define", late)
    return held


@pytest.mark.parametrize("how", ["interrupted", "unanswered", "killed"])
@pytest.mark.parametrize("case", CASES)
def test_a_table_that_is_pointed_to_its_staging_late_can_be_read(
    database: str, spark: Any, monkeypatch: pytest.MonkeyPatch, case: str, how: str
) -> None:
    before, sql, given = CASES[case]
    name = f"{database}.t"
    spark.sql(before.format(t=name))
    model, old = Model(name, sql, **given), rows(spark, name)
    raised = {
        "interrupted": KeyboardInterrupt(),
        "unanswered": SparkFailure("SocketTimeoutException: Read timed out", outside=True),
        "killed": Killed(),
    }[how]
    held = hold_back(monkeypatch, "SET LOCATION", raised)
    if how == "unanswered":
        assert Guard(spark.newSession()).publish(model).outcome == "failed"
    else:
        with pytest.raises(type(raised)):
            Guard(spark.newSession()).publish(model)
        if how == "killed":
            monkeypatch.setattr(owner, "_running", set())
            list(Guard(spark.newSession()).recover())
    assert rows(spark, name) == old
    spark.sql(held[0])
    new = [(2,)] if case == "location" else [(2, "y"), (3, "x")]
    assert rows(spark, name) == new
    assert Guard(spark.newSession()).publish(model).outcome == "published"
    assert rows(spark, name) == new


def test_what_stays_for_a_late_call_is_swept_by_a_later_publish(
    database: str, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, guard = f"{database}.t", Guard(spark.newSession())
    for number in (0, 1):
        assert guard.publish(Model(name, f"select {number} as id")).outcome == "published"
    home = Path(spark.table(name).inputFiles()[0].removeprefix("file://")).parents[1]
    with pytest.MonkeyPatch.context() as patch:
        hold_back(patch, "SET LOCATION", KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            guard.publish(Model(name, "select 2 as id"))
    assert len(list(home.iterdir())) == 2
    monkeypatch.setattr("planproof.publish.swaps.location.RETENTION", 0)
    for number in (3, 4):
        assert guard.publish(Model(name, f"select {number} as id")).outcome == "published"
    assert len(list(home.iterdir())) == 2, "the newest version and the one before"


def test_what_killed_publishes_of_a_table_leave_that_lies_in_its_own_folder_is_swept(
    database: str, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{database}.t"
    spark.sql(f"create table {name} using parquet as select 1 as id")
    home = Path(spark.table(name).inputFiles()[0].removeprefix("file://")).parents[1] / "__planproof" / "t"
    for _ in range(2):
        with pytest.MonkeyPatch.context() as patch:
            hold_back(patch, "SET LOCATION", Killed())
            with pytest.raises(Killed):
                Guard(spark.newSession()).publish(Model(name, "select 2 as id"))
        monkeypatch.setattr(owner, "_running", set())
        assert [r.outcome for r in Guard(spark.newSession()).recover()] == ["rejected"]
    assert len(list(home.iterdir())) == 2, "calls of theirs may come late"
    monkeypatch.setattr("planproof.publish.swaps.location.RETENTION", 0)
    assert Guard(spark.newSession()).publish(Model(name, "select 3 as id")).outcome == "published"
    assert len(list(home.iterdir())) == 1


def test_an_owner_who_slept_longer_than_versions_are_kept_harms_nothing(
    database: str, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was evicted right before its call, others have published twice since, and then it wakes up."""
    name = f"{database}.t"
    spark.sql(f"create table {name} using parquet as select 1 as id")
    with pytest.MonkeyPatch.context() as patch:
        held = hold_back(patch, "SET LOCATION", Killed())
        patch.setattr(Lock, "release", lambda self: None)  # Who sleeps gives nothing back.
        with pytest.raises(Killed):
            Guard(spark.newSession()).publish(Model(name, "select 2 as id"))
    assert [r.outcome for r in Guard(spark.newSession()).recover(force=True)] == ["rejected"]
    monkeypatch.setattr("planproof.publish.swaps.location.RETENTION", 0)
    for number in (3, 4, 5):
        assert Guard(spark.newSession()).publish(Model(name, f"select {number} as id")).outcome == "published"
    spark.sql(held[0])
    assert rows(spark, name) == [(2,)]
    assert Guard(spark.newSession()).publish(Model(name, "select 6 as id")).outcome == "published"
    assert rows(spark, name) == [(6,)]


def test_a_table_that_is_put_aside_late_is_named(database: str, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{database}.t"
    spark.sql(f"create table {name} using parquet as select 1 as id")
    model = Model(name, "select 2L as id")
    held = hold_back(monkeypatch, "RENAME TO", SparkFailure("SocketTimeoutException: Read timed out", outside=True))
    assert Guard(spark.newSession()).publish(model).outcome == "failed"
    spark.sql(held[0])
    report = Guard(spark.newSession()).publish(model)
    assert report.outcome == "failed"
    assert "Give it its name back (ALTER TABLE " in str(report.error)
    spark.sql(str(report.error).partition("(")[2].partition(")")[0])
    assert rows(spark, name) == [(1,)]
    assert Guard(spark.newSession()).publish(model).outcome == "published"


@pytest.mark.parametrize("existed", [True, False])
def test_a_query_that_was_compiled_for_another_state_of_its_table_is_not_published(
    database: str, spark: Any, existed: bool
) -> None:
    """Somebody drops the table, or makes it, between the compilation and the publish."""
    name = f"{database}.t"
    if not existed:
        spark.sql(f"create table {name} using parquet as select 1 as id")
    model = Model(name, "select 2 as id", materialized="incremental", incremental_strategy="append")
    report = Guard(spark).publish(model, existed=existed)
    assert (report.outcome, report.details.transient) == ("failed", True), report.error
    assert "compile and run the model again" in str(report.error)
    assert spark.catalog.tableExists(name) is not existed
    assert Guard(spark).publish(model, existed=not existed).outcome == "published"
    assert Guard(spark).publish(model, full_refresh=True, existed=existed).outcome == "published"


@pytest.mark.parametrize("reads", ["itself", "nothing", "a namesake"])
def test_rows_that_a_recovery_has_just_finished_are_not_added_again(
    database: str, spark: Any, monkeypatch: pytest.MonkeyPatch, reads: str
) -> None:
    """A watermark that was asked for while the model was compiled knows nothing of them."""
    name = f"{database}.t"
    spark.sql(f"create table {name} using parquet as select 1 as id")
    top = f"(select max(id) from {name})" if reads == "itself" else "1"
    spark.sql(f"create database {database}_raw")
    spark.sql(f"create table {database}_raw.t using parquet as select id from values (1), (2) as v(id)")
    source = f"{database}_raw.t" if reads == "a namesake" else "values (1), (2) as v(id)"
    sql = f"select id from {source} where id > {top}"
    model = Model(name, sql, materialized="incremental", incremental_strategy="append")
    plain = JournaledPublication.step

    def step(self: Any, step: str, **changes: Any) -> None:
        plain(self, step, **changes)
        if step == "clean":
            monkeypatch.undo()
            raise Killed

    monkeypatch.setattr(JournaledPublication, "step", step)
    with pytest.raises(Killed):
        Guard(spark).publish(model, existed=True)
    report = Guard(spark).publish(model, existed=True)
    assert rows(spark, name) == [(1,), (2,)]
    assert "PP603" in [f.code for f in report.findings]
    if reads != "itself":
        assert (report.outcome, report.details.transient) == ("failed", True), report.error
        assert "compile and run the model again" in str(report.error)
        anew = replace(model, sql=sql.replace("> 1", "> 2"))
        assert Guard(spark).publish(anew, existed=True).outcome == "published"
    assert rows(spark, name) == [(1,), (2,)]
    spark.sql(f"drop database {database}_raw cascade")
