"""Which place of a Jinja template wrote which character of its rendering.

A template is literal text between expressions that may print anything, in branches that may be skipped and loops that
may repeat. It is read as an automaton, which may be able to write the rendering in several ways. A place is sure where
all of them agree.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from jinja2 import Environment, TemplateSyntaxError, nodes

from planproof_engine import record

_LIMIT = 200_000
_MOST_TAGS = 20_000
"""Tags of a template that is read. Those of public projects have some hundreds."""


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """A piece of the template that writes: literal text, or (None) an expression; `at` is where it stands.

    `one_line`: the expression prints no line end.
    """

    at: int
    text: str | None
    one_line: bool = False


@record(frozen=True, slots=True)
class TemplatePlace:
    """A place in the template; `inside` an expression, only where that expression stands is known."""

    at: int
    inside: bool


@dataclass(slots=True)
class _Part:
    """A part of the automaton: the atoms that may come first and last, and whether it may write nothing."""

    first: list[Atom] = field(default_factory=list)
    last: list[Atom] = field(default_factory=list)
    empty: bool = True


@dataclass(slots=True)
class Automaton:
    """The template's atoms with those that may follow each. `whole` says how it begins and ends."""

    whole: _Part
    following: dict[Atom, list[Atom]]
    preceding: dict[Atom, list[Atom]]

    @property
    def believes(self) -> bool:
        """Whether some expression is believed to print one line."""
        return any(atom.one_line for atom in self.following)


@cache
def jinja_of_dbt() -> Environment:
    """Parses templates as dbt does. It is made once: an environment holds itself, and stays until it is collected."""
    return Environment(extensions=["jinja2.ext.do"])


def parse_template(template: str) -> nodes.Template:
    """The tree of a template. Raises `TemplateSyntaxError`, also for a number of more digits than Python reads or
    prints, and for too many tags, and `RecursionError`."""
    if sum(map(template.count, ("{{", "{%", "{#"))) > _MOST_TAGS:
        raise TemplateSyntaxError("too many tags", 1)
    try:
        tree = jinja_of_dbt().parse(template)
        for constant in tree.find_all(nodes.Const):
            str(constant.value)
    except ValueError as error:
        raise TemplateSyntaxError(str(error), 1) from error
    return tree


def build_automaton(template: str, strict: bool = True, incremental: bool | None = None) -> Automaton | None:
    """The automaton of a template whose lines end in `\\n`; None where Jinja does not read it as dbt does.

    `strict` believes that relations' names and the like stay on one line; `incremental` says what `is_incremental()`
    is, where it is a condition of its own (None: either).
    """
    try:
        tree = parse_template(template)
        places = list(_find_places(jinja_of_dbt(), template))
    except (TemplateSyntaxError, RecursionError):
        return None
    builder = _Builder(places, _line_starts(template), OneLine(tree) if strict else None, incremental)
    try:
        whole = builder.build_sequence(tree.body)
    except (_Unread, RecursionError):
        return None
    return Automaton(whole, builder.following, builder.preceding) if not builder.places else None


class _Unread(Exception):
    """Raised for a template in which text and tags are not where the lexer said."""


def _find_places(env: Environment, template: str) -> Iterator[tuple[int, str | None]]:
    """Where each literal text and each printed expression stands, in the order in which they are read."""
    at = 0
    for _, kind, text in env.lexer.tokeniter(template, None):
        found = template.find(text, at)
        # What lies between two tokens is white space that a minus trimmed.
        if found < 0 or template[at:found].strip():
            raise TemplateSyntaxError("tokens are not the text", 1)
        at = found + len(text)
        if kind == "data":
            yield found, text
        elif kind == "variable_begin":
            yield found + len(text) - len(text.lstrip()), None


def _line_starts(text: str) -> list[int]:
    """The first character of each line that is no white space."""
    starts, at = [], 0
    for line in text.split("\n"):
        starts.append(at + len(line) - len(line.lstrip()))
        at += len(line) + 1
    return starts


