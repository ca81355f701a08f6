"""Casts that lose a value that was there (PP126, PP138): what real Spark makes of it, and what a publish says."""

from __future__ import annotations

from typing import Any

import pytest

from planproof import Contract, Guard, Model, Report, Settings
from planproof_engine.hazards.loss import find_lost
from planproof_engine.types import parse_type

TABLE = [
    # value, of type, cast to, lost
    ("'12'", "string", "int", False),
    ("' 12 '", "string", "int", False),
    ("'1.5'", "string", "int", False),
    ("''", "string", "int", False),
    ("'  '", "string", "date", False),
    ("'n/a'", "string", "int", True),
    ("'1e3'", "string", "int", True),
    ("'1e3'", "string", "double", False),
    ("'300'", "string", "tinyint", True),
    ("'99999999999'", "string", "int", True),
    ("'x'", "string", "double", True),
    ("'NaN'", "string", "double", False),
    ("'123.45'", "string", "decimal(4,2)", True),
    ("'12.345'", "string", "decimal(4,2)", False),
    ("'yes'", "string", "boolean", False),
    ("'maybe'", "string", "boolean", True),
    ("'2020-02-30'", "string", "date", True),
    ("'2020-02-28'", "string", "date", False),
    ("'2020-02-28 25:00:00'", "string", "timestamp", True),
    ("'2020-02-28T10:00:00Z'", "string", "timestamp", False),
    ("'01/02/2020'", "string", "timestamp_ntz", True),
    ("'x'", "string", "binary", False),
    ("300", "int", "tinyint", True),
    ("127", "int", "tinyint", False),
    ("-129S", "smallint", "tinyint", True),
    ("99999999999L", "bigint", "int", True),
    ("-2147483648L", "bigint", "int", False),
    ("2147483648L", "bigint", "int", True),
    ("99999999999L", "bigint", "double", False),
    ("123", "int", "decimal(4,2)", True),
    ("99", "int", "decimal(4,2)", False),
    ("1e10D", "double", "int", True),
    ("2147483647.9D", "double", "int", False),
    ("-2147483648.9D", "double", "int", False),
    ("-9223372036854775808D", "double", "bigint", False),
    ("9223372036854775808D", "double", "bigint", True),
    ("double('NaN')", "double", "int", True),
    ("double('NaN')", "double", "decimal(4,2)", False),
    ("double('Infinity')", "double", "decimal(4,2)", True),
    ("1e300D", "double", "float", True),
    ("1e30D", "double", "float", False),
    ("double('Infinity')", "double", "float", False),
    ("1.5D", "double", "int", False),
    ("123.4D", "double", "decimal(4,2)", True),
    ("float('1e20')", "float", "bigint", True),
    ("12.5BD", "decimal(20,1)", "int", False),
    ("99999999999.5BD", "decimal(20,1)", "int", True),
    ("-2147483648.5BD", "decimal(20,1)", "int", False),
    ("9999999999999999999BD", "decimal(38,0)", "bigint", True),
    ("12.345BD", "decimal(10,3)", "decimal(4,2)", False),
    ("99.995BD", "decimal(10,3)", "decimal(4,2)", True),
    ("123.4BD", "decimal(10,3)", "decimal(4,2)", True),
    ("123.4BD", "decimal(10,3)", "double", False),
    ("9223372036854L", "bigint", "timestamp", False),
    ("9223372036855L", "bigint", "timestamp", True),
    ("9223372036854775807L", "bigint", "timestamp", True),
    ("1e300D", "double", "timestamp", True),
    ("1.5D", "double", "timestamp", False),
    ("99999999999999999999999BD", "decimal(38,0)", "timestamp", True),
    ("timestamp'2050-01-01 00:00:00'", "timestamp", "int", True),
    ("timestamp'2020-01-01 00:00:00'", "timestamp", "int", False),
    ("timestamp'2050-01-01 00:00:00'", "timestamp", "bigint", False),
    ("timestamp'2050-01-01 00:00:00'", "timestamp", "date", False),
    ("date'2020-01-01'", "date", "int", True),
    ("date'2020-01-01'", "date", "timestamp", False),
    ("true", "boolean", "int", False),
    ("array('1', 'x', null)", "array<string>", "array<int>", True),
    ("array('1', null)", "array<string>", "array<int>", False),
    ("array(array(1L), array(99999999999L))", "array<array<bigint>>", "array<array<int>>", True),
    ("map('a', 'x')", "map<string,string>", "map<string,int>", True),
    ("map('a', '1')", "map<string,string>", "map<string,int>", False),
    ("named_struct('a b', 'x', 'c', 1)", "struct<`a b`:string,c:int>", "struct<a:int,c:int>", True),
    ("named_struct('a b', '1', 'c', 1)", "struct<`a b`:string,c:int>", "struct<a:int,c:int>", False),
]


