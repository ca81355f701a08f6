"""Traversals that rebuild expressions. A lambda variable is never taken for a column: they are different nodes."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_not

from planproof_engine.expr import nodes as x
from planproof_engine.records import evolve

Rewriting = Callable[[x.Expr], x.Expr]
_OverChild = x.Cast | x.GetField | x.GetFieldOfElements | x.Alias | x.LateralReference | x.Sort
Go = Callable[[x.Expr, "Callable[..., x.Expr | None]"], x.Expr]


def transform_up(expr: x.Expr, change: Rewriting) -> x.Expr:
    """The expression with `change` applied to every node, children first.

    A subtree that nothing changes comes back as the same object. Plans of subqueries are left alone.
    """
    rebuild = _REBUILD.get(type(expr))
    return change(rebuild(expr, change, transform_up) if rebuild is not None else expr)


def transform_down(expr: x.Expr, change: Callable[[x.Expr], x.Expr | None]) -> x.Expr:
    """The expression with `change` applied from the top: what it gives is final there, None goes on to the children."""
    found = change(expr)
    if found is not None:
        return found
    rebuild = _REBUILD.get(type(expr))
    return rebuild(expr, change, transform_down) if rebuild is not None else expr


def rebuild(expr: x.Expr, change: Callable[[x.Expr], x.Expr]) -> x.Expr:
    """The expression with `change` applied to its children; itself where none of them changes."""
    rebuilt = _REBUILD.get(type(expr))
    return rebuilt(expr, change, lambda child, apply: apply(child)) if rebuilt is not None else expr


def _each(exprs: tuple[x.Expr, ...], change: Rewriting, go: Go) -> tuple[x.Expr, ...]:
    if not exprs:
        return exprs
    new = [go(e, change) for e in exprs]
    return tuple(new) if any(map(is_not, new, exprs)) else exprs


def _child(expr: _OverChild, change: Rewriting, go: Go) -> x.Expr:
    child = go(expr.child, change)
    return expr if child is expr.child else evolve(expr, child=child)


def _lambda(expr: x.Lambda, change: Rewriting, go: Go) -> x.Expr:
    body = go(expr.body, change)
    return expr if body is expr.body else evolve(expr, body=body)


def _call(expr: x.Call, change: Rewriting, go: Go) -> x.Expr:
    args, order = _each(expr.args, change, go), _each(expr.order, change, go)
    condition = None if expr.filter is None else go(expr.filter, change)
    if args is expr.args and order is expr.order and condition is expr.filter:
        return expr
    return evolve(expr, args=args, order=order, filter=condition)


def _window(expr: x.Window, change: Rewriting, go: Go) -> x.Expr:
    call = go(expr.call, change)
    partition, order = _each(expr.partition, change, go), _each(expr.order, change, go)
    bounds = _each(expr.bounds, change, go)
    if call is expr.call and partition is expr.partition and order is expr.order and bounds is expr.bounds:
        return expr
    return evolve(expr, call=call, partition=partition, order=order, bounds=bounds)  # type: ignore[arg-type]


def _in_subquery(expr: x.InSubquery, change: Rewriting, go: Go) -> x.Expr:
    values = _each(expr.values, change, go)
    return expr if values is expr.values else evolve(expr, values=values)


_REBUILD: dict[type, Callable[..., x.Expr]] = {
    x.Call: _call,
    x.Lambda: _lambda,
    x.Cast: _child,
    x.GetField: _child,
    x.GetFieldOfElements: _child,
    x.Alias: _child,
    x.LateralReference: _child,
    x.Sort: _child,
    x.Window: _window,
    x.InSubquery: _in_subquery,
}
