"""The schemas of sources as Spark reports them, written down; and what changed since they were."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from planproof.project import Project, ProjectError, ProjectNode, diff
from planproof.project.sources import Frozen, Known, parse_entry
from planproof.session import Session, SparkFailure, StoredTable
from planproof_engine import AnalysisError, Conf
from planproof_engine.types import DataType, parse_type

VERSION = 1
_MADE_BY = {"seed": "`dbt seed` loads it", "snapshot": "`dbt snapshot` makes it"}


def freeze_relations(project: Project, session: Session) -> tuple[dict[str, Any], dict[str, str]]:
    """The freeze file's content, every source, seed and snapshot that Spark knows; and why each other is not in it.

    Raises `ProjectError` where Spark knows none of them.
    """
    sources: dict[str, Any] = {}
    missing: dict[str, str] = {}
    wanted = list_unmade(project)
    for node in wanted:
        try:
            table = session.table(node.relation)
            if table is None:
                missing[node.relation] = _describe_absence(node)
                continue
            entry = {"kind": _kind(table), "columns": _columns(table, _field_ids(session, node, table))}
            parse_entry(entry, "it could not be read back", "")
            sources[node.relation] = entry
        except (SparkFailure, AnalysisError, ProjectError) as error:
            missing[node.relation] = str(error)
    if wanted and not sources:
        listed = "\n".join(f"  {name}: {why}" for name, why in missing.items())
        raise ProjectError(
            f"none of the {len(wanted)} sources, seeds and snapshots was found, and nothing was written:\n{listed}"
        )
    return {"version": VERSION, "spark": session.conf.spark, "sources": sources}, missing


def _describe_absence(node: ProjectNode) -> str:
    made_by = _MADE_BY.get(node.kind)
    step = f"; {made_by}, and `planproof freeze` then tells it" if made_by is not None else ""
    return f"Spark knows no such relation{step}"


def list_unmade(project: Project) -> list[ProjectNode]:
    """The relations that no model makes."""
    return [node for node in project.nodes.values() if node.kind in ("source", "seed", "snapshot")]


def render_form(form: Mapping[str, Any]) -> str:
    """The file's text: one line per column, so that a change reads well as a diff."""
    lines = ["{", f'  "version": {form["version"]},', f'  "spark": {json.dumps(form["spark"])},', '  "sources": {']
    sources = list(form["sources"].items())
    for i, (name, entry) in enumerate(sources):
        columns = ",\n".join(f"        {json.dumps(c, ensure_ascii=False)}" for c in entry["columns"])
        lines += [f"    {json.dumps(name)}: {{", f'      "kind": {json.dumps(entry["kind"])},', '      "columns": [']
        lines += [columns, "      ]", "    }" + ("," if i + 1 < len(sources) else "")]
    return "\n".join([*lines, "  }", "}"]) + "\n"


def find_drift(project: Project, session: Session, frozen: Frozen, conf: Conf | None = None) -> diff.Comparison:
    """The live sources against the freeze file, and what each change reaches in the project, as its models read the
    sources under `conf`. Raises `ProjectError` where there is no file."""
    if frozen.file is None:
        raise ProjectError("there is no freeze file to compare with; run `planproof freeze` first")
    changes: list[tuple[str, diff.SchemaChange]] = []
    unread: dict[str, str] = {}
    wanted = list_unmade(project)
    for node in wanted:
        known, table = frozen.find(node.relation), session.table(node.relation)
        if known is None:
            step = _describe_absence(node) if table is None else "run `planproof freeze` again"
            unread[node.relation] = f"{frozen.file} does not hold it; {step}"
            continue
        before = _frozen_shape(node.relation, known)
        found = list(diff.compare_shapes(before, None if table is None else _live_shape(node.relation, table)))
        if known.ids and table is not None:
            found += _find_recreated(node.relation, known.ids, _field_ids(session, node, table))
        changes += ((node.unique_id, change) for change in found)
    followed = tuple(diff.follow_changes(project, conf, frozen, changes))
    return diff.Comparison(followed, unread, compared=len(wanted) - len(unread))


def _field_ids(session: Session, node: ProjectNode, table: StoredTable) -> Mapping[str, int]:
    """The field ids of an Iceberg table's columns; none for any other relation."""
    if table.kind != "table":
        return {}
    tables = session.transactions()
    snapshot = None if tables is None else tables.snapshot(node.relation, counted=False)
    return {} if snapshot is None else snapshot.ids


def _find_recreated(relation: str, before: Mapping[str, int], now: Mapping[str, int]) -> Iterator[diff.SchemaChange]:
    """Columns of an Iceberg table that are not those of the same name any more: what older files hold of them reads as
    null."""
    for name, number in before.items():
        if name in now and now[name] != number:
            yield diff.SchemaChange(relation, name, diff.BREAKING, "made anew", f"field {number}", f"field {now[name]}")


def _frozen_shape(relation: str, known: Known) -> diff.Shape:
    return diff.Shape(relation, tuple(diff.ColumnShape(name, t, not nullable) for name, t, nullable in known.columns))


def _live_shape(relation: str, table: StoredTable) -> diff.Shape:
    return diff.Shape(relation, tuple(diff.ColumnShape(f.name, f.type, not f.nullable) for f in table.schema))


def _kind(table: StoredTable) -> str:
    return "table" if table.kind == "table" else "view"


def _columns(table: StoredTable, ids: Mapping[str, int]) -> list[dict[str, Any]]:
    found = [{"name": f.name, "type": _format_type(f.type), "nullable": f.nullable} for f in table.schema]
    return [{**column, "id": ids[column["name"]]} if column["name"] in ids else column for column in found]


def _format_type(t: DataType) -> Any:
    """The type as people read it, or Spark's JSON where that would lose a nested flag."""
    try:
        return t.simple if parse_type(t.simple) == t else t.json
    except ValueError:
        return t.json
