"""Where the columns of a plan come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from planproof_engine.conf import Conf
from planproof_engine.expr.nodes import (
    Alias,
    Call,
    Cast,
    Column,
    Expr,
    GetField,
    GetFieldOfElements,
    InSubquery,
    ScalarSubquery,
    Span,
    Variable,
    conjuncts,
)
from planproof_engine.expr.traits import Elements
from planproof_engine.functions.families.casts import CASTS
from planproof_engine.hazards.needed import find_needed, list_filled, list_sure, walk_branches
from planproof_engine.logical.nodes import (
    Aggregate,
    Filter,
    Generate,
    Join,
    Named,
    Plan,
    Project,
    Recursion,
    Scan,
    SetOperation,
    Values,
)


def _places(found: Iterable[Expr]) -> frozenset[Span]:
    return frozenset(span for expr in found if (span := getattr(expr, "span", None)) is not None)


def find_cast(expr: Expr, conf: Conf) -> Cast | None:
    """A cast that the query writes, `int(x)` too; None for any other expression."""
    if isinstance(expr, Cast):
        return expr if expr.written else None
    if isinstance(expr, Call) and expr.function.name in CASTS:
        return Cast(expr.args[0], expr.type, "ansi" if conf.ansi else "legacy", expr.nullable, True, expr.span)
    return None


class Definitions:
    """What makes each column: a source's own column, or the expression behind a name.

    `large` notes, by an expression's identity, the expression and whether nothing keeps its value small
    (`narrowing.may_be_large`): columns that are made of each other are looked at once.
    """

    def __init__(self, root: Plan) -> None:
        self.root = root
        self.large: dict[int, tuple[Expr, bool]] = {}
        self.nodes = tuple(root.walk_everywhere())
        self._made: dict[int, Expr] = {}
        self._scans: dict[int, Scan] = {}
        self._merged: set[int] = set()
        self._united: dict[int, list[Expr]] = {}
        self._generated: dict[int, Call] = {}
        for node in self.nodes:
            self._note(node)

    @cached_property
    def operations(self) -> Sequence[tuple[str | None, Call | Cast | InSubquery]]:
        """Every call, cast and IN over a query, with the name of the output column that it is part of (None in
        conditions and keys)."""
        tops = [top for node in self.nodes for top in node.expressions if type(top) is not Column]
        found = ((top, expr) for top in tops for expr in top.walk() if isinstance(expr, (Call, Cast, InSubquery)))
        return [(top.name if isinstance(top, Alias) else None, expr) for top, expr in found]

    def computes(self, expr: Expr) -> bool:
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
            if not (isinstance(top, Alias) and isinstance(node, (Project, Aggregate)) and top.id not in used)
            for expr in top.walk()
        )

    @cached_property
    def always(self) -> frozenset[Span]:
        """The places of expressions that every row of their query block computes. A row that a condition keeps has
        computed every condition that AND joins in it."""
        tops = ((isinstance(node, (Filter, Join)), top) for node in self.nodes for top in node.expressions)
        roots = (expr for is_condition, top in tops for expr in (conjuncts(top) if is_condition else (top,)))
        return _places(expr for root in roots for expr, always in walk_branches(root) if always)

    @cached_property
    def sure(self) -> frozenset[Span]:
        """The places of expressions that the result shows whatever any table holds."""
        return _places(list_sure(self.root))

    def casts(self, conf: Conf) -> Iterator[tuple[str | None, Cast]]:
        """Every cast that the query writes, `int(x)` too, with the name of the output column that it is part of."""
        for column, expr in self.operations:
            cast = find_cast(expr, conf)
            if cast is not None:
                yield column, cast

    def _note(self, node: Plan) -> None:
        if isinstance(node, Scan):
            self._scans.update((c.id, node) for c in node.output)
        elif isinstance(node, (Project, Aggregate)):
            self._made.update((i.id, i.child) for i in node.items if isinstance(i, Alias))
        elif isinstance(node, Recursion):
            self._merged.update(c.id for c in node.output)
        elif isinstance(node, Values) and node.call is None:
            self._united.update((c.id, [row[at] for row in node.rows]) for at, c in enumerate(node.output))
        elif isinstance(node, Generate):
            self._generated.update((c.id, node.call) for c in node.generated)
        elif isinstance(node, (Named, SetOperation)):
            if isinstance(node, SetOperation):
                self._merged.update(c.id for c in node.output)
                self._united.update((c.id, [i.output[at] for i in node.inputs]) for at, c in enumerate(node.output))
            below = node.inputs[0] if isinstance(node, SetOperation) else node.child
            self._made.update((o.id, c) for o, c in zip(node.output, below.output) if o.id != c.id)

    def of(self, expr: Expr) -> Expr:
        """The expression behind a column: a source's column, or what was computed. Anything else is its own."""
        seen: set[int] = set()
        while True:
            if isinstance(expr, Alias):
                expr = expr.child
            elif isinstance(expr, Column) and expr.id in self._made and expr.id not in seen:
                seen.add(expr.id)
                expr = self._made[expr.id]
            else:
                return expr

    def all_of(self, expr: Expr) -> list[Expr]:
        """The expressions behind a column: of a union those of each side, of an inline table those of each row."""
        waiting, seen, found = [expr], set[int](), list[Expr]()
        while waiting:
            one = waiting.pop()
            if isinstance(one, Alias):
                waiting.append(one.child)
            elif isinstance(one, ScalarSubquery):
                waiting.append(one.plan.output[0])
            elif isinstance(one, Column) and (one.id in self._united or one.id in self._made):
                if one.id not in seen:
                    seen.add(one.id)
                    waiting += self._united.get(one.id) or [self._made[one.id]]
            else:
                found.append(one)
        return found

    def find_stored(self, expr: Expr) -> tuple[Scan, Column] | None:
        """The column of a source that alone makes this one's values; None where others may come in."""
        seen: set[int] = set()
        while isinstance(expr, Column) and expr.id not in self._merged | seen:
            if (source := self._scans.get(expr.id)) is not None:
                return None if source.recursive else (source, expr)
            if expr.id not in self._made:
                return None
            seen.add(expr.id)
            expr = self._made[expr.id]
        return None

    def is_stored(self, expr: Expr) -> bool:
        """Whether this is a value that a source holds: a column's, a field's, an item's, one that a generator or a
        lambda takes out of an array."""
        found = self.of(expr)
        if isinstance(found, Column):
            made = self._generated.get(found.id)
            return found.id in self._scans if made is None else any(map(self.is_stored, made.args))
        if isinstance(found, (GetField, GetFieldOfElements)):
            return self.is_stored(found.child)
        if isinstance(found, Call) and found.function.traits.elements is Elements.ITEM:
            return self.is_stored(found.args[0])
        return isinstance(found, Variable)

    def find_source(self, expr: Expr) -> Scan | None:
        """The source whose own column this is, None for what was computed."""
        found = self.of(expr)
        return self._scans.get(found.id) if isinstance(found, Column) else None
