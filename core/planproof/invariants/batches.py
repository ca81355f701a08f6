"""I2: the contents of a batch are consistent with its schema; and the schema of a result with its plan."""

from __future__ import annotations

from typing import Any

from planproof.arrow.batches import faults
from planproof.arrow.types import physical_schema
from planproof.claim import dotted
from planproof.invariants.compare import flag_differences, type_differences
from planproof.report.model import Finding, Verdict
from planproof.schema import PhysicalSchema
from planproof.types import (
    BINARY,
    CALENDAR_INTERVAL,
    STRING,
    Array,
    DataType,
    Geo,
    Interval,
    Map,
    String,
    Struct,
    StructField,
    Time,
)


def check(batch: Any, where: str) -> list[Finding]:
    """Full validation of a RecordBatch or Table, and its nulls against its own flags. `where` names it to people.

    Bytes that are no UTF-8 are a warning: Spark casts any binary to a string, stores it and reads it back.
    """
    found = []
    for fault in faults(batch):
        path = dotted(fault.path) if fault.path else None
        counted = f": {fault.nulls} of them in {path}" if fault.nulls else ""
        found.append(
            Finding(
                Verdict.WARNING if fault.text else Verdict.VIOLATED,
                "PP301",
                "batches",
                path,
                promised="NOT NULL" if fault.nulls else None,
                found=f"{fault.nulls} null{'' if fault.nulls == 1 else 's'}" if fault.nulls else None,
                message=f"{where}: {fault.message}{counted}",
            )
        )
    return found


def check_schema(analyzed: PhysicalSchema, batch: Any) -> list[Finding]:
    """I5 for a result: names, types and flags are those of the analyzed plan.

    Ignored: the spelling of a time zone, large and view forms of strings and lists, and what Arrow cannot tell (the
    units of an interval, a collation, the precision of a time).
    """
    schema = physical_schema(batch.schema)
    if schema.names != analyzed.names:
        return [_finding(None, ", ".join(analyzed.names), ", ".join(schema.names), "the batch has other columns")]
    found: list[Finding] = []
    for ours, theirs in zip(analyzed, schema):
        path = (ours.name,)
        wanted, given = _as_arrow(ours.type), _as_arrow(theirs.type)
        for d in type_differences(wanted, given, path):
            found.append(_finding(dotted(d.path), d.promised, d.found, "the batch has another type"))
        loosened = [f.path for f in flag_differences(wanted, given, path) if f.nullable]
        if theirs.nullable and not ours.nullable:
            loosened.insert(0, path)
        for place in loosened:
            found.append(_finding(dotted(place), "NOT NULL", "nullable", "the batch may hold nulls"))
    return found


def _finding(path: str | None, promised: str | None, found: str | None, what: str) -> Finding:
    place = f" at {path}" if path else ""
    message = f"{what}{place}: planned {promised or 'nothing'}, found {found or 'nothing'}"
    return Finding(Verdict.VIOLATED, "PP301", "batches", path, promised, found, message)


def _as_arrow(t: DataType) -> DataType:
    """The type as far as Arrow can tell it."""
    if isinstance(t, Interval):
        return CALENDAR_INTERVAL if t.year_month else Interval("day", "second")
    if isinstance(t, String):
        return STRING
    if isinstance(t, Time):
        return Time(6)
    if isinstance(t, Geo):
        return BINARY
    if isinstance(t, Array):
        return Array(_as_arrow(t.element), t.contains_null)
    if isinstance(t, Map):
        return Map(_as_arrow(t.key), _as_arrow(t.value), t.value_contains_null)
    if isinstance(t, Struct):
        return Struct(tuple(StructField(f.name, _as_arrow(f.type), f.nullable) for f in t.fields))
    return t
