"""A cast to a narrower integer, which wraps with ANSI off.

`CAST(99999999999L AS INT)` is 1215752191, `CAST(99999999999.0D AS INT)` is 2147483647: no error, no null. dbt always
runs with ANSI off.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterator

from planproof.conf import Conf
from planproof.expr.nodes import Call, Cast, Expr, Literal, Window
from planproof.expr.pretty import pretty
from planproof.expr.traits import Magnitude
from planproof.hazards.bounds import Between, Fits, StoredRange
from planproof.hazards.definitions import Definitions
from planproof.hazards.loss import changed
from planproof.hazards.suspicion import Count, Suspicion, in_rows, subject, warning
from planproof.paths import nested
from planproof.types import BYTE, DOUBLE, FLOAT, INT, LONG, SHORT, DataType, Decimal, Map, is_integral

CODE = "PP126"
_FLOATING = (FLOAT, DOUBLE)
_WIDTH = (BYTE, SHORT, INT, LONG)
_DIGITS: dict[DataType, int] = {BYTE: 2, SHORT: 4, INT: 9, LONG: 18}
"""Whole digits that always fit."""
LIMIT: dict[DataType, int] = {BYTE: 2**7, SHORT: 2**15, INT: 2**31, LONG: 2**63}
"""The least whole number that does not fit."""


def narrowing(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """Only over what a source holds, what hands it on, a sum or arithmetic on it: a count, a length or a part of a date
    is small."""
    if conf.ansi:
        return
    for column, expr in definitions.casts(conf):
        if expr.mode == "legacy" and _wraps(expr, definitions) and definitions.computes(expr.child):
            name, given, used = pretty(expr.child), expr.child.type.simple, expr.type.simple
            does = "is cut to its range" if expr.child.type in _FLOATING else "wraps beyond its range"
            message = f"{subject(column, name)} is {given} and is cast to {used}, which {does} with ANSI off"
            yield Suspicion(warning(CODE, column or name, given, used, message), expr.span, _count(expr, definitions))


def _wraps(cast: Cast, definitions: Definitions) -> bool:
    if not _narrows(cast.child.type, cast.type):
        return False
    constant = _whole(cast.child)
    beyond = constant is not None and not -LIMIT[cast.type] <= constant < LIMIT[cast.type]
    return beyond or may_be_large(cast.child, definitions)


def _narrows(source: DataType, target: DataType) -> bool:
    """Inside arrays, maps and structs too, whose fields a cast matches by position."""
    inside = list(zip(nested(source), nested(target)))
    if inside and type(source) is type(target):
        return any(_narrows(ours[1], theirs[1]) for ours, theirs in inside)
    if not is_integral(target):
        return False
    if isinstance(source, Decimal):
        return source.precision - source.scale > _DIGITS[target]
    if source in _FLOATING:
        return True
    return is_integral(source) and _WIDTH.index(source) > _WIDTH.index(target)


def may_be_large(expr: Expr, definitions: Definitions) -> bool:
    """Whether nothing keeps a value small: a source holds it, or it was made of such."""
    if definitions.is_stored(expr):
        return True
    found = definitions.of(expr)
    if isinstance(found, Window):
        found = found.call
    if not isinstance(found, Call):
        return isinstance(found, Cast) and not found.written and may_be_large(found.child, definitions)
    name, magnitude = found.function.name, found.function.traits.magnitude
    if magnitude is Magnitude.GROWS:
        return any(may_be_large(a, definitions) or (name == "*" and _is_seconds(a, definitions)) for a in found.args)
    return magnitude is Magnitude.LARGE or any(may_be_large(a, definitions) for a in handed_on(found))


def handed_on(call: Call) -> list[Expr]:
    """The arguments one of which is the call's value, as it is. A NULL of no type is none."""
    places = call.function.traits.hands_on(len(call.args))
    return [call.args[place] for place in places if call.args[place].type == call.type]


def _is_seconds(expr: Expr, definitions: Definitions) -> bool:
    found = definitions.of(expr)
    return isinstance(found, Call) and found.function.traits.magnitude is Magnitude.SECONDS


def _comparable(t: DataType) -> bool:
    """Whether equality tells that a value came back from a cast: not that of a map, nor of a fraction inside others."""
    inside = [below for _, below, _ in nested(t)]
    return not isinstance(t, Map) and all(_comparable(i) and i not in _FLOATING for i in inside)


def _whole(value: Expr) -> int | None:
    """What a cast to an integer makes of a constant, before it wraps: its whole part; None of what is no number."""
    if not isinstance(value, Literal) or not isinstance(value.value, (int, float, decimal.Decimal)):
        return None
    return int(value.value) if math.isfinite(value.value) else None


def _fits(cast: Cast, definitions: Definitions) -> Fits | None:
    """The whole numbers that fit, where the value is a constant or a source's own column of a wider such type."""
    whole = _whole(cast.child)
    if whole is not None and is_integral(cast.type):
        if cast.span not in definitions.always:
            return None  # Whether any row takes the branch is not known.
        constant, limit = Between(whole, whole), LIMIT[cast.type]
        return Fits(constant, -limit, limit - 1, cast.span in definitions.sure)
    found = definitions.stored(cast.child)
    if found is None or not is_integral(cast.child.type):
        return None
    source, column = found
    wide, limit = LIMIT[cast.child.type], LIMIT[cast.type]
    return Fits(StoredRange(source.relation, column.name, -wide, wide - 1), -limit, limit - 1)


def _count(cast: Cast, definitions: Definitions) -> Count | None:
    within, fits = in_rows(cast.child), _fits(cast, definitions)
    if within is None or cast.span not in definitions.always or not _comparable(cast.child.type):
        return None if fits is None else Count((-1, -1), "", "values wrap", fits=fits)
    if cast.child.type in _FLOATING:
        limit = LIMIT[cast.type]
        outside = f"({{x}}) >= {limit}D OR ({{x}}) <= -{limit + 1}D"
        return Count(within, outside, "values lie outside of its range", fits=fits)
    condition = changed("({x})", cast.child.type, cast.type)
    return Count(within, condition, "values wrap", fits=fits)
