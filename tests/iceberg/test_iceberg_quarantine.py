"""Rows of Iceberg models that break a term are quarantined once or not at all, and the others are published."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bad_rows import BAD, CONTRACT, GOOD, QUARANTINED

from planproof import Contract, Guard, Model
from planproof.publish import quarantine
from planproof.publish.notes.notebook import Notebook
from planproof.report.model import Report
from planproof.session.iceberg import IcebergTransaction
from planproof.session.protocol import SparkFailure
from planproof.settings import Settings

DELTA = {"materialized": "incremental"}


class Shop:
    """A table `t` of a database, and what stands in its quarantine."""

    def __init__(self, spark: Any, place: str) -> None:
        self.spark, self.place, self.t = spark, place, f"{place}.t"
        self.quarantine_table = f"{place}.t__quarantine"

    def publish(self, sql: str, guard: Guard | None = None, settings: Any = None, **more: Any) -> Report:
        given = Settings.of({"on_violation": "quarantine", **(settings or {})})
        found = {"contract": CONTRACT, "file_format": "iceberg", **more}
        return (guard or Guard(self.spark)).publish(Model(self.t, sql, settings=given, **found))

    def rows(self, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
        spark = self.spark.newSession()
        spark.catalog.refreshTable(table)
        found = spark.sql(f"select {columns} from {table}").collect()
        return sorted((tuple(tuple(v) if isinstance(v, list) else v for v in row) for row in found), key=str)

    def quarantined(self, columns: str = "id, v, code, quarantine_terms") -> list[tuple[Any, ...]]:
        return (
            self.rows(self.quarantine_table, columns) if self.spark.catalog.tableExists(self.quarantine_table) else []
        )

    def notes(self) -> list[str]:
        tables = Guard(self.spark).session.transactions()
        assert tables is not None
        root = Path(str(tables.namespace_location(self.place.split("."))).removeprefix("file:"))
        return [str(p) for p in root.glob(".planproof/staged/*.json")]

    def unnamed(self, table: str) -> list[str]:
        """Data files below the table's folder that no snapshot names."""
        self.spark.catalog.refreshTable(table)
        shown = self.spark.sql(f"describe extended {table}").collect()
        root = Path(next(str(r[1]) for r in shown if r[0] == "Location").removeprefix("file:"))
        known = {
            r[0].removeprefix("file:") for r in self.spark.sql(f"select file_path from {table}.all_files").collect()
        }
        return [str(p) for p in root.rglob("*.parquet") if str(p) not in known]


@pytest.fixture
def shop(iceberg: Any, lake: str) -> Shop:
    return Shop(iceberg, lake)


def codes(report: Report, verdict: str) -> list[str]:
    return sorted({f.code for f in report.findings if f.verdict.value == verdict})


def test_bad_rows_are_quarantined_and_the_others_are_published(iceberg: Any, place: str) -> None:
    """On each catalog: the first run, a second one, deltas, and a run without bad rows."""
    shop = Shop(iceberg, place)
    report = shop.publish(BAD)
    assert (report.outcome, codes(report, "violated")) == ("published", []), (report.error, report.findings)
    assert (shop.rows(shop.t), shop.quarantined()) == ([(1, 1, "a")], QUARANTINED)
    found = report.details.quarantine
    assert found is not None
    assert (found.rows, found.of, report.rows) == (4, 5, 1)
    assert found.terms == {"not_null(id)": 1, "check(v >= 0)": 2, "one_id: unique(id)": 2}
    assert {row[0] for row in shop.quarantined("quarantine_run")} == {found.run}
    healthy = shop.publish(GOOD)
    assert (healthy.outcome, healthy.details.quarantine, len(shop.quarantined())) == ("published", None, 4)
    # A key that is published already sends the new row aside; the stored one stays.
    sql = "select * from values (1, 5, 'x'), (6, 6, 'f'), (null, 7, 'g') as t(id, v, code)"
    report = shop.publish(sql, **DELTA)
    assert report.outcome == "published", (report.error, report.findings)
    assert shop.rows(shop.t) == [(1, 1, "a"), (2, None, "b"), (6, 6, "f")]
    assert len(shop.quarantined()) == 6
    assert {(1, 5, "x", ("one_id: unique(id)",)), (None, 7, "g", ("not_null(id)",))} < set(shop.quarantined())
    assert (shop.unnamed(shop.t), shop.unnamed(shop.quarantine_table), shop.notes()) == ([], [], [])


