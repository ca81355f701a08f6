"""The qualified logical plan: nodes that derive their schema.

A node's `output` is a tuple of columns, bound by id. It is computed when the node is built, so an invalid node cannot
stand. Nothing here knows SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from planproof_engine.expr import Call, Column, Expr, InSubquery, LateralReference, Sort, column_of
from planproof_engine.expr.parts import NO_PART
from planproof_engine.expr.tree import Plan, handed_on
from planproof_engine.ground import evolve, record


def _derived_field() -> Any:
    return field(init=False, compare=False, repr=False)


class Unary(Plan):
    """A node over one child."""

    __slots__ = ()

    child: Plan


class PassThrough(Unary):
    """A node over one child that gives out the child's columns as they are."""

    __slots__ = ()

    output = handed_on("child.output")
    projected = handed_on("child.projected")


@record(frozen=True, slots=True)
class OneRow(Plan):
    """A SELECT without FROM: one row, no column."""

    output: tuple[Column, ...] = field(default=(), metadata=NO_PART)


@record(frozen=True, slots=True)
class Scan(Plan):
    """A table or view of the catalog, or (`recursive`) a CTE seen from inside itself. Its schema is frozen.

    `padded` are its CHAR columns with their lengths, which are strings to a query. `metadata`: the last column is the
    struct that tables of files offer beside their own.
    """

    relation: str
    output: tuple[Column, ...] = field(metadata=NO_PART)
    recursive: bool = False
    padded: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)
    metadata: bool = field(default=False, compare=False, repr=False)


@record(frozen=True, slots=True)
class Values(Plan):
    """An inline table, or the rows of a table-valued function: `call` is None for VALUES, whose rows are constants."""

    rows: tuple[tuple[Expr, ...], ...] = field(metadata=NO_PART)
    output: tuple[Column, ...] = field(metadata=NO_PART)
    call: Call | None = None


@record(frozen=True, slots=True)
class Project(Unary):
    """SELECT: each item is a Column or an Alias."""

    items: tuple[Expr, ...]
    child: Plan
    output: tuple[Column, ...] = _derived_field()

    def __post_init__(self) -> None:
        object.__setattr__(self, "output", tuple(column_of(i) for i in self.items))

    @property
    def projected(self) -> bool:
        return True


@record(frozen=True, slots=True)
class Filter(Unary):
    """Keeps the rows for which the condition is true. It proves what must hold for that: after `x > 1`, `x` is not
    null."""

    condition: Expr
    child: Plan
    output: tuple[Column, ...] = _derived_field()

    def __post_init__(self) -> None:
        proved = not_null_columns(self.condition)
        object.__setattr__(self, "output", tuple(_add_evidence(c, proved, "a filter") for c in self.child.output))

    projected = handed_on("child.projected")


INNER, CROSS, LEFT, RIGHT, FULL = "inner", "cross", "left", "right", "full"
LEFT_SEMI, LEFT_ANTI = "left semi", "left anti"
JOINS = frozenset({INNER, CROSS, LEFT, RIGHT, FULL, LEFT_SEMI, LEFT_ANTI})


@record(frozen=True, slots=True)
class Join(Plan):
    """A join, of a kind in `JOINS`. An outer join makes the other side nullable and discards its evidence. Source:
    `Join.output`.

    `natural` holds the keys of a NATURAL join, which its author did not write; None for every other join. `lateral`:
    the right side is run for each row of the left one.
    """

    left: Plan
    right: Plan
    kind: str
    condition: Expr | None = None
    natural: tuple[str, ...] | None = field(default=None, compare=False)
    lateral: bool = field(default=False, compare=False)
    output: tuple[Column, ...] = _derived_field()

    def __post_init__(self) -> None:
        if self.kind not in JOINS:
            raise ValueError(f"no join is called {self.kind!r}")
        left, right = self.left.output, self.right.output
        proved = not_null_columns(self.condition) if self.condition is not None else set()
        if self.kind in (RIGHT, FULL):
            left = tuple(pad_with_nulls(c, self.kind) for c in left)
        elif self.kind in (INNER, CROSS, LEFT_SEMI):
            left = tuple(_add_evidence(c, proved, "a join key") for c in left)
        if self.kind in (LEFT, FULL):
            right = tuple(pad_with_nulls(c, self.kind) for c in right)
        elif self.kind in (INNER, CROSS):
            right = tuple(_add_evidence(c, proved, "a join key") for c in right)
        kept = left if self.kind in (LEFT_SEMI, LEFT_ANTI) else left + right
        object.__setattr__(self, "output", kept)


@record(frozen=True, slots=True)
class Aggregate(Unary):
    """GROUP BY. `grouping_sets` lists, per set, the positions of `groups` that it keeps; None: one set of all."""

    groups: tuple[Expr, ...]
    items: tuple[Expr, ...]
    child: Plan
    grouping_sets: tuple[tuple[int, ...], ...] | None = None
    output: tuple[Column, ...] = _derived_field()

    def __post_init__(self) -> None:
        if any(not 0 <= place < len(self.groups) for kept in self.grouping_sets or () for place in kept):
            raise ValueError(f"a grouping set keeps a group that is none of the {len(self.groups)}")
        object.__setattr__(self, "output", tuple(column_of(i) for i in self.items))

    @property
    def projected(self) -> bool:
        return True


SET_OPERATIONS = frozenset({"union", "intersect", "except"})


