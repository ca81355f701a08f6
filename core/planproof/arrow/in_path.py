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

_NULL = "__HIVE_DEFAULT_PARTITION__"
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class InPath:
    """`agrees` is None where the file's statistics do not tell; `stored` shows what the file holds."""

    column: str
    value: str
    agrees: bool | None
    stored: str


def in_path(path: str, columns: Sequence[str], chunks: Callable[[str], Sequence[Any] | None]) -> Iterator[InPath]:
    """What a file holds of the columns that its path names. `chunks` gives a column's chunks by name, over all row
    groups; None for a nested one."""
    known = {name.lower(): name for name in columns}
    for part in path.split("/")[:-1]:
        key, equals, text = part.partition("=")
        name = known.get(unquote(key).lower()) if equals else None
        if name is not None:
            agrees, stored = _compared(unquote(text), chunks(name) or ())
            yield InPath(name, unquote(text), agrees, stored)


def _compared(text: str, chunks: Sequence[Any]) -> tuple[bool | None, str]:
    """Whether every value is the path's, and what the values are."""
    nulls, rows, lows, highs = 0, 0, [], []
    for chunk in chunks:
        statistics = chunk.statistics if chunk.is_stats_set else None
        if statistics is None or not statistics.has_null_count:
            return None, "values without statistics"
        nulls, rows = nulls + statistics.null_count, rows + chunk.num_values
        if statistics.has_min_max:
            lows.append(statistics.min)
            highs.append(statistics.max)
        elif statistics.null_count < chunk.num_values:
            return None, "values without statistics"
    if not lows:
        return (text == _NULL or None) if rows else None, "nulls" if rows else "nothing"
    low, high = min(lows), max(highs)
    shown = _text(low) if low == high else f"{_text(low)} to {_text(high)}"
    if low != high or nulls or text == _NULL:
        return False, f"{shown} and nulls" if nulls else shown
    return _is(low, text), shown


def _is(value: Any, text: str) -> bool | None:
    """None for kinds of values whose spelling in a path depends on the session."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, bool):
        return str(value).lower() == text.lower()
    if isinstance(value, str):
        return value == text
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value.isoformat() == text
    if isinstance(value, int | Decimal):
        try:
            return Decimal(text) == value
        except InvalidOperation:
            return False
    return None


def _text(value: Any) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
