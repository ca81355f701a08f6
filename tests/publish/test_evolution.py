"""`on_schema_change` without dbt: what a delta with other columns does to the table, by the guard alone."""

from __future__ import annotations

from typing import Any

import pytest

from planproof import Contract, Guard, Model, Report, Verdict

FIRST = "select 1 as id, named_struct('a', 1) as s"
DELTAS = {
    "added": "select 2 as id, named_struct('a', 2) as s, 'n' as note",
    "dropped": "select 2 as id",
    "retyped": "select 2L as id, named_struct('a', 2) as s",
    "nested": "select 2 as id, named_struct('a', 2, 'b', 3) as s",
}
OUTCOMES = {
    ("ignore", "added"): ("published", 2),
    ("ignore", "dropped"): ("rejected", 2),
    ("fail", "added"): ("rejected", 2),
    ("fail", "dropped"): ("rejected", 2),
    ("fail", "retyped"): ("rejected", 2),
    ("fail", "nested"): ("rejected", 2),
    ("append_new_columns", "added"): ("published", 3),
    ("append_new_columns", "dropped"): ("rejected", 2),
    ("sync_all_columns", "added"): ("published", 3),
    ("sync_all_columns", "dropped"): ("rejected", 2),
    ("sync_all_columns", "retyped"): ("rejected", 2),
    ("sync_all_columns", "nested"): ("rejected", 2),
}


@pytest.fixture(scope="module")
def guard(spark: Any) -> Guard:
    return Guard(spark)


def delta(name: str, mode: str, sql: str, **more: Any) -> Model:
    return Model(name, sql, materialized="incremental", options={"on_schema_change": mode}, **more)


def codes(report: Report) -> set[str]:
    return {f.code for f in report.findings if f.verdict is Verdict.VIOLATED}


def test_each_mode_over_each_change(guard: Guard, database: str, spark: Any) -> None:
    for (mode, change), (outcome, width) in OUTCOMES.items():
        name = f"{database}.{mode}_{change}"
        spark.sql(f"create table {name} using parquet as {FIRST}")
        report = guard.publish(delta(name, mode, DELTAS[change]))
        assert (report.outcome, len(spark.table(name).columns)) == (outcome, width), (mode, change, report.findings)
        assert spark.table(name).count() == (2 if outcome == "published" else 1)
        if outcome == "rejected" and mode in ("fail", "sync_all_columns"):
            assert "PP606" in codes(report)


def test_what_spark_casts_on_the_way_in_is_no_finding(guard: Guard, database: str, spark: Any) -> None:
    """The delta's own types and columns are not the table's: it stores them as it stores its own."""
    for strategy in ("append", "insert_overwrite"):
        name = f"{database}.{strategy}"
        spark.sql(f"create table {name} using parquet as select 1L as id, cast(1 as decimal(12,2)) as v")
        sql = "select 2 as id, cast(2 as decimal(10,2)) as v, 'left out' as more"
        report = guard.publish(delta(name, "ignore", sql, incremental_strategy=strategy))
        assert (report.outcome, report.verdict) == ("published", "proved"), report.findings


def test_the_nested_place_is_named(guard: Guard, database: str, spark: Any) -> None:
    name = f"{database}.t"
    spark.sql(f"create table {name} using parquet as {FIRST}")
    report = guard.publish(delta(name, "sync_all_columns", DELTAS["nested"]))
    [finding] = [f for f in report.findings if f.code == "PP606"]
    assert (finding.field, finding.promised, finding.found) == ("s.b", "nothing", "int")


def test_a_contract_may_name_the_new_column(guard: Guard, database: str, spark: Any) -> None:
    name = f"{database}.t"
    spark.sql(f"create table {name} using parquet as select 1 as id")
    contract = Contract([("id", "int", False), ("note", "string", False)])
    broken = "select id, if(id = 3, null, 'n') as note from values (2), (3) as t(id)"
    report = guard.publish(delta(name, "append_new_columns", broken, contract=contract))
    assert (report.outcome, codes(report)) == ("rejected", {"PP505"})
    assert spark.table(name).columns == ["id"]
    good = broken.replace("id = 3", "id = 4")
    assert guard.publish(delta(name, "append_new_columns", good, contract=contract)).outcome == "published"
    spark.catalog.refreshTable(name)
    assert spark.table(name).columns == ["id", "note"]


def test_overwriting_a_partitioned_table_follows_the_session(guard: Guard, database: str, spark: Any) -> None:
    overwrite = {"materialized": "incremental", "incremental_strategy": "insert_overwrite"}
    for mode, left in (("STATIC", {3}), ("DYNAMIC", {1, 3})):
        name = f"{database}.{mode.lower()}"
        rows = "select * from values (1, 'x'), (2, 'y') v(id, d)"
        spark.sql(f"create table {name} using parquet partitioned by (d) as {rows}")
        spark.sql(f"set spark.sql.sources.partitionOverwriteMode = {mode}")
        assert guard.publish(Model(name, "select 3 as id, 'y' as d", **overwrite)).outcome == "published"
        assert {row.id for row in spark.table(name).collect()} == left
