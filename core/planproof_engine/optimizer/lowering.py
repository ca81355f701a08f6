"""Python functions in lambdas, which Spark refuses, as calls of one function over whole lists.

Before: `transform(items, i -> my_udf(i.price, rate) + 1)`

After: `transform(planproof_f(items.price, rate), z -> z + 1)`, where `planproof_f` flattens the list, repeats `rate`
once per element, calls `my_udf` once per batch and puts the list's offsets back (`planproof.arrow.lists`).

Only what the function reads travels: per argument the list that it needs, computed by Spark, and the captured columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from planproof_engine import expr as x
from planproof_engine import types as dt
from planproof_engine.expr import Span, Subquery, span_of
from planproof_engine.functions.declared import calls_declared, is_declared
from planproof_engine.functions.nested import Application, Carried, Given, Level, ListCall, Made, Position, Source
from planproof_engine.functions.registry import list_names
from planproof_engine.ground import Conf, quote_name
from planproof_engine.logical.nodes import Plan
from planproof_engine.optimizer import laws
from planproof_engine.optimizer.render import AFTER_ITEM, Edit
from planproof_engine.sql.edits import splice

Enclosing = tuple[tuple[x.Call, x.Lambda], ...]
"""The calls around an expression, the outermost first, each with its lambda."""
Swap = Callable[[x.Expr], "str | None"]


class CannotLower(Exception):
    """Why a Python function cannot run where it stands: a code, what to say, and the place in the text."""

    def __init__(self, code: str, message: str, span: Span | None) -> None:
        super().__init__(message)
        self.code, self.message, self.span = code, message, span


@dataclass(frozen=True)
class Lowered:
    """The text that Spark accepts, and the calls that must be registered before it runs."""

    sql: str
    calls: tuple[ListCall, ...]


def lower(root: Plan, text: str, conf: Conf, prefix: str) -> Lowered | None:
    """The lowered text of a query; None where no Python function stands in a lambda. Raises `CannotLower`.

    `prefix` begins the names of the calls, and must be new to the session.
    """
    writer = _Writer(text, conf, prefix)
    edits: dict[Span, str] = {}
    for expr, name in _list_roots(root):
        found = dict(writer.lower(expr, lazy=False))
        edits.update(found)
        if found and name is not None:
            edits.update(_keep_name(expr, name, found, text))
    if not edits:
        return None
    return Lowered(splice(text, ((*span, new) for span, new in edits.items())), tuple(writer.calls.values()))


def _keep_name(expr: x.Expr, name: str, found: Mapping[Span, str], text: str) -> Mapping[Span, str]:
    """The alias without which Spark would name the column after its new text."""
    span = span_of(expr)
    if span is None or not AFTER_ITEM.match(text, span[1]):
        said = "a column that a Python function feeds has no name of its own; give it an alias"
        raise CannotLower("PP220", said, next(iter(found)))
    alias = f" AS {quote_name(name)}"
    return {span: found[span] + alias} if span in found else {(span[1], span[1]): alias}


def _list_roots(plan: Plan) -> Iterator[tuple[x.Expr, str | None]]:
    """Every expression of the plan, with the column name that Spark would make of its text."""
    for node in plan.walk():
        for expr in node.expressions:
            named = isinstance(expr, x.Alias) and not expr.explicit
            yield (expr.child, expr.name) if isinstance(expr, x.Alias) and named else (_find_placed(expr), None)
            for inner in expr.walk():
                if isinstance(inner, Subquery):
                    yield from _list_roots(inner.plan)


def _find_placed(expr: x.Expr) -> x.Expr:
    while span_of(expr) is None and len(expr.children) == 1:
        (expr,) = expr.children
    return expr


def _lambda_of(call: x.Call) -> x.Lambda | None:
    return next((a for a in call.args if isinstance(a, x.Lambda)), None)


def _lists_of(call: x.Call) -> tuple[x.Expr, ...]:
    return tuple(a for a in call.args if not isinstance(a, x.Lambda))


def _has_python_body(expr: x.Expr) -> bool:
    return isinstance(expr, x.Call) and any(isinstance(a, x.Lambda) and calls_declared(a.body) for a in expr.args)


def _find_lazy_start(expr: x.Expr) -> int | None:
    """The place of the first argument that Spark may leave unevaluated. A Python function, once lowered, runs for every
    element."""
    return 1 if isinstance(expr, x.Call) and expr.function.traits.conditional else None


@dataclass
class _Writer:
    """Lowers the calls of one text; equal calls get one name, so that GROUP BY still sees equal expressions."""

    text: str
    conf: Conf
    prefix: str
    calls: dict[Level, ListCall] = field(default_factory=dict)
    done: dict[Span, str] = field(default_factory=dict)

    def lower(self, expr: x.Expr, lazy: bool) -> Iterator[tuple[Span, str]]:
        """The outermost higher-order calls with Python in their bodies, with their new text."""
        if _has_python_body(expr):
            assert isinstance(expr, x.Call)
            span = span_of(expr)
            if span is None or expr.function.name not in self.text[slice(*span)].split("(")[0].lower():
                raise CannotLower("PP220", "a Python function stands in a lambda that is not in the model's text", None)
            if lazy:
                raise _make_eager_error(expr)
            if span not in self.done:
                for part in _lists_of(expr):
                    for inner, new in self.lower(part, lazy):
                        self.done[inner] = new
                self.done[span] = _Root(self).write(expr)
            yield span, self.done[span]
            return
        first = _find_lazy_start(expr)
        for at, child in enumerate(expr.children):
            yield from self.lower(child, lazy or (first is not None and at >= first))

    def name_level(self, level: Level) -> str:
        call = self.calls.setdefault(level, ListCall(f"{self.prefix}{len(self.calls)}", level))
        return call.name

    def write_with(self, expr: x.Expr, swap: Swap) -> str:
        """The expression's text, in which `swap` replaces the parts for which it has a new text."""
        if (new := swap(expr)) is not None:
            return new
        span = span_of(expr)
        if span is None:
            return self._write_unplaced(expr, swap)
        edits = list(self._list_edits(expr, swap))
        moved = [(start - span[0], stop - span[0], text) for start, stop, text in edits]
        return splice(self.text[slice(*span)], moved)

    def _list_edits(self, expr: x.Expr, swap: Swap) -> Iterator[Edit]:
        for child in expr.children:
            span, new = span_of(child), swap(child)
            if new is None:
                yield from self._list_edits(child, swap)
            elif span is None:
                raise CannotLower("PP220", "planproof does not know the place of a variable in the text", span_of(expr))
            else:
                yield (*span, new)

    def _write_unplaced(self, expr: x.Expr, swap: Swap) -> str:
        if isinstance(expr, x.Cast) and not expr.written:
            return self.write_with(expr.child, swap)
        if isinstance(expr, x.Variable):
            return quote_name(expr.name)
        if isinstance(expr, x.Literal):
            return _write_constant(expr)
        raise CannotLower("PP220", f"planproof does not know the text of a {type(expr).__name__}", None)

    def name_variable(self, depth: int) -> str:
        """A name for the lowered lambda's variable that no word of the text equals."""
        name = f"z{depth}"
        words = {w.lower() for w in re.findall(r"\w+", self.text)}
        while name in words:
            name = f"_{name}"
        return name


