"""A REST catalog: the server compares, and its answer may be lost on the way.

What became of a commit is read from the table. Rows are there once, whatever the client was told, and however often it
asked again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rest_catalog import IN_MEMORY, Server, served

from planproof import Contract, Guard, Model
from planproof.report.model import Report
from planproof.session.iceberg import IcebergTransaction
from planproof.settings import Settings
from planproof_engine.finding import Verdict

_COLUMNS = [("id", "bigint", False), ("day", "string", True)]


@pytest.fixture
def guard(iceberg: Any) -> Guard:
    return Guard(iceberg)


@pytest.fixture
def table(lake_rest: str, iceberg: Any) -> str:
    """A table with the rows (1, a) and (2, b)."""
    iceberg.sql(f"create table {lake_rest}.t (id bigint, day string) using iceberg partitioned by (day)")
    iceberg.sql(f"insert into {lake_rest}.t values (1, 'a'), (2, 'b')")
    return f"{lake_rest}.t"


def model(name: str, strategy: str, sql: str = "select 5L as id, 'a' as day") -> Model:
    more: dict[str, Any] = {"partition_by": ["day"]}
    if strategy not in ("table", "first"):
        more |= {"materialized": "incremental", "incremental_strategy": strategy}
    if strategy == "merge":
        more = {**more, "partition_by": [], "options": {"unique_key": "id"}}
    return Model(name, sql, contract=Contract(_COLUMNS), file_format="iceberg", **more)


def held(spark: Any, name: str) -> list[tuple[Any, ...]] | None:
    session = spark.newSession()
    if not session.catalog.tableExists(name):
        return None
    return sorted((tuple(row) for row in session.sql(f"select id, day from {name}").collect()), key=str)


NEW = {
    "append": [(1, "a"), (2, "b"), (5, "a")],
    "insert_overwrite": [(2, "b"), (5, "a")],
    "merge": [(1, "a"), (2, "b"), (5, "a")],
    "table": [(5, "a")],
    "first": [(5, "a")],
}


@pytest.mark.parametrize("fate", ["lost", "unavailable", "away"])
@pytest.mark.parametrize("strategy", sorted(NEW))
def test_a_commit_whose_answer_is_lost(
    table: str, guard: Guard, iceberg: Any, rest_server: Server, strategy: str, fate: str
) -> None:
    """`unavailable`: the client asks again, and the server refuses, because the table has the change already."""
    name = f"{table}2" if strategy == "first" else table
    before = held(iceberg, name)
    with rest_server.losing(fate) as met:
        report = guard.publish(model(name, strategy))
    assert len(met) == 1
    rows = held(iceberg, name)
    assert rows in (before, NEW[strategy]), said(report)
    if rows == before:
        assert report.outcome == "failed", said(report)
        assert report.error is not None
    else:
        assert report.outcome == "published", said(report)
    if fate != "away":
        assert rows == NEW[strategy], said(report)
    assert "PP621" not in {f.code for f in report.findings}, "nobody else has written"
    assert guard.publish(model(name, "table")).outcome == "published"
    assert held(iceberg, name) == [(5, "a")]


@pytest.mark.parametrize(("strategy", "replaced"), [("table", "2 rows"), ("insert_overwrite", "1 row")])
def test_others_rows_are_told_of_though_the_answer_is_lost(
    table: str, guard: Guard, iceberg: Any, rest_server: Server, monkeypatch: Any, strategy: str, replaced: str
) -> None:
    """The first commit meets another writer's; the second, on top of it, is carried out, and nobody hears of it."""
    commit, commits = IcebergTransaction.commit, list[str]()

    def late(self: IcebergTransaction) -> None:
        commits.append(self.staged)
        if len(commits) == 1:
            iceberg.newSession().sql(f"insert into {table} values (7, 'a'), (8, 'c')")
            return commit(self)
        with rest_server.losing("lost") as met:
            try:
                commit(self)
            finally:
                assert len(met) == 1

    monkeypatch.setattr(IcebergTransaction, "commit", late)
    report = guard.publish(model(table, strategy))
    assert (report.outcome, len(commits)) == ("published", 2), said(report)
    assert [f.found for f in report.findings if f.code == "PP621"] == [replaced], said(report)
    assert held(iceberg, table) == ([(5, "a")] if strategy == "table" else [(2, "b"), (5, "a"), (8, "c")])


_SECRET = "s3cr3t-of-the-server"


@pytest.fixture
def handed_out(iceberg: Any, rest_server: Server | None, tmp_path: Path) -> Iterator[str]:
    """A database of a server that says how files are reached, as servers hand out credentials. They lie in memory:
    neither the catalog's own settings nor Hadoop's client reach them."""
    if rest_server is None:
        pytest.skip("no JDBC driver for sqlite: .ci/iceberg says why")
    prefix = Path(sys.prefix)
    driver = (
        sorted((prefix / "sqlite").glob("usr/share/java/xerial-sqlite-jdbc.jar")),
        next((prefix / "sqlite").glob("usr/lib/*/jni/libsqlitejdbc.so")).parent,
    )
    with served(prefix / "rest", driver, tmp_path / "far.db", None) as server:
        server.handed_out = {**IN_MEMORY, "s3.access-key-id": "key", "s3.secret-access-key": _SECRET}
        catalog = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "rest", ".uri": server.uri}
        for key, value in catalog.items():
            iceberg.conf.set(f"spark.sql.catalog.lake_far{key}", value)
        iceberg.sql("create database lake_far.shop")
        yield "lake_far.shop"


def test_tables_are_reached_by_what_the_server_hands_out_which_is_told_nobody(
    handed_out: str, guard: Guard, iceberg: Any, capfd: Any
) -> None:
    """The footers too. Only a note, which a quarantine needs, cannot be written there."""
    name, quarantining = f"{handed_out}.t", Settings(on_violation="quarantine")
    two = "select * from values (1L, 'a'), (2L, 'b') as v(id, day)"
    bad = "select * from values (7L, 'b'), (null, 'b') as v(id, day)"
    reports = [guard.publish(model(name, "table", two))]
    assert "files" in {p.plane for p in reports[0].planes if p.status == "read"}, said(reports[0])
    reports += [guard.publish(model(name, strategy)) for strategy in ("append", "insert_overwrite", "merge", "table")]
    assert [r.outcome for r in reports] == ["published"] * 5, [said(r) for r in reports]
    reports += [guard.publish(model(name, "append", bad))]
    assert (reports[-1].outcome, "PP505" in {f.code for f in reports[-1].findings}) == ("rejected", True)
    reports += [guard.publish(replace(model(name, "append", bad), settings=quarantining))]
    assert [f.message for f in reports[-1].findings if f.code == "PP515" and "note" in f.message], said(reports[-1])
    assert [row[0] for row in iceberg.sql(f"select id from {name}").collect()] == [5]
    reports += [guard.audit(name, Contract(_COLUMNS)), guard.audit(name, Contract([("id", "string", True)]))]
    assert [r.verdict for r in reports[-2:]] == [Verdict.PROVED, Verdict.VIOLATED], [said(r) for r in reports[-2:]]
    assert guard.recover() == []
    told = [*capfd.readouterr(), *(form for r in reports for form in (r.to_json(), r.to_html(), str(r)))]
    assert [text for text in told if _SECRET in text] == []


def said(report: Report) -> str:
    return f"{report.outcome}: {report.error}; {[f.code for f in report.findings if f.verdict is not Verdict.PROVED]}"
