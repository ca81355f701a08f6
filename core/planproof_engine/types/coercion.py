"""Common types and implicit casts, in both ANSI modes.

Source: `AnsiTypeCoercion`, `TypeCoercion` and `TypeCoercionHelper` of Spark's analyzer. Everything here maps types to
types; casting expressions is left to those who build them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import or_

from planproof_engine.ground import Conf
from planproof_engine.types import casts as c
from planproof_engine.types import kinds as k
from planproof_engine.types import nodes as n

Common = Callable[[n.DataType, n.DataType], "n.DataType | None"]


def bound_decimal(precision: int, scale: int) -> n.Decimal:
    """`DecimalType.bounded`: both cut at 38."""
    return n.Decimal(min(precision, 38), min(scale, 38))


def adjust_decimal(precision: int, scale: int) -> n.Decimal:
    """`DecimalType.adjustPrecisionScale`: beyond 38 digits the scale gives way, but one of 6 or less stays."""
    if precision <= 38:
        return n.Decimal(precision, scale)
    whole = precision - scale
    return n.Decimal(38, max(38 - whole, min(scale, 6)))


def wider_decimal(a: n.Decimal, b: n.Decimal, keeps_scale: bool) -> n.Decimal:
    """`DecimalPrecisionTypeCoercion.widerDecimalType` (3.5: `DecimalPrecision`): the whole part of both and, as far as
    38 digits reach, the scale of both. `keeps_scale`: whole digits give way instead (`Conf.keeps_scale`).
    """
    scale = max(a.scale, b.scale)
    whole = max(a.precision - a.scale, b.precision - b.scale)
    return n.Decimal(min(whole + scale, 38), min(scale, 38) if keeps_scale else min(scale, 38 - whole))


def _find_common_nested(a: n.DataType, b: n.DataType, find: Common, conf: Conf) -> n.DataType | None:
    """The common type of two arrays, maps or structs of the same names: looser flags, and no key that may be null."""
    if not n.are_nested_alike(a, b):
        return None
    if (
        isinstance(a, n.Struct)
        and isinstance(b, n.Struct)
        and [*map(conf.name_key, a.names)] != [*map(conf.name_key, b.names)]
    ):
        return None
    children, flags = list[n.DataType](), list[bool]()
    for x, y, nullable in zip(a.children, b.children, _loosest_flags(a, b)):
        found = find(x, y)
        if found is None:
            return None
        children.append(found)
        flags.append(nullable or c.force_nullable(x, found) or c.force_nullable(y, found))
    return None if isinstance(a, n.Map) and flags[0] else n.remake(a, children, flags)


def _loosest_flags(a: n.DataType, b: n.DataType) -> list[bool]:
    return [*map(or_, n.flags_of(a), n.flags_of(b))]


def _wider_interval(a: n.Interval, b: n.Interval) -> n.Interval:
    units = n.YEAR_MONTH_UNITS if a.year_month else n.DAY_TIME_UNITS
    return n.Interval(min(a.start, b.start, key=units.index), max(a.end, b.end, key=units.index))


def wider_moment(a: n.DataType, b: n.DataType) -> n.DataType:
    """Of two different moments the timestamp that holds both: zoned where either is, with the digits of the longer."""
    zoned = any(t == n.TIMESTAMP or (isinstance(t, n.Nanos) and t.zoned) for t in (a, b))
    if digits := [t.precision for t in (a, b) if isinstance(t, n.Nanos)]:
        return n.Nanos(zoned, max(digits))
    return n.TIMESTAMP if zoned else n.TIMESTAMP_NTZ


def _find_tightest_numeric(a: n.DataType, b: n.DataType, ansi: bool) -> n.DataType | None:
    if isinstance(a, n.Decimal) and isinstance(b, n.Decimal):
        return None
    if isinstance(a, n.Decimal) or isinstance(b, n.Decimal):
        decimal, other = (a, b) if isinstance(a, n.Decimal) else (b, a)
        assert isinstance(decimal, n.Decimal)
        return decimal if c.is_wider_decimal(decimal, other) else None
    wider = max(a, b, key=c.NUMERIC_PRECEDENCE.index)
    # An integral beside a float meets at double under ANSI, so that no digit is lost.
    return n.DOUBLE if ansi and wider == n.FLOAT else wider


def find_tightest(a: n.DataType, b: n.DataType, conf: Conf) -> n.DataType | None:
    """`findTightestCommonType`: no precision is lost. Decimals of different precision or scale have no such type."""
    if a == b or b == n.VOID:
        return a
    if a == n.VOID:
        return b
    if n.is_numeric(a) and n.is_numeric(b):
        return _find_tightest_numeric(a, b, conf.ansi)
    if k.is_datetime(a) and k.is_datetime(b):
        return wider_moment(a, b)
    if isinstance(a, n.Time) and isinstance(b, n.Time):
        return n.Time(max(a.precision, b.precision))
    if isinstance(a, n.Geo) and isinstance(b, n.Geo):
        return n.Geo(a.kind, n.ANY_SYSTEM) if a.kind == b.kind else None
    if isinstance(a, n.Interval) and isinstance(b, n.Interval):
        return _wider_interval(a, b) if a.year_month == b.year_month else None
    return _find_common_nested(a, b, lambda x, y: find_tightest(x, y, conf), conf)


def _wider_with_decimal(a: n.DataType, b: n.DataType, conf: Conf) -> n.DataType | None:
    if not (n.is_numeric(a) and n.is_numeric(b)) or not (isinstance(a, n.Decimal) or isinstance(b, n.Decimal)):
        return None
    if a in n.FRACTIONAL_ATOMS or b in n.FRACTIONAL_ATOMS:
        return n.DOUBLE
    return wider_decimal(c.decimal_for(a), c.decimal_for(b), conf.keeps_scale)


def promote_string(a: n.DataType, b: n.DataType) -> n.DataType | None:
    """`AnsiStringPromotionTypeCoercion.findWiderTypeForString`: the type to which a string beside `b` is promoted."""
    if n.is_string(b) and not n.is_string(a):
        a, b = b, a
    if not n.is_string(a):
        return None
    if n.is_string(b):
        return b if _collation(a) == _collation(b) else None
    if n.is_integral(b):
        return n.LONG
    if n.is_numeric(b):
        return n.DOUBLE
    if b == n.VOID:
        return a
    return b if k.is_atomic(b) and not isinstance(b, n.Interval) else None


def _collation(t: n.DataType) -> str:
    return (t.collation if isinstance(t, n.String) else None) or "UTF8_BINARY"


def _promote_to_string(a: n.DataType, b: n.DataType) -> n.DataType | None:
    for text, other in ((a, b), (b, a)):
        if n.is_string(text) and k.is_atomic(other):
            if n.is_string(other):
                return text if _collation(text) == _collation(other) else None
            return text if other not in (n.BINARY, n.BOOLEAN) else None
    return None


def find_wider(a: n.DataType, b: n.DataType, conf: Conf) -> n.DataType | None:
    """`findWiderTypeForTwo`: some loss of precision is allowed, and strings take part."""
    found = find_tightest(a, b, conf) or _wider_with_decimal(a, b, conf)
    if found is None:
        found = promote_string(a, b) if conf.ansi else _promote_to_string(a, b)
    return found or _find_common_nested(a, b, lambda x, y: find_wider(x, y, conf), conf)


def find_wider_without_strings(types: Iterable[n.DataType], conf: Conf) -> n.DataType | None:
    """`findWiderTypeWithoutStringPromotion`, over any number of types."""

    def pair(a: n.DataType, b: n.DataType) -> n.DataType | None:
        return find_tightest(a, b, conf) or _wider_with_decimal(a, b, conf) or _find_common_nested(a, b, pair, conf)

    return _fold(types, pair)


def _fold(types: Iterable[n.DataType], find: Common) -> n.DataType | None:
    found: n.DataType | None = n.VOID
    for t in types:
        if found is None:
            return None
        found = find(found, t)
    return found


def _holds_string(t: n.DataType) -> bool:
    return n.is_string(t) or (isinstance(t, n.Array) and _holds_string(t.element))


def find_common(types: Iterable[n.DataType], conf: Conf) -> n.DataType | None:
    """`findWiderCommonType` of any number of types. With ANSI off strings come first, as Spark orders them."""
    ordered = list(types)
    if not conf.ansi:
        strings = list(dict.fromkeys(t for t in ordered if _holds_string(t)))
        ordered = strings + [t for t in ordered if not _holds_string(t)]
    return _fold(ordered, lambda a, b: find_wider(a, b, conf))


def merge_flags(types: Iterable[n.DataType], conf: Conf) -> n.DataType | None:
    """`findCommonTypeDifferentOnlyInNullFlags`: types equal but for nested flags, merged to the looser flags."""
    ordered = list(types)
    found: n.DataType | None = ordered[0]
    for t in ordered[1:]:
        if found is None:
            return None
        found = _merge_flags(conf, found, t)
    return found


def _merge_flags(conf: Conf, a: n.DataType, b: n.DataType) -> n.DataType | None:
    return a if a == b else _find_common_nested(a, b, partial(_merge_flags, conf), conf)


def merge_union_types(a: n.DataType, b: n.DataType) -> n.DataType | None:
    """`StructType.unionLikeMerge`: the names of `a` and the looser flags of both; of decimals of one scale the longer
    one, of intervals of one kind the one of all units. None for all others.
    """
    if isinstance(a, n.Decimal) and isinstance(b, n.Decimal) and a.scale == b.scale:
        return max(a, b, key=lambda t: t.precision)
    if isinstance(a, n.Interval) and isinstance(b, n.Interval) and a.year_month == b.year_month:
        return _wider_interval(a, b)
    if not n.are_nested_alike(a, b):
        return a if a == b else None
    types = [t for t in map(merge_union_types, a.children, b.children) if t is not None]
    return n.remake(a, types, _loosest_flags(a, b)) if len(types) == len(a.children) else None


def find_implicit(given: n.DataType, expected: k.Expected, *, ansi: bool) -> n.DataType | None:
    """`implicitCast`: the type to which an argument is cast for `expected`; None where it may not be."""
    if k.accepts(expected, given):
        return given
    return _find_implicit_ansi(given, expected) if ansi else _find_implicit_legacy(given, expected)


def _is_string_kind(expected: k.Expected) -> bool:
    return expected is k.ANY_STRING or (isinstance(expected, n.DataType) and n.is_string(expected))


def _find_first(given: n.DataType, expected: k.OneOf, ansi: bool) -> n.DataType | None:
    for member in expected.members:
        if (found := find_implicit(given, member, ansi=ansi)) is not None:
            return found
    return None


def _find_implicit_ansi(given: n.DataType, expected: k.Expected) -> n.DataType | None:
    if isinstance(expected, k.OneOf):
        return _find_first(given, expected, ansi=True)
    if expected is k.DECIMAL and n.is_numeric(given):
        return c.decimal_for(given)
    if n.is_string(given):
        if _is_string_kind(expected):
            return None
        if expected in (k.NUMERIC, k.DECIMAL, k.ANY_TIMESTAMP, k.ANY_MOMENT, k.ANY_TIME) or (
            isinstance(expected, n.DataType) and k.is_atomic(expected)
        ):
            return k.find_concrete(expected)
    if expected is k.INTEGRAL and n.is_numeric(given):
        return None
    if isinstance(expected, k.ArrayOf) and isinstance(given, n.Array):
        element = find_implicit(given.element, expected.element, ansi=True)
        return element and n.Array(element, True)
    aim = k.find_concrete(expected)
    return aim if aim is not None and c.can_store_assign(given, aim) else None


def _find_implicit_legacy(given: n.DataType, expected: k.Expected) -> n.DataType | None:
    if given == n.VOID:
        return k.find_concrete(expected)
    if isinstance(expected, k.OneOf):
        return _find_first(given, expected, ansi=False)
    if expected is k.DECIMAL and n.is_numeric(given):
        return c.decimal_for(given)
    if _is_string_kind(expected):
        return k.find_concrete(expected) if k.is_atomic(given) and not n.is_string(given) else None
    aim = k.find_concrete(expected)
    if n.is_string(given):
        datetime_kind = expected in (k.ANY_TIMESTAMP, k.ANY_MOMENT) or (aim is not None and k.is_datetime(aim))
        to_number = expected in (k.NUMERIC, k.DECIMAL) or (isinstance(expected, n.DataType) and n.is_numeric(expected))
        return aim if datetime_kind or to_number or aim == n.BINARY or isinstance(aim, n.Time) else None
    if n.is_numeric(given) and isinstance(expected, n.DataType) and n.is_numeric(expected):
        return expected
    moment = k.is_datetime(given) or isinstance(given, n.Time)
    if moment and (expected in (k.ANY_TIMESTAMP, k.ANY_MOMENT) or (aim is not None and k.is_datetime(aim))):
        return aim
    return _find_implicit_legacy_nested(given, expected)


def _find_implicit_legacy_nested(given: n.DataType, expected: k.Expected) -> n.DataType | None:
    if isinstance(given, n.Array) and isinstance(expected, (n.Array, k.ArrayOf)):
        element = find_implicit(given.element, expected.element, ansi=False)
        keeps = isinstance(expected, n.Array) and not expected.contains_null
        if keeps and (given.contains_null or (element is not None and c.force_nullable(given.element, element))):
            return None
        return element and n.Array(element, not keeps)
    if isinstance(given, n.Map) and isinstance(expected, (n.Map, k.MapOf)):
        key = find_implicit(given.key, expected.key, ansi=False)
        value = find_implicit(given.value, expected.value, ansi=False)
        if key is None or value is None or c.force_nullable(given.key, key):
            return None
        loose = expected.value_contains_null if isinstance(expected, n.Map) else given.value_contains_null
        if not loose and (given.value_contains_null or c.force_nullable(given.value, value)):
            return None
        return n.Map(key, value, loose)
    return None
