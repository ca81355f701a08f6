"""LIMIT, OFFSET and the rows of a TABLESAMPLE: constants that are not negative. Source: `CheckAnalysis`."""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Context, Environment, Scope, bind
from planproof_engine.analysis.expressions.modifiers import is_volatile
from planproof_engine.analysis.refusals.checks import content, holds_aggregate, refuse_generator
from planproof_engine.expr import Call, Category, Column, Exists, Expr, InSubquery, Outer, ScalarSubquery, Window
from planproof_engine.functions.constants import constant, is_computable
from planproof_engine.functions.failing import find_failure
from planproof_engine.functions.families.line import is_foldable
from planproof_engine.logical.nodes import Limit, Plan
from planproof_engine.sql import nodes as q


def add_limit(key: str, node: q.Node, plan: Plan, env: Environment, outer: Scope | None) -> Plan:
    """LIMIT and OFFSET take a constant, whose value is not negative."""
    if isinstance(node, q.Var):
        return plan
    count = bind(node, Context(env, env.make_scope(plan.output, outer), clause=key.upper()))
    refuse_generator(content(count), key.upper(), node, env)
    _refuse_predicates(count, key, node, env)
    condition = "INVALID_LIMIT_LIKE_EXPRESSION"
    named = count.holds(Column, Outer, Exists, InSubquery, ScalarSubquery, Window)
    ranks = any(isinstance(e, Call) and e.function.category is Category.WINDOW for e in count.walk())
    computed = any(e.holds(Call) and not is_foldable(e) for e in _list_folded(count))
    if named or ranks or computed or is_volatile(count) or holds_aggregate(count):
        env.refuse_late(f"{condition}.IS_UNFOLDABLE", f"The {key} expression must be a constant.", node)
    elif count.type != dt.INT:
        text = f'The {key} expression must be integer type, but got "{count.type.sql}".'
        env.refuse_late(f"{condition}.DATA_TYPE", text, node)
    elif (failure := find_failure(count, env.conf)) is not None:
        raise env.make_error(failure, f"The {key} expression cannot be computed.", node)
    elif (value := _find_value(count)) is None:
        env.refuse_late(f"{condition}.IS_NULL", f"The evaluated {key} expression must not be null.", node)
    elif isinstance(value, int) and value < 0:
        text = f"The {key} expression must be equal to or greater than 0, but got {value}."
        env.refuse_late(f"{condition}.IS_NEGATIVE", text, node)
    return Limit(key, plan, (count,))


def _refuse_predicates(count: Expr, key: str, node: q.Node, env: Environment) -> None:
    """Refuses EXISTS and IN (query): `CheckAnalysis` looks at subqueries before it looks at the operator."""
    if count.holds(Exists, InSubquery):
        condition = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_IN_EXISTS_SUBQUERY"
        raise env.make_error(condition, f"IN/EXISTS predicate subqueries cannot be used in {key.upper()}.", node)


def _list_folded(count: Expr) -> Iterator[Expr]:
    """The whole, and what only `typeof` looks at, which is foldable whatever it is of."""
    yield count
    for part in count.walk():
        if isinstance(part, Call) and part.function.name == "typeof":
            yield from part.args


def _find_value(count: Expr) -> object:
    """The constant's value; 0 where only Spark could compute it."""
    return constant(count, "LIMIT") if is_computable(count) else 0
