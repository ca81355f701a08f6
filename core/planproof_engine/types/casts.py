"""Which casts exist, and which of them can lose a value.

Source: `Cast.canCast`, `Cast.canAnsiCast`, `Cast.canANSIStoreAssign`, `Cast.canUpCast` and `Cast.forceNullable`. The
whole matrix is compared with a real Spark in the conformance tests.
"""

from __future__ import annotations

from collections.abc import Callable

from planproof_engine.types import nodes as n

_FOR_NUMERIC: dict[n.DataType, n.Decimal] = {
    n.BYTE: n.Decimal(3, 0),
    n.SHORT: n.Decimal(5, 0),
    n.INT: n.Decimal(10, 0),
    n.LONG: n.Decimal(20, 0),
    n.FLOAT: n.Decimal(14, 7),
    n.DOUBLE: n.Decimal(30, 15),
}
NUMERIC_PRECEDENCE = (n.BYTE, n.SHORT, n.INT, n.LONG, n.FLOAT, n.DOUBLE)


def decimal_for(t: n.DataType) -> n.Decimal:
    """`DecimalType.forType`: the decimal that stands for a numeric type."""
    if isinstance(t, n.Decimal):
        return t
    found = _FOR_NUMERIC.get(t)
    if found is None:
        raise ValueError(f"{t.simple} is not numeric")
    return found


def is_wider_decimal(d: n.Decimal, other: n.DataType) -> bool:
    """`DecimalType.isWiderThan`: every value of `other` fits into `d` exactly."""
    if isinstance(other, n.Decimal):
        return d.precision - d.scale >= other.precision - other.scale and d.scale >= other.scale
    return n.is_integral(other) and is_wider_decimal(d, decimal_for(other))


def is_tighter_decimal(d: n.Decimal, other: n.DataType) -> bool:
    """`DecimalType.isTighterThan`: every value of `d` fits into `other` exactly."""
    if isinstance(other, n.Decimal):
        return d.precision - d.scale <= other.precision - other.scale and d.scale <= other.scale
    if n.is_integral(other):
        limit = decimal_for(other)
        return (
            d.precision - d.scale <= limit.precision - limit.scale - 1
            and d.scale == 0
            and d.precision < limit.precision
        )
    return False


def _can_cast_nested(
    source: n.DataType,
    target: n.DataType,
    allowed: Callable[[n.DataType, n.DataType], bool],
    lost: Callable[[n.DataType, n.DataType], bool],
) -> bool | None:
    """The answer for two arrays, maps or structs; None for any other pair. `lost`: the cast may make a value null."""
    if not (isinstance(source, n.Nested) and type(source) is type(target)):
        return None
    parts = zip(source.children, target.children, n.flags_of(source), n.flags_of(target))
    return n.are_nested_alike(source, target) and all(
        allowed(a, b) and (may_be_null or not (nullable or lost(a, b))) for a, b, nullable, may_be_null in parts
    )


def _cast_family(t: n.DataType) -> str:
    """The family by which the cast tables speak of a type."""
    if n.is_string(t):
        return "string"
    if isinstance(t, n.Decimal):
        return "decimal"
    if isinstance(t, n.Time):
        return "time"
    if isinstance(t, n.Nanos):
        return "nanos"
    if isinstance(t, n.Interval):
        return "year_month" if t.year_month else "day_time"
    if t in n.INTEGRAL:
        return "integral"
    if t in n.FRACTIONAL_ATOMS:
        return "fractional"
    if isinstance(t, (n.Array, n.Map, n.Struct)):
        return "nested"
    return t.simple if isinstance(t, n.Atomic) else "geo"


_ANY_NUMBER = frozenset({"integral", "decimal", "fractional"})
_DATETIMES = ("date", "timestamp", "timestamp_ntz", "nanos", "time")
_ATOMS_FROM_STRING = _ANY_NUMBER | {"string", "binary", "boolean", *_DATETIMES, "interval", "year_month", "day_time"}

