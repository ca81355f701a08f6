"""Where a subquery of Spark 3.5 may use columns of the query around it, and which subqueries must give one row.

Source: `CheckAnalysis.checkCorrelationsInSubquery` and `checkAggregateInScalarSubquery` of 3.5. Later versions accept
what is refused here, and check at run time that a scalar subquery gives one row.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine.analysis.expressions import Environment
from planproof_engine.analysis.refusals.checks import WINDOW, contents
from planproof_engine.expr import Call, Cast, Category, Column, Expr, Literal, Outer, conjuncts
from planproof_engine.expr.pretty import outer_references, pretty
from planproof_engine.logical import nodes as p
from planproof_engine.sql import nodes as q

_CATEGORY = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY"


def refuse_correlation(plan: p.Plan, node: q.Node, env: Environment, united: bool = False) -> None:
    """Refuses a use below a LIMIT, window or set operation, and one in the condition of a join.

    `united`: a scalar or lateral subquery, which may use them below a set operation.
    """
    if not env.lacks("correlation below LIMIT and set operations"):
        return
    used = {o.column.id for o in outer_references(plan)}
    if not used:
        return
    if not united and env.lacks("unequal correlation below aggregates"):
        _refuse_unequal(plan, used, node, env)
    for part in plan.walk():
        if isinstance(part, p.Project) and not united and any(_uses(i, used) for i in part.items):
            text = "Expressions referencing the outer query are not supported outside of WHERE/HAVING clauses."
            raise env.make_error(f"{_CATEGORY}.CORRELATED_REFERENCE", text, node)
        if _is_closed(part, united) and outer_references(part):
            text = (
                "Accessing outer query column is not allowed in this location: below a LIMIT, window or set operation."
            )
            raise env.make_error(f"{_CATEGORY}.ACCESSING_OUTER_QUERY_COLUMN_IS_NOT_ALLOWED", text, node)
        if isinstance(part, p.Join) and part.condition is not None and _uses(part.condition, used):
            text = (
                "Expressions referencing the outer query are not supported outside of WHERE/HAVING clauses: "
                f'"{pretty(part.condition)}".'
            )
            raise env.make_error(f"{_CATEGORY}.CORRELATED_REFERENCE", text, node)


def _uses(expr: Expr, outer: set[int]) -> bool:
    return any(isinstance(e, Outer) and e.column.id in outer for e in expr.walk())


def _refuse_unequal(plan: p.Plan, outer: set[int], node: q.Node, env: Environment) -> None:
    """Refuses any use below an aggregate but an equality of a column with a value of the query around."""
    for aggregate in plan.walk():
        for part in aggregate.walk() if isinstance(aggregate, p.Aggregate) else ():
            conditions = conjuncts(part.condition) if isinstance(part, p.Filter) else ()
            for condition in conditions:
                if _uses(condition, outer) and not _is_equality(condition):
                    text = f'Correlated column is not allowed in predicate: "{pretty(condition)}".'
                    raise env.make_error(f"{_CATEGORY}.CORRELATED_COLUMN_IS_NOT_ALLOWED_IN_PREDICATE", text, node)


def _is_equality(condition: Expr) -> bool:
    if not condition.holds(Column):
        return True
    if not isinstance(condition, Call) or condition.function.name not in ("=", "<=>"):
        return False
    left, right = condition.args
    return any(_is_column(a) and not b.holds(Column) for a, b in ((left, right), (right, left)))


def _is_column(expr: Expr) -> bool:
    """A column, as it is or cast."""
    return isinstance(expr, Column) or (isinstance(expr, Cast) and _is_column(expr.child))


def _is_closed(part: p.Plan, united: bool) -> bool:
    if isinstance(part, p.SetOperation):
        return not united
    return isinstance(part, p.Limit) or (isinstance(part, p.Project) and bool(contents(part.items) & WINDOW))


def refuse_many_rows(plan: p.Plan, node: q.Node, env: Environment) -> None:
    """Refuses a correlated scalar subquery whose shape does not say that it gives one row."""
    if not env.lacks("scalar subqueries of many rows") or not outer_references(plan):
        return
    inner = plan
    while isinstance(inner, (p.Named, p.Project)):
        inner = inner.child
    aggregate = inner.child if isinstance(inner, p.Filter) else inner
    if not isinstance(aggregate, p.Aggregate):
        if not has_one_row(inner):
            raise make_must_aggregate_error(node, env)
        return
    computed = (*aggregate.items, inner.condition) if isinstance(inner, p.Filter) else aggregate.items
    calls = (e for i in computed for e in i.walk() if isinstance(e, Call))
    if not any(c.function.category is Category.AGGREGATE for c in calls):
        raise make_must_aggregate_error(node, env)
    grouped = {e.id for g in aggregate.groups for e in g.walk() if isinstance(e, Column)}
    if grouped - set(_correlated_columns(plan)):
        text = "A GROUP BY clause in a scalar correlated subquery cannot contain non-correlated columns."
        raise env.make_error(f"{_CATEGORY}.NON_CORRELATED_COLUMNS_IN_GROUP_BY", text, node)


def make_must_aggregate_error(node: q.Node, env: Environment) -> Exception:
    """The error for a correlated scalar subquery that may give several rows."""
    text = "Correlated scalar subqueries must be aggregated to return at most one row."
    return env.make_error(f"{_CATEGORY}.MUST_AGGREGATE_CORRELATED_SCALAR_SUBQUERY", text, node)


def has_one_row(plan: p.Plan) -> bool:
    """Whether the plan has one row at most by its shape (`LogicalPlan.maxRows`)."""
    if isinstance(plan, p.Limit) and plan.what == "limit":
        count = plan.arguments[0] if plan.arguments else None
        return (isinstance(count, Literal) and count.value in (0, 1)) or has_one_row(plan.child)
    if isinstance(plan, p.Values):
        return len(plan.rows) <= 1 if plan.call is None else _range_length(plan.call) <= 1
    if isinstance(plan, p.Aggregate) and not plan.groups:
        return True
    if isinstance(plan, p.Join):
        sides = [plan.left] if plan.kind in (p.LEFT_SEMI, p.LEFT_ANTI) else plan.children
        return plan.kind != p.FULL and all(map(has_one_row, sides))
    if isinstance(plan, p.SetOperation):
        return plan.kind != "union" and has_one_row(plan.inputs[0])
    if isinstance(plan, (p.Named, p.Project, p.Filter, p.Distinct, p.Ordered, p.Limit, p.Aggregate, p.Pivot)):
        return has_one_row(plan.child)
    return isinstance(plan, p.OneRow)


def _range_length(call: Call) -> int:
    """The rows of `range(..)` where literals tell them; else more than one."""
    given = [a.value for a in call.args if isinstance(a, Literal) and isinstance(a.value, int)]
    if call.function.name != "range" or len(given) != len(call.args) or len(given) > 3 or 0 in given[2:]:
        return 2
    return len(range(*given))


def _correlated_columns(plan: p.Plan) -> Iterator[int]:
    """The subquery's own columns in the conditions that use the query around it."""
    for part in plan.walk():
        if isinstance(part, p.Filter):
            for condition in conjuncts(part.condition):
                if condition.holds(Outer):
                    yield from (e.id for e in condition.walk() if isinstance(e, Column))
