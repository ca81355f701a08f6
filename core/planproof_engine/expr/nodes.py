"""Expressions: typed, bound, immutable.

Every node knows its `type`, whether it is `nullable` (exactly Spark's flag) and its `evidence`: why it holds no null
although the flag may say otherwise (None: nothing is known). Columns and lambda variables are bound by id; their names
are for people and for output names only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any, TypeGuard

from planproof_engine import types as dt
from planproof_engine.expr.function import Category, Signature
from planproof_engine.expr.parts import NO_PART
from planproof_engine.expr.tree import Column, Expr, Plan, Span, Subquery, fresh_id, handed_on
from planproof_engine.ground import record


class OverChild(Expr):
    """An expression over one child."""

    __slots__ = ()

    child: Expr


class SameValue(OverChild):
    """An expression whose value is its child's."""

    __slots__ = ()

    type = handed_on("child.type")
    nullable = handed_on("child.nullable")


@record(frozen=True, slots=True)
class Literal(Expr):
    """A constant. `value` is a Python value that tells equal literals apart; `text` is its spelling in output names."""

    value: Any
    type: dt.DataType
    text: str
    sql: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def nullable(self) -> bool:  # type: ignore[override]
        return self.value is None

    @property
    def is_variable(self) -> bool:
        """Whether it is a session variable with its value: to Spark a `VariableReference`, which is no literal."""
        return self.text.startswith("variablereference(")


@record(frozen=True, slots=True)
class SessionVariable(Expr):
    """A session variable whose value only a run tells. `known` is False where nothing is known of its nullability."""

    name: str
    type: dt.DataType
    nullable: bool
    known: bool = True


@record(frozen=True, slots=True)
class Outer(Expr):
    """A column of an enclosing query, seen from a correlated subquery."""

    column: Column = field(metadata=NO_PART)

    type = handed_on("column.type")
    nullable = handed_on("column.nullable")
    evidence = handed_on("column.evidence")


