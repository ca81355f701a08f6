"""Subqueries of expressions: scalar ones, EXISTS and IN. Source: `ResolveSubquery`, `CheckAnalysis`."""

from __future__ import annotations

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Context
from planproof_engine.analysis.expressions.binding import GeneratorMismatch, call
from planproof_engine.analysis.refusals.checks import refuse_outer_below_joins
from planproof_engine.analysis.refusals.correlation import refuse_correlation, refuse_many_rows
from planproof_engine.expr import Exists, Expr, InSubquery, Outer, ScalarSubquery
from planproof_engine.functions.replaced import prints_as_name
from planproof_engine.ground import evolve
from planproof_engine.logical.nodes import Plan
from planproof_engine.sql import nodes as q
from planproof_engine.types.casts import force_nullable
from planproof_engine.types.coercion import find_wider
from planproof_engine.types.kinds import is_orderable


def bind_in_subquery(values: list[Expr], query: q.Query, ctx: Context, node: q.Node) -> Expr:
    """`(a, b) IN (query)`: as many values as the query has columns, each of a type that compares with its column's."""
    _refuse_in_lambda(ctx, node)
    plan, unread = _bind_inner(query, ctx, node)
    if len(plan.output) != len(values):
        said = (
            f"The number of columns in the left hand side of an IN subquery ({len(values)}) does not match the number "
            f"of columns in the output of the subquery ({len(plan.output)})."
        )
        raise ctx.env.make_error("DATATYPE_MISMATCH.IN_SUBQUERY_LENGTH_MISMATCH", said, node)
    if len(values) == 1 and isinstance(values[0].type, dt.String) and isinstance(plan.output[0].type, dt.String):
        # One text is compared in the collation that `x IN (column)` has.
        values = [call("in", [values[0], plan.output[0]], ctx, node).children[0]]
        return InSubquery(tuple(values), plan, values[0].nullable or plan.output[0].nullable, unread=unread)
    nullable = False
    for value, column in zip(values, plan.output):
        same = dt.same_structure(value.type, column.type)
        common = value.type if same else find_wider(value.type, column.type, ctx.conf)
        if common is None:
            said = f'IN compares "{value.type.sql}" with "{column.type.sql}".'
            raise ctx.env.make_error("DATATYPE_MISMATCH.IN_SUBQUERY_DATA_TYPE_MISMATCH", said, node)
        if not is_orderable(common):
            text = f'IN over a query does not support ordering on type "{common.sql}".'
            raise ctx.env.make_error("DATATYPE_MISMATCH.INVALID_ORDERING_TYPE", text, node)
        lossy = not same and (force_nullable(value.type, common) or force_nullable(column.type, common))
        nullable |= value.nullable or column.nullable or lossy
    named = frozenset(at for at, value in enumerate(values) if prints_as_name(value))
    return InSubquery(tuple(values), plan, nullable, named=named, unread=unread)


def bind_exists(node: q.Exists, ctx: Context) -> Expr:
    """`EXISTS (query)`."""
    _refuse_in_lambda(ctx, node)
    plan, unread = _bind_inner(node.query, ctx, node)
    return Exists(plan, unread=unread)


def _bind_inner(query: q.Query, ctx: Context, node: q.Node) -> tuple[Plan, tuple[Outer, ...]]:
    """The plan of a subquery, and the columns that CTEs use in it which nothing reads."""
    env = evolve(ctx.env.within_expression(), unread=[])
    outer = ctx.scope
    if ctx.clause in ("WHERE", "JOIN", "HAVING") and any(star.qualifier for star in query.find_all(q.Star)):
        outer = evolve(outer, filters=True)
    try:
        plan = ctx.env.bind_query(query, env, outer)
    except GeneratorMismatch as error:
        raise error.at(error.origin) from None  # The generator stands in a query, not in an expression.
    scalar = isinstance(node, q.Subquery)
    if scalar and len(plan.output) == 1:
        refuse_many_rows(plan, node, ctx.env)
    refuse_outer_below_joins(plan, node, ctx.env)
    refuse_correlation(plan, node, ctx.env, united=scalar)
    return plan, tuple(env.unread)


def _refuse_in_lambda(ctx: Context, node: q.Node) -> None:
    if ctx.lambdas is not None:
        refuse_in_higher_order(ctx, node)


def refuse_in_higher_order(ctx: Context, node: q.Node) -> None:
    """Refuses a subquery inside a higher-order function, for those versions of Spark that do."""
    if ctx.lacks("subqueries checked in lambdas"):
        return
    text = "Subquery expressions are not supported within higher-order functions."
    raise ctx.env.make_error("UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.HIGHER_ORDER_FUNCTION", text, node)


def bind_scalar(node: q.Subquery, ctx: Context) -> Expr:
    """`(query)` as a value: the query has one column."""
    _refuse_in_lambda(ctx, node)
    plan, unread = _bind_inner(node, ctx, node)
    if len(plan.output) != 1:
        condition = "INVALID_SUBQUERY_EXPRESSION.SCALAR_SUBQUERY_RETURN_MORE_THAN_ONE_OUTPUT_COLUMN"
        text = f"Scalar subquery must return only one column, but got {len(plan.output)}."
        ctx.env.refuse_late(condition, text, node)
    return ScalarSubquery(plan, plan.output[0].type, unread=unread)


def bind_table_argument(node: q.TableArgument, ctx: Context) -> Expr:
    """`TABLE(..)` among a function's arguments: a row (`FunctionTableSubqueryArgumentExpression`), which few functions
    take."""
    if node.partition_by or node.order or node.single:
        raise ctx.env.make_unknown("a partitioned table as an argument", node)
    query = node.relation if isinstance(node.relation, q.Query) else q.TableQuery(node.relation)
    plan, _ = _bind_inner(query, ctx, node)
    row = dt.Struct(tuple(dt.StructField(c.name, c.type, c.nullable) for c in plan.output))
    return ScalarSubquery(plan, row)
