"""The schemas of relations that no model makes: sources, seeds and snapshots.

A schema comes from, in this order: the project's freeze file (as Spark reported it), Parquet footers of the declared
location, the columns that the manifest declares. A seed's comes from the freeze file or its declared column types,
a snapshot's from the freeze file.

What columns would change that a source has and the manifest does not declare.

dbt asks nobody to declare all columns of a source. So a query is planned once more over relations that have more of
them: two of names that no text has, which `*` brings out, and those that the text names, which may take the
place of an alias or of an outer query's column. For example, in `SELECT id AS amount, amount AS n` the second item is
the source's own `amount` where it has one. What comes out as before does not depend on such columns.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from io import StringIO
from pathlib import Path
from typing import Any

from planproof.arrow.isolated import CannotRead, agreed_columns
from planproof.judge.doubts import Incomplete
from planproof.project.manifest import Project, ProjectNode
from planproof.project.nodes import declared_columns, declared_not_null
from planproof.project.reads import (
    ProjectError,
    is_file,
    is_within,
    load_file,
    note_unrepeatable,
    parse_column,
    read_within,
    resolve_within,
)
from planproof.session.files import data_files
from planproof_engine import OverBudget, bounded, is_bounded
from planproof_engine.catalog import Catalog, Relation, RelationName
from planproof_engine.conf import Conf, UnknownSpark, spark_version
from planproof_engine.origin import AnalysisError, Unknown
from planproof_engine.records import record
from planproof_engine.schema import ByColumn, ColumnNames, LogicalField, LogicalSchema
from planproof_engine.texts import list_mentioned_names, read_head
from planproof_engine.types import DOUBLE, STRING, VOID, DataType, TypeSyntaxError, from_json, parse_type

_MOST_FILES = 10_000
_LONGEST_HEADER = 2**20
"""Characters: a hundred MB of commas would stand for as many columns."""
FREEZE_FILES = ("planproof_sources.json", "planproof_sources.yml", "planproof_sources.yaml")


@record(frozen=True, slots=True)
class Known:
    """A relation's columns `(name, type, nullable)`, why some hold no null, and where this is from; `ids` are the field
    ids of an Iceberg table's columns.

    `complete` is False where columns may be missing: a manifest may document only some of a source's columns.
    """

    columns: tuple[tuple[str, DataType, bool], ...]
    origin: str
    evidence: Mapping[str, str] = field(default_factory=dict)
    kind: str = "table"
    complete: bool = True
    ids: Mapping[str, int] = field(default_factory=dict)


@record(frozen=True, slots=True)
class Unread:
    """A relation whose schema is not known, and why."""

    reason: str


@record(frozen=True, slots=True)
class Frozen:
    """What `planproof freeze` wrote: relations by their lower-case name parts, and the Spark that it asked, which
    files of earlier versions do not name. `file` is the path from the project's directory where it lies below, else
    absolute: the same however the project was named."""

    relations: Mapping[tuple[str, ...], Known] = field(default_factory=dict)
    file: str | None = None
    spark: str | None = None

    def find(self, relation: str) -> Known | None:
        wanted = RelationName.parse(relation).key
        return self.relations.get(wanted) or (self.relations.get(wanted[1:]) if len(wanted) > 2 else None)


def read_frozen(project: Project, file: str | Path | None = None) -> Frozen:
    """The freeze file given, or the one in the project's directory; empty where there is none. Raises `ProjectError`.

    Its form: `{"version": 1, "spark": "3.5", "sources": {"db.orders": {"kind": "table", "columns": [{"name", "type",
    "nullable"}]}}}`, where columns of Iceberg's tables have a field `id` too.
    """
    found = Path(file) if file is not None else _find_file(project.directory)
    if found is None:
        return Frozen()
    form = load_file(found)
    sources = form.get("sources") if isinstance(form, Mapping) else None
    if not isinstance(sources, Mapping):
        raise ProjectError(f"{found}: `sources` is not a mapping of relations; run `planproof freeze` again")
    shown = _resolve_file(found, project.directory)
    return Frozen(
        {
            RelationName.parse(str(name)).key: _parse_entry(entry, f"{found}: {name}", shown)
            for name, entry in sources.items()
        },
        shown,
        _read_spark_version(form.get("spark"), found),
    )


def _resolve_file(file: Path, directory: Path | None) -> str:
    real, home = file.resolve(), directory.resolve() if directory is not None else None
    return real.relative_to(home).as_posix() if home is not None and real.is_relative_to(home) else str(real)


def _read_spark_version(given: Any, file: Path) -> str | None:
    try:
        return None if given is None else spark_version(str(given))
    except UnknownSpark as error:
        raise ProjectError(f"{file}: `spark`: {error}") from error


def _find_file(directory: Path | None) -> Path | None:
    candidates = [directory / name for name in FREEZE_FILES] if directory is not None else []
    return next((path for path in candidates if is_file(path)), None)


def _parse_entry(entry: Any, where: str, file: str) -> Known:
    columns = entry.get("columns") if isinstance(entry, Mapping) else None
    if not isinstance(columns, list) or not columns:
        raise ProjectError(f"{where}: `columns` is not a list of columns")
    kind = str(entry.get("kind") or "table")
    found = [(parse_column(_drop_id(c), f"{where}[{i}]"), c) for i, c in enumerate(columns)]
    ids = {column[0]: c["id"] for column, c in found if isinstance(c.get("id"), int)}
    return Known(tuple(_parse_column(column, where) for column, _ in found), file, {}, kind, ids=ids)


def _drop_id(column: Any) -> Any:
    return {key: value for key, value in column.items() if key != "id"} if isinstance(column, Mapping) else column


def schema_of_source(project: Project, node: ProjectNode, frozen: Frozen, conf_ntz: bool = False) -> Known | Unread:
    """The schema of a source, seed or snapshot, with its origin, or why it is not known: it may cost what a model may.
    `conf_ntz`: what `timestamp` means."""
    try:
        with bounded():
            return _find_schema(project, node, frozen, conf_ntz)
    except OverBudget as over:
        if is_bounded():
            raise
        return Unread(f"the {node.kind} {node.relation} costs more than the budget for one allows: {over}")


def _find_schema(project: Project, node: ProjectNode, frozen: Frozen, conf_ntz: bool) -> Known | Unread:
    known = frozen.find(node.relation)
    if node.kind == "snapshot":
        return _complete_snapshot(node, known)
    if node.kind == "seed":
        return known or _read_seed(project, node)
    found = known or _read_footers(project, node)
    if not isinstance(found, Known):
        declared = _read_declared(node, conf_ntz)
        if isinstance(declared, Unread):
            return declared if found is None else Unread(f"{declared.reason}. {found.reason}")
        found = declared
    return replace(found, evidence=_find_evidence(project, node, found))


def _complete_snapshot(node: ProjectNode, known: Known | None) -> Known | Unread:
    """`dbt snapshot` adds its query's new columns to the table that was frozen."""
    if known is not None:
        return replace(known, complete=False)
    return Unread(
        f"the snapshot {node.relation} has columns that only dbt and Spark know; run `dbt snapshot` and then "
        "`planproof freeze`"
    )


