"""D1: what a sink cannot hold, found before anything runs.

Two columns of one name are an error in every file format and in a view; so are two fields of one struct in a file.
Measured on Spark 4.3 with Parquet: calendar intervals and structs without a field are refused; void, variant, geometry
and ANSI intervals are stored. Iceberg has no type for void and intervals (SparkTypeToType, 1.10).
"""

from __future__ import annotations

from collections.abc import Sequence

from planproof_engine import Finding, PhysicalSchema, Verdict, evolve, fold_name
from planproof_engine.claim import NestedField, Path, join_path, nested_fields
from planproof_engine.origin import shorten_names
from planproof_engine.types import CALENDAR_INTERVAL, VOID, Interval, Struct

_LOGGED = {"iceberg": "Iceberg", "delta": "Delta"}


def check(
    schema: PhysicalSchema,
    format: str = "parquet",
    case_sensitive: bool = False,
    items: Sequence[str | None] = (),
    may_be_cast: bool = False,
) -> list[Finding]:
    """`format` is the file format, or `view`. Names count as equal without case unless `case_sensitive`. `items` are
    the texts of the select items that give the columns, where they are known. `may_be_cast`: the rows may be added to a
    table, whose columns have types of their own: a NULL without a type becomes one of theirs, and is warned of."""
    found = _find_repeated(schema.names, (), case_sensitive, items)
    if format == "view":
        return found
    for field in nested_fields(schema):
        if isinstance(field.type, Struct):
            found += _find_repeated(field.type.names, field.path, case_sensitive)
        if format == "parquet":
            found += _find_unstorable(field)
        if format in _LOGGED:
            untyped = _find_untyped(field, _LOGGED[format])
            found += map(_warn_of_first_run, untyped) if may_be_cast and field.type == VOID else untyped
    return found


def _warn_of_first_run(finding: Finding) -> Finding:
    message = f"{finding.message}; a first run or --full-refresh, which makes the column, is refused"
    return evolve(finding, verdict=Verdict.WARNING, message=message)


def find_untyped(schema: PhysicalSchema, format: str) -> list[Finding]:
    """The columns that a table of the format gets, and has no type for."""
    found = nested_fields(schema) if format in _LOGGED else ()
    return [finding for field in found for finding in _find_untyped(field, _LOGGED[format])]


def _find_repeated(
    names: tuple[str, ...], below: Path, case_sensitive: bool, items: Sequence[str | None] = ()
) -> list[Finding]:
    positions: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        positions.setdefault(fold_name(name, case_sensitive), []).append(i)
    given = items if len(items) == len(names) else [None] * len(names)
    written = [f" ({item})" if item else "" for item in given]
    return [
        _duplicate_finding([names[i] for i in at], [f"{i + 1}{written[i]}" for i in at], below)
        for at in positions.values()
        if len(at) > 1
    ]


_NAMED = 20
"""So many columns of one name are listed."""


def _duplicate_finding(names: list[str], at: list[str], below: Path) -> Finding:
    field = join_path((*below, names[0]))
    inside = f" of the struct {join_path(below)}" if below else ""
    others = len(names) - _NAMED
    names, at = names[:_NAMED], [*at[:_NAMED], *([f"{others} others"] if others > 0 else [])]
    return Finding(
        Verdict.VIOLATED,
        "PP102",
        "analyzed",
        field,
        promised="one column of each name",
        found=", ".join(names),
        message=shorten_names(f"columns {' and '.join(at)}{inside} have one name: {', '.join(names)}"),
    )


def _find_unstorable(field: NestedField) -> list[Finding]:
    if field.type == CALENDAR_INTERVAL:
        return _refuse(field, "Parquet cannot store a calendar interval")
    if isinstance(field.type, Struct) and not field.type.fields:
        return _refuse(field, "Parquet cannot store a struct without fields")
    return []


def _find_untyped(field: NestedField, format: str) -> list[Finding]:
    if field.type in (VOID, CALENDAR_INTERVAL) or isinstance(field.type, Interval):
        return _refuse(field, f"{format} has no type for {field.type.simple}; cast it")
    if isinstance(field.type, Struct) and not field.type.fields:
        return _refuse(field, f"{format}'s files cannot store a struct without fields")
    return []


def _refuse(field: NestedField, why: str) -> list[Finding]:
    path, found = join_path(field.path), field.type.simple
    return [Finding(Verdict.VIOLATED, "PP103", "analyzed", path, found=found, message=f"{path}: {why}")]
