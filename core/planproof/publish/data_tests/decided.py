"""dbt's own data tests, decided without a query: by the plan of what was published, or by the files of a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from planproof.arrow import column_counts as counts
from planproof.arrow.isolated import CannotRead, run_isolated_or_here
from planproof.publish.data_tests.evidence import Part, Plans, Shown
from planproof.publish.data_tests.known import Question
from planproof.session import Session, SparkFailure, StoredTable, decode_uri, local
from planproof.session.sources import live_catalog
from planproof_engine import AnalysisError, RelationName, Unknown, evolve, plan
from planproof_engine.plans import Filter, Named, Project, Scan, Subquery, may_raise
from planproof_engine.schema import ColumnNames, PhysicalField, PhysicalSchema, fold_name
from planproof_engine.types import STRING, DataType

_OF_SOME_ROWS = frozenset(
    (
        *("not_null", "unique", "accepted_values", "relationships"),
        *("not_accepted_values", "not_empty_string", "accepted_range"),
    )
)
"""Tests that pass for some of the rows wherever they pass for all rows."""
_OF_ALL_VALUES = frozenset(("not_constant", "at_least_one"))
"""Tests that pass for a column wherever they pass for another one with the same values, however often each stands
there."""
MOST_PARTITIONS = 200
MOST_STEPS = 16
"""At most so many relations are followed from a column to the files that hold its values."""


@dataclass(frozen=True, slots=True)
class Stored:
    """All files of a relation, on this machine, and its columns as Spark reads them; no file tells of those
    `beside`."""

    paths: tuple[str, ...]
    schema: PhysicalSchema
    beside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failures:
    """How many failures a test has, and from where that is known."""

    failures: int
    ground: str


Own = dict[RelationName, tuple["Stored | None", "Shown | None"]]


@dataclass(slots=True)
class Relations:
    """What is known of relations as they are now. Each relation is looked at once; make a new object for each test.

    `own` is a relation whose rows are staged and not yet under its name: its files, and what its plan proves.
    `standing` is the SQL that stands for it.
    """

    session: Session
    plans: Plans
    own: Own = field(default_factory=dict)
    standing: dict[RelationName, str] = field(default_factory=dict)
    _tables: dict[RelationName, StoredTable | None] = field(default_factory=dict)

    def files(self, name: RelationName) -> Stored | None:
        if name in self.own:
            return self.own[name][0]
        return find_stored(self.session, self._table(name))

    def plan(self, name: RelationName) -> Shown | None:
        if name in self.own:
            return self.own[name][1]
        table = self._table(name)
        return self.plans.find(self.session, name, table) if table is not None else None

    def is_table(self, name: RelationName) -> bool:
        table = self._table(name)
        return table is not None and table.kind == "table"

    def relation(self, name: RelationName) -> str:
        """As it stands in FROM."""
        return self.standing.get(name) or name.quoted

    def has(self, name: RelationName, column: str, t: DataType) -> bool:
        """Whether a relation's column is of that type by now."""
        table = self._table(name)
        fields = table.schema.fields if table is not None else ()
        return [f.type for f in fields if fold_name(f.name) == fold_name(column)] == [t]

    def _table(self, name: RelationName) -> StoredTable | None:
        if name not in self._tables:
            self._tables[name] = self.session.registered_table(name.quoted)
        return self._tables[name]


def count(question: Question, relations: Relations) -> Failures | None:
    """What dbt's test would count; None where neither plan nor files tell, or only a job does.

    A proof says that nothing fails; a number above that comes from the rows of the relation itself.
    """
    if not question.where:
        return _count(question, relations)
    if not is_filter(question.where, relations.relation(question.relation), relations.session):
        return None
    found = _count(evolve(question, where=""), relations)
    return Failures(0, f"{found.ground}, without its `where`") if found is not None and not found.failures else None


def _count(question: Question, relations: Relations, steps: int = 0) -> Failures | None:
    case_sensitive = relations.session.conf.case_sensitive
    shown = relations.plan(question.relation) if not case_sensitive else None
    why = _prove(question, shown, relations) if shown is not None else None
    if why is not None:
        return Failures(0, f"proved: {why}")
    found = _count_in_files(question, relations, case_sensitive)
    if found is not None or shown is None or steps == MOST_STEPS:
        return found
    return _decide_by_sources(question, shown, relations, steps)


# --- by plans -------------------------------------------------------------------------------------------------------


