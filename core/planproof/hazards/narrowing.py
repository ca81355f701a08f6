"""A cast to a narrower integer, which wraps with ANSI off.

`CAST(99999999999L AS INT)` is 1215752191, `CAST(99999999999.0D AS INT)` is 2147483647: no error, no null. dbt always
runs with ANSI off.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof.conf import Conf
from planproof.expr.nodes import Call, Cast, Expr, Window
from planproof.expr.pretty import pretty
from planproof.hazards.lineage import Lineage
from planproof.hazards.loss import changed
from planproof.hazards.suspicion import Count, Range, Suspicion, in_rows, told, warning
from planproof.paths import nested
from planproof.types import BYTE, DOUBLE, FLOAT, INT, LONG, SHORT, DataType, Decimal, Map, is_integral

_FLOATING = (FLOAT, DOUBLE)
_WIDTH = (BYTE, SHORT, INT, LONG)
_DIGITS: dict[DataType, int] = {BYTE: 2, SHORT: 4, INT: 9, LONG: 18}
"""Whole digits that always fit."""
_LIMIT: dict[DataType, int] = {BYTE: 2**7, SHORT: 2**15, INT: 2**31, LONG: 2**63}
_GROWS = ("+", "-", "*", "sum", "try_sum", "abs", "round", "bround", "floor", "ceil")
_LARGE = ("unix_millis", "unix_micros", "xxhash64", "crc32", "monotonically_increasing_id")
_SECONDS = ("unix_timestamp", "to_unix_timestamp", "unix_seconds")
"""Numbers of today that fit an int, and do not once they are multiplied."""
_HANDS_ON = (
    *("coalesce", "nvl", "ifnull", "nvl2", "if", "case", "when", "greatest", "least", "nullif"),
    *("max", "min", "any_value", "first", "first_value", "last", "last_value", "lag", "lead"),
)
"""Functions that give one of their arguments as it is."""


def narrowing(lineage: Lineage, conf: Conf) -> Iterator[Suspicion]:
    """Only over what a source holds, what hands it on, a sum or arithmetic on it: a count, a length or a part of a date
    is small."""
    if conf.ansi:
        return
    for column, expr in lineage.casts(conf):
        if expr.mode == "legacy" and _wraps(expr, lineage):
            name, given, used = pretty(expr.child), expr.child.type.simple, expr.type.simple
            does = "is cut to its range" if expr.child.type in _FLOATING else "wraps beyond its range"
            message = f"{told(column, name)} is {given} and is cast to {used}, which {does} with ANSI off"
            yield Suspicion(warning("PP126", column or name, given, used, message), expr.span, _count(expr, lineage))


def _wraps(cast: Cast, lineage: Lineage) -> bool:
    return _narrows(cast.child.type, cast.type) and _may_be_large(cast.child, lineage)


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


def _may_be_large(expr: Expr, lineage: Lineage) -> bool:
    if lineage.is_stored(expr):
        return True
    found = lineage.definition(expr)
    if isinstance(found, Window):
        found = found.call
    if not isinstance(found, Call):
        return isinstance(found, Cast) and not found.written and _may_be_large(found.child, lineage)
    name = found.function.name
    if name in _GROWS:
        return any(_may_be_large(a, lineage) or (name == "*" and _is_seconds(a, lineage)) for a in found.args)
    # A condition, or a place to look at, has another type.
    handed = [a for a in found.args if a.type == found.type] if name in _HANDS_ON else ()
    return name in _LARGE or any(_may_be_large(a, lineage) for a in handed)


def _is_seconds(expr: Expr, lineage: Lineage) -> bool:
    found = lineage.definition(expr)
    return isinstance(found, Call) and found.function.name in _SECONDS


def _comparable(t: DataType) -> bool:
    """Whether equality tells that a value came back from a cast: not that of a map, nor of a fraction inside others."""
    inside = [below for _, below, _ in nested(t)]
    return not isinstance(t, Map) and all(_comparable(i) and i not in _FLOATING for i in inside)


def _harmless(cast: Cast, lineage: Lineage) -> Range | None:
    """The whole numbers that fit, where the value is a source's own column of a wider such type."""
    found = lineage.stored(cast.child)
    if found is None or not is_integral(cast.child.type):
        return None
    source, column = found
    return Range(source.relation, column.name, -_LIMIT[cast.type], _LIMIT[cast.type] - 1)


def _count(cast: Cast, lineage: Lineage) -> Count | None:
    within = in_rows(cast.child)
    if within is None or not _comparable(cast.child.type):
        return None
    if cast.child.type in _FLOATING:
        limit = _LIMIT[cast.type]
        return Count(within, f"({{x}}) >= {limit}D OR ({{x}}) <= -{limit + 1}D", "values lie outside of its range")
    condition = changed("({x})", cast.child.type, cast.type)
    return Count(within, condition, "values wrap", harmless=_harmless(cast, lineage))
