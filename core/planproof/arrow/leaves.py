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

from planproof_engine.types import (
    BINARY,
    BOOLEAN,
    BYTE,
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
    Geo,
    Interval,
    Map,
    String,
    Struct,
    StructField,
    Time,
)

_PLAIN: dict[str, DataType] = {
    "BOOLEAN": BOOLEAN,
    "FLOAT": FLOAT,
    "DOUBLE": DOUBLE,
    "INT96": TIMESTAMP,
    "INT32": INT,
    "INT64": LONG,
    "BYTE_ARRAY": BINARY,
    "FIXED_LEN_BYTE_ARRAY": BINARY,
}
_SIGNED: dict[int, DataType] = {8: BYTE, 16: SHORT, 32: INT, 64: LONG}
_UNSIGNED: dict[int, DataType] = {8: SHORT, 16: INT, 32: LONG, 64: Decimal(20, 0)}
_TIME_DIGITS = {"microseconds": 6, "nanoseconds": 9}
_TEXT = ("String", "Enum", "JSON")


def logical_form(logical_type: Any) -> Mapping[str, Any]:
    """pyarrow's `ParquetLogicalType` as a mapping with `Type` and its parameters."""
    return _parse_form(logical_type.to_json())


@lru_cache(maxsize=256)
def _parse_form(text: str) -> Mapping[str, Any]:
    form: Mapping[str, Any] = json.loads(text)
    return form


def leaf_type(physical: str, form: Mapping[str, Any]) -> DataType:
    """The Spark type of a leaf; one that Spark refuses to read becomes a type that equals none of Spark's."""
    kind = form["Type"]
    if kind in ("None", "Undefined", "Geometry", "Geography", "BSON"):
        return _PLAIN[physical]
    if kind in ("Null", "Unknown"):
        return VOID
    if kind == "Int":
        widths = _SIGNED if form["isSigned"] else _UNSIGNED
        return widths[form["bitWidth"]]
    if kind == "Decimal":
        return Decimal(form["precision"], form["scale"])
    if kind == "Date" and physical == "INT32":
        return DATE
    if kind in _TEXT:
        return STRING
    return _moment_type(physical, form)


def _moment_type(physical: str, form: Mapping[str, Any]) -> DataType:
    unit = form.get("timeUnit")
    if form["Type"] == "Timestamp" and unit in ("microseconds", "milliseconds"):
        return TIMESTAMP if form["isAdjustedToUTC"] else TIMESTAMP_NTZ
    if form["Type"] == "Time" and unit in _TIME_DIGITS and not form["isAdjustedToUTC"]:
        return Time(_TIME_DIGITS[unit])
    detail = f" {unit}" if unit else ""
    name = f"parquet {physical} {form['Type']}{detail}"
    return Atomic(name, name)


def refine_type(found: DataType, stated: DataType) -> DataType:
    """`found` (read from the file's structure) with what only the writer's own schema can tell: intervals, collations,
    variants, geometry. Flags stay `found`'s, and a statement that the structure contradicts is not believed."""
    if isinstance(found, Array) and isinstance(stated, Array):
        return Array(refine_type(found.element, stated.element), found.contains_null)
    if isinstance(found, Map) and isinstance(stated, Map):
        return Map(
            refine_type(found.key, stated.key), refine_type(found.value, stated.value), found.value_contains_null
        )
    if isinstance(found, Struct) and isinstance(stated, Struct) and found.names == stated.names:
        return Struct(
            tuple(
                StructField(f.name, refine_type(f.type, s.type), f.nullable)
                for f, s in zip(found.fields, stated.fields)
            )
        )
    return stated if _is_known_to_writer(found, stated) else found


def _is_known_to_writer(found: DataType, stated: DataType) -> bool:
    if isinstance(stated, Interval):
        return found == (INT if stated.year_month else LONG)
    if isinstance(stated, String):
        return found == STRING
    if isinstance(stated, Geo):
        return found == BINARY
    if isinstance(stated, Time):
        return isinstance(found, Time)
    return stated == VARIANT and isinstance(found, Struct) and {"metadata", "value"} <= set(found.names)


def add_variants(found: DataType, form: Any) -> DataType:
    """`found` (read from the file's structure) with the variants of an Iceberg schema's JSON: its files say of them
    nothing else. Names are not compared: Iceberg spells some otherwise in a file."""
    if form == "variant" and _is_known_to_writer(found, VARIANT):
        return VARIANT
    if not isinstance(form, dict):
        return found
    if isinstance(found, Array):
        return Array(add_variants(found.element, form.get("element")), found.contains_null)
    if isinstance(found, Map):
        value = add_variants(found.value, form.get("value"))
        return Map(add_variants(found.key, form.get("key")), value, found.value_contains_null)
    below = form.get("fields")
    if not isinstance(found, Struct) or not isinstance(below, list) or len(below) != len(found.fields):
        return found
    forms = [one.get("type") if isinstance(one, dict) else None for one in below]
    return Struct(tuple(replace(f, type=add_variants(f.type, one)) for f, one in zip(found.fields, forms)))
