"""What Spark 3.5.9, 4.0.5, 4.1.4, 4.2.1 and 4.3.0 answered: correlation, VALUES, literals side by side."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planproof import Catalog, Conf, plan
from planproof.conf import SPARKS
from planproof.origin import AnalysisError, Unknown

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


TIME_AS_JSON = '{"type":"struct","fields":[{"name":"t","type":"time","nullable":true,"metadata":{}}]}'


@pytest.mark.parametrize(("schema", "since"), [("t TIME", "4.1"), (TIME_AS_JSON, "4.1"), ("v VARIANT", "4.0")])
def test_a_schema_text_with_a_type_that_a_spark_has_not(schema: str, since: str) -> None:
    for spark in ("3.5", "4.0", "4.3"):
        condition = "PARSE_SYNTAX_ERROR" if spark < since else ""
        assert refused(f"select from_json('{{}}', '{schema}')", spark) == condition


def test_a_struct_packs_named_arguments_under_names_that_are_not_known() -> None:
    for spark in SPARKS:
        with pytest.raises(Unknown, match="a named argument of struct"):
            refused("select struct(a => 1, 2)", spark)
