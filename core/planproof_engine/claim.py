"""What a plane that was read hands over: an ordered schema, facts, and how much of the plane was looked at.

Facts are told of places in a schema: every field, element, key and value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import NamedTuple

from planproof_engine import types as dt
from planproof_engine.ground import record
from planproof_engine.schema import PhysicalSchema

Path = tuple[str, ...]
"""A place in a schema: field names, with `element`, `key` and `value` for the levels of arrays and maps."""


def join_path(path: Path) -> str:
    """The path as findings and evidence spell it.

    >>> join_path(("items", "element", "unit price"))
    'items.element.`unit price`'
    """
    return ".".join(dt.quote_if_needed(part) for part in path)


class NestedField(NamedTuple):
    """`is_key`: a map's key, which is never null whatever anybody says."""

    path: Path
    type: dt.DataType
    nullable: bool
    is_key: bool = False

    @property
    def promises(self) -> bool:
        """Whether NOT NULL is a promise here: a map's key could hold no null anyway."""
        return not self.nullable and not self.is_key


def nested_fields(schema: PhysicalSchema) -> Iterator[NestedField]:
    """Every place of a schema, parents first."""
    for f in schema:
        yield from _walk(NestedField((f.name,), f.type, f.nullable))


def _walk(field: NestedField) -> Iterator[NestedField]:
    yield field
    for name, data_type, nullable in nested_places(field.type):
        key = isinstance(field.type, dt.Map) and name == "key"
        yield from _walk(NestedField((*field.path, name), data_type, nullable, key))


def nested_places(t: dt.DataType) -> list[tuple[str, dt.DataType, bool]]:
    """The places directly below a type: name, type, flag."""
    if isinstance(t, dt.Array):
        return [("element", t.element, t.contains_null)]
    if isinstance(t, dt.Map):
        return [("key", t.key, False), ("value", t.value, t.value_contains_null)]
    if isinstance(t, dt.Struct):
        return [(f.name, f.type, f.nullable) for f in t.fields]
    return []


def find_place(schema: PhysicalSchema, spelled: str) -> NestedField | None:
    """The place that a dotted path names, as `join_path` spells it; a top-level name may stand without backticks."""
    exact = next((p for p in nested_fields(schema) if spelled == join_path(p.path)), None)
    return exact or next((p for p in nested_fields(schema) if (spelled,) == p.path), None)


@record(frozen=True, slots=True)
class Facts:
    """Counted over all rows: `rows`, and nulls per place where known. `source` says where the counts come from.

    A count at a nested path counts the nulls inside parents that are there. `too_long` counts values beyond the length
    that a char or varchar promises.
    """

    rows: int | None = None
    nulls: Mapping[Path, int] = field(default_factory=dict)
    files: int | None = None
    source: str = ""
    too_long: Mapping[Path, int] = field(default_factory=dict)


ALL, SAMPLE, PART = "all", "sample", "part"


@record(frozen=True, slots=True)
class Claim:
    """What one plane claims. `looked_at` is `all`, `sample` or `part` (the rest could not be read), `what` says of
    what, for people.

    `facts` hold only what was counted over all rows; what a sample counts is no fact.
    """

    plane: str
    schema: PhysicalSchema
    facts: Facts = field(default_factory=Facts)
    looked_at: str = ALL
    what: str = "the schema, nested places included"
