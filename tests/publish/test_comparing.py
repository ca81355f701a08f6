"""Staged rows beside the published ones: what would come, go and change, and nothing is published."""

from __future__ import annotations

import re
from typing import Any

import pytest

from planproof import Contract, Guard, Model
from planproof.report.model import Report

OLD = """
    create table {t} using parquet as
    select * from values (1, 10, 'a', map('k', 1)), (2, 20, null, map()), (3, 30, 'c', map()) as v(id, n, s, m)
    """
NEW = "select * from values (2, 21, 'b', map('k', 2)), (3, 30, 'c', map()), (4, 40, 'd', map('k', 4)) as v(id, n, s, m)"


def state(spark: Any, name: str) -> list[str]:
    return sorted(str(r) for r in spark.newSession().table(name).collect())


@pytest.mark.parametrize("kind", ["table", "view", "incremental", "overwritten"])
def test_rows_by_key(spark: Any, database: str, kind: str) -> None:
    name, guard = f"{database}.t", Guard(spark)
    spark.sql(OLD.replace("{t}", name))
    before = state(spark, name)
    more: dict[str, Any] = {} if kind == "table" else {"materialized": kind}
    sql, expected = NEW, (1, 1, 1, {"n": 1, "s": 1})
    if kind == "incremental":
        sql, expected = NEW.replace("(2, 21, 'b', map('k', 2)), (3, 30, 'c', map()), ", ""), (1, 0, 0, {"n": 0, "s": 0})
    if kind == "overwritten":
        more = {"materialized": "incremental", "incremental_strategy": "insert_overwrite"}
    report = guard.compare(Model(name, sql, **more), ["ID"])
    assert report.outcome == "checked", (report.error, report.findings)
    found = report.details.comparison
    assert found is not None
    assert (found.added, found.removed, found.changed, found.columns) == expected
    assert found.uncompared == {"m": "it holds a map"}
    if kind != "incremental":
        assert found.lines()[:5] == [
            "1 rows added, 1 removed, 1 changed, by ID",
            "  n: 1 changed",
            "    ID=2: 20 -> 21",
            "  s: 1 changed",
            "    ID=2: NULL -> b",
        ]
    assert Report.from_json(report.to_json()) == report
    assert state(spark, name) == before
    assert [r[1] for r in spark.sql(f"show tables in {database}").collect() if not r[2]] == ["t"]
    assert Guard(spark).publish(Model(name, NEW)).outcome == "published"


def test_what_cannot_be_compared_is_refused(spark: Any, database: str) -> None:
    name, guard = f"{database}.t", Guard(spark)
    model = Model(name, "select 1 as id, 2 as n, map('k', 1) as m from range(2)")
    first = guard.compare(model, ["id"])
    assert (first.outcome, first.details.comparison) == ("checked", None)
    assert first.details.change is not None
    assert first.details.change.line() == "2 rows, a new table"
    assert not spark.catalog.tableExists(name)
    assert guard.publish(model).outcome == "published"
    for key, said in (
        ("id", "--key: 1 published values of id are in several rows"),
        ("no", "--key: the model .* has no column 'no'; known: id, n, m"),
        ("m", "--key: m holds a map"),
    ):
        report = guard.compare(model, [key])
        assert report.outcome == "failed"
        assert re.search(said, report.error or ""), report.error
        assert spark.table(name).count() == 2


def test_what_would_be_stopped_says_so(spark: Any, database: str) -> None:
    name, guard = f"{database}.t", Guard(spark)
    contract = Contract([("id", "int", False)])
    assert guard.publish(Model(name, "select 1 as id", contract=contract)).outcome == "published"
    report = guard.compare(Model(name, "select nullif(1, id) as id from range(3)", contract=contract), ["id"])
    assert (report.outcome, report.details.comparison) == ("rejected", None)
    assert spark.table(name).count() == 1