def _find_evidence(project: Project, node: ProjectNode, known: Known) -> dict[str, str]:
    """Why columns of a source hold no null: what its files show, else what its author declares, else what they test. A
    stored V1 table forgets NOT NULL when Spark reads it back, so that none of it is a flag."""
    declared = declared_not_null(node.raw)
    tested = ColumnNames(project.tested_not_null.get(node.unique_id, ()))
    found = dict(known.evidence)
    for name, _, nullable in known.columns:
        if name in found or not nullable:
            continue
        if name in declared:
            found[name] = f"the source {node.relation} declares it NOT NULL"
        elif name in tested:
            found[name] = f"the test not_null of the source {node.relation} holds it"
    return found


def _read_declared(node: ProjectNode, conf_ntz: bool) -> Known | Unread:
    columns = declared_columns(node.raw)
    named = node.raw.get("columns") or {}
    if not columns or len(columns) < len(named):
        return Unread(
            f"the source {node.relation} lacks a complete list of columns with data_type; "
            "declare one, or run `planproof freeze`"
        )
    fields = tuple(_parse_column((name, kind, True), node.label, conf_ntz) for name, kind, _ in columns)
    return Known(fields, f"declared in {node.file or 'the manifest'}", complete=False)


def _read_footers(project: Project, node: ProjectNode) -> Known | Unread | None:
    """From the Parquet files of a local `external_location` inside of the project, where pyarrow is installed; those
    that Spark reads there, not what a killed job left beside them. None where there are none, or folders hold columns,
    or the files do not agree."""
    location = _find_location(node.raw)
    if location is None or project.directory is None or "\0" in location:
        return None
    note_unrepeatable()
    path = project.directory / location.removeprefix("file://")
    if not is_within(os.path.realpath(path), os.path.realpath(project.directory)):
        return None
    try:
        files = [file for file in data_files(str(path)) if file.endswith(".parquet") or path.is_file()]
        if not 0 < len(files) <= _MOST_FILES:
            return None
        if any("=" in folder for file in files for folder in Path(file).relative_to(path).parts[:-1]):
            return None
        # A link, or a pipe, leads elsewhere.
        found = agreed_columns([resolve_within(project.directory, file) for file in files])
    except (OSError, CannotRead) as error:
        said = str(error).replace(f"{os.path.realpath(path)}/", "")  # Long messages are cut.
        return Unread(f"The Parquet files below {location} cannot be read: {said}")
    if found is None:
        return None
    evidence = {
        name: f"no null in {found.rows} rows of {len(files)} Parquet files of {node.relation}"
        for name, _ in found.columns
        if name in found.without_null
    }
    fields = tuple((name, kind, True) for name, kind in found.columns)
    return Known(fields, f"Parquet footers below {location}", evidence)


