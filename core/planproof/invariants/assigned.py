"""A delta's columns against a stored table's: what Spark's store assignment makes of them.

INSERT casts each column to the stored type (`TableOutputResolver`, `Cast.canANSIStoreAssign`). A number beyond the
stored type's range fails the write. Any other loss is silent. Columns are matched by name, also where the model gives
them in another order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planproof_engine import ColumnNames, Finding, PhysicalField, PhysicalSchema, Verdict, by_name, quote_name
from planproof_engine import types as dt
from planproof_engine.claim import Path, join_path
from planproof_engine.hazards import find_swapped, loss_of

_WIDTH = (dt.BYTE, dt.SHORT, dt.INT, dt.LONG)
_FRACTIONAL = (dt.FLOAT, dt.DOUBLE)
_MOMENTS = (dt.TIMESTAMP, dt.TIMESTAMP_NTZ)
_NOWHERE = ""
"""Stands for a value within an array or a map, which no path over a row reads."""


class Assignment(NamedTuple):
    """A finding on one column. `changed`, where there is one, is the condition for rows whose value would change: a
    count of these rows decides."""

    finding: Finding
    changed: str | None = None


def check(
    table: str,
    stored: PhysicalSchema,
    produced: PhysicalSchema,
    ansi_policy: bool,
    repair: str = "run with full_refresh",
) -> list[Assignment]:
    """The columns that both have. `ansi_policy`: `spark.sql.storeAssignmentPolicy` is ANSI, as it is by default;
    `repair` is how stored columns are changed."""
    held = by_name(stored)
    found = [*_compare_order(table, stored, produced)]
    for f in produced:
        if f.name in held:
            place = _Place((held[f.name].name,), table, ansi_policy, repair)
            found += _compare_column(place, held[f.name], f)
    return found


def _compare_order(table: str, stored: PhysicalSchema, produced: PhysicalSchema) -> Iterator[Assignment]:
    known = ColumnNames(stored.names) & ColumnNames(produced.names)
    wanted = [name for name in stored.names if name in known]
    given = [name for name in produced.names if name in known]
    places = list(find_swapped(wanted, given))
    if places:
        first = places[0][0]
        message = (
            f"{table} stores {', '.join(wanted)}, and the model gives {', '.join(given)}: rows are added by name, and "
            "an INSERT by position would swap them"
        )
        yield Assignment(_finding("PP131", wanted[first], wanted[first], given[first], message))


def _compare_column(at: _Place, stored: PhysicalField, produced: PhysicalField) -> Iterator[Assignment]:
    wanted, given = dt.drop_lengths(stored.type), dt.drop_lengths(produced.type)
    yield from _compare_type(at, wanted, given, quote_name(stored.name))


class _Place(NamedTuple):
    """A column, or what is inside one."""

    path: Path
    table: str
    ansi_policy: bool
    repair: str

    @property
    def name(self) -> str:
        return join_path(self.path)

    def child(self, name: str) -> _Place:
        return self._replace(path=(*self.path, name))

    def describe(self, wanted: dt.DataType, given: dt.DataType) -> str:
        return f"{self.name} is {given.simple}, and {self.table} stores {wanted.simple}"


def _compare_type(at: _Place, wanted: dt.DataType, given: dt.DataType, value: str) -> Iterator[Assignment]:
    """`value` reads the place in a row of the model's query."""
    if wanted == given:
        return
    if isinstance(wanted, dt.Struct) and isinstance(given, dt.Struct):
        yield from _compare_struct(at, wanted, given, value)
    elif isinstance(wanted, dt.Array) and isinstance(given, dt.Array):
        yield from _compare_type(at.child("element"), wanted.element, given.element, _NOWHERE)
    elif isinstance(wanted, dt.Map) and isinstance(given, dt.Map):
        yield from _compare_type(at.child("key"), wanted.key, given.key, _NOWHERE)
        yield from _compare_type(at.child("value"), wanted.value, given.value, _NOWHERE)
    else:
        yield from _compare_leaf(at, wanted, given, value)


