"""Lambda variables are never taken for columns: one test for each traversal that meets both.

The names in brackets are the specification's for the same traversal.
"""

from __future__ import annotations

import pytest

from planproof import AnalysisError, Catalog
from planproof_engine.analysis.blocks.aggregated import Keys
from planproof_engine.analysis.blocks.evidence import make_keys_nullable
from planproof_engine.analysis.blocks.items import substitute
from planproof_engine.api import plan
from planproof_engine.conf import Conf
from planproof_engine.expr import (
    Call,
    Column,
    Expr,
    Lambda,
    Literal,
    Variable,
    column_of,
)
from planproof_engine.expr.pretty import outer_references, pretty
from planproof_engine.expr.tree import transform_down, transform_up
from planproof_engine.logical import nodes as p
from planproof_engine.logical.rewrite import map_expressions
from planproof_engine.optimizer import laws
from planproof_engine.types import INT

CATALOG = Catalog(
    {
        "t": [
            ("a", "int", True),
            ("b", "array<array<int>>", True),
            ("c", "int", True),
            ("x", "int", True),
            ("xs", "array<int>", True),
            ("s", "array<struct<x:int,y:int>>", True),
        ],
        "u": [("x", "int", True)],
    }
)
FOUR_LEVELS = "SELECT transform(b, (b, i) -> transform(b, b -> b + c + i)) AS r FROM t"


def root(query: str) -> p.Plan:
    return plan(query, CATALOG).root


def item(expression: str) -> Expr:
    """The expression over `t`, without its alias."""
    [found] = root(f"SELECT {expression} AS r FROM t").expressions
    return found.children[0]


def lambda_of(expression: str) -> Lambda:
    return next(e for e in item(expression).walk() if isinstance(e, Lambda))


def captured(function: Lambda) -> tuple[Column, ...]:
    """The columns that a lambda reads, each once."""
    return tuple({e.id: e for e in function.walk() if isinstance(e, Column)}.values())


def names(columns: tuple[Column, ...]) -> list[str]:
    return [c.name for c in columns]


def columns_read(expr: Expr) -> set[int]:
    return {e.id for e in expr.walk() if isinstance(e, Column)}


def test_a_parameter_is_not_among_the_columns_of_an_expression() -> None:
    """[add_column_refs, expr_to_columns, find_columns_referenced_by_expr]"""
    query = root("SELECT transform(xs, x -> x + c) AS r FROM t")
    by_id = {c.id: c.name for c in query.children[0].output}
    assert {by_id[i] for i in columns_read(query.expressions[0])} == {"xs", "c"}


def test_an_expression_applies_to_the_columns_that_it_reads_outside_its_parameters() -> None:
    """[expr_applicable_for_cols]"""
    query = root("SELECT transform(xs, x -> x + 1) AS r FROM t")
    xs = next(c for c in query.children[0].output if c.name == "xs")
    assert columns_read(query.expressions[0]) <= {xs.id}


def test_an_output_column_of_a_lambda_expression_is_the_item_not_its_parameter() -> None:
    """[columnize_expr]"""
    [only] = root("SELECT transform(xs, x -> x) AS x FROM t").expressions
    column = column_of(only)
    assert column.type.simple == "array<int>"
    assert not any(isinstance(e, Variable) and e.id == column.id for e in only.walk())


def test_a_bare_name_means_the_parameter_and_a_qualified_one_the_column() -> None:
    """[normalize_col]"""
    body = lambda_of("transform(xs, x -> x + t.x)").body
    assert isinstance(body, Call)
    assert [type(a) for a in body.args] == [Variable, Column]


def test_a_name_that_two_relations_have_is_ambiguous_unless_a_parameter_has_it() -> None:
    """[normalize_col_with_schemas_and_ambiguity_check]"""
    with pytest.raises(AnalysisError, match="AMBIGUOUS_REFERENCE"):
        root("SELECT transform(xs, y -> x) AS r FROM t, u")
    found = root("SELECT transform(xs, x -> x) AS r FROM t, u").expressions[0]
    assert {c.name for c in found.walk() if isinstance(c, Column)} == {"xs"}


def test_replacing_a_column_leaves_a_parameter_of_its_name() -> None:
    """[replace_col]"""
    query = root("SELECT transform(xs, x -> x + t.x) AS r FROM t")
    x = next(c for c in query.children[0].output if c.name == "x")
    done = substitute(query.expressions[0], {x.id: Literal(7, INT, "7")})
    assert pretty(done.children[0]) == (
        "transform(xs, lambdafunction((namedlambdavariable() + 7), namedlambdavariable()))"
    )


def test_an_inlined_alias_does_not_reach_a_parameter_of_its_name() -> None:
    """[replace_cols_by_name]"""
    query = root("SELECT a + 1 AS k, transform(xs, k -> k * 2) AS r, k + 1 AS n FROM t")
    function = next(e for e in query.expressions[1].walk() if isinstance(e, Lambda))
    assert names(captured(function)) == []
    assert [e.name for e in query.expressions[2].walk() if isinstance(e, Column)] == ["a"]


def test_transform_up_meets_parameters_as_variables() -> None:
    """[transform_up]"""
    met: list[str] = []

    def change(e: Expr) -> Expr:
        met.append(type(e).__name__)
        return e

    expr = item("transform(xs, x -> x + t.x)")
    assert transform_up(expr, change) is expr
    assert met == ["Column", "Variable", "Column", "Call", "Lambda", "Call"]
    assert transform_down(expr, lambda e: None) is expr