def test_spark_loses_what_is_said_to_be_lost(spark: Any, ansi: Any) -> None:
    """Each pair of types, a value that is kept and one that is not: the condition, and what Spark shows of both."""
    ansi(False)
    asked = []
    for value, source, target, is_lost in TABLE:
        found = find_lost("x", parse_type(source), parse_type(target))
        assert found is not None or not is_lost, (source, target)
        condition = found.condition if found is not None else "false"
        shown = f"coalesce({condition}, false), string(cast(x as {target}))"
        asked.append(f"select {shown} from (select cast({value} as {source}) as x)")
    rows = spark.sql(" union all ".join(asked)).collect()
    assert [(case[:3], row[1]) for case, row in zip(TABLE, rows) if row[0] != case[3]] == []
    # What becomes NULL is lost, but for NaN and for texts of blanks.
    kept = [case[0] for case, row in zip(TABLE, rows) if row[1] is None and not case[3]]
    assert kept == ["''", "'  '", "double('NaN')"]
    asked = [
        f"select coalesce({found.condition}, false) from (select cast(null as {s}) as x)"
        for _, s, t, _ in TABLE
        if (found := find_lost("x", parse_type(s), parse_type(t))) is not None
    ]
    assert {row[0] for row in spark.sql(" union all ".join(asked)).collect()} == {False}


SETUP = (
    "create table {db}.texts using parquet as select * from values (1, '12', '2020-01-01', '1.5', 'a'), "
    "(2, 'n/a', 'soon', '1e400x', 'b'), (3, null, null, null, 'c'), (4, '', ' ', '', 'd') as t(id, n, day, price, k)",
    "create table {db}.clean using parquet as select * from values (1, '12', '2020-01-01', '1.5', 'a'), "
    "(2, '13', '2020-01-02', '2', 'b'), (3, null, null, null, 'c'), (4, '', ' ', '', 'd') as t(id, n, day, price, k)",
    "create table {db}.wide using parquet as select * from values "
    "(1, 99999999999L, 1e12D, 12345.678BD, 9223372036854775807L), (2, 5L, 5.5D, 1.25BD, 5L) as t(id, big, x, d, at)",
    "create table {db}.small using parquet as select * from values "
    "(1, 2147483647L, 1.5D, 12.678BD, 1700000000L, array('1', null)), "
    "(2, 5L, -5.5D, 1.25BD, null, null) as t(id, big, x, d, at, xs)",
)

