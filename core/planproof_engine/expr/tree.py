"""The two kinds of node that hold each other: a plan holds expressions, and a subquery's expression holds a plan.

Here stands what all of them share. What there is of each kind is in `expr/nodes.py` and `logical/nodes.py`.

A node's declared fields name its parts (`expr/parts.py`): the children that a walk visits and a rewriting replaces.
"""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import partial
from operator import attrgetter
from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr.parts import name_parts, replace_parts
from planproof_engine.ground import record
from planproof_engine.schema import LogicalField, LogicalSchema

Span = tuple[int, int]

_ids = itertools.count(1)


def fresh_id() -> int:
    """An id that no other column or variable of this process has."""
    return next(_ids)


def handed_on(path: str) -> Any:
    """A property of a node that says what one of its parts says."""
    return property(attrgetter(path))


class Expr:
    """What all expressions share. The fields `type` and `nullable` are set when a node is built."""

    __slots__ = ()

    type: dt.DataType
    nullable: bool

    def __init_subclass__(cls) -> None:
        name_parts(cls, children=Expr)

    @property
    def children(self) -> tuple[Expr, ...]:
        """The expressions in its fields, in the order in which the fields are declared."""
        return ()

    @property
    def evidence(self) -> str | None:
        return None if self.nullable else "it is never null"

    def walk(self) -> Iterator[Expr]:
        """This node and all below it, lambda bodies included, outermost first."""
        pending: list[Expr] = [self]
        while pending:
            expr = pending.pop()
            yield expr
            children = expr.children
            if children:
                pending += children[::-1]

    def holds(self, *kinds: builtins.type[Expr]) -> bool:
        """Whether this node or one below it is of one of the kinds."""
        pending: list[Expr] = [self]
        while pending:
            expr = pending.pop()
            if isinstance(expr, kinds):
                return True
            pending += expr.children
        return False


@record(frozen=True, slots=True)
class Column(Expr):
    """A column of a plan's schema. Two columns are the same column where their ids are equal.

    `qualifier` holds Spark's qualifier, outermost part first; with dots between it is the field's relation. `span` is
    the place of this reference in the text; a plan's output has none. `repeats`: the text says the column's expression
    once more in place of its name. HAVING and ORDER BY may do so: `GROUP BY a + 1 HAVING a + 1 > 2`. `late`: Spark
    takes it for one that may be null until it looks into the SQL function that makes it.
    """

    id: int
    name: str = field(compare=False)
    type: dt.DataType = field(compare=False)
    nullable: bool = field(compare=False)
    qualifier: tuple[str, ...] = field(default=(), compare=False)
    known: str | None = field(default=None, compare=False)
    doubt: str | None = field(default=None, compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)
    repeats: bool = field(default=False, compare=False, repr=False)
    late: bool = field(default=False, compare=False, repr=False)

    @property
    def evidence(self) -> str | None:
        return self.known or (None if self.nullable or self.doubt else "Spark derives that it is NOT NULL")

    @property
    def relation(self) -> str | None:
        return ".".join(self.qualifier) if self.qualifier else None


class Subquery(Expr):
    """An expression over the rows of a query of its own."""

    __slots__ = ()

    plan: Plan


class Plan:
    """What all plan nodes share."""

    __slots__ = ()

    output: tuple[Column, ...]

    def __init_subclass__(cls) -> None:
        name_parts(cls, children=Plan, expressions=Expr)

    @property
    def children(self) -> tuple[Plan, ...]:
        """The plans in its fields, in the order in which the fields are declared."""
        return ()

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The expressions that this node evaluates over its children's output, in the order of their fields."""
        return ()

    @property
    def schema(self) -> LogicalSchema:
        return LogicalSchema(tuple(field_of(c) for c in self.output))

    @property
    def projected(self) -> bool:
        """True where the root is a projection: the order of its output is part of its meaning (I6)."""
        return False

    def walk(self) -> Iterator[Plan]:
        """This node and all below it, outermost first; the plans of subqueries in expressions are left out."""
        pending: list[Plan] = [self]
        while pending:
            node = pending.pop()
            yield node
            pending += node.children[::-1]

    def walk_everywhere(self) -> Iterator[Plan]:
        """This node and all below it, outermost first, and the same of every subquery in their expressions."""
        for node in self.walk():
            yield node
            # Most of what a plan evaluates is a column.
            pending = [root for root in node.expressions[::-1] if type(root) is not Column]
            while pending:
                expr = pending.pop()
                if isinstance(expr, Subquery):
                    yield from expr.plan.walk_everywhere()
                children = expr.children
                if children:
                    pending += children[::-1]

    def all_expressions(self) -> Iterator[Expr]:
        """Every expression of the plan, subqueries included."""
        for node in self.walk():
            pending = [*node.expressions[::-1]]
            while pending:
                expr = pending.pop()
                yield expr
                if isinstance(expr, Subquery):
                    yield from expr.plan.all_expressions()
                children = expr.children
                if children:
                    pending += children[::-1]


def field_of(column: Column) -> LogicalField:
    """The field that a column gives to its node's schema."""
    return LogicalField(column.relation, column.name, column.type, column.nullable, column.evidence, column.doubt)


def span_of(expr: Expr) -> Span | None:
    """Where the expression stands in the text; None for one that the text does not spell."""
    found: Span | None = getattr(expr, "span", None)
    return found if found is not None and found[0] >= 0 else None


# What rebuilds an expression: a subtree that nothing changes comes back as the same object, and plans of subqueries are
# left alone. A lambda variable is never taken for a column: they are different nodes.

Rewriting = Callable[[Expr], Expr]


def transform_up(expr: Expr, change: Rewriting) -> Expr:
    """The expression with `change` applied to every node, children first."""
    return change(replace_parts(expr, Expr, partial(transform_up, change=change)))


def transform_down(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """The expression with `change` applied from the top: what it gives is final there, None goes on to the children."""
    found = change(expr)
    return found if found is not None else replace_parts(expr, Expr, partial(transform_down, change=change))


def rebuild(expr: Expr, change: Rewriting) -> Expr:
    """The expression with `change` applied to its children; itself where none of them changes."""
    return replace_parts(expr, Expr, change)
