"""What lies where Spark would put a table: an empty folder stops no publish, and another table's is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planproof import Guard, Model, Report
from planproof.publish.transaction.publication import JournaledPublication
from planproof.session import open as opened
from planproof.session.store import local

APPEND = {"materialized": "incremental", "incremental_strategy": "append"}


def home(spark: Any, database: str) -> Path:
    """Where Spark puts the table `t`."""
    return Path(local(opened(spark).database_location(database)) or "") / "t"


def publish(spark: Any, database: str, sql: str = "select 1 as id", **more: Any) -> Report:
    return Guard(spark).publish(Model(f"{database}.t", sql, **more))


@pytest.mark.parametrize("prior", [None, "view", "external table"])
def test_an_empty_folder_stops_no_publish(prior: str | None, spark: Any, database: str, tmp_path: Path) -> None:
    """Spark makes a table over one, and renames none onto it."""
    if prior == "view":
        spark.sql(f"create view {database}.t as select 7 as id")
    if prior == "external table":
        spark.sql(f"create table {database}.t using parquet location '{tmp_path}/t' as select 7L as id")
    home(spark, database).mkdir(parents=True, exist_ok=True)
    report = publish(spark, database)
    assert report.outcome == "published", report.error
    assert spark.table(f"{database}.t").collect() == [(1,)]


@pytest.mark.parametrize("prior", [None, "view"])
def test_a_folder_that_somebody_has_just_made_is_left_while_rows_are_staged(
    prior: str | None, spark: Any, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CREATE TABLE makes the folder first, and the table in the catalog a moment later."""
    if prior == "view":
        spark.sql(f"create view {database}.t as select 7 as id")
    home(spark, database).mkdir(parents=True)
    plain, seen = JournaledPublication.step, dict[str, bool]()

    def step(self: JournaledPublication, name: str, **changes: Any) -> None:
        plain(self, name, **changes)
        seen[name] = home(spark, database).exists()

    monkeypatch.setattr(JournaledPublication, "step", step)
    assert publish(spark, database).outcome == "published"
    assert (seen["stage"], seen["swap"]) == (True, True)


def test_the_empty_folder_of_another_table_is_no_place_for_rows(spark: Any, database: str) -> None:
    spark.sql(f"create table {database}.other (id int) using parquet location '{home(spark, database)}'")
    home(spark, database).mkdir(parents=True, exist_ok=True)
    report = publish(spark, database)
    assert report.outcome == "failed"
    assert "other`'s: give" in str(report.error)
    assert spark.table(f"{database}.other").collect() == []
    assert home(spark, database).exists()


@pytest.mark.parametrize("partitions", [{}, {"partition_by": ["d"]}], ids=["plain", "partitioned"])
def test_a_table_that_was_dropped_during_an_append_can_be_made_anew(
    partitions: dict[str, Any], spark: Any, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = {"sql": "select 1 as id, 'x' as d", **partitions}
    assert publish(spark, database, **model).outcome == "published"
    plain = JournaledPublication.move

    def drop_first(self: JournaledPublication, source: str, target: str) -> None:
        spark.newSession().sql(f"drop table if exists {database}.t")
        plain(self, source, target)

    with monkeypatch.context() as patch:
        patch.setattr(JournaledPublication, "move", drop_first)
        report = publish(spark, database, **APPEND, **model)
    assert report.outcome == "failed"
    assert report.details.transient
    report = publish(spark, database, **APPEND, **model)
    assert report.outcome == "published", report.error
    assert spark.table(f"{database}.t").collect() == [(1, "x")]
