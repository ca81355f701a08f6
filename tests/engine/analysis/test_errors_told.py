"""Which error of a query is told: what a rule of Spark raises comes before what `CheckAnalysis` says. Answers of Spark
3.5.9, 4.0.5 and 4.3.0."""

from __future__ import annotations

import pytest

from planproof_engine import AnalysisError, plan
from planproof_engine.analysis.script.setup import apply
from planproof_engine.conf import Conf
from planproof_engine.records import evolve

SPARKS = ("3.5", "4.0", "4.3")
TABLES = (
    "CREATE TABLE orders (id BIGINT, status STRING, day DATE, gift BOOLEAN, tags ARRAY<STRING>) USING parquet",
    "CREATE TABLE cust (id INT, name STRING, vip BOOLEAN, score DOUBLE) USING parquet",
    "CREATE TABLE items (order_id BIGINT, sku STRING, qty SMALLINT) USING parquet",
    "CREATE TEMP VIEW sure AS SELECT * FROM VALUES (1, 'a', 1.5, true, array(1,2)), (2, 'b', 2.5, false, array(3)) "
    "AS t(k, s, d, f, arr)",
    "CREATE TEMP VIEW mix AS SELECT * FROM VALUES (1, 'x', DATE'2020-01-01'), (NULL, 'y', NULL) AS t(k, name, day)",
)
OVER = {spark: apply(TABLES, {}, Conf.of(spark)) for spark in SPARKS}


def condition(sql: str, spark: str) -> str:
    """The condition of the error that is told; empty where there is none."""
    try:
        plan(sql, environment=evolve(OVER[spark], text=sql))
    except AnalysisError as error:
        return error.condition
    return ""