def _compare_struct(at: _Place, wanted: dt.Struct, given: dt.Struct, value: str) -> Iterator[Assignment]:
    """Fields go by name as well."""
    held, made = by_name(wanted.fields), by_name(given.fields)
    said = at.describe(wanted, given)
    for name, field in held.items():
        if name in made:
            inner = value if value == _NOWHERE else f"{value}.{quote_name(made[name].name)}"
            yield from _compare_type(at.child(field.name), field.type, made[name].type, inner)
        elif at.ansi_policy:
            path, message = at.child(field.name).name, f"{said}, which has the field {field.name}: Spark refuses it"
            yield Assignment(_finding("PP402", path, field.type.simple, "missing", message, Verdict.VIOLATED))
    for name, field in made.items():
        if name not in held and at.ansi_policy:
            path, message = at.child(field.name).name, f"{said}, which has no field {field.name}: Spark refuses it"
            yield Assignment(_finding("PP402", path, "nothing", field.type.simple, message, Verdict.VIOLATED))
    mine = [name for name in wanted.names if name in made]
    theirs = [name for name in given.names if name in held]
    for place, _ in list(find_swapped(mine, theirs))[:1]:
        message = f"{said}: fields go by name, and an INSERT by position would swap them"
        yield Assignment(_finding("PP131", at.child(mine[place]).name, mine[place], theirs[place], message))


def _compare_leaf(at: _Place, wanted: dt.DataType, given: dt.DataType, value: str) -> Iterator[Assignment]:
    said = at.describe(wanted, given)
    sides = (at.name, wanted.simple, given.simple)
    if not dt.can_store_assign(given, wanted):
        if at.ansi_policy:
            message = f"{said}: Spark does not convert it; cast it in the model, or {at.repair}"
            yield Assignment(_finding("PP402", *sides, message, Verdict.VIOLATED))
    elif {wanted, given} == set(_MOMENTS):
        message = f"{said}: Spark shifts it by the session's time zone"
        yield Assignment(_finding("PP128", *sides, message))
    else:
        yield from _find_loss(said, given, wanted, sides, value)


def _find_loss(
    said: str, given: dt.DataType, wanted: dt.DataType, sides: tuple[str, str, str], value: str
) -> Iterator[Assignment]:
    if (given, wanted) == (dt.DOUBLE, dt.FLOAT):
        # Almost every fraction is rounded: a count would say nothing.
        yield Assignment(_finding("PP133", *sides, f"{said}: numbers of more than 7 digits are rounded"))
        return
    lost = _describe_silent_loss(given, wanted)
    if lost is not None:
        back = f"CAST(TRY_CAST({value} AS {wanted.sql}) AS {given.sql})"
        changed = None if value == _NOWHERE else f"{value} IS NOT NULL AND NOT ({back} <=> {value})"
        yield Assignment(_finding("PP133", *sides, f"{said}: {lost}"), changed)
    elif _is_narrower(given, wanted):
        message = f"{said}: a number beyond its range fails the write"
        yield Assignment(_finding("PP133", *sides, message))


def _describe_silent_loss(given: dt.DataType, wanted: dt.DataType) -> str | None:
    if given in _MOMENTS and wanted == dt.DATE:
        return "the time of day is cut off"
    if dt.is_integral(wanted) and (given in _FRACTIONAL or (isinstance(given, dt.Decimal) and given.scale > 0)):
        return "the digits after the point are cut off"
    if isinstance(given, dt.Decimal) and isinstance(wanted, dt.Decimal) and wanted.scale >= given.scale:
        return None  # A number with too many whole digits fails the write.
    return loss_of(given, wanted)


def _is_narrower(given: dt.DataType, wanted: dt.DataType) -> bool:
    if given in _WIDTH and wanted in _WIDTH:
        return _WIDTH.index(given) > _WIDTH.index(wanted)
    if isinstance(given, dt.Decimal) and isinstance(wanted, dt.Decimal):
        return given.precision - given.scale > wanted.precision - wanted.scale
    return isinstance(given, dt.Decimal) and dt.is_integral(wanted)


def _finding(
    code: str, column: str, promised: str, found: str, message: str, verdict: Verdict = Verdict.WARNING
) -> Finding:
    return Finding(verdict, code, "catalog", column, promised, found, message)
