"""Each strategy on real Spark, with Hive: what it leaves behind, and what a process leaves that dies at its calls."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from quick import keep_quick

from planproof.contract import Model
from planproof.judge.planes import Examined
from planproof.publish.formats import Parquet
from planproof.publish.materialize import stage
from planproof.publish.swaps.view import digest_of, statement_of
from planproof.publish.transaction import lock
from planproof.publish.transaction.begin import begin_publication
from planproof.publish.transaction.names import Names
from planproof.publish.transaction.places import database_root
from planproof.publish.transaction.publication import JournaledPublication
from planproof.publish.transaction.recover import recover
from planproof.session.store import store_of
from planproof_engine.catalog import split_name
from planproof_engine.quoting import quote_parts

pytestmark = pytest.mark.hive

Rows = list[tuple[Any, ...]]


class Case:
    """One way to publish: what stands before, what is published, what must be read afterwards."""

    def __init__(
        self, strategy: str, before: list[str], model: dict[str, Any], old: Rows | None, new: Rows, **more: Any
    ) -> None:
        self.strategy, self.before, self.model, self.old, self.new = strategy, before, model, old, new
        self.columns: tuple[tuple[str, str], ...] = more.get("columns", ())
        self.moved: bool = more.get("moved", False)
        self.is_delta: bool = more.get("is_delta", strategy in ("append", "partitions"))


OLD = "create table {t} using parquet as select 1 as id, 'a' as s"
PARTS = "create table {t} using parquet partitioned by (d) as select * from values (1, 'x'), (2, 'y') as v(id, d)"
PLACED = "create table {t} using parquet location '{root}/mine' as select 1 as id, 'a' as s"
LAKE = {"location_root": "{root}/lake"}
VERSIONED = [
    OLD,
    "alter table {t} set location '{root}/__planproof/t/0a1b2c3d.0123456789_1'",
    "insert into {t} select 5, 'v'",
]

CASES = {
    "first": Case("rename", [], {"sql": "select 2 as id"}, None, [(2,)]),
    "first, with a place": Case("rename", [], {"sql": "select 2 as id", "options": LAKE}, None, [(2,)]),
    "to a place": Case("rename", [OLD], {"sql": "select 2 as id", "options": LAKE}, [(1, "a")], [(2,)], moved=True),
    "from a version to a place": Case(
        "rename", VERSIONED, {"sql": "select 2 as id", "options": LAKE}, [(5, "v")], [(2,)], moved=True
    ),
    "from place to place": Case(
        "rename", [PLACED], {"sql": "select 2 as id", "options": LAKE}, [(1, "a")], [(2,)], moved=True
    ),
    "another schema": Case("rename", [OLD], {"sql": "select 2L as id"}, [(1, "a")], [(2,)]),
    "another schema over a version": Case("rename", VERSIONED, {"sql": "select 2L as id"}, [(5, "v")], [(2,)]),
    "partitioned": Case(
        "rename", [PARTS], {"sql": "select 3 as id, 'z' as d", "partition_by": ["d"]}, [(1, "x"), (2, "y")], [(3, "z")]
    ),
    "over a view": Case("rename", ["create view {t} as select 9 as v"], {"sql": "select 2 as id"}, [(9,)], [(2,)]),
    "location": Case("location", [OLD], {"sql": "select 2 as id, 'b' as s"}, [(1, "a")], [(2, "b")]),
    "location over a version": Case("location", VERSIONED, {"sql": "select 2 as id, 'b' as s"}, [(5, "v")], [(2, "b")]),
    "location of an external table": Case(
        "location",
        [PLACED],
        {"sql": "select 2 as id, 'b' as s"},
        [(1, "a")],
        [(2, "b")],
    ),
    "location of a delta": Case(
        "location", [OLD], {"sql": "select 2 as id, 'b' as s"}, [(1, "a")], [(2, "b")], is_delta=True
    ),
    "append": Case("append", [OLD], {"sql": "select 2 as id, 'b' as s"}, [(1, "a")], [(1, "a"), (2, "b")]),
    "append to partitions": Case(
        "append",
        [PARTS],
        {"sql": "select * from values (3, 'x'), (4, 'new/one') as v(id, d)"},
        [(1, "x"), (2, "y")],
        [(1, "x"), (2, "y"), (3, "x"), (4, "new/one")],
    ),
    "partitions": Case(
        "partitions",
        [PARTS],
        {"sql": "select * from values (3, 'x'), (4, null) as v(id, d)"},
        [(1, "x"), (2, "y")],
        [(2, "y"), (3, "x"), (4, None)],
    ),
    "append of a column": Case(
        "append",
        [OLD],
        {"sql": "select 2 as id, 'b' as s, 'n' as note"},
        [(1, "a")],
        [(1, "a", None), (2, "b", "n")],
        columns=(("note", "STRING"),),
    ),
    "append of a partition column's neighbour": Case(
        "append",
        [PARTS],
        {"sql": "select * from values (3, 'x', 1.5D), (4, 'new', 2.5D) as v(id, d, `od``d`)"},
        [(1, "x"), (2, "y")],
        [(1, None, "x"), (2, None, "y"), (3, 1.5, "x"), (4, 2.5, "new")],
        columns=(("od`d", "DOUBLE"),),
    ),
    "partitions with a column": Case(
        "partitions",
        [PARTS],
        {"sql": "select * from values (3, 'x', 'n'), (4, 'z', 'n') as v(id, d, note)"},
        [(1, "x"), (2, "y")],
        [(2, None, "y"), (3, "n", "x"), (4, "n", "z")],
        columns=(("note", "STRING"),),
    ),
    "overwrite of all partitions": Case(
        "rename",
        [PARTS, "alter table {t} set tblproperties ('team.owner' = 'Ada')"],
        {"sql": "select 3 as id, 'z' as d"},
        [(1, "x"), (2, "y")],
        [(3, "z")],
        is_delta=True,
    ),
    "overwrite with a column": Case(
        "rename",
        [OLD],
        {"sql": "select 2 as id, 'b' as s, 'n' as note"},
        [(1, "a")],
        [(2, "b", "n")],
        is_delta=True,
        columns=(("note", "STRING"),),
    ),
    "view": Case(
        "view", ["create view {t} as select 1 as id"], {"sql": "select 2 as id", "materialized": "view"}, [(1,)], [(2,)]
    ),
    "view over a table": Case("view", [OLD], {"sql": "select 2 as id", "materialized": "view"}, [(1, "a")], [(2,)]),
}


SLOW = pytest.mark.conformance
PLAYED = {"another schema": 4, "partitions": 6, "view over a table": 3}
"""The cases that die in each test run, and the step from one call at which they do to the next; tests/formats has
those of a location and of an append. The conformance run takes every call of every case, and every second one where
partitions make more calls of one kind."""
WHOLE = {name: 2 if "partition" in name else 1 for name in CASES}


class World:
    """A database in which one case is played."""

    def __init__(self, spark: Any, session: Any, database: str, case: Case) -> None:
        self.spark, self.case, self.database = spark, case, database
        self.name = f"{database}.t"
        self.root = database_root(session, (database,))
        for statement in case.before:
            spark.sql(self.filled(statement))
        if case.before is VERSIONED:
            # As an earlier publish leaves it.
            store_of(session).delete(f"{self.root}/t")

    def again(self, session: Any) -> World:
        """The same world from its beginning."""
        _dropped(self.spark, self.name)
        store_of(session).delete(f"{self.root}/mine")
        return World(self.spark, session, self.database, self.case)

    def filled(self, text: str) -> str:
        return text.replace("{t}", self.name).replace("{root}", self.root)

    def model(self) -> Model:
        given = dict(self.case.model)
        options = {k: self.filled(v) for k, v in given.pop("options", {}).items()}
        return Model(self.name, options=options, **given)

    def publish(self, session: Any, run: str = "r") -> JournaledPublication:
        model = self.model()
        names = Names.of(self.name, session.namespace, run, 1)
        held = lock.acquire(store_of(session), self.root, names.slug, names.stamp, self.name)
        try:
            return self.published(session, model, names, held)
        finally:
            held.release()

    def published(self, session: Any, model: Model, names: Names, held: lock.Lock) -> JournaledPublication:
        target = session.table(names.target.quoted)
        going = begin_publication(
            session,
            names,
            target,
            self.case.strategy,
            self.root,
            dict(model.options),
            held,
            columns=self.case.columns,
            moved=self.case.moved,
        )
        begin = going.note if self.case.strategy == "view" else going.step
        going.statement = statement_of(going.entry.target, model, model.sql, target)
        begin("stage", view_text=digest_of(model.sql))
        if self.case.is_delta:
            assert target is not None
            stage.fill(going, model, target, model.sql, session.planes(model.sql).analyzed.names)
        elif self.case.strategy != "view":
            planes = session.analyze(model.sql)
            examined = Examined(planes, {}, {}, lambda column: None, model.sql, planes)
            if self.case.strategy == "location":
                stage.write(going, examined, planes.analyzed.as_nullable())
            else:
                stage.create(going, model, examined, target)
        going.note("audit")
        Parquet(session).commit(going)
        going.close()
        return going

    def rows(self) -> Rows | None:
        if not self.spark.catalog.tableExists(self.name):
            return None
        # A session of its own has no cached listing of files.
        found = self.spark.newSession().sql(f"select * from {self.name}").collect()
        return sorted((tuple(r) for r in found), key=str)

    def leftovers(self) -> list[str]:
        tables = [r[1] for r in self.spark.sql(f"show tables in {self.database}").collect() if r[1] != "t"]
        folder = Path(self.root.removeprefix("file:"))
        return (
            tables
            + [str(p) for p in (folder / ".planproof").glob("*/*.json")]
            + [p.name for p in folder.iterdir() if p.name.startswith("__planproof_")]
        )


@pytest.fixture
def world(spark: Any, session: Any, database: str) -> Callable[[str], World]:
    return lambda name: World(spark, session, database, CASES[name])


SOME = ("to a place", "over a view", "location of an external table", "append of a column", "append to partitions")
SOME += ("overwrite of all partitions",)


@pytest.mark.parametrize("name", keep_quick(CASES, *SOME))
def test_the_target_is_new_and_nothing_is_left(name: str, world: Callable[[str], World], session: Any) -> None:
    there = world(name)
    assert there.rows() == there.case.old
    there.publish(session)
    assert there.rows() == there.case.new
    assert there.leftovers() == []


@pytest.mark.parametrize(
    ("name", "every"),
    [
        *PLAYED.items(),
        *(pytest.param(*case, marks=SLOW) for case in WHOLE.items() if case not in PLAYED.items()),
    ],
)
def test_a_publish_that_dies_anywhere_leaves_the_target_old_or_new(
    name: str, every: int, world: Callable[[str], World], session: Any, spark: Any, dying: Any, killed: Any
) -> None:
    at, outcomes, there = 0, [], world(name)
    while True:
        frail, _ = dying(at)
        try:
            there.publish(frail, f"r{at}")
        except killed:
            pass
        else:
            break
        reports = recover(session, frail.store._inner, [there.root])
        outcomes += [r.outcome for r in reports]
        found = there.rows()
        if reports:
            assert found == (there.case.new if "published" in outcomes[-1:] else there.case.old), f"died at call {at}"
        else:
            # Nothing is begun before the journal is written; after it was closed, only the lock is given back.
            assert found == (there.case.new if outcomes else there.case.old), f"died at call {at}"
        assert there.leftovers() == [], f"died at call {at}"
        if found != there.case.old:
            # The name and its default directory are free again for whoever drops it, as dbt does.
            _dropped(spark, there.name)
            store_of(session).delete(f"{there.root}/mine")
            spark.sql(f"create table {there.name} using parquet as select 0 as z")
            _dropped(spark, there.name)
            there = world(name)
        at += every
    assert at >= 4
    # Of a view, too: no statement is read from a journal and run.
    assert "rejected" in outcomes


@pytest.mark.parametrize("name", keep_quick(["another schema", "view over a table"], "another schema"))
def test_a_rename_that_died_between_the_directory_and_the_name_is_undone(
    name: str, world: Callable[[str], World], session: Any, dying: Any, killed: Any
) -> None:
    """Hive moves a managed table's directory before the name."""
    there, (frail, _) = world(name), dying(None)

    def half(sql: str) -> Any:
        if " RENAME TO " not in sql:
            return session.rows(sql)
        away = split_name(sql.rpartition(" RENAME TO ")[2])[-1]
        store_of(session).move(f"{there.root}/t", f"{there.root}/{away}")
        raise killed

    frail.rows = half
    with pytest.raises(killed):
        there.publish(frail)
    assert there.rows() != there.case.old
    recover(session, store_of(session), [there.root])
    assert there.rows() == there.case.old
    assert there.leftovers() == []