def _prove(question: Question, shown: Shown, relations: Relations) -> str | None:
    """Why no row can fail, whatever the sources hold."""
    column = fold_name(question.column)
    if question.kind == "not_null":
        return shown.filled.get(column)
    if question.kind == "unique":
        return _find_key(shown, {column}) or shown.counted.get(column)
    if question.kind == "unique_combination_of_columns":
        return _find_key(shown, ColumnNames(question.columns))
    if question.kind == "relationships":
        part = shown.parts.get(column)
        same = part is not None and (part.relation, fold_name(part.column)) == (
            question.other,
            fold_name(question.field),
        )
        # A view may show other rows each time.
        if part is not None and same and relations.is_table(part.relation):
            return f"its values are those of {part.relation}.{part.column}"
    return None


def _find_key(shown: Shown, columns: Set[str]) -> str | None:
    found = (f"{why} {', '.join(sorted(key))}".strip() for key, why in shown.keys.items() if key <= columns)
    return next(found, None)


def _decide_by_sources(question: Question, shown: Shown, relations: Relations, steps: int) -> Failures | None:
    """The rows are some of another relation's rows: none fails where none of those does."""
    part = shown.parts.get(fold_name(question.column))
    if part is None or not _is_carried(question.kind, part) or not relations.has(part.relation, part.column, part.type):
        return None
    below = evolve(question, relation=part.relation, column=part.column)
    found = _count(below, relations, steps + 1)
    if found is None or found.failures:
        return None
    ground = found.ground.removeprefix("proved: ")
    return Failures(0, f"proved: the values of {part.relation}.{part.column}, {ground}")


def _is_carried(kind: str, part: Part) -> bool:
    """Whether a test that the stored column passes is passed by the column that shows it."""
    if kind == "unique":
        return part.once
    if kind == "not_null":
        return not part.padded
    return kind in _OF_SOME_ROWS or (kind in _OF_ALL_VALUES and part.whole)


# --- by files -------------------------------------------------------------------------------------------------------


def _count_in_files(question: Question, relations: Relations, case_sensitive: bool) -> Failures | None:
    stored = relations.files(question.relation)
    if stored is None:
        return None
    names = question.columns or (question.column,)
    fields = [f for name in names if (f := _find_field(stored, name, case_sensitive)) is not None]
    if len(fields) != len(names) or len({f.name for f in fields}) != len(names):
        return None
    if question.kind == "relationships":
        return _count_unrelated(question, stored, fields[0], relations, case_sensitive)
    source, counted = _COUNTS[question.kind]
    failures = counted(question, stored.paths, fields)
    return None if failures is None else Failures(failures, f"counted: {source} of {_files(stored)}")


def _count_unrelated(
    question: Question, stored: Stored, column: PhysicalField, relations: Relations, case_sensitive: bool
) -> Failures | None:
    if question.other is None:
        return None
    at, field_name = _resolve_source(relations, question.other, question.field, case_sensitive)
    other = relations.files(at)
    known = _find_field(other, field_name, case_sensitive)
    if other is None or known is None or known.type != column.type:
        return None
    found = _call_reader(counts.count_without_match, stored.paths, column.name, other.paths, known.name, column.type)
    against = f"{_files(other)} of {at}"
    return None if found is None else Failures(found, f"counted: rows of {_files(stored)}, against {against}")


def _call_reader(count: Callable[..., int | None], *of: Any) -> int | None:
    """What a count over files says, in a process that one of them may end; None where it says nothing."""
    try:
        return run_isolated_or_here(count, *of)
    except (CannotRead, ValueError):  # A damaged footer can have names that are no text.
        return None


_Fields = Sequence[PhysicalField]


def _count_constant(q: Question, paths: Sequence[str], fields: _Fields) -> int | None:
    found = _call_reader(counts.count_distinct, paths, fields[0].name, fields[0].type)
    return None if found is None else int(found == 1)


def _count_without_value(q: Question, paths: Sequence[str], fields: _Fields) -> int | None:
    nulls, rows = _call_reader(counts.count_nulls, paths, fields[0].name), _call_reader(counts.count_rows, paths)
    return None if nulls is None or rows is None else int(nulls == rows)


def _count_proportion(q: Question, paths: Sequence[str], fields: _Fields) -> int | None:
    """Spark rounds the share to at least six places. A share that lies closer to a bound is left to Spark."""
    nulls, rows = _call_reader(counts.count_nulls, paths, fields[0].name), _call_reader(counts.count_rows, paths)
    if nulls is None or rows is None:
        return None
    if not rows:
        return 0  # The share is NULL, and less and greater than nothing.
    share, least, most = Fraction(rows - nulls, rows), Fraction(q.least), Fraction(q.most)
    if any(0 < abs(share - bound) < _ROUNDED or (share == bound and share not in (0, 1)) for bound in (least, most)):
        return None
    return int(share < least or share > most)


