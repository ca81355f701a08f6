"""The argument matrix of one function: types x nullability x column or literal, NULL, wrong types, wrong arity."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from specimens import BASES, LITERALS, SPECIMENS, TYPES, spelled

from planproof_engine.analysis.expressions.generators import is_outer
from planproof_engine.conf import Conf
from planproof_engine.expr.function import Category, Coerce, LambdaOf, Many, Mismatch, Signature, kind_of
from planproof_engine.expr.nodes import Call
from planproof_engine.expr.pretty import pretty
from planproof_engine.functions.bind import apply
from planproof_engine.functions.registry import builtin
from planproof_engine.origin import Unknown
from planproof_engine.types import VOID
from planproof_engine.types.kinds import accepts

Args = tuple[str, ...]
"""A call's arguments by their SQL text."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call is: its output columns as (name, type JSON, nullable), or why it is refused, or what is unknown."""

    columns: tuple[tuple[str, Any, bool], ...] = ()
    error: str | None = None
    unknown: str | None = None


def same(ours: Answer, theirs: Answer) -> bool:
    """Where Spark breaks down inside, any refusal agrees, and so does a string of no one collation: it has no JSON."""
    if theirs.error == "INTERNAL_ERROR":
        return bool(ours.unknown or ours.error or "string collate null" in json.dumps(ours.columns))
    return bool(ours.unknown) or ours == theirs


def takes_lambda(function: Signature) -> bool:
    return any(isinstance(place, LambdaOf) for place in function.inputs)


def base(name: str, function: Signature, count: int) -> Args:
    """Good arguments for a call with `count` of them: columns that hold no null."""
    given = BASES.get(name, BASES.get(function.name, ()))[:count]
    places = function.list_inputs(count)[len(given) : count]
    rest = count - len(given) - len(places)
    return (*given, *(_good(place) for place in places), *(("int_nn",) * rest))


def _good(place: Any) -> str:
    expected = kind_of(place)
    for key, data_type in TYPES.items():
        if expected is not None and accepts(expected, data_type):
            return f"{key}_nn" if data_type != VOID else key
    return "int_nn"


def counts(function: Signature) -> list[int]:
    least, most = function.arity()
    return list(range(least, least + 4 if most is None else most + 1))


def matrix(name: str, function: Signature, *, deep: bool = False) -> Iterator[Args]:
    """Every argument list that the sweep tries, without repetition. `deep` pairs all types in the first two places.

    An alias is tried with good arguments only.
    """
    seen: set[Args] = set()
    for args in _good_ones(name, function) if is_alias(name, function) else _all(name, function, deep):
        if args not in seen and fits_sweep(name, args):
            seen.add(args)
            yield args


def is_alias(name: str, function: Signature) -> bool:
    """Whether another name of the same function was registered before this one."""
    registry = builtin()
    return next((n for n in registry if registry.functions[n] is function), name) != name


def _good_ones(name: str, function: Signature) -> Iterator[Args]:
    for count in counts(function):
        yield base(name, function, count)
        yield tuple(_loose(a) for a in base(name, function, count))


_SYNTAX = ("in", "when")
"""Whose grammar asks for enough arguments; as bare functions they fail in ways of their own."""


def _all(name: str, function: Signature, deep: bool) -> Iterator[Args]:
    yield from _good_ones(name, function)
    sizes = counts(function)
    if sizes[0] > 0 and name not in _SYNTAX:
        yield base(name, function, sizes[0] - 1)
    if not any(isinstance(i, Many) for i in function.inputs):
        yield base(name, function, sizes[-1] + 1)
    for count in sizes[:3] if len(sizes) > 3 and function.arity()[1] is None else sizes:
        yield from _varied(base(name, function, count))
    if function.coerce in (Coerce.NONE, Coerce.COMMON) or function.coerces or deep:
        yield from _paired(name, function, sizes, deep)


def _loose(arg: str) -> str:
    return arg[:-3] if arg.endswith("_nn") else arg


def _varied(args: Args) -> Iterator[Args]:
    """Each place in turn holds every column and every literal."""
    for place in range(len(args)):
        for other in (*TYPES, *(f"{t}_nn" for t in TYPES if t != "void"), *(s.sql for s in LITERALS)):
            yield (*args[:place], other, *args[place + 1 :])
    yield tuple("NULL" for _ in args)


_NESTED = ("ints", "ints_full", "strings", "matrix", "matrix_full", "map", "map_full", "struct", "struct_loose")
_FLAT = tuple(t for t in TYPES if not t.startswith(("ints", "matrix", "map", "struct", "strings", "dates", "binaries")))


def _paired(name: str, function: Signature, sizes: list[int], deep: bool) -> Iterator[Args]:
    count = next((c for c in sizes if c >= 2), None)
    if count is None:
        return
    rest = base(name, function, count)[2:]
    few = [*_FLAT, *_NESTED] if deep else [*_FLAT[:10], "lcase", "ym", *_NESTED]
    for left in few:
        for right in few:
            yield (f"{left}_nn" if left != "void" else left, right, *rest)
    for literal in LITERALS:
        for other in few:
            yield (literal.sql, other, *rest)
            yield (other, literal.sql, *rest)


SYMBOLS = frozenset(["+", "-", "*", "/", "%", "=", "<=>", "<", "<=", ">", ">=", "&", "|", "^"])
"""Operators that are swept between two operands."""

_MOMENTS = ("date", "ts", "ntz", "time", "interval", "ym", "dt", "DATE")


def fits_sweep(name: str, args: Args) -> bool:
    """Arithmetic with dates and intervals is resolved before functions are bound, so it is not swept here."""
    if name in SYMBOLS and len(args) != 2:
        return False
    return name not in ("+", "-", "*", "/", "div") or not any(a.startswith(_MOMENTS) for a in args)


def call_sql(name: str, function: Signature, args: Args) -> str:
    if name in SYMBOLS:
        return f"{args[0]} {name} {args[1]}"
    text = f"`{name}`({', '.join(args)})"
    return f"{text} OVER (ORDER BY int_nn)" if function.category is Category.WINDOW else text


def derive(name: str, function: Signature, args: Args, conf: Conf) -> Answer:
    """planproof's answer."""
    try:
        call = apply(function, [SPECIMENS[a].expr for a in args], conf, name if function.alias else None)
        if function.columns is not None:
            columns = function.columns(call.args, conf)
            outer = is_outer(call)
            return Answer(tuple((n, spelled(t), nullable or outer) for n, t, nullable in columns))
        return Answer(((_name(call), spelled(call.type), call.nullable),))
    except Mismatch as refused:
        return Answer(error=refused.full_condition)
    except Unknown as unknown:
        return Answer(unknown=unknown.construct)
    except Exception as crash:
        return Answer(error=f"crash: {type(crash).__name__}: {crash}")


def _name(call: Call) -> str:
    text = pretty(call)
    if call.function.category is Category.WINDOW:
        text += " OVER (ORDER BY int_nn ASC NULLS FIRST "
    return text
