"""Plain values: what Arrow's own conversion gives is what Spark's gives, value for value and class for class."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.conversion import ArrowTableToRowsConversion, LocalDataToArrowConversion
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructType,
)

from planproof.arrow.lists import array_of, is_plain, values_of

VALUES: list[tuple[DataType, list[Any]]] = [
    (BooleanType(), [True, None, False]),
    (ByteType(), [-128, None, 127]),
    (IntegerType(), [2**31 - 1, -(2**31), None]),
    (LongType(), [2**63 - 1, None, 2**53 + 1]),
    (FloatType(), [1.5, None, math.inf]),
    (DoubleType(), [0.1, -0.0, None, -math.inf]),
    (StringType(), ["", "ä\x00", None, "x" * 300]),
    (DateType(), [datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31)]),
    (DecimalType(12, 2), [Decimal("1.20"), None, Decimal("-0.00")]),
    (DecimalType(38, 38), [Decimal("1E-38"), None, Decimal("-0." + "9" * 38)]),
    (DecimalType(38, 0), [Decimal("9" * 38), None, Decimal(0)]),
]
by_type = pytest.mark.parametrize(("kind", "values"), VALUES, ids=[k.simpleString() for k, _ in VALUES])


def spark_array(kind: DataType, values: list[Any]) -> Any:
    made = LocalDataToArrowConversion.convert([(v,) for v in values], StructType().add("v", kind), False)
    return made.column(0).combine_chunks()


def same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and repr(one) == repr(other)


@by_type
@pytest.mark.parametrize("part", [slice(0, None), slice(1, 3)], ids=["whole", "sliced"])
def test_values_are_those_that_spark_hands_over(kind: DataType, values: list[Any], part: slice) -> None:
    array = spark_array(kind, values)[part]
    rows = ArrowTableToRowsConversion.convert(pa.table([array], names=["v"]), StructType().add("v", kind))
    assert is_plain(array.type)
    assert all(same(one, row[0]) for one, row in zip(values_of(array), rows, strict=True))


@by_type
def test_an_array_of_values_is_the_one_that_spark_makes(kind: DataType, values: list[Any]) -> None:
    wanted = spark_array(kind, values)
    made = array_of(values, wanted.type)
    assert made is None if kind.typeName() == "decimal" else made.equals(wanted)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.float64(), [1.5, 2]),
        (pa.int32(), [True, 1]),
        (pa.string(), ["a", 1]),
        (pa.date32(), [datetime.datetime(2020, 1, 1, 1)]),
        (pa.decimal128(12, 2), [Decimal(1)]),
        (pa.list_(pa.int32()), [[1]]),
    ],
)
def test_values_of_other_classes_are_left_to_spark(kind: Any, values: list[Any]) -> None:
    assert array_of(values, kind) is None


def test_a_number_that_the_type_does_not_hold_is_refused() -> None:
    with pytest.raises(pa.ArrowInvalid):
        array_of([2**31], pa.int32())


@pytest.mark.parametrize("kind", [pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.list_(pa.int32()), pa.binary()])
def test_types_that_spark_converts_are_not_plain(kind: Any) -> None:
    assert not is_plain(kind)
