"""Arrow's types as Spark's.

Source: `org.apache.spark.sql.util.ArrowUtils.fromArrowType` and `pyspark.sql.pandas.types`.
"""

from __future__ import annotations

import pyarrow as pa

from planproof_engine.schema import PhysicalField, PhysicalSchema
from planproof_engine.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    VOID,
    Array,
    Atomic,
    DataType,
    Decimal,
    Interval,
    Map,
    Struct,
    StructField,
    Time,
)

_ATOMS: dict[int, DataType] = {
    pa.lib.Type_NA: VOID,
    pa.lib.Type_BOOL: BOOLEAN,
    pa.lib.Type_INT8: BYTE,
    pa.lib.Type_INT16: SHORT,
    pa.lib.Type_INT32: INT,
    pa.lib.Type_INT64: LONG,
    pa.lib.Type_FLOAT: FLOAT,
    pa.lib.Type_DOUBLE: DOUBLE,
    pa.lib.Type_STRING: STRING,
    pa.lib.Type_LARGE_STRING: STRING,
    pa.lib.Type_STRING_VIEW: STRING,
    pa.lib.Type_BINARY: BINARY,
    pa.lib.Type_LARGE_BINARY: BINARY,
    pa.lib.Type_FIXED_SIZE_BINARY: BINARY,
    pa.lib.Type_BINARY_VIEW: BINARY,
    pa.lib.Type_DATE32: DATE,
    pa.lib.Type_DURATION: Interval("day", "second"),
    pa.lib.Type_INTERVAL_MONTH_DAY_NANO: CALENDAR_INTERVAL,
    pa.lib.Type_TIME64: Time(6),
}


def is_list(t: pa.DataType) -> bool:
    """True for every spelling of a list; a map is none."""
    return bool(
        pa.types.is_list(t)
        or pa.types.is_large_list(t)
        or pa.types.is_fixed_size_list(t)
        or pa.types.is_list_view(t)
        or pa.types.is_large_list_view(t)
    )


def stored_type(t: pa.DataType) -> pa.DataType:
    """The type below dictionaries and extensions."""
    while isinstance(t, pa.BaseExtensionType) or pa.types.is_dictionary(t):
        t = t.value_type if pa.types.is_dictionary(t) else t.storage_type
    return t


def spark_type(arrow: pa.DataType) -> DataType:
    """The Spark type of an Arrow type; one that Spark does not read becomes a type that equals none of Spark's."""
    t = stored_type(arrow)
    if t.id in _ATOMS:
        return _ATOMS[t.id]
    if pa.types.is_decimal(t):
        return Decimal(t.precision, t.scale)
    if pa.types.is_timestamp(t):
        return TIMESTAMP if t.tz else TIMESTAMP_NTZ
    if is_list(t):
        return Array(spark_type(t.value_type), t.value_field.nullable)
    if pa.types.is_map(t):
        return Map(spark_type(t.key_type), spark_type(t.item_type), t.item_field.nullable)
    if pa.types.is_struct(t):
        return _struct_type(t)
    return Atomic(f"arrow {t}", f"arrow {t}")


def _struct_type(t: pa.StructType) -> DataType:
    fields = [t.field(i) for i in range(t.num_fields)]
    if any((f.metadata or {}).get(b"variant") == b"true" for f in fields):
        return VARIANT
    return Struct(tuple(StructField(f.name, spark_type(f.type), f.nullable) for f in fields))


def physical_schema(schema: pa.Schema) -> PhysicalSchema:
    """The schema that Spark reads in an Arrow schema."""
    return PhysicalSchema(tuple(PhysicalField(f.name, spark_type(f.type), f.nullable) for f in schema))
