"""Two types or schemas side by side: where they differ, at the deepest place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planproof_engine.claim import Path
from planproof_engine.claim import nested_places as nested
from planproof_engine.types import Array, DataType, Map, Struct, drop_lengths


class Difference(NamedTuple):
    """A difference at `path`: what was promised and what was found. Each is None where that side has nothing."""

    path: Path
    promised: str | None
    found: str | None


def type_differences(promised: DataType, found: DataType, path: Path) -> list[Difference]:
    """Where the types differ, flags aside; char and varchar count as strings. Struct fields match by exact name and
    position."""
    return list(_compare_types(drop_lengths(promised), drop_lengths(found), path))


def _compare_types(promised: DataType, found: DataType, path: Path) -> Iterator[Difference]:
    if isinstance(promised, Struct) and isinstance(found, Struct):
        yield from _compare_structs(promised, found, path)
    elif type(promised) is type(found) and isinstance(promised, (Array, Map)):
        for (name, ours, _), (_, theirs, _) in zip(nested(promised), nested(found)):
            yield from _compare_types(ours, theirs, (*path, name))
    elif promised != found:
        yield Difference(path, promised.simple, found.simple)


def _compare_structs(promised: Struct, found: Struct, path: Path) -> Iterator[Difference]:
    if promised.names == found.names:
        for ours, theirs in zip(promised.fields, found.fields):
            yield from _compare_types(ours.type, theirs.type, (*path, ours.name))
        return
    missing = [f for f in promised.fields if f.name not in found.names]
    extra = [f for f in found.fields if f.name not in promised.names]
    yield from (Difference((*path, f.name), f.type.simple, None) for f in missing)
    yield from (Difference((*path, f.name), None, f.type.simple) for f in extra)
    if not missing and not extra:
        yield Difference(path, _describe_order(promised), _describe_order(found))


def _describe_order(struct: Struct) -> str:
    return f"struct fields in the order {', '.join(struct.names)}"


class Flag(NamedTuple):
    """A place whose flags differ. `nullable` is the flag that was found; the promised one is the opposite."""

    path: Path
    nullable: bool


def flag_differences(promised: DataType, found: DataType, path: Path) -> Iterator[Flag]:
    """Where nested flags differ, over the places that both types have."""
    for (name, ours, was), (other, theirs, now) in zip(nested(promised), nested(found)):
        if name != other:
            return
        if was != now:
            yield Flag((*path, name), now)
        yield from flag_differences(ours, theirs, (*path, name))
