"""Limits that an author declares for what a publish may make of a table: never a default, never learned.

limits: {rows: {min: 1, change: -20%..+50%}, partition_rows: -20%.., nulls: {amount: 1%},
         fresh: {column: loaded_at, within: 26h}}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from planproof_engine import record

_PERCENT = r"([+-]?\d+(?:\.\d+)?)\s*%"
_CHANGE = rf"(?:{_PERCENT})?\s*\.\.\s*(?:{_PERCENT})?"
_WITHIN = r"(\d{1,9})\s*(m|h|d)"
_LONGEST = 100 * 366 * 86400
"""Seconds of an age: no calendar reaches back for ever."""
_SECONDS = {"m": 60, "h": 3600, "d": 86400}


Change = tuple[float | None, float | None]


class LimitError(ValueError):
    """Raised for what cannot be read as limits. The message names the place."""


@record(frozen=True, slots=True)
class Nulls:
    """How many nulls a column may hold: a `count`, or else a `share` of the rows, in percent."""

    column: str
    count: int | None
    share: float | None

    def __str__(self) -> str:
        return f"at most {self.count:,}" if self.count is not None else f"at most {self.share:g} %"


@record(frozen=True, slots=True)
class Fresh:
    """How old the latest value of a column may be, in seconds; `said` is that as it was written."""

    column: str
    seconds: int
    said: str


@record(frozen=True, slots=True)
class Limits:
    """How many rows the table may have after a publish, and by how many percent (down, up) their number may change, in
    the table and in each partition that is overwritten."""

    least: int | None = None
    most: int | None = None
    change: Change | None = None
    partition_rows: Change | None = None
    nulls: tuple[Nulls, ...] = ()
    fresh: tuple[Fresh, ...] = ()

    def __bool__(self) -> bool:
        return self != Limits()

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Each column that a limit names, with the place in the limits where it does."""
        return [(n.column, "nulls") for n in self.nulls] + [(f.column, "fresh") for f in self.fresh]

    @classmethod
    def of(cls, given: Any, where: str) -> Limits:
        """Limits of untrusted YAML. Raises `LimitError`, which begins with `where`."""
        form = _read_mapping(given, where, ("rows", "partition_rows", "nulls", "fresh"))
        rows = _read_mapping(form.get("rows"), f"{where}.rows", ("min", "max", "change"))
        least, most = (_read_rows(rows.get(key), f"{where}.rows.{key}") for key in ("min", "max"))
        if least is not None and most is not None and least > most:
            raise LimitError(f"{where}.rows: min {least} is above max {most}")
        nulls = form.get("nulls") or {}
        if not isinstance(nulls, Mapping):
            raise LimitError(f"{where}.nulls: {nulls!r} is not a mapping of columns to limits")
        return cls(
            least,
            most,
            _change(rows.get("change"), f"{where}.rows.change"),
            _change(form.get("partition_rows"), f"{where}.partition_rows"),
            tuple(_read_nulls(str(column), limit, f"{where}.nulls.{column}") for column, limit in nulls.items()),
            tuple(_read_fresh(one, f"{where}.fresh") for one in _read_list(form.get("fresh"))),
        )


def _read_mapping(given: Any, where: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise LimitError(f"{where}: {given!r} is not a mapping of {', '.join(keys)}")
    unknown = [str(key) for key in given if key not in keys]
    if unknown:
        raise LimitError(f"{where}: unknown key {unknown[0]!r}; known: {', '.join(keys)}")
    return given


def _read_list(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, list) else [given]


def _read_rows(given: Any, where: str) -> int | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise LimitError(f"{where}: {given!r} is not a number of rows")
    return int(given)


def change_text(change: Change) -> str:
    """A permitted change, as it is written.

    >>> change_text((-20.0, None))
    '-20%..'
    """
    low, high = change
    return f"{'' if low is None else f'{low:+g}%'}..{'' if high is None else f'{high:+g}%'}"


def _change(given: Any, where: str) -> Change | None:
    if given is None:
        return None
    found = re.fullmatch(_CHANGE, str(given).strip())
    if found is None or found.groups() == (None, None):
        raise LimitError(f"{where}: {given!r} is not a range such as -20%..+50%, -20%.. or ..+50%")
    low, high = (None if bound is None else float(bound) for bound in found.groups())
    if low is not None and high is not None and low > high:
        raise LimitError(f"{where}: {given!r} begins above its end")
    return low, high


def _read_nulls(column: str, given: Any, where: str) -> Nulls:
    if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        return Nulls(column, given, None)
    found = re.fullmatch(_PERCENT, str(given).strip())
    share = float(found[1]) if found else -1
    if not 0 <= share <= 100:
        raise LimitError(f"{where}: {given!r} is neither a share such as 1% nor a number of rows")
    return Nulls(column, None, share)


def _read_fresh(given: Any, where: str) -> Fresh:
    form = _read_mapping(given, where, ("column", "within"))
    column, said = form.get("column"), form.get("within")
    if not isinstance(column, str) or not column:
        raise LimitError(f"{where}.column: {column!r} is not the name of a column")
    found = re.fullmatch(_WITHIN, str(said).strip())
    seconds = int(found[1]) * _SECONDS[found[2]] if found else 0
    if found is None or seconds > _LONGEST:
        raise LimitError(f"{where}.within: {said!r} is not an age such as 90m, 26h or 2d, of a hundred years at most")
    return Fresh(column, seconds, str(said).strip())
