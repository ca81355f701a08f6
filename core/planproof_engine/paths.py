"""Places in a schema: every field, element, key and value, with its type and flag."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planproof_engine.claim import Path, dotted
from planproof_engine.schema import PhysicalSchema
from planproof_engine.types import Array, DataType, Map, Struct


class NestedField(NamedTuple):
    """`is_key`: a map's key, which is never null whatever anybody says."""

    path: Path
    type: DataType
    nullable: bool
    is_key: bool = False

    @property
    def promises(self) -> bool:
        """Whether NOT NULL is a promise here: a map's key could hold no null anyway."""
        return not self.nullable and not self.is_key


def nested_fields(schema: PhysicalSchema) -> Iterator[NestedField]:
    """Every place of a schema, parents first."""
    for f in schema:
        yield from _below(NestedField((f.name,), f.type, f.nullable))


def _below(field: NestedField) -> Iterator[NestedField]:
    yield field
    for name, data_type, nullable in nested(field.type):
        key = isinstance(field.type, Map) and name == "key"
        yield from _below(NestedField((*field.path, name), data_type, nullable, key))


def nested(t: DataType) -> list[tuple[str, DataType, bool]]:
    """The places directly below a type: name, type, flag."""
    if isinstance(t, Array):
        return [("element", t.element, t.contains_null)]
    if isinstance(t, Map):
        return [("key", t.key, False), ("value", t.value, t.value_contains_null)]
    if isinstance(t, Struct):
        return [(f.name, f.type, f.nullable) for f in t.fields]
    return []


def find(schema: PhysicalSchema, spelled: str) -> NestedField | None:
    """The place that a dotted path names, as `dotted` spells it; a top-level name may stand without backticks."""
    exact = next((p for p in nested_fields(schema) if spelled == dotted(p.path)), None)
    return exact or next((p for p in nested_fields(schema) if (spelled,) == p.path), None)
