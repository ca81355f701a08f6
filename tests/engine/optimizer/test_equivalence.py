"""A rewritten text is read back: it must mean the plan that was meant."""

from __future__ import annotations

import pytest

from planproof_engine.api import optimize, plan
from planproof_engine.catalog import Catalog
from planproof_engine.conf import Conf
from planproof_engine.expr import Call, Expr
from planproof_engine.expr.tree import transform_up
from planproof_engine.functions.bind import apply, cast
from planproof_engine.functions.registry import Registry
from planproof_engine.logical.nodes import Plan
from planproof_engine.logical.rewrite import map_expressions
from planproof_engine.optimizer.equivalence import is_alike, is_equivalent
from planproof_engine.types import LONG

CATALOG = Catalog({"t": [("a", "int", True), ("b", "int", True), ("xs", "array<int>", True)]})


def root(sql: str) -> Plan:
    return plan(sql, CATALOG).root


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT transform(xs, x -> x + a) AS r FROM t", "SELECT transform(xs, y -> y + a) AS r FROM t"),
        ("WITH c AS (SELECT a FROM t) SELECT a FROM c", "WITH c AS (SELECT a FROM t) SELECT c.a FROM c"),
    ],
)
def test_names_of_variables_do_not_matter(one: str, other: str) -> None:
    assert is_equivalent(root(one), root(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT a FROM t", "SELECT b FROM t"),
        ("SELECT a + b FROM t", "SELECT b + a FROM t"),
        ("SELECT transform(xs, (x, i) -> x) FROM t", "SELECT transform(xs, (x, i) -> i) FROM t"),
        ("SELECT transform(xs, x -> a) AS r FROM t", "SELECT transform(xs, a -> a) AS r FROM t"),
        ("SELECT 1 FROM t", "SELECT 1L FROM t"),
        ("SELECT a FROM t WHERE a > 1", "SELECT a FROM t WHERE a >= 1"),
    ],
)
def test_what_is_computed_does(one: str, other: str) -> None:
    assert not is_equivalent(root(one), root(other))


def test_equal_bodies_are_alike_and_other_columns_are_not() -> None:
    items = root("SELECT exists(xs, x -> x = a), exists(xs, y -> y = a), exists(xs, x -> x = b) FROM t").expressions
    one, same, other = (item.children[0] for item in items)
    assert is_alike(one, same)
    assert not is_alike(one, other)


def widened(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """Compares ints as bigints: the same rows and schema, but no text says so."""

    def change(expr: Expr) -> Expr:
        if not isinstance(expr, Call) or expr.function.name != ">" or expr.args[0].type == LONG:
            return expr
        return apply(expr.function, tuple(cast(a, LONG, conf) for a in expr.args), conf)

    return map_expressions(plan, lambda expr: transform_up(expr, change))


def test_a_text_that_does_not_mean_the_rewritten_plan_is_dropped_by_name() -> None:
    made = plan("SELECT a FROM t WHERE a > 1", CATALOG)
    found = optimize(made, rules=[widened])
    assert found.sql == made.text
    assert found.rules == ()
    assert [f.code for f in found.findings] == ["PP202"]
    assert "does not read back" in found.findings[0].message


def test_each_rewriting_names_the_rules_that_made_it() -> None:
    sql = "SELECT exists(xs, x -> x = 7) AS e, filter(xs, (x, i) -> i < 3) AS f FROM t"
    found = optimize(plan(sql, CATALOG))
    assert [(r.rule, r.before, r.after) for r in found.rewrites] == [
        ("exists_to_contains", "exists(xs, x -> x = 7)", "array_contains(xs, 7)"),
        ("filter_to_slice", "filter(xs, (x, i) -> i < 3)", "slice(xs, 1, 3)"),
    ]


def test_groups_that_become_equal_are_one() -> None:
    first = "filter(xs, (x, i) -> i < 3)"
    found = optimize(plan(f"SELECT {first} AS f FROM t GROUP BY {first}, {first}", CATALOG))
    assert found.sql == "SELECT slice(xs, 1, 3) AS f FROM t GROUP BY slice(xs, 1, 3), slice(xs, 1, 3)"
    assert (found.rules, found.findings) == (("filter_to_slice",), ())


def test_a_statement_whose_query_stands_in_a_string_is_left_alone() -> None:
    made = plan("EXECUTE IMMEDIATE 'SELECT exists(xs, x -> x = 7) AS e FROM t'", CATALOG)
    assert optimize(made).sql == made.text