def _find_location(raw: Mapping[str, Any]) -> str | None:
    external = raw.get("external")
    config = raw.get("config") or {}
    for holder, key in (
        (raw.get("meta"), "external_location"),
        (config.get("meta") if isinstance(config, Mapping) else None, "external_location"),
        (external, "location"),
    ):
        given = holder.get(key) if isinstance(holder, Mapping) else None
        if isinstance(given, str) and given and "{" not in given:
            return given
    return None


def _read_seed(project: Project, node: ProjectNode) -> Known | Unread:
    """dbt infers a seed's types from its data; only types that the project states for every column are sure."""
    config = node.raw.get("config") or {}
    stated = ByColumn((str(k), str(v)) for k, v in (config.get("column_types") or {}).items())
    header = _read_header(project, node)
    names = header or [name for name, _, _ in declared_columns(node.raw)]
    missing = [name for name in names if name not in stated]
    if not names or missing:
        which = "" if missing and not stated else f" for the column {missing[0]!r}" if missing else " for its columns"
        return Unread(
            f"the seed {node.relation} states no column_types{which}; state them for every column, or run `dbt seed` "
            "and then `planproof freeze`"
        )
    fields = tuple(_parse_column((name, stated[name], True), node.label) for name in names)
    return Known(fields, f"column_types of {node.file or node.name}")


def _read_header(project: Project, node: ProjectNode) -> list[str]:
    delimiter = str((node.raw.get("config") or {}).get("delimiter") or ",")
    if project.directory is None or not node.file:
        return []
    try:
        text = read_within(project.directory, node.file).decode("utf-8-sig")
        return next(csv.reader(_read_first_lines(text), delimiter=delimiter[:1]), [])
    except (OSError, UnicodeDecodeError, ValueError, csv.Error):
        return []


