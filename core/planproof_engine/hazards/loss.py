"""Which casts between types lose a value or a part of it, and for which values."""

from __future__ import annotations

from typing import NamedTuple

from planproof_engine import types as dt
from planproof_engine.ground import quote_name
from planproof_engine.types.casts import force_nullable

LIMIT: dict[dt.DataType, int] = {dt.BYTE: 2**7, dt.SHORT: 2**15, dt.INT: 2**31, dt.LONG: 2**63}
"""The least whole number that does not fit."""
_FLOATING = (dt.FLOAT, dt.DOUBLE)
_SECONDS = 2**63 // 1_000_000
"""The last whole second of a timestamp, counted from 1970."""

_EXACT_DIGITS: dict[dt.DataType, int] = {dt.DOUBLE: 15, dt.FLOAT: 7}


def loss(source: dt.DataType, target: dt.DataType) -> str | None:
    """What a cast that nobody wrote loses, None where it loses nothing."""
    if dt.is_string(source) and dt.is_numeric(target):
        return "leading zeros and the text's spelling are dropped"
    if target in _EXACT_DIGITS and _count_digits(source) > _EXACT_DIGITS[target]:
        return f"numbers of more than {_EXACT_DIGITS[target]} digits are rounded"
    if isinstance(source, dt.Decimal) and isinstance(target, dt.Decimal):
        if target.scale < source.scale:
            return f"{source.scale} decimals become {target.scale}"
        if target.precision - target.scale < source.precision - source.scale:
            return f"numbers of {source.precision - source.scale} whole digits do not fit"
    return None


def _count_digits(t: dt.DataType) -> int:
    if isinstance(t, dt.Decimal):
        return t.precision
    return (19 if t == dt.LONG else 10) if dt.is_integral(t) else 0


def make_change_condition(value: str, source: dt.DataType, target: dt.DataType) -> str:
    """The condition for which `value` does not survive the way to `target` and back.

    A text that becomes a fraction may be spelled otherwise, as long as it is the same number.
    """
    if dt.is_string(source) and not dt.is_integral(target):
        number = f"TRY_CAST(TRY_CAST({value} AS {target.sql}) AS DECIMAL(38, 18))"
        other = f"NOT ({number} <=> TRY_CAST({value} AS DECIMAL(38, 18)))"
        return f"{value} IS NOT NULL AND ({value} <> trim({value}) OR {value} RLIKE '^[+-]?0[0-9]' OR {other})"
    there = f"{'TRY_CAST' if dt.is_string(source) else 'CAST'}({value} AS {target.sql})"
    return f"{value} IS NOT NULL AND NOT (CAST({there} AS {source.sql}) <=> {value})"


class Lost(NamedTuple):
    """For which values a cast with ANSI off gives something else in their place: NULL (`null`), or another value."""

    condition: str
    null: bool


def find_lost(value: str, source: dt.DataType, target: dt.DataType) -> Lost | None:
    """What a cast does not keep of `value`, an expression in SQL, with ANSI off; None where every value is kept.

    A fraction that is rounded or cut off is kept, and a text of blanks holds no value. NaN has no decimal and no time,
    and its NULL is kept as such. Source: `Cast.scala`, measured on Spark 3.5 and 4.3.
    """
    inside = _find_lost_inside(value, source, target)
    if inside is not None:
        found = [one for one in inside if one is not None]
        return Lost(" OR ".join(f"({one.condition})" for one in found), False) if found else None
    if (wrapped := _make_wrap_condition(value, source, target)) is not None:
        return Lost(wrapped, False)
    if not _may_be_null(source, target):
        return None
    there = f"{value} IS NOT NULL"
    if dt.is_string(source):
        there += f" AND trim({value}) <> ''"
    elif source in _FLOATING:
        there += f" AND NOT isnan({value})"
    return Lost(f"{there} AND CAST({value} AS {target.sql}) IS NULL", True)


def _may_be_null(source: dt.DataType, target: dt.DataType) -> bool:
    """Whether the cast makes null of what it cannot keep. Texts of intervals raise, a variant's null is a value."""
    if (
        source == dt.VARIANT
        or isinstance(target, (dt.Interval, dt.Array, dt.Map, dt.Struct))
        or isinstance(source, dt.Interval)
    ):
        return False
    return force_nullable(source, target)


def _make_wrap_condition(value: str, source: dt.DataType, target: dt.DataType) -> str | None:
    """The condition for which a number becomes another one; None where no number does, or null stands for it."""
    if target in LIMIT and (dt.is_integral(source) or isinstance(source, dt.Decimal) or source in _FLOATING):
        return _make_outside_condition(value, source, LIMIT[target])
    if target in LIMIT and target != dt.LONG and source == dt.TIMESTAMP:
        return f"CAST({value} AS BIGINT) NOT BETWEEN -{LIMIT[target]}L AND {LIMIT[target] - 1}L"
    if target == dt.TIMESTAMP and (source == dt.LONG or isinstance(source, dt.Decimal)):
        return (
            f"{value} NOT BETWEEN -{_SECONDS}BD AND {_SECONDS}BD"
            if _count_digits(source) > len(str(_SECONDS))
            else None
        )
    if target == dt.TIMESTAMP and source in _FLOATING:
        return f"NOT isnan({value}) AND abs({value}) > {_SECONDS}D"
    if target == dt.FLOAT and source == dt.DOUBLE:
        return f"abs({value}) < double('Infinity') AND abs(CAST({value} AS FLOAT)) = float('Infinity')"
    return None


def _make_outside_condition(value: str, source: dt.DataType, limit: int) -> str | None:
    """The condition for which the whole part of a number does not fit."""
    if source in _FLOATING:
        # 2^63 + 1 is no double: there, the least long itself would be taken for what lies below it.
        least = f"< -{limit}D" if limit == LIMIT[dt.LONG] else f"<= -{limit + 1}D"
        return f"{value} >= {limit}D OR {value} {least}"
    if isinstance(source, dt.Decimal):
        fits = source.precision - source.scale < len(str(limit))
        return None if fits else f"{value} >= {limit}BD OR {value} <= -{limit + 1}BD"
    return f"{value} NOT BETWEEN -{limit}BD AND {limit - 1}BD" if LIMIT[source] > limit else None


def _find_lost_inside(value: str, source: dt.DataType, target: dt.DataType) -> list[Lost | None] | None:
    """What is lost inside an array, a map or a struct; None for other types."""
    if isinstance(source, dt.Array) and isinstance(target, dt.Array):
        return [_find_lost_in_elements(value, source.element, target.element)]
    if isinstance(source, dt.Map) and isinstance(target, dt.Map):
        keys = _find_lost_in_elements(f"map_keys({value})", source.key, target.key)
        return [keys, _find_lost_in_elements(f"map_values({value})", source.value, target.value)]
    if isinstance(source, dt.Struct) and isinstance(target, dt.Struct):
        pairs = zip(source.fields, target.fields)
        return [find_lost(f"({value}).{quote_name(ours.name)}", ours.type, theirs.type) for ours, theirs in pairs]
    return None


def _find_lost_in_elements(value: str, source: dt.DataType, target: dt.DataType) -> Lost | None:
    # The name grows with the depth, so that no lambda hides the variable of the one around it.
    name = f"e{value.count('->')}"
    found = find_lost(name, source, target)
    return None if found is None else Lost(f"exists({value}, {name} -> {found.condition})", False)
