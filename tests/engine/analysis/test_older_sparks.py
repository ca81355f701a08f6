"""What Spark 3.5.9, 4.0.5, 4.1.4, 4.2.1 and 4.3.0 answered: correlation, VALUES, literals side by side."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planproof import Catalog, Conf, plan
from planproof_engine.conf import SPARKS
from planproof_engine.origin import AnalysisError

CATALOG = Catalog({name: [("c1", "int", True), ("c2", "int", True)] for name in ("t1", "t2")})
UNEQUAL = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.CORRELATED_COLUMN_IS_NOT_ALLOWED_IN_PREDICATE"
INCOMPATIBLE = "INVALID_INLINE_TABLE.INCOMPATIBLE_TYPES_IN_INLINE_TABLE"


def refused(query: str, spark: str, ansi: bool = True) -> str:
    """The condition by which the query is refused; empty where it is not."""
    try:
        plan(query, CATALOG, conf=replace(Conf.of(spark), ansi=ansi))
    except AnalysisError as error:
        return error.condition
    return ""


@pytest.mark.parametrize(
    ("subquery", "condition"),
    [
        ("exists (select count(*) from t2 where t2.c1 < t1.c1)", UNEQUAL),
        ("exists (select c2, max(c1) from t2 where t2.c1 < t1.c1 group by c2)", UNEQUAL),
        ("exists (select 1 from t2 where t2.c1 < t1.c1 having count(*) > 1)", UNEQUAL),
        ("exists (select * from (select max(c2) m from t2 where t2.c1 < t1.c1) z)", UNEQUAL),
        ("exists (select sum(c2) from t2 where t2.c1 < t1.c1 and t2.c2 = t1.c2)", UNEQUAL),
        ("exists (select count(*) from t2 where t2.c1 + t1.c1 = 1)", UNEQUAL),
        ("exists (select count(*) from t2 where t2.c1 = t1.c1 or t2.c2 = t1.c2)", UNEQUAL),
        ("c1 in (select max(c2) from t2 where t2.c1 < t1.c1)", UNEQUAL),
        ("exists (select count(*) from t2 where t2.c1 = t1.c1 + 1)", ""),
        ("exists (select count(*) from t2 where cast(t2.c1 as bigint) <=> t1.c1)", ""),
        ("exists (select count(*) from t2 where t1.c1 < 3)", ""),
        ("exists (select distinct c2 from t2 where t2.c1 < t1.c1)", ""),
        ("c1 in (select c2 from t2 where t2.c1 < t1.c1)", ""),
        ("c1 = (select max(c2) from t2 where t2.c1 < t1.c1)", ""),
    ],
)
def test_unequal_correlation_below_an_aggregate(subquery: str, condition: str) -> None:
    for query in (f"select * from t1 where {subquery}", f"select {subquery} as x from t1"):
        assert refused(query, "3.5") == condition
        assert refused(query, "4.0") == refused(query, "4.3") == ""


@pytest.mark.parametrize(
    ("one", "other", "condition"),
    [
        ("1", "'a'", INCOMPATIBLE),
        ("'a'", "date'2020-01-01'", INCOMPATIBLE),
        ("array(1)", "array('a')", INCOMPATIBLE),
        ("named_struct('a', 1)", "named_struct('a', 'x')", INCOMPATIBLE),
        ("'a'", "null", ""),
        ("1", "1.5", ""),
        ("date'2020-01-01'", "timestamp'2020-01-01 00:00:00'", ""),
    ],
)
@pytest.mark.parametrize("ansi", [True, False])
def test_strings_beside_others_in_values(one: str, other: str, condition: str, ansi: bool) -> None:
    query = f"select * from values ({one}), ({other}) as t(v)"
    assert [refused(query, spark, ansi) for spark in SPARKS] == [condition] * len(SPARKS)


@pytest.mark.parametrize(("spark", "shown"), [("3.5", "its"), ("4.0", "its"), ("4.1", "it's"), ("4.3", "it's")])
def test_a_doubled_quote_is_two_literals_before_4_1(spark: str, shown: str) -> None:
    assert plan("select 'it''s'", CATALOG, conf=Conf.of(spark)).schema[0].name == shown


TIME_AS_JSON = '{"type":"struct","fields":[{"name":"t","type":"time(6)","nullable":true,"metadata":{}}]}'


@pytest.mark.parametrize(("schema", "since"), [("t TIME", "4.1"), (TIME_AS_JSON, "4.1"), ("v VARIANT", "4.0")])
def test_a_schema_text_with_a_type_that_a_spark_has_not(schema: str, since: str) -> None:
    for spark in ("3.5", "4.0", "4.3"):
        condition = "PARSE_SYNTAX_ERROR" if spark < since else ""
        assert refused(f"select from_json('{{}}', '{schema}')", spark) == condition


def shown(query: str, spark: str, ansi: bool = True) -> tuple[str, str]:
    """The name and the type of a query's only column."""
    (field,) = plan(query, CATALOG, conf=replace(Conf.of(spark), ansi=ansi)).schema
    return field.name, field.type.simple


