"""Hazards that data decide: violated where values changed, proved where none did, a warning where nobody can tell, or
nothing was promised."""

from __future__ import annotations

from typing import Any

import pytest

from planproof import Contract, Guard, Model, Report, Settings
from planproof.report.parts import query_of

SETUP = (
    "create table {db}.a using parquet as select 1 as id, 10 as customer, '007' as code, 5L as big",
    "create table {db}.b using parquet as select 20 as customer, 2 as id, 8 as code, 99999999999L as big",
    "create table {db}.places using parquet as select named_struct('x', 1, 'y', 2) as p",
    "create table {db}.same using parquet as select 3 as customer, 3 as id",
    "create or replace view {db}.beyond as select big * 2 as big from {db}.b",
)

CASES = [
    ("select id, customer from {db}.a union all select customer, id from {db}.b", False, "PP120", "violated"),
    ("select id, customer from {db}.a union all select customer, id from {db}.same", False, "PP120", "proved"),
    ("select id, customer from {db}.a union all select customer, id from {db}.a", False, "PP120", "warning"),
    ("select code from {db}.a union all select code from {db}.b", True, "PP125", "violated"),
    ("select cast(big as int) big from {db}.b", False, "PP126", "violated"),
    ("with x as (select big from {db}.a) select cast(big as int) big from x where big > 0", False, "PP126", "proved"),
    ("select cast(big as int) big from {db}.b where big < 9", False, "PP126", "proved"),
    ("select cast(n as int) n from (select big as n from {db}.a) where n < 9", False, "PP126", "proved"),
    (
        "select cast(n as int) n from (select big as n from {db}.a union all select big from {db}.b)",
        False,
        "PP126",
        "violated",
    ),
    ("select cast(big as int) big from {db}.beyond", False, "PP126", "violated"),
    ("select cast(big as tinyint) big from {db}.a", False, "PP126", "proved"),
    ("select cast(sum(big) as int) big from {db}.a", False, "PP126", "proved"),
    ("select cast(sum(big) as int) big from {db}.b group by code", False, "PP126", "violated"),
    ("select transform(array(big), x -> cast(x as int)) big from {db}.b", False, "PP126", "violated"),
    ("select transform(array(big), x -> if(x < 9, cast(x as int), 0)) big from {db}.b", False, "PP126", "proved"),
    ("select transform(array(big), (x, i) -> cast(x as int)) big from {db}.b", False, "PP126", "violated"),
    ("select aggregate(array(big), 0, (n, x) -> cast(n + x as int)) big from {db}.b", False, "PP126", "warning"),
    ("select int(coalesce(big, 0)) big from {db}.b", False, "PP126", "violated"),
    ("select coalesce(code, 0) code from {db}.a", True, "PP132", "violated"),
    ("select coalesce(cast(big as string), 0.5D) code from {db}.a", True, "PP132", "proved"),
    ("select cast(p as struct<y:int,x:int>) p from {db}.places", False, "PP122", "violated"),
    ("select cast(p as struct<y:int,x:int>) p from {db}.places where p.x = p.y", False, "PP122", "proved"),
]


@pytest.fixture
def found(spark: Any, database: str, ansi: Any) -> Any:
    for statement in SETUP:
        spark.sql(statement.format(db=database))

    def publish(
        sql: str, on: bool, settings: Settings | None = None, kind: str = "table", promised: bool = True
    ) -> Report:
        ansi(on)
        text = sql.format(db=database)
        contract = promise(spark, text) if promised else None
        model = Model(f"{database}.t_{kind}", text, materialized=kind, contract=contract)
        return Guard(spark, settings=settings).publish(model)

    return publish


def promise(spark: Any, sql: str) -> Contract:
    """What the query gives, nulls and all."""
    return Contract([(field.name, field.dataType.simpleString(), True) for field in spark.sql(sql).schema])


def test_a_count_decides(found: Any) -> None:
    for sql, on, code, verdict in CASES:
        report = found(sql, on)
        assert [f.verdict.value for f in report.findings if f.code == code] == [verdict], (sql, report.findings)
        assert report.outcome == ("rejected" if verdict == "violated" else "published"), sql


def test_without_a_promise_a_hazard_that_came_true_is_a_warning_with_its_query(found: Any, spark: Any) -> None:
    """dbt publishes such a model, and so does planproof."""
    for sql, on, code in [case[:3] for case in CASES if case[3] == "violated"][::2]:
        report = found(sql, on, promised=False)
        assert report.outcome == "published", (sql, report.findings)
        [finding] = [f for f in report.findings if f.code == code]
        assert (finding.verdict.value, report.verdict.value) == ("warning", "proved"), (sql, finding)
        assert "; counted: " in finding.message
        assert finding.message.endswith("; no contract promises otherwise")
        if report.details.broken is not None:
            assert spark.sql(query_of(report, finding)).count() >= 1, sql
    report = found("select cast(big as int) big from {db}.b", False, promised=False)
    assert report.details.broken is not None


def test_footers_spare_a_count(found: Any) -> None:
    """The range that the source's footers tell is the evidence; where it is too wide, the rows are counted."""
    for sql, source in (
        ("select cast(big as int) big from {db}.a", "(1 file)"),
        ("select cast(big as int) big from {db}.b where big < 9", "counted over the model's sources"),
    ):
        (finding,) = (f for f in found(sql, False).findings if f.code == "PP126")
        assert source in (finding.evidence or ""), finding


