"""Integers that wrap with ANSI off, where no error and no null shows it; dbt always runs with ANSI off.

A cast to a narrower one: `CAST(99999999999L AS INT)` is 1215752191, `CAST(99999999999.0D AS INT)` is 2147483647. And
arithmetic: `quantity * price` of two ints is an int, and 100000 * 100000 is 1410065408.
"""

from __future__ import annotations

import decimal
import itertools
import math
from collections.abc import Iterator

from planproof_engine import types as dt
from planproof_engine.claim import nested_places
from planproof_engine.expr import Magnitude
from planproof_engine.expr import nodes as x
from planproof_engine.expr.pretty import print_as_written
from planproof_engine.ground import Conf, evolve
from planproof_engine.hazards.definitions import Definitions, walk_branches
from planproof_engine.hazards.loss import LIMIT, find_lost
from planproof_engine.hazards.suspicion import (
    Between,
    Bounds,
    Computed,
    Count,
    Fits,
    OneOf,
    Suspicion,
    find_nothing,
    find_place_in_rows,
    make_warning,
    subject,
)
from planproof_engine.logical.nodes import Aggregate, Project

NARROWED = "PP126"
_FLOATING = (dt.FLOAT, dt.DOUBLE)
_WIDTH = (dt.BYTE, dt.SHORT, dt.INT, dt.LONG)
_DIGITS: dict[dt.DataType, int] = {dt.BYTE: 2, dt.SHORT: 4, dt.INT: 9, dt.LONG: 18}
"""Whole digits that always fit."""