def _make_eager_error(expr: x.Expr) -> CannotLower:
    names = sorted({e.function.name for e in expr.walk() if isinstance(e, x.Call) and is_declared(e.function)})
    said = f"{', '.join(names)} stands in a branch of CASE, IF or COALESCE that not every element takes"
    return CannotLower("PP221", f"{said}; a Python function runs for every element", span_of(expr))


@dataclass
class _Body:
    """What was found in one lambda's body: calls and inner levels by the identity of their expressions."""

    applications: list[Application] = field(default_factory=list)
    numbers: dict[int, Application] = field(default_factory=dict)
    inner: list[tuple[x.Call, _Found]] = field(default_factory=list)


@dataclass(frozen=True)
class _Found:
    """One higher-order call to lower: its level, and the names of the parts of its elements in the text."""

    level: Level
    body: _Body
    carried: tuple[x.Variable, ...]
    depth: int


@dataclass
class _Root:
    """One outermost call: its arguments, each once, and its applications in running order."""

    writer: _Writer
    arguments: dict[str, int] = field(default_factory=dict)
    count: int = 0

    def write(self, call: x.Call) -> str:
        found = self.build_level(call, ())
        self._refuse_volatile_lists(found, call)
        source = f"{self.writer.name_level(found.level)}({', '.join(self.arguments)})"
        return self.write_call(call, found, source, None)

    def build_level(self, call: x.Call, enclosing: Enclosing) -> _Found:
        function = _lambda_of(call)
        assert function is not None
        loop = call.function.traits.loop
        if loop is None or not loop.alone:
            said = f"a Python function in the body of {call.function.name} cannot run: each step needs the one before"
            able = ", ".join(list_names(lambda f: f.traits.loop is not None and f.traits.loop.alone))
            raise CannotLower("PP220", f"{said}; {able} can", span_of(call))
        here = (*enclosing, (call, function))
        body = _Body()
        self.scan(function.body, here, body, False)
        carried = tuple(self._find_carried(call, function, body))
        given = tuple(Carried(self.add_argument(v, len(here), here), v.type, v.nullable) for v in carried)
        inner = tuple(found.level for _, found in body.inner)
        shape = self._find_shape(here, [c.given for c in given], body)
        nullable = any(part.nullable for part in _lists_of(call))
        return _Found(Level(shape, given, tuple(body.applications), inner, nullable), body, carried, len(here))

    def scan(self, expr: x.Expr, enclosing: Enclosing, body: _Body, lazy: bool) -> None:
        """Finds the Python calls of a body, and the higher-order calls that hold more of them."""
        if isinstance(expr, x.Call) and is_declared(expr.function):
            if lazy:
                raise _make_eager_error(expr)
            self.apply(expr, enclosing, body, returned=True)
            return
        if _has_python_body(expr):
            assert isinstance(expr, x.Call)
            if lazy:
                raise _make_eager_error(expr)
            if any(calls_declared(part) for part in _lists_of(expr)):
                text = "a list that Python computes inside a lambda is iterated there"
                raise CannotLower("PP220", text, span_of(expr))
            body.inner.append((expr, self.build_level(expr, enclosing)))
            return
        first = _find_lazy_start(expr)
        for at, child in enumerate(expr.children):
            self.scan(child, enclosing, body, lazy or (first is not None and at >= first))

    def apply(self, call: x.Call, enclosing: Enclosing, body: _Body, returned: bool) -> Application:
        if not call.args:
            raise CannotLower("PP220", f"{call.function.name} takes no argument in a lambda", span_of(call))
        sources = tuple(self.find_source(_drop_cast(arg), enclosing, body) for arg in call.args)
        takes = tuple(_drop_cast(arg).type for arg in call.args)
        nullable = call.function.nullable((), self.writer.conf)
        made = Application(self.count, call.function.name, sources, takes, call.type, nullable, returned)
        self.count += 1
        body.applications.append(made)
        body.numbers[id(call)] = made
        return made

    def find_source(self, arg: x.Expr, enclosing: Enclosing, body: _Body) -> Source:
        """Where a function's argument comes from: an index, another function's result, or what Spark computes."""
        if isinstance(arg, x.Call) and is_declared(arg.function):
            return Made(self.apply(arg, enclosing, body, returned=False).number, len(enclosing))
        if calls_declared(arg):
            said = "the argument of a Python function computes with what another one gives; compute it in a subquery"
            raise CannotLower("PP220", said, span_of(arg))
        depth = max((_depth_of(id, enclosing) for id in laws.free_variables(arg)), default=0)
        if isinstance(arg, x.Variable) and _is_index(arg, enclosing[depth - 1]):
            return Position(depth)
        # An argument that may fail, or that differs each time, is evaluated where the body would evaluate it: once per
        # element, and never for an empty list.
        per_element = laws.may_raise(arg, self.writer.conf) or not laws.is_deterministic(arg)
        return self.add_argument(arg, len(enclosing) if per_element else depth, enclosing)

    def add_argument(self, arg: x.Expr, depth: int, enclosing: Enclosing) -> Given:
        text = self._write_list(arg, enclosing[:depth])
        return Given(self.arguments.setdefault(text, len(self.arguments)), depth)

    def _write_list(self, arg: x.Expr, enclosing: Enclosing) -> str:
        """The list that holds `arg` for each element of the innermost call, as Spark computes it."""
        if not enclosing:
            return self._write_plain(arg)
        (call, function), outer = enclosing[-1], enclosing[:-1]
        if (known := self._find_element_path(arg, call, function)) is not None:
            return self._wrap_text(known, outer)
        return self._wrap_text(self._write_plain(arg), enclosing)

    def _wrap_text(self, text: str, enclosing: Enclosing) -> str:
        for call, function in reversed(enclosing):
            lists = ", ".join(self._write_plain(part) for part in _lists_of(call))
            name = "zip_with" if call.function.name == "zip_with" else "transform"
            text = f"{name}({lists}, {_write_parameters(function)} -> {text})"
        return text

    def _find_element_path(self, arg: x.Expr, call: x.Call, function: x.Lambda) -> str | None:
        """`items.price` for `i.price`, `items` for `i`: Spark then reads no other field. None for what is no path."""
        if call.function.name == "zip_with":
            return None
        names: list[str] = []
        while isinstance(arg, x.GetField):
            names.insert(0, arg.name)
            arg = arg.child
        if not isinstance(arg, x.Variable) or arg.id != function.parameters[0].id:
            return None
        (source,) = _lists_of(call)
        if names and not isinstance(source, (x.Column, x.GetField, x.GetFieldOfElements)):
            return None
        return ".".join([self._write_plain(source), *map(quote_name, names)])

    def _write_plain(self, expr: x.Expr) -> str:
        if isinstance(expr, x.Variable):
            return quote_name(expr.name)
        return self.writer.write_with(expr, lambda e: self.writer.done.get(span_of(e) or (-1, -1)))

    def _find_shape(self, enclosing: Enclosing, carried: list[Given], body: _Body) -> Given:
        """An argument whose lists have this level's lengths. Where the functions read no such list it is one of
        booleans."""
        sources = [s for a in body.applications for s in a.sources if isinstance(s, Given)]
        found = [*carried, *sources, *(inner.level.shape for _, inner in body.inner)]
        known = next((g for g in found if g.depth >= len(enclosing)), None)
        if known is None:
            known = self.add_argument(x.Literal(False, dt.BOOLEAN, "false"), len(enclosing), enclosing)
        return Given(known.argument, len(enclosing))

    def _find_carried(self, call: x.Call, function: x.Lambda, body: _Body) -> Iterator[x.Variable]:
        """The lambda's parameters that Spark still reads beside the Python calls, an index left out. A `filter` needs
        its elements: they are its result."""
        elements = function.parameters if call.function.name == "zip_with" else function.parameters[:1]
        used = {e.id for e in _find_outside(function.body, body) if isinstance(e, x.Variable)}
        yield from (p for p in elements if p.id in used or call.function.name == "filter")

    def _refuse_volatile_lists(self, found: _Found, call: x.Call) -> None:
        calls = [e for e in call.walk() if _has_python_body(e)]
        parts = [p for c in calls if isinstance(c, x.Call) for p in _lists_of(c)]
        if len(self.arguments) > 1 and not all(laws.is_deterministic(part) for part in parts):
            said = "the list is computed anew each time it is read, and the function needs it more than once"
            raise CannotLower("PP220", f"{said}; compute it in a subquery", span_of(call))

    def write_call(self, call: x.Call, found: _Found, source: str, outer: _Parts | None) -> str:
        """The call over the list that the worker gives back."""
        function = _lambda_of(call)
        assert function is not None
        z = self.writer.name_variable(found.depth)
        parts = _Parts(self, found, z, outer)
        body = self.writer.write_with(function.body, parts)
        name = call.function.name
        if name in ("transform", "zip_with") and body == z:
            return source
        shown = z
        index = function.parameters[1:] if name != "zip_with" else ()
        if index and _uses(index[0], function.body, found.body):
            shown = f"({z}, {quote_name(index[0].name)})"
        if name == "filter":
            kept = f"filter({source}, {shown} -> {body})"
            element = parts.name_part(0)
            return kept if element == z else f"transform({kept}, {z} -> {element})"
        return f"{'transform' if name == 'zip_with' else name}({source}, {shown} -> {body})"