LOSING = [
    ("int", "select cast(n as int) as v from {db}.texts"),
    ("int", "select int(n) as v from {db}.texts"),
    ("int", "with w as (select cast(n as int) as m from {db}.texts) select m as v from w"),
    ("int", "select v from (select cast(n as int) as v from {db}.texts union all select id from {db}.clean)"),
    ("int", "select cast(x as int) as v from (select 99999999999L as x)"),
    ("int", "with c as (select 99999999999L as x) select cast(x as int) as v from c"),
    ("int", "select cast(x as int) as v from values (1L), (99999999999L) as t(x)"),
    ("int", "select cast(x as int) as v from (select 1L as x union all select 99999999999L)"),
    ("int", "select cast(x as int) as v from (select 1L as x union all select big from {db}.wide)"),
    ("int", "select cast((select max(big) from {db}.wide) as int) as v"),
    ("int", "select cast(x as int) as v from {db}.wide"),
    ("bigint", "select cast(x * 1e9 as bigint) as v from {db}.wide"),
    ("int", "select cast(d * 1000000 as int) as v from {db}.wide"),
    ("decimal(5,2)", "select cast(d as decimal(5,2)) as v from {db}.wide"),
    ("decimal(5,2)", "select cast(sum(d) as decimal(5,2)) as v from {db}.wide group by id"),
    ("date", "select cast(day as date) as v from {db}.texts"),
    ("timestamp", "select cast(day as timestamp) as v from {db}.texts"),
    ("timestamp", "select cast(at as timestamp) as v from {db}.wide"),
    ("double", "select cast(price as double) as v from {db}.texts"),
    ("double", "select cast(price as double) * 100 as v from {db}.texts"),
    ("int", "select cast(sum(big) as int) as v from {db}.wide group by id"),
    ("int", "select id as k, cast(sum(big) as int) as v from {db}.wide group by 1 having k > 0"),
    ("int", "select cast(sum(x) as int) as v from values (1, 1L), (2, 9999999999L) as t(i, x) group by i"),
    ("int", "select cast(sum(big) over (partition by id) as int) as v from {db}.wide"),
    ("int", "select sum(cast(n as int)) as v from {db}.texts"),
    ("int", "select case when id < 3 then cast(n as int) end as v from {db}.texts"),
    ("int", "select if(k = 'b', cast(n as int), 0) as v from {db}.texts"),
    ("int", "select coalesce(cast(n as int), 0) as v from {db}.texts"),
    ("int", "select m as v from (select n as a, cast(a as int) as m from {db}.texts)"),
    ("array<int>", "select cast(array(n) as array<int>) as v from {db}.texts"),
    ("array<int>", "select transform(array(n), x -> cast(x as int)) as v from {db}.texts"),
    ("int", "select cast(avg(big) as int) as v from {db}.wide"),
    ("int", "select distinct cast(n as int) as v from {db}.texts"),
    ("int", "select cast(n as int) as v from {db}.texts group by 1"),
    ("int", "with p as (select id, cast(n as int) as v from {db}.texts) select v from p where id < 4"),
    ("tinyint", "select cast(length(repeat(k, 300)) as tinyint) as v from {db}.texts"),
    ("smallint", "select cast(year(cast('2020-01-01' as date)) * 100 as smallint) as v from {db}.clean"),
    ("int", "select max(v) as v from (select id, cast(n as int) as v from {db}.texts) where id < 3"),
    ("decimal(4,2)", "select max(cast(s as decimal(4,2))) as v from values ('99.99'), ('123.45') as t(s) having v > 1"),
    ("int", "select min(v) as v from (select cast(big as int) as v from {db}.wide)"),
    ("int", "select cast(big as int) as v from {db}.wide order by id limit 1"),
    ("array<int>", "select transform(array(n, k), (x, i) -> if(i = 0, cast(x as int), 0)) as v from {db}.texts"),
    ("array<int>", "select zip_with(array(k), array(n), (`a b`, y) -> int(y)) as v from {db}.texts"),
    ("map<string,int>", "select transform_values(map(k, n), (k, s) -> cast(s as int)) as v from {db}.texts"),
    ("map<string,int>", "select map_zip_with(map(k, n), map(k, id), (k, s, i) -> int(s) + i) as v from {db}.texts"),
    ("int", "select aggregate(array(n, '1'), 0, (sum, x) -> sum + coalesce(cast(x as int), 0)) as v from {db}.texts"),
    ("array<int>", "select filter(transform(array(n), x -> int(x)), y -> y is null or y > 3) as v from {db}.texts"),
    ("array<int>", "select filter(transform(array(n), id -> int(id)), y -> y is null and id = 2) as v from {db}.texts"),
    ("int", "select reduce(array(big), 0L, (`a b`, x) -> `a b` + x, a -> cast(a as int)) as v from {db}.wide"),
    (
        "array<array<int>>",
        "select transform(array(array(n)), (xs, i) -> transform(xs, (x, j) -> int(x) + i + j)) as v from {db}.texts",
    ),
]