class _Builder:
    """Makes the automaton; `places` are used up in the order of the template, `tags` are where its lines begin."""

    def __init__(
        self,
        places: list[tuple[int, str | None]],
        tags: list[int],
        short: OneLine | None,
        incremental: bool | None = None,
    ) -> None:
        self.places, self.tags, self.short, self.links = places[::-1], tags, short, 0
        self.incremental = incremental
        self.following: dict[Atom, list[Atom]] = {}
        self.preceding: dict[Atom, list[Atom]] = {}

    def build_sequence(self, body: list[nodes.Node]) -> _Part:
        whole = _Part()
        for node in body:
            whole = self._join_parts(whole, self._build_part(node))
        return whole

    def _build_part(self, node: nodes.Node) -> _Part:
        if isinstance(node, nodes.Output):
            whole = _Part()
            for child in node.nodes:
                whole = self._join_parts(whole, self._build_output(child))
            return whole
        if isinstance(node, nodes.If):
            ways = [self.build_sequence(n.body) for n in (node, *node.elif_)] + [self.build_sequence(node.else_)]
            taken = self._is_first_taken(node)
            return self._merge_ways(ways if taken is None else [ways[0] if taken else ways[-1]])
        if isinstance(node, nodes.For):
            body = self.build_sequence(node.body)
            self._link(body.last, body.first)
            return self._merge_ways([_Part(body.first, body.last, True), self.build_sequence(node.else_)])
        if isinstance(node, (nodes.Block, nodes.With, nodes.Scope, nodes.ScopedEvalContextModifier)):
            return self.build_sequence(node.body)
        if isinstance(node, (nodes.CallBlock, nodes.FilterBlock, nodes.Macro, nodes.AssignBlock)):
            return self._build_captured(node)
        if isinstance(node, (nodes.Assign, nodes.ExprStmt, nodes.Import, nodes.FromImport)):
            return _Part()
        raise _Unread

    def _is_first_taken(self, node: nodes.If) -> bool | None:
        """Whether the first branch is taken, where `is_incremental()` alone decides and its value was given."""
        test, negated = node.test, isinstance(node.test, nodes.Not)
        call = test.node if isinstance(test, nodes.Not) else test
        if self.incremental is None or node.elif_ or not isinstance(call, nodes.Call):
            return None
        if not isinstance(call.node, nodes.Name) or call.node.name != "is_incremental" or call.args or call.kwargs:
            return None
        return self.incremental != negated

    def _build_output(self, node: nodes.Node) -> _Part:
        at, text = self._take_place()
        if isinstance(node, nodes.TemplateData) != (text is not None):
            raise _Unread
        if isinstance(node, nodes.TemplateData):
            if text != node.data:
                raise _Unread
            return self._add_atom(Atom(at, text))
        # dbt's config() prints nothing.
        silent = isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name == "config"
        return _Part() if silent else self._add_atom(Atom(at, None, self.short is not None and node in self.short))

    def _build_captured(self, node: nodes.Node) -> _Part:
        """A block whose text a macro or filter gets, or that is kept: it prints what it likes, or nothing here."""
        for output in node.find_all(nodes.Output):
            for _ in output.nodes:
                self._take_place()
        if isinstance(node, (nodes.Macro, nodes.AssignBlock)):
            return _Part()
        return self._add_atom(Atom(self.tags[node.lineno - 1], None))

    def _take_place(self) -> tuple[int, str | None]:
        if not self.places:
            raise _Unread
        return self.places.pop()

    def _add_atom(self, atom: Atom) -> _Part:
        self.following[atom], self.preceding[atom] = [], []
        return _Part([atom], [atom], False)

    def _join_parts(self, left: _Part, right: _Part) -> _Part:
        self._link(left.last, right.first)
        first = left.first + right.first if left.empty else left.first
        last = left.last + right.last if right.empty else right.last
        return _Part(first, last, left.empty and right.empty)

    def _merge_ways(self, ways: list[_Part]) -> _Part:
        first, last = [a for w in ways for a in w.first], [a for w in ways for a in w.last]
        return _Part(first, last, any(w.empty for w in ways))

    def _link(self, last: list[Atom], first: list[Atom]) -> None:
        self.links += len(last) * len(first)
        if self.links > _LIMIT:
            raise _Unread
        for atom in last:
            for other in first:
                self.following[atom].append(other)
                self.preceding[other].append(atom)


