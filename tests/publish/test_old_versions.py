"""What others have to do with folders that a table has left: rows that arrive there late, and tables that lie there."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from planproof import Guard, Model, Report
from planproof.publish.transaction.leave import move_back
from planproof.session.classic import ClassicSession
from planproof.session.store import store_of


def publish(spark: Any, name: str, number: int) -> Report:
    report = Guard(spark.newSession()).publish(Model(name, f"select {number} as id"))
    assert report.outcome == "published", report.error
    return report


def folder(spark: Any, name: str) -> Path:
    spark.sql(f"refresh table {name}")
    return Path(spark.table(name).inputFiles()[0].removeprefix("file://")).parent


def rows(spark: Any, name: str) -> list[tuple[Any, ...]]:
    spark.sql(f"refresh table {name}")
    return sorted(tuple(row) for row in spark.table(name).collect())


def test_rows_that_arrive_in_a_version_after_it_was_replaced_are_told_and_kept(
    database: str, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An INSERT that was under way in the moment of the swap ends in the folder that the table had when it began."""
    monkeypatch.setattr("planproof.publish.swaps.location.RETENTION", 0)
    name = f"{database}.t"
    publish(spark, name, 0)
    publish(spark, name, 1)
    old = folder(spark, name)
    publish(spark, name, 2)
    # A session that has read the table before writes to where it lay then.
    spark.sql(f"insert into {name} select 20")
    shutil.copy(next(folder(spark, name).glob("*.parquet")), old / "part-of-a-late-insert.parquet")
    [told] = [f for f in publish(spark, name, 3).findings if f.code == "PP621"]
    assert (told.found, str(old) in told.message) == ("2 files", True)
    assert (old / "part-of-a-late-insert.parquet").exists()
    # It is told until somebody has looked at it.
    assert [f.code for f in publish(spark, name, 4).findings if f.code == "PP621"] == ["PP621"]
    shutil.rmtree(old)
    assert [f.code for f in publish(spark, name, 5).findings if f.code == "PP621"] == []
    assert rows(spark, name) == [(5,)]
    assert len(list(old.parent.iterdir())) == 2, "the newest version and the one before"


@pytest.mark.parametrize("at", ["", "location '{tmp}/t'"], ids=["managed", "external"])
def test_rows_that_arrive_in_a_tables_own_folder_are_told(database: str, spark: Any, at: str, tmp_path: Path) -> None:
    name = f"{database}.t"
    spark.sql(f"create table {name} using parquet {at.format(tmp=tmp_path)} as select 0 as id")
    home, session = folder(spark, name), spark.newSession()
    session.table(name).collect()
    publish(spark, name, 1)
    # This session has read the table before, and writes to where it lay then.
    session.sql(f"insert into {name} select 20")
    [told] = [f for f in publish(spark, name, 2).findings if f.code == "PP621"]
    assert (told.found, str(home) in told.message) == ("1 file", True)
    shutil.rmtree(home)
    assert [f.code for f in publish(spark, name, 3).findings if f.code == "PP621"] == []


def test_cleaning_keeps_rows_that_arrived_late(database: str, spark: Any) -> None:
    name = f"{database}.t"
    publish(spark, name, 0)
    publish(spark, name, 1)
    old = folder(spark, name)
    publish(spark, name, 2)
    shutil.copy(next(folder(spark, name).glob("*.parquet")), old / "part-of-a-late-insert.parquet")
    session = ClassicSession(spark)
    reports = move_back(session, store_of(session), [f"file:{old.parents[2]}"])
    assert [r.outcome for r in reports] == ["moved", "failed"]
    assert "after the table had left" in str(reports[1].error)
    assert (old / "part-of-a-late-insert.parquet").exists()
    assert rows(spark, name) == [(2,)]


