"""What may stand where: aggregates, windows, generators and columns of enclosing queries, clause by clause.

Source: `CheckAnalysis`, `ExtractGenerator`, `ResolveSubquery`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

from planproof_engine.analysis.context import Environment
from planproof_engine.analysis.expressions.literals import NULL
from planproof_engine.expr import Category, transform_up
from planproof_engine.expr import nodes as x
from planproof_engine.expr.pretty import outer_references, pretty
from planproof_engine.logical.nodes import FULL, LEFT, LEFT_ANTI, LEFT_SEMI, RIGHT, Join, Plan
from planproof_engine.sql import nodes as q

AGGREGATE, WINDOW, GENERATOR, OUTER, SUBQUERY = 1, 2, 4, 8, 16

_OF_CATEGORY: dict[Category | None, int] = {Category.AGGREGATE: AGGREGATE, Category.GENERATOR: GENERATOR}
_OF_TYPE: dict[type, int] = {
    x.Outer: OUTER,
    x.Exists: SUBQUERY,
    x.InSubquery: SUBQUERY,
    x.ScalarSubquery: SUBQUERY,
    x.Window: WINDOW,
}
Subquery = x.Exists | x.InSubquery | x.ScalarSubquery


def content(expr: x.Expr) -> int:
    """What the expression holds, as a sum of the constants above. The function of a window does not count as
    AGGREGATE."""
    return contents((expr,))


def contents(exprs: Iterable[x.Expr]) -> int:
    """What the expressions hold, as bits: `WINDOW`, `GENERATOR` and their kin. What stands in several of them, as an
    alias on the left does, is looked at once."""
    found, seen = 0, set[int]()
    waiting = list(exprs)
    while waiting:
        expr = waiting.pop()
        kind = type(expr)
        if kind is x.Column or id(expr) in seen:
            continue
        seen.add(id(expr))
        if kind is x.Call:
            found |= _OF_CATEGORY.get(expr.function.category, 0)  # type: ignore[attr-defined]
        else:
            found |= _OF_TYPE.get(kind, 0)
        waiting += (*expr.call.children, *expr.partition, *expr.order) if isinstance(expr, x.Window) else expr.children
    return found


def holds_aggregate(expr: x.Expr) -> bool:
    """Whether an aggregate function stands in the expression, other than as the function of a window."""
    return bool(content(expr) & AGGREGATE)


def nests_aggregate(expr: x.Expr) -> bool:
    """Whether an aggregate function stands in an argument of another one. `grouping(..)` is none by then: it has become
    a part of the grouping id (`ResolveGroupingAnalytics`)."""
    return bool(content_beside_grouping(expr) & AGGREGATE)


def content_beside_grouping(expr: x.Expr) -> int:
    """What the expression holds, `grouping(..)` left out."""
    return content(transform_up(expr, lambda e: NULL if is_grouping(e) else e))


def is_grouping(expr: x.Expr) -> TypeGuard[x.Call]:
    """Whether it is `grouping(..)` or `grouping_id(..)`, a column that each Aggregate with grouping sets has."""
    return isinstance(expr, x.Call) and expr.function.name in ("grouping", "grouping_id")


def holds_window(expr: x.Expr) -> bool:
    """Whether a window function stands in the expression."""
    return bool(content(expr) & WINDOW)


def is_correlated(expr: x.Expr) -> bool:
    """Whether it is a subquery that uses columns of the query around it."""
    return isinstance(expr, Subquery) and bool(outer_references(expr.plan))


def why_refused(expr: x.Expr) -> tuple[str, str] | None:
    """Why most operators do not take the subquery: a reason, and what they do not take. None for any other."""
    if isinstance(expr, (x.Exists, x.InSubquery)):
        return "UNSUPPORTED_IN_EXISTS_SUBQUERY", "IN/EXISTS predicate subqueries"
    return ("UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY", "Correlated scalar subqueries") if is_correlated(expr) else None


def has_outer_columns_only(expr: x.Expr) -> bool:
    """Whether all columns of an aggregate are of the query around: it then aggregates there."""
    columns = [e for e in expr.walk() if isinstance(e, (x.Column, x.Outer))]
    return bool(columns) and all(isinstance(c, x.Outer) for c in columns)


def refuse_in_filter(bound: x.Expr, clause: str, node: q.Node, block: q.Node, env: Environment) -> None:
    """WHERE, and HAVING but for its aggregates: no aggregate, window or generator."""
    found = content(bound)
    if found & WINDOW:
        text = f"Window functions are not allowed in the {clause} clause."
        raise env.make_error("WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE", text, node)
    refuse_generator(found, clause, node, env)
    if found & AGGREGATE and clause == "WHERE":
        text = f'The WHERE condition "{pretty(bound)}" contains invalid expressions: aggregate functions.'
        env.refuse_late("INVALID_WHERE_CONDITION", text, block)


def refuse_generator(found: int, clause: str, node: q.Node, env: Environment) -> None:
    """Raises where a generator stands in a clause that takes none."""
    if found & GENERATOR:
        text = f"Generators are not supported outside the SELECT clause, but found one in {clause}."
        raise env.make_error("UNSUPPORTED_GENERATOR.OUTSIDE_SELECT", text, node)


def refuse_nested_generator(bound: x.Expr, node: q.Node, env: Environment) -> None:
    """Raises where a generator stands inside of another expression.

    One that is itself a key of a window is `Unknown`: Spark puts the keys of windows into a projection below, and then
    takes what is a generator there, or not, by how its rules come about each other.
    """
    if content(bound) & GENERATOR:
        windows = [w for w in bound.walk() if isinstance(w, x.Window)]
        if any(_OF_CATEGORY.get(_category(k)) == GENERATOR for w in windows for k in (*w.partition, *w.order)):
            raise env.make_unknown("a generator as a key of a window", node)
        text = f'A generator cannot stand inside an expression, but found "{pretty(bound)}".'
        raise env.make_error("UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS", text, node)


def _category(key: x.Expr) -> Category | None:
    expr = key.child if isinstance(key, x.Sort) else key
    return expr.function.category if isinstance(expr, x.Call) else None


def refuse_outer(exprs: Iterable[x.Expr], what: str, node: q.Node, env: Environment) -> None:
    """Aggregates, sort keys and windows of a subquery may not use the columns of the query around it."""
    for expr in exprs:
        found = content(expr)
        if not found & OUTER:
            continue
        if found & AGGREGATE:
            _refuse_mixed(expr, node, env)
        text = (
            f"Expressions referencing the outer query are not supported outside of WHERE/HAVING clauses: {what} "
            f'"{pretty(expr)}".'
        )
        raise env.make_error("UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.CORRELATED_REFERENCE", text, node)


_PADDED = {LEFT: (False, True), LEFT_SEMI: (False, True), LEFT_ANTI: (False, True), RIGHT: (True, False)}


def refuse_outer_below_joins(plan: Plan, node: q.Node, env: Environment) -> None:
    """Refuses columns of the query around the subquery on a side of a join that may be filled with nulls."""
    for join in plan.walk():
        if not isinstance(join, Join):
            continue
        padded = zip((join.left, join.right), _PADDED.get(join.kind, (join.kind == FULL, join.kind == FULL)))
        used = {o.column.id for side, bad in padded if bad for o in outer_references(side)}
        # A lateral join's right side refers to its left side, which is within the subquery.
        if used and used - {c.id for inner in plan.walk() for c in inner.output}:
            condition = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.ACCESSING_OUTER_QUERY_COLUMN_IS_NOT_ALLOWED"
            text = f"Accessing outer query column is not allowed in this location: below a {join.kind} join."
            raise env.make_error(condition, text, node)


def _refuse_mixed(expr: x.Expr, node: q.Node, env: Environment) -> None:
    for call in expr.walk():
        if not x.is_aggregate(call):
            continue
        kinds = {type(e) for e in call.walk()}
        if x.Outer in kinds and x.Column in kinds:
            condition = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.AGGREGATE_FUNCTION_MIXED_OUTER_LOCAL_REFERENCES"
            text = f'The aggregate "{pretty(call)}" mixes columns of the outer query with its own.'
            raise env.make_error_at(condition, text, call.span, node)


def refuse_window_within(item: x.Expr, node: q.Node, env: Environment) -> None:
    """Refuses a window inside the arguments of an aggregate function (`ExtractWindowExpressions`)."""
    if _find_first_window(item) is not None:
        text = "It is not allowed to use a window function inside an aggregate."
        raise env.make_error("_LEGACY_ERROR_TEMP_1031", text, node)


def _find_first_window(expr: x.Expr) -> x.Window | None:
    """A window inside the arguments of an aggregate function, where that function is not itself over a window."""
    if isinstance(expr, x.Window):
        parts = (*expr.call.children, *expr.partition, *expr.order)
        return next((w for p in parts if (w := _find_first_window(p)) is not None), None)
    if x.is_aggregate(expr) and not is_grouping(expr):
        return next((e for e in expr.walk() if isinstance(e, x.Window)), None)
    return next((w for c in expr.children if (w := _find_first_window(c)) is not None), None)
