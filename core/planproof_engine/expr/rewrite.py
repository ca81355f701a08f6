"""Traversals that rebuild expressions. A lambda variable is never taken for a column: they are different nodes.

A subtree that nothing changes comes back as the same object. Plans of subqueries are left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from planproof_engine.expr.nodes import Expr
from planproof_engine.expr.parts import replace_parts

Rewriting = Callable[[Expr], Expr]


def transform_up(expr: Expr, change: Rewriting) -> Expr:
    """The expression with `change` applied to every node, children first."""
    return change(replace_parts(expr, Expr, partial(transform_up, change=change)))


def transform_down(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """The expression with `change` applied from the top: what it gives is final there, None goes on to the children."""
    found = change(expr)
    return found if found is not None else replace_parts(expr, Expr, partial(transform_down, change=change))


def rebuild(expr: Expr, change: Rewriting) -> Expr:
    """The expression with `change` applied to its children; itself where none of them changes."""
    return replace_parts(expr, Expr, change)
