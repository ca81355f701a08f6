"""Random walks of two guards, a bare writer, DDL, maintenance, kills, recoveries and leaving over one table of each
format.

Whatever happens at any moment, the table is what one of the writers left, each report says what became of its rows, and
nobody's files are deleted but one's own."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable
from typing import Any

import pytest
from killed import kill
from under_test import FORMATS, Place, meanwhile

from planproof import Guard, Model, Report
from planproof.publish.transaction.leave import move_back
from planproof.publish.transaction.places import database_root
from planproof.session import open as opened
from planproof.session.store import store_of

Rows = list[tuple[Any, ...]] | None
SHAPES = {"plain": "", "partitioned": "partitioned by (d)"}
KINDS: dict[str, dict[str, Any]] = {
    "table": {},
    "append": {"materialized": "incremental", "incremental_strategy": "append"},
    "overwrite": {"materialized": "incremental", "incremental_strategy": "insert_overwrite"},
    "merge": {"materialized": "incremental", "incremental_strategy": "merge", "options": {"unique_key": "id"}},
}
CHANGED = ("delete from {t} where id % 2 = 0", "update {t} set d = 'z' where id % 3 = 0")
MAINTENANCE = {
    "delta": (
        *CHANGED,
        "optimize {t}",
        "reorg table {t} apply (purge)",
        "vacuum {t} retain 0 hours",
        "restore table {t} to version as of 0",
        "restore table {t} to version as of {last}",
        "truncate table {t}",
        "alter table {t} add constraint c{n} check (id > 0)",
        *(
            f"alter table {{t}} set tblproperties ({given})"
            for given in (
                "'delta.enableDeletionVectors' = 'true'",
                "'delta.enableChangeDataFeed' = 'true'",
                "'delta.enableRowTracking' = 'true'",
                "'delta.checkpointInterval' = '1'",
                "'delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5'",
            )
        ),
    ),
    "iceberg": (
        *CHANGED,
        "call {catalog}.system.rewrite_data_files(table => '{t}', options => map('rewrite-all', 'true'))",
        "call {catalog}.system.expire_snapshots(table => '{t}', older_than => timestamp '2100-01', retain_last => 1)",
        "call {catalog}.system.rewrite_manifests('{t}')",
        "truncate table {t}",
        "alter table {t} write ordered by id",
    ),
}
WALKS = int(os.environ.get("PLANPROOF_WALKS", "1000"))
"""How many walks of each format `make walks` takes; one of them in each run of the tests."""


class Walk:
    """One walk over `t`, with a neighbour that nobody may touch."""

    def __init__(self, there: Place, seed: int) -> None:
        self.there, self.format, self.random, self.seed = there, there.format, random.Random(seed), seed
        self.sessions = [there.spark.newSession(), there.spark.newSession()]
        self.spark, self.database, self.t = there.other, there.database, there.t
        self.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        self.shape = self.random.choice(list(SHAPES))
        self.numbers, self.said = itertools.count(1), list[str]()
        self.sql(f"create table {self.database}.neighbour using {self.format.using} as select 7 as id")
        self.create()

    def rows(self) -> Rows:
        """Without the columns that others add."""
        return self.there.rows(columns="id, d")

    # --- what others do ---------------------------------------------------------------------------------------------

    def create(self) -> None:
        columns = f"(id int, d string) using {self.format.using} {SHAPES[self.shape]}"
        self.sql(f"create table {self.t} {columns}")

    def insert(self) -> None:
        if self.rows() is not None:
            self.sql(f"insert into {self.t} {self.make_row()}")

    def drop(self) -> None:
        self.sql(f"drop table if exists {self.t}{' purge' if self.format.catalog else ''}")

    def make_anew(self) -> None:
        self.drop()
        # Spark makes no table over the files of another.
        if not self.has_strays():
            self.create()

    def has_strays(self) -> bool:
        """Where Spark puts the table lies what a late insert brought there after the table had left."""
        folder = self.there.home() / "t"
        return folder.exists() and any(folder.iterdir())

    def fill_anew(self) -> None:
        self.make_anew()
        self.insert()

    def overwrite(self) -> None:
        if self.rows() is not None:
            self.sql(f"insert overwrite {self.t} {self.make_row()}")

    def make_row(self) -> str:
        """A row of all columns: Iceberg's tables take no shorter one."""
        names = self.spark.newSession().table(self.t).columns
        given = {"id": str(next(self.numbers)), "d": "'x'"}
        return f"({', '.join(names)}) values ({', '.join(given.get(name, 'null') for name in names)})"

    def widen(self) -> None:
        if self.rows() is not None:
            self.sql(f"alter table {self.t} add columns (c{next(self.numbers)} int)")

    def maintain(self) -> None:
        if self.rows() is not None and (known := MAINTENANCE.get(self.format.name)):
            statement, n = self.random.choice(known), next(self.numbers)
            self.sql(statement.format(t=self.t, catalog=self.format.catalog, last=self.last_version(), n=n))

    def last_version(self) -> int:
        """Of Delta's log, but one."""
        if self.format.name != "delta":
            return 0
        return max(0, int(self.spark.sql(f"describe history {self.t} limit 1").collect()[0].version) - 1)

    def force(self) -> None:
        reports = Guard(self.random.choice(self.sessions)).recover(force=True)
        assert "failed" not in [r.outcome for r in reports], [r.error for r in reports]

    def leave(self) -> None:
        if self.format.catalog is None:
            session = opened(self.spark)
            move_back(session, store_of(session), [database_root(session, (self.database,))])

    def sql(self, statement: str) -> None:
        self.said.append(statement)
        self.spark.sql(f"refresh table {self.t}") if self.spark.catalog.tableExists(self.t) else None
        self.spark.sql(statement)

    # --- the publishes ----------------------------------------------------------------------------------------------

    @property
    def forgets(self) -> bool:
        """A catalog in memory finds the partitions of a renamed table in their former folders, until it is told. It
        dies with its process, so that nobody meets that after a kill."""
        return self.shape == "partitioned" and self.spark.conf.get("spark.sql.catalogImplementation") == "in-memory"

    def model(self) -> tuple[str, Model, tuple[Any, ...]]:
        kind = self.random.choice([k for k in KINDS if self.can(k)])
        row = (next(self.numbers), self.random.choice("xyz"))
        given = dict(KINDS[kind]) | ({"partition_by": ["d"]} if self.shape == "partitioned" else {})
        sql = f"select {row[0]} as id, '{row[1]}' as d"
        return kind, Model(self.t, sql, file_format=self.format.using, **given), row

    def can(self, kind: str) -> bool:
        if kind == "overwrite":
            return self.shape == "partitioned"
        return kind != "merge" or "merge" in self.format.cases

    def publish(self, patch: pytest.MonkeyPatch) -> None:
        kind, model, row = self.model()
        acts = (None, self.insert, self.drop, self.make_anew, self.widen, self.force, self.leave, self.maintain)
        act = self.random.choice(acts)
        before, after = self.rows(), list[Rows]()
        guard = Guard(self.random.choice(self.sessions))
        at = self.random.randrange(12)
        seen = meanwhile(
            guard, self.format, patch, at, lambda: (act(), after.append(self.rows())) if act is not None else None
        )
        report = guard.publish(model)
        patch.undo()
        where = f"seed {self.seed}: {kind} {row} beside {act.__name__ if act and after else 'nobody'} at {seen[-1:]}: "
        where += f"{report.outcome} {report.error}; {before} -> {after} -> {self.rows()}; {self.said[-4:]}"
        self.said.append(where)
        self.judge(kind, row, report, [before, *after], where)

    def die(self, _: pytest.MonkeyPatch) -> None:
        """A publish is killed, others go on, and somebody recovers it or publishes."""
        kind, model, row = self.model()
        before, at = self.rows(), self.random.randrange(40)
        report = kill(at, self.there, lambda guard: guard.publish(model))
        if report is not None:
            self.judge(kind, row, report, [before], f"seed {self.seed}: {kind} {row}, not killed at {at}; {self.said}")
            return
        killed, either = self.rows(), [before, written(kind, row, before)]
        acts = (None, self.insert, self.drop, self.fill_anew, self.overwrite, self.maintain)
        act = self.random.choice((None,) if killed is None or self.forgets else acts)
        if act is not None:
            act()
        left = self.rows()
        allowed = [left]
        if act == self.insert:
            added = [other for other in left or [] if other not in (killed or [])]
            allowed = [sorted([*(rows or []), *added], key=str) for rows in either]
        elif act not in (self.fill_anew, self.overwrite):
            allowed += either
        if self.random.random() < 0.5:
            self.force()
        else:
            kind, model, row = self.model()
            report = Guard(self.random.choice(self.sessions)).publish(model)
            may_fail = report.details.transient or "row tracking" in str(report.error)
            may_fail |= left is None and self.has_strays() and "belong to no table" in str(report.error)
            assert report.outcome != "failed" or may_fail, f"seed {self.seed}: {report.error}"
            if report.outcome == "published":
                allowed = [written(kind, row, rows) for rows in allowed]
        done = act.__name__ if act else "nothing"
        where = (
            f"seed {self.seed}: killed at {at}, {done}: {before} -> {killed} -> {left} -> {self.rows()}; {self.said}"
        )
        self.said.append(where)
        assert self.rows() in allowed, where

    def judge(self, kind: str, row: tuple[Any, ...], report: Report, stood: list[Rows], where: str) -> None:
        """`stood`: the table's rows before the publish, and after what somebody did meanwhile."""
        found, told = self.rows(), {f.code for f in report.findings}
        violated = {f.code for f in report.findings if f.verdict == "violated"}
        if report.outcome == "published":
            # Whoever drops it, restores it or makes it anew afterwards has the last word.
            results = [written(kind, row, rows) for rows in stood]
            results += [written("append", row, stood[-1])] if self.forgets else []
            assert found in [*results, *stood[1:]], where
            if len(stood) == 2 and found == results[0] != results[1] and found != stood[1]:
                assert kind in ("table", "overwrite"), where
                assert "PP621" in told, f"rows of others are gone without a word: {where}"
        elif report.outcome == "rejected":
            # The model does not know a column that somebody has added.
            assert violated <= {"PP402", "PP401"}, where
            assert violated, where
            assert found in stood, where
        else:
            assert report.outcome == "failed", where
            assert found in stood or "stand there" in str(report.error), where
            assert violated == set(), where

    def check(self) -> None:
        spark = self.spark.newSession()
        assert spark.table(f"{self.database}.neighbour").collect() == [(7,)], self.said


