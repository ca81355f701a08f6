"""What `DESCRIBE TABLE EXTENDED ... AS JSON` says: a relation with every flag, for clients that have no schema objects.

Source: `DescribeRelationJsonCommand`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from planproof.schema import PhysicalField, PhysicalSchema
from planproof.session.protocol import SparkFailure, StoredTable
from planproof.types import (
    Array,
    Char,
    DataType,
    Decimal,
    Map,
    String,
    Struct,
    StructField,
    TypeSyntaxError,
    Varchar,
    parse_type,
)

Form = Mapping[str, Any]


def relation(name: str, text: str) -> StoredTable:
    """The relation that the statement's one row describes. Raises `SparkFailure` where it cannot be read."""
    try:
        form: Form = json.loads(text)
        fields = tuple(
            PhysicalField(c["name"], _type(c["type"]), bool(c.get("nullable", True))) for c in form["columns"]
        )
    except (KeyError, TypeError, ValueError, TypeSyntaxError) as error:
        raise SparkFailure(f"what Spark says of {name} cannot be read: {error!r}") from error
    kind = str(form.get("type", "")).upper()
    is_table = kind in ("MANAGED", "EXTERNAL")
    provider = form.get("provider")
    return StoredTable(
        name,
        "table" if is_table else "temporary view" if form.get("catalog_name") == "system" else "view",
        PhysicalSchema(fields),
        tuple(map(str, form.get("partition_columns") or ())),
        str(provider).lower() if is_table and provider else None,
        form.get("location") if is_table else None,
        kind == "MANAGED",
        {str(k): str(v) for k, v in (form.get("table_properties") or {}).items()},
        form.get("comment"),
        "num_buckets" in form,
        str(form.get("partition_provider")).lower() == "catalog",
    )


def _type(form: Form) -> DataType:
    read = _READERS.get(form["name"])
    return read(form) if read is not None else parse_type(_SPELLINGS.get(str(form["name"]), str(form["name"])))


def _interval(form: Form) -> DataType:
    if "start_unit" not in form:
        return parse_type("interval")
    start, end = form["start_unit"], form.get("end_unit") or form["start_unit"]
    return parse_type(f"interval {start}" if start == end else f"interval {start} to {end}")


_SPELLINGS = {"timestamp_ltz": "timestamp", "bigint": "bigint", "integer": "int"}
_READERS: dict[str, Callable[[Form], DataType]] = {
    "decimal": lambda f: Decimal(f["precision"], f["scale"]),
    "char": lambda f: Char(f["length"]),
    "varchar": lambda f: Varchar(f["length"]),
    "string": lambda f: String(None if f.get("collation", "UTF8_BINARY") == "UTF8_BINARY" else f["collation"]),
    "interval": _interval,
    "array": lambda f: Array(_type(f["element_type"]), bool(f.get("element_nullable", True))),
    "map": lambda f: Map(_type(f["key_type"]), _type(f["value_type"]), bool(f.get("value_nullable", True))),
    "struct": lambda f: Struct(
        tuple(StructField(x["name"], _type(x["type"]), bool(x.get("nullable", True))) for x in f["fields"])
    ),
}
