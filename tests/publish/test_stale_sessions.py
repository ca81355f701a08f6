"""Spark lists a table's files once for each session, which learns of no other session's write: what is counted over a
table is what it holds now."""

from __future__ import annotations

from typing import Any

import pytest

from planproof import Contract, Guard, Model, Report, Settings
from planproof_engine.finding import Verdict

APPEND: dict[str, Any] = {"materialized": "incremental", "incremental_strategy": "append"}


@pytest.mark.parametrize("partition_by", [[], ["d"]], ids=["plain", "parts"])
def test_a_key_that_another_session_has_written_is_counted(spark: Any, database: str, partition_by: list[str]) -> None:
    """Spark lists a table's files once for each session, which learns of no other session's write."""
    guard, other, name = Guard(spark.newSession()), spark.newSession(), f"{database}.orders"
    contract = Contract([("id", "int", True), ("d", "string", True)], [{"kind": "unique", "columns": ["id"]}])

    def publish(value: int, settings: Settings | None = None) -> Report:
        sql = f"select {value} as id, 'x' as d"
        given = {**APPEND, "contract": contract, "partition_by": partition_by, "settings": settings or Settings()}
        return guard.publish(Model(name, sql, **given))

    assert publish(1).outcome == "published"
    guard.session.rows(f"select * from {name}")
    other.sql(f"insert into {name} values (7, 'x')")
    report = publish(7)
    assert (report.outcome, [f.code for f in report.of(Verdict.VIOLATED)]) == ("rejected", ["PP507"])
    found = spark.newSession().sql(f"select id from {name} order by id").collect()
    assert [row[0] for row in found] == [1, 7]


def test_a_key_that_refers_to_what_another_session_has_written_is_found(spark: Any, database: str) -> None:
    guard, parent = Guard(spark.newSession()), f"{database}.customers"
    key = {"kind": "foreign_key", "columns": ["id"], "expression": f"{parent} (id)"}
    spark.sql(f"create table {parent} using parquet as select 1 as id")
    assert guard.session.rows(f"select count(*) from {parent}") == [(1,)]
    spark.sql(f"insert into {parent} values (2)")
    model = Model(f"{database}.orders", "select 2 as id", contract=Contract([("id", "int", True)], [key]))
    report = guard.publish(model)
    assert report.outcome == "published", report.findings
