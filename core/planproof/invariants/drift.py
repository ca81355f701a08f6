"""Drift: what older files of a table store, against the table as it is registered and as it is written now.

Spark reads a file's columns by name, without case unless the session says otherwise, nested fields too; their order
does not matter. A column that a file does not have reads as null. Types must be the same, or be widened as the file is
read. A timestamp with a zone beside one without is read with a shift.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planproof.arrow.footers import Footer, InPath
from planproof.invariants.file_schemas import merge_findings
from planproof.invariants.registered import is_widened
from planproof_engine import Finding, Verdict, schema
from planproof_engine import types as dt
from planproof_engine.claim import Path, join_path

_BOTH: set[dt.DataType] = {dt.TIMESTAMP, dt.TIMESTAMP_NTZ}
_DIGITS: dict[dt.DataType, int] = {dt.BYTE: 3, dt.SHORT: 5, dt.INT: 10, dt.LONG: 20}


def check(
    now: schema.PhysicalSchema,
    footers: Sequence[Footer],
    partition_by: Sequence[str] = (),
    case_sensitive: bool = False,
    filled: Sequence[str] = (),
) -> list[Finding]:
    """Each stored file against the schema that the table has, or that the model writes, now. A file need not have the
    columns that are `filled` with a default.

    Violated where a reader fails, or reads other values than were written; a warning where it reads nulls, widens, or
    does not see what the file holds.
    """
    away, optional = schema.ColumnNames(partition_by), schema.ColumnNames(filled)
    wanted = schema.drop_columns(now, partition_by)
    found: list[tuple[Finding, int]] = []
    for footer in footers:
        if footer.rows:
            held = schema.ColumnNames(footer.schema.names)
            expected = [f for f in wanted if f.name in held or f.name not in optional]
            found += [(finding, footer.files) for finding in _compare_file(expected, footer, case_sensitive)]
            found += [(finding, footer.files) for finding in _find_unread(wanted, footer, away)]
            if not case_sensitive:
                found += [(finding, footer.files) for finding in _find_ambiguous(wanted, footer)]
    return merge_findings(found)


def _compare_file(wanted: Sequence[schema.PhysicalField], footer: Footer, case_sensitive: bool) -> Iterator[Finding]:
    stored = schema.by_name(footer.schema)
    for f in wanted:
        held = stored.get(f.name)
        if held is None:
            yield _missing_finding(footer, (f.name,), f.type, f.nullable)
            continue
        if held.name != f.name:
            who = (
                "this session is case-sensitive and reads null"
                if case_sensitive
                else "a case-sensitive session reads null"
            )
            message = f"{footer.name}: {f.name} is stored as {held.name}; {who}"
            verdict = Verdict.VIOLATED if case_sensitive else Verdict.WARNING
            yield _finding(verdict, (f.name,), f.name, held.name, message)
        yield from _compare_types(dt.drop_lengths(f.type), held.type, (f.name,), footer)


def _find_unread(wanted: Sequence[schema.PhysicalField], footer: Footer, away: schema.ColumnNames) -> Iterator[Finding]:
    known = schema.ColumnNames(f.name for f in wanted) | away
    for f in footer.schema:
        if f.name not in known:
            yield _extra_finding((f.name,), f.type, footer)


def _find_ambiguous(wanted: Sequence[schema.PhysicalField], footer: Footer) -> Iterator[Finding]:
    """Names that a session without case cannot tell apart: Spark refuses to read such a column."""
    for f in wanted:
        held = [name for name in footer.schema.names if schema.fold_name(name) == schema.fold_name(f.name)]
        if len(held) > 1:
            message = f"{footer.name} stores {' and '.join(held)}: Spark cannot tell which of them {f.name} is"
            yield _finding(Verdict.VIOLATED, (f.name,), f.name, ", ".join(held), message)


def check_paths(footers: Sequence[Footer], partition_by: Sequence[str]) -> list[Finding]:
    """Partition columns that stand in the files too: readers take the path's value, whatever the file holds. Files that
    say the same are healthy."""
    away = schema.ColumnNames(partition_by)
    found: list[tuple[Finding, int]] = []
    for footer in footers:
        last = schema.ByColumn((p.column, p) for p in footer.in_path)
        found += [(_path_finding(footer, p), footer.files) for name, p in last.items() if name in away and not p.agrees]
    return merge_findings(found)


def _path_finding(footer: Footer, place: InPath) -> Finding:
    said = f"{footer.name} lies below {place.column}={place.value}, which readers take, and holds {place.stored}"
    verdict = Verdict.WARNING if place.agrees is None else Verdict.VIOLATED
    return _finding(verdict, (place.column,), place.value, place.stored, f"{said} in {place.column} itself")


def _compare_types(now: dt.DataType, stored: dt.DataType, path: Path, footer: Footer) -> Iterator[Finding]:
    if isinstance(now, dt.Struct) and isinstance(stored, dt.Struct):
        yield from _compare_structs(now, stored, path, footer)
    elif isinstance(now, dt.Array) and isinstance(stored, dt.Array):
        yield from _compare_types(now.element, stored.element, (*path, "element"), footer)
    elif isinstance(now, dt.Map) and isinstance(stored, dt.Map):
        yield from _compare_types(now.key, stored.key, (*path, "key"), footer)
        yield from _compare_types(now.value, stored.value, (*path, "value"), footer)
    elif now != stored:
        yield _compare_leaf(now, stored, path, footer)


def _compare_structs(now: dt.Struct, stored: dt.Struct, path: Path, footer: Footer) -> Iterator[Finding]:
    held = schema.by_name(stored.fields)
    for f in now.fields:
        inner = held.get(f.name)
        if inner is None:
            yield _missing_finding(footer, (*path, f.name), f.type, f.nullable)
        else:
            yield from _compare_types(f.type, inner.type, (*path, f.name), footer)
    known = schema.ColumnNames(f.name for f in now.fields)
    for inner in stored.fields:
        if inner.name not in known:
            yield _extra_finding((*path, inner.name), inner.type, footer)


def _compare_leaf(now: dt.DataType, stored: dt.DataType, path: Path, footer: Footer) -> Finding:
    said = f"{footer.name}: {join_path(path)} is {now.simple} now and is stored as {stored.simple}"
    if {now, stored} == _BOTH:
        message = f"{said}: readers shift it by their session's time zone"
        return _finding(Verdict.VIOLATED, path, now.simple, stored.simple, message)
    if dt.is_string(now) and (dt.is_string(stored) or stored == dt.BINARY):
        return _finding(Verdict.WARNING, path, now.simple, stored.simple, f"{said}, which Spark reads as text")
    if now == dt.BINARY and dt.is_string(stored):
        return _finding(Verdict.WARNING, path, now.simple, stored.simple, f"{said}, which Spark reads as bytes")
    if now in _number_types(stored):
        message = f"{said}, which Spark reads as the bare number"
        return _finding(Verdict.WARNING, path, now.simple, stored.simple, message)
    if _is_readable(stored, now):
        return _finding(Verdict.WARNING, path, now.simple, stored.simple, f"{said}, which Spark widens as it reads")
    return _finding(Verdict.VIOLATED, path, now.simple, stored.simple, f"{said}: Spark cannot read it that way")


def _number_types(stored: dt.DataType) -> tuple[dt.DataType, ...]:
    """The types of numbers as which Spark reads a time of the day: by the width that it has in the file."""
    if isinstance(stored, dt.Time) or stored.simple.startswith("parquet INT64 Time "):
        return (dt.LONG,)
    return (dt.INT, dt.LONG) if stored.simple.startswith("parquet INT32 Time ") else ()


def _is_readable(stored: dt.DataType, now: dt.DataType) -> bool:
    """Whether Spark reads the file's type without loss. For rarer types that is not known, and counts as true."""
    if stored == dt.VOID:  # Other writers store a column of nulls as integers.
        return now in (dt.BYTE, dt.SHORT, dt.INT) or _is_readable(dt.INT, now)
    if dt.is_integral(stored) and isinstance(now, dt.Decimal):
        return now.precision - now.scale >= _DIGITS[stored]
    rare = (
        isinstance(now, dt.Time)
        or bool({type(stored), type(now)} & {dt.Interval, dt.Geo})
        or dt.VARIANT in (stored, now)
    )
    return rare or is_widened(stored, now)


def _missing_finding(footer: Footer, path: Path, now: dt.DataType, nullable: bool) -> Finding:
    place = join_path(path)
    message = f"{footer.name} has no {place}, which reads as null there"
    verdict = Verdict.WARNING if nullable else Verdict.VIOLATED
    promised = now.simple if nullable else f"{now.simple} NOT NULL"
    return _finding(verdict, path, promised, "missing", message if nullable else f"{message}, and is promised NOT NULL")


def _extra_finding(path: Path, stored: dt.DataType, footer: Footer) -> Finding:
    message = (
        f"{footer.name} stores {join_path(path)} ({stored.simple}), which the table does not have: nobody reads it"
    )
    return Finding(Verdict.WARNING, "PP403", "catalog", join_path(path), "nothing", stored.simple, message)


def _finding(verdict: Verdict, path: Path, now: str, stored: str, message: str) -> Finding:
    return Finding(verdict, "PP402", "files", join_path(path), now, stored, message)