def test_a_struct_takes_named_arguments_for_columns_without_a_name() -> None:
    for spark in SPARKS:
        packed = "struct(1, namedargumentexpression(2))", "struct<col1:int,col2:int>"
        assert shown("select struct(1, a => 2)", spark) == packed
        assert shown("select struct(a => 2).col1", spark)[1] == "int"
        assert refused("select namedargumentexpression(1)", spark) == "UNRESOLVED_ROUTINE"


def test_the_escape_character_of_like_in_names() -> None:
    query = "select 'a' like 'b' escape '/'"
    assert shown(query, "3.5")[0] == "a LIKE b"
    assert shown(query, "4.0")[0] == "a LIKE b ESCAPE '/'"


def test_days_in_a_frame_over_dates() -> None:
    query = "select count(*) over (order by date'2020-01-01' range between {} preceding and current row) from t1"
    days, months = query.format("interval 7 days"), query.format("interval 1 month")
    assert refused(days, "3.5", ansi=False) == "DATATYPE_MISMATCH.RANGE_FRAME_INVALID_TYPE"
    assert refused(days, "4.0", ansi=False) == refused(months, "3.5", ansi=False) == ""


def test_a_bare_null_is_no_condition() -> None:
    for spark in ("3.5", "4.0", "4.3"):
        assert refused("select c1 from t1 where null", spark) == "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"
        assert refused("select c1 from t1 having null", spark) == "MISSING_GROUP_BY"
    assert refused("select * from t1 join t2 on null", "4.3") == "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE"


def test_a_select_of_one_text_behind_in_is_read_as_a_literal() -> None:
    for spark in ("3.5", "4.0", "4.3"):
        assert refused("select c1 from t1 where 'a' in (select 'a')", spark) == "UNSUPPORTED_TYPED_LITERAL"
    for query in ("select 'a' as x", "select 'a' from t2", "select upper('a')"):
        assert refused(f"select c1 from t1 where 'a' in ({query})", "4.3") == ""


def test_a_pivot_groups_by_what_can_be_grouped_by() -> None:
    query = "select * from (select map(c1, c2) m, c1, c2 from t1) pivot (sum(c2) for c1 in (1))"
    assert refused(query, "3.5") == "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE"
    assert refused(query, "4.0") == ""


@pytest.mark.parametrize("spark", SPARKS)
def test_what_every_version_refuses(spark: str) -> None:
    scale = "DECIMAL_SCALE_EXCEEDS_PRECISION" if spark == "4.3" else "_LEGACY_ERROR_TEMP_1228"
    star = "INVALID_USAGE_OF_STAR_WITH_TABLE_IDENTIFIER_IN_COUNT"
    for query, condition in (
        ("select c1 from t1 where explode(array('a')) = 'a'", "UNSUPPORTED_GENERATOR.OUTSIDE_SELECT"),
        ("select explode(array('a')) = 'a'", "UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS"),
        ("select cast(1 as decimal(40, 2))", "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION"),
        ("select cast(1 as decimal(2, 5))", scale),
        ("select cast('a' as string(3))", "UNSUPPORTED_DATATYPE"),
        ("select count(distinct t1.*) from t1", star if spark in ("4.2", "4.3") else "_LEGACY_ERROR_TEMP_1021"),
    ):
        assert refused(query, spark) == condition, query


