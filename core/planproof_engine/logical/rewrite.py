"""Rebuilds plans with changed expressions. What nothing changes comes back as the same object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from planproof_engine.expr import Alias, Column, Expr, Lambda, Sort, Subquery, rebuild, transform_up
from planproof_engine.expr.parts import change_each, change_parts
from planproof_engine.ground import evolve
from planproof_engine.logical import nodes as p

Rewriting = Callable[[Expr], Expr]


def map_expressions(plan: p.Plan, change: Rewriting) -> p.Plan:
    """The plan with `change` applied to every expression that its nodes evaluate and to the columns that a node makes
    or names anew. Plans of subqueries are changed too."""

    def everywhere(expr: Expr) -> Expr:
        # Most of what a plan evaluates is a column.
        if type(expr) is Column:
            return change(expr)
        if type(expr) is Sort:
            return rebuild(expr, everywhere)
        return change(_change_subqueries(expr, partial(map_expressions, change=change)))

    return _map(plan, everywhere, _MADE)


def map_lambdas(plan: p.Plan, change: Rewriting) -> p.Plan:
    """The same, for a change that needs a lambda: expressions without one are not asked. Most hold none."""

    def with_lambdas(expr: Expr) -> Expr:
        if type(expr) is Column or not expr.holds(Lambda, Subquery):
            return expr
        if type(expr) is Sort:
            return rebuild(expr, with_lambdas)
        return change(_change_subqueries(expr, partial(map_lambdas, change=change)))

    return _map(plan, with_lambdas, {})


_MADE: dict[type[p.Plan], str] = {p.Generate: "generated", p.Named: "output"}
"""The columns that a kind of node makes or names anew."""

_LEFT_ALONE = (p.Values, p.Limit, p.Pivot)
"""No rule rewrites what these evaluate."""


def _map(plan: p.Plan, change: Rewriting, makes: Mapping[type[p.Plan], str]) -> p.Plan:
    """`change` is given sort keys, too. `makes` names the field of a kind of node whose columns are changed."""
    changes = change_parts(plan, p.Plan, lambda child: _map(child, change, makes))
    # Over grouping sets, the expressions around a group that a set leaves out see a column.
    if not isinstance(plan, _LEFT_ALONE) and not (isinstance(plan, p.Aggregate) and plan.grouping_sets is not None):
        changes.update(change_parts(plan, Expr, change))
    made = makes.get(type(plan))
    if made is not None:
        old = getattr(plan, made)
        new = change_each(old, change)
        if new is not old:
            changes[made] = new
    return evolve(plan, **changes) if changes else plan  # type: ignore[type-var]  # each kind of node is a record


def _change_subqueries(expr: Expr, change: Callable[[p.Plan], p.Plan]) -> Expr:
    if not expr.holds(Subquery):
        return expr

    def inner(e: Expr) -> Expr:
        if not isinstance(e, Subquery):
            return e
        plan = change(e.plan)
        return e if plan is e.plan else evolve(e, plan=plan)  # type: ignore[type-var]  # each kind of subquery is a record

    return transform_up(expr, inner)


def find_changes(before: p.Plan, after: p.Plan) -> Iterator[tuple[Expr, Expr, Alias | None]]:
    """The pairs of expressions that differ between two plans of the same shape, and the output that they become."""
    if before is after:
        return
    for old, new in zip(before.expressions, after.expressions):
        if old is not new:
            yield _unwrap(old), _unwrap(new), old if isinstance(old, Alias) else None
            yield from _find_changes_in_plans(old, new)
    for old_child, new_child in zip(before.children, after.children):
        yield from find_changes(old_child, new_child)


def _find_changes_in_plans(old: Expr, new: Expr) -> Iterator[tuple[Expr, Expr, Alias | None]]:
    """What differs within subqueries. No rule moves a subquery, so that the two plans' subqueries pair up in order."""
    before = [e.plan for e in old.walk() if isinstance(e, Subquery)]
    after = [e.plan for e in new.walk() if isinstance(e, Subquery)]
    for a, b in zip(before, after):
        yield from find_changes(a, b)


def _unwrap(expr: Expr) -> Expr:
    while isinstance(expr, (Alias, Sort)) and not isinstance(expr, Column):
        expr = expr.child
    return expr
