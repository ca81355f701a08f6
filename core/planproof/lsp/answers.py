"""Answers about a place in a model: what a column is, where it comes from, and what would mend a finding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from planproof.lsp.texts import Lines
from planproof.lsp.workspace import Workspace
from planproof.project import ProjectNode
from planproof.project.infer import group_by_file, infer_node
from planproof.project.reads import LARGEST, ProjectError
from planproof.regular import read_regular
from planproof.report import join_lines, neutralize
from planproof.report.markdown import escape
from planproof_engine import ByColumn, fold_name, split_name
from planproof_engine.plans import Column, Expr, Outer, Source
from planproof_engine.types import BOOLEAN, STRING, DataType, is_numeric

_REF = re.compile(r"\b(ref|source)\s*\(([^()]*)\)")
_WORD = re.compile(r"""["']([^"']+)["']""")
_NULLS = ("PP505", "PP506")


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a file: lines and columns from 0, columns in UTF-16 units."""

    path: Path
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Hint:
    """A text that the editor shows behind a column of a line, both from 0, and why."""

    line: int
    column: int
    label: str
    why: str


@dataclass(frozen=True, slots=True)
class Mend:
    """An action: its title, and the new text between two places of a file; `line` None: the file's whole text."""

    title: str
    path: Path
    text: str
    start: tuple[int, int] | None = None
    stop: tuple[int, int] | None = None


def hover(workspace: Workspace, file: str, line: int, column: int) -> str | None:
    """The type and nullability of the expression at the place, and the reasons, as Markdown."""
    found = _find_expression(workspace, file, line, column)
    if found is None:
        return None
    expr, text = found
    name = text if len(text) <= 60 and "\n" not in text else f"{text[:57].splitlines()[0]}…"
    flag = "" if expr.nullable else " NOT NULL"
    # A line break in a name would end the block of code, and what follows would be an image, or a link.
    lines = ["```sql", join_lines(neutralize(f"{name}: {expr.type.simple}{flag}")), "```", escape(_explain(expr))]
    return "\n".join(lines)


def _explain(expr: Expr) -> str:
    column = expr.column if isinstance(expr, Outer) else expr
    if not expr.nullable:
        return f"holds no null: {expr.evidence or 'it is never null'}"
    if expr.evidence:
        return f"nullable to Spark, and holds no null: {expr.evidence}"
    doubt = column.doubt if isinstance(column, Column) else None
    return f"may be null: {doubt}" if doubt else "may be null: nothing proves the contrary"


def definition(workspace: Workspace, file: str, line: int, column: int) -> Spot | None:
    """Where a column is made: in this model, in the model that stores it, or where its source is declared. For the
    argument of `ref()` or `source()`: the file of what it names."""
    named = _find_named(workspace, file, line, column)
    if named is not None:
        return _find_declaration(workspace, named, None)
    read = workspace.find_reading(file)
    found = _find_expression(workspace, file, line, column)
    if read is None or found is None:
        return None
    mapped, _, references = read
    origin = references.find_source(found[0])
    if isinstance(origin, Source):
        node = workspace.check.resolve(split_name(origin.relation))
        return _find_declaration(workspace, node, origin.column) if isinstance(node, ProjectNode) else None
    if origin is None:
        return None
    at = mapped.template_offset(origin[0])
    path = _find_path(workspace, file)
    return Spot(path, *Lines(mapped.template).position(at)) if at is not None and path is not None else None


def hints(workspace: Workspace, file: str, first: int, last: int) -> Iterator[Hint]:
    """The types of the select items that stand in the lines."""
    read = workspace.find_reading(file)
    if read is None:
        return
    mapped, _, references = read
    lines, seen = Lines(mapped.template), set[int]()
    for item in references.items:
        at = mapped.template_offset(item.span[1] - 1)
        if at is None or at in seen:
            continue
        seen.add(at)
        line, column = lines.position(at + 1)
        if first <= line <= last:
            flag = "" if item.column.nullable else " NOT NULL"
            label = join_lines(neutralize(f": {item.column.type.simple}{flag}"))
            yield Hint(line, column, label, neutralize(_explain(item.column)))


def suggest_mends(workspace: Workspace, file: str, first: int, last: int) -> Iterator[Mend]:
    """What can be done at once about the lines: a contract for the model, `coalesce` for what may be null."""
    yield from _mend_nulls(workspace, file, first, last)
    node = workspace.model(file)
    if node is not None:
        yield from _mend_contract(workspace, node)


def _mend_contract(workspace: Workspace, node: ProjectNode) -> Iterator[Mend]:
    contract = (node.raw.get("config") or {}).get("contract") or {}
    if contract.get("enforced") or node.materialized == "ephemeral":
        return
    # It needs ruamel.yaml, which is slow to import.
    from planproof.project.properties import add_contracts

    try:
        workspace.judge(node)
        inferred = infer_node(workspace.check, workspace.project, node, workspace.check.conf, tighten=False)
        for path, listed in group_by_file(workspace.project, [inferred]).items():
            text, said = add_contracts(path, listed)
            if said:
                yield Mend(neutralize(f"Add a contract to {node.name} ({path.name})"), path, text)
    except ProjectError:
        return


