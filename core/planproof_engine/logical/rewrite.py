"""Rebuilds plans with changed expressions. What nothing changes comes back as the same object."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import is_not

from planproof_engine.expr import Alias, Column, Expr, Sort, Subquery
from planproof_engine.expr.rewrite import transform_up
from planproof_engine.logical import nodes as p
from planproof_engine.records import evolve

Rewriting = Callable[[Expr], Expr]
_OverChild = p.Distinct | p.Recursion | p.Limit | p.Script | p.Pivot


def map_expressions(plan: p.Plan, change: Rewriting) -> p.Plan:
    """The plan with `change` applied to every expression that its nodes evaluate and to the columns that a node makes
    or names anew. Plans of subqueries are changed too."""

    def everywhere(expr: Expr) -> Expr:
        # Most of what a plan evaluates is a column.
        return change(expr if type(expr) is Column else _in_subqueries(expr, change))

    return _mapped(plan, everywhere)


def _mapped(plan: p.Plan, change: Rewriting) -> p.Plan:
    # A kind of node that is not listed must fail here: a rule that skipped it would be half applied.
    return _REBUILD[type(plan)](plan, change)


def _in_subqueries(expr: Expr, change: Rewriting) -> Expr:
    if not expr.holds(Subquery):
        return expr

    def inner(e: Expr) -> Expr:
        if not isinstance(e, Subquery):
            return e
        plan = map_expressions(e.plan, change)
        return e if plan is e.plan else evolve(e, plan=plan)  # type: ignore[type-var]  # each kind of subquery is a record

    return transform_up(expr, inner)


def _each(exprs: tuple[Expr, ...], change: Rewriting) -> tuple[Expr, ...]:
    new = [change(e) for e in exprs]
    return tuple(new) if any(map(is_not, new, exprs)) else exprs


def _project(node: p.Project, change: Rewriting) -> p.Plan:
    child, items = _mapped(node.child, change), _each(node.items, change)
    return node if child is node.child and items is node.items else evolve(node, child=child, items=items)


def _filter(node: p.Filter, change: Rewriting) -> p.Plan:
    child, condition = _mapped(node.child, change), change(node.condition)
    if child is node.child and condition is node.condition:
        return node
    return evolve(node, child=child, condition=condition)


def _join(node: p.Join, change: Rewriting) -> p.Plan:
    left, right = _mapped(node.left, change), _mapped(node.right, change)
    condition = None if node.condition is None else change(node.condition)
    if left is node.left and right is node.right and condition is node.condition:
        return node
    return evolve(node, left=left, right=right, condition=condition)


def _aggregate(node: p.Aggregate, change: Rewriting) -> p.Plan:
    child = _mapped(node.child, change)
    if node.grouping_sets is not None:
        # The expressions around a group that a set leaves out see a column.
        return node if child is node.child else evolve(node, child=child)
    groups, items = _each(node.groups, change), _each(node.items, change)
    if child is node.child and groups is node.groups and items is node.items:
        return node
    return evolve(node, child=child, groups=groups, items=items)


def _set_operation(node: p.SetOperation, change: Rewriting) -> p.Plan:
    inputs = tuple(_mapped(i, change) for i in node.inputs)
    return node if all(a is b for a, b in zip(inputs, node.inputs)) else evolve(node, inputs=inputs)


def _generate(node: p.Generate, change: Rewriting) -> p.Plan:
    child, call, generated = _mapped(node.child, change), change(node.call), _each(node.generated, change)
    if child is node.child and call is node.call and generated is node.generated:
        return node
    return evolve(node, child=child, call=call, generated=generated)  # type: ignore[arg-type]


def _named(node: p.Named, change: Rewriting) -> p.Plan:
    child, output = _mapped(node.child, change), _each(node.output, change)
    return node if child is node.child and output is node.output else evolve(node, child=child, output=output)  # type: ignore[arg-type]


def _child_only(node: _OverChild, change: Rewriting) -> p.Plan:
    child = _mapped(node.child, change)
    return node if child is node.child else evolve(node, child=child)


def _ordered(node: p.Ordered, change: Rewriting) -> p.Plan:
    child = _mapped(node.child, change)
    keys = tuple(_key(k, change) for k in node.keys)
    if child is node.child and all(a is b for a, b in zip(keys, node.keys)):
        return node
    return evolve(node, child=child, keys=keys)


def _leaf(node: p.Plan, change: Rewriting) -> p.Plan:
    return node


def _key(key: Sort, change: Rewriting) -> Sort:
    child = change(key.child)
    return key if child is key.child else evolve(key, child=child)


_REBUILD: dict[type, Callable[..., p.Plan]] = {
    p.OneRow: _leaf,
    p.Scan: _leaf,
    p.Values: _leaf,
    p.Project: _project,
    p.Filter: _filter,
    p.Join: _join,
    p.Aggregate: _aggregate,
    p.SetOperation: _set_operation,
    p.Distinct: _child_only,
    p.Named: _named,
    p.Recursion: _child_only,
    p.Pivot: _child_only,
    p.Limit: _child_only,
    p.Script: _child_only,
    p.Generate: _generate,
    p.Ordered: _ordered,
}


def changed(before: p.Plan, after: p.Plan) -> Iterator[tuple[Expr, Expr, Alias | None]]:
    """The pairs of expressions that differ between two plans of the same shape, and the output that they become."""
    if before is after:
        return
    for old, new in zip(before.expressions, after.expressions):
        if old is not new:
            yield _unwrapped(old), _unwrapped(new), old if isinstance(old, Alias) else None
            yield from _in_plans(old, new)
    for old_child, new_child in zip(before.children, after.children):
        yield from changed(old_child, new_child)


def _in_plans(old: Expr, new: Expr) -> Iterator[tuple[Expr, Expr, Alias | None]]:
    """What differs within subqueries. No rule moves a subquery, so that the two plans' subqueries pair up in order."""
    before = [e.plan for e in old.walk() if isinstance(e, Subquery)]
    after = [e.plan for e in new.walk() if isinstance(e, Subquery)]
    for a, b in zip(before, after):
        yield from changed(a, b)


def _unwrapped(expr: Expr) -> Expr:
    while isinstance(expr, (Alias, Sort)) and not isinstance(expr, Column):
        expr = expr.child
    return expr
