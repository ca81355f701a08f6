"""Traversals that rebuild expressions. A lambda variable is never taken for a column: they are different nodes.

A subtree that nothing changes comes back as the same object. Plans of subqueries are left alone.
"""

from __future__ import annotations

from collections.abc import Callable

from planproof_engine.expr.nodes import Expr
from planproof_engine.expr.parts import replace_parts

Rewriting = Callable[[Expr], Expr]


def transform_up(expr: Expr, change: Rewriting) -> Expr:
    """The expression with `change` applied to every node, children first."""

    def visit(node: Expr) -> Expr:
        return change(replace_parts(node, Expr, visit))

    return visit(expr)


def transform_down(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """The expression with `change` applied from the top: what it gives is final there, None goes on to the children."""

    def visit(node: Expr) -> Expr:
        found = change(node)
        return found if found is not None else replace_parts(node, Expr, visit)

    return visit(expr)


def rebuild(expr: Expr, change: Rewriting) -> Expr:
    """The expression with `change` applied to its children; itself where none of them changes."""
    return replace_parts(expr, Expr, change)
