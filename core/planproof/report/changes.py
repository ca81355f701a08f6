"""What a publish changes: the table before and after it, column by column, as the files' footers tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from planproof_engine.records import record
from planproof_engine.schema import by_name


@record(frozen=True, slots=True)
class Values:
    """A column's values: how many are null, the least and the greatest as text, how many differ.

    None is what is not known. `unknown` says why `low` and `high` are not; where it is None and they are, there is no
    value.
    """

    name: str
    type: str
    nulls: int | None = None
    low: str | None = None
    high: str | None = None
    distinct: int | None = None
    unknown: str | None = None


@record(frozen=True, slots=True)
class TableVersion:
    """A version of a table; `unread` says why its files were not read. `rows` may be known all the same."""

    rows: int | None
    columns: tuple[Values, ...] = ()
    unread: str | None = None

    def drop_values(self) -> TableVersion:
        """The same, without what rows hold."""
        why = "left out: changes: counts"
        return replace(self, columns=tuple(replace(c, low=None, high=None, unknown=why) for c in self.columns))

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> TableVersion:
        return cls(form["rows"], tuple(Values(**column) for column in form["columns"]), form["unread"])


@record(frozen=True, slots=True)
class TableChange:
    """`before` is None where there was no table."""

    before: TableVersion | None
    after: TableVersion

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> TableChange:
        before = form["before"]
        return cls(None if before is None else TableVersion.from_dict(before), TableVersion.from_dict(form["after"]))

    def drop_values(self) -> TableChange:
        """The same, without what rows hold."""
        before = None if self.before is None else self.before.drop_values()
        return TableChange(before, self.after.drop_values())

    def pairs(self) -> Iterator[tuple[Values | None, Values | None]]:
        """Each column before and after, in the new order; those that are gone come last."""
        old, new = by_name(self.before.columns if self.before else ()), by_name(self.after.columns)
        yield from ((old.get(column.name), column) for column in self.after.columns)
        yield from ((column, None) for name, column in old.items() if name not in new)

    def parts(self) -> list[str]:
        """`12,034 -> 11,871 rows`, `amount: nulls 0 -> 214`: the rows, and what differs."""
        if self.before is None:
            return [f"{_format_number(self.after.rows)} rows, a new table"]
        was, now = _format_number(self.before.rows), _format_number(self.after.rows)
        parts = [f"{was} -> {now} rows"]
        unread = [f"{side} not read: {p.unread}" for side, p in self._sides() if p.unread]
        return parts + (unread or [part for old, new in self.pairs() if (part := _describe_difference(old, new))])

    @property
    def is_any(self) -> bool:
        """Whether a table that was there before is known to change, or it is not known."""
        if self.before is None:
            return False
        return self.before.rows is None or self.before.rows != self.after.rows or len(self.parts()) > 1

    def _sides(self) -> Iterator[tuple[str, TableVersion]]:
        if self.before is not None:
            yield "before", self.before
        yield "after", self.after

    def line(self, most: int = 6) -> str:
        """All parts on one line; of many the first `most`, and how many more there are."""
        parts = self.parts()
        more = [f"{len(parts) - most} more columns change"] if len(parts) > most else []
        return "; ".join(parts[:most] + more)


def _describe_difference(old: Values | None, new: Values | None) -> str | None:
    if old is None or new is None:
        column = old or new
        assert column is not None
        return f"{column.name}: {'new' if old is None else 'gone'}, {column.type}"
    told = [f"type {old.type} -> {new.type}"] if old.type != new.type else []
    for word, was, now in (("nulls", old.nulls, new.nulls), ("distinct", old.distinct, new.distinct)):
        if was != now and was is not None and now is not None:
            told.append(f"{word} {was:,} -> {now:,}")
    if not (old.unknown or new.unknown):
        for word, least, most in (("min", old.low, new.low), ("max", old.high, new.high)):
            if least != most:
                told.append(f"{word} {_format_value(least)} -> {_format_value(most)}")
    return f"{new.name}: {', '.join(told)}" if told else None


def _format_value(value: str | None) -> str:
    return "none" if value is None else value


def _format_number(rows: int | None) -> str:
    return "unknown" if rows is None else f"{rows:,}"
