"""Rebuilds plans with changed expressions. What nothing changes comes back as the same object."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from planproof.expr import Alias, Column, Expr, Sort
from planproof.plan import nodes as p

Change = Callable[[Expr], Expr]
_OverChild = p.Distinct | p.Named | p.Recursion | p.Limit | p.Generate | p.Script | p.Pivot


def map_expressions(plan: p.Plan, change: Change) -> p.Plan:
    """The plan with `change` applied to every expression that its nodes evaluate, subqueries' plans left out."""
    rebuild = _REBUILD.get(type(plan))
    return rebuild(plan, change) if rebuild is not None else plan


def _each(exprs: tuple[Expr, ...], change: Change) -> tuple[Expr, ...]:
    new = tuple(change(e) for e in exprs)
    return exprs if all(a is b for a, b in zip(new, exprs)) else new


def _project(node: p.Project, change: Change) -> p.Plan:
    child, items = map_expressions(node.child, change), _each(node.items, change)
    return node if child is node.child and items is node.items else replace(node, child=child, items=items)


def _filter(node: p.Filter, change: Change) -> p.Plan:
    child, condition = map_expressions(node.child, change), change(node.condition)
    if child is node.child and condition is node.condition:
        return node
    return replace(node, child=child, condition=condition)


def _join(node: p.Join, change: Change) -> p.Plan:
    left, right = map_expressions(node.left, change), map_expressions(node.right, change)
    condition = None if node.condition is None else change(node.condition)
    if left is node.left and right is node.right and condition is node.condition:
        return node
    return replace(node, left=left, right=right, condition=condition)


def _aggregate(node: p.Aggregate, change: Change) -> p.Plan:
    child = map_expressions(node.child, change)
    groups, items = _each(node.groups, change), _each(node.items, change)
    if child is node.child and groups is node.groups and items is node.items:
        return node
    return replace(node, child=child, groups=groups, items=items)


def _set_operation(node: p.SetOperation, change: Change) -> p.Plan:
    inputs = tuple(map_expressions(i, change) for i in node.inputs)
    return node if all(a is b for a, b in zip(inputs, node.inputs)) else replace(node, inputs=inputs)


def _child_only(node: _OverChild, change: Change) -> p.Plan:
    child = map_expressions(node.child, change)
    return node if child is node.child else replace(node, child=child)


def _ordered(node: p.Ordered, change: Change) -> p.Plan:
    child = map_expressions(node.child, change)
    keys = tuple(_key(k, change) for k in node.keys)
    if child is node.child and all(a is b for a, b in zip(keys, node.keys)):
        return node
    return replace(node, child=child, keys=keys)


def _key(key: Sort, change: Change) -> Sort:
    child = change(key.child)
    return key if child is key.child else replace(key, child=child)


_REBUILD: dict[type, Callable[..., p.Plan]] = {
    p.Project: _project,
    p.Filter: _filter,
    p.Join: _join,
    p.Aggregate: _aggregate,
    p.SetOperation: _set_operation,
    p.Distinct: _child_only,
    p.Named: _child_only,
    p.Recursion: _child_only,
    p.Pivot: _child_only,
    p.Limit: _child_only,
    p.Script: _child_only,
    p.Generate: _child_only,
    p.Ordered: _ordered,
}


def changed(before: p.Plan, after: p.Plan) -> Iterator[tuple[Expr, Expr, str | None]]:
    """The pairs of expressions that differ between two plans of the same shape.

    The third member is the name that Spark made of the expression itself, where the query gave none.
    """
    if before is after:
        return
    for old, new in zip(before.expressions, after.expressions):
        if old is not new:
            made = old.name if isinstance(old, Alias) and not old.explicit else None
            yield _unwrapped(old), _unwrapped(new), made
    for old_child, new_child in zip(before.children, after.children):
        yield from changed(old_child, new_child)


def _unwrapped(expr: Expr) -> Expr:
    while isinstance(expr, Alias | Sort) and not isinstance(expr, Column):
        expr = expr.child
    return expr
