"""Which casts between types lose a part of a value, and which part."""

from __future__ import annotations

from planproof.types import DOUBLE, FLOAT, LONG, DataType, Decimal, is_integral, is_numeric, is_string

_EXACT_DIGITS: dict[DataType, int] = {DOUBLE: 15, FLOAT: 7}


def loss(source: DataType, target: DataType) -> str | None:
    """What a cast that nobody wrote loses, None where it loses nothing."""
    if is_string(source) and is_numeric(target):
        return "leading zeros and the text's spelling are dropped"
    if target in _EXACT_DIGITS and _digits(source) > _EXACT_DIGITS[target]:
        return f"numbers of more than {_EXACT_DIGITS[target]} digits are rounded"
    if isinstance(source, Decimal) and isinstance(target, Decimal):
        if target.scale < source.scale:
            return f"{source.scale} decimals become {target.scale}"
        if target.precision - target.scale < source.precision - source.scale:
            return f"numbers of {source.precision - source.scale} whole digits do not fit"
    return None


def _digits(t: DataType) -> int:
    if isinstance(t, Decimal):
        return t.precision
    return (19 if t == LONG else 10) if is_integral(t) else 0


def changed(value: str, source: DataType, target: DataType) -> str:
    """The condition for which `value` does not survive the way to `target` and back.

    A text that becomes a fraction may be spelled otherwise, as long as it is the same number.
    """
    if is_string(source) and not is_integral(target):
        number = f"TRY_CAST(TRY_CAST({value} AS {target.sql}) AS DECIMAL(38, 18))"
        other = f"NOT ({number} <=> TRY_CAST({value} AS DECIMAL(38, 18)))"
        return f"{value} IS NOT NULL AND ({value} <> trim({value}) OR {value} RLIKE '^[+-]?0[0-9]' OR {other})"
    there = f"{'TRY_CAST' if is_string(source) else 'CAST'}({value} AS {target.sql})"
    return f"{value} IS NOT NULL AND NOT (CAST({there} AS {source.sql}) <=> {value})"