_ANSI: dict[str, frozenset[str]] = {
    "string": _ATOMS_FROM_STRING,
    "boolean": _ANY_NUMBER | {"boolean"},
    "integral": _ANY_NUMBER | {"boolean", "timestamp", "year_month", "day_time"},
    "decimal": _ANY_NUMBER | {"boolean", "timestamp", "year_month", "day_time"},
    "fractional": _ANY_NUMBER | {"boolean", "timestamp"},
    "date": frozenset({"date", "timestamp", "timestamp_ntz", "nanos"}),
    "timestamp": _ANY_NUMBER | {*_DATETIMES},
    "timestamp_ntz": frozenset(_DATETIMES),
    "nanos": frozenset(_DATETIMES),
    "time": frozenset({"time", "timestamp", "timestamp_ntz", "nanos", "integral", "decimal"}),
    "binary": frozenset({"binary"}),
    "interval": frozenset({"interval"}),
    "year_month": frozenset({"year_month", "integral", "decimal"}),
    "day_time": frozenset({"day_time", "integral", "decimal"}),
}
"""ANSI casts between families; `void` casts to everything and everything to a string."""

_LEGACY_ONLY: dict[str, frozenset[str]] = {
    "boolean": frozenset({"timestamp"}),
    "integral": frozenset({"binary"}),
    "date": _ANY_NUMBER | {"boolean"},
    "timestamp": frozenset({"boolean"}),
}
"""What `Cast.canCast` allows beyond the ANSI table."""


def _can_cast_from_variant(t: n.DataType) -> bool:
    """`VariantGet.checkDataType`: what a variant can be read as."""
    if isinstance(t, n.Map):
        return n.is_string(t.key) and _can_cast_from_variant(t.value)
    if isinstance(t, (n.Geo, n.Interval)) or t in (n.CALENDAR_INTERVAL, n.VOID):
        return False
    return all(_can_cast_from_variant(child) for child in t.children)


def _can_cast_to_variant(t: n.DataType) -> bool:
    """What casts to a variant: scalars and arrays of them, but no struct, map or interval."""
    if isinstance(t, n.Array):
        return _can_cast_to_variant(t.element)
    return not isinstance(t, (n.Map, n.Struct, n.Interval, n.Geo)) and t not in (n.VOID, n.CALENDAR_INTERVAL)


def can_cast(source: n.DataType, target: n.DataType, *, ansi: bool) -> bool:
    """Whether `CAST(source AS target)` is accepted by the analyzer."""
    if source == target or source == n.VOID:
        return True
    if target == n.VARIANT or source == n.VARIANT:
        return _can_cast_to_variant(source) if target == n.VARIANT else _can_cast_from_variant(target)
    if n.is_string(target):
        return not isinstance(source, n.Geo)
    if isinstance(source, n.Geo) and isinstance(target, n.Geo):
        return _has_same_system(source, target)
    nested = _can_cast_nested(
        source, target, lambda a, b: can_cast(a, b, ansi=ansi), _is_never_lost if ansi else force_nullable
    )
    if nested is not None:
        return nested
    origin, aim = _cast_family(source), _cast_family(target)
    return aim in _ANSI.get(origin, frozenset()) or (not ansi and aim in _LEGACY_ONLY.get(origin, frozenset()))


def can_try_cast(source: n.DataType, target: n.DataType) -> bool:
    """`Cast.canTryCast`: as under ANSI; below an array, a map or a struct as without it."""
    if source == target:
        return True
    nested = _can_cast_nested(source, target, lambda a, b: can_cast(a, b, ansi=False), force_nullable)
    return can_cast(source, target, ansi=True) if nested is None else nested


def _is_never_lost(source: n.DataType, target: n.DataType) -> bool:
    """`Cast.canAnsiCast`: under ANSI a value that does not fit fails the query. An up-cast loses none."""
    return False


def _has_same_system(source: n.Geo, target: n.Geo) -> bool:
    """Geometries and geographies cast where they share the reference system, and to their own kind's ANY."""
    return source.srid == target.srid if source.kind != target.kind else target.srid == n.ANY_SYSTEM


def can_store_assign(source: n.DataType, target: n.DataType) -> bool:
    """`Cast.canANSIStoreAssign`: what INSERT and ANSI implicit casts allow."""
    if source == target or source == n.VOID:
        return True
    if n.is_numeric(source) and n.is_numeric(target):
        return True
    if (nested := _can_cast_nested(source, target, can_store_assign, _is_never_lost)) is not None:
        return nested
    origin, aim = _cast_family(source), _cast_family(target)
    if aim == "string":
        return origin not in ("nested", "geo")
    if isinstance(source, n.Time) and isinstance(target, n.Time):
        return source.precision <= target.precision
    if isinstance(source, n.Nanos) and aim in ("timestamp", "timestamp_ntz", "nanos"):
        return isinstance(target, n.Nanos) and source.precision <= target.precision
    return origin in _DATETIMES and aim in _DATETIMES


