"""Single Python values from Arrow arrays and back, for types of which Spark makes the same values."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_EPOCH = datetime.date(1970, 1, 1).toordinal()


def is_plain(t: pa.DataType) -> bool:
    """Whether `to_pylist` gives the values that Spark hands to a function."""
    return _is_number(t) or _is_text(t) or bool(pa.types.is_date32(t) or pa.types.is_decimal128(t))


def values_of(array: pa.Array) -> list[Any]:
    """The values of a plain type, as `to_pylist` gives them; dates and decimals are made in a fraction of its time."""
    if pa.types.is_date32(array.type):
        return _convert_values(datetime.date.fromordinal, pc.add(array.cast(pa.int32()).cast(pa.int64()), _EPOCH))
    if pa.types.is_decimal128(array.type):
        return _convert_values(Decimal, array.cast(pa.string()))
    return list(array.to_pylist())


def _convert_values(make: Callable[[Any], Any], array: pa.Array) -> list[Any]:
    given = array.to_pylist()
    return [None if v is None else make(v) for v in given] if array.null_count else list(map(make, given))


def array_of(values: Sequence[Any], declared: pa.DataType) -> Any | None:
    """The values as an array of the declared type; None where they are of other classes than it has, which Spark may
    convert or refuse. Raises `pyarrow.ArrowInvalid` for a number that the type does not hold."""
    wanted = _class_of(declared)
    if wanted is None or not set(map(type, values)) <= {wanted, type(None)}:
        return None
    return pa.array(values, declared)


def _class_of(t: pa.DataType) -> type | None:
    if pa.types.is_boolean(t):
        return bool
    if pa.types.is_integer(t):
        return int
    if pa.types.is_floating(t):
        return float
    if _is_text(t):
        return str
    return datetime.date if pa.types.is_date32(t) else None


def _is_number(t: pa.DataType) -> bool:
    return bool(pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_boolean(t))


def _is_text(t: pa.DataType) -> bool:
    return bool(pa.types.is_string(t) or pa.types.is_large_string(t))