def written(kind: str, row: tuple[Any, ...], rows: Rows) -> Rows:
    """What the table holds once a model of that kind has written `row` over `rows`."""
    kept: dict[str, Callable[[tuple[Any, ...]], bool]] = {
        "table": lambda other: False,
        "append": lambda other: True,
        "overwrite": lambda other: other[1] != row[1],
        "merge": lambda other: other[0] != row[0],
    }
    return sorted([*filter(kept[kind], rows or []), row], key=str)


LONG = [range(1, 6), *(range(at, min(at + 10, WALKS)) for at in range(6, WALKS, 10))]


@pytest.mark.parametrize(
    "seeds",
    [range(1), *(pytest.param(seeds, id=f"{seeds[0]}-{seeds[-1]}", marks=pytest.mark.conformance) for seeds in LONG)],
)
@pytest.mark.parametrize("name", FORMATS)
def test_the_table_is_what_one_of_the_writers_left(name: str, seeds: range, place: Callable[[str, str], Place]) -> None:
    for seed in seeds:
        there = place(name, "first")
        walk = Walk(there, seed)
        for _ in range(4):
            with pytest.MonkeyPatch.context() as patch:
                walk.random.choice((walk.publish, walk.die))(patch)
            walk.check()
            walk.random.choice((walk.insert, walk.leave, walk.force, walk.maintain, walk.check))()
        walk.force()
        # What a report has named waits for whoever reads it.
        said = " ".join(walk.said)
        assert [left for left in there.left() if not left.endswith("neighbour") and left not in said] == [], walk.said
        walk.check()
