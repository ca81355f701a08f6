"""The pipe syntax: each operator is a query over the query before it.

Source: `AstBuilder.visitOperatorPipeRightSide`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from planproof.analysis import joins, pivots
from planproof.analysis.binding import bind, unresolved
from planproof.analysis.checks import AGGREGATE, holds_aggregate, refuse_in_filter
from planproof.analysis.context import Context, Environment
from planproof.analysis.groupby import analytic, group_expressions
from planproof.analysis.grouping import check_grouped
from planproof.analysis.joins import boolean
from planproof.analysis.orderable import refuse_rows
from planproof.analysis.ordering import organized
from planproof.analysis.relations import bind_relation, named_as
from planproof.analysis.scope import Scope
from planproof.analysis.select import bind_items, named_item, refreshed
from planproof.analysis.setops import widened
from planproof.expr import Alias, Column, Expr, column_of, fresh_id
from planproof.expr.pretty import pretty
from planproof.plan.nodes import Aggregate, Distinct, Filter, Limit, Plan, Project
from planproof.sql import nodes as q
from planproof.sql.nodes import name_parts


def bind_pipe(node: q.Pipe, env: Environment, outer: Scope | None) -> Plan:
    """The plan of `query |> operator`."""
    child = env.bind_query(node.args["this"], env, outer)
    binder = _BINDERS.get(node.args["kind"])
    if binder is None:
        raise env.unknown(f"the pipe operator {node.args['kind']}", node)
    scope = Scope(child.output, (), outer, env.conf.case_sensitive)
    windows = {scope.key(w.args["this"].args["this"]): w for w in node.args.get("windows") or ()}
    return binder(node, child, Context(env, scope, windows=windows), outer)


def _select(node: q.Pipe, child: Plan, ctx: Context, outer: Scope | None) -> Plan:
    items = bind_items(node.expressions, ctx)
    if items.content & AGGREGATE and _bare_from(node.args["this"]):
        for item in items.exprs:
            check_grouped(item, (), node, ctx, node)
        return Aggregate((), tuple(items.exprs), child)
    _refuse_aggregates(items.exprs, "SELECT", node, ctx)
    plan: Plan = Project(tuple(items.exprs), items.below(child))
    if not node.args.get("distinct"):
        return plan
    refuse_rows(plan.output, node, ctx.env)
    return Distinct(plan)


def _bare_from(node: exp.Expr) -> bool:
    """`FROM t`, before whose pipe Spark reads SELECT as the query's own."""
    return isinstance(node, exp.Select) and bool(node.args.get("from_only"))


def _extend(node: q.Pipe, child: Plan, ctx: Context, outer: Scope | None) -> Plan:
    items = bind_items(node.expressions, ctx)
    _refuse_aggregates(items.exprs, "EXTEND", node, ctx)
    return Project((*child.output, *items.exprs), items.below(child))


def _refuse_aggregates(items: Sequence[Expr], clause: str, node: exp.Expr, ctx: Context) -> None:
    if any(holds_aggregate(i) for i in items):
        raise ctx.env.rejected(
            "PIPE_OPERATOR_CONTAINS_AGGREGATE_FUNCTION",
            f"Non-grouping aggregate functions are not allowed in the pipe operator |> {clause}; use |> AGGREGATE.",
            node,
        )


def _set(node: q.Pipe, child: Plan, ctx: Context, outer: Scope | None) -> Plan:
    """Each assignment replaces a column in its place; later ones see earlier ones."""
    plan = child
    for assignment in node.expressions:
        scope = Scope(plan.output, (), outer, ctx.conf.case_sensitive)
        target = _one_column(assignment.args["this"], scope, ctx)
        value = bind(assignment.args["expression"], replace(ctx, scope=scope))
        items = [Alias(value, c.name, fresh_id()) if c.id == target.id else c for c in plan.output]
        plan = Project(tuple(items), plan)
    return plan


def _one_column(node: exp.Expr, scope: Scope, ctx: Context) -> Column:
    parts = name_parts(node)
    found, rest = scope.matches(parts)
    if not found or rest:
        raise unresolved(parts, replace(ctx, scope=scope), node)
    if len(found) > 1:
        raise ctx.env.rejected("AMBIGUOUS_REFERENCE", f"Reference `{'.'.join(parts)}` is ambiguous.", node)
    return found[0]


def _drop(node: q.Pipe, child: Plan, ctx: Context, outer: Scope | None) -> Plan:
    dropped = {_one_column(c, ctx.scope, ctx).id for c in node.expressions}
    return Project(tuple(c for c in child.output if c.id not in dropped), child)


