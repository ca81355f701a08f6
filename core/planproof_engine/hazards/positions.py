"""Columns and fields of structs that Spark matches by position and not by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planproof_engine import types as dt
from planproof_engine.quoting import quote_name


def find_swapped(wanted: Sequence[str], given: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(place, place in `given` of the name that is wanted there), where the name given there is wanted elsewhere."""
    mine, theirs = [n.lower() for n in wanted], [n.lower() for n in given]
    for at, (name, other) in enumerate(zip(mine, theirs)):
        if name != other and other in mine and name in theirs:
            yield at, theirs.index(name)


def find_swapped_fields(
    source: dt.DataType, target: dt.DataType, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """(path of a field in `target`, the field of `source` whose value it gets)."""
    if isinstance(source, dt.Struct) and isinstance(target, dt.Struct):
        for at, _ in find_swapped(target.names, source.names):
            yield (*path, target.names[at]), source.names[at]
        for old, new in zip(source.fields, target.fields):
            yield from find_swapped_fields(old.type, new.type, (*path, new.name))
    elif isinstance(source, dt.Array) and isinstance(target, dt.Array):
        yield from find_swapped_fields(source.element, target.element, (*path, "element"))
    elif isinstance(source, dt.Map) and isinstance(target, dt.Map):
        yield from find_swapped_fields(source.key, target.key, (*path, "key"))
        yield from find_swapped_fields(source.value, target.value, (*path, "value"))


def make_difference_condition(a: str, b: str) -> str:
    """The condition for which putting one value in the other's place changes a row."""
    return f"NOT (CAST({a} AS STRING) <=> CAST({b} AS STRING))"


def list_difference_conditions(value: str, source: dt.DataType, target: dt.DataType, depth: int = 0) -> Iterator[str]:
    """The conditions for which a value of type `source`, taken as `target` by position, has another field's value."""
    if isinstance(source, dt.Struct) and isinstance(target, dt.Struct):
        inner = [f"{value}.{quote_name(name)}" for name in source.names]
        yield from (
            make_difference_condition(inner[at], inner[other]) for at, other in find_swapped(target.names, source.names)
        )
        for field, old, new in zip(inner, source.fields, target.fields):
            yield from list_difference_conditions(field, old.type, new.type, depth)
    elif isinstance(source, dt.Array) and isinstance(target, dt.Array):
        yield from _list_conditions_within(value, source.element, target.element, depth)
    elif isinstance(source, dt.Map) and isinstance(target, dt.Map):
        yield from _list_conditions_within(f"map_keys({value})", source.key, target.key, depth)
        yield from _list_conditions_within(f"map_values({value})", source.value, target.value, depth)


def _list_conditions_within(values: str, source: dt.DataType, target: dt.DataType, depth: int) -> Iterator[str]:
    element = f"x{depth}"
    found = list(list_difference_conditions(element, source, target, depth + 1))
    if found:
        yield f"coalesce(exists({values}, {element} -> {' OR '.join(found)}), false)"
