"""Views in catalogs that make Iceberg tables: where they may be published, and what a table does in a view's place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from killed import Killed

from planproof import Contract, Guard, Model
from planproof.report.model import Report
from planproof.session.protocol import SparkFailure


@pytest.fixture
def guard(iceberg: Any) -> Guard:
    return Guard(iceberg)


def model(name: str, sql: str, *columns: tuple[str, str, bool]) -> Model:
    return Model(name, sql, contract=Contract(columns) if columns else None, file_format="iceberg")


def _relations(spark: Any, database: str) -> list[tuple[str, bool]]:
    """Each name, and whether it is a view's."""
    views = {r["viewName"] for r in spark.sql(f"show views in {database}").collect()}
    tables = {r["tableName"] for r in spark.sql(f"show tables in {database}").collect()}
    return sorted((name, name in views) for name in views | tables)


def test_a_view_made_a_table_and_the_reverse(database: str, guard: Guard, iceberg: Any) -> None:
    name = f"{database}.v"
    iceberg.sql(f"create view {name} as select 1L as id")
    null = model(name, "select if(id > 0, null, id) as id from range(3)", ("id", "bigint", False))
    assert guard.publish(null).outcome == "rejected"
    assert guard.publish(model(name, "select cast(raise_error('no') as bigint) as id")).outcome == "failed"
    assert _relations(iceberg, database) == [("v", True)]
    # The new rows come from the view whose place they take.
    report = guard.publish(model(name, f"select id + 1 as id from {name}", ("id", "bigint", True)))
    assert (report.outcome, report.strategy) == ("published", "exchange"), report
    assert (iceberg.table(name).collect()[0][0], guard.session.registered_table(name).format) == (2, "iceberg")
    assert guard.publish(model(name, "select 5L as id")).strategy == "replace"
    for text in ("a", "b", "b"):
        report = guard.publish(Model(name, f"select '{text}' as id", materialized="view"))
        assert report.outcome == "published", report
        assert iceberg.newSession().table(name).collect()[0][0] == text, "Spark reads what was published"
        assert _relations(iceberg, database) == [("v", True)]
    iceberg.sql(f"create table {database}.p using parquet as select 1 as id")
    refused = guard.publish(Model(f"{database}.p", "select 2 as id", materialized="view"))
    assert (refused.outcome, iceberg.table(f"{database}.p").collect()[0][0]) == ("failed", 1)


@pytest.mark.parametrize("catalog", ["lake_hive", "lake_jdbc"], indirect=True)
def test_views_of_other_catalogs(place: str, guard: Guard, iceberg: Any) -> None:
    name, promised = f"{place}.v", Contract([("id", "string", False)])

    def view(sql: str) -> Report:
        return guard.publish(Model(name, sql, materialized="view", contract=promised))

    for text in ("a", "b", "b"):
        assert view(f"select '{text}' as id").outcome == "published"
        assert iceberg.newSession().table(name).collect()[0][0] == text, "Spark reads what was published"
        assert _relations(iceberg, place) == [("v", True)]
    assert view("select 1 as id").outcome == "rejected"
    assert view("select if(rand() < 2, null, 'c') as id").outcome == "rejected"
    assert iceberg.newSession().table(name).collect()[0][0] == "b"
    found = guard.session.registered_table(name)
    assert (found.kind, found.text) == ("view", "select 'b' as id")
    assert guard.audit(name, promised).verdict == "proved"
    # Neither takes the other's place here.
    refused = guard.publish(model(name, "select 5L as id"))
    assert (refused.outcome, "exists as a view" in str(refused.error)) == ("failed", True), refused
    iceberg.sql(f"create table {place}.t using iceberg as select 1 as id")
    refused = guard.publish(Model(f"{place}.t", "select 2 as id", materialized="view"))
    assert (refused.outcome, "exists as an Iceberg table" in str(refused.error)) == ("failed", True), refused
    assert iceberg.table(f"{place}.t").collect()[0][0] == 1
    assert _relations(iceberg, place) == [("t", False), ("v", True)]


def test_a_catalog_that_keeps_no_views(lake: str, guard: Guard) -> None:
    refused = guard.publish(Model(f"{lake}.v", "select 1 as id", materialized="view"))
    assert (refused.outcome, "planproof publishes to" in str(refused.error)) == ("failed", True), refused


def _break_at(statement: str, how: str, rows: Callable[[str], Any], failed: list[str]) -> Callable[[str], Any]:
    """What a session carries out, but for the first of such statements: it fails, or the process dies at it."""

    def breaks(sql: str) -> Any:
        if not sql.startswith(statement) or failed:
            return rows(sql)
        failed.append(sql)
        if how == "dies after it":
            rows(sql)
        raise SparkFailure("the metastore went away") if how == "fails" else Killed

    return breaks


@pytest.mark.parametrize("statement", ["ALTER VIEW", "CREATE OR REPLACE VIEW", "DROP VIEW"])
@pytest.mark.parametrize("how", ["dies before it", "dies after it", "fails"])
def test_a_view_that_gets_another_text(
    place_of_views: str, guard: Guard, iceberg: Any, statement: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wholly the old view or the new one: Spark goes on to read the old text of an Iceberg view that is replaced, so
    that it steps aside."""
    name, rows = f"{place_of_views}.v", guard.session.rows
    failed: list[str] = []
    iceberg.sql(f"create view {name} as select 1L as id")

    monkeypatch.setattr(guard.session, "rows", _break_at(statement, how, rows, failed))
    is_new = statement == "DROP VIEW" or (statement, how) == ("CREATE OR REPLACE VIEW", "dies after it")
    if how == "fails":
        report = guard.publish(Model(name, "select 2L as id", materialized="view"))
        assert report.outcome == ("published" if is_new else "failed"), report
    else:
        with pytest.raises(Killed):
            guard.publish(Model(name, "select 2L as id", materialized="view"))
        monkeypatch.setattr(guard.session, "rows", rows)
        reports = [r for r in Guard(iceberg).recover(force=True) if place_of_views.rpartition(".")[2] in r.model]
        assert [r.outcome for r in reports] == ["published" if is_new else "rejected"]
    assert failed
    assert _relations(iceberg, place_of_views) == [("v", True)]
    assert iceberg.newSession().table(name).collect()[0][0] == (2 if is_new else 1)


@pytest.mark.parametrize("statement", ["ALTER VIEW", "ALTER TABLE", "DROP VIEW"])
@pytest.mark.parametrize("how", ["dies before it", "dies after it", "fails"])
def test_a_view_whose_place_is_being_taken(
    database: str, guard: Guard, iceberg: Any, statement: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wholly the view or wholly the table, whatever happens between the two renames."""
    name, rows = f"{database}.v", guard.session.rows
    failed: list[str] = []
    iceberg.sql(f"create view {name} as select 1L as id")

    monkeypatch.setattr(guard.session, "rows", _break_at(statement, how, rows, failed))
    is_new = statement != "ALTER VIEW" or how == "dies after it"
    if how == "fails":
        report = guard.publish(model(name, "select 2L as id"))
        assert report.outcome == ("published" if is_new else "failed"), report
    else:
        with pytest.raises(Killed):
            guard.publish(model(name, "select 2L as id"))
        monkeypatch.setattr(guard.session, "rows", rows)
        # Its process lives, so that recovery has to be forced.
        reports = [r for r in Guard(iceberg).recover(force=True) if r.model == name]
        assert [r.outcome for r in reports] == ["published" if is_new else "rejected"]
    assert failed
    assert _relations(iceberg, database) == [("v", not is_new)]
    assert iceberg.table(name).collect()[0][0] == (2 if is_new else 1)
