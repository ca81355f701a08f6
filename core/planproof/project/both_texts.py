"""Both texts of an incremental model, that of its first run and that of the later ones, of which dbt compiles one.

The template is read, not run: its literal text, with a blank wherever an expression prints something. What dbt compiled
fills the blanks, and the text must come out as dbt wrote it. The other text is made of the same parts. Where that
cannot be done for sure (a macro that asks the warehouse, a loop over what a query gave), there is no other text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from jinja2 import TemplateSyntaxError, nodes

from planproof.project import Project, ProjectNode
from planproof.project.alignment import parse_template
from planproof_engine import record


class BothTexts(NamedTuple):
    """`first` reads all rows, `later` the new ones."""

    first: str
    later: str


@record(frozen=True, slots=True)
class _Blank:
    """What an expression prints: `key` is the same for the same expression, `text` what it prints where that is
    known."""

    key: str
    text: str | None = None


_Piece = str | _Blank


class _Unread(Exception):
    """Raised for a template that only dbt can render."""


def find_both_texts(project: Project, node: ProjectNode) -> BothTexts | None:
    """The two texts; None where one of them is not known, or where they are the same."""
    template, compiled = node.raw.get("raw_code"), node.sql
    parents = [project.nodes[key] for key in node.parents]
    if not isinstance(template, str) or compiled is None or any(p.materialized == "ephemeral" for p in parents):
        return None
    if "is_incremental" not in template:
        return None
    try:
        tree = parse_template(template)
        relations, variables = _list_relations(project, node), _list_variables(project, node)
        readers = (_Reader(relations, *variables, is_later) for is_later in (False, True))
        first, later = (_join_pieces(reader.read_pieces(tree.body)) for reader in readers)
    except (_Unread, TemplateSyntaxError, RecursionError):
        return None
    filled = [found for pieces in (first, later) if (found := _fill_blanks(pieces, compiled)) is not None]
    if len(filled) != 1:
        return None  # dbt wrote neither, or nobody can tell which of them.
    texts = [_render_pieces(pieces, filled[0]) for pieces in (first, later)]
    return None if texts[0] is None or texts[1] is None else BothTexts(texts[0], texts[1])


def _list_relations(project: Project, node: ProjectNode) -> dict[str, str]:
    """By name, the relations that a template can name; a source by its source's name, too."""
    parents = [project.nodes[key] for key in node.parents]
    scopes = [f"{p.raw.get('source_name')}." if p.kind == "source" else "" for p in parents]
    found = {scope + p.name: str(p.raw.get("relation_name") or p.relation) for scope, p in zip(scopes, parents)}
    return {**found, "this": str(node.raw.get("relation_name") or node.relation)}


def _list_variables(project: Project, node: ProjectNode) -> tuple[dict[str, object], bool]:
    """What `var()` gives in the node's package, where the project's file sets it; and whether those are all: a package
    may set more in a file of its own."""
    package = str(node.raw.get("package_name") or project.name)
    scoped = project.variables.get(package)
    return {**project.variables, **(scoped if isinstance(scoped, Mapping) else {})}, package == project.name


