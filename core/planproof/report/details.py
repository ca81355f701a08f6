"""What a report tells of its model beside what was judged: where it is from, what stood and stands there, what went
wrong. Each field is absent from the JSON form where it is not known."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, fields
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
        return cls(
            form["code"],
            form.get("promised"),
            form.get("field"),
            form.get("query"),
            None if columns is None else tuple(columns),
            None if rows is None else tuple(map(tuple, rows)),
        )


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
        known: dict[str, Any] = {}
        for name in _FIELDS:
            value = getattr(self, name)
            if value is not None and name not in without:
                known[name] = dict(value) if isinstance(value, Mapping) else value
        if self.files is not None:
            known["files"] = {f.name: _convert_value(getattr(self.files, f.name)) for f in fields(self.files)}
        if self.change is not None:
            known["change"] = self.change.to_dict()
        if self.comparison is not None:
            known["comparison"] = self.comparison.to_dict()
        for name in _LISTS:
            if getattr(self, name) is not None:
                known[name] = list(getattr(self, name))
        if self.quarantine is not None:
            known["quarantine"] = asdict(self.quarantine)
        if self.broken is not None:
            known["broken"] = [asdict(rows) for rows in self.broken]
        if self.tests is not None:
            known["tests"] = [asdict(test) for test in self.tests]
        return known

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Details:
        """What `to_dict` wrote. Raises TypeError for a field that no report has."""
        if _TYPED.isdisjoint(form):
            return cls(**form)
        typed: dict[str, Any] = {}
        files, change = form.get("files"), form.get("change")
        if files is not None:
            listed: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in files.items()}
            typed["files"] = Files(**listed)
        if change is not None:
            typed["change"] = TableChange.from_dict(change)
        if form.get("comparison") is not None:
            typed["comparison"] = Comparison.from_dict(form["comparison"])
        typed |= {name: tuple(form[name]) for name in _LISTS if form.get(name) is not None}
        if form.get("quarantine") is not None:
            typed["quarantine"] = QuarantinedRows(**form["quarantine"])
        if form.get("broken") is not None:
            typed["broken"] = tuple(map(BrokenRows.from_dict, form["broken"]))
        if form.get("tests") is not None:
            typed["tests"] = tuple(DataTestResult(**test) for test in form["tests"])
        return cls(**{**form, **typed})


_FIELDS = tuple(f.name for f in fields(Details))
_LISTS = ("uncounted", "known", "unenforced")
_TYPED = frozenset(("files", "change", "comparison", *_LISTS, "quarantine", "broken", "tests"))
"""Fields that are not the same in JSON's types."""


def _convert_value(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