@pytest.mark.parametrize("kind", ["managed", "external"])
def test_rows_that_arrive_in_a_partitions_folder_after_it_was_left_are_told_and_kept(
    database: str, spark: Any, kind: str, tmp_path: Path
) -> None:
    """An INSERT that was under way in the moment of the overwrite ends in the folder that the partition had."""
    name, over = f"{database}.t", {"materialized": "incremental", "incremental_strategy": "insert_overwrite"}
    place = f"location '{tmp_path}/t'" if kind == "external" else ""
    rows_of = "select * from values (1, 'x'), (2, 'y') as v(id, d)"
    spark.sql(f"create table {name} using parquet partitioned by (d) {place} as {rows_of}")
    home = Path(spark.table(name).inputFiles()[0].removeprefix("file://")).parents[1]

    def overwrite(number: int) -> Report:
        model = Model(name, f"select {number} as id, 'x' as d", partition_by=["d"], **over)
        report = Guard(spark.newSession()).publish(model)
        assert report.outcome == "published", report.error
        return report

    source = next((home / "d=y").glob("*.parquet"))
    for number in (3, 4):
        assert [f.code for f in overwrite(number).findings if f.code == "PP621"] == []
    (home / "d=x").mkdir(exist_ok=True)
    late = Path(shutil.copy(source, home / "d=x" / "part-of-a-late-insert.parquet"))
    [told] = [f for f in overwrite(5).findings if f.code == "PP621"]
    assert (told.found, str(late.parent) in told.message) == ("1 file", True)
    session = ClassicSession(spark)
    reports = move_back(session, store_of(session), [f"file:{home.parent}"])
    assert reports[0].outcome == "failed"
    assert "came after its partition had left it" in str(reports[0].error)
    assert (late.exists(), rows(spark, name)) == (True, [(2, "y"), (5, "x")])
    late.unlink()
    assert [f.code for f in overwrite(6).findings if f.code == "PP621"] == []
    assert {r.outcome for r in move_back(session, store_of(session), [f"file:{home.parent}"])} == {"moved"}
    assert rows(spark, name) == [(2, "y"), (6, "x")]


@pytest.mark.parametrize("where", ["in its folder", "below it"])
def test_a_table_over_the_folder_of_another_one_keeps_rows(database: str, spark: Any, where: str) -> None:
    name, other = f"{database}.t", f"{database}.beside"
    spark.sql(f"create table {name} using parquet as select 1 as id")
    home = folder(spark, name)
    spark.sql(
        f"create table {other} (id int) using parquet location '{home if where == 'in its folder' else home / 'b'}'"
    )
    if where == "below it":
        spark.sql(f"insert into {other} select 10")
        publish(spark, name, 2)
        assert (rows(spark, name), rows(spark, other)) == ([(2,)], [(10,)])
        return
    assert publish(spark, name, 2).strategy == "rename"
    assert (rows(spark, name), rows(spark, other)) == ([(2,)], [(2,)])
    publish(spark, name, 3)
    assert (rows(spark, name), rows(spark, other)) == ([(3,)], [(3,)])


@pytest.mark.parametrize("prefix", ["", "spark_catalog."])
def test_a_table_is_no_neighbour_of_itself(database: str, spark: Any, prefix: str) -> None:
    spark.sql(f"create table {database}.t using parquet as select 1 as id")
    assert publish(spark, f"{prefix}{database.upper()}.T", 2).strategy == "location"


def test_a_version_to_which_somebody_went_back_is_left_by_clean(database: str, spark: Any) -> None:
    """It has a note of the time at which it was replaced; what came later was copied with the rest."""
    name = f"{database}.t"
    publish(spark, name, 1)
    publish(spark, name, 2)
    old = folder(spark, name)
    publish(spark, name, 3)
    spark.sql(f"alter table {name} set location 'file:{old}'")
    spark.sql(f"insert into {name} select 4")
    session = ClassicSession(spark)
    reports = move_back(session, store_of(session), [f"file:{old.parents[2]}"])
    assert [r.outcome for r in reports] == ["moved"], [r.error for r in reports]
    assert rows(spark, name) == [(2,), (4,)]
    assert not old.exists()
