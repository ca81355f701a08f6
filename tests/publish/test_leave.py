"""Leaving planproof: tables at home, rows as they were, no folder of ours; also where it is killed at any step."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from quick import keep_quick

pytest.importorskip("pyspark")

from planproof import Contract, Guard, Model
from planproof.publish.transaction import lock
from planproof.publish.transaction.deletion import Holdings
from planproof.publish.transaction.leave import move_back
from planproof.publish.transaction.names import PREFIX, STATE
from planproof.publish.transaction.recover import list_roots
from planproof.session import open as opened
from planproof.session.store import local, store_of

CONTRACT = Contract([("id", "bigint", True)])


def published(session: Any, database: str, rows: int, starts: tuple[int, ...] = (0, 5)) -> None:
    for start in starts:
        sql = f"select id from range({start}, {start + rows})"
        report = Guard(session).publish(Model(f"{database}.orders", sql, contract=CONTRACT, materialized="table"))
        assert report.outcome == "published", report


@pytest.fixture
def shop(spark: Any, tmp_path: Path) -> Any:
    """A database of its own, with its folder."""
    name, folder = f"leave_{abs(hash(tmp_path)) % 10**8}", tmp_path / "db"
    spark.sql(f"create database {name} location '{folder}'")
    yield name, folder
    spark.sql(f"drop database {name} cascade")


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_tables_are_at_home_and_bare_spark_reads_them(spark: Any, session: Any, shop: Any) -> None:
    database, folder = shop
    published(session, database, 3)
    parts = Model(
        f"{database}.by_day",
        "select id, id % 2 as d from range(4)",
        materialized="table",
        partition_by=["d"],
        options={"location_root": str(folder / "far")},
    )
    for _ in range(2):
        assert Guard(session).publish(parts).outcome == "published"
    spark.sql(f"create table {database}.bystander using parquet as select 1 as id")
    where = f"file:{folder}"
    assert {PREFIX, STATE} <= set(names(folder))
    reports = move_back(session, store_of(session), [where])
    assert {r.outcome for r in reports} == {"moved"}, reports
    assert names(folder) == ["bystander", "far", "orders"]
    assert names(folder / "far") == ["by_day"]
    for table in ("orders", "by_day"):
        spark.catalog.refreshTable(f"{database}.{table}")
    assert sorted(row[0] for row in spark.table(f"{database}.orders").collect()) == [5, 6, 7]
    assert sorted(map(tuple, spark.table(f"{database}.by_day").collect())) == [(0, 0), (1, 1), (2, 0), (3, 1)]
    assert spark.read.parquet(str(folder / "orders")).count() == 3
    assert move_back(session, store_of(session), [where]) == []
    # Who comes back finds a table like any other.
    published(session, database, 2, (5,))
    assert spark.table(f"{database}.orders").count() == 2


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.conformance)])
def test_killed_at_any_step_nothing_is_lost_and_the_next_run_ends_it(
    every: int, spark: Any, session: Any, shop: Any, killed: Any, dying: Callable[[int | None], tuple[Any, Any]]
) -> None:
    database, folder = shop
    where, deaths = [f"file:{folder}"], 0
    published(session, database, 3, (0,))
    for at in range(0, 60, every):
        published(session, database, 3, (5,))
        frail, _ = dying(at)
        try:
            move_back(frail, frail.store, where)
            break
        except killed:
            deaths += 1
        assert list(folder.rglob("*.parquet")), "the rows are somewhere at every moment"
        reports = [*Guard(session).recover(), *move_back(session, store_of(session), where, force=True)]
        assert names(folder) == ["orders"], (at, reports)
        spark.catalog.refreshTable(f"{database}.orders")
        assert sorted(row[0] for row in spark.table(f"{database}.orders").collect()) == [5, 6, 7], at
    assert deaths * every > 4


@pytest.mark.parametrize("parts", [(), ("d",)], ids=["plain", "partitions"])
def test_tables_in_the_folder_of_another_one_go_home(
    spark: Any, session: Any, shop: Any, tmp_path: Path, parts: tuple[str, ...]
) -> None:
    """The other table reads what lies right in that folder. It could not be read beside folders of partitions."""
    database, folder = shop
    spark.sql(f"create table {database}.around using parquet location '{folder}' as select 1 as id, 'x' as d")
    how = {"materialized": "incremental", "incremental_strategy": "insert_overwrite"} if parts else {}
    for number in (1, 2):
        sql = f"select {number} as id, 'x' as d"
        assert Guard(session).publish(Model(f"{database}.t", sql, partition_by=parts, **how)).outcome == "published"
    reports = move_back(session, store_of(session), [f"file:{folder}"])
    assert ({r.outcome for r in reports} == {"moved"}) == (not parts), reports
    assert (PREFIX in names(folder)) == bool(parts)
    for table, kept in (("t", (2, "x")), ("around", (1, "x"))):
        spark.catalog.refreshTable(f"{database}.{table}")
        assert [tuple(row) for row in spark.table(f"{database}.{table}").collect()] == [kept]
    spark.sql(f"drop table {database}.around")


def test_what_another_catalog_may_need_is_left_unless_forced(session: Any, shop: Any) -> None:
    _, folder = shop
    stranger = folder / PREFIX / "theirs" / "0a1b2c3d.run_1"
    stranger.mkdir(parents=True)
    (stranger / "part.parquet").write_text("rows")
    (report,) = move_back(session, store_of(session), [f"file:{folder}"])
    assert report.outcome == "failed"
    assert "versions that no table of this catalog points to" in report.error
    assert (stranger / "part.parquet").exists()
    assert move_back(session, store_of(session), [f"file:{folder}"], force=True) == []
    assert not (folder / PREFIX).exists()


@pytest.mark.parametrize("data", [(), ("part.parquet",)], ids=["nothing written yet", "rows"])
def test_what_is_being_staged_stays_forced_or_not(data: tuple[str, ...], session: Any, shop: Any) -> None:
    _, folder = shop
    store, staged = store_of(session), folder / PREFIX / "orders" / "0a1b2c3d.run_1"
    staged.mkdir(parents=True)
    for name in data:
        (staged / name).write_text("rows")
    held = lock.acquire(store, f"file:{folder}", "orders", "theirs", "orders")
    for force in (False, True):
        (report,) = move_back(session, store, [f"file:{folder}"], force=force)
        assert "is being published by run theirs" in str(report.error)
        assert sorted(file.name for file in staged.iterdir()) == sorted(data)
    held.fence()
    held.release()
    assert move_back(session, store, [f"file:{folder}"], force=True) == []
    assert names(folder) == []


def test_a_publish_that_begins_while_the_state_is_deleted_keeps_its_lock(
    session: Any, shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, folder = shop
    published(session, database, 3)
    store, begun = store_of(session), list[lock.Lock]()

    def begin(*_: Any) -> list[str]:
        begun.append(lock.acquire(store, f"file:{folder}", "another", "theirs", "another"))
        return []

    monkeypatch.setattr("planproof.publish.transaction.leave.list_notes", begin)
    move_back(session, store, [f"file:{folder}"])
    begun[-1].fence()
    begun[-1].release()


def test_a_home_with_files_of_others_is_refused(spark: Any, session: Any, shop: Any) -> None:
    database, folder = shop
    published(session, database, 3)
    (folder / "orders").mkdir(exist_ok=True)
    (folder / "orders" / "notes.txt").write_text("ours")
    reports = move_back(session, store_of(session), [f"file:{folder}"])
    assert any("holds files that belong to no table" in (r.error or "") for r in reports)
    assert spark.table(f"{database}.orders").count() == 3
    assert local(f"file:{folder}") == str(folder)


def test_partitions_that_were_overwritten_go_with_the_table_that_is_replaced(
    spark: Any, session: Any, shop: Any
) -> None:
    """Nobody has to force the deletion of what planproof itself has written."""
    database, folder = shop
    name, far = f"{database}.t", folder / "far"
    rows = "select * from values (1, 'x'), (2, 'y') as v(id, d)"
    spark.sql(f"create table {name} using parquet partitioned by (d) location '{far}/t' as {rows}")
    more: dict[str, Any] = {"materialized": "incremental", "incremental_strategy": "insert_overwrite"}
    guard = Guard(session)
    for model in (
        Model(name, "select 3 as id, 'x' as d", partition_by=["d"], **more),
        Model(name, "select 4L as id, 'y' as d", partition_by=["d"]),
    ):
        assert guard.publish(model).outcome == "published"
    assert [len(names(versions)) for versions in (far / PREFIX).iterdir()] == [1]
    reports = move_back(session, store_of(session), [f"file:{folder}"])
    said = [r.error or "" for r in reports]
    assert any("holds files that belong to no table" in text for text in said), said
    assert not any("--force" in text for text in said), said
    assert sorted(p.name for p in (far / "t").rglob("*.parquet")), "the author's own files stay"
    assert [tuple(row) for row in spark.table(name).collect()] == [(4, "y")]


OVERWRITE = {"materialized": "incremental", "incremental_strategy": "insert_overwrite", "partition_by": ["d"]}


@pytest.mark.parametrize(
    ("placed", "runs"), keep_quick(itertools.product([False, True], [1, 2, 3]), (False, 2), (True, 1))
)
def test_leaving_after_overwritten_partitions_loses_no_row(
    placed: bool, runs: int, spark: Any, database: str, tmp_path: Any
) -> None:
    options = {"location_root": str(tmp_path / "lake")} if placed else {}
    table = f"{database}.t"
    for run in range(runs):
        days = "(1, 'x'), (2, 'y')" if run == 0 else f"({run + 10}, 'x'), ({run + 20}, 'n{run}')"
        model = Model(table, f"select * from values {days} as v(id, d)", options=options, **OVERWRITE)
        assert Guard(spark).publish(model).outcome == "published"
    held = spark.newSession().sql(f"select * from {table} order by id").collect()
    session = opened(spark)
    at = [r for r in list_roots(session, None) if database in r]
    reports = move_back(session, store_of(session), at)
    assert {r.outcome for r in reports} <= {"moved"}, [r.error for r in reports]
    assert spark.newSession().sql(f"select * from {table} order by id").collect() == held
    assert move_back(session, store_of(session), at) == [], "it is finished"
    spark.sql(f"refresh table {table}")
    spark.sql(f"insert into {table} values (99, 'x')")
    assert spark.newSession().sql(f"select * from {table}").count() == len(held) + 1
    for folder in (tmp_path / "lake", at[0].removeprefix("file:")):
        assert "__planproof" not in store_of(session).names(str(folder))


def test_leaving_by_force_deletes_no_partition_that_the_catalog_knows(spark: Any, database: str) -> None:
    table = f"{database}.t"
    for day in ("x", "y", "z"):
        model = Model(table, f"select * from values (1, '{day}') as v(id, d)", **OVERWRITE)
        assert Guard(spark).publish(model).outcome == "published"
    session = opened(spark)
    at = [r for r in list_roots(session, None) if database in r]
    # Another table has its data in a version's folder.
    [row] = [r for r in spark.sql(f"describe extended {table} partition (d = 'y')").collect() if r[0] == "Location"][:1]
    spark.sql(f"create table {database}.clone (id int) using parquet location '{row[1]}'")
    [row] = [r for r in spark.sql(f"describe extended {table} partition (d = 'z')").collect() if r[0] == "Location"][:1]
    spark.sql(f"create table {database}.other (id int, d string) using orc partitioned by (d)")
    spark.sql(f"alter table {database}.other add partition (d = 'q') location '{row[1]}'")
    move_back(session, store_of(session), at, force=True)
    assert store_of(session).contents(row[1]), "a partition of another format's table has its data there, too"
    assert spark.newSession().sql(f"select * from {table}").count() == 3
    assert spark.newSession().sql(f"select * from {database}.clone").count() == 1


def test_nothing_is_asked_of_each_table_by_itself(spark: Any, session: Any, shop: Any) -> None:
    """Recovery and `clean` ask where every table lies: in a catalog of thousands that is one call for a database."""
    database, _ = shop
    for number in range(5):
        spark.sql(f"create table {database}.bystander_{number} using parquet as select 1 as id")
    asked = list[str]()
    with pytest.MonkeyPatch.context() as patch:
        plain = type(session).registered_table
        patch.setattr(type(session), "registered_table", lambda self, name: asked.append(name) or plain(self, name))
        holder = Holdings(session).holder(str(session.registered_table(f"{database}.bystander_3").location))
    assert holder == f"`{database}`.`bystander_3`"
    assert [name for name in asked if "`" in name] == []


class Sleeping:
    """A store that does something else after it has copied its first file."""

    def __init__(self, store: Any, act: Callable[[], None]) -> None:
        self.store, self.acts = store, [act]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def copy(self, source: str, target: str) -> None:
        self.store.copy(source, target)
        while self.acts:
            self.acts.pop()()


@pytest.mark.parametrize("given", [{}, OVERWRITE], ids=["location", "partitions"])
def test_who_is_taken_over_while_it_leaves_touches_the_table_no_more(
    given: dict[str, Any], spark: Any, database: str
) -> None:
    """It slept, or was on a machine that did: others have taken the table over and published it."""
    name, session = f"{database}.t", opened(spark)
    for day in ("x", "y"):
        model = Model(name, f"select * from values (1, '{day}') as v(id, d)", **given)
        assert Guard(spark).publish(model).outcome == "published"

    def publish() -> None:
        other = Guard(spark.newSession())
        list(other.recover(force=True))
        assert other.publish(Model(name, "select * from values (9, 'y') as v(id, d)", **given)).outcome == "published"

    at = [root for root in list_roots(session, None) if database in root]
    found = move_back(session, Sleeping(store_of(session), publish), at)
    assert [report.outcome for report in found if "`t`" in report.model or name in report.model] == ["failed"], found
    for _ in range(2):
        rows = sorted(tuple(row) for row in spark.newSession().sql(f"select * from {name}").collect())
        assert rows == [*([(1, "x")] if given else []), (9, "y")], found
        found = move_back(session, store_of(session), at)  # Now nobody disturbs it.
    assert {report.outcome for report in found} <= {"moved"}, found