def _as(node: q.Pipe, child: Plan, ctx: Context, outer: Scope | None) -> Plan:
    return named_as(child, node.args["expression"], ctx.env, node)


def _where(node: q.Pipe, child: Plan, ctx: Context, outer: Scope | None) -> Plan:
    condition = node.args["expression"].args["this"]
    bound = boolean(bind(condition, replace(ctx, clause="WHERE")), "filter", condition, ctx.env)
    refuse_in_filter(bound, "WHERE", condition, node, ctx.env)
    return Filter(bound, child)


def _aggregate(node: q.Pipe, child: Plan, ctx: Context, outer: Scope | None) -> Plan:
    """The grouping columns come first, then the aggregates."""
    group = node.args.get("group")
    named: list[Expr] = []
    groups: tuple[Expr, ...] = ()
    if group is not None:
        if analytic(group) or group.args.get("all"):
            raise ctx.env.rejected(
                "UNSUPPORTED_FEATURE.PIPE_OPERATOR_AGGREGATE_UNSUPPORTED_CASE",
                "The pipe operator |> AGGREGATE does not support grouping sets or GROUP BY ALL.",
                node,
            )
        named = [_group_item(m, child, ctx) for m in group.expressions]
        groups = tuple(i.child if isinstance(i, Alias) else i for i in named)
    items = [named_item(i, ctx) for i in node.args.get("expressions") or ()]
    for item in items:
        if not holds_aggregate(item):
            raise ctx.env.rejected(
                "PIPE_OPERATOR_AGGREGATE_EXPRESSION_CONTAINS_NO_AGGREGATE_FUNCTION",
                f"The expression {pretty(item)} of |> AGGREGATE contains no aggregate function.",
                group.expressions[0] if group is not None and group.expressions else node,
            )
        check_grouped(item, groups, node, ctx, node)
    return Aggregate(groups, (*named, *items), child)


def _group_item(node: exp.Expr, child: Plan, ctx: Context) -> Expr:
    if isinstance(node, exp.Literal) and node.args.get("kind") == "INTEGER_VALUE":
        return group_expressions(exp.Group(expressions=[node]), list(child.output), (), ctx)[0][0]
    return named_item(node, ctx)


def _combine(node: q.Pipe, child: Plan, ctx: Context, outer: Scope | None) -> Plan:
    right = ctx.env.bind_query(node.args["expression"], ctx.env, outer)
    return widened(node.args["kind"].lower(), child, right, not node.args.get("distinct", True), ctx.env, node)


def _join(node: q.Pipe, child: Plan, ctx: Context, outer: Scope | None) -> Plan:
    joined = node.args["expression"]
    lateral = bool(joined.args.get("lateral"))
    right, right_scope = bind_relation(joined.args["expression"], ctx.env, ctx.scope if lateral else outer)
    plan, scope = joins.join(joined, (child, ctx.scope), (right, right_scope), ctx.env, outer)
    shown = tuple(column_of(c) for c in refreshed(scope, plan).columns)
    return plan if shown == plan.output else Project(shown, plan)


def _pivot(node: q.Pipe, child: Plan, ctx: Context, outer: Scope | None) -> Plan:
    return _aliased(pivots.pivot(node.args["expression"], child, ctx.scope, ctx.env), node, ctx)


def _unpivot(node: q.Pipe, child: Plan, ctx: Context, outer: Scope | None) -> Plan:
    return _aliased(pivots.unpivot(node.args["expression"], child, ctx.scope, ctx.env), node, ctx)


def _aliased(plan: Plan, node: q.Pipe, ctx: Context) -> Plan:
    alias = node.args["expression"].args.get("alias")
    return plan if alias is None else named_as(plan, alias, ctx.env, node)


def _sample(node: q.Pipe, child: Plan, ctx: Context, outer: Scope | None) -> Plan:
    return Limit("sample", child)


def _organize(node: q.Pipe, child: Plan, ctx: Context, outer: Scope | None) -> Plan:
    return organized(node, child, None, ctx.env, outer)


_BINDERS: dict[str, Callable[[q.Pipe, Plan, Context, Scope | None], Plan]] = {
    "SELECT": _select,
    "EXTEND": _extend,
    "SET": _set,
    "DROP": _drop,
    "AS": _as,
    "WHERE": _where,
    "AGGREGATE": _aggregate,
    "UNION": _combine,
    "EXCEPT": _combine,
    "INTERSECT": _combine,
    "JOIN": _join,
    "PIVOT": _pivot,
    "UNPIVOT": _unpivot,
    "TABLESAMPLE": _sample,
    "ORGANIZE": _organize,
}
