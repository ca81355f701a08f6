"""Where the columns of a plan come from, and which parts of it are computed: which columns something needs, and which
expressions the result surely shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property

from planproof_engine.expr import Elements
from planproof_engine.expr import nodes as x
from planproof_engine.functions.families.operators import CASTS
from planproof_engine.ground import Conf
from planproof_engine.logical import nodes as p


def _places(found: Iterable[x.Expr]) -> frozenset[x.Span]:
    return frozenset(span for expr in found if (span := getattr(expr, "span", None)) is not None)


def find_cast(expr: x.Expr, conf: Conf) -> x.Cast | None:
    """A cast that the query writes, `int(x)` too; None for any other expression."""
    if isinstance(expr, x.Cast):
        return expr if expr.written else None
    if isinstance(expr, x.Call) and expr.function.name in CASTS:
        return x.Cast(expr.args[0], expr.type, "ansi" if conf.ansi else "legacy", expr.nullable, True, expr.span)
    return None


class Definitions:
    """What makes each column: a source's own column, or the expression behind a name.

    `large` notes, by an expression's identity, the expression and whether nothing keeps its value small
    (`integers.may_be_large`): columns that are made of each other are looked at once.
    """

    def __init__(self, root: p.Plan) -> None:
        self.root = root
        self.large: dict[int, tuple[x.Expr, bool]] = {}
        self.nodes = tuple(root.walk_everywhere())
        self._made: dict[int, x.Expr] = {}
        self._scans: dict[int, p.Scan] = {}
        self._merged: set[int] = set()
        self._united: dict[int, list[x.Expr]] = {}
        self._generated: dict[int, x.Call] = {}
        for node in self.nodes:
            self._note(node)

    @cached_property
    def operations(self) -> Sequence[tuple[str | None, x.Call | x.Cast | x.InSubquery]]:
        """Every call, cast and IN over a query, with the name of the output column that it is part of (None in
        conditions and keys)."""
        tops = [top for node in self.nodes for top in node.expressions if type(top) is not x.Column]
        found = ((top, expr) for top in tops for expr in top.walk() if isinstance(expr, (x.Call, x.Cast, x.InSubquery)))
        return [(top.name if isinstance(top, x.Alias) else None, expr) for top, expr in found]

    def computes(self, expr: x.Expr) -> bool:
        """Whether Spark computes an expression. It leaves out columns that nothing reads, and nodes to which no row
        comes."""
        return id(expr) in self._computed

    @cached_property
    def _computed(self) -> frozenset[int]:
        nodes = list(list_filled(self.root))
        used = find_needed(self.root, nodes)
        return frozenset(
            id(expr)
            for node in nodes
            for top in node.expressions
            if not (isinstance(top, x.Alias) and isinstance(node, (p.Project, p.Aggregate)) and top.id not in used)
            for expr in top.walk()
        )

    @cached_property
    def always(self) -> frozenset[x.Span]:
        """The places of expressions that every row of their query block computes. A row that a condition keeps has
        computed every condition that AND joins in it."""
        tops = ((isinstance(node, (p.Filter, p.Join)), top) for node in self.nodes for top in node.expressions)
        roots = (expr for is_condition, top in tops for expr in (x.conjuncts(top) if is_condition else (top,)))
        return _places(expr for root in roots for expr, always in walk_branches(root) if always)

    @cached_property
    def sure(self) -> frozenset[x.Span]:
        """The places of expressions that the result shows whatever any table holds."""
        return _places(list_sure(self.root))

    def casts(self, conf: Conf) -> Iterator[tuple[str | None, x.Cast]]:
        """Every cast that the query writes, `int(x)` too, with the name of the output column that it is part of."""
        for column, expr in self.operations:
            cast = find_cast(expr, conf)
            if cast is not None:
                yield column, cast

    def _note(self, node: p.Plan) -> None:
        if isinstance(node, p.Scan):
            self._scans.update((c.id, node) for c in node.output)
        elif isinstance(node, (p.Project, p.Aggregate)):
            self._made.update((i.id, i.child) for i in node.items if isinstance(i, x.Alias))
        elif isinstance(node, p.Recursion):
            self._merged.update(c.id for c in node.output)
        elif isinstance(node, p.Values) and node.call is None:
            self._united.update((c.id, [row[at] for row in node.rows]) for at, c in enumerate(node.output))
        elif isinstance(node, p.Generate):
            self._generated.update((c.id, node.call) for c in node.generated)
        elif isinstance(node, (p.Named, p.SetOperation)):
            if isinstance(node, p.SetOperation):
                self._merged.update(c.id for c in node.output)
                self._united.update((c.id, [i.output[at] for i in node.inputs]) for at, c in enumerate(node.output))
            below = node.inputs[0] if isinstance(node, p.SetOperation) else node.child
            self._made.update((o.id, c) for o, c in zip(node.output, below.output) if o.id != c.id)

    def of(self, expr: x.Expr) -> x.Expr:
        """The expression behind a column: a source's column, or what was computed. Anything else is its own."""
        seen: set[int] = set()
        while True:
            if isinstance(expr, x.Alias):
                expr = expr.child
            elif isinstance(expr, x.Column) and expr.id in self._made and expr.id not in seen:
                seen.add(expr.id)
                expr = self._made[expr.id]
            else:
                return expr

    def all_of(self, expr: x.Expr) -> list[x.Expr]:
        """The expressions behind a column: of a union those of each side, of an inline table those of each row."""
        waiting, seen, found = [expr], set[int](), list[x.Expr]()
        while waiting:
            one = waiting.pop()
            if isinstance(one, x.Alias):
                waiting.append(one.child)
            elif isinstance(one, x.ScalarSubquery):
                waiting.append(one.plan.output[0])
            elif isinstance(one, x.Column) and (one.id in self._united or one.id in self._made):
                if one.id not in seen:
                    seen.add(one.id)
                    waiting += self._united.get(one.id) or [self._made[one.id]]
            else:
                found.append(one)
        return found

    def find_stored(self, expr: x.Expr) -> tuple[p.Scan, x.Column] | None:
        """The column of a source that alone makes this one's values; None where others may come in."""
        seen: set[int] = set()
        while isinstance(expr, x.Column) and expr.id not in self._merged | seen:
            if (source := self._scans.get(expr.id)) is not None:
                return None if source.recursive else (source, expr)
            if expr.id not in self._made:
                return None
            seen.add(expr.id)
            expr = self._made[expr.id]
        return None

    def is_stored(self, expr: x.Expr) -> bool:
        """Whether this is a value that a source holds: a column's, a field's, an item's, one that a generator or a
        lambda takes out of an array."""
        found = self.of(expr)
        if isinstance(found, x.Column):
            made = self._generated.get(found.id)
            return found.id in self._scans if made is None else any(map(self.is_stored, made.args))
        if isinstance(found, (x.GetField, x.GetFieldOfElements)):
            return self.is_stored(found.child)
        if isinstance(found, x.Call) and found.function.traits.elements is Elements.ITEM:
            return self.is_stored(found.args[0])
        return isinstance(found, x.Variable)

    def find_source(self, expr: x.Expr) -> p.Scan | None:
        """The source whose own column this is, None for what was computed."""
        found = self.of(expr)
        return self._scans.get(found.id) if isinstance(found, x.Column) else None


