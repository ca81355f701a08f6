"""The names that `struct` and `arrays_zip` take over from their arguments."""

from __future__ import annotations

from planproof_engine.expr.nodes import (
    Alias,
    Call,
    Column,
    Expr,
    GetField,
    GetFieldOfElements,
    LateralReference,
    Literal,
    Outer,
    Variable,
)


def given_name(expr: Expr) -> str | None:
    """The name that an expression brings along; None where it has none.

    Source: `CreateStruct.create`, the constructor of `ArraysZip`.
    """
    if isinstance(expr, Alias) and not expr.explicit and isinstance(expr.child, Literal):
        # A part of NULL: its key is its name, as of any other value, unless it is a place.
        last = expr.name[expr.name.rfind("[") + 1 :].rstrip("]`")
        return None if last.isdigit() else last
    if isinstance(expr, (Alias, Column, GetField, GetFieldOfElements, LateralReference, Variable)):
        return expr.name
    if isinstance(expr, Outer):
        return expr.column.name
    if isinstance(expr, Call) and expr.function.name == "getmapvalue":
        key = expr.args[1]
        return key.value if isinstance(key, Literal) and isinstance(key.value, str) else None
    return None
