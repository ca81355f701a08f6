"""What Spark 3.5.9, 4.0.5, 4.1.4, 4.2.1 and 4.3.0 answered alike, and since when they answer otherwise."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from planproof import Catalog, Conf, Unknown, plan
from planproof_engine.conf import SPARKS
from planproof_engine.origin import AnalysisError

CATALOG = Catalog(
    {
        "t": [
            ("a", "int", True),
            ("b", "string", True),
            ("d", "decimal(9,2)", True),
            ("xs", "array<int>", True),
            ("m", "map<string,int>", True),
        ]
    }
)
UNRESOLVED = "UNRESOLVED_COLUMN.WITH_SUGGESTION"
UNORDERED = "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE"


def refused(query: str, spark: str, ansi: bool = True) -> str:
    """The condition by which the query is refused; empty where it is not."""
    try:
        plan(query, CATALOG, conf=replace(Conf.of(spark), ansi=ansi))
    except AnalysisError as error:
        return error.condition
    return ""


def names(query: str, spark: str) -> tuple[str, ...]:
    return plan(query, CATALOG, conf=Conf.of(spark)).schema.names


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("select a as from t", "as"),
        ("select (a + 1) as from t where a > 1", "as"),
        ("select a as, b from t", "as"),
        ("select a as from from t", "from"),
        ("select a as where from t", "where"),
        ("select a as limit from t", "limit"),
        ("select 1 as limit 1", "as"),
        ("select * from (select 1 as) s", "as"),
    ],
)
@pytest.mark.parametrize("spark", ["3.5", "4.3"])
def test_as_is_a_name_where_no_other_follows(query: str, name: str, spark: str) -> None:
    assert names(query, spark)[0] == name


@pytest.mark.parametrize("query", ["select as.a from t as", "select as.a from t as where b = 'x'"])
def test_a_relation_may_be_called_as(query: str) -> None:
    assert names(query, "3.5") == names(query, "4.3") == ("a",)


@pytest.mark.parametrize(
    ("sample", "condition"),
    [
        ("bucket 1 out of 4", ""),
        ("bucket 0 out of 4", ""),
        ("bucket 1 out of 0", "INVALID_TABLESAMPLE_FRACTION"),
        ("bucket 0 out of 0", "INVALID_TABLESAMPLE_FRACTION"),
        ("bucket 5 out of 4", "INVALID_TABLESAMPLE_FRACTION"),
        ("bucket 1 out of 4 on a", "_LEGACY_ERROR_TEMP_0015"),
        ("bucket -1 out of 4", "PARSE_SYNTAX_ERROR"),
        ("bucket 1.0 out of 4", "PARSE_SYNTAX_ERROR"),
    ],
)
def test_a_sample_of_buckets(sample: str, condition: str) -> None:
    query = f"select 1 from t tablesample ({sample})"
    assert refused(query, "4.3") == condition
    assert refused(query, "4.2") == condition.replace("INVALID_TABLESAMPLE_FRACTION", "_LEGACY_ERROR_TEMP_0064")


@pytest.mark.parametrize("call", ["array_distinct({0})", "array_union({0}, {0})", "arrays_overlap({0}, {0})"])
@pytest.mark.parametrize(("item", "condition"), [("m", UNORDERED), ("make_interval(1)", UNORDERED), ("b", "")])
def test_functions_of_sets_compare_items(call: str, item: str, condition: str) -> None:
    query = f"select {call.format(f'array({item})')} from t"
    assert {refused(query, spark) for spark in SPARKS} == {condition}


def test_the_schema_of_builtin_functions_is_named_since_4_2() -> None:
    for spark in SPARKS:
        new = spark in ("4.2", "4.3")
        assert refused("select builtin.upper('a')", spark) == ("" if new else "UNRESOLVED_ROUTINE")
        assert refused("select system.builtin.upper('a')", spark) == ("" if new else "REQUIRES_SINGLE_PART_NAMESPACE")
        assert refused("select system.session.upper('a')", spark) == "REQUIRES_SINGLE_PART_NAMESPACE"
        assert refused("select spark_catalog.default.upper('a')", spark) == "UNRESOLVED_ROUTINE"


@pytest.mark.parametrize("query", ["select upper(), nosuch from t", "select upper() from nosuch"])
def test_arguments_are_counted_before_names_are_looked_up(query: str) -> None:
    assert {refused(query, spark) for spark in SPARKS} == {"WRONG_NUM_ARGS.WITHOUT_SUGGESTION"}


@pytest.mark.parametrize(
    ("having", "condition"),
    [
        ("select b, count(*) from t group by cube (b, a) having grouping(b) = 0", ""),
        ("select b, count(*) from t group by cube (b, a) having grouping_id() = 0", ""),
        ("select b, count(*) from t group by cube (b, a) having a is null", ""),
        ("select b, count(*) from t group by cube (b, a) having grouping(a) = 0", UNRESOLVED),
        ("select b, count(*) from t group by cube (b, a) having grouping_id(b, a) = 0", UNRESOLVED),
        ("select b as c, count(*) from t group by rollup (b) having grouping(b) = 0", UNRESOLVED),
    ],
)
def test_grouping_in_having_takes_what_is_shown(having: str, condition: str) -> None:
    assert {refused(having, spark) for spark in SPARKS} == {condition}


def test_grouping_in_order_by_takes_what_is_shown_before_4_2() -> None:
    query = "select b, count(*) from t group by cube (b, a) order by grouping(a)"
    assert [refused(query, spark) for spark in SPARKS] == [*[UNRESOLVED] * 3, "", ""]


def test_a_generator_is_no_grouping_expression() -> None:
    for spark in SPARKS:
        assert refused("select count(*) from t group by explode(xs)", spark) == "UNSUPPORTED_EXPR_FOR_OPERATOR"
        with pytest.raises(Unknown):
            refused("select row_number() over (order by explode(xs)) from t", spark)
        nested = refused("select sum(1) over (order by explode(xs) + 1) from t", spark)
        assert nested.startswith(("UNSUPPORTED_GENERATOR.NESTED", "DATATYPE_MISMATCH"))


TIMES = "from (select timestamp'2020-01-01 00:00:00' as ts, timestamp_ntz'2020-01-01 00:00:00' as ntz)"


@pytest.mark.parametrize("cast", ["cast(ts as time)", "cast(ntz as time)", "try_cast(ntz as time)", "time(ts)"])
def test_timestamps_are_cast_to_times_of_day_since_4_3(cast: str) -> None:
    for spark in ("4.1", "4.2", "4.3"):
        conf = replace(Conf.of(spark), time_type=True)
        query = f"select {cast} as x {TIMES}"
        if spark == "4.3":
            assert plan(query, CATALOG, conf=conf).schema[0].type.simple == "time(6)"
            continue
        with pytest.raises(AnalysisError) as error:
            plan(query, CATALOG, conf=conf)
        assert error.value.condition == "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION"


SETS = "select {} from t group by {} {}"


@pytest.mark.parametrize(
    ("items", "groups", "order", "older", "newer"),
    [
        ("b", "rollup (b)", "order by b", "", ""),
        ("count(*)", "rollup (b)", "order by b", UNRESOLVED, ""),
        ("b as c", "cube (b)", "order by upper(b)", UNRESOLVED, ""),
        ("b as c", "cube (b)", "having b = 'x'", "", ""),
        ("upper(b) as c", "rollup (upper(b))", "order by c", "", ""),
        ("upper(b) as c", "rollup (upper(b))", "order by upper(b)", UNRESOLVED, UNRESOLVED),
        ("upper(b)", "rollup (upper(b))", "having upper(b) = 'x'", UNRESOLVED, UNRESOLVED),
        ("upper(b) as c, b", "rollup (upper(b), b)", "order by upper(b)", "", ""),
        ("b as c", "rollup (b)", "order by grouping(b)", UNRESOLVED, "GROUPING_COLUMN_MISMATCH"),
        ("b", "cube (b, a)", "having grouping(b) = 0 and a is null", UNRESOLVED, UNRESOLVED),
        ("struct(a as x)", "cube (struct(a as x))", "", "MISSING_AGGREGATION", ""),
        ("struct(a as x)", "struct(a as x)", "", "", ""),
        ("struct(a as x)", "struct(a as y)", "", "MISSING_AGGREGATION", "MISSING_AGGREGATION"),
        ("count(*)", "struct(*)", "", "INVALID_USAGE_OF_STAR_OR_REGEX", "INVALID_USAGE_OF_STAR_OR_REGEX"),
    ],
)
def test_what_grouping_sets_show(items: str, groups: str, order: str, older: str, newer: str) -> None:
    query = SETS.format(items, groups, order)
    assert [refused(query, spark) for spark in SPARKS] == [older] * 3 + [newer] * 2


def test_a_grouping_expression_with_a_name_inside_stands_once() -> None:
    query = SETS.format("struct(a as x) as s", "grouping sets (struct(a as x), (struct(a as x)))", "")
    assert not plan(query, CATALOG, conf=Conf.of("4.3")).schema[0].nullable


@pytest.mark.parametrize(
    ("items", "groups", "condition"),
    [
        ("explode(xs) as x, b, sum(a)", "1, 2", ""),
        ("b, explode(xs) as x, sum(a)", "1, 2", ""),
        ("b, explode(xs) as x, sum(a)", "all", ""),
        ("explode(array(1, 2)) as x, b, sum(a)", "1", ""),
        ("explode(array(1, 2)) as x, b, sum(a)", "2", "GROUP_BY_POS_AGGREGATE"),
        ("explode(xs) as x, b, sum(a)", "2", "MISSING_AGGREGATION"),
        ("posexplode(xs), b, sum(a)", "1, 2", ""),
    ],
)
def test_positions_count_what_generators_take(items: str, groups: str, condition: str) -> None:
    assert {refused(SETS.format(items, groups, ""), spark) for spark in SPARKS} == {condition}


@pytest.mark.parametrize("function", ["array_union", "array_intersect", "array_except", "arrays_overlap"])
@pytest.mark.parametrize(
    ("left", "right", "taken"),
    [
        ("array(a)", "array(2L)", True),
        ("array(a)", "array(2D, null)", True),
        ("array(cast(a as decimal(12,2)))", "array(a)", True),
        ("array(d)", "array(a)", False),
        ("array(d)", "array(1.5)", False),
        ("array(d)", "array(2D)", False),
        ("array(a)", "array(b)", False),
    ],
)
def test_decimals_of_two_arrays_do_not_meet(function: str, left: str, right: str, taken: bool) -> None:
    query = f"select {function}({left}, {right}) from t"
    condition = "" if taken else "DATATYPE_MISMATCH.BINARY_ARRAY_DIFF_TYPES"
    assert {refused(query, spark) for spark in SPARKS} == {condition}


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ("a, b", "'a', a, 'b', b"),
        ("a + 1, b", "'_0', (a + 1), 'b', b"),
        ("a, upper(b)", "'a', a, '_1', upper(b)"),
        ("1, 'x'", "'1', 1, 'x', x"),
        ("null, cast(a as string)", "'NULL', NULL, '_1', CAST(a AS STRING)"),
        ("a as x, upper(b) as y", "'x', a AS x, 'y', upper(b) AS y"),
    ],
)
def test_a_row_in_a_subquery_is_printed_with_names(values: str, shown: str) -> None:
    for spark, row in itertools.product(SPARKS, (f"({values})", f"struct({values})")):
        name = names(f"select {row} in (select a, b from t) from t", spark)[0]
        assert name == f"(named_struct({shown}) IN (listquery()))"
    packed = f"select struct({values}) in (select struct(a, b) from t) from t"
    assert refused(packed, "4.3") == "DATATYPE_MISMATCH.IN_SUBQUERY_LENGTH_MISMATCH"


@pytest.mark.parametrize("number", ["2147483648", "99999999999999999999"])
def test_a_number_that_is_no_int_is_no_position(number: str) -> None:
    for spark in SPARKS:
        assert refused(f"select {number}, count(*) from t group by {number} order by {number}", spark) == ""
    assert refused("select 1, count(*) from t group by 2147483647", "4.3") == "GROUP_BY_POS_OUT_OF_RANGE"


@pytest.mark.parametrize(
    ("clause", "condition"),
    [
        ("order by b", ""),
        ("limit 1 offset 1", ""),
        ("order by 1", ""),
        ("order by nosuch", UNRESOLVED),
        ("order by 2", "ORDER_BY_POS_OUT_OF_RANGE"),
        ("limit -1", "INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE"),
        ("offset -1", "INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE"),
        ("limit 'x'", "INVALID_LIMIT_LIKE_EXPRESSION.DATA_TYPE"),
    ],
)
def test_clauses_behind_a_pipe(clause: str, condition: str) -> None:
    assert refused(f"from t |> select b {clause}", "4.3") == condition
    assert refused(f"select * from (from t |> select b {clause})", "4.3") == condition


def test_what_a_pipe_has_left_behind_is_unknown_in_order_by() -> None:
    with pytest.raises(Unknown):
        refused("from t |> select b order by a", "4.3")


@pytest.mark.parametrize(("value", "refusal"), [("2, date'2020-01-01'", ""), ("2, null", "x"), ("'2', y", "x")])
def test_values_of_several_pivot_columns_are_no_null_for_what_has_none(value: str, refusal: str) -> None:
    source = "(select a as g, date'2020-01-01' as y, d as v from t)"
    query = f"select * from {source} pivot (sum(v) for (g, y) in (({value.replace('y', 'null')})))"
    expected = "PIVOT_VALUE_DATA_TYPE_MISMATCH" if refusal else ""
    assert {refused(query, spark) for spark in SPARKS} == {expected}


@pytest.mark.parametrize("condition", ["exists (select * from t)", "1 in (select a from t)"])
def test_what_makes_rows_takes_no_exists(condition: str) -> None:
    refusal = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_IN_EXISTS_SUBQUERY"
    for query in (
        f"select explode(if({condition}, xs, null)) from t",
        f"select x from t lateral view explode(if({condition}, xs, null)) s as x",
        f"select s.col from t, lateral explode(if({condition}, xs, null)) s",
    ):
        assert {refused(query, spark) for spark in SPARKS} == {refusal}
    assert refused("select explode(array((select max(a) from t)))", "4.3") == ""


def test_a_bare_null_filters_no_aggregate() -> None:
    for spark in SPARKS:
        condition = "_LEGACY_ERROR_TEMP_1025" if spark == "3.5" else "INVALID_AGGREGATE_FILTER.NOT_BOOLEAN"
        assert refused("select sum(a) filter (where null) from t", spark) == condition
        assert refused("select sum(a) filter (where not null) from t", spark) == ""
