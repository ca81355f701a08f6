"""How a line of a function table is written, and the small rules that lines have in common."""

from __future__ import annotations

from typing import Any

from planproof_engine.conf import Conf
from planproof_engine.expr.function import Args, Input, NullRule, Signature, TypeRule
from planproof_engine.expr.nodes import Call, Literal
from planproof_engine.types import INT, STRING, Array, DataType, Map, as_nullable

Table = list[tuple[str, Signature]]


def fn(
    names: str,
    /,
    inputs: list[Input] | tuple[Input, ...],
    returns: DataType | TypeRule,
    nullable: NullRule,
    printed: str | None = None,
    **more: Any,
) -> Table:
    """One line. `names` is the name that Spark prints, then its aliases; an alias is printed where `alias=True`.

    `printed` is what Spark prints where that is no name of the function, such as `ACOS` for acos.
    """
    first, *_ = names.split()
    function = Signature(printed or first, tuple(inputs), returns, nullable, **more)
    return [(name, function) for name in names.split()]


def lines(*tables: Table) -> Table:
    """Several lines as one table."""
    return [line for t in tables for line in t]


def type_of(index: int) -> TypeRule:
    """The result has the type of the argument at `index`."""
    return lambda args, conf: args[index].type


def element(index: int) -> TypeRule:
    """The result has the element type of the array at `index`."""

    def rule(args: Args, conf: Conf) -> DataType:
        array = args[index].type
        assert isinstance(array, Array)
        return array.element

    return rule


def lit(value: int | str | bool) -> Literal:
    """A default argument, printed as Spark prints it."""
    if isinstance(value, str):
        return Literal(value, STRING, value)
    return Literal(value, INT, str(value))


def binary(symbol: str) -> Any:
    """Prints a call as `(left symbol right)`."""

    def show(call: Call, pretty: Any) -> str:
        return f"({pretty(call.args[0])} {symbol} {pretty(call.args[1])})"

    return show


__all__ = [
    "Array",
    "Map",
    "Table",
    "as_nullable",
    "binary",
    "element",
    "fn",
    "lines",
    "lit",
    "type_of",
]