def _mend_nulls(workspace: Workspace, file: str, first: int, last: int) -> Iterator[Mend]:
    node, read, path = workspace.model(file), workspace.find_reading(file), _find_path(workspace, file)
    report = workspace.reports.get(node.unique_id) if node is not None else None
    if read is None or report is None or path is None:
        return
    mapped, plan, references = read
    columns = ByColumn((c.name, (c, o)) for c, o in zip(plan.root.output, plan.origins) if o is not None)
    lines = Lines(mapped.template)
    for finding in report.findings:
        column, origin = columns.get(finding.field or "", (None, None))
        if finding.code not in _NULLS or finding.verdict.value == "proved" or column is None or origin is None:
            continue
        default = _default_value(column.type)
        item = next((i for i in references.items if i.column.id == column.id and origin.start == i.span[0]), None)
        start = mapped.template_offset(item.span[0]) if item is not None else None
        stop = mapped.template_offset(item.span[1] - 1) if item is not None else None
        if default is None or item is None or start is None or stop is None:
            continue
        text = mapped.template[start : stop + 1]
        begin, end = lines.position(start), lines.position(stop + 1)
        if text != mapped.compiled[item.span[0] : item.span[1]] or not first <= begin[0] <= last:
            continue
        alone = origin.stop == item.span[1]
        name = f" as {column.name}" if alone else ""
        new = f"coalesce({text}, {default}){name}"
        yield Mend(neutralize(f"coalesce({column.name}, {default})"), path, new, begin, end)


def _default_value(data_type: DataType) -> str | None:
    if is_numeric(data_type):
        return "0"
    return {STRING: "''", BOOLEAN: "false"}.get(data_type)


def _find_expression(workspace: Workspace, file: str, line: int, column: int) -> tuple[Expr, str] | None:
    """The innermost expression at a place, and its text."""
    read = workspace.find_reading(file)
    if read is None:
        return None
    mapped, plan, references = read
    at = mapped.compiled_offset(Lines(mapped.template).offset(line, column))
    found = references.find_at(at) if at is not None else None
    return (found[0], plan.text[slice(*found[1])]) if found is not None else None


def _find_named(workspace: Workspace, file: str, line: int, column: int) -> ProjectNode | None:
    opened = workspace.opened.get(file)
    rows = opened.text.split("\n") if opened is not None else []
    if not 0 <= line < len(rows):
        return None
    for match in _REF.finditer(rows[line]):
        if match.start() <= column <= match.end():
            words = _WORD.findall(match[2])
            if words:
                return _find_node(workspace, match[1], words)
    return None


def _find_node(workspace: Workspace, kind: str, words: list[str]) -> ProjectNode | None:
    for node in workspace.nodes.values():
        is_source = node.kind == "source"
        if is_source is (kind == "source") and node.name == words[-1]:
            of = str(node.raw.get("source_name") or "") if is_source else node.package
            if len(words) == 1 or of == words[-2]:
                return node
    return None


def _find_declaration(workspace: Workspace, node: ProjectNode, column: str | None) -> Spot | None:
    """Where a node stands, and in it the column: the select item of a model, the name in a YAML file."""
    path = workspace.path(node)
    if path is None:
        return None
    try:
        text = read_regular(path, LARGEST).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return None
    if node.kind == "model" and column is not None and node.file is not None:
        place = _find_item(workspace, node, text, column)
        if place is not None:
            return Spot(path, *Lines(text).position(place))
    if node.kind == "source":
        match = re.search(rf"name:\s*['\"]?{re.escape(node.name)}\b", text)
        inner = re.compile(rf"name:\s*['\"]?{re.escape(column)}\b") if column else None
        found = inner.search(text, match.end()) if match is not None and inner is not None else None
        if (found or match) is not None:
            return Spot(path, *Lines(text).position((found or match).start()))  # type: ignore[union-attr]
    return Spot(path, 0, 0)


def _find_item(workspace: Workspace, node: ProjectNode, text: str, column: str) -> int | None:
    """Where the model's last SELECT writes the column."""
    from planproof.project.compiled import TemplateMap

    planned = workspace.find_plan(node)
    if planned is None:
        return None
    mapped = TemplateMap.of(planned[0].raw, workspace.project.directory, workspace.check.opened)
    if mapped.template != text:
        return None
    origins = zip(planned[1].root.output, planned[1].origins)
    origin = next((o for c, o in origins if fold_name(c.name) == fold_name(column)), None)
    return mapped.template_offset(origin.start) if origin is not None and origin.start is not None else None


def _find_path(workspace: Workspace, file: str) -> Path | None:
    node = workspace.model(file)
    return workspace.path(node) if node is not None else None
