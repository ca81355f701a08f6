"""Which place of a Jinja template wrote which character of its rendering.

A template is literal text between expressions that may print anything, in branches that may be left out and loops that
may repeat. Read as an automaton, it has some ways to write the rendering; a place is sure where they all agree.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from jinja2 import Environment, TemplateSyntaxError, nodes

_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """A piece of the template that writes: literal text, or (None) an expression; `at` is where it stands."""

    at: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Place:
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


def automaton(template: str) -> Automaton | None:
    """The automaton of a template whose lines end in `\\n`; None where Jinja does not read it as dbt does."""
    env = Environment(extensions=["jinja2.ext.do"])
    try:
        tree = env.parse(template)
        places = list(_places(env, template))
    except (TemplateSyntaxError, RecursionError):
        return None
    builder = _Builder(places, _line_starts(template))
    try:
        whole = builder.sequence(tree.body)
    except (_Unread, RecursionError):
        return None
    return Automaton(whole, builder.following, builder.preceding) if not builder.places else None


class _Unread(Exception):
    """A template in which text and tags are not where the lexer said."""


def _places(env: Environment, template: str) -> Iterator[tuple[int, str | None]]:
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

    def __init__(self, places: list[tuple[int, str | None]], tags: list[int]) -> None:
        self.places, self.tags, self.links = places[::-1], tags, 0
        self.following: dict[Atom, list[Atom]] = {}
        self.preceding: dict[Atom, list[Atom]] = {}

    def sequence(self, body: list[nodes.Node]) -> _Part:
        whole = _Part()
        for node in body:
            whole = self._then(whole, self._part(node))
        return whole

    def _part(self, node: nodes.Node) -> _Part:
        if isinstance(node, nodes.Output):
            whole = _Part()
            for child in node.nodes:
                whole = self._then(whole, self._written(child))
            return whole
        if isinstance(node, nodes.If):
            ways = [self.sequence(n.body) for n in (node, *node.elif_)] + [self.sequence(node.else_)]
            return self._one_of(ways)
        if isinstance(node, nodes.For):
            body = self.sequence(node.body)
            self._link(body.last, body.first)
            return self._one_of([_Part(body.first, body.last, True), self.sequence(node.else_)])
        if isinstance(node, nodes.Block | nodes.With | nodes.Scope | nodes.ScopedEvalContextModifier):
            return self.sequence(node.body)
        if isinstance(node, nodes.CallBlock | nodes.FilterBlock | nodes.Macro | nodes.AssignBlock):
            return self._captured(node)
        if isinstance(node, nodes.Assign | nodes.ExprStmt | nodes.Import | nodes.FromImport):
            return _Part()
        raise _Unread

    def _written(self, node: nodes.Node) -> _Part:
        at, text = self._next()
        if isinstance(node, nodes.TemplateData) != (text is not None):
            raise _Unread
        if isinstance(node, nodes.TemplateData):
            if text != node.data:
                raise _Unread
            return self._atom(Atom(at, text))
        # dbt's config() prints nothing.
        silent = isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name == "config"
        return _Part() if silent else self._atom(Atom(at, None))

    def _captured(self, node: nodes.Node) -> _Part:
        """A block whose text a macro or filter gets, or that is kept: it prints what it likes, or nothing here."""
        for output in node.find_all(nodes.Output):
            for _ in output.nodes:
                self._next()
        if isinstance(node, nodes.Macro | nodes.AssignBlock):
            return _Part()
        return self._atom(Atom(self.tags[node.lineno - 1], None))

    def _next(self) -> tuple[int, str | None]:
        if not self.places:
            raise _Unread
        return self.places.pop()

    def _atom(self, atom: Atom) -> _Part:
        self.following[atom], self.preceding[atom] = [], []
        return _Part([atom], [atom], False)

    def _then(self, left: _Part, right: _Part) -> _Part:
        self._link(left.last, right.first)
        first = left.first + right.first if left.empty else left.first
        last = left.last + right.last if right.empty else right.last
        return _Part(first, last, left.empty and right.empty)

    def _one_of(self, ways: list[_Part]) -> _Part:
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
    """The rendering can be read in more ways than are worth following."""


class Alignment:
    """All ways in which an automaton writes a rendering."""

    __slots__ = ("_begun", "_ended", "_from", "_made", "_pieces", "_rendering", "_searched", "_steps", "_upto")

    def __init__(self, made: Automaton, rendering: str) -> None:
        """Raises `TooManyWays`."""
        self._made, self._rendering, self._steps = made, rendering, 0
        self._begun: dict[Atom, set[int]] = {}
        self._ended: dict[Atom, set[int]] = {}
        self._from: dict[Atom, int] = {}
        self._upto: dict[Atom, int] = {}
        self._searched: dict[Atom, int] = {}
        self._forward()
        self._backward()
        found = [
            (start, start + len(a.text or ""), a) for a, starts in self._ended.items() for start in starts if a.text
        ]
        found += [(self._from[a], upto, a) for a, upto in self._upto.items() if upto > self._from[a]]
        self._pieces = sorted(found, key=lambda piece: piece[:2])

    @property
    def possible(self) -> bool:
        """Whether the template can write the rendering at all."""
        return bool(self._pieces) or (self._made.whole.empty and not self._rendering)

    def places(self, offset: int) -> set[Place]:
        """The places that may have written the character at `offset`."""
        last = bisect_right(self._pieces, offset, key=lambda piece: piece[0])
        return {
            Place(atom.at if atom.text is None else atom.at + offset - start, atom.text is None)
            for start, stop, atom in self._pieces[:last]
            if offset < stop
        }

    def _forward(self) -> None:
        todo: list[tuple[Atom, int, bool]] = [(a, 0, False) for a in self._made.whole.first]
        while todo:
            atom, at, or_later = todo.pop()
            self._steps += 1
            if self._steps > _LIMIT:
                raise TooManyWays
            if atom.text is None:
                if at < self._from.get(atom, len(self._rendering) + 1):
                    self._from[atom] = at
                    todo += [(f, at, True) for f in self._made.following[atom]]
            elif or_later:
                todo += [(atom, found, False) for found in self._occurrences(atom, at)]
            elif at not in self._begun.setdefault(atom, set()) and self._rendering.startswith(atom.text, at):
                self._begun[atom].add(at)
                todo += [(f, at + len(atom.text), False) for f in self._made.following[atom]]

    def _occurrences(self, atom: Atom, at: int) -> Iterator[int]:
        """Where the atom's text stands from `at` on; what was looked through before is left out."""
        assert atom.text is not None
        stop = self._searched.get(atom, len(self._rendering) + 1)
        self._searched[atom] = min(stop, at)
        found = self._rendering.find(atom.text, at)
        while 0 <= found < stop:
            yield found
            found = self._rendering.find(atom.text, found + 1)

    def _backward(self) -> None:
        todo: list[tuple[Atom, int, bool]] = [(a, len(self._rendering), False) for a in self._made.whole.last]
        while todo:
            atom, end, or_before = todo.pop()
            if atom.text is None:
                if atom in self._from and self._from[atom] <= end and end > self._upto.get(atom, -1):
                    self._upto[atom] = end
                    todo += [(p, end, True) for p in self._made.preceding[atom]]
                continue
            known, start = self._ended.setdefault(atom, set()), end - len(atom.text)
            begun = self._begun.get(atom, set())
            if or_before:
                starts = [s for s in begun - known if s <= start]
            else:
                starts = [start] if start in begun and start not in known else []
            known.update(starts)
            todo += [(p, s, False) for s in starts for p in self._made.preceding[atom]]
