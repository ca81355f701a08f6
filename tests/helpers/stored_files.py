"""Parquet files as other writers leave them, from a case's `files`: {path: {column: [type, values]}}."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_SEPARATOR = re.compile(r", (?![^\[]*\])")
"""Between the fields of a struct, not within a timestamp's brackets."""


def write(folder: Path, files: Mapping[str, Mapping[str, list[Any]]], options: Mapping[str, Any]) -> None:
    """Writes each file below `folder`; `options` are pyarrow's, such as `use_deprecated_int96_timestamps`."""
    for name, columns in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({column: array(*given) for column, given in columns.items()}), path, **options)


def array(spelled: str, values: list[Any]) -> pa.Array:
    t = arrow_type(spelled)
    if pa.types.is_decimal(t):
        values = [Decimal(v) for v in values]
    if pa.types.is_binary(t):
        values = [v.encode() for v in values]
    return pa.array(values, t)


def arrow_type(spelled: str) -> pa.DataType:
    """
    >>> arrow_type("struct<at: timestamp[us, tz=UTC], b: int32>"), arrow_type("decimal(10,2)")
    (StructType(struct<at: timestamp[us, tz=UTC], b: int32>), Decimal128Type(decimal128(10, 2)))
    """
    found = re.fullmatch(r"(\w+)[<(\[](.*)[>)\]]", spelled)
    head, inside = found.groups() if found else (spelled, "")
    if head == "decimal":
        return pa.decimal128(*map(int, inside.split(",")))
    if head == "struct":
        return pa.struct([(n, arrow_type(t)) for n, t in (part.split(": ", 1) for part in _SEPARATOR.split(inside))])
    if head == "list":
        return pa.list_(arrow_type(inside))
    if "tz=" in inside:
        unit, zone = inside.split(", tz=")
        return pa.timestamp(unit, zone)
    return pa.type_for_alias(spelled)
