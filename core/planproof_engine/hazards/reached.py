"""Which output columns an expression's value becomes a part of, and which hold it as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planproof_engine.expr.function import Category
from planproof_engine.expr.nodes import (
    Alias,
    Call,
    Cast,
    Column,
    Expr,
    Lambda,
    Literal,
    ScalarSubquery,
    Subquery,
    Window,
)
from planproof_engine.logical.lineage import Trace
from planproof_engine.logical.nodes import Plan
from planproof_engine.types import BOOLEAN


class Reached(NamedTuple):
    """Output columns by name: those of which an expression's value is a part, and those that have a NULL wherever the
    expression has one."""

    columns: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()


def reached(root: Plan) -> dict[int, Reached]:
    """By the identity of each expression of the plan, what becomes of its value. What decides about rows, about groups
    or about a branch alone becomes a part of nothing."""
    made = Trace.of(root).made
    found: dict[int, Reached] = {}
    for column in root.output:
        waiting, seen = [(column.id, True)], set[tuple[int, bool]]()
        while waiting:
            key, alone = waiting.pop()
            if (key, alone) in seen:
                continue
            seen.add((key, alone))
            for expr in made.get(key, ()):
                for part, same in _parts(expr, alone):
                    known = found.get(id(part), Reached())
                    columns = tuple(dict.fromkeys((*known.columns, column.name)))
                    exact = (*known.alone, column.name) if same else known.alone
                    found[id(part)] = Reached(columns, tuple(dict.fromkeys(exact)))
                    waiting += _below(part, same)
    return found


def _below(part: Expr, same: bool) -> Iterator[tuple[int, bool]]:
    if isinstance(part, Column):
        yield part.id, same
    elif isinstance(part, ScalarSubquery):
        yield part.plan.output[0].id, same


def _parts(expr: Expr, alone: bool) -> Iterator[tuple[Expr, bool]]:
    """The expression and those within it whose values reach its own, each with whether its NULL is one there too."""
    yield expr, alone
    if isinstance(expr, (Subquery, Literal)):
        return
    if isinstance(expr, (Alias, Cast)):
        yield from _parts(expr.child, alone)
    elif isinstance(expr, Window):
        yield from _parts(expr.call, False)
    elif isinstance(expr, Lambda):
        yield from _parts(expr.body, False)
    elif isinstance(expr, Call):
        for child, same in _arguments(expr, alone):
            yield from _parts(child, same)
    else:
        for child in expr.children:
            yield from _parts(child, False)


def _arguments(call: Call, alone: bool) -> Iterator[tuple[Expr, bool]]:
    if call.type == BOOLEAN and not call.nullable:
        return  # It asks whether a value is there (`is null`, `<=>`), and has an answer for NULL.
    handed = call.function.traits.hands_on(len(call.args))
    chooses = call.function.category in (Category.SCALAR, Category.OPERATOR) and len(handed) > 0
    for at, child in enumerate(call.args):
        if not chooses:
            yield child, False
        elif at in handed:
            others = [call.args[place] for place in handed if place != at]
            # A constant that stands for a NULL hides it, and a struct holds it.
            hides = any(isinstance(other, Literal) and other.value is not None for other in others)
            yield child, alone and not hides and child.type == call.type