def test_partitions_columns_limits_and_days(shop: Shop) -> None:
    parts = {"partition_by": ["code"], **DELTA, "incremental_strategy": "insert_overwrite"}
    assert shop.publish(GOOD, **parts).outcome == "published"
    sql = "select * from values (5, 5, 'a'), (null, 6, 'a'), (null, 7, 'b') as t(id, v, code)"
    assert shop.publish(sql, **parts).outcome == "published"
    assert shop.rows(shop.t, "id, v, code") == [(2, None, "b"), (5, 5, "a")]
    assert shop.quarantined("id, v, code") == [(None, 6, "a"), (None, 7, "b")]
    wide = Contract([*((f.name, f.type, f.nullable) for f in CONTRACT.schema), ("n", "bigint", True)])
    more = {"contract": wide, **DELTA, "options": {"on_schema_change": "append_new_columns"}}
    report = shop.publish("select *, 9L as n from values (8, 8, 'h'), (null, 7, 'b') as t(id, v, code)", **more)
    assert report.outcome == "published", (report.error, report.findings)
    assert shop.quarantined("id, code, n") == [(None, "a", None), (None, "b", 9), (None, "b", None)]
    assert shop.rows(shop.t, "id, n") == [(2, None), (5, None), (8, 9)]

    before = shop.rows(shop.t), shop.quarantined()
    limited = shop.publish(BAD, settings={"quarantine": {"limit": 3}})
    assert (limited.outcome, "PP515" in codes(limited, "violated")) == ("rejected", True)
    none_left = shop.publish("select cast(null as int) as id, 1 as v, 'a' as code")
    assert none_left.outcome == "rejected"
    few = shop.publish(BAD, settings={"limits": {"rows": {"min": 2}}})
    assert (few.outcome, codes(few, "violated")) == ("rejected", ["PP505", "PP510"]), few.findings
    assert ((shop.rows(shop.t), shop.quarantined()), shop.notes()) == (before, [])
    assert (shop.unnamed(shop.t), shop.unnamed(shop.quarantine_table)) == ([], [])

    old = "99, 1, 'o', array('check'), timestamp'2020-01-01 00:00:00', date'2020-01-01', 'r_1', null"
    shop.spark.sql(f"insert into {shop.quarantine_table} select {old}")
    assert len(shop.quarantined()) == len(before[1]) + 1
    kept = {"quarantine": {"keep": "9d"}}
    assert shop.publish("select 1 as id, 1 as v, 'a' as code", settings=kept).outcome == "published"
    assert shop.quarantined() == before[1]


def test_a_table_of_that_name_stays(shop: Shop) -> None:
    shop.spark.sql(f"create table {shop.quarantine_table} using iceberg as select 7 as mine")
    report = shop.publish(BAD)
    assert (report.outcome, shop.rows(shop.quarantine_table)) == ("rejected", [(7,)])
    assert any("exists and is no quarantine; rename it" in f.message for f in report.findings)
    assert not shop.spark.catalog.tableExists(shop.t)


def test_without_a_note_no_row_is_quarantined(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Notebook, "write", lambda *_, **__: False)
    report = shop.publish(BAD)
    assert (report.outcome, "PP515" in codes(report, "violated"), shop.quarantined()) == ("rejected", True, [])
    assert any("no note of them can be kept" in f.message for f in report.findings)


