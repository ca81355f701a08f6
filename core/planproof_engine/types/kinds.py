"""Abstract types: what a function accepts, where that is more than one type.

Source: `org.apache.spark.sql.types.AbstractDataType`. A kind knows which types it accepts, which concrete type stands
for it when something must be cast to it (None: nothing can be), and its spelling in Spark's messages. And which
collations there are, by name: those of Spark and of ICU.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from planproof_engine.ground import record
from planproof_engine.types import nodes as n


@record(frozen=True, slots=True)
class Kind:
    """A set of types that an argument may have, as messages spell it; `default` is what an untyped NULL becomes."""

    spelling: str
    accepts: Callable[[n.DataType], bool]
    default: n.DataType | None = None


@record(frozen=True, slots=True)
class OneOf:
    """`TypeCollection`: the first member that fits, or to which the input can be cast."""

    members: tuple[Expected, ...]


@record(frozen=True, slots=True)
class ArrayOf:
    """An array whose elements are expected to be so (`AbstractArrayType`)."""

    element: Expected


@record(frozen=True, slots=True)
class MapOf:
    """A map whose keys and values are each expected to be so."""

    key: Expected
    value: Expected


Expected = n.DataType | Kind | OneOf | ArrayOf | MapOf


def _is(*classes: type) -> Callable[[n.DataType], bool]:
    return lambda t: isinstance(t, classes)


ANY = Kind("ANY", lambda t: True)
NUMERIC = Kind("NUMERIC", n.is_numeric, n.DOUBLE)
INTEGRAL = Kind("INTEGRAL", n.is_integral, n.INT)
DECIMAL = Kind("DECIMAL", _is(n.Decimal), n.Decimal(38, 18))
ANY_STRING = Kind("STRING", _is(n.String), n.STRING)
ANY_TIMESTAMP = Kind("TIMESTAMP", lambda t: t in (n.TIMESTAMP, n.TIMESTAMP_NTZ), n.TIMESTAMP)
ANY_MOMENT = Kind("TIMESTAMP", lambda t: ANY_TIMESTAMP.accepts(t) or isinstance(t, n.Nanos), n.TIMESTAMP)
"""Timestamps, those of nanoseconds too."""
ANY_NANOS = Kind("TIMESTAMP_NANOS", _is(n.Nanos))
ANY_TIME = Kind("TIME", _is(n.Time), n.Time(6))
ANY_ARRAY = Kind("ARRAY", _is(n.Array), n.Array(n.VOID, True))
ANY_MAP = Kind("MAP", _is(n.Map), n.Map(n.VOID, n.VOID, True))
DAY_TIME = Kind(
    "INTERVAL DAY TO SECOND", lambda t: isinstance(t, n.Interval) and not t.year_month, n.Interval("day", "second")
)
YEAR_MONTH = Kind(
    "INTERVAL YEAR TO MONTH", lambda t: isinstance(t, n.Interval) and t.year_month, n.Interval("year", "month")
)


def is_atomic(t: n.DataType) -> bool:
    """Spark's AtomicType: everything but void, calendar intervals and the nested types."""
    return not isinstance(t, (n.Array, n.Map, n.Struct)) and t not in (n.VOID, n.CALENDAR_INTERVAL)


def is_orderable(t: n.DataType) -> bool:
    """`RowOrdering.isOrderable`: no map, variant or calendar interval inside arrays and structs."""
    if isinstance(t, (n.Array, n.Struct)):
        return all(is_orderable(child) for child in t.children)
    return not isinstance(t, (n.Map, n.Geo)) and t not in (n.VARIANT, n.CALENDAR_INTERVAL)


def is_datetime(t: n.DataType) -> bool:
    """Whether it is a date or a timestamp of any kind."""
    return t in (n.DATE, n.TIMESTAMP, n.TIMESTAMP_NTZ) or isinstance(t, n.Nanos)


def accepts(expected: Expected, given: n.DataType) -> bool:
    """`AbstractDataType.acceptsType`: true where no cast is needed."""
    if isinstance(expected, Kind):
        return expected.accepts(given)
    if isinstance(expected, OneOf):
        return any(accepts(member, given) for member in expected.members)
    if isinstance(expected, ArrayOf):
        return isinstance(given, n.Array) and accepts(expected.element, given.element)
    if isinstance(expected, MapOf):
        return isinstance(given, n.Map) and accepts(expected.key, given.key) and accepts(expected.value, given.value)
    return n.same_type(expected, given)


def find_concrete(expected: Expected) -> n.DataType | None:
    """`defaultConcreteType`: the type that a cast to `expected` aims at, or None."""
    if isinstance(expected, Kind):
        return expected.default
    if isinstance(expected, OneOf):
        return find_concrete(expected.members[0])
    if isinstance(expected, ArrayOf):
        element = find_concrete(expected.element)
        return element and n.Array(element, True)
    if isinstance(expected, MapOf):
        key, value = find_concrete(expected.key), find_concrete(expected.value)
        return n.Map(key, value, True) if key and value else None
    return expected


def spelling(expected: Expected) -> str:
    """The kind as Spark's messages name it."""
    if isinstance(expected, Kind):
        return expected.spelling
    if isinstance(expected, OneOf):
        return "(" + " or ".join(f'"{spelling(m)}"' for m in expected.members) + ")"
    if isinstance(expected, ArrayOf):
        return f"ARRAY<{spelling(expected.element)}>"
    if isinstance(expected, MapOf):
        return f"MAP<{spelling(expected.key)}, {spelling(expected.value)}>"
    return expected.sql


_LOCALES = (
    "af|am|ar|as|az|be|bg|blo|bn|bo|br|bs|ca|ceb|chr|cs|cy|da|de|dsb|dz|ee|el|en|eo|es|et|fa|ff|fi|fil|fo|fr|fy|ga|gl|"
    "gu|ha|haw|he|hi|hr|hsb|hu|hy|id|ig|is|it|ja|ka|kk|kl|km|kn|ko|kok|ku|ky|lb|lij|lkt|ln|lo|lt|lv|mk|ml|mn|mr|ms|mt|"
    "my|nb|ne|nl|nn|no|nso|om|or|pa|pl|ps|pt|ro|ru|sa|se|si|sk|sl|smn|sq|sr|st|sv|sw|ta|te|th|tk|tn|to|tr|ug|uk|ur|uz|"
    "vi|wae|wo|xh|yi|yo|zh|zu"
)
_COLLATION = re.compile(rf"(UTF8_(BINARY|LCASE)|(UNICODE|{_LOCALES})(_C[IS])?(_A[IS])?)(_RTRIM)?", re.IGNORECASE)


def is_locale(name: str) -> bool:
    """Whether a language of ICU has the name, in any case."""
    return re.fullmatch(_LOCALES, name, re.IGNORECASE) is not None


def is_collation(name: str) -> bool:
    """Whether Spark has a collation of this name, in any case."""
    return _COLLATION.fullmatch(name) is not None