def walk_branches(expr: x.Expr, *, in_aggregates: bool = True) -> Iterator[tuple[x.Expr, bool]]:
    """The expression and all within it, each with whether every row computes it: not what stands in a branch, in a
    lambda, in a window or behind a FILTER. Without `in_aggregates` not what an aggregate function reads, either."""
    pending = [(expr, True)]
    while pending:
        expr, always = pending.pop()
        yield expr, always
        children = expr.children
        if children:
            evaluated = expr.function.count_evaluated(len(children)) if isinstance(expr, x.Call) else len(children)
            within = always and not _is_apart(expr) and (in_aggregates or not x.is_aggregate(expr))
            pending += [(child, within and at < evaluated) for at, child in enumerate(children)][::-1]


def _is_apart(expr: x.Expr) -> bool:
    return isinstance(expr, (x.Lambda, x.Window)) or (isinstance(expr, x.Call) and expr.filter is not None)


def list_filled(root: p.Plan) -> Iterator[p.Plan]:
    """The nodes that may give rows, each once: not those over `WHERE false`, nor those below `LIMIT 0`."""
    waiting, seen = [root], set[int]()
    empty: dict[int, bool] = {}
    while waiting:
        node = waiting.pop()
        if id(node) not in seen and not _is_empty(node, empty):
            seen.add(id(node))
            yield node
            waiting += [e.plan for top in node.expressions for e in top.walk() if isinstance(e, x.Subquery)]
            waiting += node.children


def _is_empty(node: p.Plan, known: dict[int, bool]) -> bool:
    """Whether a node gives no rows, by constants alone."""
    if id(node) not in known:
        below = [_is_empty(child, known) for child in node.children]
        known[id(node)] = _is_none(node) or (
            all(below) if isinstance(node, p.SetOperation) else _keeps_none(node) and any(below)
        )
    return known[id(node)]