@pytest.mark.parametrize("landed", [True, False])
def test_a_commit_of_which_nobody_knows(shop: Shop, landed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The target's commit gets no answer: the rows stay aside exactly where it was carried out."""
    assert shop.publish(GOOD).outcome == "published"
    commit, asked = IcebergTransaction.commit, []

    def cut(transaction: Any) -> None:
        asked.append(transaction)
        if len(asked) == 1 or landed:
            commit(transaction)
        if len(asked) == 2:
            raise SparkFailure("the connection was lost", outside=True)

    monkeypatch.setattr(IcebergTransaction, "commit", cut)
    report = shop.publish(BAD)
    assert (report.outcome, len(asked)) == ("published" if landed else "failed", 2), report
    if not landed:
        assert [r.outcome for r in Guard(shop.spark).recover(force=True) if r.model == shop.t] == ["rejected"]
    old = [(1, 1, "a"), (2, None, "b")]
    assert (shop.rows(shop.t), shop.quarantined()) == (([(1, 1, "a")], QUARANTINED) if landed else (old, []))
    assert (shop.unnamed(shop.t), shop.notes()) == ([], [])


def test_a_model_is_not_blamed_for_a_table_that_others_drop_before_its_good_rows_are_staged(
    iceberg: Any, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, find = Shop(iceberg, place), quarantine.find_bad_rows
    assert shop.publish(GOOD).outcome == "published"

    def find_and_drop(*given: Any) -> Any:
        found = find(*given)
        iceberg.newSession().sql(f"drop table {shop.t}")
        return found

    monkeypatch.setattr(quarantine, "find_bad_rows", find_and_drop)
    report = shop.publish("select * from values (8, 8, 'h'), (null, 7, 'b') as t(id, v, code)", **DELTA)
    assert (report.outcome, report.details.transient) == ("failed", True), (report.error, report.findings)
    assert codes(report, "violated") == [], report.findings
    assert (iceberg.newSession().catalog.tableExists(shop.t), shop.quarantined(), shop.notes()) == (False, [], [])


def test_another_writer_between_the_two_commits(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both tables are staged anew: what was quarantined for the first try is taken back."""
    assert shop.publish(GOOD, **DELTA).outcome == "published"
    commit, asked = IcebergTransaction.commit, []

    def late(transaction: Any) -> None:
        asked.append(transaction)
        if len(asked) == 2:
            shop.spark.newSession().sql(f"insert into {shop.t} values (9, 9, 'theirs')")
        commit(transaction)

    monkeypatch.setattr(IcebergTransaction, "commit", late)
    sql = "select * from values (6, 6, 'f'), (null, 7, 'g'), (9, 1, 'ours') as t(id, v, code)"
    report = shop.publish(sql, **DELTA)
    assert (report.outcome, len(asked)) == ("published", 4), report
    assert shop.rows(shop.t) == [(1, 1, "a"), (2, None, "b"), (6, 6, "f"), (9, 9, "theirs")]
    # Beside their row ours has a key that is there twice.
    assert shop.quarantined("id, code") == [(9, "ours"), (None, "g")]
    assert len({row[0] for row in shop.quarantined("quarantine_run")}) == 1
    assert (shop.unnamed(shop.t), shop.notes()) == ([], [])


class Killed(BaseException):
    """No `except Exception` catches it, and no clean-up that a killed process could not do runs on it."""


def dying(at: int, guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call that changes something is counted twice, before and after it is carried out; at number `at` the
    process dies."""
    told: list[str] = []

    def dies(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **more: Any) -> Any:
            told.append(name)
            if len(told) > at:
                raise Killed
            found = plain(*given, **more)
            told.append(name)
            if len(told) > at:
                raise Killed
            return found

        return counted

    rows = guard.session.rows

    def changes(sql: str) -> Any:
        return (dies("rows", rows) if sql.startswith(("CREATE", "ALTER", "DELETE")) else rows)(sql)

    monkeypatch.setattr(guard.session, "rows", changes)
    monkeypatch.setattr(guard.session, "write", dies("write", guard.session.write))
    for owner, name in ((IcebergTransaction, "commit"), (Notebook, "write"), (Notebook, "sweep"), (Notebook, "delete")):
        monkeypatch.setattr(owner, name, dies(name, getattr(owner, name)))


@pytest.mark.parametrize("kind", ["same", pytest.param("append", marks=pytest.mark.faults)])
def test_a_publish_that_dies_anywhere_quarantines_rows_once_or_not_at_all(
    kind: str, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    more: dict[str, Any] = {} if kind == "same" else DELTA
    first, old = "select 9 as id, 9 as v, 'z' as code", [(9, 9, "z")]
    new = [(1, 1, "a")] if kind == "same" else [(1, 1, "a"), (9, 9, "z")]
    outcomes: set[bool] = set()
    # Each call in turn is one of forty in the sweep; here every third.
    for at in range(0, 200, 3 if kind == "same" else 1):
        for table in (shop.t, shop.quarantine_table):
            shop.spark.sql(f"drop table if exists {table}")
        shop.spark.sql(f"create table {shop.t} using iceberg as {first}")
        with monkeypatch.context() as patched:
            guard = Guard(shop.spark.newSession())
            dying(at, guard, patched)
            try:
                report = shop.publish(BAD, guard, **more)
            except Killed:
                pass
            else:
                assert report.outcome == "published", report
                break
        assert shop.rows(shop.t) in (old, new), f"died at call {at}, before any recovery"
        # The process lives here, so that recovery has to be forced.
        reports = [r.outcome for r in Guard(shop.spark).recover(force=True) if r.model == shop.t]
        assert "failed" not in reports, f"died at call {at}"
        found = shop.rows(shop.t), shop.quarantined()
        assert found in ((old, []), (new, QUARANTINED)), f"died at call {at}: {found}"
        assert (shop.unnamed(shop.t), shop.notes()) == ([], []), f"died at call {at}"
        if shop.spark.catalog.tableExists(shop.quarantine_table):
            assert shop.unnamed(shop.quarantine_table) == [], f"died at call {at}"
        outcomes.add(found[0] == new)
    else:
        pytest.fail("no publish came to its end")
    assert at > 20
    assert outcomes == {True, False}