@record(frozen=True, slots=True)
class SetOperation(Plan):
    """A set operation, of a kind in `SET_OPERATIONS`, over plans whose columns already have common types.

    `spans`: each input in the text.
    """

    kind: str
    inputs: tuple[Plan, ...]
    all: bool
    output: tuple[Column, ...] = field(metadata=NO_PART)
    spans: tuple[tuple[int, int], ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in SET_OPERATIONS:
            raise ValueError(f"no set operation is called {self.kind!r}")
        for given in self.inputs:
            _check_arity(self, given)


@record(frozen=True, slots=True)
class Ordered(PassThrough):
    """ORDER BY, SORT BY, DISTRIBUTE BY or CLUSTER BY."""

    keys: tuple[Sort, ...]
    child: Plan


@record(frozen=True, slots=True)
class Limit(PassThrough):
    """LIMIT, OFFSET and TABLESAMPLE: fewer of the same rows. `what`: `limit`, `offset` or `sample`."""

    what: str
    child: Plan
    arguments: tuple[Expr, ...] = ()


@record(frozen=True, slots=True)
class Distinct(PassThrough):
    """The child's rows, each once."""

    child: Plan


@record(frozen=True, slots=True)
class Named(Unary):
    """A relation under a name: a table's alias, a CTE or view by its name, a subquery in FROM."""

    name: tuple[str, ...]
    child: Plan
    output: tuple[Column, ...] = field(metadata=NO_PART)

    def __post_init__(self) -> None:
        _check_arity(self, self.child)


@record(frozen=True, slots=True)
class Recursion(Unary):
    """A recursive CTE: the union of an anchor and a step, in which `itself` stands for the rows made so far."""

    itself: Scan = field(metadata=NO_PART)
    child: Plan
    output: tuple[Column, ...] = field(metadata=NO_PART)


@record(frozen=True, slots=True)
class Pivot(Unary):
    """PIVOT: one row per `groups`; one column per value of `keys` and aggregate, over the rows of that value alone.

    The values are constants."""

    groups: tuple[Column, ...]
    aggregates: tuple[Expr, ...]
    keys: tuple[Expr, ...]
    values: tuple[Expr, ...] = field(metadata=NO_PART)
    child: Plan
    output: tuple[Column, ...] = field(metadata=NO_PART)


@record(frozen=True, slots=True)
class Generate(Unary):
    """LATERAL VIEW, or a generator in SELECT: each row of the child beside each row that the generator makes of it."""

    call: Call
    outer: bool
    generated: tuple[Column, ...] = field(metadata=NO_PART)
    child: Plan
    output: tuple[Column, ...] = _derived_field()

    def __post_init__(self) -> None:
        object.__setattr__(self, "output", self.child.output + self.generated)


@record(frozen=True, slots=True)
class Script(Plan):
    """SELECT TRANSFORM: what a program writes of the rows that it reads. Nothing is known of its columns."""

    command: str
    child: Plan
    output: tuple[Column, ...] = field(metadata=NO_PART)


def _check_arity(node: SetOperation | Named, given: Plan) -> None:
    """Raises ValueError where a node gives out more or fewer columns than a child whose columns it hands on."""
    if len(node.output) != len(given.output):
        found, wanted = len(given.output), len(node.output)
        raise ValueError(f"{type(node).__name__} of {wanted} columns over a {type(given).__name__} of {found}")


def pad_with_nulls(column: Column, kind: str) -> Column:
    """The column as an outer join hands it on: nullable, and nothing is known of it any more."""
    return evolve(column, nullable=True, known=None, doubt=f"the {kind} join pads it where no row matches")


def _add_evidence(column: Column, proved: set[int], reason: str) -> Column:
    if not column.nullable or column.known or column.id not in proved:
        return column
    return evolve(column, known=f"{reason} on {column.name}")


def not_null_columns(condition: Expr) -> set[int]:
    """The ids of the columns that cannot be null in a row for which `condition` is true.

    A conjunction proves what either side proves; a comparison proves the columns that reach it through null-in-null-out
    expressions alone, as in `ConstraintHelper.inferIsNotNullConstraints`. OR, IN and IN (query) are planproof's own.
    """
    if isinstance(condition, InSubquery):
        return {i for value in condition.values for i in strict_columns(value)}
    if isinstance(condition, LateralReference):
        return not_null_columns(condition.child)
    if not isinstance(condition, Call):
        return {condition.id} if isinstance(condition, Column) else set()
    name = condition.function.name
    if name == "and":
        return not_null_columns(condition.args[0]) | not_null_columns(condition.args[1])
    if name == "or":
        return not_null_columns(condition.args[0]) & not_null_columns(condition.args[1])
    if name == "not" and isinstance(condition.args[0], Call):
        inner = condition.args[0]
        if inner.function.name == "isnull" or inner.function.null_intolerant:
            return {i for arg in inner.args for i in strict_columns(arg)}
        if inner.function.name == "in":
            return strict_columns(inner.args[0])
    if name in ("isnotnull", "between") or condition.function.null_intolerant:
        return {i for arg in condition.args for i in strict_columns(arg)}
    if name == "in":
        return strict_columns(condition.args[0])
    return set()


def strict_columns(expr: Expr) -> set[int]:
    """The ids of the columns whose null makes `expr` null."""
    if isinstance(expr, Column):
        return {expr.id}
    strict = isinstance(expr, Call) and expr.function.null_intolerant
    if strict or type(expr).__name__ in ("Cast", "GetField", "LateralReference"):
        return {i for child in expr.children for i in strict_columns(child)}
    return set()
