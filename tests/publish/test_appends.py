"""Appends to Parquet tables, where others change what the rows are added to, and where a rename is a copy and then a
delete, as object stores have it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from quick import keep_quick

from planproof import Guard, Model, Report
from planproof.publish.swaps.append import Append
from planproof.publish.transaction import owner
from planproof.publish.transaction.publication import JournaledPublication
from planproof.session.classic import ClassicSession
from planproof.session.protocol import SparkFailure
from planproof.session.sql_only import SqlOnlySession
from planproof.session.store import LocalStore, local

pytestmark = pytest.mark.hive

Rows = list[tuple[Any, ...]]
OLD = "create table {t} using parquet as select 1 as id, 'a' as s"
PARTS = "create table {t} using parquet partitioned by (d) as select * from values (1, 'x'), (2, 'y') as v(id, d)"


class Killed(BaseException):
    """No `except Exception` catches it, and no clean-up that a killed process could not do may run on it."""


class Place:
    """A table to which rows are appended, and another session beside it."""

    def __init__(self, spark: Any, database: str, before: str) -> None:
        self.spark, self.other, self.database, self.t = spark, spark.newSession(), database, f"{database}.t"
        self.is_parted = before == PARTS
        shown = spark.sql(f"describe database {database}").collect()
        self.home = local(next(str(row[1]) for row in shown if row[0] == "Location"))
        self.carry_out(before)

    def carry_out(self, *statements: str) -> None:
        for statement in statements:
            self.other.sql(statement.format(t=self.t, home=self.home))

    def append(self, sql: str = "select 2 as id, 'b' as s") -> Report:
        partition_by = ["d"] if self.is_parted else []
        given = {"materialized": "incremental", "incremental_strategy": "append", "partition_by": partition_by}
        return Guard(self.spark.newSession()).publish(Model(self.t, sql, **given))

    def rows(self) -> Rows:
        found = self.spark.newSession().sql(f"select * from {self.t}").collect()
        return sorted((tuple(row) for row in found), key=str)

    def recover(self) -> list[str]:
        owner._running.clear()  # What this process had begun is nobody's any more.
        return [report.outcome for report in Guard(self.other).recover()]

    def size(self) -> int:
        """The bytes that Spark takes the table to have, -1 where it has to look."""
        shown = {row[0]: row[1] for row in self.other.sql(f"describe extended {self.t}").collect()}
        return int(shown["Statistics"].split()[0]) if "Statistics" in shown else -1

    def left(self) -> list[str]:
        """What nobody needs once nothing is under way."""
        home = Path(str(self.home))
        tables = [row["tableName"] for row in self.other.sql(f"show tables in {self.database}").collect()]
        found = [*home.glob(".planproof/*/*.json"), *home.glob("__planproof/*/*")]
        return [*(name for name in tables if name != "t"), *map(str, found)]


@pytest.fixture
def place(spark: Any, database: str) -> Callable[[str], Place]:
    return lambda before: Place(spark, database, before)


MOVED: dict[str, tuple[str, str, Rows]] = {
    "dropped": ("x", "alter table {t} drop partition (d = 'x')", [(2, "y")]),
    "pointed elsewhere": ("x", "alter table {t} partition (d = 'x') set location '{home}/else'", [(2, "y")]),
    "added elsewhere": ("z", "alter table {t} add partition (d = 'z') location '{home}/else'", [(1, "x"), (2, "y")]),
    "renamed": ("x", "alter table {t} partition (d = 'x') rename to partition (d = 'w')", [(1, "w"), (2, "y")]),
}
"""Where the row goes, what somebody does to that partition, and what the table holds then."""


BESIDE = [(act, how) for act in MOVED for how in ("it goes on", "it is killed")]


@pytest.mark.parametrize(
    ("act", "how"), keep_quick(BESIDE, ("pointed elsewhere", "it goes on"), ("added elsewhere", "it is killed"))
)
def test_rows_of_a_partition_that_somebody_changes_are_taken_back(
    act: str, how: str, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    there, plain, (value, statement, theirs) = place(PARTS), Append._move, MOVED[act]
    sql = f"select 3 as id, '{value}' as d"
    shown: list[Any] = []

    def move(self: Append, publication: JournaledPublication, one: Any) -> None:
        there.carry_out(statement)
        shown.extend(there.other.sql(f"show partitions {there.t}").collect())
        plain(self, publication, one)
        if how == "it is killed":
            raise Killed

    monkeypatch.setattr(Append, "_move", move)
    if how == "it is killed":
        with pytest.raises(Killed):
            there.append(sql)
        assert there.recover() == ["rejected"]
    else:
        report = there.append(sql)
        assert (report.outcome, report.details.transient) == ("failed", True), report.error
        assert "the partition" in str(report.error)
    assert (there.rows(), there.left()) == (theirs, [])
    # What they did to it stays, also where it was they who made the partition.
    assert there.other.sql(f"show partitions {there.t}").collect() == shown
    monkeypatch.undo()
    assert there.append(sql).outcome == "published"
    assert there.rows() == sorted([*theirs, (3, value)], key=str)


@pytest.mark.parametrize("how", keep_quick(["it goes on", "it is killed"], "it goes on"))
def test_a_row_that_a_renamed_partition_takes_along_is_taken_back(
    how: str, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    there, plain, sql = place(PARTS), Append._move, "select 3 as id, 'x' as d"

    def move(self: Append, publication: JournaledPublication, one: Any) -> None:
        plain(self, publication, one)
        there.carry_out(MOVED["renamed"][1])
        if how == "it is killed":
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Append, "_move", move)
        if how == "it is killed":
            with pytest.raises(Killed):
                there.append(sql)
            assert there.recover() == ["rejected"]
        else:
            assert there.append(sql).outcome == "failed"
    assert (there.rows(), there.left()) == (MOVED["renamed"][2], [])
    assert there.append(sql).outcome == "published"
    assert there.rows() == sorted([*MOVED["renamed"][2], (3, "x")], key=str)


def killed_at_first_file(there: Place, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The publish dies once its first file is in the target."""
    plain = Append._move

    def move(self: Append, publication: JournaledPublication, one: Any) -> None:
        plain(self, publication, one)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Append, "_move", move)
        with pytest.raises(Killed):
            there.append(sql)