def test_a_boolean_beside_one_or_nought() -> None:
    def name(select: str, ansi: bool = False) -> str:
        return shown(f"select {select} from (select c1 > 1 as b from t1)", "4.0", ansi)[0]

    assert [name("b = 1"), name("0L = b"), name("b <=> 1.0"), name("b = 2")] == [
        "b",
        "(NOT b)",
        "((b IS NOT NULL) AND b)",
        "(b = 2)",
    ]
    with pytest.raises(AnalysisError, match="BINARY_OP_DIFF_TYPES"):
        name("b = 1", ansi=True)


@pytest.mark.parametrize(
    ("query", "conditions"),
    [
        ("select sum(c1) over (order by c1 rows between current row and 1 preceding) from t1", {}),
        (
            "select c1 from t1 tablesample (200 percent)",
            {**dict.fromkeys(SPARKS[:4], "_LEGACY_ERROR_TEMP_0064"), "4.3": "INVALID_TABLESAMPLE_FRACTION"},
        ),
        ("select interval 'abc' day", dict.fromkeys(SPARKS, "_LEGACY_ERROR_TEMP_0026")),
        ("select c1 from t1 where 'a' like 'b' escape 'ab'", dict.fromkeys(SPARKS, "INVALID_ESC")),
    ],
)
def test_what_queries_by_hand_told(query: str, conditions: dict[str, str]) -> None:
    """Asked of 3.5.9, 4.0.5, 4.1.4 and 4.2.1; 4.3's conditions are those that its list of errors has."""
    assert {spark: found for spark in SPARKS if (found := refused(query, spark))} == conditions


@pytest.mark.parametrize(
    "branches", ["when true then 1", "when c1 > 1 then 1 when true then 2", "when true then 1 else null"]
)
def test_what_stands_behind_the_literal_true_counts_before_4_0(branches: str) -> None:
    for spark in SPARKS:
        (field,) = plan(f"select case {branches} end from t1", CATALOG, conf=Conf.of(spark)).schema
        assert field.nullable is (spark == "3.5")


ARRAYS = "from (select array(1, 2) arr, array(0, 1) b, named_struct('n', 2) s, 7L n, 'k' k)"


@pytest.mark.parametrize(
    ("items", "older", "newer"),
    [
        ("1 as n, arr[n]", "arr[lateralAliasReference(n)]", "arr[n]"),
        ("1 as n, arr[abs(n)]", "arr[abs(lateralAliasReference(n))]", "arr[abs(n)]"),
        ("1 as n, arr[b[n]]", "arr[b[lateralAliasReference(n)]]", "arr[b[n]]"),
        ("1 as n, arr[n] + n", "(arr[lateralAliasReference(n)] + n)", "(arr[n] + n)"),
        ("1 as n, s['n']", "s.n", "s.n"),
        ("1 as m, arr[n]", "arr[n]", "arr[n]"),
        ("arr[n], 1 as n", "n", "n"),
    ],
)
def test_an_alias_hides_a_column_in_the_key_of_an_array_before_4_1(items: str, older: str, newer: str) -> None:
    for spark in SPARKS:
        names = [f.name for f in plan(f"select {items} {ARRAYS}", CATALOG, conf=Conf.of(spark)).schema]
        assert names[-1] == (older if spark in ("3.5", "4.0") else newer)


def test_what_an_alias_in_a_key_leads_to_before_4_1() -> None:
    summed, doubled = f"select 1 as n, sum(arr[n]) {ARRAYS}", f"select 1 as n, 2 as n, arr[n] {ARRAYS}"
    for spark in ("3.5", "4.0"):
        assert refused(summed, spark) == "UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_AGGREGATE_FUNC"
        assert refused(doubled, spark) == "AMBIGUOUS_LATERAL_COLUMN_ALIAS"
    assert refused(summed, "4.1") == refused(doubled, "4.1") == ""