HEALTHY = [
    ("int", "select cast(n as int) as v from {db}.clean"),
    ("date", "select cast(day as date) as v from {db}.clean"),
    ("timestamp", "select cast(day as timestamp) as v from {db}.clean"),
    ("decimal(10,2)", "select cast(price as decimal(10,2)) as v from {db}.clean"),
    ("double", "select cast(price as double) as v from {db}.clean"),
    ("int", "select try_cast(n as int) as v from {db}.texts"),
    ("date", "select try_cast(day as date) as v from {db}.texts"),
    ("int", "select try_cast(x as int) as v from {db}.wide"),
    ("int", "select cast(nullif(n, 'n/a') as int) as v from {db}.texts"),
    ("int", "select cast(n as int) as v from {db}.texts where n <> 'n/a'"),
    ("int", "select cast(n as int) as v from {db}.texts where id <> 2"),
    ("int", "select case when n rlike '^[0-9]+$' then cast(n as int) end as v from {db}.texts"),
    ("int", "select case when n = 'n/a' then null else cast(n as int) end as v from {db}.texts"),
    ("int", "select case id when 2 then 0 else cast(n as int) end as v from {db}.texts"),
    ("int", "select if(n = 'n/a', null, cast(n as int)) as v from {db}.texts"),
    ("date", "select coalesce(cast(day as date), date_add(date'2020-01-01', id)) as v from {db}.texts"),
    ("int", "select coalesce(cast(n as int), id) as v from {db}.texts"),
    ("int", "select nvl(cast(n as int), id) as v from {db}.texts"),
    ("string", "select case when cast(n as int) is null then 'bad' else 'good' end as v from {db}.texts"),
    ("boolean", "select cast(n as int) is not null as v from {db}.texts"),
    ("int", "select id as v from {db}.texts where cast(n as int) > 3"),
    ("int", "select v from (select cast(n as int) as v from {db}.texts) where v is not null"),
    ("int", "with p as (select id, cast(n as int) as v from {db}.texts) select v from p where id <> 2"),
    ("int", "select v from (select id, cast(n as int) as v from {db}.texts) where id in (1, 3)"),
    (
        "date",
        "select p.v from (select id, cast(day as date) as v from {db}.texts) p "
        "left anti join (select 2 as id) b on b.id = p.id",
    ),
    ("array<int>", "select transform(array(n), x -> try_cast(x as int)) as v from {db}.texts"),
    ("int", "select id as v from (select id, cast(n as int) as unread from {db}.texts)"),
    ("int", "select id as v from {db}.texts order by cast(n as int)"),
    ("bigint", "select count(cast(n as int)) as v from {db}.clean"),
    ("int", "select cast(big as int) as v from {db}.small"),
    ("int", "select cast(x as int) as v from {db}.small"),
    ("bigint", "select cast(x as bigint) as v from {db}.wide"),
    ("int", "select cast(d as int) as v from {db}.wide"),
    ("decimal(5,2)", "select cast(d as decimal(5,2)) as v from {db}.small"),
    ("decimal(6,1)", "select cast(d as decimal(6,1)) as v from {db}.wide"),
    ("decimal(5,2)", "select cast(sum(d) as decimal(5,2)) as v from {db}.small group by id"),
    ("int", "select cast(sum(big) as int) as v from {db}.small group by id"),
    ("int", "select cast(max(big) over (partition by id) as int) as v from {db}.small"),
    ("timestamp", "select cast(at as timestamp) as v from {db}.small"),
    ("array<int>", "select cast(xs as array<int>) as v from {db}.small"),
    ("string", "select cast(big as string) as v from {db}.wide"),
    ("double", "select cast(big as double) as v from {db}.wide"),
    ("decimal(20,0)", "select cast(big as decimal(20,0)) as v from {db}.wide"),
    ("date", "select cast(timestamp_seconds(id) as date) as v from {db}.wide"),
    ("decimal(10,2)", "select cast(0 as decimal(10,2)) as v from {db}.wide"),
    ("date", "select cast('2020-01-01' as date) as v from {db}.wide"),
    ("int", "select cast(null as int) as v from {db}.wide"),
    ("int", "select cast(count(*) as int) as v from {db}.wide"),
    ("int", "select cast(x as int) as v from (select 5L as x)"),
    ("int", "select cast(x as int) as v from values (1L), (2L) as t(x)"),
    ("tinyint", "select cast(month(timestamp_seconds(id)) as tinyint) as v from {db}.wide"),
    ("int", "select cast(n as int) as v from {db}.texts where false"),
    ("boolean", "select cast(id as boolean) as v from {db}.texts"),
    ("int", "select cast(cast(n as double) as int) as v from {db}.clean"),
    ("int", "select v from (select id, cast(big as int) as v from {db}.wide) where id <> 1"),
    ("int", "select cast(big as int) as v from {db}.wide order by id desc limit 1"),
    ("int", "select max(v) as v from (select id, cast(n as int) as v from {db}.texts) where id <> 2"),
    ("bigint", "select v from (select id, at * 2 as v from {db}.wide) where id = 2"),
    ("array<int>", "select v from (select id, transform(array(big), e -> int(e)) as v from {db}.wide) where id = 2"),
    ("array<int>", "select transform(array(n, k), (x, i) -> if(i = 9, cast(x as int), 0)) as v from {db}.texts"),
    ("array<int>", "select zip_with(array(k), array(n), (x, y) -> int(y)) as v from {db}.clean"),
    ("map<string,int>", "select transform_values(map(k, n), (k, s) -> cast(s as int)) as v from {db}.clean"),
    ("int", "select aggregate(array(big), 0, (sum, x) -> sum + cast(x as int)) as v from {db}.small"),
    ("int", "select reduce(array(big), 0L, (sum, x) -> sum + x, sum -> cast(sum as int)) as v from {db}.small"),
    ("array<string>", "select filter(array(n), (x, i) -> cast(x as int) > i) as v from {db}.texts"),
    ("map<string,string>", "select map_filter(map(k, n), (k, s) -> cast(s as int) > 1) as v from {db}.texts"),
    ("int", "select element_at(transform(array(big, 5L), e -> int(e)), 2) as v from {db}.wide"),
    ("array<int>", "select filter(transform(array(n), x -> cast(x as int)), y -> y is not null) as v from {db}.texts"),
    ("array<int>", "select array_compact(transform(array(n, k), (x, i) -> int(x) + i)) as v from {db}.texts"),
    (
        "array<struct<a:int>>",
        "select v from (select id, filter(transform(array(n), x -> struct(int(x) as a)), s -> s.a > 0) as v "
        "from {db}.texts)",
    ),
]


