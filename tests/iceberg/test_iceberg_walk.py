"""A random walk of publishes, of writers without a guard, of DDL, sweeps and recoveries, each at any moment of another.

Whatever anybody does, the table is what one of the writers left, each publish's report says what became of its rows,
and nobody's files are deleted but one's own.

`PLANPROOF_WALKS=200 .venv-iceberg-3.5/bin/python -m pytest tests/iceberg/test_iceberg_walk.py` walks for longer.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planproof import Contract, Guard, Model
from planproof.publish.iceberg.publication import IcebergPublication
from planproof.report.model import Report
from planproof.session.iceberg import IcebergTransaction

WALKS, STEPS = int(os.environ.get("PLANPROOF_WALKS", "2")), 14
Rows = list[tuple[Any, ...]]
_MADE = "create table {t} (id bigint, day string) using iceberg partitioned by (day)"
_TOLD = (
    "tblproperties ('write.metadata.delete-after-commit.enabled'='true', 'write.metadata.previous-versions-max'='1')"
)


class Walk:
    """One table, who writes to it, and what each of them left last."""

    def __init__(self, spark: Any, place: str, seed: int) -> None:
        self.spark, self.place, self.t = spark, place, f"{place}.t"
        self.random, self.next, self.log = random.Random(seed), 1, list[str]()
        self.guard = Guard(spark)
        spark.sql(f"create table {place}.neighbour using iceberg as select 1L as id")
        self.neighbours = self.files("neighbour")

    def files(self, table: str) -> set[str]:
        return {str(p) for p in self.folder(table).rglob("*") if p.is_file()}

    def folder(self, table: str) -> Path:
        shown = self.spark.sql(f"describe namespace extended {self.place}").collect()
        return Path(next(str(r[1]) for r in shown if r[0] == "Location").removeprefix("file:")) / table

    def other(self, *statements: str) -> None:
        session = self.spark.newSession()
        for statement in statements:
            session.sql(statement.format(t=self.t, n=self.next))
            self.next += 1

    def held(self) -> Rows | None:
        """Read anew by somebody else. It raises where the table is there and cannot be read."""
        session = self.spark.newSession()
        if not session.catalog.tableExists(self.t):
            return None
        return sorted((tuple(r) for r in session.sql(f"select id, day from {self.t}").collect()), key=str)

    def named(self) -> set[str]:
        session = self.spark.newSession()
        asked = {"all_files": "file_path", "all_manifests": "path", "snapshots": "manifest_list"}
        found = [session.sql(f"select {column} from {self.t}.{what}").collect() for what, column in asked.items()]
        return {str(row[0]).removeprefix("file:") for rows in found for row in rows}

    # --- what others do ---------------------------------------------------------------------------------------------

    def act(self) -> None:
        there = self.held() is not None
        acts: dict[str, Callable[[], Any]] = {
            "insert": lambda: self.other("insert into {t} values ({n}, 'a'), ({n}, 'o')"),
            "delete": lambda: self.other("delete from {t} where day = 'o'"),
            "update": lambda: self.other("update {t} set id = id + 1000 where day = 'a'"),
            "overwrite": lambda: self.other("insert overwrite {t} values ({n}, 'x')"),
            "property": lambda: self.other("alter table {t} set tblproperties ('a' = '{n}')"),
            "drop": lambda: self.other("drop table {t} purge"),
            "make again": lambda: self.other("drop table {t} purge", _MADE, "insert into {t} values ({n}, 'm')"),
            "make again and tell": lambda: self.other(
                "drop table {t} purge", f"{_MADE} {_TOLD}", *["insert into {t} values ({n}, 'm')"] * 4
            ),
            "many": lambda: self.other(*["insert into {t} values ({n}, 'y')"] * 4),
            "sweep": self.sweep,
            "recover": lambda: Guard(self.spark).recover(),
            "force": lambda: Guard(self.spark).recover(force=True),
        }
        absent: dict[str, Callable[[], Any]] = {
            "make": lambda: self.other(_MADE, "insert into {t} values ({n}, 'n')"),
            "force": acts["force"],
            "nothing": lambda: None,
        }
        name = self.random.choice(sorted(acts if there else absent))
        self.log.append(name)
        (acts if there else absent)[name]()

    def sweep(self) -> None:
        """As `remove_orphan_files` does, of files of this moment too."""
        for file in self.files("t") - self.named():
            name = Path(file).name
            if not name.startswith(".") and "metadata.json" not in name and "version-hint" not in name:
                Path(file).unlink(missing_ok=True)

    # --- what the guard does ----------------------------------------------------------------------------------------

    def publish(self, monkeypatch: pytest.MonkeyPatch) -> None:
        strategy = self.random.choice(["append", "insert_overwrite", "table"])
        when = self.random.choice(["before", "staged", "audited", "commit", "committed", "never"])
        left, acted = [self.held()], list[str]()
        self.log.append(f"{strategy}, {when}:")

        def once(moment: str) -> None:
            if moment == when and not acted:
                acted.append(moment)
                if moment == "committed":
                    left.append(self.held())  # It is published by now.
                self.act()
                left.append(self.held())

        write, begin = self.guard.session.write, IcebergPublication.commit
        verify, verified = IcebergTransaction._verify, IcebergTransaction._verify_committed

        def written(sql: str) -> Any:
            done = write(sql)
            once("staged")
            return done

        def beginning(self: Any) -> None:
            once("audited")
            begin(self)

        def verifying(self: Any) -> None:
            verify(self)
            once("commit")

        def verifying_after(self: Any) -> None:
            verified(self)
            once("committed")

        own = (self.next, "a")
        self.next += 1
        more: dict[str, Any] = {} if strategy == "table" else {"materialized": "incremental"}
        if strategy != "table":
            more["incremental_strategy"] = strategy
        contract = Contract([("id", "bigint", False), ("day", "string", True)])
        model = Model(
            self.t,
            f"select {own[0]}L as id, 'a' as day",
            contract=contract,
            file_format="iceberg",
            partition_by=["day"],
            **more,
        )
        with monkeypatch.context() as patch:
            patch.setattr(self.guard.session, "write", written)
            patch.setattr(IcebergPublication, "commit", beginning)
            patch.setattr(IcebergTransaction, "_verify", verifying)
            patch.setattr(IcebergTransaction, "_verify_committed", verifying_after)
            once("before")
            was_there = left[-1] is not None
            report = self.guard.publish(model)
        self.log.append(report.outcome)
        self.judge(report, strategy, own, left, was_there, "committed" in acted)

    def judge(
        self, report: Report, strategy: str, own: tuple[Any, ...], left: list[Rows | None], was_there: bool, late: bool
    ) -> None:
        said = f"{self.log}: {report.outcome}, {report.error}, {sorted({f.code for f in report.findings})}"
        now = self.held()
        if late:  # What somebody does to a table that is published is no business of the publish.
            assert report.outcome == "published", said
            assert now == left[-1], said
            now, left = left[-2], left[:-2]
        if report.outcome != "published":
            assert now == left[-1], said
            assert report.details.transient or report.outcome == "rejected", said
            return
        below = [] if left[-1] is None or strategy == "table" else left[-1]
        kept = [row for row in below if strategy == "append" or row[1] != "a"]
        assert now == sorted([*kept, own], key=str), said
        assert left[-1] is not None or strategy == "table" or not was_there, said
        gone = [row for row in left[-1] or [] if row not in now]
        came = [row for row in gone if row not in (left[0] or [])]
        # Those that came after the last staging are told; others it has read.
        assert bool({f.code for f in report.findings} & {"PP621"}) <= bool(came), said


@pytest.mark.parametrize("seed", range(WALKS))
def test_the_table_is_what_one_of_them_left(
    place_by_either: str, iceberg: Any, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    walk = Walk(iceberg, place_by_either, seed)
    for _ in range(STEPS):
        if walk.random.random() < 0.3:
            walk.act()
            walk.held()
        walk.publish(monkeypatch)
    assert walk.files("neighbour") == walk.neighbours
    stays = walk.held()
    for report in Guard(iceberg).recover(force=True):
        assert report.outcome in ("rejected", "published"), (walk.log, report)
    assert walk.held() == stays
    if stays is not None:
        walk.sweep()
        assert walk.held() == stays