def _is_none(node: p.Plan) -> bool:
    if isinstance(node, p.Limit):
        return node.what == "limit" and any(isinstance(a, x.Literal) and a.value == 0 for a in node.arguments)
    return isinstance(node, p.Filter) and isinstance(node.condition, x.Literal) and node.condition.value is False


def _keeps_none(node: p.Plan) -> bool:
    """Whether the node gives no row where the nodes below it give none."""
    if isinstance(node, p.Join):
        return node.kind in (p.INNER, p.CROSS)
    return isinstance(node, p.Unary) and not isinstance(node, (p.Recursion, p.Pivot)) and not _is_one_row(node)


def find_needed(root: p.Plan, nodes: Iterable[p.Plan]) -> set[int]:
    """The ids of the columns of which the result is made, or which may decide about its rows. Spark computes no other:
    what EXISTS selects, and columns of a subquery that nobody reads."""
    made: dict[int, set[int]] = {}
    waiting = [c.id for c in root.output]
    for node in nodes:
        items = node.items if isinstance(node, (p.Project, p.Aggregate)) else ()
        for item in items:
            made.setdefault(_id_of(item), set()).update(_read(item))
        waiting += [read for top in node.expressions if not any(top is item for item in items) for read in _read(top)]
        if isinstance(node, (p.Named, p.Recursion, p.SetOperation)):
            for below in node.children:
                for mine, theirs in zip(node.output, below.output):
                    made.setdefault(mine.id, set()).add(theirs.id)
        if isinstance(node, (p.Distinct, p.Script)) or (
            isinstance(node, p.SetOperation) and not _is_union(node, all=True)
        ):
            waiting += [c.id for below in node.children for c in below.output]
    found: set[int] = set()
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting += made.get(key, ())
    return found


def _id_of(item: x.Expr) -> int:
    assert isinstance(item, (x.Alias, x.Column))
    return item.id


def _is_union(node: p.Plan, all: bool = False) -> bool:
    return isinstance(node, p.SetOperation) and node.kind == "union" and (node.all or not all)


def _read(top: x.Expr) -> Iterator[int]:
    """The ids of the columns that an expression reads."""
    for expr in top.walk():
        if isinstance(expr, x.Column):
            yield expr.id
        elif isinstance(expr, x.Outer):
            yield expr.column.id
        elif isinstance(expr, x.Subquery) and not isinstance(expr, x.Exists):
            yield from (c.id for c in expr.plan.output)


def list_sure(root: p.Plan) -> Iterator[x.Expr]:
    """The expressions that the result shows whatever any table holds. Their rows come from no relation, no filter,
    limit or join can take them away, and they stand in no branch."""
    return _list_sure(root, {c.id for c in root.output})


def _list_sure(node: p.Plan, wanted: Collection[int]) -> Iterator[x.Expr]:
    if isinstance(node, (p.Project, p.Aggregate)):
        has_rows = _has_rows(node.child)
        if not has_rows and not _is_one_row(node):
            return
        found = [e for item in node.items if _id_of(item) in wanted for e in _list_always(item, has_rows)]
        yield from found
        yield from _list_sure(node.child, {e.id for e in found if isinstance(e, x.Column)})
    elif isinstance(node, (p.Named, p.Ordered, p.Distinct)) or _is_union(node):
        for below in node.children:
            yield from _list_sure(below, {b.id for mine, b in zip(node.output, below.output) if mine.id in wanted})


def _list_always(item: x.Expr, in_aggregates: bool) -> Iterator[x.Expr]:
    return (expr for expr, always in walk_branches(item, in_aggregates=in_aggregates) if always)


def _is_one_row(node: p.Plan) -> bool:
    """Whether it is an aggregate of all rows, which gives one row for none."""
    return isinstance(node, p.Aggregate) and not node.groups


def _has_rows(node: p.Plan) -> bool:
    """Whether a row is there, whatever any relation holds."""
    if isinstance(node, p.OneRow):
        return True
    if isinstance(node, p.Values):
        return node.call is None and bool(node.rows)
    if isinstance(node, p.SetOperation):
        return _is_union(node) and any(map(_has_rows, node.inputs))
    return _is_one_row(node) or (
        isinstance(node, (p.Project, p.Aggregate, p.Named, p.Ordered, p.Distinct)) and _has_rows(node.children[0])
    )