@dataclass
class _Parts:
    """The text in a lowered body that stands for a variable, a Python call or an inner level."""

    root: _Root
    found: _Found
    variable: str
    outer: _Parts | None

    def name_part(self, index: int) -> str:
        level = self.found.level
        return self.variable if level.bare else f"{self.variable}.{level.parts[index].name}"

    def __call__(self, expr: x.Expr) -> str | None:
        level, body = self.found.level, self.found.body
        if isinstance(expr, x.Variable):
            ids = [v.id for v in self.found.carried]
            if expr.id in ids:
                return self.name_part(ids.index(expr.id))
            return self.outer(expr) if self.outer is not None else None
        if (application := body.numbers.get(id(expr))) is not None:
            return self.name_part(len(level.carried) + level.returned.index(application))
        for at, (call, inner) in enumerate(body.inner):
            if call is expr:
                source = self.name_part(len(level.carried) + len(level.returned) + at)
                return self.root.write_call(call, inner, source, self)
        return None


def _drop_cast(expr: x.Expr) -> x.Expr:
    return expr.child if isinstance(expr, x.Cast) and not expr.written else expr


def _write_constant(literal: x.Literal) -> str:
    """A text for the constant that keeps its type. Printed as 2.0, the double `2D` would become a decimal."""
    if literal.sql is not None:
        return literal.sql
    if literal.value is None or isinstance(literal.value, bool) or literal.type == dt.INT:
        return literal.text
    text = literal.text.replace("\\", "\\\\").replace("'", "\\'")
    return (
        literal.text if "'" in literal.text and literal.type != dt.STRING else f"CAST('{text}' AS {literal.type.sql})"
    )


def _depth_of(variable: int, enclosing: Enclosing) -> int:
    return next(at for at, (_, function) in enumerate(enclosing, 1) if variable in {p.id for p in function.parameters})


def _is_index(variable: x.Variable, step: tuple[x.Call, x.Lambda]) -> bool:
    call, function = step
    return call.function.name != "zip_with" and variable.id in {p.id for p in function.parameters[1:]}


def _find_outside(expr: x.Expr, body: _Body) -> Iterator[x.Expr]:
    """The parts of a body that Spark still evaluates, those of the calls inside it too."""
    if id(expr) in body.numbers:
        return
    inner = next((found for call, found in body.inner if call is expr), None)
    if inner is not None:
        function = next(c for c in expr.children if isinstance(c, x.Lambda))
        yield from _find_outside(function.body, inner.body)
        return
    yield expr
    for child in expr.children:
        yield from _find_outside(child, body)


def _uses(variable: x.Variable, expr: x.Expr, body: _Body) -> bool:
    return any(isinstance(e, x.Variable) and e.id == variable.id for e in _find_outside(expr, body))


def _write_parameters(function: x.Lambda) -> str:
    names = [quote_name(p.name) for p in function.parameters]
    return names[0] if len(names) == 1 else f"({', '.join(names)})"
