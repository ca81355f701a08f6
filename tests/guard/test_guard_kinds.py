"""Views and incremental models through the guard on real Spark."""

from __future__ import annotations

from typing import Any

import pytest
from reports import codes

from planproof import Contract, Guard, Model, Verdict
from planproof.publish.transaction import names

pytestmark = pytest.mark.hive


def test_a_view_is_replaced_only_when_its_contract_holds(
    guard: Guard, database: str, read: Any, spark: Any, clean: Any
) -> None:
    spark.sql(f"create table {database}.s using parquet as select * from values (1), (2) as v(id)")
    view = Model(
        f"{database}.v", f"select id from {database}.s", materialized="view", contract=Contract([("id", "int", False)])
    )
    report = guard.publish(view)
    assert (report.outcome, report.verdict, report.strategy) == ("published", "proved", "view")
    spark.sql(f"insert into {database}.s values (null)")
    report = guard.publish(view)
    assert (report.outcome, codes(report, Verdict.VIOLATED)) == ("rejected", ["PP505"])
    assert spark.catalog.tableExists(f"{database}.v")
    other = Model(f"{database}.v", "select 7 as id", materialized="view")
    assert guard.publish(other).outcome == "published"
    assert read(f"{database}.v") == [(7,)]
    clean()


def test_append_adds_what_was_audited(guard: Guard, database: str, read: Any, clean: Any) -> None:
    name, contract = f"{database}.t", Contract([("id", "int", False)])
    delta = {"materialized": "incremental", "contract": contract}
    assert guard.publish(Model(name, "select 1 as id", **delta)).strategy == "rename"
    assert guard.publish(Model(name, "select 2 as id", **delta)).strategy == "append"
    assert read(name) == [(1,), (2,)]
    report = guard.publish(Model(name, "select if(v = 3, null, v) as id from values (3) as t(v)", **delta))
    assert (report.outcome, codes(report, Verdict.VIOLATED)) == ("rejected", ["PP505"])
    assert read(name) == [(1,), (2,)]
    assert guard.publish(Model(name, "select 9 as id", **delta), full_refresh=True).outcome == "published"
    assert read(name) == [(9,)]
    clean()


def test_a_delta_that_does_not_fit_the_stored_table_is_refused(
    guard: Guard, database: str, read: Any, spark: Any, clean: Any
) -> None:
    name = f"{database}.t"
    spark.sql(f"create table {name} using parquet as select 1 as id, 'a' as name")
    for contract, sql in [
        ([("id", "bigint", True), ("name", "string", True)], "select 2L as id, 'b' as name"),
        (
            [("id", "int", True), ("name", "string", True), ("more", "int", True)],
            "select 2 as id, 'b' as name, 3 as more",
        ),
        ([("id", "int", True)], "select 2 as id"),
    ]:
        report = guard.publish(Model(name, sql, materialized="incremental", contract=Contract(contract)))
        assert (report.outcome, codes(report, Verdict.VIOLATED)) == ("rejected", ["PP402"]), sql
    assert read(name) == [(1, "a")]
    clean()


def test_what_dbt_would_insert_is_inserted(guard: Guard, database: str, read: Any, spark: Any) -> None:
    """Another order, a narrower type and a column more: healthy without a contract, as plain dbt inserts them."""
    name = f"{database}.t"
    spark.sql(f"create table {name} using parquet as select 1L as id, 'a' as name")
    report = guard.publish(Model(name, "select 'b' as name, 2 as id, 3 as more", materialized="incremental"))
    assert (report.outcome, report.verdict) == ("published", "proved")
    assert codes(report, Verdict.WARNING) == ["PP402", "PP131"]
    assert read(name) == [(1, "a"), (2, "b")]


def test_a_key_is_unique_over_old_and_new_rows(guard: Guard, database: str, read: Any) -> None:
    name = f"{database}.t"
    contract = Contract([("id", "int", True)], constraints=[{"type": "unique", "columns": ["id"]}])
    model = Model(name, "select 1 as id", materialized="incremental", contract=contract)
    assert guard.publish(model).outcome == "published"
    report = guard.publish(model)
    assert (report.outcome, codes(report, Verdict.VIOLATED)) == ("rejected", ["PP507"])
    assert read(name) == [(1,)]


def test_insert_overwrite_replaces_the_partitions_of_the_delta(
    guard: Guard, database: str, read: Any, clean: Any, spark: Any
) -> None:
    name = f"{database}.t"
    model = {
        "materialized": "incremental",
        "incremental_strategy": "insert_overwrite",
        "partition_by": ["d"],
        "contract": Contract([("id", "int", False), ("d", "string", False)]),
    }
    assert guard.publish(Model(name, "select * from values (1, 'x'), (2, 'y') as v(id, d)", **model)).rows == 2
    report = guard.publish(Model(name, "select * from values (3, 'y'), (4, 'z') as v(id, d)", **model))
    assert (report.outcome, report.strategy, report.verdict) == ("published", "partitions", "proved")
    assert read(name) == [(1, "x"), (3, "y"), (4, "z")]
    report = guard.publish(
        Model(name, "select id, if(id > 3, null, d) as d from values (5, 'y'), (2, 'z') as v(id, d)", **model)
    )
    assert report.outcome == "rejected"
    assert read(name) == [(1, "x"), (3, "y"), (4, "z")]
    report = guard.publish(Model(name, "select * from values (6, 'x'), (7, 'y') as v(id, d)", **model))
    assert read(name) == [(4, "z"), (6, "x"), (7, "y")]
    spark.sql(f"drop table {name}")
    spark.sql(f"create table {name} using parquet partitioned by (d) as select 1 as id, 'x' as d")
    clean()


def test_each_of_many_partitions_is_compared_a_few_times(
    guard: Guard, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not each with every other: a table by day has thousands, and a run may replace them all."""
    model = {"materialized": "incremental", "incremental_strategy": "insert_overwrite", "partition_by": ["d"]}
    plain, looks = names._normalize_scheme, []
    monkeypatch.setattr(names, "_normalize_scheme", lambda location: looks.append(location) or plain(location))

    def count(partitions: int) -> int:
        sql = f"select id, cast(id as string) as d from range({partitions})"
        guard.publish(Model(f"{database}.t{partitions}", sql, **model))
        looks.clear()
        assert guard.publish(Model(f"{database}.t{partitions}", sql, **model)).strategy == "partitions"
        return len(looks)

    assert count(24) < 4 * count(8)


def test_insert_overwrite_without_partitions_replaces_all(guard: Guard, database: str, read: Any) -> None:
    name = f"{database}.t"
    model = {"materialized": "incremental", "incremental_strategy": "insert_overwrite"}
    guard.publish(Model(name, "select 1 as id", **model))
    report = guard.publish(Model(name, "select 2 as id", **model))
    assert (report.outcome, report.strategy) == ("published", "location")
    assert read(name) == [(2,)]


def test_an_append_lets_spark_forget_the_size_that_the_table_had(guard: Guard, database: str, spark: Any) -> None:
    """With the old size Spark would broadcast a table that has grown."""

    def size() -> int:
        shown = dict(tuple(r)[:2] for r in spark.sql(f"describe extended {database}.t").collect())
        return int(shown["Statistics"].split()[0]) if "Statistics" in shown else -1

    guard.publish(Model(f"{database}.t", "select id from range(10)", materialized="incremental"))
    spark.sql(f"analyze table {database}.t compute statistics")
    before = size()
    assert before > 0
    assert (
        guard.publish(Model(f"{database}.t", "select id from range(50000)", materialized="incremental")).rows == 50000
    )
    assert size() == -1 or size() > 20 * before
