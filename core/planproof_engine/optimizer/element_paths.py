"""Which fields of a lambda's element its body reads, as paths of ordinals.

In `i -> i.price * i.unit.factor` the paths over `i` are `(2,)` and `(4, 0)`, where `price` is the third field of an
element, `unit` the fifth, and `factor` the first field of `unit`.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine.expr import Expr, GetField, Variable

Ordinals = tuple[int, ...]
"""The fields from an element down to a value, each by its place in the struct that holds it."""


def drop_longer(paths: set[Ordinals] | frozenset[Ordinals]) -> frozenset[Ordinals]:
    """The paths without those that another one leads to already."""
    return frozenset(p for p in paths if not any(p[:n] in paths for n in range(1, len(p))))


def _find_uses(body: Expr, variable: Variable) -> Iterator[tuple[Expr, Ordinals | None]]:
    """The uses of the variable: the longest paths over it, and it itself (without a path)."""
    pending = [body]
    while pending:
        expr = pending.pop()
        path = find_path(expr, variable)
        if path is not None or expr == variable:
            yield expr, path
        else:
            pending.extend(expr.children)


def uses_itself(body: Expr, variable: Variable) -> bool:
    """Whether the body uses the variable otherwise than through its fields."""
    return any(path is None for _, path in _find_uses(body, variable))


def find_paths(body: Expr, variable: Variable) -> set[Ordinals]:
    """The fields of the variable that the body reads."""
    return {path for _, path in _find_uses(body, variable) if path is not None}


def find_path(expr: Expr, variable: Variable) -> Ordinals | None:
    """The ordinals from the variable to the expression, where it is a path over it."""
    path: list[int] = []
    while isinstance(expr, GetField):
        path.insert(0, expr.ordinal)
        expr = expr.child
    return tuple(path) if path and expr == variable else None
