"""A call to Spark or to the files fails, with the process alive: the report says what the target is then.

Either one call fails and later ones are answered (a network that hiccups), or all fail that follow (a metastore or a
file system that is gone), until a recovery that has healthy ones.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planproof import Guard, Model
from planproof.publish.transaction.places import database_root
from planproof.session.protocol import SparkFailure
from planproof.session.store import store_of
from planproof_engine.origin import AnalysisError

OLD = "create table {t} using parquet as select 1 as id, 'a' as s"
PARTS = "create table {t} using parquet partitioned by (d) as select * from values (1, 'x'), (2, 'y') as v(id, d)"
DELTA = {"materialized": "incremental"}
PART_DELTA = {"sql": "select * from values (3, 'x'), (4, 'z') as v(id, d)", "partition_by": ["d"]}
Rows = list[tuple[Any, ...]]
CASES: dict[str, tuple[str | None, dict[str, Any], Rows | None, Rows]] = {
    "first": (None, {"sql": "select 2 as id"}, None, [(2,)]),
    "placed": (None, {"sql": "select 2 as id", "options": {"location_root": "{root}/lake"}}, None, [(2,)]),
    "moved": (OLD, {"sql": "select 2 as id", "options": {"location_root": "{root}/lake"}}, [(1, "a")], [(2,)]),
    "same": (OLD, {"sql": "select 2 as id, 'b' as s"}, [(1, "a")], [(2, "b")]),
    "changed": (OLD, {"sql": "select 2L as id"}, [(1, "a")], [(2,)]),
    "parts": (PARTS, PART_DELTA, [(1, "x"), (2, "y")], [(3, "x"), (4, "z")]),
    "append": (OLD, {"sql": "select 2 as id, 'b' as s", **DELTA}, [(1, "a")], [(1, "a"), (2, "b")]),
    "grown": (
        OLD,
        {
            "sql": "select 2 as id, 'b' as s, 'n' as n",
            **DELTA,
            "options": {"on_schema_change": "append_new_columns"},
        },
        [(1, "a")],
        [(1, "a", None), (2, "b", "n")],
    ),
    "added to partitions": (
        PARTS,
        {**PART_DELTA, **DELTA},
        [(1, "x"), (2, "y")],
        [(1, "x"), (2, "y"), (3, "x"), (4, "z")],
    ),
    "overwritten": (
        PARTS,
        {**PART_DELTA, **DELTA, "incremental_strategy": "insert_overwrite"},
        [(1, "x"), (2, "y")],
        [(2, "y"), (3, "x"), (4, "z")],
    ),
    "view": ("create view {t} as select 1 as id", {"sql": "select 2 as id", "materialized": "view"}, [(1,)], [(2,)]),
    "view over a table": (OLD, {"sql": "select 2 as id", "materialized": "view"}, [(1, "a")], [(2,)]),
    "table over a view": ("create view {t} as select 1 as id", {"sql": "select 2L as id"}, [(1,)], [(2,)]),
}


class Failing:
    """Counts calls; the one with number `at` fails, and those after it, where `lasting`."""

    def __init__(self, at: int, lasting: bool) -> None:
        self.at, self.lasting, self.calls = at, lasting, 0

    @property
    def reached(self) -> bool:
        return self.calls > self.at

    def __call__(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls - 1 == self.at or (self.lasting and self.reached):
                raise SparkFailure("the cable was pulled", outside=True)
            return call(*args, **named)

        return counted


class Wired:
    """A session or store whose named calls go through `failing`."""

    def __init__(self, inner: Any, failing: Failing, names: tuple[str, ...], **more: Any) -> None:
        assert all(hasattr(inner, name) for name in names)
        self._inner, self._failing, self._names = inner, failing, names
        self.__dict__.update(more)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return self._failing(found) if name in self._names else found


def wired(session: Any, failing: Failing) -> Any:
    store = Wired(store_of(session), failing, ("read", "write", "create", "delete", "move", "names", "exists"))
    names = ("rows", "write", "table", "registered_table", "partitions", "files")
    return Wired(session, failing, names, store=store)


class World:
    def __init__(self, spark: Any, session: Any, database: str, name: str) -> None:
        self.spark, self.t = spark, f"{database}.t"
        self.root = database_root(session, (database,)).removeprefix("file:")
        self.before, form, self.old, self.new = CASES[name]
        options = {k: v.replace("{root}", self.root) for k, v in form.get("options", {}).items()}
        self.model = Model(self.t, **{**form, "options": options})

    def prepare(self) -> None:
        for kind in ("view", "table"):
            stored = self.spark.catalog.tableExists(self.t) and self.spark.catalog.getTable(self.t).tableType == "VIEW"
            if stored == (kind == "view"):
                self.spark.sql(f"drop {kind} if exists {self.t}")
        store_of(Guard(self.spark).session).delete(f"{self.root}/lake")
        if self.before is not None:
            self.spark.sql(self.before.replace("{t}", self.t))

    def rows(self) -> Rows | None:
        if not self.spark.catalog.tableExists(self.t):
            return None
        return sorted((tuple(r) for r in self.spark.newSession().table(self.t).collect()), key=str)

    def leftovers(self) -> list[str]:
        shown = [r[1] for r in self.spark.sql(f"show tables in {self.t.partition('.')[0]}").collect() if r[1] != "t"]
        folder = Path(self.root)
        state = [str(p) for p in folder.glob(".planproof/*/*.json")]
        return [*shown, *state, *(p.name for p in folder.glob("__planproof_*"))]


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from there"])
@pytest.mark.conformance
@pytest.mark.parametrize("name", CASES)
def test_the_report_says_what_the_target_is(name: str, lasting: bool, spark: Any, session: Any, database: str) -> None:
    world, outcomes = World(spark, session, database, name), []
    fresh = True
    for at in range(0, 400, 2 if lasting else 1):
        if fresh:
            world.prepare()
        failing = Failing(at, lasting)
        report = Guard(wired(session, failing)).publish(world.model)
        if not failing.reached:
            assert report.outcome == "published", report.error
            break
        where = f"call {at}: {report.outcome}, {report.error}"
        outcomes.append(report.outcome)
        assert "internal error" not in (report.error or ""), where
        recovered = [r.outcome for r in Guard(session, root=world.root).recover()]
        assert "failed" not in recovered, where
        expected = world.new if report.outcome == "published" or recovered[-1:] == ["published"] else world.old
        assert world.rows() == expected, where
        assert world.leftovers() == [], where
        fresh = world.rows() != world.old
    else:
        pytest.fail("the publish never ended")
    assert {"failed"} <= set(outcomes) <= {"failed", "published"}


def test_a_catalog_that_refuses_a_step_is_quoted_and_nobody_is_accused(spark: Any, session: Any, database: str) -> None:
    """Some catalogs allow no SET LOCATION. Nobody has touched the table then, and the report does not say so, nor that
    a second try would help."""

    class Refusing(Failing):
        def __call__(self, call: Callable[..., Any]) -> Callable[..., Any]:
            def counted(*args: Any, **named: Any) -> Any:
                if args and "SET LOCATION" in str(args[0]):
                    raise AnalysisError("UNSUPPORTED", "no SET LOCATION here")
                return call(*args, **named)

            return counted

    world = World(spark, session, database, "same")
    world.prepare()
    report = Guard(wired(session, Refusing(0, lasting=True))).publish(world.model)
    assert (report.outcome, world.rows(), world.leftovers()) == ("failed", world.old, [])
    assert "Spark refused a step of the publish of" in (report.error or "")
    assert "somebody may have changed" not in (report.error or "")
    assert report.details.transient is False
    assert "no SET LOCATION here" in (report.error or "")
    assert "violated" not in {f.verdict.value for f in report.findings}