def _read_first_lines(text: str) -> Iterator[str]:
    """The lines among which a header is looked for. Raises ValueError where it is longer than it may be."""
    left = _LONGEST_HEADER
    for line in StringIO(text, newline=""):
        left -= len(line)
        if left < 0:
            raise ValueError("a header of too many characters")
        yield line


def _parse_column(column: tuple[str, Any, bool], where: str, ntz: bool = False) -> tuple[str, DataType, bool]:
    name, given, nullable = column
    try:
        is_ddl = isinstance(given, str) and given.lstrip()[:1] not in ("{", '"')
        return name, parse_type(given, timestamp_ntz=ntz) if is_ddl else from_json(given), nullable
    except (TypeSyntaxError, KeyError, TypeError, ValueError) as error:
        raise ProjectError(f"{where}: column {name!r}: {error}") from error


Parts = tuple[str, ...]

_ONE_MORE = "__planproof_one_more"
# The types of the columns that a text may name: nearly all functions take a string, and no column was of NULL's type.
_KINDS: tuple[DataType, ...] = (VOID, STRING)
# Those of the columns that a star brings out: `coalesce(*)` has the wider type, which one of the two is.
_MARKS: tuple[DataType, ...] = (STRING, DOUBLE)
_TRIES = 16
_SHOWN = 3

_OWN = ("table", "view", "materialized_view", "incremental", "ephemeral")
# Words of hooks after which a relation may have other columns.
_CHANGING = frozenset(("column", "columns", "create", "replace", "rename"))
_RELATION = re.compile(r"\{\{\s*(?:this|ref\([^(){}]*\)|source\([^(){}]*\))(?:\.\w+)*\s*\}\}")
_AMBIGUOUS = re.compile(r"^Reference (\S+) is ambiguous")


def join_alternatives(sources: Iterable[str]) -> str:
    """
    >>> join_alternatives(["the source a", "the source b", "the source a"])
    'the source a or the source b'
    """
    found = [*dict.fromkeys(sources)]
    return " or ".join(found) if len(found) <= _SHOWN else f"one of {len(found)} relations that it reads"


def find_growth(node: ProjectNode) -> str | None:
    """Why a model's relation may have more columns than its query: another materialization than dbt's own makes it, or
    a hook changes it. None where nothing of that kind is seen."""
    if node.materialized not in _OWN:
        return f"{node.relation}, which the materialization {node.materialized} makes,"
    if any(map(_may_change_columns, node.hooks())):
        return f"{node.relation}, which its hooks may change,"
    return None


def _may_change_columns(hook: str) -> bool:
    """
    >>> _may_change_columns("alter table {{ this }} add columns (day date)"), _may_change_columns("optimize {{ this }}")
    (True, False)
    """
    text = _RELATION.sub(" x ", hook)
    if "{{" in text or "{%" in text:
        return True
    statement = read_head(text)
    return statement.kind not in ("read", "about") and not _CHANGING.isdisjoint(statement.names)


