"""A rewritten text is read back: it must mean the plan that was meant."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planproof.api import optimize, plan
from planproof.catalog import Catalog
from planproof.conf import Conf
from planproof.expr import Call, Expr, Lambda, Variable
from planproof.expr.rewrite import transform_up
from planproof.functions.registry import Registry
from planproof.optimizer.equivalence import alike, equivalent
from planproof.plan.nodes import Plan
from planproof.plan.rewrite import map_expressions

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
    assert equivalent(root(one), root(other))


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
    assert not equivalent(root(one), root(other))


def test_equal_bodies_are_alike_and_other_columns_are_not() -> None:
    items = root("SELECT exists(xs, x -> x = a), exists(xs, y -> y = a), exists(xs, x -> x = b) FROM t").expressions
    one, same, other = (item.children[0] for item in items)
    assert alike(one, same)
    assert not alike(one, other)


def test_a_text_that_captures_a_name_is_dropped_by_name() -> None:
    def careless(plan: Plan, conf: Conf, registry: Registry) -> Plan:
        """Puts the column `a` where a parameter of that name is, under the parameter's lambda."""

        def change(expr: Expr) -> Expr:
            if not isinstance(expr, Call) or not isinstance(expr.args[-1], Lambda):
                return expr
            function = expr.args[-1]
            named = replace(function.parameters[0], name="a")
            if function.parameters[0].name == "a":
                return expr
            body = transform_up(function.body, lambda e: named if isinstance(e, Variable) else e)
            return replace(expr, args=(*expr.args[:-1], Lambda((named,), body)))

        return map_expressions(plan, change)

    made = plan("SELECT transform(xs, x -> x + a) AS r FROM t", CATALOG)
    found = optimize(made, rules=[careless])
    assert found.sql == made.text or equivalent(plan(found.sql, CATALOG).root, found.plan.root)
