"""A column that stands in a file's path (`day=2024-01-02/`) and in the file too: whether both say the same.

Readers of a partitioned directory take the path's value, whatever the file holds.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import unquote

from planproof_engine.schema import ColumnNames

_NULL = "__HIVE_DEFAULT_PARTITION__"
_SHOWN = 40
_CUT = 64
"""Bytes to which the Rust writer (delta-rs, Polars, DataFusion) cuts the least and the greatest text in statistics."""


@dataclass(frozen=True, slots=True)
class InPath:
    """`agrees` is None where the file's statistics do not tell; `stored` shows what the file holds."""

    column: str
    value: str
    agrees: bool | None
    stored: str


def compare_path(path: str, columns: Sequence[str], chunks: Callable[[str], Sequence[Any] | None]) -> Iterator[InPath]:
    """What a file holds of the columns that its path names. `chunks` gives a column's chunks by name, over all row
    groups; None for a nested one."""
    known = ColumnNames(columns)
    for part in path.split("/")[:-1]:
        key, equals, text = part.partition("=")
        if equals and unquote(key) in known:
            name = known.find_spelling(unquote(key))
            held = chunks(name)
            agrees, stored = (None, "nothing") if held is None else _compare_values(unquote(text), held)
            yield InPath(name, unquote(text), agrees, stored)


def _compare_values(text: str, chunks: Sequence[Any]) -> tuple[bool | None, str]:
    """Whether every value is the path's, and what the values are."""
    nulls, rows, lows, highs = 0, 0, [], []
    for chunk in filter(lambda c: c.num_values, chunks):
        statistics = chunk.statistics if chunk.is_stats_set else None
        if statistics is None or not statistics.has_null_count:
            return None, "values without statistics"
        nulls, rows = nulls + statistics.null_count, rows + chunk.num_values
        if statistics.has_min_max:
            lows.append(statistics.min)
            highs.append(statistics.max)
        elif statistics.null_count < chunk.num_values:
            return None, "values without statistics"
    if not rows:
        return True, "nothing"
    if not lows:
        return text == _NULL or None, "nulls"
    low, high = min(lows), max(highs)
    shown = _format_value(low) if low == high else f"{_format_value(low)} to {_format_value(high)}"
    if _is_cut(low, text) and _is_cut(high, text):
        return None, shown
    if low != high or nulls or text == _NULL:
        return False, f"{shown} and nulls" if nulls else shown
    return _is_equal(low, text), shown


def _is_cut(value: Any, text: str) -> bool:
    """Whether this may be the beginning of a longer text: of the greatest one, a writer counts the last byte up."""
    given = value.encode() if isinstance(value, str) else value
    return (
        isinstance(given, bytes) and len(given) == _CUT < len(text.encode()) and text.encode()[: _CUT - 1] == given[:-1]
    )


def _is_equal(value: Any, text: str) -> bool | None:
    """None for a kind of values that a path spells by settings of the session."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, bool):
        return str(value).lower() == text.lower()
    if isinstance(value, str):
        return value == text
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value.isoformat() == text
    if isinstance(value, (int, Decimal)):
        try:
            return Decimal(text) == value
        except InvalidOperation:
            return False
    return None


def _format_value(value: Any) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