def test_an_undo_that_died_at_its_end_is_not_told_as_a_publish(
    world: Callable[[str], World], session: Any, dying: Any, killed: Any
) -> None:
    """The target stands and nothing is staged any more, as after a publish."""
    there = world("another schema")

    def dies(before: str, after: str) -> Any:
        def rows(sql: str) -> Any:
            if before and before in sql:
                raise killed
            found = session.rows(sql)
            if after and after in sql:
                raise killed
            return found

        frail, _ = dying(None)
        frail.rows = rows
        return frail

    with pytest.raises(killed):
        there.publish(dies(" RENAME TO ", ""))
    rescue = dies("", "DROP TABLE IF EXISTS")
    with pytest.raises(killed):
        recover(rescue, rescue.store, [there.root])
    [report] = recover(session, store_of(session), [there.root])
    assert (report.outcome, there.rows()) == ("rejected", there.case.old)
    assert there.leftovers() == []


def test_a_partition_that_others_wrote_to_meanwhile_stays(
    world: Callable[[str], World], session: Any, spark: Any, dying: Any, killed: Any
) -> None:
    """The publish that made it dies before its column is there, and is taken back."""
    there, (frail, _) = world("append of a partition column's neighbour"), dying(None)

    def dies(sql: str) -> Any:
        if sql.startswith(f"ALTER TABLE {quote_parts(split_name(there.name))} ADD COLUMNS"):
            raise killed
        return session.rows(sql)

    frail.rows = dies
    with pytest.raises(killed):
        there.publish(frail)
    spark.sql(f"insert into {there.name} partition (d = 'new') values (5)")
    [report] = recover(session, store_of(session), [there.root])
    assert report.outcome == "rejected"
    assert there.rows() == [(1, "x"), (2, "y"), (5, "new")]
    assert there.leftovers() == []


