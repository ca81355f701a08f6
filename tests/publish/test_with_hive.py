"""What Hive's catalog does of its own: names in lower case only, and partitions that a session does not manage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from quick import keep_quick

from planproof import Guard, Model
from planproof.publish.transaction.places import database_root
from planproof.publish.transaction.publication import JournaledPublication
from planproof.session import open as opened
from planproof.session.described import MANAGED_PARTITIONS
from planproof.session.store import local

pytestmark = pytest.mark.hive

DELTA = {"materialized": "incremental"}
OVERWRITE = {**DELTA, "incremental_strategy": "insert_overwrite", "partition_by": ["d"]}
PARTS = "create table {t} using parquet partitioned by (d) as select * from values (1, 'x'), (2, 'y') as v(id, d)"


@pytest.mark.parametrize(
    "more", keep_quick([DELTA, OVERWRITE, {"partition_by": ["d"]}], DELTA), ids=["append", "overwrite", "table"]
)
def test_partitions_that_this_session_does_not_manage(spark: Any, database: str, more: dict[str, Any]) -> None:
    name, guard = f"{database}.t", Guard(spark)
    spark.sql(PARTS.replace("{t}", name))
    spark.conf.set(MANAGED_PARTITIONS, "false")
    report = guard.publish(Model(name, "select * from values (3, 'x'), (4, 'z') as v(id, d)", **more))
    spark.conf.set(MANAGED_PARTITIONS, "true")
    if more.get("materialized"):
        assert (report.outcome, report.findings[-1].code) == ("failed", "PP601")
        assert MANAGED_PARTITIONS in (report.error or "")
        assert rows_of(spark, name) == [(1, "x"), (2, "y")]
    else:
        assert report.outcome == "published", report.error
        spark.sql(f"msck repair table {name}")
        assert rows_of(spark, name) == [(3, "x"), (4, "z")]
    assert guard.recover() == []


def rows_of(spark: Any, name: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.newSession().sql(f"select * from {name}").collect())


def test_a_value_that_this_session_cannot_spell_is_refused_before_anything_moves(spark: Any, database: str) -> None:
    name, guard = f"{database}.t", Guard(spark)

    def publish(sql: str, **more: Any) -> Any:
        return guard.publish(Model(name, sql, **more))

    assert publish("select 1 as id, 'b\\\\s' as d", partition_by=["d"]).outcome == "published"
    spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    for more in (DELTA, OVERWRITE):
        report = publish("select 2 as id, 'b\\s' as d", **more)
        assert (report.outcome, report.findings[-1].code) == ("failed", "PP601"), report
        assert "escapedStringLiterals" in (report.error or "")
    assert publish("select 3 as id, 'b\\s' as d", partition_by=["d"]).outcome == "published"
    assert rows_of(spark, name) == [(3, "b\\s")]
    assert guard.recover() == []


def test_a_folder_that_this_session_cannot_spell_is_refused_before_anything_is_written(
    spark: Any, database: str, tmp_path: Path
) -> None:
    """`SET LOCATION` would point the table to another folder, in which nothing lies."""
    name, guard = f"{database}.t", Guard(spark)
    folder = f"{tmp_path}/it\\'s/t"
    spark.sql(f"create table {name} using parquet location '{folder}' as select 1 as id")
    assert guard.publish(Model(name, "select 2 as id")).outcome == "published"
    spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    for more in ({}, DELTA, {"options": {"clustered_by": "id", "buckets": 2}}):
        report = guard.publish(Model(name, "select 3 as id", **more))
        assert (report.outcome, report.findings[-1].code) == ("failed", "PP601"), report
        assert "escapedStringLiterals" in (report.error or "")
        assert rows_of(spark, name) == [(2,)]
    assert guard.recover() == []


@pytest.mark.conformance
@pytest.mark.parametrize("prefix", ["", "Up_"])
def test_rows_stay_with_an_upper_case_name_where_case_counts(spark: Any, database: str, prefix: str) -> None:
    """Spark looks for the files of a renamed table in a folder of the name's own spelling, where Hive has none."""
    spark.conf.set("spark.sql.caseSensitive", "true")
    name, guard = f"{prefix}{database}", Guard(spark)
    spark.sql(f"create database if not exists {name}")

    def outcome(table: str, sql: str, **more: Any) -> str:
        report = guard.publish(Model(f"{name}.{table}", sql, **more))
        return report.outcome if report.error is None else report.error

    try:
        spark.sql(f"create table {name}.Old_One using parquet as select 0 as id")
        for table in ("New_One", "Old_One"):
            for sql in ("select 1 as id", "select 2 as id", "select 3L as id"):
                assert outcome(table, sql) == "published"
                assert rows_of(spark, f"{name}.{table}") == [(int(sql.split()[1].rstrip("L")),)]
            assert outcome(table, "select 4 as id", materialized="view") == "published"
            assert outcome(table, "select 5 as id") == "published"
            assert outcome(table, "select 6 as id", materialized="incremental") == "published"
            assert rows_of(spark, f"{name}.{table}") == [(5,), (6,)]
    finally:
        if prefix:
            spark.sql(f"drop database {name} cascade")
        spark.conf.unset("spark.sql.caseSensitive")


@pytest.mark.conformance
@pytest.mark.parametrize("step", ["away", "swap"])
@pytest.mark.parametrize("runs", [0, 1])
def test_files_that_somebody_puts_at_the_default_place_never_become_the_table(
    spark: Any, database: str, monkeypatch: pytest.MonkeyPatch, runs: int, step: str
) -> None:
    """They come while the table is renamed, at home or from a version: the catalog renames none onto them."""
    name, plain, acted = f"{database}.t", JournaledPublication.step, list[str]()
    spark.sql(f"create table {name} using parquet as select 1 as id, 'a' as s")
    for _ in range(runs):
        assert Guard(spark).publish(Model(name, "select 1 as id, 'a' as s")).outcome == "published"
    home = database_root(opened(spark), (database,))

    def beside(self: JournaledPublication, now: str, **changes: Any) -> None:
        plain(self, now, **changes)
        if now == step and not acted:
            acted.append(now)
            spark.newSession().sql("select 9 as id, 'z' as s").write.mode("append").parquet(f"{home}/t")

    monkeypatch.setattr(JournaledPublication, "step", beside)
    report = Guard(spark).publish(Model(name, "select 5L as id, 'b' as s"))
    assert acted
    # Right before the first rename they are still the table's own, if it lies there.
    published = (step, runs) == ("away", 0)
    assert report.outcome == ("published" if published else "failed"), report.error
    assert rows_of(spark, name) == ([(5, "b")] if published else [(1, "a")])
    monkeypatch.undo()
    assert Guard(spark).recover() == []
    assert rows_of(spark, name) == ([(5, "b")] if published else [(1, "a")])
    folders = [str(path.parent) for path in Path(local(home) or "").rglob("*.parquet")]
    found = {tuple(row) for folder in folders for row in spark.read.parquet(folder).select("id").collect()}
    assert published or (9,) in found, "nobody's files are deleted"
