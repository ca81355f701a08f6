"""Column lineage: which columns of which relations each output column is made of, read off a plan; and where a query's
text names columns, which column each name means, and where that column comes from.

Columns are bound by id, so lineage is a walk along ids: no name is looked up. A lambda's variables are no columns and
never appear.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from planproof_engine.expr import Column, Expr, Outer, Span, drop_alias, span_of
from planproof_engine.expr import nodes as x
from planproof_engine.ground import record
from planproof_engine.logical import nodes as p

IDENTITY, TRANSFORMATION, AGGREGATION = "identity", "transformation", "aggregation"
FILTER, JOIN, GROUP_BY, SORT, WINDOW = "filter", "join", "group by", "sort", "window"
_STRENGTH = (IDENTITY, TRANSFORMATION, AGGREGATION)


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """A column of a stored relation, and what becomes of it on the way: `how` is one of the constants above."""

    relation: str
    column: str
    how: str


@record(frozen=True, slots=True)
class Lineage:
    """`columns`: for each output column, in order, its name and the sources of its values. `rows`: the sources that
    decide which rows there are, and in which order or group (filters, join keys, GROUP BY, ORDER BY)."""

    columns: tuple[tuple[str, tuple[Source, ...]], ...]
    rows: tuple[Source, ...]

    def to_dict(self) -> dict[str, object]:
        """JSON's form: `{"columns": {name: [[relation, column, how], ...]}, "rows": [...]}`; names may repeat."""
        form = [[name, [[s.relation, s.column, s.how] for s in sources]] for name, sources in self.columns]
        return {"columns": form, "rows": [[s.relation, s.column, s.how] for s in self.rows]}


def lineage(root: p.Plan, walked: Trace | None = None) -> Lineage:
    """The lineage of a plan's output. What a recursive CTE reads of itself is left out. `walked` is the plan's trace,
    where there is one."""
    trace = walked or Trace.of(root)
    columns = tuple((column.name, trace.sources(column.id)) for column in root.output)
    rows = {source for expr, how in trace.conditions for source in trace.read(expr, how)}
    return Lineage(columns, tuple(sorted(rows)))


def feeds(root: p.Plan, walked: Trace | None = None) -> dict[int, set[int]]:
    """By the id of each column of the plan: the positions of the output columns whose values it reaches."""
    trace = walked or Trace.of(root)
    found: dict[int, set[int]] = {}
    reads: dict[int, list[int]] = {}
    for position, column in enumerate(root.output):
        waiting, seen = [column.id], set[int]()
        while waiting:
            key = waiting.pop()
            if key not in seen:
                seen.add(key)
                found.setdefault(key, set()).add(position)
                if key not in reads:
                    reads[key] = [read for expr in trace.made.get(key, ()) for read, _ in _read(expr, IDENTITY)]
                waiting += reads[key]
    return found


@dataclass(slots=True)
class Trace:
    """What one walk over a plan found. By a column's id, `scanned` says where it is stored, and `made` of which
    expressions it is made."""

    scanned: dict[int, Source] = field(default_factory=dict)
    made: dict[int, list[x.Expr]] = field(default_factory=dict)
    conditions: list[tuple[x.Expr, str]] = field(default_factory=list)
    known: dict[int, tuple[Source, ...]] = field(default_factory=dict)
    seen: dict[int, p.Plan] = field(default_factory=dict)

    @classmethod
    def of(cls, root: p.Plan) -> Trace:
        found = cls()
        found.visit(root)
        return found

    # --- what the plan says -----------------------------------------------------------------------------------------

    def visit(self, node: p.Plan) -> None:
        if id(node) in self.seen:  # A CTE that is read twice is one plan.
            return
        self.seen[id(node)] = node
        for child in node.children:
            self.visit(child)
        for expr in node.expressions:
            for inner in _subplans(expr):
                self.visit(inner)
        self._define(node)
        self.conditions += _conditions(node)

    def _define(self, node: p.Plan) -> None:
        if isinstance(node, p.Scan):
            # Inside a recursive CTE its own name is no relation.
            own = [] if node.recursive else node.output
            self.scanned |= {column.id: Source(node.relation, column.name, IDENTITY) for column in own}
        for key, expr in _definitions(node):
            known = self.made.setdefault(key, [])
            if not any(expr is other for other in known):
                known.append(expr)

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

    def read(self, expr: x.Expr, how: str | None) -> set[Source]:
        """The sources of an expression's columns, marked as `how`, or by what the expression does with each."""
        found: set[Source] = set()
        for column, does in _read(expr, IDENTITY):
            for source in self.sources(column):
                strongest = max(does, source.how, key=_STRENGTH.index)
                found.add(Source(source.relation, source.column, how or strongest))
        return found


def _definitions(node: p.Plan) -> Iterator[tuple[int, x.Expr]]:
    """The id of each new column of a node, with the expressions of which it is made: several for a set operation."""
    if isinstance(node, (p.Project, p.Aggregate)):
        yield from ((item.id, item.child) for item in node.items if isinstance(item, x.Alias))
    elif isinstance(node, (p.Named, p.Recursion)):
        yield from _pair_columns(node.output, node.child.output)
    elif isinstance(node, p.Pivot):
        made = node.output[len(node.groups) :]
        yield from ((c.id, node.aggregates[at % len(node.aggregates)]) for at, c in enumerate(made))
    elif isinstance(node, p.SetOperation):
        for plan in node.inputs:
            yield from _pair_columns(node.output, plan.output)
    elif isinstance(node, p.Script):
        yield from ((column.id, x.Alias(c, c.name, c.id)) for column in node.output for c in node.child.output)
    elif isinstance(node, (p.Generate, p.Values)) and node.call is not None:
        generated = node.generated if isinstance(node, p.Generate) else node.output
        yield from ((column.id, node.call) for column in generated)