@pytest.mark.parametrize("how", keep_quick(["the delete fails", "it is killed"], "the delete fails"))
def test_a_file_that_was_copied_and_not_deleted_is_taken_back(
    how: str, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3A renames a file by a copy and then a delete."""
    there, plain, copied = place(OLD), LocalStore.move, list[str]()

    def move(self: LocalStore, source: str, target: str) -> None:
        if not source.endswith(".parquet") or copied:
            plain(self, source, target)
            return
        copied.append(target)
        shutil.copyfile(str(local(source)), str(local(target)))
        if how == "it is killed":
            raise Killed
        raise SparkFailure(f"cannot move {source}: 503 on DELETE", outside=True)

    monkeypatch.setattr(LocalStore, "move", move)
    if how == "it is killed":
        with pytest.raises(Killed):
            there.append()
        assert there.recover() == ["rejected"]
    else:
        assert there.append().outcome == "failed"
    assert copied
    assert (there.rows(), there.left()) == ([(1, "a")], [])
    assert there.append().outcome == "published"
    assert there.rows() == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("how", keep_quick(["all is there twice", "each is at one place"], "each is at one place"))
def test_a_recovery_that_died_while_the_staged_folder_was_renamed_is_taken_up(
    how: str, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Object stores rename a folder by copying and deleting file by file."""
    there, plain, died = place(PARTS), LocalStore.move, list[str]()
    sql = "select * from values (3, 'v'), (4, 'w'), (5, 'z') as v(id, d)"
    killed_at_first_file(there, sql, monkeypatch)

    def move(self: LocalStore, source: str, target: str) -> None:
        if not target.endswith("_undone") or died:
            plain(self, source, target)
            return
        died.append(source)
        old, new = Path(str(local(source))), Path(str(local(target)))
        shutil.copytree(old, new)
        if how == "each is at one place":
            [copied, waiting] = sorted(path.relative_to(old) for path in old.rglob("*.parquet"))
            (old / copied).unlink()
            (new / waiting).unlink()
        raise Killed

    monkeypatch.setattr(LocalStore, "move", move)
    with pytest.raises(Killed):
        there.recover()
    assert died
    assert there.recover() == ["rejected"]
    assert (there.rows(), there.left()) == ([(1, "x"), (2, "y")], [])
    assert there.append(sql).outcome == "published"
    assert there.rows() == [(1, "x"), (2, "y"), (3, "v"), (4, "w"), (5, "z")]


def _is_clean(self: Any) -> bool:
    """Whether a publish has its rows in the target by now: whose session it is has no step, and is asked then only."""
    return not isinstance(self, JournaledPublication) or self.entry.step == "clean"


SHAPES = [(before, what, by) for before, what in ((OLD, ""), (PARTS, "partition (d = 'x')")) for by in ("calls", "SQL")]


@pytest.mark.parametrize(("before", "what", "by"), keep_quick(SHAPES, SHAPES[0], SHAPES[3]))
def test_who_points_a_table_elsewhere_after_an_append_is_not_overruled(
    before: str, what: str, by: str, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right before the call that has Spark forget the size of a table which was analyzed."""
    there, seen = place(before), list[Any]()
    forget = (ClassicSession if by == "calls" else SqlOnlySession).forget_size
    column = "" if there.is_parted else ", 'theirs' as s"
    there.other.sql(f"select 50 as id{column}").write.parquet(f"{there.home}/theirs")
    there.carry_out("analyze table {t} compute statistics")

    def around(plain: Callable[..., None]) -> Callable[..., None]:
        def run(self: Any, text: str) -> None:
            if there.t in text.replace("`", "") and not seen and _is_clean(self):
                seen.append(there.size())
                there.carry_out(f"alter table {{t}} {what} set location '{{home}}/theirs'")
            plain(self, text)

        return run

    monkeypatch.setattr(ClassicSession, "forget_size", around(forget))
    monkeypatch.setattr(JournaledPublication, "define", around(JournaledPublication.define))
    added, theirs = ("select 2 as id, 'b' as s", [(50, "theirs")])
    if there.is_parted:
        added, theirs = "select 3 as id, 'y' as d", [(2, "y"), (3, "y"), (50, "x")]
    assert there.append(added).outcome == "published"
    assert (there.rows(), there.left()) == (theirs, [])
    assert seen[0] > 0
    assert there.size() != seen[0]
