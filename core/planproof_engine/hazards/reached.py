"""Which output columns an expression's value becomes a part of, and which hold it as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planproof_engine import types as dt
from planproof_engine.expr.function import Category
from planproof_engine.expr.nodes import (
    Alias,
    Call,
    Cast,
    Column,
    Expr,
    GetField,
    Lambda,
    Literal,
    ScalarSubquery,
    Subquery,
    Window,
)
from planproof_engine.functions.families.constructors import STRUCTS, struct_values
from planproof_engine.logical.lineage import Trace
from planproof_engine.logical.nodes import Plan


class Reached(NamedTuple):
    """Output columns by name: those of which an expression's value is a part, and those that have a NULL wherever the
    expression has one."""

    columns: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()


def find_reached(root: Plan) -> dict[int, Reached]:
    """By the identity of each expression of the plan, what becomes of its value. What decides about rows, about groups
    or about a branch alone becomes a part of nothing."""
    made = Trace.of(root).made
    # Names in the order of the output: the keys of dicts.
    columns: dict[int, dict[str, None]] = {}
    exact: dict[int, dict[str, None]] = {}
    for column in root.output:
        waiting, seen = [_Wanted(column.id, True)], set[_Wanted]()
        while waiting:
            wanted = waiting.pop()
            if wanted in seen:
                continue
            seen.add(wanted)
            for expr in made.get(wanted.column, ()):
                for part, same, path in _list_parts(expr, wanted.alone, wanted.path):
                    columns.setdefault(id(part), {})[column.name] = None
                    if same:
                        exact.setdefault(id(part), {})[column.name] = None
                    waiting += _list_wanted(part, same, path)
    return {part: Reached(tuple(names), tuple(exact.get(part, ()))) for part, names in columns.items()}


class _Wanted(NamedTuple):
    """A column of which the field at `path` is looked at, by the places of fields within fields; all of it where the
    path is empty."""

    column: int
    alone: bool
    path: tuple[int, ...] = ()


def _list_wanted(part: Expr, same: bool, path: tuple[int, ...]) -> Iterator[_Wanted]:
    if isinstance(part, Column):
        yield _Wanted(part.id, same, path)
    elif isinstance(part, ScalarSubquery):
        yield _Wanted(part.plan.output[0].id, same, path)


def _list_parts(expr: Expr, alone: bool, path: tuple[int, ...] = ()) -> Iterator[tuple[Expr, bool, tuple[int, ...]]]:
    """The expression and those within it whose values reach the field at `path` of its own, each with whether its NULL
    is one there too, and which field of it that is."""
    yield expr, alone, path
    if isinstance(expr, (Subquery, Literal)):
        return
    if isinstance(expr, (Alias, Cast)):
        yield from _list_parts(expr.child, alone, path)
    elif isinstance(expr, GetField):
        yield from _list_parts(expr.child, False, (expr.ordinal, *path))
    elif isinstance(expr, Window):
        yield from _list_parts(expr.call, False, path)
    elif isinstance(expr, Lambda):
        yield from _list_parts(expr.body, False)
    elif isinstance(expr, Call) and path and expr.function.name in STRUCTS:
        yield from _list_parts(struct_values(expr)[path[0]], False, path[1:])
    elif isinstance(expr, Call):
        for child, same in _list_arguments(expr, alone):
            yield from _list_parts(child, same, path if child.type == expr.type else ())
    else:
        for child in expr.children:
            yield from _list_parts(child, False)


def _list_arguments(call: Call, alone: bool) -> Iterator[tuple[Expr, bool]]:
    if call.type == dt.BOOLEAN and not call.nullable:
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