def _dropped(spark: Any, name: str) -> None:
    if spark.catalog.tableExists(name):
        kind = "view" if spark.catalog.getTable(name).tableType == "VIEW" else "table"
        spark.sql(f"drop {kind} {name}")


def test_twice_keeps_one_version_before(
    world: Callable[[str], World], session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planproof.publish.swaps.location.RETENTION", 0.0)
    there = world("location")
    for run in ("a", "b", "c", "d"):
        there.publish(session, run)
    folder = Path(there.root.removeprefix("file:")) / "__planproof" / "t"
    marks, runs = zip(*(name.split(".") for name in sorted(os.listdir(folder), key=lambda name: name.split(".")[1])))
    assert runs == ("c_1", "d_1")
    assert len(set(marks)) == 1


def test_what_was_replaced_a_moment_ago_stays_for_its_readers(world: Callable[[str], World], session: Any) -> None:
    there = world("location")
    for run in ("a", "b", "c", "d"):
        there.publish(session, run)
    folder = Path(there.root.removeprefix("file:")) / "__planproof" / "t"
    assert len(os.listdir(folder)) == 4
    for age, name in enumerate(sorted(os.listdir(folder), key=lambda name: name.split(".")[1])):
        for one in (folder / name / "_planproof.json", folder / name):
            if one.exists():
                os.utime(one, (age, age))
    there.publish(session, "e")
    assert sorted(name.split(".")[1] for name in os.listdir(folder)) == ["d_1", "e_1"]


def test_a_table_of_the_same_name_in_another_metastore_keeps_its_versions(
    world: Callable[[str], World], session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planproof.publish.swaps.location.RETENTION", 0.0)
    there = world("location")
    theirs = Path(there.root.removeprefix("file:")) / "__planproof" / "t" / "0123abcd.theirs_1"
    theirs.mkdir(parents=True)
    for run in ("a", "b", "c"):
        there.publish(session, run)
    assert theirs.exists()


def test_what_is_replaced_whole_keeps_its_properties(world: Callable[[str], World], session: Any) -> None:
    there = world("overwrite of all partitions")
    there.publish(session)
    table = session.table(there.name)
    assert (table.properties["team.owner"], table.partition_by, table.managed) == ("Ada", ("d",), True)


@pytest.mark.parametrize(
    ("name", "every"),
    [
        ("another schema", 9),
        *(pytest.param(n, 1, marks=SLOW) for n in ("another schema", "append of a column", "partitions", "location")),
    ],
)
def test_a_rescue_that_dies_is_taken_up_by_the_next_one(
    name: str, every: int, world: Callable[[str], World], session: Any, dying: Any, killed: Any
) -> None:
    """The publish dies in its middle, its rescue at every one of its own calls; what the last one says is true."""
    at, there = 0, world(name)
    _, counter = measured = dying(None)
    there.publish(measured[0], "m")
    middle, there = counter.calls * 2 // 3, there.again(session)
    while True:
        frail, _ = dying(middle)
        with pytest.raises(killed):
            there.publish(frail, f"r{at}")
        frail, _ = dying(at)
        try:
            recover(frail, frail.store, [there.root])
        except killed:
            reports = recover(session, frail.store._inner, [there.root])
        else:
            break
        said = [r.outcome for r in reports][-1:]
        found = there.rows()
        # A rescue that died after all was settled leaves nothing to be said.
        expected = {"published": [there.case.new], "rejected": [there.case.old]}
        assert found in expected.get("".join(said), [there.case.old, there.case.new]), f"the rescue died at call {at}"
        assert there.leftovers() == [], f"the rescue died at call {at}"
        if found != there.case.old:
            there = there.again(session)
        at += every
    assert at >= 3


def test_a_managed_table_stays_managed_and_plain_dbt_can_replace_it(
    world: Callable[[str], World], session: Any, spark: Any
) -> None:
    there = world("location")
    there.publish(session)
    table = session.table(there.name)
    assert table is not None
    assert table.managed
    spark.sql(f"drop table {there.name}")
    spark.sql(f"create table {there.name} using parquet as select 7 as id")
    assert there.rows() == [(7,)]


def test_an_external_table_with_a_place_lies_there(world: Callable[[str], World], session: Any) -> None:
    there = world("first, with a place")
    there.publish(session)
    assert session.files(there.root.removeprefix("file:") + "/lake/t")


def test_a_reader_with_an_open_plan_still_reads_the_old_version(
    world: Callable[[str], World], session: Any, spark: Any
) -> None:
    there = world("location over a version")
    reader = spark.newSession().sql(f"select * from {there.name}")
    there.publish(session)
    assert [tuple(r) for r in reader.collect()] == there.case.old
