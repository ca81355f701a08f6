"""What a report tells of its model beside what was judged: where it is from, what stood and stands there, what went
wrong. Each field is absent from the JSON form where it is not known."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from planproof.report.changes import TableChange
from planproof.report.comparison import Comparison
from planproof_engine.records import record


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
