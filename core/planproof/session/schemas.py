"""Spark's schema JSON as physical schemas."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from planproof_engine.schema import PhysicalField, PhysicalSchema
from planproof_engine.types import Struct, from_json


@lru_cache(maxsize=256)  # A publish meets the same text at plane after plane.
def physical_schema(form: str) -> PhysicalSchema:
    """The schema that `StructType.json` spells, with the types that a query sees (char and varchar are strings)."""
    return _schema(_drop_lengths(json.loads(form)))


def declared_schema(form: str) -> PhysicalSchema:
    """What `physical_schema` gives, with the char and varchar lengths that the fields' metadata keeps."""
    return _schema(json.loads(form))


def filled_columns(form: str) -> tuple[str, ...]:
    """The columns that a file without them holds a value in (`ResolveDefaultColumns.existenceDefaultValues`)."""
    return tuple(f["name"] for f in json.loads(form)["fields"] if "EXISTS_DEFAULT" in f["metadata"])


def _schema(form: Any) -> PhysicalSchema:
    struct = from_json(form)
    assert isinstance(struct, Struct)
    return PhysicalSchema(tuple(PhysicalField(f.name, f.type, f.nullable) for f in struct.fields))


def _drop_lengths(form: Any) -> Any:
    """The form without the lengths of char and varchar. Collations stand in the metadata, too, and stay: a query sees
    them."""
    if isinstance(form, dict):
        return {k: _drop_lengths(v) for k, v in form.items() if k != "__CHAR_VARCHAR_TYPE_STRING"}
    return [_drop_lengths(v) for v in form] if isinstance(form, list) else form