def _pair_columns(output: Iterable[x.Column], below: Iterable[x.Column]) -> Iterator[tuple[int, x.Expr]]:
    return ((column.id, source) for column, source in zip(output, below) if column.id != source.id)


def _read(expr: x.Expr, does: str) -> Iterable[tuple[int, str]]:
    """The ids of the columns whose values reach the expression's value, and what is done to them."""
    found: dict[tuple[int, str], None] = {}
    waiting, seen = [(expr, does)], set[tuple[int, str]]()
    while waiting:
        expr, does = waiting.pop()
        if isinstance(expr, (x.Column, x.Outer)):
            found[expr.id if isinstance(expr, x.Column) else expr.column.id, does] = None
        elif (id(expr), does) not in seen:
            seen.add((id(expr), does))
            waiting += _list_parts(expr, does)
    return found


def _list_parts(expr: x.Expr, does: str) -> Iterable[tuple[x.Expr, str]]:
    """The parts whose values reach the expression's value, and what is done to them."""
    if isinstance(expr, x.Alias):
        return ((expr.child, does),)
    if isinstance(expr, x.Nulled):
        return ((expr.expr, does),)
    if isinstance(expr, x.Window):
        return ((expr.call, does),)
    does = max(does, AGGREGATION if x.is_aggregate(expr) else TRANSFORMATION, key=_STRENGTH.index)
    if isinstance(expr, x.ScalarSubquery):
        return ((expr.plan.output[0], does),)
    return ((child, does) for child in (expr.args if isinstance(expr, x.Call) else expr.children))


def _conditions(node: p.Plan) -> list[tuple[x.Expr, str]]:
    """What decides about rows at this node, and what inside its expressions decides which values count."""
    found: list[tuple[x.Expr, str]] = []
    if isinstance(node, p.Filter):
        found.append((node.condition, FILTER))
    elif isinstance(node, p.Join) and node.condition is not None:
        found.append((node.condition, JOIN))
    elif isinstance(node, p.Aggregate):
        found += [(group, GROUP_BY) for group in node.groups]
    elif isinstance(node, p.Pivot):
        found += [(group, GROUP_BY) for group in node.groups] + [(key, FILTER) for key in node.keys]
    elif isinstance(node, p.Ordered):
        found += [(key.child, SORT) for key in node.keys]
    for root in node.expressions:
        for expr in root.walk() if type(root) is not x.Column else ():
            found += _list_inside(expr)
    return found


def _list_inside(expr: x.Expr) -> list[tuple[x.Expr, str]]:
    if isinstance(expr, x.Window):
        return [*((e, WINDOW) for e in expr.partition), *((key.child, WINDOW) for key in expr.order)]
    if isinstance(expr, x.Call) and expr.filter is not None:
        return [(expr.filter, FILTER)]
    if isinstance(expr, x.InSubquery):
        return [(column, FILTER) for column in expr.plan.output]
    return []


def _subplans(root: x.Expr) -> Iterator[p.Plan]:
    for expr in root.walk() if type(root) is not x.Column else ():
        if isinstance(expr, x.Subquery):
            yield expr.plan


# Columns in the text


@record(frozen=True, slots=True)
class Item:
    """One column of a SELECT: what it is made of, and where that is written."""

    column: Column
    made_of: Expr
    span: Span


@dataclass(slots=True)
class References:
    """The expressions of one plan by their place in its text, and its select items."""

    root: p.Plan
    items: list[Item] = field(default_factory=list)
    _written: list[tuple[int, int, Expr]] = field(default_factory=list)
    _made: dict[int, list[Expr]] = field(default_factory=dict)
    _scanned: dict[int, Source] = field(default_factory=dict)

    def __post_init__(self) -> None:
        trace = Trace.of(self.root)
        self._made, self._scanned = trace.made, trace.scanned
        for expr in self.root.all_expressions():
            span = span_of(expr)
            if span is not None:
                self._written.append((*span, expr))
        for node in self.root.walk_everywhere():
            if isinstance(node, (p.Project, p.Aggregate)):
                self._note(node)

    def _note(self, node: p.Project | p.Aggregate) -> None:
        for column, item in zip(node.output, node.items):
            made_of = drop_alias(item)
            span = span_of(made_of)
            if span is not None:
                self.items.append(Item(column, made_of, span))

    def find_at(self, offset: int) -> tuple[Expr, Span] | None:
        """The innermost expression whose text holds the character at `offset`."""
        found = [(stop - start, start, stop, i) for i, (start, stop, _) in enumerate(self._written)]
        inside = [entry for entry in found if entry[1] <= offset < entry[2]]
        if not inside:
            return None
        _, start, stop, index = min(inside)
        return self._written[index][2], (start, stop)

    def find_source(self, expr: Expr) -> Span | Source | None:
        """Where a column is made: the text of the expression, or the column of the relation that stores it."""
        column = expr.column if isinstance(expr, Outer) else expr
        if not isinstance(column, Column):
            return None
        key, seen = column.id, set[int]()
        while key not in seen:
            seen.add(key)
            if key in self._scanned:
                return self._scanned[key]
            made = self._made.get(key)
            if not made:
                return None
            first = drop_alias(made[0])
            span = span_of(first)
            if span is not None or not isinstance(first, Column):
                return span
            key = first.id
        return None
