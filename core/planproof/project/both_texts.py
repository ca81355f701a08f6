"""Both texts of an incremental model, that of its first run and that of the later ones, of which dbt compiles one.

The template is read, not run: its literal text, with a blank wherever an expression prints something. What dbt compiled
fills the blanks, and the text must come out as dbt wrote it. The other text is made of the same parts. Where that
cannot be done for sure (a macro that asks the warehouse, a loop over what a query gave), there is no other text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from jinja2 import TemplateSyntaxError, nodes

from planproof.project import Project, ProjectNode
from planproof.project.alignment import parse_template
from planproof.project.compiled import find_injections
from planproof.project.macro_calls import ASKING, is_built_in, list_called
from planproof.project.unrolled import NotUnrolled, Uses, unroll
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
_MOST = 20_000
"""Steps of reading a template: one that doubles what it prints is not read to its end."""
_LONG = 1_000
"""So many characters are a step."""
_SMALL = 8
"""So many nodes that are looked at are a step."""
_BEYOND = ("return", "caller", "varargs", "kwargs")
"""What a macro may do that is not read here."""


class _Unread(NotUnrolled):
    """Raised for a template that only dbt can render."""


def find_both_texts(project: Project, node: ProjectNode) -> BothTexts | None:
    """The two texts; None where one of them is not known, or where they are the same."""
    template, compiled = node.raw.get("raw_code"), node.sql
    if not isinstance(template, str) or compiled is None:
        return None
    if "is_incremental" not in template and not project.asking_macros:
        return None
    try:
        tree = parse_template(template)
        macros, asking = _list_macros(project, node, tree)
        if "is_incremental" not in template and not asking:
            return None
        relations, variables = _list_relations(project, node), _list_variables(project, node)
        calls = ASKING | asking
        given, uses = (relations, *variables, macros, calls), Uses.of(tree)
        readers = (_Reader(*given, is_later, asking=calls, uses=uses) for is_later in (False, True))
        first, later = (_join_pieces(reader.read_pieces(tree.body)) for reader in readers)
    except (NotUnrolled, TemplateSyntaxError, RecursionError):
        return None
    for start, stop, replaced in find_injections(node.raw, compiled):
        rendering = compiled[:start] + replaced + compiled[stop:]
        filled = [_fill_blanks(pieces, rendering) for pieces in (first, later)]
        printed = [found for found in filled if found is not None]
        if len(printed) == 1:  # Otherwise dbt wrote neither, or nobody can tell which of them.
            other = _render_pieces(later if filled[1] is None else first, printed[0])
            head, ctes = compiled[:start].lstrip(), compiled[start:stop]
            if other is None or not other.startswith(head):
                return None
            other = f"{head}{ctes} {other[len(head) :]}" if ctes else other
            return BothTexts(compiled.strip(), other) if filled[1] is None else BothTexts(other, compiled.strip())
    return None


def _list_relations(project: Project, node: ProjectNode) -> dict[str, str]:
    """By name, the relations that a template can name; a source by its source's name, too."""
    parents = [project.nodes[key] for key in node.parents]
    scopes = [f"{p.raw.get('source_name')}." if p.kind == "source" else "" for p in parents]
    found = {scope + parent.name: _name_relation(parent) for scope, parent in zip(scopes, parents)}
    return {**found, "this": _name_relation(node)}


def _name_relation(node: ProjectNode) -> str:
    """The name by which dbt writes a relation; an ephemeral model's is that of its CTE."""
    if node.materialized == "ephemeral":
        return f"__dbt__cte__{node.raw.get('alias') or node.name}"
    return str(node.raw.get("relation_name") or node.relation)


def _list_variables(project: Project, node: ProjectNode) -> tuple[dict[str, object], bool]:
    """What `var()` gives in the node's package, where the project's file sets it; and whether those are all: a package
    may set more in a file of its own."""
    package = str(node.raw.get("package_name") or project.name)
    scoped = project.variables.get(package)
    return {**project.variables, **(scoped if isinstance(scoped, Mapping) else {})}, package == project.name


def _list_macros(
    project: Project, node: ProjectNode, tree: nodes.Template
) -> tuple[dict[str, nodes.Macro], frozenset[str]]:
    """The macros that a template calls, and those that these call, but for dbt's own, by the names by which it calls
    them; and the names of those that may print something else in a later run. Raises `_Unread`."""
    found, asking, seen = dict[str, nodes.Macro](), set[str](), set[str]()
    # dbt lists what the run that it compiled has called.
    called_here = {_find_called(call) for call in tree.find_all(nodes.Call)}
    keys = (f"macro.{scope}{name}" for name in called_here for scope in ("", f"{node.raw.get('package_name')}."))
    waiting = [*list_called(node.raw), *(key for key in keys if key in project.macros)]
    while waiting:
        key = waiting.pop()
        if key not in seen and not is_built_in(key):
            seen.add(key)
            told = project.macros.get(key)
            called = told if isinstance(told, Mapping) else {}
            waiting += list_called(called)
            package, _, name = key.partition(".")[2].partition(".")
            is_own = package == node.raw.get("package_name")
            is_wanted = is_own or key in project.asking_macros
            macro = _read_macro(str(called.get("macro_sql") or "")) if is_wanted else None
            if key in project.asking_macros and (macro is None or name in ASKING):
                raise _Unread
            names = {f"{package}.{name}", *([name] if is_own else [])}
            found |= dict.fromkeys(names, macro) if macro is not None else {}
            asking |= names if key in project.asking_macros else set()
    return found, frozenset(asking)