@record(frozen=True, slots=True)
class Supposition:
    """A query over relations that may have more columns than are known.

    `find` gives a relation as it is known, `incomplete` what is not known of it, None where all is.
    """

    sql: str
    conf: Conf
    find: Callable[[Parts], Relation | None]
    incomplete: Callable[[Relation], Incomplete | None]

    def find_change(self, known: LogicalSchema) -> Incomplete | None:
        """What may be other than in the schema that was planned; None where nothing is."""
        names, sources = list_mentioned_names(self.sql, self.conf), dict[str, str]()
        with_names = self._plan_wider(names, VOID, sources)
        if not sources or (isinstance(with_names, LogicalSchema) and _form_of(with_names) == _form_of(known)):
            return None
        plain = self._plan_wider(frozenset(), VOID, {})
        if not isinstance(plain, LogicalSchema):
            return Incomplete(join_alternatives(sources.values()), True, known.names)
        changed = dict.fromkeys(_find_changed(known, plain))
        for other in (with_names, self._plan_wider(names, STRING, {})):
            changed.update(dict.fromkeys(_find_changed(known, other) if isinstance(other, LogicalSchema) else ()))
        is_wider = plain.names != known.names
        if not is_wider and not changed:
            return None
        shown = [source for mark, source in sources.items() if any(_has_mark(f, mark) for f in plain)]
        return Incomplete(join_alternatives(shown or sources.values()), is_wider, tuple(changed))

    def find_mending_source(self, error: AnalysisError) -> str | None:
        """The source of which another column may mend the error, or make it another one."""
        names, sources = list_mentioned_names(self.sql, self.conf), dict[str, str]()
        found = [self._plan_wider(names, kind, sources, error) for kind in _KINDS]
        return (
            join_alternatives(sources.values())
            if sources and any(not _is_same(error, other) for other in found)
            else None
        )

    def _plan_wider(
        self, names: frozenset[str], kind: DataType, sources: dict[str, str], error: AnalysisError | None = None
    ) -> LogicalSchema | AnalysisError | Unknown:
        """The schema over the wider relations, or why there is none. Fills `sources` by the column that shows each.

        A name that is ambiguous only where a relation gets it is left out: with it Spark rejects the query in any case.
        """
        from planproof_engine import plan

        is_ambiguous = error is not None and _ambiguous_name(error) is not None
        failure: AnalysisError | Unknown = Unknown("what its names mean")
        for _ in range(_TRIES):
            wider = Catalog(source=lambda parts, added=names: self._widen(parts, added, kind, sources))  # type: ignore[misc]
            try:
                return plan(self.sql, wider, conf=self.conf).schema
            except Unknown as unknown:
                return unknown
            except AnalysisError as found:
                failure, name = found, _ambiguous_name(found)
                if name is None or name not in names or is_ambiguous:
                    return found
                names -= {name}
        return failure

    def _widen(self, parts: Parts, names: frozenset[str], kind: DataType, sources: dict[str, str]) -> Relation | None:
        found = self.find(parts)
        unknown = None if found is None else self.incomplete(found)
        if found is None or unknown is None:
            return found
        mark = f"{_ONE_MORE}({'.'.join(found.parts).lower()})"
        sources[mark] = unknown.source
        fields = [replace(f, type=kind, nullable=True) if f.name in unknown.columns else f for f in found.schema]
        if unknown.is_wider:
            held = ColumnNames(f.name for f in fields)
            fields += [LogicalField(found.name, f"{mark}{n}", t, nullable=True) for n, t in enumerate(_MARKS)]
            fields += [LogicalField(found.name, name, kind, nullable=True) for name in sorted(names - held)]
        return replace(found, schema=LogicalSchema(tuple(fields)))


def _form_of(schema: LogicalSchema) -> list[tuple[str, DataType, bool]]:
    return [(f.name, f.type, f.nullable) for f in schema]


def _find_changed(known: LogicalSchema, other: LogicalSchema) -> Iterator[str]:
    """The columns that have another type or nullability in the other schema, or are not in it."""
    first = {f.name: f for f in reversed(other.fields)}
    for f in known:
        now = first.get(f.name)
        if now is None or (now.type, now.nullable) != (f.type, f.nullable):
            yield f.name


def _has_mark(field: LogicalField, mark: str) -> bool:
    """Whether a column is the one that was added, or has it within: a struct of all columns has one more field."""
    return mark in field.name or mark in field.type.simple


def _is_same(error: AnalysisError, other: LogicalSchema | AnalysisError | Unknown) -> bool:
    return isinstance(other, AnalysisError) and (other.condition, other.message) == (error.condition, error.message)


def _ambiguous_name(error: AnalysisError) -> str | None:
    """The lower-case name of the column that is ambiguous."""
    match = _AMBIGUOUS.match(error.message) if error.condition == "AMBIGUOUS_REFERENCE" else None
    return match[1].split(".")[-1].strip("`").lower() if match else None