_ROUNDED = Fraction(1, 100_000)
_COUNTS: Mapping[str, tuple[str, Callable[[Question, Sequence[str], _Fields], int | None]]] = {
    "not_null": ("footers", lambda q, paths, f: _call_reader(counts.count_nulls, paths, f[0].name)),
    "unique": ("rows", lambda q, paths, f: _call_reader(counts.count_repeated, paths, f[0].name, f[0].type)),
    "accepted_values": (
        "values",
        lambda q, paths, f: _call_reader(counts.count_unaccepted, paths, f[0].name, q.values) if _is_text(f) else None,
    ),
    "not_accepted_values": (
        "values",
        lambda q, paths, f: _call_reader(counts.count_refused, paths, f[0].name, q.values) if _is_text(f) else None,
    ),
    "not_empty_string": (
        "values",
        lambda q, paths, f: _call_reader(counts.count_blank, paths, f[0].name) if _is_text(f) else None,
    ),
    "unique_combination_of_columns": (
        "rows",
        lambda q, paths, f: _call_reader(counts.count_repeated_rows, paths, [i.name for i in f], [i.type for i in f]),
    ),
    "accepted_range": (
        "values",
        lambda q, paths, f: _call_reader(counts.count_outside, paths, f[0].name, f[0].type, q.least, q.most),
    ),
    "not_constant": ("values", _count_constant),
    "at_least_one": ("footers", _count_without_value),
    "not_null_proportion": ("footers", _count_proportion),
}


def _is_text(fields: _Fields) -> bool:
    return fields[0].type == STRING


def _resolve_source(
    relations: Relations, name: RelationName, column: str, case_sensitive: bool
) -> tuple[RelationName, str]:
    """A relation and its column that hold the same values, which may lie in files where those of a view do not."""
    for _ in range(0 if case_sensitive else MOST_STEPS):
        shown = relations.plan(name) if relations.files(name) is None else None
        part = shown.parts.get(fold_name(column)) if shown is not None else None
        if part is None or not part.whole or not relations.has(part.relation, part.column, part.type):
            break
        name, column = part.relation, part.column
    return name, column


def find_stored(session: Session, table: StoredTable | None) -> Stored | None:
    """A table whose rows are all that lies in folders of this machine; None for any other relation."""
    if table is None or not table.is_plain_parquet or table.location is None:
        return None
    if not table.partition_by:
        return find_stored_below(session, [decode_uri(table.location)], table.schema, table.filled)
    if not table.tracked:
        return None
    try:
        found = session.partition_locations(table.name)
    except SparkFailure:
        return None
    if found is None or len(found) > MOST_PARTITIONS:
        return None
    return find_stored_below(session, found, table.schema, (*table.partition_by, *table.filled))


def find_stored_below(
    session: Session, locations: Sequence[str], schema: PhysicalSchema, beside: tuple[str, ...] = ()
) -> Stored | None:
    """None for a folder that is not there: the catalog may spell its name in another way."""
    folders = [folder for location in locations if (folder := local(location)) is not None and os.path.isdir(folder)]
    try:
        paths = [path for folder in folders for path in session.files(folder)]
    except SparkFailure:
        return None
    return Stored(tuple(paths), schema, beside) if len(folders) == len(locations) else None


def _find_field(stored: Stored | None, name: str, case_sensitive: bool) -> PhysicalField | None:
    """The column of that name that the files hold."""
    wanted, known = fold_name(name, case_sensitive), stored.schema.fields if stored is not None else ()
    fields = [f for f in known if fold_name(f.name, case_sensitive) == wanted]
    if len(fields) != 1 or stored is None or fields[0].name in stored.beside:
        return None
    return fields[0]


def _files(stored: Stored) -> str:
    return f"{len(stored.paths)} file{'' if len(stored.paths) == 1 else 's'}"


def is_filter(condition: str, relation: str, session: Session) -> bool:
    """Whether `SELECT * FROM relation WHERE condition` gives some of the relation's rows for all data, and never fails.

    `relation` is quoted, or stands for itself in FROM.
    """
    conf = session.conf
    try:
        found = plan(f"SELECT * FROM {relation} WHERE {condition}", live_catalog(session), conf=conf).root
    except (AnalysisError, Unknown, SparkFailure):
        return False
    if isinstance(found, Project):
        found = found.child
    if not isinstance(found, Filter) or found.condition.holds(Subquery) or may_raise(found.condition, conf):
        return False
    below = found.child
    return isinstance(below.child if isinstance(below, Named) else below, Scan)