@lru_cache(maxsize=512)
def _read_macro(text: str) -> nodes.Macro | None:
    """A macro's definition; None where it does what is not read here."""
    try:
        macro = parse_template(text).find(nodes.Macro)
    except TemplateSyntaxError:
        return None
    return None if macro is None or any(n.name in _BEYOND for n in macro.find_all(nodes.Name)) else macro


@dataclass(slots=True)
class _Reader:
    """Reads a template as one of the two runs does. `calls` and `asking` are names that may be something else in the
    other one, everywhere and here; `values` are what names are, where that is no text alone, `lists` those that the
    template writes out."""

    relations: Mapping[str, str]
    variables: Mapping[str, object]
    are_all: bool
    macros: Mapping[str, nodes.Macro]
    calls: frozenset[str]
    is_later: bool
    asking: frozenset[str]
    uses: Uses
    names: dict[str, list[_Piece]] = field(default_factory=dict)
    values: dict[str, object] = field(default_factory=dict)
    lists: dict[str, nodes.Node | None] = field(default_factory=dict)
    steps: Iterator[int] = field(default_factory=lambda: iter(range(_MOST)))

    def _take(self, pieces: Iterable[_Piece]) -> Iterator[_Piece]:
        for piece in pieces:
            self._count_steps(1 + len(piece) // _LONG if isinstance(piece, str) else 1)
            yield piece

    def _count_steps(self, many: int = 1) -> None:
        if len(list(islice(self.steps, many))) < many:
            raise _Unread

    def read_pieces(self, body: list[nodes.Node]) -> Iterator[_Piece]:
        for node in body:
            yield from self._take(self._read_node(node))

    def _read_node(self, node: nodes.Node) -> Iterator[_Piece]:
        if isinstance(node, nodes.Output):
            for child in node.nodes:
                yield from [child.data] if isinstance(child, nodes.TemplateData) else self._read_expression(child)
        elif isinstance(node, nodes.If) and self._is_run_dependent(node):
            taken = next((one.body for one in (node, *node.elif_) if self._is_true(one.test)), node.else_)
            yield from self.read_pieces(taken)
        elif isinstance(node, (nodes.Assign, nodes.AssignBlock)) and isinstance(node.target, nodes.Name):
            self.names[node.target.name] = (
                self._read_expression(node.node) if isinstance(node, nodes.Assign) else [*self.read_pieces(node.body)]
            )
            self._note_value(node.target.name, node.node if isinstance(node, nodes.Assign) else None)
            self.asking |= {node.target.name} if self._is_run_dependent(node) else frozenset()
        elif isinstance(node, nodes.For) and self._is_run_dependent(node):
            yield from self._read_loop(node)
        elif not isinstance(node, nodes.ExprStmt):
            if self._is_run_dependent(node) or any(True for _ in node.find_all((nodes.Assign, nodes.AssignBlock))):
                raise _Unread
            yield _Blank(repr(node))

    def _read_loop(self, loop: nodes.For) -> Iterator[_Piece]:
        listed = self.lists.get(loop.iter.name) if isinstance(loop.iter, nodes.Name) else loop.iter
        for body in unroll(loop, listed, self.uses, lambda many: self._count_steps(1 + many // _SMALL)):
            # What is set in a loop is not set behind it.
            inner = replace(self, names={**self.names}, values={**self.values}, lists={**self.lists})
            yield from inner.read_pieces(body)

    def _is_run_dependent(self, node: nodes.Node) -> bool:
        """Whether a part of the template asks for the run. (`this` alone is the same text in each.)"""
        parts = [node, *node.find_all(nodes.Node)]
        self._count_steps(len(parts) // _SMALL)
        names = (one.name if isinstance(one, nodes.Name) else _find_called(one) for one in parts)
        return any(name in self.asking for name in names)

    def _is_true(self, test: nodes.Node) -> bool:
        return bool(self._find_value(test))

    def _note_value(self, name: str, expr: nodes.Node | None) -> None:
        self.values.pop(name, None)
        self.lists[name] = expr
        with suppress(_Unread):
            self.values |= {name: self._find_value(expr)} if expr is not None else {}

    def _find_value(self, expr: nodes.Node) -> object:
        """What an expression is, where the template alone says it. Raises `_Unread`."""
        if isinstance(expr, nodes.Const):
            return expr.value
        if isinstance(expr, nodes.Not):
            return not self._find_value(expr.node)
        if isinstance(expr, (nodes.And, nodes.Or)):
            left = self._find_value(expr.left)
            return self._find_value(expr.right) if bool(left) is isinstance(expr, nodes.And) else left
        if isinstance(expr, nodes.Test) and expr.name == "none" and not expr.args:
            return self._find_value(expr.node) is None
        if isinstance(expr, nodes.Name) and (expr.name in self.values or expr.name == "execute"):
            return self.values.get(expr.name, True)
        called = _find_called(expr)
        if called == "is_incremental":
            return self.is_later
        if called == "var" and isinstance(expr, nodes.Call):
            return self._find_variable(expr)
        raise _Unread

    def _find_variable(self, call: nodes.Call) -> object:
        name, *default = [arg.value for arg in call.args if isinstance(arg, nodes.Const)] or [None]
        if name in self.variables or (name is not None and len(default) == 1 and self.are_all):
            return self.variables.get(str(name), *default)
        raise _Unread

    def _read_expression(self, expr: nodes.Node) -> list[_Piece]:
        if isinstance(expr, nodes.Concat):
            return [*self._take(piece for part in expr.nodes for piece in self._read_expression(part))]
        if isinstance(expr, nodes.CondExpr) and self._is_run_dependent(expr.test):
            taken = expr.expr1 if self._is_true(expr.test) else expr.expr2
            return self._read_expression(taken) if taken is not None else []
        if isinstance(expr, nodes.Name):
            own = self.relations["this"] if expr.name == "this" else None
            found = self.names.get(expr.name)
            return found if found is not None else [_Blank(expr.name, own)]
        printed = self._read_macro(expr)
        if printed is not None:
            return printed
        if self._is_run_dependent(expr):
            return [str(self._find_value(expr))]
        if isinstance(expr, nodes.Const):
            return [str(expr.value)]
        if isinstance(expr, nodes.Call) and isinstance(expr.node, nodes.Name):
            return [self._read_call(expr.node.name, expr)]
        if any(name.name in self.names for name in expr.find_all(nodes.Name)):
            raise _Unread
        return [_Blank(repr(expr))]

    def _read_macro(self, call: nodes.Node) -> list[_Piece] | None:
        """What a macro prints; None for what is no call of one, and for one that asks nothing and is not read whole:
        it prints the same in both runs."""
        called = _find_called(call)
        macro = self.macros.get(called) if called is not None else None
        if macro is None or not isinstance(call, nodes.Call):
            return None
        try:
            printed = self._enter_macro(macro, call)
        except _Unread:
            if self._is_run_dependent(call):
                raise
            return None
        is_whole = all(isinstance(piece, str) or piece.text is not None for piece in printed)
        return printed if is_whole or called in self.calls else None

    def _enter_macro(self, macro: nodes.Macro, call: nodes.Call) -> list[_Piece]:
        parameters = [one.name for one in macro.args]
        given = {**dict(zip(parameters[::-1], macro.defaults[::-1])), **dict(zip(parameters, call.args))}
        given |= {one.key: one.value for one in call.kwargs}
        if call.dyn_args or call.dyn_kwargs or len(call.args) > len(parameters) or given.keys() != {*parameters}:
            raise _Unread
        names = {name: self._read_expression(value) for name, value in given.items()}
        self._count_steps()
        given_names, uses = self.calls | names.keys(), Uses.of(macro)
        inner = replace(self, names=names, values={}, lists={}, asking=given_names, uses=uses)
        for name, value in given.items():
            with suppress(_Unread):
                inner.values[name] = self._find_value(value)
        return list(inner.read_pieces(macro.body))

    def _read_call(self, name: str, call: nodes.Call) -> _Piece:
        given = [arg.value for arg in call.args if isinstance(arg, nodes.Const)]
        if name == "config":
            return ""
        if any(found.name in self.names for found in call.find_all(nodes.Name)):
            raise _Unread
        if name in ("ref", "source") and given:
            named = ".".join(map(str, given)) if name == "source" else str(given[-1])
            return _Blank(repr(call), self.relations.get(named))
        if name == "var" and len(given) == len(call.args) and (len(given) == 2 or given[0] in self.variables):
            return _Blank(repr(call), str(self.variables.get(given[0], *given[1:])))
        return _Blank(repr(call))


def _find_called(expr: nodes.Node) -> str | None:
    """The name, with its package's where it stands there, of what is called."""
    node = expr.node if isinstance(expr, nodes.Call) else None
    if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name):
        return f"{node.node.name}.{node.attr}"
    return node.name if isinstance(node, nodes.Name) else None


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
        printed = _find_printed(part, found)
        if printed is None and isinstance(following, str):
            end = text.find(following, at) if following else len(text)
            printed = text[at:end] if end >= 0 else None
        # Of two blanks side by side nobody can tell where one ends and the other begins.
        if printed is None or not text.startswith(printed, at):
            return None
        found[part.key], at = printed, at + len(printed)
    return found if at == len(text) else None


def _find_printed(blank: _Blank, filled: Mapping[str, str | None]) -> str | None:
    return filled.get(blank.key, blank.text)


def _render_pieces(pieces: list[_Piece], filled: Mapping[str, str]) -> str | None:
    parts = [piece if isinstance(piece, str) else _find_printed(piece, filled) for piece in pieces]
    return None if None in parts else "".join(part for part in parts if part is not None)
