"""The schemas of relations that no model makes: sources, seeds and snapshots.

A schema comes from, in this order: the project's freeze file (as Spark reported it), Parquet footers of the declared
location, the columns that the manifest declares. A seed's comes from the freeze file or its declared column types,
a snapshot's from the freeze file.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from io import StringIO
from pathlib import Path
from typing import Any

from planproof.arrow.isolated import CannotRead, agreed_columns
from planproof.project.contracts import load_file, load_own, parse_column
from planproof.project.manifest import Project, ProjectNode
from planproof.project.nodes import declared_columns, declared_not_null
from planproof.project.reads import ProjectError, is_file, is_within, note_unrepeatable, read_within, resolve_within
from planproof.session.files import data_files
from planproof_engine import OverBudget, RelationName, UnknownSpark, bounded, evolve, is_bounded, record, spark_version
from planproof_engine.schema import ByColumn, ColumnNames
from planproof_engine.types import DataType, TypeSyntaxError, from_json, parse_type

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
    form = load_own(found) if file is None else load_file(found)
    sources = form.get("sources") if isinstance(form, Mapping) else None
    if not isinstance(sources, Mapping):
        raise ProjectError(f"{found}: `sources` is not a mapping of relations; run `planproof freeze` again")
    shown = _resolve_file(found, project.directory)
    return Frozen(
        {
            RelationName.parse(str(name)).key: parse_entry(entry, f"{found}: {name}", shown)
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


def parse_entry(entry: Any, where: str, file: str) -> Known:
    """One relation of a freeze file. Raises `ProjectError`."""
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
    return evolve(found, evidence=_find_evidence(project, node, found))


def _complete_snapshot(node: ProjectNode, known: Known | None) -> Known | Unread:
    """`dbt snapshot` adds its query's new columns to the table that was frozen."""
    if known is not None:
        return evolve(known, complete=False)
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
    path = Path(os.path.abspath(project.directory), location.removeprefix("file://"))
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
