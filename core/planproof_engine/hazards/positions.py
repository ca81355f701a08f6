"""Columns and fields of structs that Spark matches by position and not by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planproof_engine.quoting import backticked
from planproof_engine.types import Array, DataType, Map, Struct


def swapped(wanted: Sequence[str], given: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(place, place in `given` of the name that is wanted there), where the name given there is wanted elsewhere."""
    mine, theirs = [n.lower() for n in wanted], [n.lower() for n in given]
    for at, (name, other) in enumerate(zip(mine, theirs)):
        if name != other and other in mine and name in theirs:
            yield at, theirs.index(name)


def swapped_fields(source: DataType, target: DataType, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """(path of a field in `target`, the field of `source` whose value it gets)."""
    if isinstance(source, Struct) and isinstance(target, Struct):
        for at, _ in swapped(target.names, source.names):
            yield (*path, target.names[at]), source.names[at]
        for old, new in zip(source.fields, target.fields):
            yield from swapped_fields(old.type, new.type, (*path, new.name))
    elif isinstance(source, Array) and isinstance(target, Array):
        yield from swapped_fields(source.element, target.element, (*path, "element"))
    elif isinstance(source, Map) and isinstance(target, Map):
        yield from swapped_fields(source.key, target.key, (*path, "key"))
        yield from swapped_fields(source.value, target.value, (*path, "value"))


def differ(a: str, b: str) -> str:
    """The condition for which putting one value in the other's place changes a row."""
    return f"NOT (CAST({a} AS STRING) <=> CAST({b} AS STRING))"


def fields_differ(value: str, source: DataType, target: DataType, depth: int = 0) -> Iterator[str]:
    """The conditions for which a value of type `source`, taken as `target` by position, has another field's value."""
    if isinstance(source, Struct) and isinstance(target, Struct):
        inner = [f"{value}.{backticked(name)}" for name in source.names]
        yield from (differ(inner[at], inner[other]) for at, other in swapped(target.names, source.names))
        for field, old, new in zip(inner, source.fields, target.fields):
            yield from fields_differ(field, old.type, new.type, depth)
    elif isinstance(source, Array) and isinstance(target, Array):
        yield from _within(value, source.element, target.element, depth)
    elif isinstance(source, Map) and isinstance(target, Map):
        yield from _within(f"map_keys({value})", source.key, target.key, depth)
        yield from _within(f"map_values({value})", source.value, target.value, depth)


def _within(values: str, source: DataType, target: DataType, depth: int) -> Iterator[str]:
    element = f"x{depth}"
    found = list(fields_differ(element, source, target, depth + 1))
    if found:
        yield f"coalesce(exists({values}, {element} -> {' OR '.join(found)}), false)"