class TooManyWays(Exception):
    """Raised where the rendering can be read in more ways than are worth following."""


class Alignment:
    """All ways in which an automaton writes a rendering."""

    __slots__ = ("_begun", "_from", "_made", "_pieces", "_rendering", "_searched", "_steps")

    def __init__(self, made: Automaton, rendering: str) -> None:
        """Raises `TooManyWays`."""
        self._made, self._rendering, self._steps = made, rendering, 0
        self._begun: dict[Atom, set[tuple[int, int]]] = {}
        self._from: dict[Atom, int] = {}
        self._searched: dict[Atom, int] = {}
        self._find_begins()
        self._pieces: list[tuple[int, int, Atom]] = sorted(self._find_spans(), key=lambda piece: piece[:2])

    @property
    def possible(self) -> bool:
        """Whether the template can write the rendering at all."""
        return bool(self._pieces) or (self._made.whole.empty and not self._rendering)

    def places(self, offset: int) -> set[TemplatePlace]:
        """The places that may have written the character at `offset`."""
        last = bisect_right(self._pieces, offset, key=lambda piece: piece[0])
        return {
            TemplatePlace(atom.at if atom.text is None else atom.at + offset - start, atom.text is None)
            for start, stop, atom in self._pieces[:last]
            if offset < stop
        }

    def rendering_offset(self, at: int) -> int | None:
        """The one character of the rendering that the template's character `at` wrote; None where it wrote none, or
        several, or where readings differ."""
        found = {
            start + at - atom.at
            for start, _, atom in self._pieces
            if atom.text is not None and atom.at <= at < atom.at + len(atom.text)
        }
        sure = [offset for offset in found if self.places(offset) == {TemplatePlace(at, False)}]
        return sure[0] if len(sure) == len(found) == 1 else None

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _LIMIT:
            raise TooManyWays

    def _line_end(self, at: int) -> int:
        found = self._rendering.find("\n", at)
        return found if found >= 0 else len(self._rendering)

    def _find_begins(self) -> None:
        """Where each atom may begin: `_begun` has ranges, `_from` the first place of one that may print anything."""
        todo: list[tuple[Atom, int, int]] = [(a, 0, 0) for a in self._made.whole.first]
        while todo:
            atom, low, high = todo.pop()
            self._step()
            begun = self._begun.setdefault(atom, set())
            following = self._made.following[atom]
            if atom.text is not None:
                for at in self._find_occurrences(atom, low, high):
                    self._step()
                    if (at, at) not in begun:
                        begun.add((at, at))
                        todo += [(f, at + len(atom.text), at + len(atom.text)) for f in following]
            elif atom.one_line:
                if (low, high) not in begun:
                    begun.add((low, high))
                    todo += [(f, low, self._line_end(high)) for f in following]
            elif low < self._from.get(atom, len(self._rendering) + 1):
                self._from[atom] = low
                todo += [(f, low, len(self._rendering)) for f in following]

    def _find_occurrences(self, atom: Atom, low: int, high: int) -> Iterator[int]:
        """Where the atom's text stands from `low` to `high`; what was looked through to the end is left out."""
        assert atom.text is not None
        if low == high:
            yield from (low,) if self._rendering.startswith(atom.text, low) else ()
            return
        searched = self._searched.get(atom, len(self._rendering) + 1)
        if high == len(self._rendering):
            self._searched[atom] = min(searched, low)
        found = self._rendering.find(atom.text, low)
        while 0 <= found <= min(high, searched - 1):
            yield found
            found = self._rendering.find(atom.text, found + 1)

    def _find_spans(self) -> Iterator[tuple[int, int, Atom]]:
        """The spans that each atom may have written on a way to the end."""
        end = len(self._rendering)
        todo: list[tuple[Atom, int, int]] = [(a, end, end) for a in self._made.whole.last]
        seen: set[tuple[Atom, int, int]] = set()
        reach: dict[Atom, int] = {}
        while todo:
            atom, low, high = todo.pop()
            self._step()
            if atom.text is None and not atom.one_line:
                if self._from.get(atom, end + 1) <= high and high > reach.get(atom, -1):
                    reach[atom] = high
                    todo += [(p, self._from[atom], high) for p in self._made.preceding[atom]]
                continue
            spans = self._short_spans(atom, low, high) if atom.text is None else self._literal_spans(atom, low, high)
            for first, last, stop in spans:
                if (atom, first, stop) not in seen:
                    seen.add((atom, first, stop))
                    yield first, stop, atom
                    todo += [(p, first, last) for p in self._made.preceding[atom]]
        yield from ((self._from[atom], high, atom) for atom, high in reach.items())

    def _literal_spans(self, atom: Atom, low: int, high: int) -> Iterator[tuple[int, int, int]]:
        """Where the text begins (twice) and stops, so that it stops from `low` to `high`."""
        begun, length = self._begun.get(atom, set()), len(atom.text or "")
        if low == high:
            yield from ((low - length, low - length, low),) if (low - length, low - length) in begun else ()
            return
        yield from ((at, at, at + length) for at, _ in begun if low <= at + length <= high)

    def _short_spans(self, atom: Atom, low: int, high: int) -> Iterator[tuple[int, int, int]]:
        """First and last begin of what stops from `low` to `high` on the line on which it began, and its last stop."""
        line = self._rendering.rfind("\n", 0, low) + 1
        for begin, last in self._begun.get(atom, set()):
            first, latest = max(begin, line), min(last, high)
            if first <= latest:
                yield first, latest, min(high, self._line_end(latest))


