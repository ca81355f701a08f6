"""Parquet leaf columns as Spark's types.

Source: `org.apache.spark.sql.execution.datasources.parquet.ParquetToSparkSchemaConverter`, default settings (INT96 is a
timestamp, a bare BINARY is binary, TIMESTAMP without a zone is timestamp_ntz).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

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
    return dt.Struct(tuple(replace(f, type=add_variants(f.type, one)) for f, one in zip(found.fields, forms)))