def test_a_view_is_counted_too_and_an_allowed_hazard_is_not(found: Any) -> None:
    sql = CASES[0][0]
    assert found(sql, False, kind="view").outcome == "rejected"
    report = found(sql, False, Settings(allow=("PP120",)))
    assert [(f.code, f.verdict.value) for f in report.findings if f.code == "PP120"] == [("PP120", "warning")]
    assert report.outcome == "published"


def test_a_view_that_promises_nothing_is_counted_on_demand_alone(found: Any) -> None:
    """To make a view costs nothing; a count reads its sources."""
    sql = CASES[1][0]
    for settings, verdict in ((None, "warning"), (Settings(overflow="count"), "proved")):
        report = found(sql, False, settings, kind="view", promised=False)
        assert report.outcome == "published", report.findings
        assert [f.verdict.value for f in report.findings if f.code == "PP120"] == [verdict]


def test_arithmetic_is_decided_by_footers_else_by_a_count(spark: Any, database: str, ansi: Any) -> None:
    """What wraps is violated, what cannot is proved, and what nobody can count is unproved where that is asked for."""
    ansi(False)
    rows = "select cast(id as int) as a, cast(id + {more} as int) as b, 'k' as k from range(5)"
    spark.sql(f"create table {database}.small using parquet as {rows.format(more=1)}")
    spark.sql(f"create table {database}.large using parquet as {rows.format(more=2147483640)}")
    spark.sql(f"create view {database}.v as select * from {database}.small")
    guard = Guard(spark)

    def told(sql: str, overflow: str = "", promised: bool = True, **more: Any) -> tuple[str, list[tuple[str, str]]]:
        settings = Settings(overflow=overflow, **more)
        text = sql.format(d=database)
        model = Model(f"{database}.m", text, settings=settings, contract=promise(spark, text) if promised else None)
        report = guard.publish(model)
        said = [(f.verdict.value, f.message) for f in report.findings if f.code in ("PP126", "PP136")]
        return report.outcome, [(v, m.split("; ")[-1]) for v, m in said]

    between = "its values lie between 1 and 5, by the footers of"
    outcome, [(verdict, why)] = told("select a * b as n from {d}.small")
    assert (outcome, verdict, why.startswith(between)) == ("published", "proved", True)
    for changes in ("counts", "off"):
        outcome, [(verdict, why)] = told("select a * b as n from {d}.small", changes=changes)
        assert (outcome, verdict, why.split(" of ")[0]) == ("published", "proved", "every value fits, by the footers")
    assert told("select a + b as n, b * 2 as m from {d}.v") == (
        "published",
        [("proved", "0 values wrap, counted over the model's sources")] * 2,
    )
    assert told("select b * a as n from {d}.large") == ("rejected", [("violated", "counted: 3 values wrap")])
    assert told("select sum(b * a) as n from {d}.large where a < 2") == (
        "published",
        [("proved", "0 values wrap, counted over the model's sources")],
    )
    harmless = ("published", [("proved", "0 values wrap, counted over the model's sources")])
    # In the rows that take the branch.
    for overflow in ("", "count"):
        assert told("select case when a < 2 then b * a end as n from {d}.large", overflow) == harmless
        wraps = "select case a when 0 then 1 else if(a > 2, b * a, 0) end as n from {d}.large"
        assert told(wraps, overflow) == ("rejected", [("violated", "counted: 2 values wrap")])
    lambda_of_two = "select transform(array(a), (e, i) -> b * e) as n from {d}.large where a < 2"
    unproved = "planproof has no query that counts such values here"
    assert told(lambda_of_two) == ("published", [])
    assert told(lambda_of_two, "count") == ("published", [("unproved", unproved)])
    over = "with w as (select a, b from {d}.large) select a * b as n from w where a < 2"
    assert told(over) == ("published", [])
    assert told(over, "count") == ("published", [("proved", "0 values wrap, counted over the model's sources")])
    assert [v for v, _ in told("select b * a as n from {d}.large", "warn")[1]] == ["warning"]
    assert told("select b * a as n, cast(99999999999L as int) as m from {d}.large", "off") == ("published", [])
    assert told("select cast(99999999999L as int) as m", "count") == (
        "rejected",
        [("violated", "the constant lies outside of it")],
    )
    none = "no contract promises otherwise"
    for overflow in ("", "count"):
        for sql in ("select b * a as n from {d}.large", "select cast(99999999999L as int) as m"):
            assert told(sql, overflow, promised=False) == ("published", [("warning", none)])
    assert told("select 2147483647 + 1 as m from {d}.small") == ("rejected", [("violated", "counted: 5 values wrap")])
    assert told("select 2147483647 + 1 as m from {d}.small where a < 0") == harmless
    assert (
        told("select b from {d}.small union all select cast(99999999999L as int) from {d}.small where a < 0")
        == harmless
    )
    assert told("select b, cast(99999999999L as int) as m from {d}.small limit 0") == ("published", [])
    assert told("select a from {d}.small where exists (select b * a from {d}.large)") == ("published", [])
    guarded = "select case when b < 9 then cast(b * 10L as int) end as n from {d}.large"
    assert told(guarded) == harmless
    assert told("select case when a > 99 then 2147483647 + 1 end as m from {d}.small") == ("published", [])
    assert told("select b * a as n from {d}.large", allow=("PP136",))[0] == "published"