@dataclass(slots=True)
class _Reader:
    """Reads a template as one of the two runs does."""

    relations: Mapping[str, str]
    variables: Mapping[str, object]
    are_all: bool
    is_later: bool
    names: dict[str, list[_Piece]] = field(default_factory=dict)

    def read_pieces(self, body: list[nodes.Node]) -> Iterator[_Piece]:
        for node in body:
            yield from self._read_node(node)

    def _read_node(self, node: nodes.Node) -> Iterator[_Piece]:
        if isinstance(node, nodes.Output):
            for child in node.nodes:
                yield from [child.data] if isinstance(child, nodes.TemplateData) else self._read_expression(child)
        elif isinstance(node, nodes.If) and _is_run_dependent(node.test):
            taken = self._is_true(node.test)
            if node.elif_:
                raise _Unread
            yield from self.read_pieces(node.body if taken else node.else_)
        elif isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name):
            self.names[node.target.name] = self._read_expression(node.node)
        elif isinstance(node, nodes.AssignBlock) and isinstance(node.target, nodes.Name):
            self.names[node.target.name] = list(self.read_pieces(node.body))
        elif not isinstance(node, nodes.ExprStmt):
            if _is_run_dependent(node) or any(True for _ in node.find_all((nodes.Assign, nodes.AssignBlock))):
                raise _Unread
            yield _Blank(repr(node))

    def _is_true(self, test: nodes.Node) -> bool:
        if isinstance(test, nodes.Not):
            return not self._is_true(test.node)
        if isinstance(test, nodes.And):
            return self._is_true(test.left) and self._is_true(test.right)
        called = test.node.name if isinstance(test, nodes.Call) and isinstance(test.node, nodes.Name) else None
        if called == "is_incremental":
            return self.is_later
        if called == "var" and isinstance(test, nodes.Call):
            name, *default = [arg.value for arg in test.args if isinstance(arg, nodes.Const)] or [None]
            if name is not None and len(default) == 1 and (self.are_all or name in self.variables):
                return bool(self.variables.get(name, default[0]))
        raise _Unread

    def _read_expression(self, expr: nodes.Node) -> list[_Piece]:
        if isinstance(expr, nodes.Concat):
            return [piece for part in expr.nodes for piece in self._read_expression(part)]
        if isinstance(expr, nodes.CondExpr) and _is_run_dependent(expr.test):
            taken = expr.expr1 if self._is_true(expr.test) else expr.expr2
            return self._read_expression(taken) if taken is not None else []
        if _is_run_dependent(expr):
            raise _Unread
        if isinstance(expr, nodes.Const):
            return [str(expr.value)]
        if isinstance(expr, nodes.Name):
            own = self.relations["this"] if expr.name == "this" else None
            found = self.names.get(expr.name)
            return found if found is not None else [_Blank(expr.name, own)]
        if isinstance(expr, nodes.Call) and isinstance(expr.node, nodes.Name):
            return [self._read_call(expr.node.name, expr)]
        if any(name.name in self.names for name in expr.find_all(nodes.Name)):
            raise _Unread
        return [_Blank(repr(expr))]

    def _read_call(self, name: str, call: nodes.Call) -> _Piece:
        given = [arg.value for arg in call.args if isinstance(arg, nodes.Const)]
        if name == "config":
            return ""
        if any(found.name in self.names for found in call.find_all(nodes.Name)):
            raise _Unread
        if name in ("ref", "source") and given:
            named = ".".join(map(str, given)) if name == "source" else str(given[-1])
            return _Blank(repr(call), self.relations.get(named))
        if name == "var" and len(given) == 2:
            return _Blank(repr(call), str(self.variables.get(given[0], given[1])))
        return _Blank(repr(call))


def _is_run_dependent(node: nodes.Node) -> bool:
    """Whether a part of the template asks for the run. (`this` alone is the same text in each.)"""
    return any(name.name == "is_incremental" for name in node.find_all(nodes.Name)) or (
        isinstance(node, nodes.Name) and node.name == "is_incremental"
    )


def _join_pieces(pieces: Iterable[_Piece]) -> list[_Piece]:
    """The pieces with texts side by side made one, and no blanks around them all."""
    found: list[_Piece] = [""]
    for piece in pieces:
        if isinstance(piece, str) and isinstance(found[-1], str):
            found[-1] += piece
        else:
            found.append(piece)
    for at, trimmed in ((0, str.lstrip), (-1, str.rstrip)):
        end = found[at]
        found[at] = trimmed(end) if isinstance(end, str) else end
    return [piece for piece in found if piece != ""]


def _fill_blanks(pieces: list[_Piece], compiled: str) -> dict[str, str] | None:
    """What each blank prints, by its key; None where the pieces did not write the text."""
    text, at, found = compiled.strip(), 0, dict[str, str]()
    for place, part in enumerate(pieces):
        if isinstance(part, str):
            if not text.startswith(part, at):
                return None
            at += len(part)
            continue
        following = pieces[place + 1] if place + 1 < len(pieces) else ""
        printed = found.get(part.key) or part.text
        if printed is None and isinstance(following, str):
            end = text.find(following, at) if following else len(text)
            printed = text[at:end] if end >= 0 else None
        # Of two blanks side by side nobody can tell where one ends and the other begins.
        if printed is None or not text.startswith(printed, at):
            return None
        found[part.key], at = printed, at + len(printed)
    return found if at == len(text) else None


def _render_pieces(pieces: list[_Piece], filled: Mapping[str, str]) -> str | None:
    parts = [piece if isinstance(piece, str) else filled.get(piece.key) or piece.text for piece in pieces]
    return None if None in parts else "".join(part for part in parts if part is not None)
