"""The catalog's entry against what is stored: names and types.

Flags are ignored, as a V1 table forgets them; partition columns stand last; names are compared without case, as Spark
resolves them.
"""

from __future__ import annotations

from collections.abc import Sequence

from planproof.invariants.compare import type_differences
from planproof_engine import Finding, Verdict, join_path
from planproof_engine import types as dt
from planproof_engine.schema import ColumnNames, PhysicalField, PhysicalSchema, by_name, drop_columns, fold_name

_SHARED: set[dt.DataType] = {
    dt.BOOLEAN,
    dt.BYTE,
    dt.SHORT,
    dt.INT,
    dt.LONG,
    dt.FLOAT,
    dt.DOUBLE,
    dt.DATE,
    dt.TIMESTAMP,
    dt.STRING,
    dt.BINARY,
}
"""Types that Spark and Hive write alike."""


def check(registered: PhysicalSchema, written: PhysicalSchema, partition_by: Sequence[str] = ()) -> list[Finding]:
    """The registered schema against the schema that was written (the plan's, with partition columns anywhere, or a
    footer's, without them)."""
    last = ColumnNames(partition_by)
    own, stored = drop_columns(registered, partition_by), drop_columns(written, partition_by)
    known, found = by_name(stored), list[Finding]()
    for f in own:
        if f.name in known:
            found += _compare_types(f, known[f.name])
    found += _compare_partitions(registered, written, last)
    found += _compare_width(own, stored)
    return found or _compare_order(own, stored)


def check_metastore(registered: PhysicalSchema, metastore: PhysicalSchema) -> list[Finding]:
    """The columns that Spark keeps in a table's properties against those that the metastore lists for everybody else.

    Another tool that alters a table leaves Spark's copy as it was. Where Spark's types are none of Hive's, an array
    `col` stands for all columns but the partitions' (HiveExternalCatalog), which tells nothing.
    """
    first = next(iter(metastore), None)
    if first is None or (first.name == "col" and isinstance(first.type, dt.Array) and "col" not in registered.names):
        return []
    ours, theirs = (by_name(schema) for schema in (registered, metastore))
    found = []
    for name in dict.fromkeys((*ours, *theirs)):
        one, other = ours.get(name), theirs.get(name)
        if one is None or other is None or _is_different(one.type, other.type):
            said, listed = (f.type.simple if f is not None else "nothing" for f in (one, other))
            message = (
                f"{name} is {said} to Spark and {listed} to Hive's metastore: another tool altered the table, and "
                "Spark goes by its own copy of the schema"
            )
            found.append(Finding(Verdict.WARNING, "PP403", "catalog", join_path((name,)), said, listed, message))
    return found


def _is_different(ours: dt.DataType, theirs: dt.DataType) -> bool:
    """Compares only types that both Spark and Hive have."""
    both = [dt.drop_lengths(t) for t in (ours, theirs)]
    return both[0] != both[1] and all(t in _SHARED or isinstance(t, dt.Decimal) for t in both)


def _compare_types(registered: PhysicalField, stored: PhysicalField) -> list[Finding]:
    found = []
    for d in type_differences(registered.type, stored.type, (registered.name,)):
        readable = d.promised is not None and d.found is not None and _is_readable(d.promised, d.found)
        verdict = Verdict.WARNING if readable else Verdict.VIOLATED
        place = join_path(d.path)
        note = ", which Spark widens as it reads" if readable else ""
        message = f"{place} is registered as {d.promised or 'nothing'} and stored as {d.found or 'nothing'}{note}"
        found.append(Finding(verdict, "PP403", "catalog", place, d.promised, d.found, message))
    return found


def _is_readable(registered: str, stored: str) -> bool:
    try:
        return is_widened(dt.parse_type(stored), dt.parse_type(registered))
    except ValueError:
        return False


def is_widened(stored: dt.DataType, registered: dt.DataType) -> bool:
    """True where Spark reads `stored` as the wider `registered` without loss (`ParquetVectorUpdaterFactory`)."""
    if isinstance(stored, dt.Decimal) and isinstance(registered, dt.Decimal):
        room = registered.precision - registered.scale >= stored.precision - stored.scale
        return room and registered.scale >= stored.scale
    integers = (dt.BYTE, dt.SHORT, dt.INT, dt.LONG)
    if dt.is_integral(stored) and dt.is_integral(registered):
        return integers.index(stored) < integers.index(registered)
    return (stored, registered) in (
        (dt.FLOAT, dt.DOUBLE),
        (dt.BYTE, dt.DOUBLE),
        (dt.SHORT, dt.DOUBLE),
        (dt.INT, dt.DOUBLE),
        (dt.DATE, dt.TIMESTAMP_NTZ),
    )


def _compare_partitions(registered: PhysicalSchema, written: PhysicalSchema, last: ColumnNames) -> list[Finding]:
    """Partition columns stand last, with the type that the plan gave them."""
    planned = by_name(written)
    found: list[Finding] = []
    for f in registered:
        if f.name in last and f.name in planned:
            found += _compare_types(f, planned[f.name])
    tail = [fold_name(f.name) for f in registered][-len(last) :] if last else []
    if tail != list(last):
        message = (
            f"the partition columns {', '.join(last)} are not the last ones: the table ends with {', '.join(tail)}"
        )
        found.append(Finding(Verdict.VIOLATED, "PP403", "catalog", None, ", ".join(last), ", ".join(tail), message))
    return found


def _compare_width(registered: Sequence[PhysicalField], stored: Sequence[PhysicalField]) -> list[Finding]:
    """A column without a place in the files reads as null; one without a place in the catalog is not read."""
    known, held = (ColumnNames(f.name for f in fields) for fields in (registered, stored))
    found: list[Finding] = []
    for f in registered:
        if f.name not in held:
            message = f"{f.name} is registered and not stored: it reads as null"
            found.append(Finding(Verdict.WARNING, "PP403", "catalog", join_path((f.name,)), str(f), "missing", message))
    for f in stored:
        if f.name not in known:
            message = f"{f.name} is stored and not registered: nobody reads it"
            found.append(Finding(Verdict.WARNING, "PP403", "catalog", join_path((f.name,)), "nothing", str(f), message))
    return found


def _compare_order(registered: Sequence[PhysicalField], stored: Sequence[PhysicalField]) -> list[Finding]:
    ours, theirs = (", ".join(fold_name(f.name) for f in fields) for fields in (registered, stored))
    if ours == theirs:
        return []
    message = f"the columns are registered as {ours} and stored as {theirs}; Spark reads by name"
    return [Finding(Verdict.WARNING, "PP403", "catalog", None, ours, theirs, message)]
