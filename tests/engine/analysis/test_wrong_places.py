"""Functions where they do not belong are refused under Spark's condition."""

from __future__ import annotations

import pytest

from planproof import AnalysisError, Catalog
from planproof_engine.api import plan
from planproof_engine.conf import Conf

CATALOG = Catalog(
    {
        "t": [("x", "double", True)],
        "v": [("k", "int", True), ("n", "int", True)],
        "shop.orders": [("id", "bigint", True)],
    }
)


@pytest.mark.parametrize(
    ("sql", "condition"),
    [
        ("SELECT * FROM abs(1)", "NOT_A_TABLE_FUNCTION"),
        ("SELECT * FROM t LATERAL VIEW abs(x) v AS y", "UNSUPPORTED_GENERATOR.NOT_GENERATOR"),
        ("SELECT max(x) AS (a, b) FROM t", "MULTI_ALIAS_WITHOUT_GENERATOR"),
        ("SELECT percentile_cont(x, x) FROM t", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
        ("SELECT /*+ REPARTITION(0) */ x FROM t", "INTERNAL_ERROR"),
        ("SELECT 1 FROM v WHERE EXISTS (SELECT v.* FROM t)", "CANNOT_RESOLVE_STAR_EXPAND"),
        ("SELECT 1 FROM v JOIN t ON EXISTS (SELECT v.*)", "CANNOT_RESOLVE_STAR_EXPAND"),
        ("SELECT explode(explode(array(array(1))).col) FROM t", "UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS"),
        (
            "SELECT * FROM v LATERAL VIEW explode(explode(array(k)).col) g AS z",
            "UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS",
        ),
        (
            "SELECT grouping(DISTINCT k) FROM v GROUP BY ROLLUP (k)",
            "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
        ),
        (
            "FROM v |> AGGREGATE grouping(k) GROUP BY k",
            "UNSUPPORTED_FEATURE.PIPE_OPERATOR_AGGREGATE_UNSUPPORTED_CASE",
        ),
        (
            "SELECT k FROM v GROUP BY k HAVING n IN (SELECT o.id FROM shop.orders o WHERE o.id > v.n)",
            "UNRESOLVED_COLUMN.WITH_SUGGESTION",
        ),
        # A window of a constant is made before the columns of the table are known, and hides them.
        ("SELECT window(timestamp'2024-01-01', '1 day') AS w, x FROM t", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("SELECT x FROM t WHERE window(timestamp'2024-01-01', '1 day') IS NULL", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    ],
)
def test_a_function_in_the_wrong_place(sql: str, condition: str) -> None:
    with pytest.raises(AnalysisError) as error:
        plan(sql, CATALOG)
    assert error.value.condition == condition


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT window('2024-01-01', '1 day') AS w, x FROM t",
        "SELECT window(timestamp'2024-01-01', '1 day') AS w FROM t WHERE x > 1",
        "SELECT x FROM t ORDER BY window(timestamp'2024-01-01', '1 day').start",
        # A cast that needs a time zone waits for the rule that gives it one.
        "SELECT window(CAST(timestamp'2024-01-01' AS timestamp_ntz), '1 day') AS w, x FROM t",
        # A rank forgets its arguments.
        "SELECT rank(n) OVER (ORDER BY 1), max(k) FROM v",
        "SELECT /*+ REPARTITION(2) */ x FROM t",
        "SELECT 1 FROM v WHERE EXISTS (SELECT t.* FROM t WHERE t.x = v.k)",
        "SELECT (SELECT max(s.k) FROM (SELECT v.*) s) FROM v",
        # A text that is made of what a struct became has its collation again.
        "SELECT upper(to_json(struct('a' AS x))) || ('b' COLLATE utf8_lcase) FROM t",
    ],
)
def test_what_stands_beside_it_is_healthy(sql: str) -> None:
    assert plan(sql, CATALOG).schema


@pytest.mark.parametrize(("spark", "refused"), [("3.5", False), ("4.0", True), ("4.3", True)])
def test_a_window_of_a_call_waits_for_the_table_in_spark_3_5(spark: str, refused: bool) -> None:
    sql = "SELECT window(current_timestamp(), '1 day').start AS w, x FROM t"
    if not refused:
        assert plan(sql, CATALOG, conf=Conf.of(spark)).schema
        return
    with pytest.raises(AnalysisError, match="UNRESOLVED_COLUMN"):
        plan(sql, CATALOG, conf=Conf.of(spark))


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT * FROM shop.order", "Did you mean one of the following? [shop.orders]"),
        ("SELECT flor(x) FROM t", "Did you mean one of the following? [floor"),
        ("SELECT\n  x,\nFROM a.t", "Is the comma before FROM one too many?"),
        (
            "SELECT date_trunc('day',\n x) FROM t",
            "Cannot resolve \"date_trunc('day', x)\" due to data type mismatch: The second",
        ),
        ("SELECT 1 AS a UNION SELECT array(1)", "The column 1 (`a`) of the second table"),
        ("SELECT map('k', 1)[x1] FROM t", "put it in quotes"),
        # Of names that are alike, the first in the alphabet comes first.
        ("SELECT kc FROM (SELECT k AS kb, n AS ka FROM v)", "[`ka`, `kb`]"),
    ],
)
def test_an_error_says_what_was_likely_meant(sql: str, said: str) -> None:
    with pytest.raises(AnalysisError) as error:
        plan(sql, CATALOG)
    assert said in error.value.message


SUBQUERY = "(SELECT max(o.id) FROM shop.orders o WHERE o.id = v.n)"


@pytest.mark.parametrize(
    ("before", "wrong", "after", "condition"),
    [
        ("SELECT k FROM v GROUP BY k HAVING sum(n) > ", "n", "", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("SELECT k FROM v GROUP BY k ORDER BY sum(n) + abs(", "n", ")", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        (
            "SELECT sum((SELECT max(o.id) FROM shop.orders o)) + ",
            SUBQUERY,
            " FROM v GROUP BY k",
            "SCALAR_SUBQUERY_IS_IN_GROUP_BY_OR_AGGREGATE_FUNCTION",
        ),
        ("SELECT 'a' COLLATE ", "a.b.c.d.e", ", k FROM v", "COLLATION_INVALID_NAME"),
    ],
)
def test_an_error_points_at_what_is_wrong(before: str, wrong: str, after: str, condition: str) -> None:
    text = before + wrong + after
    with pytest.raises(AnalysisError) as error:
        plan(text, CATALOG)
    origin = error.value.origin
    assert origin is not None
    assert (error.value.condition, origin.start, text[origin.start : origin.stop]) == (condition, len(before), wrong)
