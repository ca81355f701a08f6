"""The scope of every expression of a plan: the columns and lambda variables that it can see.

In `SELECT transform(b, b -> b + c) FROM t` the body `b + c` sees two things called `b`: the column `t.b`, an array, and
the lambda's parameter, an element of it. The parameter belongs to no plan's schema. It lives in the scope of the body
alone. An expression names what it uses by id, a `Column` or a `Variable`. A parameter with a column's name therefore
hides that name from the body, and changes nothing else.

`scoped` walks a plan and gives each expression its scope. planproof needs no schema for a body. An executor does, and
could choose among five: each function of `SCHEMAS` gives one of them for the same scope. docs/lambda-scopes.md compares
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from planproof_engine.expr.nodes import Column, Expr, Lambda, Outer, Subquery, Variable
from planproof_engine.expr.tree import Plan
from planproof_engine.schema import LogicalField, LogicalSchema
from planproof_engine.types import VOID


@dataclass(frozen=True, slots=True)
class ExprScope:
    """What one expression can see.

    `columns` are the output columns of its plan node's children. `lambdas` holds one tuple of parameters for each
    lambda around the expression, the outermost lambda first. `outer` is empty outside of subqueries; in a subquery it
    holds the columns of the query around it.
    """

    columns: tuple[Column, ...]
    lambdas: tuple[tuple[Variable, ...], ...] = ()
    outer: tuple[Column, ...] = ()

    @property
    def schema(self) -> LogicalSchema:
        """The columns with their relations, then each lambda's parameters under `lambda 1`, `lambda 2`, ..."""
        return extended(self)

    def within(self, function: Lambda) -> ExprScope:
        return ExprScope(self.columns, (*self.lambdas, function.parameters), self.outer)


def scoped(plan: Plan) -> Iterator[tuple[Expr, ExprScope]]:
    """Every expression node of the plan and of its subqueries, outermost first, with the scope that it stands in."""
    yield from _of_plan(plan, ())


def _of_plan(plan: Plan, outer: tuple[Column, ...]) -> Iterator[tuple[Expr, ExprScope]]:
    for node in plan.walk():
        scope = ExprScope(tuple(c for child in node.children for c in child.output), (), outer)
        for root in node.expressions:
            yield from in_scope(root, scope)


def in_scope(expr: Expr, scope: ExprScope) -> Iterator[tuple[Expr, ExprScope]]:
    """The expression and all below it, each with its scope; a subquery's expressions see its own node's input."""
    yield expr, scope
    inner = scope.within(expr) if isinstance(expr, Lambda) else scope
    for child in expr.children:
        yield from in_scope(child, inner)
    if isinstance(expr, Subquery):
        yield from _of_plan(expr.plan, scope.columns)


def captured(function: Lambda) -> tuple[Column, ...]:
    """The columns that the lambda's body reads, each once, in the order of their first use.

    They come from the row around the array, not from its elements: of `x -> x + t.c + t.c` it is `(t.c,)`.
    """
    found: dict[int, Column] = {}
    for e in function.walk():
        column = e.column if isinstance(e, Outer) else e
        if isinstance(column, Column):
            found.setdefault(column.id, column)
    return tuple(found.values())


def column_indexes(expr: Expr, columns: tuple[Column, ...]) -> tuple[int, ...]:
    """At which indexes of `columns` the expression reads, ascending. A lambda variable has no index."""
    used = {e.id for e in expr.walk() if isinstance(e, Column)}
    return tuple(i for i, c in enumerate(columns) if c.id in used)


def index_mapping(expr: Expr, columns: tuple[Column, ...]) -> dict[int, int]:
    """From old to new index, where all columns that the expression does not read are removed.

    Of columns `a, b, c` and the expression `c + 1` it is `{2: 0}`.
    """
    return {old: new for new, old in enumerate(column_indexes(expr, columns))}


def _field(column: Column) -> LogicalField:
    return LogicalField(column.relation, column.name, column.type, column.nullable)


def _parameter(variable: Variable, relation: str | None = None) -> LogicalField:
    return LogicalField(relation, variable.name, variable.type, variable.nullable)


def _visible(scope: ExprScope) -> dict[str, LogicalField]:
    """The parameters by lower-case name. Where two lambdas have a parameter of one name, the inner one's is taken."""
    return {v.name.lower(): _parameter(v) for parameters in scope.lambdas for v in parameters}


def replaced_in_place(scope: ExprScope, body: Expr) -> LogicalSchema:
    """A parameter stands at the index of the column that it hides; the other parameters come last."""
    visible = _visible(scope)
    fields = [visible.pop(key) if (key := c.name.lower()) in visible else _field(c) for c in scope.columns]
    return LogicalSchema((*fields, *visible.values()))


def renamed(scope: ExprScope, body: Expr) -> LogicalSchema:
    """A hidden column keeps its index, and is renamed to `name#index`; all parameters come last."""
    visible = _visible(scope)
    fields = [
        LogicalField(c.relation, f"{c.name}#{at}", c.type, c.nullable) if c.name.lower() in visible else _field(c)
        for at, c in enumerate(scope.columns)
    ]
    return LogicalSchema((*fields, *visible.values()))


def without_uncaptured(scope: ExprScope, body: Expr) -> LogicalSchema:
    """Only the columns and the parameters that the body uses; `index_mapping` says where each column went."""
    used = {e.id for e in body.walk() if isinstance(e, Variable)}
    parameters = (_parameter(v) for of in scope.lambdas for v in of if v.id in used)
    return LogicalSchema((*(_field(scope.columns[at]) for at in column_indexes(body, scope.columns)), *parameters))


def uncaptured_as_null(scope: ExprScope, body: Expr) -> LogicalSchema:
    """Every column keeps its index; one that the body does not use has the type `void`. The parameters come last."""
    used = set(column_indexes(body, scope.columns))
    fields = [
        _field(c) if at in used else LogicalField(c.relation, c.name, VOID, True) for at, c in enumerate(scope.columns)
    ]
    return LogicalSchema((*fields, *_visible(scope).values()))


def extended(scope: ExprScope, body: Expr | None = None) -> LogicalSchema:
    """All columns, then all parameters: those of the outermost lambda under the relation `lambda 1`, and so on.

    Columns and parameters of one name stand beside each other. The relation tells them apart, so that a reference can
    mean each of them.
    """
    parameters = [_parameter(v, f"lambda {n}") for n, of in enumerate(scope.lambdas, 1) for v in of]
    return LogicalSchema((*(_field(c) for c in scope.columns), *parameters))


SCHEMAS: dict[str, Callable[[ExprScope, Expr], LogicalSchema]] = {
    "replaced in place": replaced_in_place,
    "shadowed renamed": renamed,
    "uncaptured removed": without_uncaptured,
    "uncaptured nullified": uncaptured_as_null,
    "one extended schema": extended,
}
"""The schemas that the specification considers for a lambda's body, by name."""
