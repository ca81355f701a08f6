"""Queries with two errors: Spark reports the one that it raises first. Answers of Spark 3.5.9 and 4.0.5."""

from __future__ import annotations

import pytest

from planproof_engine import AnalysisError, Catalog, plan
from planproof_engine.conf import Conf

OVER = Catalog(
    {
        "orders": [
            ("id", "bigint", True),
            ("status", "string", True),
            ("amount", "decimal(12,2)", True),
            ("is_gift", "boolean", True),
            ("placed", "timestamp", True),
            ("tags", "array<string>", True),
            ("props", "map<string,string>", True),
            ("address", "struct<street:string>", True),
        ],
        "payments": [("id", "bigint", True), ("paid", "decimal(12,2)", True)],
    }
)


def condition(sql: str, spark: str = "4.0") -> str:
    with pytest.raises(AnalysisError) as raised:
        plan(sql, OVER, conf=Conf.of(spark))
    return raised.value.condition


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select array(1, map('a', 1)), mode(id, amount) from orders", "NON_FOLDABLE_ARGUMENT"),
        ("select sum(amount) filter (where id) from orders where status + 1", "INVALID_AGGREGATE_FILTER.NOT_BOOLEAN"),
        ("select rand('a'), hash() from orders", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        ("select bround(amount, 'x'), hash() from orders", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        ("select 1 from orders join payments on nope group by row_number() over ()", "_LEGACY_ERROR_TEMP_1037"),
        ("select if(grouping(id, status), 1, 2) from orders", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        # A call of constants is resolved before one of a table's columns.
        ("select float(distinct id), hash() from orders", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        ("select abs(id, 1), percentile_cont(0.5, 1) from orders", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        (
            "select percentile_cont(0.5), is_gift from orders pivot (sum(amount) for nope in (1))",
            "INVALID_WITHIN_GROUP_EXPRESSION.WITHIN_GROUP_MISSING",
        ),
    ],
)  # fmt: skip
def test_what_a_rule_refuses_comes_before_what_check_analysis_refuses(sql: str, expected: str) -> None:
    assert condition(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select regexp_replace(status) from nope", "TABLE_OR_VIEW_NOT_FOUND"),
        ("select stddev() filter (where is_gift) from orders where tags = 1", "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES"),
        ("select nullif(coalesce(nope, 1)), * from orders", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("select base64(is_gift, status) from orders join payments on paid", "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE"),
    ],
)
def test_a_call_is_looked_at_where_its_arguments_are_known(sql: str, expected: str) -> None:
    assert condition(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select hex(id, 1), address.nope from orders", "FIELD_NOT_FOUND"),
        ("select instr(status) over (order by id), 1 from orders o join payments p", "AMBIGUOUS_REFERENCE"),
        ("select get_json_object(''), rank() over () from orders", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        ("select date_trunc(status), date'2024-13-01' from orders", "INVALID_TYPED_LITERAL"),
    ],
)
def test_names_come_before_functions_and_these_before_windows(sql: str, expected: str) -> None:
    assert condition(sql) == expected


@pytest.mark.parametrize("spark", ["3.5", "4.0"])
@pytest.mark.parametrize("item", ["interval 1 day > 1", "nope", "decimal(status, 1)"])
def test_a_join_s_aggregate_is_refused_before_the_items(item: str, spark: str) -> None:
    said = condition(f"select {item} from orders join payments on sum(amount) > 1", spark)
    rule = item.startswith("decimal")
    assert said == ("WRONG_NUM_ARGS.WITHOUT_SUGGESTION" if rule else "UNSUPPORTED_EXPR_FOR_OPERATOR")


def test_a_cte_that_nothing_reads_is_checked_first_and_knows_nothing_of_a_refused_one() -> None:
    bad = "with a as (select id from orders where tags = 1), b as (select id from a)"
    assert condition(f"{bad}, c as (select id from a) select * from c") == "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"
    assert condition(f"{bad} select 1") == "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES"
    unread = "with a as (select nope from orders) select distinct props from orders"
    assert condition(unread) == "UNRESOLVED_COLUMN.WITH_SUGGESTION"


@pytest.mark.parametrize("spark", ["3.5", "4.0", "4.3"])
@pytest.mark.parametrize("operator", ["union", "intersect", "except"])
def test_rows_are_compared_by_the_type_that_both_sides_have(operator: str, spark: str) -> None:
    sql = f"select null as m {operator} select map('a', 1)"
    assert condition(sql, spark) == "UNSUPPORTED_FEATURE.SET_OPERATION_ON_MAP_TYPE"


@pytest.mark.parametrize("spark", ["3.5", "4.0"])
def test_a_star_cannot_expand_the_column_of_a_time_window(spark: str) -> None:
    assert (
        condition("select window.* from orders group by window(placed, '1 hour')", spark)
        == "CANNOT_RESOLVE_STAR_EXPAND"
    )
    bad = "select window.start from orders group by window(placed, '1 hour', '2 hours')"
    assert condition(bad, spark) == "UNRESOLVED_COLUMN.WITH_SUGGESTION"


def test_a_parameter_before_spark_4_1_is_a_literal_and_keeps_its_alias() -> None:
    shown = plan("execute immediate 'select array(:x, :y)' using null as x, 1 as y", OVER, conf=Conf.of("4.0")).schema
    assert shown.names == ("array(NULL AS x, 1 AS y)",)
    computed = "execute immediate 'select concat(:x, :y)' using 1 as x, cast(1 as bigint) as y"
    assert condition(computed) == "INVALID_SQL_ARG"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select * from r", "INVALID_USAGE_OF_STAR_OR_REGEX"),
        ("select count(*) from r", "INTERNAL_ERROR"),
        ("select 1 from (select n from r) x", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
    ],
)
def test_of_a_recursive_step_with_another_number_of_columns_nothing_is_known(sql: str, expected: str) -> None:
    assert condition(f"with recursive r(n) as (select 1 union all select n, 2 from r) {sql}", "4.3") == expected


def test_a_generator_of_constants_is_taken_out_before_names_beside_a_star_of_a_table() -> None:
    assert condition("select *, explode(array(1)) as id, id + 1 from orders", "4.3") == "AMBIGUOUS_REFERENCE"
    plan("select explode(array(1)) as id, id + 1 from orders", OVER, conf=Conf.of("4.3"))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select 1 from (select id from orders) x(a, b)", "AMBIGUOUS_REFERENCE"),
        ("select upper('a', 1) from orders", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        ("select 1 from payments where rank() over (order by 1) = 1", "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE"),
    ],
)
def test_of_two_queries_the_one_whose_rule_runs_first_is_told(sql: str, expected: str) -> None:
    assert condition(f"with q as ({sql}) select id from orders o join payments p on o.id = p.id", "4.3") == expected


@pytest.mark.parametrize("spark", ["4.0", "4.3"])
def test_having_names_a_rank_over_grouping_sets_but_no_aggregate_of_a_window(spark: str) -> None:
    ranked = "select status, rank() over (order by sum(id)) as n from orders group by {} having n > 1"
    assert plan(ranked.format("rollup(status)"), OVER, conf=Conf.of(spark)).schema.names == ("status", "n")
    assert condition(ranked.format("status"), spark) == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    summed = "select status, sum(sum(id)) over () as n from orders group by rollup(status) having n > 1"
    assert condition(summed, spark) == "MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT"