def test_map_expressions_leaves_the_binding_of_a_lambda() -> None:
    query = root("SELECT transform(xs, x -> x + c) AS r FROM t")
    assert map_expressions(query, lambda e: e) is query


def test_what_a_lambda_needs_to_be_true_proves_nothing_of_a_column_of_its_name() -> None:
    """[filter_exprs_evaluation_result_on_empty_batch]"""
    condition = root("SELECT a FROM t WHERE exists(xs, x -> x > 1)").children[0].expressions[0]
    assert p.not_null_columns(condition) == set()
    both = lambda_of("transform(xs, x -> x + c)").body
    assert p.strict_columns(both) == columns_read(both)
    variable = lambda_of("transform(xs, x -> abs(x))").body
    assert p.strict_columns(variable) == set()


def test_a_filter_on_a_column_proves_nothing_of_a_parameter() -> None:
    """[push_down_filter]"""
    query = root("SELECT transform(xs, x -> x + 1) AS r FROM t WHERE x > 1")
    variable = next(e for e in query.expressions[0].walk() if isinstance(e, Variable))
    assert variable.nullable
    assert variable.evidence is None


def test_a_parameter_is_no_outer_reference_of_a_subquery() -> None:
    """[ScalarSubqueryToJoin]"""
    subquery = item("(SELECT u.x FROM u WHERE exists(t.xs, x -> x = u.x) LIMIT 1)")
    assert [o.column.name for o in outer_references(subquery.plan)] == ["xs"]  # type: ignore[attr-defined]
    with pytest.raises(AnalysisError, match="HIGHER_ORDER_FUNCTION"):
        root("SELECT transform(xs, x -> (SELECT max(u.x) + x FROM u)) AS r FROM t")


def test_an_alias_of_the_relation_renames_columns_and_no_parameter() -> None:
    """[TableAliasRewriter]"""
    function = next(
        e
        for e in root("SELECT transform(q.xs, x -> x + q.x + y) AS r FROM t AS q(a, b, y, x, xs, s)")
        .expressions[0]
        .walk()
        if isinstance(e, Lambda)
    )
    assert [(c.qualifier, c.name) for c in captured(function)] == [(("q",), "x"), (("q",), "y")]


def test_a_field_of_a_parameter_is_no_field_of_a_column() -> None:
    """[shredded-field rewriting]"""
    function = lambda_of("transform(s, x -> x.y + t.x)")
    assert names(captured(function)) == ["x"]
    assert captured(function)[0].type == INT


@pytest.mark.parametrize(
    ("text", "using", "expected"),
    [
        ("SELECT transform(xs, x -> x + ?) AS r FROM t", "5", "array<int>"),
        ("SELECT transform(xs, x -> x + ?) AS r FROM t", "5L", "array<bigint>"),
        ("SELECT transform(xs, x -> :x) AS r FROM t", "'a' AS x", "array<string>"),
        ("SELECT transform(xs, (x, i) -> coalesce(:i, x)) AS r FROM t", "NULL AS i", "array<int>"),
    ],
)
def test_a_marker_in_a_body_has_the_type_of_its_value_and_meets_the_parameter_s(
    text: str, using: str, expected: str
) -> None:
    """[placeholder in a lambda's body]"""
    marked = plan(f"EXECUTE IMMEDIATE '{text.replace(chr(39), chr(39) * 2)}' USING {using}", CATALOG)
    assert marked.schema[0].type.simple == expected


def test_a_marker_without_a_value_is_refused_in_a_body_too() -> None:
    with pytest.raises(AnalysisError, match=r"UNBOUND_SQL_PARAMETER.*1:31"):
        root("SELECT transform(xs, x -> x + :x) AS r FROM t")


def test_grouping_sets_null_a_column_and_no_parameter_of_its_name() -> None:
    query = root("SELECT x, transform(array(1), x -> x + 1) AS r FROM t GROUP BY ROLLUP(x)")
    function = next(e for e in query.expressions[-1].walk() if isinstance(e, Lambda))
    assert not function.parameters[0].nullable
    assert make_keys_nullable(function, None, Keys(()), Conf()) is function


def test_the_inner_parameter_shadows_the_outer_one() -> None:
    outer = lambda_of("transform(b, x -> transform(x, x -> x + 1))")
    inner = next(e for e in outer.body.walk() if isinstance(e, Lambda))
    used = [e.id for e in inner.body.walk() if isinstance(e, Variable)]
    assert used == [inner.parameters[0].id]
    assert inner.parameters[0].id != outer.parameters[0].id


def test_free_variables_are_those_of_lambdas_around() -> None:
    outer = lambda_of("transform(b, (x, i) -> transform(x, y -> y + i))")
    inner = next(e for e in outer.body.walk() if isinstance(e, Lambda))
    assert laws.free_variables(outer) == frozenset()
    assert laws.free_variables(inner) == {outer.parameters[1].id}


def test_a_parameter_is_in_no_plan_s_schema() -> None:
    query = root(FOUR_LEVELS)
    ids = {v.id for e in query.all_expressions() if isinstance(e, Lambda) for v in e.parameters}
    assert len(ids) == 3
    assert not ids & {c.id for node in query.walk() for c in node.output}