IN_SUBQUERIES = [
    (True, "(select max(cast(t.n as int)) from {db}.texts t where t.id = w.id) as v from {db}.clean w"),
    (False, "(select max(cast(t.n as int)) from {db}.texts t where t.id = w.id) as v from {db}.clean w where id > 2"),
    (True, "(select cast(max(t.n) as int) from {db}.texts t where t.id = w.id) as v from {db}.clean w"),
    (False, "if(id = 1, (select max(cast(n as int)) from {db}.texts t where t.id = w.id), 0) as v from {db}.clean w"),
    (True, "l.v from {db}.texts t, lateral (select cast(t.n as int) as v) l"),
    (False, "l.v from {db}.texts t, lateral (select cast(t.n as int) as v) l where t.id <> 2"),
    (False, "v from (select l.v from {db}.texts t, lateral (select cast(t.n as int) as v) l) where v is not null"),
    (False, "v from (select (select cast(max(t.n) as int) from {db}.texts t where t.id = w.id) as v, id "
            "from {db}.clean w) where id <> 2"),
    (True, "l.v from {db}.clean c left join lateral (select cast(max(t.n) as int) as v from {db}.texts t "
           "where t.id = c.id) l on true"),
]  # fmt: skip
"""Casts in subqueries that use the query around them, and whether a value is lost in its rows."""