@pytest.mark.parametrize("spark", SPARKS)
@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("select (select 1 from sure lateral view explode(NULL) e as el)", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"),
        ("select * from nope(x)", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
        ("select * from nope(upper(1,2))", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        (
            "select * from nope(range(3))",
            {"3.5": "UNRESOLVED_ROUTINE", "4.0": "UNRESOLVED_ROUTINE", "4.3": "NOT_A_SCALAR_FUNCTION"},
        ),
        ("select sum(k) from sure group by rank() over (order by k)", "UNSUPPORTED_EXPR_FOR_OPERATOR"),
        ("select to_char(k,'xx'), lower('a','b') from sure", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        ("select cast(1)", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        ("select cast(nope)", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
        ("select * from values (explode(1)) as t(a)", "UNSUPPORTED_GENERATOR.OUTSIDE_SELECT"),
        ("select 'a':b", {"3.5": "PARSE_SYNTAX_ERROR", "4.0": "PARSE_SYNTAX_ERROR", "4.3": "UNBOUND_SQL_PARAMETER"}),
        ("select * from explode(map(1, explode('b')))", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"),
        ("select explode(rank())", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"),
        ("select coalesce(date'2020-01-01', lag(k)) from sure", "DATATYPE_MISMATCH.DATA_DIFF_TYPES"),
        ("select from_json('{}', 'ts timestamp_ntz(3)')", "PARSE_SYNTAX_ERROR"),
        ("select xpath_string(explode(array('a')), 'x')", "UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS"),
        ("select from_csv('a', '$')", "PARSE_SYNTAX_ERROR"),
        (
            "select from_xml('a', '2020-01-01')",
            {"3.5": "UNRESOLVED_ROUTINE", "4.0": "PARSE_SYNTAX_ERROR", "4.3": "PARSE_SYNTAX_ERROR"},
        ),
        ("select * from (select 1 as x) q join (select 2 as p) p on q.a = p.a", "INVALID_EXTRACT_BASE_FIELD_TYPE"),
        ("select count(*) from sure where grouping(k)", "UNSUPPORTED_GROUPING_EXPRESSION"),
        ("select * from orders@", "PARSE_SYNTAX_ERROR"),
        ("select * from cust lateral view row_number() over () e as a", "PARSE_SYNTAX_ERROR"),
        ("select 1 from cust join items on explode_outer(id)", "UNSUPPORTED_GENERATOR.OUTSIDE_SELECT"),
        ("select stack(2, n, 'a', 1, 'z') from (select null as n)", "DATATYPE_MISMATCH.STACK_COLUMN_DIFF_TYPES"),
        ("select -7 as g0, count(*) from sure where s group by -7", "GROUP_BY_POS_OUT_OF_RANGE"),
        (
            "select listagg(distinct s, ',') within group (order by k), upper(1,2) from sure",
            {
                "3.5": "PARSE_SYNTAX_ERROR",
                "4.0": "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
                "4.3": "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
            },
        ),
        ("select posexplode(array(1)) as k from (select distinct map('a',1))", "UDTF_ALIAS_NUMBER_MISMATCH"),
    ],
)
def test_spark_tells_this_one(sql: str, told: str | dict[str, str], spark: str) -> None:
    assert condition(sql, spark) == (told if isinstance(told, str) else told[spark])


@pytest.mark.parametrize(
    ("sql", "spark", "told"),
    [
        ("select interval 2 hours from table(range(3))", "4.0", "UNRESOLVED_ROUTINE"),
        ("select count(*) from (select * from count(*) order by 1 desc) q", "4.0", "INVALID_USAGE_OF_STAR_OR_REGEX"),
        ("select schema_of_json(cast(null as string)) as r", "4.0", "DATATYPE_MISMATCH.UNEXPECTED_NULL"),
        ("select * from explode( * )", "3.5", "INVALID_USAGE_OF_STAR_OR_REGEX"),
        ("select array_agg(k) from sure order by b, 2", "3.5", "ORDER_BY_POS_OUT_OF_RANGE"),
        ("select named_struct(cast(null as string), 1)", "3.5", "DATATYPE_MISMATCH.UNEXPECTED_NULL"),
        (
            "select row_number() over (partition by 100L), posexplode(map_values(map_zip_with(map('a', 1), map('a', 1),"
            " (k, a, b) -> a + b))) as total1, X'AB' k2, map('a', 1) n3 from mix",
            "3.5",
            "_LEGACY_ERROR_TEMP_1037",
        ),
        ("select 1 where 1 group by -7", "4.3", "GROUP_BY_POS_OUT_OF_RANGE"),
        (
            "with cte0 as (select map('a', 1) as b10, 1.5 as a11 from mix o where 0.01), cte1 as (select * except "
            "(status), months_between(day) as id0 from orders) select * from cust",
            "4.0",
            "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
        ),
    ],
)
def test_this_spark_tells_this_one(sql: str, spark: str, told: str) -> None:
    assert condition(sql, spark) == told


@pytest.mark.parametrize(
    "sql",
    [
        "select stack(2, 1, 2) as a from sure having a is not null",
        "select count(*) as c, explode(arr) as a from sure group by arr having a > c",
        "select k, posexplode(arr) as (p, a) from sure group by k, arr having p > 0 and k > 1",
    ],
)
def test_having_names_what_a_generator_makes(sql: str) -> None:
    """Since Spark 4.1; before, it is an internal error, for which another refusal is told here."""
    assert condition(sql, "4.3") == ""
    assert {bool(condition(sql, spark)) for spark in ("3.5", "4.0")} == {True}
    unknown = "select k, explode(arr) as a from sure group by k, arr having b > 1"
    assert {condition(unknown, spark) for spark in SPARKS} == {"UNRESOLVED_COLUMN.WITH_SUGGESTION"}


@pytest.mark.parametrize(
    ("item", "base"),
    [("user['a']", "current_user()"), ("(upper('x')).a", "upper(x)"), ("arr[0].a", "arr[0]"), ("k.a", "k")],
)
def test_what_has_no_parts_is_named_as_spark_names_it(item: str, base: str) -> None:
    text = f"select {item} from sure"
    with pytest.raises(AnalysisError) as caught:
        plan(text, environment=evolve(OVER["4.3"], text=text))
    said = f'Can\'t extract a value from "{base}". Need a complex type [STRUCT, ARRAY, MAP] but got '
    assert caught.value.message.startswith(said)