def test_parameters_are_named_as_they_are_written_before_4_1() -> None:
    for spark in SPARKS:
        assert refused("select mask('a', upperChar => 'Q')", spark) == ""
        other = "UNRECOGNIZED_PARAMETER_NAME" if spark in ("3.5", "4.0") else ""
        assert refused("select mask('a', UPPERCHAR => 'Q')", spark) == other
        assert refused("select explode(Collection => array(1))", spark) == other


def test_generators_that_take_names_since_4_0() -> None:
    for call in ("posexplode(collection => array(1))", "inline_outer(input => array(struct(1)))"):
        assert refused(f"select {call}", "3.5") == "NAMED_PARAMETERS_NOT_SUPPORTED"
        assert refused(f"select {call}", "4.0") == ""


@pytest.mark.parametrize("condition", ["max(t1.c1) = t2.c1", "t2.c1 > 1 and sum(t2.c2) over () > 1", "count(*) > 0"])
@pytest.mark.parametrize("kind", ["join", "full join", "left semi join"])
def test_a_join_takes_no_aggregate_and_no_window(condition: str, kind: str) -> None:
    query = f"select t1.c1 from t1 {kind} t2 on {condition}"
    piped = f"from t1 |> {kind} t2 on {condition} |> where true"
    for spark in SPARKS:
        assert refused(query, spark) == refused(f"select 1 in ({query})", spark) == "UNSUPPORTED_EXPR_FOR_OPERATOR"
        assert refused(f"{query} join t2 as t3 using (c1)", spark) == "UNSUPPORTED_EXPR_FOR_OPERATOR"
    assert refused(piped, "4.3") == "UNSUPPORTED_EXPR_FOR_OPERATOR"
    assert refused("select t1.c1 from t1 join t2 on t1.c1 = (select max(c1) from t2)", "4.3") == ""


@pytest.mark.parametrize(
    "items", ["* x", "t1.* as x", "c1, * x", "nosuch, * x", "* x, nosuch", "(*) x", "* as (x, y)", "distinct * x"]
)
def test_a_star_takes_no_name(items: str) -> None:
    assert {refused(f"select {items} from t1", spark) for spark in SPARKS} == {"INVALID_USAGE_OF_STAR_OR_REGEX"}
    assert refused("select struct(*) x, count(*) y from t1 group by c1, c2", "4.3") == ""


@pytest.mark.parametrize("value", ["timestamp'2020-01-01 00:00:00'", "date'2020-01-01'"])
@pytest.mark.parametrize(
    "ordered", ["percentile_cont(0.5) within group (order by v)", "median(v)", "percentile(v, 0.5)"]
)
def test_percentiles_measure_times_of_day_since_4_3(value: str, ordered: str) -> None:
    query = f"select {ordered} from (select {value} as v)"
    for spark in SPARKS:
        condition = "UNSUPPORTED_TIME_TYPE" if spark == "4.3" else "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"
        assert refused(query, spark) == condition
        assert refused(query, spark, ansi=False) == "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"