def can_up_cast(source: n.DataType, target: n.DataType) -> bool:
    """`UpCastRule.canUpCast`: no value can be lost."""
    if source == target or source == n.VOID:
        return True
    if isinstance(target, n.Decimal) and n.is_numeric(source):
        return is_wider_decimal(target, source)
    if isinstance(source, n.Decimal) and n.is_numeric(target):
        return is_tighter_decimal(source, target)
    if source in NUMERIC_PRECEDENCE and target in NUMERIC_PRECEDENCE:
        return NUMERIC_PRECEDENCE.index(source) <= NUMERIC_PRECEDENCE.index(target)
    if isinstance(source, n.Nanos) and isinstance(target, n.Nanos):
        return source.precision <= target.precision
    origin, aim = _cast_family(source), _cast_family(target)
    if (origin, aim) in _UP or (source, target) in ((n.LONG, n.TIMESTAMP), (n.TIMESTAMP, n.LONG)):
        return True
    if aim == "string":
        return origin not in ("nested", "variant", "geo")
    return bool(_can_cast_nested(source, target, can_up_cast, _is_never_lost))


def cannot_fail(source: n.DataType, target: n.DataType) -> bool:
    """Whether no value fails under ANSI, though it may lose digits (`Cast.castToDouble` and its like)."""
    if may_overflow(source, target):
        return False
    return can_up_cast(source, target) or _cast_family(target) in _TOTAL.get(_cast_family(source), frozenset())


def may_overflow(source: n.DataType, target: n.DataType) -> bool:
    """Whether dates and times far off overflow, with ANSI off as well (`DateTimeUtils.daysToMicros`, `convertTz`)."""
    if (_cast_family(source), _cast_family(target)) in _OVERFLOWING:
        return True
    return len(source.children) == len(target.children) and any(map(may_overflow, source.children, target.children))


_TOTAL: dict[str, frozenset[str]] = {
    "string": frozenset({"binary"}),
    "boolean": frozenset({"integral", "fractional"}),
    "integral": frozenset({"fractional", "boolean"}),
    "decimal": frozenset({"fractional", "boolean"}),
    "fractional": frozenset({"fractional", "boolean"}),
    "timestamp": frozenset({"date"}),
    "timestamp_ntz": frozenset({"date"}),
    "nanos": frozenset({"date"}),
}

_OVERFLOWING = {
    ("date", "timestamp"),
    ("date", "timestamp_ntz"),
    ("timestamp_ntz", "timestamp"),
    ("timestamp", "timestamp_ntz"),
    *((moment, "nanos") for moment in ("date", "timestamp", "timestamp_ntz")),
    *(("nanos", moment) for moment in ("timestamp", "timestamp_ntz", "nanos")),
}

_UP = {*(pair for pair in _OVERFLOWING if pair[0] != "nanos"), ("year_month", "year_month"), ("day_time", "day_time")}


def force_nullable(source: n.DataType, target: n.DataType) -> bool:
    """`Cast.forceNullable`: the cast may turn a value into null (with ANSI off), so its result is nullable."""
    if source == n.VARIANT:
        return target != n.VARIANT
    if source in (n.VOID, target) or (n.is_string(target) and not n.is_string(source)):
        return False
    if n.is_string(source):
        return target != n.BINARY and not n.is_string(target)
    if source == n.TIMESTAMP and target in (n.BYTE, n.SHORT, n.INT):
        return True
    if isinstance(source, n.Time) and target in (n.BYTE, n.SHORT):
        return True
    if target == n.TIMESTAMP and source in (n.FLOAT, n.DOUBLE, n.DATE):
        return source != n.DATE
    if isinstance(source, n.Nanos) or (isinstance(target, n.Nanos) and not isinstance(source, n.Time)):
        return False
    if target == n.DATE:
        return source != n.TIMESTAMP
    if source == n.DATE or target == n.CALENDAR_INTERVAL:
        return True
    if isinstance(target, n.Decimal):
        return not _is_null_safe_decimal(source, target)
    fractional = isinstance(source, n.Decimal) or source in n.FRACTIONAL_ATOMS
    return fractional and target in n.INTEGRAL


def _is_null_safe_decimal(source: n.DataType, target: n.Decimal) -> bool:
    if source == n.BOOLEAN:
        return target.precision - target.scale >= 1
    if isinstance(source, n.Decimal):
        # Rounding may carry over into one more whole digit: 9.9 becomes 10.
        roomier = target.precision - target.scale > source.precision - source.scale
        return roomier or is_wider_decimal(target, source)
    return source in n.INTEGRAL and is_wider_decimal(target, source)
