"""Column lineage: which columns of which relations each output column is made of, read off a plan.

Columns are bound by id, so lineage is a walk along ids: no name is looked up, and a lambda's variables, which are no
columns, never appear.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from planproof.expr.nodes import Alias, Call, Column, Exists, Expr, InSubquery, Outer, ScalarSubquery, Window
from planproof.plan import nodes as p

IDENTITY, TRANSFORMATION, AGGREGATION = "identity", "transformation", "aggregation"
FILTER, JOIN, GROUP_BY, SORT, WINDOW = "filter", "join", "group by", "sort", "window"
_STRENGTH = (IDENTITY, TRANSFORMATION, AGGREGATION)


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """A column of a stored relation, and what becomes of it on the way: `how` is one of the constants above."""

    relation: str
    column: str
    how: str


@dataclass(frozen=True, slots=True)
class Lineage:
    """`columns`: per output column, in order, its name and what its values are made of. `rows`: what decides which rows
    there are, or in which order or group they are seen."""

    columns: tuple[tuple[str, tuple[Source, ...]], ...]
    rows: tuple[Source, ...]

    def to_dict(self) -> dict[str, object]:
        """JSON's form: `{"columns": {name: [[relation, column, how], ...]}, "rows": [...]}`; names may repeat."""
        form = [[name, [[s.relation, s.column, s.how] for s in sources]] for name, sources in self.columns]
        return {"columns": form, "rows": [[s.relation, s.column, s.how] for s in self.rows]}


def lineage(root: p.Plan) -> Lineage:
    """The lineage of a plan's output. A column of a relation that a name stands for several times is named once."""
    trace = _Trace()
    trace.visit(root)
    columns = tuple((column.name, trace.sources(column.id)) for column in root.output)
    rows = {source for expr, how in trace.conditions for source in trace.read(expr, how)}
    return Lineage(columns, tuple(sorted(rows)))


@dataclass(slots=True)
class _Trace:
    """`made` says per column id of what it is made: an expression, or other ids (a set operation has several)."""

    scanned: dict[int, Source] = field(default_factory=dict)
    made: dict[int, list[Expr]] = field(default_factory=dict)
    conditions: list[tuple[Expr, str]] = field(default_factory=list)
    known: dict[int, tuple[Source, ...]] = field(default_factory=dict)

    # --- what the plan says -----------------------------------------------------------------------------------------

    def visit(self, node: p.Plan) -> None:
        for child in node.children:
            self.visit(child)
        for expr in node.expressions:
            for inner in _subplans(expr):
                self.visit(inner)
        self._define(node)
        self.conditions += _conditions(node)

    def _define(self, node: p.Plan) -> None:
        if isinstance(node, p.Scan):
            if not node.recursive:
                for column in node.output:
                    self.scanned[column.id] = Source(node.relation, column.name, IDENTITY)
        elif isinstance(node, (p.Project, p.Aggregate)):
            for item in node.items:
                if isinstance(item, Alias):
                    self._make(item.id, [item.child])
        elif isinstance(node, p.Named):
            self._same(node.output, node.child.output)
        elif isinstance(node, p.SetOperation):
            for plan in node.inputs:
                self._same(node.output, plan.output)
        elif isinstance(node, p.Generate):
            for column in node.generated:
                self._make(column.id, [node.call])
        elif isinstance(node, p.Values) and node.call is not None:
            for column in node.output:
                self._make(column.id, [node.call])
        elif isinstance(node, p.Script):
            for column in node.output:
                self._make(column.id, [Alias(c, c.name, c.id) for c in node.child.output])

    def _same(self, output: Iterable[Column], below: Iterable[Column]) -> None:
        for column, source in zip(output, below):
            if column.id != source.id:
                self._make(column.id, [source])

    def _make(self, column: int, exprs: list[Expr]) -> None:
        found = self.made.setdefault(column, [])
        found += [expr for expr in exprs if not any(expr is known for known in found)]

    # --- what follows from it ---------------------------------------------------------------------------------------

    def sources(self, column: int) -> tuple[Source, ...]:
        """The sources of a column by its id; none for a constant, and for a column that reads itself (recursion)."""
        if column in self.scanned:
            return (self.scanned[column],)
        if column not in self.known:
            self.known[column] = ()
            found = {source for expr in self.made.get(column, ()) for source in self.read(expr, None)}
            self.known[column] = tuple(sorted(found))
        return self.known[column]

    def read(self, expr: Expr, how: str | None) -> set[Source]:
        """The sources of an expression's columns, marked as `how`, or by what the expression does with each."""
        found: set[Source] = set()
        for column, does in _read(expr, IDENTITY):
            for source in self.sources(column):
                strongest = max(does, source.how, key=_STRENGTH.index)
                found.add(Source(source.relation, source.column, how or strongest))
        return found


def _read(expr: Expr, does: str) -> Iterator[tuple[int, str]]:
    """The ids of the columns whose values reach the expression's value, and what is done to them."""
    if isinstance(expr, Column):
        yield expr.id, does
    elif isinstance(expr, Outer):
        yield expr.column.id, does
    elif isinstance(expr, Alias):
        yield from _read(expr.child, does)
    elif isinstance(expr, ScalarSubquery):
        yield expr.plan.output[0].id, max(does, TRANSFORMATION, key=_STRENGTH.index)
    elif isinstance(expr, Window):
        yield from _read(expr.call, does)
    else:
        inner = AGGREGATION if isinstance(expr, Call) and expr.function.kind == "aggregate" else TRANSFORMATION
        values = expr.args if isinstance(expr, Call) else expr.children
        for child in values:
            yield from _read(child, max(does, inner, key=_STRENGTH.index))


def _conditions(node: p.Plan) -> list[tuple[Expr, str]]:
    """What decides about rows at this node, and what inside its expressions decides which values count."""
    found: list[tuple[Expr, str]] = []
    if isinstance(node, p.Filter):
        found.append((node.condition, FILTER))
    elif isinstance(node, p.Join) and node.condition is not None:
        found.append((node.condition, JOIN))
    elif isinstance(node, p.Aggregate):
        found += [(group, GROUP_BY) for group in node.groups]
    elif isinstance(node, p.Ordered):
        found += [(key.child, SORT) for key in node.keys]
    for root in node.expressions:
        for expr in root.walk():
            found += _inside(expr)
    return found


def _inside(expr: Expr) -> list[tuple[Expr, str]]:
    if isinstance(expr, Window):
        return [*((e, WINDOW) for e in expr.partition), *((key.child, WINDOW) for key in expr.order)]
    if isinstance(expr, Call) and expr.filter is not None:
        return [(expr.filter, FILTER)]
    if isinstance(expr, InSubquery):
        return [(column, FILTER) for column in expr.plan.output]
    return []


def _subplans(root: Expr) -> Iterator[p.Plan]:
    for expr in root.walk():
        if isinstance(expr, (ScalarSubquery, Exists, InSubquery)):
            yield expr.plan
