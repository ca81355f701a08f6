"""What a report tells of its model beside what was judged: where it is from, what stood and stands there, what a
publish changes and how staged rows differ from those that are published, and what went wrong. Each field is absent from
the JSON form where it is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from planproof_engine import by_name, evolve, record


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
        return evolve(self, columns=tuple(evolve(c, low=None, high=None, unknown=why) for c in self.columns))

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
                    f"    {e.key}: {_format_example(e.before)} -> {_format_example(e.after)}"
                    for e in self.examples
                    if e.column == column
                ]
        return found + [f"  {column}: not compared, {why}" for column, why in self.uncompared.items()]


def _format_example(value: str | None) -> str:
    return "NULL" if value is None else value


@record(frozen=True, slots=True)
class Files:
    """The files that were read: how many, without rows, bytes, compression, who wrote them, and how many of them lack
    statistics."""

    count: int
    empty: int
    bytes: int
    compression: tuple[str, ...]
    written_by: tuple[str, ...]
    without_statistics: int


@record(frozen=True, slots=True)
class DataTestResult:
    """What a data test of dbt's found in the staged rows, before they were published.

    `status` is dbt's (`pass`, `warn`, `fail`), or `not run` where the test needs more than these rows; `said` is why.
    `failures` is what the test counts, `place` the file that declares it, `query` what shows the rows that it found.
    """

    name: str
    status: str
    said: str
    failures: int | None = None
    column: str | None = None
    place: str | None = None
    query: str | None = None


@record(frozen=True, slots=True)
class QuarantinedRows:
    """How many of the staged `of` rows a publish quarantined in `table`, under the `run` that the column
    `quarantine_run` holds there; `terms` counts them by the term that they break: a row may break several."""

    table: str
    run: str
    rows: int
    of: int
    terms: Mapping[str, int]


@record(frozen=True, slots=True)
class BrokenRows:
    """The rows that break a promise, staged or (in an audit) stored, by the finding that counted them: its code,
    promised term and field.

    `query` shows them; None where nothing that a person can query holds them any more. `columns` and `rows` are some of
    them, values as text, where the model's `samples` asks for that.
    """

    code: str
    promised: str | None
    field: str | None
    query: str | None
    columns: tuple[str, ...] | None = None
    rows: tuple[tuple[str | None, ...], ...] | None = None

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> BrokenRows:
        columns, rows = form.get("columns"), form.get("rows")
        listed = {"columns": columns and tuple(columns), "rows": rows and tuple(map(tuple, rows))}
        return cls(**{**form, **listed})


@record(frozen=True, slots=True)
class Details:
    """The model: `unique_id` and `name` of dbt's node, its `file`, how it is `materialized`, its `guard` where
    that is `watch`, its `fail_on`, whether it has a `contract`, with which `contract_hash`; `unenforced` are the terms
    of one that its settings leave out.

    The judgement: `uncounted` are the contract's keys, checks and references, which only rows decide, where nobody
    looked at rows; `known` are the findings that a baseline names, which the report leaves out and does not fail for;
    `inputs` says where the schema of each relation read is from, `plan` and `lineage` are the forms of `plan.outline`,
    `lines` are source lines by `file:line`, `files` those that were read; `lenient`: with ANSI off it casts or computes
    what ANSI mode may refuse.
    The target: `previous` says whether there is one, with `previous_rows`; `rejected` is the table that keeps rejected
    rows; `broken` says which rows break a promise; `tests` are the data tests that were to run before the publish;
    `altered`: dbt changed its schema before it was stopped; `hooked`: the statement of a hook that may have changed it
    before; `absent`: it is not there; `drift` is what changed since the last audit; `change` is what this publish does
    to it, or would have done, `comparison` its rows beside the staged ones; `quarantine` the rows that this publish set
    aside; `published`: it holds the new rows, though what was to follow failed.
    What went wrong: `transient` may pass by itself; `unsettled`: the target is half way; `exception` is its class;
    `reproducer` is a case of `planproof derive` in which our plan and Spark's differ.
    """

    unique_id: str | None = None
    name: str | None = None
    file: str | None = None
    materialized: str | None = None
    guard: str | None = None
    fail_on: str | None = None
    contract: bool | None = None
    contract_hash: str | None = None
    unenforced: tuple[str, ...] | None = None
    inputs: Mapping[str, str] | None = None
    uncounted: tuple[str, ...] | None = None
    known: tuple[str, ...] | None = None
    plan: Mapping[str, Any] | None = None
    lineage: Mapping[str, Any] | None = None
    lines: Mapping[str, str] | None = None
    files: Files | None = None
    lenient: bool | None = None
    previous: bool | None = None
    previous_rows: int | None = None
    rejected: str | None = None
    broken: tuple[BrokenRows, ...] | None = None
    tests: tuple[DataTestResult, ...] | None = None
    altered: bool | None = None
    hooked: str | None = None
    published: bool | None = None
    absent: bool | None = None
    drift: Mapping[str, Any] | None = None
    change: TableChange | None = None
    comparison: Comparison | None = None
    quarantine: QuarantinedRows | None = None
    transient: bool | None = None
    unsettled: bool | None = None
    reproducer: str | None = None
    exception: str | None = None
    traceback: str | None = None

    def to_dict(self, without: Collection[str] = ()) -> dict[str, Any]:
        """The known fields, but for those named, in JSON's types."""
        known = {name: getattr(self, name) for name in _FIELDS if name not in without}
        return {name: _convert_to_json(value) for name, value in known.items() if value is not None}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Details:
        """What `to_dict` wrote. Raises TypeError for a field that no report has."""
        typed = {name: _READERS[name](form[name]) for name in _READERS.keys() & form.keys() if form[name] is not None}
        return cls(**{**form, **typed})


_FIELDS = tuple(f.name for f in fields(Details))
_READERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("uncounted", "known", "unenforced"), tuple),
    "files": lambda form: Files(**{**form, **{name: tuple(form[name]) for name in ("compression", "written_by")}}),
    "broken": lambda listed: tuple(map(BrokenRows.from_dict, listed)),
    "tests": lambda listed: tuple(DataTestResult(**test) for test in listed),
    "change": TableChange.from_dict,
    "comparison": Comparison.from_dict,
    "quarantine": lambda form: QuarantinedRows(**form),
}
"""How the fields that are not the same in JSON's types are read back."""


def _convert_to_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_convert_to_json(part) for part in value]
    if is_dataclass(value):
        return {f.name: _convert_to_json(getattr(value, f.name)) for f in fields(value)}
    return dict(value) if isinstance(value, Mapping) else value