@pytest.fixture
def publish(spark: Any, database: str, ansi: Any) -> Any:
    for statement in SETUP:
        spark.sql(statement.format(db=database))
    ansi(False)

    def published(kind: str | None, sql: str, materialized: str = "table", **settings: Any) -> Report:
        contract = Contract([("v", kind, True)] + [("k", "int", True)] * (" as k" in sql)) if kind else None
        text = sql.format(db=database)
        if " as k" in sql:
            text = f"select v, k from ({text})"
        model = Model(f"{database}.m_{materialized}", text, contract=contract, materialized=materialized)
        return Guard(spark, settings=Settings(**settings)).publish(model)

    return published


def of_casts(report: Report) -> list[str]:
    return [f.verdict.value for f in report.findings if f.code in ("PP126", "PP138")]


EXTENT = [pytest.param(7, id="seventh"), pytest.param(1, id="all", marks=pytest.mark.conformance)]
"""Each seventh case in a run of the tests, all of them in a sweep."""


@pytest.mark.parametrize("every", EXTENT)
def test_a_value_that_is_lost_in_a_promised_column_stops_the_publish(publish: Any, spark: Any, every: int) -> None:
    """And the report's query shows the rows."""
    wrong = {}
    for kind, sql in LOSING[::every]:
        kind = "bigint" if "sum(cast" in sql else kind
        report = publish(kind, sql)
        if report.outcome != "rejected" or "violated" not in of_casts(report):
            wrong[sql] = (report.outcome, [str(f) for f in report.findings])
        for rows in report.details.broken or ():
            assert spark.sql(rows.query).count() >= 1, (sql, rows.query)
    assert wrong == {}


@pytest.mark.parametrize("every", EXTENT)
def test_nothing_is_said_where_no_value_is_lost(publish: Any, every: int) -> None:
    wrong = {}
    for kind, sql in HEALTHY[::every]:
        report = publish(kind, sql)
        if report.outcome != "published" or set(of_casts(report)) - {"proved"}:
            wrong[sql] = (report.outcome, [str(f) for f in report.findings])
    assert wrong == {}


@pytest.mark.parametrize("every", EXTENT)
def test_a_cast_in_a_subquery_is_counted_for_the_rows_around_it(publish: Any, spark: Any, every: int) -> None:
    wrong = {}
    for loses, sql in IN_SUBQUERIES[::every]:
        report = publish("int", f"select {sql}")
        said = ("rejected", "violated") if loses else ("published", "proved")
        if (report.outcome, *of_casts(report)) != said:
            wrong[sql] = (report.outcome, [str(f) for f in report.findings])
        for rows in report.details.broken or ():
            assert spark.sql(rows.query).count() >= 1, (sql, rows.query)
    assert wrong == {}


@pytest.mark.needs_spark("4.0", "a LIMIT in a correlated subquery")
def test_a_cast_in_a_subquery_that_cannot_be_counted_is_unproved(publish: Any) -> None:
    limited = "(select cast(t.n as int) from {db}.texts t where t.id = w.id order by 1 limit 1)"
    report = publish("int", f"select {limited} as v from {{db}}.clean w where w.id in (1, 3)")
    assert (report.outcome, of_casts(report)) == ("published", ["unproved"])


def test_a_view_is_counted_too(publish: Any) -> None:
    assert publish("int", LOSING[0][1], "view").outcome == "rejected"
    assert publish("int", HEALTHY[0][1], "view").outcome == "published"


def test_overflow_says_how_far_to_go(publish: Any) -> None:
    sql = LOSING[0][1]
    for settings in ({"overflow": "off"}, {"allow": ("PP138",)}):
        assert of_casts(publish("int", sql, **settings)) == []
    assert publish("int", sql, overflow="warn").outcome == "published"
    assert of_casts(publish("int", sql, overflow="warn")) == ["warning"]
    assert of_casts(publish(None, sql)) == []
    report = publish(None, sql, overflow="count")
    assert (of_casts(report), report.outcome) == (["warning"], "published")


def test_files_without_a_null_spare_the_count(publish: Any) -> None:
    report = publish("int", "select cast(n as int) as v from {db}.clean where id < 3")
    (finding,) = (f for f in report.findings if f.code == "PP138")
    assert "v has no NULL" in (finding.evidence or "")
