"""Arrow's types as Spark's.

Source: `org.apache.spark.sql.util.ArrowUtils.fromArrowType` and `pyspark.sql.pandas.types`.
"""

from __future__ import annotations

import pyarrow as pa

from planproof_engine import types as dt
from planproof_engine.schema import PhysicalField, PhysicalSchema

_ATOMS: dict[int, dt.DataType] = {
    pa.lib.Type_NA: dt.VOID,
    pa.lib.Type_BOOL: dt.BOOLEAN,
    pa.lib.Type_INT8: dt.BYTE,
    pa.lib.Type_INT16: dt.SHORT,
    pa.lib.Type_INT32: dt.INT,
    pa.lib.Type_INT64: dt.LONG,
    pa.lib.Type_FLOAT: dt.FLOAT,
    pa.lib.Type_DOUBLE: dt.DOUBLE,
    pa.lib.Type_STRING: dt.STRING,
    pa.lib.Type_LARGE_STRING: dt.STRING,
    pa.lib.Type_STRING_VIEW: dt.STRING,
    pa.lib.Type_BINARY: dt.BINARY,
    pa.lib.Type_LARGE_BINARY: dt.BINARY,
    pa.lib.Type_FIXED_SIZE_BINARY: dt.BINARY,
    pa.lib.Type_BINARY_VIEW: dt.BINARY,
    pa.lib.Type_DATE32: dt.DATE,
    pa.lib.Type_DURATION: dt.Interval("day", "second"),
    pa.lib.Type_INTERVAL_MONTH_DAY_NANO: dt.CALENDAR_INTERVAL,
    pa.lib.Type_TIME64: dt.Time(6),
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


def spark_type(arrow: pa.DataType) -> dt.DataType:
    """The Spark type of an Arrow type; one that Spark does not read becomes a type that equals none of Spark's."""
    t = stored_type(arrow)
    if t.id in _ATOMS:
        return _ATOMS[t.id]
    if pa.types.is_decimal(t):
        return dt.Decimal(t.precision, t.scale)
    if pa.types.is_timestamp(t):
        return dt.TIMESTAMP if t.tz else dt.TIMESTAMP_NTZ
    if is_list(t):
        return dt.Array(spark_type(t.value_type), t.value_field.nullable)
    if pa.types.is_map(t):
        return dt.Map(spark_type(t.key_type), spark_type(t.item_type), t.item_field.nullable)
    if pa.types.is_struct(t):
        return _struct_type(t)
    return dt.Atomic(f"arrow {t}", f"arrow {t}")


def _struct_type(t: pa.StructType) -> dt.DataType:
    fields = [t.field(i) for i in range(t.num_fields)]
    if any((f.metadata or {}).get(b"variant") == b"true" for f in fields):
        return dt.VARIANT
    return dt.Struct(tuple(dt.StructField(f.name, spark_type(f.type), f.nullable) for f in fields))


def physical_schema(schema: pa.Schema) -> PhysicalSchema:
    """The schema that Spark reads in an Arrow schema."""
    return PhysicalSchema(tuple(PhysicalField(f.name, spark_type(f.type), f.nullable) for f in schema))