def narrowing(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP126: only over what a source holds, what hands it on, a sum or arithmetic on it: a count, a length or a part of
    a date is small."""
    if conf.ansi:
        return
    for column, expr in definitions.casts(conf):
        if expr.mode == "legacy" and wraps(expr, definitions) and definitions.computes(expr.child):
            name, given, used = print_as_written(expr.child), expr.child.type.simple, expr.type.simple
            does = "is cut to its range" if expr.child.type in _FLOATING else "wraps beyond its range"
            message = f"{subject(column, name)} is {given} and is cast to {used}, which {does} with ANSI off"
            yield Suspicion(
                make_warning(NARROWED, column or name, given, used, message),
                expr.span,
                _count_wrapped(expr, definitions),
            )


def wraps(cast: x.Cast, definitions: Definitions) -> bool:
    """Whether a cast to a narrower integer goes over a value that may not fit."""
    if not narrows(cast.child.type, cast.type):
        return False
    return any(_is_beyond(one, cast.type) for one in definitions.all_of(cast.child)) or may_be_large(
        cast.child, definitions
    )


def _is_beyond(value: x.Expr, target: dt.DataType) -> bool:
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


def may_be_large(expr: x.Expr, definitions: Definitions) -> bool:
    """Whether nothing keeps a value small: a source holds it, or it was made of such."""
    known = definitions.large
    for one in definitions.all_of(expr):
        if id(one) not in known:
            known[id(one)] = one, _is_large(one, definitions)
        if known[id(one)][1]:
            return True
    return False


def _is_large(found: x.Expr, definitions: Definitions) -> bool:
    if definitions.is_stored(found):
        return True
    if isinstance(found, x.Window):
        found = found.call
    if isinstance(found, x.Literal):
        return _is_beyond(found, dt.INT)
    if not isinstance(found, x.Call):
        return isinstance(found, x.Cast) and not found.written and may_be_large(found.child, definitions)
    name, magnitude = found.function.name, found.function.traits.magnitude
    if magnitude is Magnitude.GROWS:
        return any(may_be_large(a, definitions) or (name == "*" and _is_seconds(a, definitions)) for a in found.args)
    return magnitude is Magnitude.LARGE or any(may_be_large(a, definitions) for a in list_handed_on(found))


def list_handed_on(call: x.Call) -> list[x.Expr]:
    """The arguments one of which is the call's value, as it is. A NULL of no type is none."""
    places = call.function.traits.hands_on(len(call.args))
    return [call.args[place] for place in places if call.args[place].type == call.type]


def _is_seconds(expr: x.Expr, definitions: Definitions) -> bool:
    found = definitions.of(expr)
    return isinstance(found, x.Call) and found.function.traits.magnitude is Magnitude.SECONDS


def _compute_whole(value: x.Expr) -> int | None:
    """What a cast to an integer makes of a constant, before it wraps: its whole part; None of what is no number."""
    if not isinstance(value, x.Literal) or not isinstance(value.value, (int, float, decimal.Decimal)):
        return None
    return int(value.value) if math.isfinite(value.value) else None


def _find_fits(cast: x.Cast, definitions: Definitions) -> Fits | None:
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
    return Fits(Between(-wide, wide - 1, (source.relation, column.name)), -limit, limit - 1)


def _count_wrapped(cast: x.Cast, definitions: Definitions) -> Count | None:
    fits, condition = _find_fits(cast, definitions), find_lost("({x})", cast.child.type, cast.type)
    if cast.span is None or condition is None:
        return None if fits is None else Count((-1, -1), "", "values wrap", fits=fits)
    what = "values lie outside of its range" if cast.child.type in _FLOATING else "values wrap"
    grouped = find_place_in_rows(cast.child) is None
    return Count(cast.span, condition.condition, what, fits=fits, cast=True, grouped=grouped)


WRAPPED = "PP136"


def wrapping(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP136: only over what a source holds, what hands it on, or a sum of it, and where the types leave room for it."""
    if conf.ansi or not any(_is_arithmetic(expr) for _, expr in definitions.operations):
        return
    for node in definitions.nodes:
        in_items = isinstance(node, (Project, Aggregate))
        for top in node.expressions:
            if type(top) is x.Column:
                continue
            column = top.name if isinstance(top, x.Alias) else None
            for call, always in _list_trees(top):
                yield from _suspect_wrapping(call, column, always, in_items, definitions)


def _list_trees(expr: x.Expr) -> Iterator[tuple[x.Call, bool]]:
    """The largest pieces of arithmetic of one type, and whether every row of the block computes them.

    Only such a piece's end counts: what wraps within it and comes back has its value.
    """
    inner: set[int] = set()
    for found, always in walk_branches(expr):
        if not _is_arithmetic(found):
            continue
        assert isinstance(found, x.Call)
        inner.update(id(child) for child in found.children if child.type == found.type)
        if id(found) not in inner:
            yield found, always


def _is_arithmetic(expr: x.Expr) -> bool:
    return isinstance(expr, x.Call) and expr.function.traits.wraps and len(expr.args) == 2 and dt.is_integral(expr.type)


def _suspect_wrapping(
    call: x.Call, column: str | None, always: bool, apart: bool, definitions: Definitions
) -> Iterator[Suspicion]:
    """`apart`: it can be counted apart from the query, in the rows that compute it."""
    limit = LIMIT[call.type]
    fits = Fits(_find_bounds(call, definitions), -limit, limit - 1)
    if fits.holds(find_nothing) or not (may_be_large(call, definitions) or fits.is_beyond):
        return
    if not definitions.computes(call) or (fits.is_beyond and not always):
        return  # Whether any row takes the branch is not known.
    fits = evolve(fits, surely=call.span in definitions.sure)
    name, kind = print_as_written(call), call.type.simple
    message = f"{subject(column, name)} is computed as {kind}, which wraps beyond its range with ANSI off"
    span = find_place_in_rows(call) if apart else None
    count = None if span is None else Count(span, "", "values wrap", fits=fits, wide=(-limit, limit - 1))
    finding = make_warning(WRAPPED, column or name, name, kind, message)
    yield Suspicion(finding, call.span, count or Count(call.span or (-1, -1), "", "values wrap", fits=fits))


_MOST_PARTS = 1_000
"""So many parts of a value are looked at: each of a chain of columns may take twice as many as the one before."""


def _find_bounds(expr: x.Expr, definitions: Definitions, parts: Iterator[int] | None = None) -> Bounds:
    """By types: what is no number of a source is taken as small where it is (a count, a length, a part of a date)."""
    parts = itertools.count() if parts is None else parts
    if next(parts) > _MOST_PARTS:
        return Between(-(2**63), 2**63 - 1)
    if isinstance(expr, x.Cast) and dt.is_integral(expr.child.type) and LIMIT[expr.child.type] <= LIMIT[expr.type]:
        return _find_bounds(expr.child, definitions, parts)
    if isinstance(expr, x.Literal) and isinstance(expr.value, int):
        return Between(expr.value, expr.value)
    if _is_arithmetic(expr):
        assert isinstance(expr, x.Call)
        left, right = (_find_bounds(side, definitions, parts) for side in expr.args)
        return Computed(expr.function.name, left, right)
    made = expr.call if isinstance(expr, x.Window) else definitions.of(expr)
    if isinstance(made, x.Call) and dt.is_integral(made.type) and list_handed_on(made):
        return OneOf(tuple(_find_bounds(arg, definitions, parts) for arg in list_handed_on(made)))
    limit = LIMIT.get(expr.type, 2**63)
    if not may_be_large(expr, definitions):
        limit = min(limit, 2**31)
    stored = definitions.find_stored(expr)
    return Between(-limit, limit - 1, stored and (stored[0].relation, stored[1].name))