@pytest.mark.parametrize(
    ("query", "condition"),
    [
        ("select 1 from t1 lateral view explode(collection => array(1)) t as c", "PARSE_SYNTAX_ERROR"),
        ("select 1 from t1 tablesample (c1 percent)", "PARSE_SYNTAX_ERROR"),
        ("select 1 from t1 tablesample (1 + 1 percent)", "PARSE_SYNTAX_ERROR"),
        ("select 1 from t1 tablesample (c1 rows)", "INVALID_LIMIT_LIKE_EXPRESSION.IS_UNFOLDABLE"),
        ("select 1 from t1 tablesample (1.5 rows)", "INVALID_LIMIT_LIKE_EXPRESSION.DATA_TYPE"),
        ("select 1 from t1 tablesample (10M)", "_LEGACY_ERROR_TEMP_0015"),
        ("select 1 from t1 tablesample (c1)", "_LEGACY_ERROR_TEMP_0016"),
        ("select json_tuple(input => '{}', 'a')", "NAMED_PARAMETERS_NOT_SUPPORTED"),
        ("select 1 + t1.* from t1", "INVALID_USAGE_OF_STAR_OR_REGEX"),
        ("select 1 + (x -> x) from t1", "INTERNAL_ERROR"),
        ("select window(now(), '1 fortnight')", "CANNOT_PARSE_INTERVAL"),
        ("select window(now(), 'soon')", "CANNOT_PARSE_INTERVAL"),
        ("select window(now(), '1.5 seconds')", ""),
        ("select 1 from t1 lateral view nosuch(c1) t", "ROUTINE_NOT_FOUND"),
        ("select * from nosuch(1)", "UNRESOLVABLE_TABLE_VALUED_FUNCTION"),
    ],
)
def test_what_every_spark_refuses(query: str, condition: str) -> None:
    assert {refused(query, spark) for spark in SPARKS} == {condition}


@pytest.mark.parametrize("kind", ["intersect", "except"])
def test_common_types_of_a_set_operation_have_the_nested_flags_of_both_sides(kind: str) -> None:
    """Where one column's types differ, Spark casts the others to their common types, too."""
    query = f"select {{}}, array(1) as a {kind} select 1L, array(null, 2)"
    for spark in SPARKS:
        for first, flag in (("1", True), ("1L", False)):
            field = plan(query.format(first), CATALOG, conf=Conf.of(spark)).schema[1]
            assert field.type.json["containsNull"] is flag


STRUCTS = "from (select named_struct('a', 1, 'b', named_struct('c', 'x')) as s)"


@pytest.mark.parametrize("symbol", ["=", "<=>", "<", ">=", "<>"])
def test_structs_are_compared_whatever_their_fields_are_called_since_4_0(symbol: str) -> None:
    for spark in SPARKS:
        found = "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES" if spark == "3.5" else ""
        assert refused(f"select s {symbol} struct(1, struct('x')) {STRUCTS}", spark) == found
        assert refused(f"select array(s) {symbol} array(struct(1, struct('x'))) {STRUCTS}", spark) == found
        for other in ("struct(1)", "struct(1L, struct('x'))"):
            condition = refused(f"select s {symbol} {other} {STRUCTS}", spark)
            assert condition == "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES"


def test_structs_are_sought_in_queries_whatever_their_fields_are_called() -> None:
    assert refused(f"select s in (select struct(1, struct('x'))) {STRUCTS}", "4.3") == ""
    found = refused(f"select s in (select struct(1)) {STRUCTS}", "4.3")
    assert found == "DATATYPE_MISMATCH.IN_SUBQUERY_DATA_TYPE_MISMATCH"


def test_a_cast_is_named_by_its_column_in_parentheses_too() -> None:
    for spark in SPARKS[1:]:
        schema = plan(
            "select (c1)::string, cast((c1) as string), (c1 + 1)::string from t1", CATALOG, conf=Conf.of(spark)
        ).schema
        assert [f.name for f in schema] == ["c1", "c1", "CAST((c1 + 1) AS STRING)"]


def test_get_takes_no_text_before_4_1_and_json_schemas_came_with_4_0() -> None:
    mismatch = "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"
    schema = """'{"type":"array","elementType":"integer","containsNull":true}'"""
    for spark in SPARKS:
        assert refused("select get(array(1), '0')", spark) == (mismatch if spark in ("3.5", "4.0") else "")
        assert refused(f"select from_json('[1]', {schema})", spark) == ("PARSE_SYNTAX_ERROR" if spark == "3.5" else "")


def test_what_a_function_of_one_value_in_from_was_called_before_4_2() -> None:
    for spark in SPARKS:
        older = spark in ("3.5", "4.0", "4.1")
        condition = "UNRESOLVABLE_TABLE_VALUED_FUNCTION" if older else "NOT_A_TABLE_FUNCTION"
        assert refused("select * from upper('x')", spark) == condition