_RELATIONS = frozenset(("ref", "source"))
_OF_DBT = frozenset(("this", "target", "loop"))


class OneLine:
    """Whether an expression prints one line: a constant, a name bound to constants alone, a relation's name."""

    def __init__(self, tree: nodes.Template) -> None:
        self._bound: dict[str, list[nodes.Node | None]] = {}
        handled = set()
        for assignment in tree.find_all(nodes.Assign):
            if isinstance(assignment.target, nodes.Name):
                handled.add(id(assignment.target))
                self._bound.setdefault(assignment.target.name, []).append(assignment.node)
        for loop in tree.find_all(nodes.For):
            if isinstance(loop.target, nodes.Name):
                handled.add(id(loop.target))
                self._bound.setdefault(loop.target.name, []).append(loop.iter)
        for name in tree.find_all(nodes.Name):
            if name.ctx != "load" and id(name) not in handled:
                self._bound.setdefault(name.name, []).append(None)

    def __contains__(self, expr: nodes.Node) -> bool:
        return self._is_one_line(expr, frozenset())

    def _is_one_line(self, expr: nodes.Node | None, within: frozenset[str]) -> bool:
        if isinstance(expr, nodes.Const):
            return "\n" not in str(expr.value) and "\r" not in str(expr.value)
        if isinstance(expr, (nodes.List, nodes.Tuple)):
            # Its members, one at a time, in a loop; printed whole, Python quotes their line ends.
            return all(self._is_one_line(item, within) for item in expr.items)
        if isinstance(expr, nodes.Call):
            return isinstance(expr.node, nodes.Name) and expr.node.name in _RELATIONS - self._bound.keys()
        if isinstance(expr, nodes.Getattr):
            return isinstance(expr.node, nodes.Name) and expr.node.name in _OF_DBT - self._bound.keys()
        if not isinstance(expr, nodes.Name) or expr.name in within:
            return False
        values = self._bound.get(expr.name)
        if values is None:
            return expr.name == "this"
        return all(self._is_one_line(value, within | {expr.name}) for value in values)
