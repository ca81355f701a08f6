"""Staged rows against those that are published, by a key: how many come, go and differ, and examples of both values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planproof_engine.records import record


@record(frozen=True, slots=True)
class Example:
    """One row's value of one column, before and after, as text (None is NULL); `key` as text."""

    key: str
    column: str
    before: str | None
    after: str | None


@record(frozen=True, slots=True)
class Comparison:
    """Rows by `keys`: `added`, `removed`, and `changed` in some column; `columns` counts the last by column.

    `uncompared` are columns that were not compared, with the reason.
    """

    keys: tuple[str, ...]
    added: int
    removed: int
    changed: int
    columns: Mapping[str, int]
    uncompared: Mapping[str, str]
    examples: tuple[Example, ...]

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Comparison:
        examples = tuple(Example(**e) for e in form["examples"])
        return cls(**{**form, "keys": tuple(form["keys"]), "examples": examples})

    def lines(self) -> list[str]:
        """As people read it: a line of counts, a line per column, a line per example."""
        found = [
            f"{self.added:,} rows added, {self.removed:,} removed, {self.changed:,} changed, by {', '.join(self.keys)}"
        ]
        for column, number in self.columns.items():
            if number:
                found.append(f"  {column}: {number:,} changed")
                found += [
                    f"    {e.key}: {_format_value(e.before)} -> {_format_value(e.after)}"
                    for e in self.examples
                    if e.column == column
                ]
        return found + [f"  {column}: not compared, {why}" for column, why in self.uncompared.items()]


def _format_value(value: str | None) -> str:
    return "NULL" if value is None else value
