"""What others do while a publish is at work: drop, alter, insert, delete files. Whatever it is, the table is
what one of the writers left, each report says what became of its rows, and nobody's files are deleted but one's own."""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from guarded_place import APPEND, OLD, Place
from quick import keep_quick

from planproof import Guard, Model
from planproof.publish.transaction.leave import move_back
from planproof.publish.transaction.places import database_root
from planproof.publish.transaction.publication import JournaledPublication
from planproof.session import open as opened
from planproof.session.protocol import SparkFailure
from planproof.session.store import LocalStore, local, store_of


def before(act: Callable[[], None]) -> Any:
    from planproof.publish.parquet import Parquet

    plain = Parquet.commit

    def commit(self: Any, publication: JournaledPublication) -> Any:
        act()
        return plain(self, publication)

    return commit


def test_rows_in_a_partition_that_is_not_overwritten_are_kept_and_nothing_is_told(
    place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = place("partitions")
    insert = f"insert into {there.name} values (9, 'y')"
    monkeypatch.setattr("planproof.publish.parquet.Parquet.commit", before(lambda: (there.other.sql(insert), None)[1]))
    report = there.publish()
    assert (report.outcome, there.rows()) == ("published", sorted([*there.new, (9, "y")]))
    assert [f for f in report.findings if f.code == "PP621"] == []


def test_what_was_read_before_the_lock_is_read_again_under_it(spark: Any, database: str) -> None:
    """Two sessions append `max(id) + 1` in turn; the second one has read the table before the first one wrote."""
    spark.sql(f"create table {database}.t using parquet as select 0L as id")
    model = Model(f"{database}.t", f"select max(id) + 1 as id from {database}.t", **APPEND)
    first, second = Guard(spark.newSession()), Guard(spark.newSession())
    for guard in (first, second):
        guard.check(model)
        guard.session.rows(f"select * from {database}.t")
    for guard in (first, second, second, first, second):
        assert guard.publish(model).outcome == "published"
    found = spark.newSession().sql(f"select id from {database}.t order by id").collect()
    assert [row[0] for row in found] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "name", keep_quick(["location", "rename", "partitions", "table to view"], "location", "partitions")
)
def test_rows_that_come_right_before_the_swap_are_told(
    name: str, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last moment: the publish has looked at the table, and is about to make the call."""
    there, inserted = place(name), list[bool]()
    plain = JournaledPublication.change

    def change(self: JournaledPublication, sql: str) -> None:
        if not inserted:
            inserted.append(True)
            there.other.sql(f"insert into {there.name} values (9, 'x')")
        plain(self, sql)

    monkeypatch.setattr(JournaledPublication, "change", change)
    report = there.publish()
    assert (report.outcome, there.rows()) == ("published", there.new)
    [told] = [f for f in report.findings if f.code == "PP621"]
    assert told.found == "1 file"


@pytest.mark.parametrize("name", ["location", "partitions", "rename"])
def test_rows_that_come_while_their_folder_is_deleted_are_left_and_told(
    name: str, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An INSERT that was under way when the table left the folder ends at any moment of its deletion."""
    for at in itertools.count():
        there, seen = place(name), list[str]()
        if name == "rename":  # The folder that it leaves is a version.
            Guard(there.spark).publish(Model(there.name, "select 2 as id, 'b' as s"))
        [file] = there.other.sql(f"select input_file_name() from {there.name} limit 1").collect()[0]
        folder, spare = Path(str(local(file))).parent, tmp_path / "spare"
        shutil.copy(str(local(file)), spare)
        late = folder / "part-late.parquet"
        (folder / "_temporary").mkdir()
        (folder / "_temporary" / "0").touch()  # What a killed INSERT leaves.

        def arrive(location: str, seen: list[str] = seen, at: int = at, late: Path = late, spare: Path = spare) -> None:
            if Path(str(local(location))).is_relative_to(late.parent):
                seen.append(location)
                if len(seen) - 1 == at:
                    late.parent.mkdir(exist_ok=True)
                    shutil.copy(spare, late)

        with monkeypatch.context() as patch:
            for method in (LocalStore.delete, LocalStore.prune):

                def call(self: LocalStore, location: str, plain: Any = method, arrive: Any = arrive) -> None:
                    arrive(location)
                    plain(self, location)

                patch.setattr(LocalStore, method.__name__, call)
            report = there.publish()
        assert (report.outcome, there.rows()) == ("published", there.new), report.error
        if len(seen) <= at:
            break
        told = [f for one in (report, there.publish()) for f in one.findings if f.code == "PP621"]
        assert (late.exists(), bool(told)) == (True, True), seen
        there.other.sql(f"drop table {there.name}")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("name", keep_quick(["location", "rename", "append", "partitions"], "location", "append"))
def test_files_that_are_gone_after_the_audit_are_not_published(
    name: str, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    from planproof.publish.parquet import Parquet

    plain, there = Parquet.commit, place(name)

    def commit(self: Any, publication: JournaledPublication) -> Any:
        publication.store.delete(publication.entry.stage_location)
        return plain(self, publication)

    monkeypatch.setattr(Parquet, "commit", commit)
    report = there.publish()
    assert (report.outcome, report.details.transient, there.rows()) == ("failed", True, there.old), report.error
    assert "after they had been audited" in str(report.error)


@pytest.mark.parametrize("name", keep_quick(["rename", "table to view"], "rename"))
def test_who_takes_the_name_in_the_gap_keeps_it_and_the_old_rows_are_not_lost(
    name: str, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the two renames there is no table: another session makes one."""
    there, plain = place(name), JournaledPublication.step

    def step(self: JournaledPublication, step: str, **changes: Any) -> None:
        plain(self, step, **changes)
        if step == "swap":
            there.other.sql(f"create table {there.name} using parquet as select 9 as id")

    monkeypatch.setattr(JournaledPublication, "step", step)
    report = there.publish()
    assert (report.outcome, report.details.transient, there.rows()) == ("failed", True, [(9,)]), report.error
    [aside] = [row[1] for row in there.other.sql(f"show tables in {there.database} like '*_old'").collect()]
    assert aside in str(report.error)
    found = there.other.sql(f"select * from {there.database}.{aside}").collect()
    assert [tuple(row) for row in found] == there.old
    assert Guard(there.other).recover() == []


@pytest.mark.parametrize(
    ("name", "parts"),
    keep_quick(
        itertools.product(["append", "append to partitions", "partitions"], ["", "partitioned by (d)"]),
        ("append", ""),
        ("partitions", "partitioned by (d)"),
    ),
)
def test_a_table_that_takes_the_name_while_files_go_in_gets_none_of_them(
    name: str, parts: str, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    there, plain = place(name), JournaledPublication.step

    def step(self: JournaledPublication, step: str, **changes: Any) -> None:
        plain(self, step, **changes)
        if step in ("files", "partitions"):
            there.other.sql(f"drop table {there.name}")
            there.other.sql(f"create table {there.name} (other double, d string) using parquet {parts}")
            there.other.sql(f"insert into {there.name} values (9, 'x')")

    monkeypatch.setattr(JournaledPublication, "step", step)
    report = there.publish()
    assert (report.outcome, report.details.transient, there.rows()) == ("failed", True, [(9.0, "x")]), report.error
    assert Guard(there.other).recover() == []


@pytest.mark.parametrize("name", keep_quick(["rename", "first"], "rename"))
def test_a_staging_table_that_somebody_drops_at_the_last_moment_costs_no_row(
    name: str, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    there, plain = place(name), JournaledPublication.step

    def step(self: JournaledPublication, step: str, **changes: Any) -> None:
        plain(self, step, **changes)
        if step == "swap":
            there.other.sql(f"drop table {self.entry.staging}")

    monkeypatch.setattr(JournaledPublication, "step", step)
    report = there.publish()
    assert (report.outcome, report.details.transient, there.rows()) == ("failed", True, there.old), report.error
    assert Guard(there.other).recover() == []
    assert len(there.other.sql(f"show tables in {there.database}").collect()) == (name == "rename")


ALTERED = {
    "altered": ["alter table {t} add columns (c int)"],
    "renamed and made anew": [
        "alter table {t} rename to {t}_old",
        "create table {t} (id int, s string, c int) using parquet",
    ],
    "made anew": ["drop table {t}", "create table {t} (id int, s string, c int) using parquet"],
}


@pytest.mark.parametrize(
    ("how", "placed", "runs"),
    keep_quick(
        itertools.product(ALTERED, [False, True], [0, 1, 2]),
        ("altered", False, 1),
        ("renamed and made anew", True, 1),
        ("made anew", False, 0),
    ),
)
def test_a_table_that_is_another_one_right_before_the_swap_has_its_own_rows(
    spark: Any, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, placed: bool, runs: int
) -> None:
    """Its rows lie where the publish before has put them."""
    there = Place(spark, database, "first")
    location = f"location '{tmp_path}/t'" if placed else ""
    spark.sql(f"create table {there.name} using parquet {location} as select 1 as id, 'a' as s")
    for at in range(runs):
        assert Guard(spark).publish(Model(there.name, f"select {at} as id, 'a' as s")).outcome == "published"
    before, change, acted = there.rows(), JournaledPublication.change, list[str]()

    def beside(self: JournaledPublication, sql: str) -> None:
        if " SET LOCATION " in sql and not acted:
            for statement in ALTERED[how]:
                acted.append(statement)
                there.other.sql(statement.replace("{t}", there.name))
            if how == "renamed and made anew" and list(Path(stood.removeprefix("file:")).glob("*.parquet")):
                # Hive's catalog does not move such a table's files with its name: docs/guarantees.md says what to do.
                there.other.sql(f"alter table {there.name}_old set location '{stood}'")
        change(self, sql)

    monkeypatch.setattr(JournaledPublication, "change", beside)
    described = spark.sql(f"describe table extended {there.name}").collect()
    stood = next(row[1] for row in described if row[0] == "Location")
    report = Guard(spark).publish(Model(there.name, "select 9 as id, 'z' as s"))
    assert len(acted) == len(ALTERED[how])
    assert (report.outcome, report.details.transient) == ("failed", True), report.error
    if how == "altered":
        assert there.rows() == [(*row, None) for row in before or []]
    elif not placed:
        assert there.rows() == []
    if how == "renamed and made anew":
        kept = spark.newSession().table(f"{there.name}_old").collect()
        assert [tuple(row) for row in kept] == before


def test_a_staged_file_that_somebody_deletes_while_rows_are_added_blames_nobody(
    place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    there, plain = place("append"), JournaledPublication.move

    def move(self: JournaledPublication, source: str, target: str) -> None:
        if source.endswith(".parquet"):
            self.store.delete(source)
        plain(self, source, target)

    monkeypatch.setattr(JournaledPublication, "move", move)
    report = there.publish()
    assert (report.outcome, report.details.transient, there.rows()) == ("failed", True, there.old), report.error
    assert "somebody deleted it" in str(report.error)
    assert Guard(there.other).recover() == []
    monkeypatch.undo()
    assert (there.publish().outcome, there.rows()) == ("published", there.new)


@pytest.mark.parametrize("how", keep_quick(["told by the publish", "told by the recovery"], "told by the recovery"))
def test_files_that_come_to_the_place_of_a_table_that_stands_aside_are_left_and_named(
    how: str, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the two renames another session writes files there, so that the new table cannot have the name."""
    there, plain, at = place("rename"), JournaledPublication.step, list[str]()

    def step(self: JournaledPublication, step: str, **changes: Any) -> None:
        plain(self, step, **changes)
        if step == "swap":
            at.append(self.entry.native)
            there.other.sql("select 9L as id, 'z' as s").write.parquet(self.entry.native)
            if how == "told by the recovery":
                monkeypatch.setattr(JournaledPublication, "change", refuse)

    def refuse(self: JournaledPublication, sql: str) -> None:
        raise SparkFailure("the metastore is gone", outside=True)

    monkeypatch.setattr(JournaledPublication, "step", step)
    report = there.publish()
    monkeypatch.undo()
    assert report.outcome == "failed", report.error
    told = str(report.error)
    if how == "told by the recovery":
        [recovered] = Guard(there.other).recover(force=True)
        assert recovered.outcome == "rejected", recovered.error
        [told] = [f.message for f in recovered.findings]
    else:
        assert report.details.transient
    assert there.rows() == there.old
    found = re.search(r"lie in (\S+_found): they are not planproof's", told)
    assert found, told
    assert [tuple(row) for row in there.other.read.parquet(found[1]).collect()] == [(9, "z")]
    assert (there.publish().outcome, there.rows()) == ("published", there.new)
    session = opened(there.spark)
    [left] = move_back(session, store_of(session), [database_root(session, (there.database,))], force=True)
    assert (left.outcome, left.model) == ("failed", found[1]), left.error
    assert [tuple(row) for row in there.other.read.parquet(found[1]).collect()] == [(9, "z")]


@pytest.mark.parametrize("lies", keep_quick(["at home", "in a version", "elsewhere"], "in a version"))
def test_a_table_that_is_pointed_elsewhere_at_the_last_moment_loses_no_row(
    lies: str, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Between the last look and the first rename another session gives the table other files."""
    there, plain, theirs = place("rename"), JournaledPublication.step, f"file:{tmp_path}/theirs"
    old, new = list(there.old or ()), list(there.new)
    if lies == "elsewhere":
        there.spark.sql(f"drop table {there.name}")
        there.spark.sql(OLD.replace("{t}", there.name).replace(" as select", f" location '{tmp_path}/old' as select"))
    elif lies == "in a version":
        assert Guard(there.spark).publish(Model(there.name, "select 1 as id, 'a' as s")).outcome == "published"
    there.other.sql("select 9 as id, 'z' as s").write.parquet(theirs)

    def step(self: JournaledPublication, step: str, **changes: Any) -> None:
        plain(self, step, **changes)
        if step == "away":
            there.other.sql(f"alter table {there.name} set location '{theirs}'")

    monkeypatch.setattr(JournaledPublication, "step", step)
    report, found = there.publish(), there.rows()
    if report.outcome == "published":
        assert found == new
    else:
        assert (report.outcome, report.details.transient) == ("failed", True), report.error
        assert found in (old, [(9, "z")]), report.error
    assert Guard(there.other).recover() == []
    kept = {tuple(row) for folder in _with_files(there, theirs) for row in there.other.read.parquet(folder).collect()}
    assert kept >= {(9, "z")}.union(old if report.outcome == "failed" else ())
    monkeypatch.undo()
    again = there.publish()
    assert (again.outcome, there.rows()) == ("published", new), again.error
    assert [row[1] for row in there.other.sql(f"show tables in {there.database}").collect()] == ["t"]


def _with_files(there: Place, theirs: str) -> list[str]:
    """The folders that hold data of the case."""
    home = next(r[1] for r in there.spark.sql(f"describe database {there.database}").collect() if r[0] == "Location")
    below = [str(path.parent) for path in Path(local(home) or home).rglob("*.parquet")]
    return list(dict.fromkeys([*below, *([theirs] if list(Path(local(theirs) or "").glob("*.parquet")) else [])]))
