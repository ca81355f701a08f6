"""A cast to a narrower integer, which wraps with ANSI off.

`CAST(99999999999L AS INT)` is 1215752191, `CAST(99999999999.0D AS INT)` is 2147483647: no error, no null. dbt always
runs with ANSI off.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterator

from planproof_engine import types as dt
from planproof_engine.claim import nested_places
from planproof_engine.conf import Conf
from planproof_engine.expr.nodes import Call, Cast, Expr, Literal, Window
from planproof_engine.expr.pretty import pretty
from planproof_engine.expr.traits import Magnitude
from planproof_engine.hazards.bounds import Between, Fits, StoredRange
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.loss import LIMIT, find_lost
from planproof_engine.hazards.suspicion import Count, Suspicion, find_place_in_rows, make_warning, subject

CODE = "PP126"
_FLOATING = (dt.FLOAT, dt.DOUBLE)
_WIDTH = (dt.BYTE, dt.SHORT, dt.INT, dt.LONG)
_DIGITS: dict[dt.DataType, int] = {dt.BYTE: 2, dt.SHORT: 4, dt.INT: 9, dt.LONG: 18}
"""Whole digits that always fit."""


def narrowing(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """Only over what a source holds, what hands it on, a sum or arithmetic on it: a count, a length or a part of a date
    is small."""
    if conf.ansi:
        return
    for column, expr in definitions.casts(conf):
        if expr.mode == "legacy" and wraps(expr, definitions) and definitions.computes(expr.child):
            name, given, used = pretty(expr.child), expr.child.type.simple, expr.type.simple
            does = "is cut to its range" if expr.child.type in _FLOATING else "wraps beyond its range"
            message = f"{subject(column, name)} is {given} and is cast to {used}, which {does} with ANSI off"
            yield Suspicion(
                make_warning(CODE, column or name, given, used, message), expr.span, _count(expr, definitions)
            )


def wraps(cast: Cast, definitions: Definitions) -> bool:
    """Whether a cast to a narrower integer goes over a value that may not fit."""
    if not narrows(cast.child.type, cast.type):
        return False
    return any(_is_beyond(one, cast.type) for one in definitions.all_of(cast.child)) or may_be_large(
        cast.child, definitions
    )


def _is_beyond(value: Expr, target: dt.DataType) -> bool:
    """Whether a constant does not fit."""
    constant = _compute_whole(value)
    return constant is not None and target in LIMIT and not -LIMIT[target] <= constant < LIMIT[target]


def narrows(source: dt.DataType, target: dt.DataType) -> bool:
    """Whether a cast goes to a narrower integer, inside arrays, maps and structs too, whose fields it matches by
    position."""
    inside = list(zip(nested_places(source), nested_places(target)))
    if inside and type(source) is type(target):
        return any(narrows(ours[1], theirs[1]) for ours, theirs in inside)
    if not dt.is_integral(target):
        return False
    if isinstance(source, dt.Decimal):
        return source.precision - source.scale > _DIGITS[target]
    if source in _FLOATING:
        return True
    return dt.is_integral(source) and _WIDTH.index(source) > _WIDTH.index(target)


def may_be_large(expr: Expr, definitions: Definitions) -> bool:
    """Whether nothing keeps a value small: a source holds it, or it was made of such."""
    known = definitions.large
    for one in definitions.all_of(expr):
        if id(one) not in known:
            known[id(one)] = one, _is_large(one, definitions)
        if known[id(one)][1]:
            return True
    return False


def _is_large(found: Expr, definitions: Definitions) -> bool:
    if definitions.is_stored(found):
        return True
    if isinstance(found, Window):
        found = found.call
    if isinstance(found, Literal):
        return _is_beyond(found, dt.INT)
    if not isinstance(found, Call):
        return isinstance(found, Cast) and not found.written and may_be_large(found.child, definitions)
    name, magnitude = found.function.name, found.function.traits.magnitude
    if magnitude is Magnitude.GROWS:
        return any(may_be_large(a, definitions) or (name == "*" and _is_seconds(a, definitions)) for a in found.args)
    return magnitude is Magnitude.LARGE or any(may_be_large(a, definitions) for a in list_handed_on(found))


def list_handed_on(call: Call) -> list[Expr]:
    """The arguments one of which is the call's value, as it is. A NULL of no type is none."""
    places = call.function.traits.hands_on(len(call.args))
    return [call.args[place] for place in places if call.args[place].type == call.type]


def _is_seconds(expr: Expr, definitions: Definitions) -> bool:
    found = definitions.of(expr)
    return isinstance(found, Call) and found.function.traits.magnitude is Magnitude.SECONDS


def _compute_whole(value: Expr) -> int | None:
    """What a cast to an integer makes of a constant, before it wraps: its whole part; None of what is no number."""
    if not isinstance(value, Literal) or not isinstance(value.value, (int, float, decimal.Decimal)):
        return None
    return int(value.value) if math.isfinite(value.value) else None


def _find_fits(cast: Cast, definitions: Definitions) -> Fits | None:
    """The whole numbers that fit, where the value is a constant or a source's own column of a wider such type."""
    behind = definitions.all_of(cast.child)
    whole = _compute_whole(behind[0]) if len(behind) == 1 else None
    if whole is not None and dt.is_integral(cast.type):
        if cast.span not in definitions.always:
            return None  # Whether any row takes the branch is not known.
        constant, limit = Between(whole, whole), LIMIT[cast.type]
        return Fits(constant, -limit, limit - 1, cast.span in definitions.sure)
    found = definitions.find_stored(cast.child)
    if found is None or not dt.is_integral(cast.child.type) or cast.type not in LIMIT:
        return None
    source, column = found
    wide, limit = LIMIT[cast.child.type], LIMIT[cast.type]
    return Fits(StoredRange(source.relation, column.name, -wide, wide - 1), -limit, limit - 1)


def _count(cast: Cast, definitions: Definitions) -> Count | None:
    fits, condition = _find_fits(cast, definitions), find_lost("({x})", cast.child.type, cast.type)
    if cast.span is None or condition is None:
        return None if fits is None else Count((-1, -1), "", "values wrap", fits=fits)
    what = "values lie outside of its range" if cast.child.type in _FLOATING else "values wrap"
    grouped = find_place_in_rows(cast.child) is None
    return Count(cast.span, condition.condition, what, fits=fits, cast=True, grouped=grouped)