@record(frozen=True, slots=True)
class Variable(Expr):
    """A lambda variable, bound by id. It is no part of any plan's schema. `span` is the place of a reference to it."""

    id: int
    name: str = field(compare=False)
    type: dt.DataType = field(compare=False)
    nullable: bool = field(compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@record(frozen=True, slots=True)
class Lambda(Expr):
    """A lambda: its type and nullability are its body's."""

    parameters: tuple[Variable, ...] = field(metadata=NO_PART)
    body: Expr
    span: Span | None = field(default=None, compare=False, repr=False)

    type = handed_on("body.type")
    nullable = handed_on("body.nullable")


@record(frozen=True, slots=True)
class Call(Expr):
    """A function or operator applied to arguments that already have the types that it expects.

    `shown` is the name as Spark prints it (an alias of the function keeps its spelling). `distinct`, `filter`,
    `ignore_nulls` and `respect_nulls` belong to aggregate and window functions.
    """

    function: Signature
    args: tuple[Expr, ...]
    type: dt.DataType
    nullable: bool
    shown: str
    distinct: bool = False
    filter: Expr | None = None
    ignore_nulls: bool = False
    respect_nulls: bool = False
    order: tuple[Expr, ...] = ()
    known: str | None = field(default=None, compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def evidence(self) -> str | None:
        holds = self.function.flag_holds
        if self.known or self.nullable or (holds is not None and not holds(self.args)):
            return self.known
        if self.function.category in (Category.SCALAR, Category.OPERATOR) and not any(a.nullable for a in self.args):
            return "nothing in it may be null"
        inside = ".." if any(isinstance(e, Column) for e in self.walk()) else "*" if self.args else ""
        return f"{self.shown}({inside}) is never null"


CAST_MODES = frozenset({"ansi", "legacy", "try"})


@record(frozen=True, slots=True)
class Cast(OverChild):
    """A cast, of a mode in `CAST_MODES`. `written` tells a cast of the query from one that coercion added.

    `ignored` is the char or varchar that a written cast names and that Spark takes for a string.
    """

    child: Expr
    type: dt.DataType
    mode: str
    nullable: bool
    written: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)
    ignored: dt.DataType | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.mode not in CAST_MODES:
            raise ValueError(f"no cast has the mode {self.mode!r}")

    @property
    def evidence(self) -> str | None:
        if not self.nullable:
            return self.child.evidence or "the cast gives no null"
        # Under ANSI a cast that fails raises, so that the result is null only where the child is. Some casts never
        # raise.
        if self.mode != "ansi" or may_lose_a_value(self.child.type, self.type):
            return None
        return self.child.evidence


def is_coerced(expr: Expr) -> bool:
    """Whether type coercion casts it; of a NULL only the type is left."""
    if isinstance(expr, Literal):
        return expr.value is None and expr.type != dt.VOID
    return isinstance(expr, Cast) and not expr.written


def is_aggregate(expr: Expr) -> TypeGuard[Call]:
    """Whether the expression calls an aggregate function."""
    return isinstance(expr, Call) and expr.function.category is Category.AGGREGATE


def may_lose_a_value(source: dt.DataType, target: dt.DataType) -> bool:
    """Whether a cast may make null of a value in ANSI mode too.

    A variant's null is a value, an interval's text may be malformed, NaN is no decimal: measured on Spark 4.3.
    """
    return (
        source == dt.VARIANT
        or target == dt.CALENDAR_INTERVAL
        or (source in (dt.FLOAT, dt.DOUBLE) and isinstance(target, dt.Decimal))
    )


@record(frozen=True, slots=True)
class GetField(OverChild):
    """`struct.field`, by ordinal. `written` is the name by which the query asks for the field, in its own case."""

    child: Expr
    ordinal: int
    type: dt.DataType
    nullable: bool
    written: str | None = field(default=None, compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        struct = self.child.type
        assert isinstance(struct, dt.Struct)
        return struct.fields[self.ordinal].name


@record(frozen=True, slots=True)
class GetFieldOfElements(OverChild):
    """`array_of_structs.field`: an array of the field's values."""

    child: Expr
    ordinal: int
    name: str
    type: dt.DataType
    nullable: bool
    span: Span | None = field(default=None, compare=False, repr=False)


def get_field(expr: Expr, ordinal: int) -> GetField | GetFieldOfElements:
    """A field of a struct; of an array of structs the field of each (`GetArrayStructFields`)."""
    given = expr.type
    if isinstance(given, dt.Struct):
        found = given.fields[ordinal]
        return GetField(expr, ordinal, found.type, expr.nullable or found.nullable)
    assert isinstance(given, dt.Array)
    assert isinstance(given.element, dt.Struct)
    found = given.element.fields[ordinal]
    # A null struct or a null field makes a null element.
    data_type = dt.Array(found.type, given.contains_null or found.nullable)
    return GetFieldOfElements(expr, ordinal, found.name, data_type, expr.nullable)


def struct_values(expr: Expr) -> tuple[Expr, ...] | None:
    """What the fields of a struct are made of, in their order, where the expression makes one; None elsewhere."""
    if not isinstance(expr, Call) or expr.function.name not in ("struct", "named_struct"):
        return None
    return expr.args[1::2] if expr.function.name == "named_struct" else expr.args


UNNUMBERED = 0
"""The id of a name inside an expression, which becomes no column."""
UNPRINTED = -1
"""The id of the name of a struct's field, which is the field's alone: its value is printed without it."""


@record(frozen=True, slots=True)
class Alias(SameValue):
    """A named output expression; `id` is the id of the column that it becomes. `explicit`: the query wrote the name."""

    child: Expr
    name: str
    id: int
    explicit: bool = True

    evidence = handed_on("child.evidence")


@record(frozen=True, slots=True)
class LateralReference(SameValue):
    """A select item's reference to an alias on its left, or to a field of it, until the item is named.

    Spark names it after the last part that is written (`LateralColumnAliasReference`).
    """

    child: Expr
    name: str

    evidence = handed_on("child.evidence")


@record(frozen=True, slots=True)
class Nulled(Expr):
    """A grouping expression over grouping sets: null where a set leaves it out. The expressions around it see a
    column."""

    expr: Expr = field(metadata=NO_PART)
    nullable: bool = True

    type = handed_on("expr.type")


@record(frozen=True, slots=True)
class Sort(SameValue):
    """A sort key."""

    child: Expr
    ascending: bool
    nulls_first: bool


@record(frozen=True, slots=True)
class Window(Expr):
    """A function over a window. `frame` is the frame as Spark prints it, or None for the default."""

    call: Expr
    partition: tuple[Expr, ...]
    order: tuple[Sort, ...]
    frame: str
    bounds: tuple[Expr, ...] = ()
    known: str | None = field(default=None, compare=False)

    type = handed_on("call.type")
    nullable = handed_on("call.nullable")

    @property
    def evidence(self) -> str | None:
        return self.known or (None if self.nullable else f"{getattr(self.call, 'shown', 'it')}() is never null")


@record(frozen=True, slots=True)
class ScalarSubquery(Subquery):
    """A subquery used as a value: always nullable, for it may have no row. `unread` are the columns of the query around
    that CTEs of a subquery use which nothing reads: Spark prints them."""

    plan: Plan
    type: dt.DataType
    nullable: bool = True
    unread: tuple[Outer, ...] = field(default=(), compare=False)

    @property
    def name(self) -> str:
        return self.plan.output[0].name


@record(frozen=True, slots=True)
class Exists(Subquery):
    """`EXISTS (query)`: whether the plan gives a row. It is never null."""

    plan: Plan
    type: dt.DataType = dt.BOOLEAN
    nullable: bool = False
    unread: tuple[Outer, ...] = field(default=(), compare=False)


@record(frozen=True, slots=True)
class InSubquery(Subquery):
    """`(values) IN (query)`. `named` are the places of the values that Spark prints as names, and takes for such."""

    values: tuple[Expr, ...]
    plan: Plan
    nullable: bool
    type: dt.DataType = dt.BOOLEAN
    named: frozenset[int] = field(default=frozenset(), compare=False)
    unread: tuple[Outer, ...] = field(default=(), compare=False)


def doubt_of(expr: Expr) -> str | None:
    """Where a null of the expression may come from: the `doubt` of the first column that it reads and that has one."""
    return next((e.doubt for e in expr.walk() if isinstance(e, Column) and e.doubt and not e.known), None)


def _has_false_flag(expr: Expr) -> bool:
    """Whether a NOT NULL flag in the expression may be untrue, by Spark's own doing (`Signature.flag_holds`)."""
    return any(isinstance(e, (Call, Column)) and not e.nullable and e.evidence is None for e in expr.walk())


def drop_alias(item: Expr) -> Expr:
    """The expression without its alias."""
    return item.child if isinstance(item, Alias) else item


def column_of(expr: Expr) -> Column:
    """The column by which a plan above refers to an output expression: a column itself, or what an alias makes."""
    if isinstance(expr, Column):
        if expr.span is None:
            return expr
        return Column(
            expr.id, expr.name, expr.type, expr.nullable, expr.qualifier, expr.known, expr.doubt, late=expr.late
        )
    if isinstance(expr, Alias):
        if not expr.nullable:
            doubt = "the flag of an item found at a place that may be null" if _has_false_flag(expr.child) else None
            return Column(expr.id, expr.name, expr.type, False, doubt=doubt)
        known = expr.child.evidence
        doubt = doubt_of(expr.child) if known is None else None
        return Column(expr.id, expr.name, expr.type, True, (), known, doubt)
    raise TypeError(f"{type(expr).__name__} is no output expression")


def conjuncts(condition: Expr | None) -> Iterator[Expr]:
    """The conditions that AND joins: `a AND b AND c` gives three."""
    if isinstance(condition, Call) and condition.function.name == "and":
        for side in condition.args:
            yield from conjuncts(side)
    elif condition is not None:
        yield condition
