"""Parquet leaf columns, and Arrow's types, as Spark's types.

Sources: `org.apache.spark.sql.execution.datasources.parquet.ParquetToSparkSchemaConverter`, default settings (INT96 is
a timestamp, a bare BINARY is binary, TIMESTAMP without a zone is timestamp_ntz);
`org.apache.spark.sql.util.ArrowUtils.fromArrowType` and `pyspark.sql.pandas.types`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa

from planproof_engine import PhysicalField, PhysicalSchema, evolve
from planproof_engine import types as dt

_PLAIN: dict[str, dt.DataType] = {
    "BOOLEAN": dt.BOOLEAN,
    "FLOAT": dt.FLOAT,
    "DOUBLE": dt.DOUBLE,
    "INT96": dt.TIMESTAMP,
    "INT32": dt.INT,
    "INT64": dt.LONG,
    "BYTE_ARRAY": dt.BINARY,
    "FIXED_LEN_BYTE_ARRAY": dt.BINARY,
}
_SIGNED: dict[int, dt.DataType] = {8: dt.BYTE, 16: dt.SHORT, 32: dt.INT, 64: dt.LONG}
_UNSIGNED: dict[int, dt.DataType] = {8: dt.SHORT, 16: dt.INT, 32: dt.LONG, 64: dt.Decimal(20, 0)}
_TIME_DIGITS = {"microseconds": 6, "nanoseconds": 9}
_TEXT = ("String", "Enum", "JSON")


def logical_form(logical_type: Any) -> Mapping[str, Any]:
    """pyarrow's `ParquetLogicalType` as a mapping with `Type` and its parameters."""
    return _parse_form(logical_type.to_json())


@lru_cache(maxsize=256)
def _parse_form(text: str) -> Mapping[str, Any]:
    form: Mapping[str, Any] = json.loads(text)
    return form


def leaf_type(physical: str, form: Mapping[str, Any]) -> dt.DataType:
    """The Spark type of a leaf; one that Spark refuses to read becomes a type that equals none of Spark's."""
    kind = form["Type"]
    if kind in ("None", "Undefined", "Geometry", "Geography", "BSON"):
        return _PLAIN[physical]
    if kind in ("Null", "Unknown"):
        return dt.VOID
    if kind == "Int":
        widths = _SIGNED if form["isSigned"] else _UNSIGNED
        return widths[form["bitWidth"]]
    if kind == "Decimal":
        return dt.Decimal(form["precision"], form["scale"])
    if kind == "Date" and physical == "INT32":
        return dt.DATE
    if kind in _TEXT:
        return dt.STRING
    return _moment_type(physical, form)


def _moment_type(physical: str, form: Mapping[str, Any]) -> dt.DataType:
    unit = form.get("timeUnit")
    if form["Type"] == "Timestamp" and unit in ("microseconds", "milliseconds"):
        return dt.TIMESTAMP if form["isAdjustedToUTC"] else dt.TIMESTAMP_NTZ
    if form["Type"] == "Time" and unit in _TIME_DIGITS and not form["isAdjustedToUTC"]:
        return dt.Time(_TIME_DIGITS[unit])
    detail = f" {unit}" if unit else ""
    name = f"parquet {physical} {form['Type']}{detail}"
    return dt.Atomic(name, name)


def refine_type(found: dt.DataType, stated: dt.DataType) -> dt.DataType:
    """`found` (read from the file's structure) with what only the writer's own schema can tell: intervals, collations,
    variants, geometry. Flags stay `found`'s, and a statement that the structure contradicts is not believed."""
    if isinstance(found, dt.Array) and isinstance(stated, dt.Array):
        return dt.Array(refine_type(found.element, stated.element), found.contains_null)
    if isinstance(found, dt.Map) and isinstance(stated, dt.Map):
        return dt.Map(
            refine_type(found.key, stated.key), refine_type(found.value, stated.value), found.value_contains_null
        )
    if isinstance(found, dt.Struct) and isinstance(stated, dt.Struct) and found.names == stated.names:
        return dt.Struct(
            tuple(
                dt.StructField(f.name, refine_type(f.type, s.type), f.nullable)
                for f, s in zip(found.fields, stated.fields)
            )
        )
    return stated if _is_known_to_writer(found, stated) else found


def _is_known_to_writer(found: dt.DataType, stated: dt.DataType) -> bool:
    if isinstance(stated, dt.Interval):
        return found == (dt.INT if stated.year_month else dt.LONG)
    if isinstance(stated, dt.String):
        return found == dt.STRING
    if isinstance(stated, dt.Geo):
        return found == dt.BINARY
    if isinstance(stated, dt.Time):
        return isinstance(found, dt.Time)
    return stated == dt.VARIANT and isinstance(found, dt.Struct) and {"metadata", "value"} <= set(found.names)


def add_variants(found: dt.DataType, form: Any) -> dt.DataType:
    """`found` (read from the file's structure) with the variants of an Iceberg schema's JSON: its files say of them
    nothing else. Names are not compared: Iceberg spells some otherwise in a file."""
    if form == "variant" and _is_known_to_writer(found, dt.VARIANT):
        return dt.VARIANT
    if not isinstance(form, dict):
        return found
    if isinstance(found, dt.Array):
        return dt.Array(add_variants(found.element, form.get("element")), found.contains_null)
    if isinstance(found, dt.Map):
        value = add_variants(found.value, form.get("value"))
        return dt.Map(add_variants(found.key, form.get("key")), value, found.value_contains_null)
    below = form.get("fields")
    if not isinstance(found, dt.Struct) or not isinstance(below, list) or len(below) != len(found.fields):
        return found
    forms = [one.get("type") if isinstance(one, dict) else None for one in below]
    return dt.Struct(tuple(evolve(f, type=add_variants(f.type, one)) for f, one in zip(found.fields, forms)))


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
