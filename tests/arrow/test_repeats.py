"""Rows that repeat are found by their bits, and put back where they were."""

from __future__ import annotations

import datetime
import math
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from planproof.arrow.lists import find_distinct

ODD_NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))[0]


def bits(value: Any) -> Any:
    return struct.pack("<d", value) if isinstance(value, float) else value


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.float64(), [0.0, -0.0, None, math.nan, ODD_NAN, 1.5]),
        (pa.float32(), [0.0, -0.0, None, math.inf]),
        (pa.bool_(), [True, None, False]),
        (pa.int32(), [1, None, 0, -1]),
        (pa.string(), ["", None, "a", "A"]),
        (pa.date32(), [datetime.date(1, 1, 1), None]),
        (pa.decimal128(12, 2), [Decimal("1.20"), None, Decimal("0.00")]),
    ],
)
@pytest.mark.parametrize("start", [0, 3])
def test_each_value_is_there_once_in_its_first_order(kind: Any, values: list[Any], start: int) -> None:
    array = pa.array(values * 40, kind).slice(start)
    found = find_distinct([array])
    assert found is not None
    ((once,), places) = found
    assert [bits(v) for v in once.to_pylist()] == [bits(v) for v in array.to_pylist()[: len(values)]]
    assert [bits(v) for v in once.take(places).to_pylist()] == [bits(v) for v in array.to_pylist()]


def test_rows_of_several_arrays_are_told_apart() -> None:
    one, two = pa.array([1, 1, None, None, 1] * 30), pa.array(["a", None, "a", None, "a"] * 30)
    found = find_distinct([one, two, one])
    assert found is not None
    once, places = found
    assert list(zip(*(a.to_pylist() for a in once))) == [
        (1, "a", 1),
        (1, None, 1),
        (None, "a", None),
        (None, None, None),
    ]
    assert places.to_pylist() == [0, 1, 2, 3, 0] * 30


@pytest.mark.parametrize(
    "arrays",
    [
        [pa.array(range(1000))],
        [pa.array([1] * 1000), pa.array(range(1000))],
        [pa.array([[1]] * 1000)],
        [pa.array([{"a": 1}] * 1000), pa.array([1] * 1000)],
        [pa.array([], pa.int64())],
        [],
    ],
    ids=["no repeats", "no repeats together", "lists", "structs", "no rows", "no arguments"],
)
def test_what_does_not_repeat_is_left_alone(arrays: list[Any]) -> None:
    assert find_distinct(arrays) is None


def test_one_row() -> None:
    found = find_distinct([pa.array([7])])
    assert found is None
