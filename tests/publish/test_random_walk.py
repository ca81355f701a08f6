"""Random walks of two guards, a bare writer, DDL, recoveries and leaving over one table.

Whatever happens at any moment, the table is what one of the writers left, each report says what became of its rows, and
nobody's files are deleted but one's own."""

from __future__ import annotations

import itertools
import os
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from planproof import Guard, Model
from planproof.publish.transaction.leave import leave
from planproof.publish.transaction.places import database_root
from planproof.publish.transaction.publication import Publication
from planproof.session import open as opened
from planproof.session.store import store_of

Rows = list[tuple[Any, ...]] | None
SHAPES = {
    "plain": "create table {t} (id int, d string) using parquet",
    "partitioned": "create table {t} (id int, d string) using parquet partitioned by (d)",
}
WALKS = int(os.environ.get("PLANPROOF_WALKS", "1000"))
"""How many walks `make walks` takes; six of them in each run of the tests."""


class Walk:
    """One walk over `t`, with a neighbour that nobody may touch."""

    def __init__(self, spark: Any, database: str, seed: int) -> None:
        self.random, self.seed = random.Random(seed), seed
        self.sessions = [spark.newSession(), spark.newSession()]
        self.spark, self.database, self.table = spark.newSession(), database, f"{database}.t"
        self.shape = self.random.choice(list(SHAPES))
        self.numbers, self.said = itertools.count(1), list[str]()
        spark.sql(f"create table {database}.neighbour using parquet as select 7 as id")
        self.create()

    def rows(self) -> Rows:
        if not self.spark.catalog.tableExists(self.table):
            return None
        found = self.spark.newSession().sql(f"select * from {self.table}").collect()
        return sorted((tuple(row) for row in found), key=str)

    # --- what others do ---------------------------------------------------------------------------------------------

    def create(self) -> None:
        self.sql(SHAPES[self.shape].replace("{t}", self.table))

    def insert(self) -> None:
        if self.rows() is not None:
            self.sql(f"insert into {self.table} (id, d) values ({next(self.numbers)}, 'x')")

    def drop(self) -> None:
        self.sql(f"drop table if exists {self.table}")

    def make_anew(self) -> None:
        self.drop()
        root = database_root(opened(self.spark), (self.database,))
        store = store_of(opened(self.spark))
        if not store.names(f"{root}/t"):
            self.create()

    def widen(self) -> None:
        if self.rows() is not None:
            self.sql(f"alter table {self.table} add columns (c{next(self.numbers)} int)")

    def force(self) -> None:
        reports = Guard(self.random.choice(self.sessions)).recover(force=True)
        assert "failed" not in [r.outcome for r in reports], [r.error for r in reports]

    def leave(self) -> None:
        session = opened(self.spark)
        leave(session, store_of(session), [database_root(session, (self.database,))])

    def sql(self, statement: str) -> None:
        self.said.append(statement)
        self.spark.sql(f"refresh table {self.table}") if self.spark.catalog.tableExists(self.table) else None
        self.spark.sql(statement)

    # --- the publishes ----------------------------------------------------------------------------------------------

    def model(self) -> tuple[Model, str]:
        kind = self.random.choice(
            ("table", "append", "overwrite") if self.shape == "partitioned" else ("table", "append")
        )
        sql = f"select {next(self.numbers)} as id, '{self.random.choice('xyz')}' as d"
        given: dict[str, Any] = {"partition_by": ["d"]} if self.shape == "partitioned" else {}
        if kind != "table":
            strategy = "append" if kind == "append" else "insert_overwrite"
            given |= {"materialized": "incremental", "incremental_strategy": strategy}
        return Model(self.table, sql, **given), kind

    def publish(self, patch: pytest.MonkeyPatch) -> None:
        model, kind = self.model()
        act = self.random.choice((None, self.insert, self.drop, self.make_anew, self.widen, self.force, self.leave))
        before, after = self.rows(), list[Rows]()
        seen = meanwhile(patch, lambda: (act(), after.append(self.rows())) if act else None, self.random.randrange(12))
        report = Guard(self.random.choice(self.sessions)).publish(model)
        patch.undo()
        found = self.rows()
        where = f"seed {self.seed}: {kind} beside {act.__name__ if act and after else 'nobody'} at {seen[-1:]}: "
        where += f"{report.outcome} {report.error}; {self.said[-4:]}"
        self.said.append(where)
        holds = found is not None and any(str(row[0]) == model.sql.split()[1] for row in found)
        violated = [f.code for f in report.findings if f.verdict == "violated"]
        if report.outcome == "published":
            # Whoever drops it or makes it anew afterwards has the last word.
            assert holds or (after and found == after[-1]), where
        elif report.outcome == "rejected":
            # The model does not know a column that somebody has added.
            assert set(violated) == {"PP402"}, where
            assert found == before, where
        else:
            assert report.outcome == "failed", where
            assert found in (before, *after[-1:]) or (holds and "stand there" in str(report.error)), where
            assert violated == [], where

    def check(self) -> None:
        assert self.spark.newSession().table(f"{self.database}.neighbour").collect() == [(7,)], self.said


def meanwhile(patch: pytest.MonkeyPatch, act: Callable[[], Any], at: int) -> list[str]:
    """`act` happens right before the publish's step, change or file operation number `at`."""
    seen: list[str] = []

    def before(plain: Any) -> Any:
        def run(self: Publication, *args: Any, **named: Any) -> Any:
            if threading.current_thread().name != "acting" and len(seen) <= at:
                seen.append(f"{plain.__name__} {args[0] if args else ''}")
                if len(seen) - 1 == at:
                    failed: list[BaseException] = []
                    thread = threading.Thread(target=_caught, args=(act, failed), name="acting")
                    thread.start()
                    thread.join()
                    if failed:
                        raise AssertionError(f"the other one failed: {failed[0]!r}")
            return plain(self, *args, **named)

        return run

    for method in ("step", "refuse_incomplete", "define", "move", "delete"):
        patch.setattr(Publication, method, before(getattr(Publication, method)))
    return seen


def _caught(act: Callable[[], Any], failed: list[BaseException]) -> None:
    try:
        act()
    except Exception as error:
        failed.append(error)


LONG = [range(1, 6), *(range(at, min(at + 10, WALKS)) for at in range(6, WALKS, 10))]


@pytest.mark.parametrize(
    "seeds",
    [range(1), *(pytest.param(seeds, id=f"{seeds[0]}-{seeds[-1]}", marks=pytest.mark.conformance) for seeds in LONG)],
)
def test_the_table_is_what_one_of_the_writers_left(seeds: range, spark: Any, database: str) -> None:
    for seed in seeds:
        spark.sql(f"drop database if exists {database} cascade")
        spark.sql(f"create database {database}")
        walk = Walk(spark, database, seed)
        for _ in range(4):
            with pytest.MonkeyPatch.context() as patch:
                walk.publish(patch)
            walk.check()
            walk.random.choice((walk.insert, walk.leave, walk.force, walk.check))()
        walk.force()
        root = database_root(opened(spark), (database,)).removeprefix("file:")
        assert store_of(opened(spark)).names(f"{root}/.planproof/journal") == [], walk.said
        walk.check()
