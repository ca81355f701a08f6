"""How a line of a function table is written, and the small rules that lines have in common."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import Args, Input, NullRule, Signature, TypeRule
from planproof_engine.expr.nodes import Call, Expr, Literal

Table = list[tuple[str, Signature]]
Pretty = Callable[[Expr], str]


def fn(
    names: str,
    /,
    inputs: list[Input] | tuple[Input, ...],
    returns: dt.DataType | TypeRule,
    nullable: NullRule,
    printed: str | None = None,
    **more: Any,
) -> Table:
    """One line. `names` is the name that Spark prints, then its aliases; an alias is printed where `alias=True`. A comma
    stands between functions that differ in nothing but their names.

    `printed` is what Spark prints where that is no name of the function, such as `ACOS` for acos.
    """
    found: Table = []
    for first, *aliases in map(str.split, names.split(",")):
        function = Signature(printed or first, tuple(inputs), returns, nullable, **more)
        found += [(name, function) for name in (first, *aliases)]
    return found


def lines(*tables: Table) -> Table:
    """Several lines as one table."""
    return [line for t in tables for line in t]


def type_of(index: int) -> TypeRule:
    """The result has the type of the argument at `index`."""
    return lambda args, conf: args[index].type


def element(index: int) -> TypeRule:
    """The result has the element type of the array at `index`."""
    return lambda args, conf: array_at(args, index).element


def array_of(index: int, contains_null: bool | None = None) -> TypeRule:
    """The result is an array of what the argument at `index` is, whose nulls it holds where nothing else is said."""

    def rule(args: Args, conf: Conf) -> dt.DataType:
        return dt.Array(args[index].type, args[index].nullable if contains_null is None else contains_null)

    return rule


def array_at(args: Args, index: int = 0) -> dt.Array:
    """The type of an argument that is an array."""
    found = args[index].type
    assert isinstance(found, dt.Array)
    return found


def map_at(args: Args, index: int = 0) -> dt.Map:
    """The type of an argument that is a map."""
    found = args[index].type
    assert isinstance(found, dt.Map)
    return found


def lit(value: int | str | bool) -> Literal:
    """A default argument, printed as Spark prints it."""
    if isinstance(value, str):
        return Literal(value, dt.STRING, value)
    return Literal(value, dt.INT, str(value))


def prints(form: str) -> Callable[[Call, Pretty], str]:
    """Prints a call as `form` says: `{0}` is its first argument."""
    texts = re.split(r"\{(\d)\}", form)

    def show(call: Call, pretty: Pretty) -> str:
        return "".join(pretty(call.args[int(text)]) if at % 2 else text for at, text in enumerate(texts))

    return show


def prints_first(count: int) -> Callable[[Call, Pretty], str]:
    """Prints a call by its name in the query, with no more arguments than `count`."""
    return lambda call, pretty: f"{call.shown}({', '.join(pretty(a) for a in call.args[:count])})"


def binary(symbol: str) -> Callable[[Call, Pretty], str]:
    """Prints a call as `(left symbol right)`."""
    return prints(f"({{0}} {symbol} {{1}})")
