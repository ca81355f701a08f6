"""D1: what a sink cannot hold, found before anything runs.

Two columns of one name are an error in every file format and in a view; so are two fields of one struct in a file.
Measured on Spark 4.3 with Parquet: calendar intervals and structs without a field are refused; void, variant, geometry
and ANSI intervals are stored. Iceberg has no type for void and intervals (SparkTypeToType, 1.10).
"""

from __future__ import annotations

from planproof.claim import Path, dotted
from planproof.paths import Place, places
from planproof.report.model import Finding, Verdict
from planproof.schema import PhysicalSchema
from planproof.types import CALENDAR_INTERVAL, VOID, Interval, Struct


def check(schema: PhysicalSchema, format: str = "parquet", case_sensitive: bool = False) -> list[Finding]:
    """`format` is the file format, or `view`. Names count as equal without case unless `case_sensitive`."""
    found = _repeated(schema.names, (), case_sensitive)
    if format == "view":
        return found
    for place in places(schema):
        if isinstance(place.type, Struct):
            found += _repeated(place.type.names, place.path, case_sensitive)
        if format == "parquet":
            found += _unstorable(place)
        if format == "iceberg":
            found += _without_iceberg_type(place)
    return found


def _repeated(names: tuple[str, ...], below: Path, case_sensitive: bool) -> list[Finding]:
    positions: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        positions.setdefault(name if case_sensitive else name.lower(), []).append(i)
    return [_duplicate([names[i] for i in at], at, below) for at in positions.values() if len(at) > 1]


def _duplicate(names: list[str], at: list[int], below: Path) -> Finding:
    place = dotted((*below, names[0]))
    inside = f" of the struct {dotted(below)}" if below else ""
    numbers = " and ".join(str(i + 1) for i in at)
    return Finding(
        Verdict.VIOLATED,
        "PP102",
        "analyzed",
        place,
        promised="one column of each name",
        found=", ".join(names),
        message=f"columns {numbers}{inside} have one name: {', '.join(names)}",
    )


def _unstorable(place: Place) -> list[Finding]:
    if place.type == CALENDAR_INTERVAL:
        return _refused(place, "Parquet cannot store a calendar interval")
    if isinstance(place.type, Struct) and not place.type.fields:
        return _refused(place, "Parquet cannot store a struct without fields")
    return []


def _without_iceberg_type(place: Place) -> list[Finding]:
    if place.type in (VOID, CALENDAR_INTERVAL) or isinstance(place.type, Interval):
        return _refused(place, f"Iceberg has no type for {place.type.simple}; cast it")
    if isinstance(place.type, Struct) and not place.type.fields:
        return _refused(place, "Iceberg's files cannot store a struct without fields")
    return []


def _refused(place: Place, why: str) -> list[Finding]:
    path, found = dotted(place.path), place.type.simple
    return [Finding(Verdict.VIOLATED, "PP103", "analyzed", path, found=found, message=f"{path}: {why}")]
