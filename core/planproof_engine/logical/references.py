"""Where a query's text names columns, which column each name means, and where that column comes from."""

from __future__ import annotations

from dataclasses import dataclass, field

from planproof_engine.expr.nodes import Column, Expr, Outer, Span, drop_alias
from planproof_engine.expr.tree import span_of
from planproof_engine.logical import nodes as p
from planproof_engine.logical.lineage import Source, Trace
from planproof_engine.records import record


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
