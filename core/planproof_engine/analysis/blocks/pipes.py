"""The pipe syntax: each operator is a query over the query before it.

The columns that a USING join hides can be named in the operators after it, up to the first operator that starts a new
block (`Project.metadataOutput`).

Source: `AstBuilder.visitOperatorPipeRightSide`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from planproof_engine.analysis.blocks import joins
from planproof_engine.analysis.blocks.groupby import group_expressions, has_grouping_sets
from planproof_engine.analysis.blocks.grouping import check_grouped
from planproof_engine.analysis.blocks.items import Items, bind_items, bind_named_item, inline_aliases, offer_alias
from planproof_engine.analysis.blocks.joins import Side
from planproof_engine.analysis.blocks.ordering import bind_organization
from planproof_engine.analysis.blocks.pivots import pivot
from planproof_engine.analysis.blocks.relations import apply_alias, bind_relation, sample
from planproof_engine.analysis.blocks.select import bind_aggregate, bind_select, refresh_scope, windows_of
from planproof_engine.analysis.blocks.setops import build_set_operation
from planproof_engine.analysis.expressions import Aliases, Context, Environment, Scope, generators, make_ambiguous_error
from planproof_engine.analysis.expressions.binding import bind, make_unresolved_error
from planproof_engine.analysis.expressions.literals import is_position
from planproof_engine.analysis.names.stars import drop_excluded, is_star
from planproof_engine.analysis.refusals import checks
from planproof_engine.analysis.refusals.earlier import CHECKED, lateness
from planproof_engine.analysis.refusals.orderable import refuse_rows
from planproof_engine.expr import Alias, Call, Category, Column, Expr, Window, column_of, drop_alias
from planproof_engine.expr.pretty import pretty
from planproof_engine.ground import AnalysisError, Unknown, evolve
from planproof_engine.logical.nodes import Aggregate, Distinct, Filter, Plan, Project
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import name_parts


def bind_pipe(node: q.Pipe, env: Environment, outer: Scope | None) -> Plan:
    """The plan of `query |> operator`, and of the clauses behind its last operator."""
    plan, scope = _bind_operator(node, env, outer)
    if not isinstance(node, q.PipeOrganize):
        plan = _bind_organization(node, plan, scope, env, outer)
    return _drop_hidden((plan, scope))


def _bind_organization(node: q.Pipe, plan: Plan, scope: Scope, env: Environment, outer: Scope | None) -> Plan:
    """ORDER BY and its kin behind the last operator.

    Raises `Unknown` for a column that the operators have left behind: Spark reaches some of them.
    """
    try:
        return bind_organization(node, plan, None, env, outer, scope)
    except AnalysisError as error:
        named = {
            p.lower() for n in node.find_all(q.Ordering) for c in n.find_all(q.Column, q.Dot) for p in name_parts(c)
        }
        below = {c.name.lower() for n in plan.walk() for c in n.output}
        if error.condition.startswith("UNRESOLVED_COLUMN") and named & below - {c.name.lower() for c in scope.columns}:
            raise env.make_unknown("a column that a pipe has left behind, in ORDER BY", node) from None
        raise


def _bind_operator(node: q.Pipe, env: Environment, outer: Scope | None) -> Side:
    """The plan and what can be named over it; hidden columns stand behind the others in the plan's output."""
    child, scope = _bind_input(node.before, env, outer)
    return _BINDERS[type(node)](node, child, Context(env, scope, windows=windows_of(node)), outer)


def _bind_input(node: q.Query, env: Environment, outer: Scope | None) -> Side:
    if isinstance(node, q.Pipe):
        return _bind_operator(node, env, outer)
    hidden: tuple[Column, ...] = ()
    if isinstance(node, q.Select) and not any(_list_clauses(node)):
        block = bind_select(node, env, outer)
        plan = block.plan
        if isinstance(plan, Project) and block.over is None:
            below = {c.id for c in plan.child.output}
            hidden = tuple(c for c in block.ctx.scope.hidden if c.id in below)
            plan = evolve(plan, items=(*plan.items, *_drop_shown(hidden, plan.output)))
    else:
        plan = env.bind_query(node, env, outer)
    kept = {c.id for c in hidden}
    return plan, env.make_scope([c for c in plan.output if c.id not in kept], outer, hidden)


def _list_clauses(node: q.Select) -> tuple[object, ...]:
    """What puts more over a SELECT than its items."""
    arranged = (node.order, node.sort, node.cluster, node.distribute)
    return (node.with_, *arranged, node.limit, node.offset, node.distinct, node.qualify)


def _drop_shown(hidden: tuple[Column, ...], shown: Sequence[Expr]) -> tuple[Column, ...]:
    ids = {column_of(item).id for item in shown}
    return tuple(c for c in hidden if c.id not in ids)


def _project(items: Sequence[Expr], child: Plan, ctx: Context) -> Side:
    """A projection, with the input's hidden columns behind its items."""
    hidden = ctx.scope.hidden
    plan = Project((*items, *_drop_shown(hidden, items)), child)
    return plan, ctx.env.make_scope([*map(column_of, items)], ctx.scope.outer, hidden)


def _drop_hidden(side: Side) -> Plan:
    plan, scope = side
    return plan if plan.output == scope.columns else Project(scope.columns, plan)


def _make_side(plan: Plan, ctx: Context) -> Side:
    """An operator that hides nothing, and behind which nothing hidden is in reach."""
    return plan, ctx.env.make_scope(plan.output, ctx.scope.outer)


def _select(node: q.PipeSelect, child: Plan, ctx: Context, outer: Scope | None) -> Side:
    group = node.group
    if group is not None and has_grouping_sets(group):
        ctx = evolve(ctx, grouping=())
    items = bind_items(node.items, ctx)
    if ctx.lacks("aggregates in pipe SELECT"):
        _refuse_aggregates(items.exprs, "SELECT", node, ctx)
    if group is not None or items.content & checks.AGGREGATE:
        side = _make_side(bind_aggregate(node, items, child, ctx)[0], ctx)
    else:
        side = _project(items.exprs, _add_generators(items, child, node, ctx), ctx)
    if not node.distinct:
        return side
    plan = _drop_hidden(side)
    refuse_rows(plan.output, node, ctx.env)
    return _make_side(Distinct(plan), ctx)


def _extend(node: q.PipeExtend, child: Plan, ctx: Context, outer: Scope | None) -> Side:
    star = next((i for i in node.items if is_star(i, ctx)), None)
    if star is not None:
        text = "Invalid usage of '*' in expression `pipeexpression`."
        raise ctx.env.make_error("INVALID_USAGE_OF_STAR_OR_REGEX", text, star)
    items = _bind_items(node.items, "EXTEND", node, ctx)
    return _project((*ctx.scope.columns, *items.exprs), _add_generators(items, child, node, ctx), ctx)


def _add_generators(items: Items, child: Plan, node: q.Node, ctx: Context) -> Plan:
    """One that keeps empty arrays (`GeneratorOuter`) stands inside of the `PipeExpression` around each item."""
    if any(made.outer for made in items.generated):
        text = "A generator that keeps empty arrays cannot stand in a pipe."
        raise ctx.env.make_error("UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS", text, node)
    return items.add_generators(child)


def _bind_items(nodes: Sequence[q.Node], clause: str, node: q.Node, ctx: Context) -> Items:
    """Items without aggregate functions. One is what ranks rows, too (`AggregateWindowFunction`), before its lack of an
    OVER is told."""
    try:
        items = bind_items(nodes, ctx)
    except AnalysisError as error:
        if error.condition == "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE":
            lenient = evolve(ctx, env=evolve(ctx.env, lenient=True))
            _refuse_aggregates(bind_items(nodes, lenient).exprs, clause, node, ctx)
        _check_bound(nodes, error, lambda bound: _refuse_aggregates(bound, clause, node, ctx), ctx)
        raise
    _refuse_aggregates(items.exprs, clause, node, ctx)
    return items


def _check_bound(
    nodes: Sequence[q.Node], error: AnalysisError, check: Callable[[Sequence[Expr]], None], ctx: Context
) -> None:
    """Checks the items in which nothing is wrong, where the error of another one is raised by `CheckAnalysis`: a rule
    looks at each item as soon as it is resolved (`ValidateAndStripPipeExpressions`)."""
    if lateness(error) < CHECKED:
        return
    for node in nodes:
        bound: list[Expr] = []
        with suppress(AnalysisError, Unknown):
            bound.append(bind_named_item(node, ctx))
        check(bound)


def _refuse_aggregates(items: Sequence[Expr], clause: str, node: q.Node, ctx: Context) -> None:
    if any(checks.holds_aggregate(i) or _ranks(i) for i in items):
        text = f"Non-grouping aggregate functions are not allowed in the pipe operator |> {clause}; use |> AGGREGATE."
        raise ctx.env.make_error("PIPE_OPERATOR_CONTAINS_AGGREGATE_FUNCTION", text, node)


def _ranks(expr: Expr) -> bool:
    if isinstance(expr, Window):
        return any(map(_ranks, (*expr.call.children, *expr.partition, *expr.order)))
    if isinstance(expr, Call) and expr.function.category is Category.WINDOW:
        return expr.function.name not in ("lag", "lead")
    return any(map(_ranks, expr.children))


def _set(node: q.PipeSet, child: Plan, ctx: Context, outer: Scope | None) -> Side:
    """Each assignment replaces a column in its place; later ones see earlier ones."""
    plan, scope = child, ctx.scope
    for assignment in node.assignments:
        ctx = evolve(ctx, scope=scope)
        target = _find_column(assignment.left, ctx)
        if is_star(assignment.right, ctx):
            bind(assignment.right, ctx)  # Refuses it: a star is no item here.
        item = q.Alias(assignment.right, q.Identifier(target.name))
        item.span = assignment.span
        bound = _bind_items([item], "SET", node, ctx)
        items = [bound.exprs[0] if c.id == target.id else c for c in scope.columns]
        plan, scope = _project(items, bound.add_generators(plan), ctx)
    return plan, scope


def _find_column(node: q.Node, ctx: Context) -> Column:
    parts = name_parts(node)
    if len(parts) > 1:
        text = (
            "Operation not allowed: SQL pipe syntax |> SET operator with multi-part assignment key (only single-part "
            "keys are allowed)."
        )
        raise ctx.env.make_error("_LEGACY_ERROR_TEMP_0035", text, node)
    found, _ = ctx.scope.find_matches(parts)
    if not found:
        raise make_unresolved_error(parts, ctx, node)
    if len(found) > 1:
        raise make_ambiguous_error(parts, found, ctx.env.origin(node))
    return found[0]


def _drop(node: q.PipeDrop, child: Plan, ctx: Context, outer: Scope | None) -> Side:
    """What `* EXCEPT (..)` gives: whole columns go, and fields within struct columns."""
    dropped = [name_parts(c) for c in node.columns]
    return _project(drop_excluded(list(ctx.scope.columns), dropped, node, ctx), child, ctx)


def _as(node: q.PipeAs, child: Plan, ctx: Context, outer: Scope | None) -> Side:
    return _make_side(apply_alias(_drop_hidden((child, ctx.scope)), node.alias, ctx.env, node), ctx)


def _where(node: q.PipeWhere, child: Plan, ctx: Context, outer: Scope | None) -> Side:
    condition = node.where.condition
    bound = bind(condition, evolve(ctx, clause="WHERE"))
    joins.refuse_no_boolean(bound, condition, ctx.env)
    checks.refuse_in_filter(bound, "WHERE", condition, node, ctx.env)
    plan = Filter(bound, child)
    return plan, refresh_scope(ctx.scope, plan)


def _aggregate(node: q.PipeAggregate, child: Plan, ctx: Context, outer: Scope | None) -> Side:
    """The grouping columns come first, then the aggregates; each may name those on its left."""
    keys = node.group.keys if node.group is not None else ()

    def refuse_lacking(items: Sequence[Expr]) -> None:
        if (lacking := next((i for i in items if not checks.holds_aggregate(i)), None)) is not None:
            condition = "PIPE_OPERATOR_AGGREGATE_EXPRESSION_CONTAINS_NO_AGGREGATE_FUNCTION"
            text = f"The expression {pretty(lacking)} of |> AGGREGATE contains no aggregate function."
            raise ctx.env.make_error(condition, text, keys[0] if keys else node)

    if any(generators.find_call(i, ctx) for i in node.items):
        return _generate(node, refuse_lacking, child, ctx)
    aliases = Aliases()
    over = evolve(ctx, aliases=aliases) if ctx.conf.lateral_column_alias else ctx
    named: list[Expr] = []
    try:
        for key in keys:
            named.append(_offer(_bind_group_item(key, named, over), key, aliases, ctx))
        items = [_offer(bind_named_item(i, over), i, aliases, ctx) for i in node.items]
    except AnalysisError as error:
        _check_bound(node.items, error, refuse_lacking, over)
        raise
    refuse_lacking(items)
    late: AnalysisError | None = None
    if aliases.used:
        inlined, _, late = inline_aliases([*named, *items], aliases, (node,), ctx)
        named, items = inlined[: len(named)], inlined[len(named) :]
    groups = tuple(map(drop_alias, named))
    for item in items:
        checks.refuse_window_within(item, node, ctx.env)
        checks.refuse_nested_generator(item, node, ctx.env)
        check_grouped(item, groups, node, ctx, node)
    if late is not None:
        raise late
    return _make_side(Aggregate(groups, (*named, *items), child), ctx)


def _offer(item: Expr, node: q.Node, aliases: Aliases, ctx: Context) -> Expr:
    """The item, which those behind it may name."""
    if isinstance(item, Alias):
        offer_alias(item, node, aliases, ctx)
    return item


def _generate(
    node: q.PipeAggregate, refuse_lacking: Callable[[Sequence[Expr]], None], child: Plan, ctx: Context
) -> Side:
    """A generator over what is aggregated stands there as it does in a SELECT that lists the keys first."""
    keys = node.group.keys if node.group is not None else ()
    if any(map(is_position, keys)):
        raise ctx.env.make_unknown("a generator in |> AGGREGATE beside a position", node)
    group = q.Group([k.operand if isinstance(k, q.Alias) else k for k in keys]) if keys else None
    select = q.PipeSelect(node.before, items=[*keys, *node.items], group=group)
    select.span = node.span
    items = bind_items(select.items, ctx, grouped=bool(keys))
    _add_generators(items, child, node, ctx)
    refuse_lacking([made.call for made in items.generated])
    refuse_lacking([item for item in items.exprs[len(keys) :] if isinstance(item, Alias)])
    return _make_side(bind_aggregate(select, items, child, ctx)[0], ctx)


def _bind_group_item(node: q.Node, before: Sequence[Expr], ctx: Context) -> Expr:
    key = node.operand if isinstance(node, q.Alias) else node
    if key is not node and is_position(key):
        return bind_named_item(node, ctx)  # Under a name it is a constant.
    listed = ctx.scope.columns if is_position(node) else before
    bound = group_expressions(q.Group([key]), listed, (), ctx)[0][0]
    return bound if is_position(node) else bind_named_item(node, ctx)


def _combine(node: q.PipeSetOperation, child: Plan, ctx: Context, outer: Scope | None) -> Side:
    left = _drop_hidden((child, ctx.scope))
    right = ctx.env.bind_query(node.other, ctx.env, outer)
    return _make_side(build_set_operation(node.kind, left, right, not node.distinct, ctx.env, node), ctx)


def _join(node: q.PipeJoin, child: Plan, ctx: Context, outer: Scope | None) -> Side:
    joined = node.joined
    right = bind_relation(joined.right, ctx.env, ctx.scope if joined.lateral else outer)
    plan, scope = joins.join(joined, (child, ctx.scope), right, ctx.env, outer)
    joins.refuse_aggregates(plan, joined, ctx.env)
    return plan, refresh_scope(scope, plan)


def _pivot(node: q.PipePivot | q.PipeUnpivot, child: Plan, ctx: Context, outer: Scope | None) -> Side:
    plan = pivot(node.pivoted, _drop_hidden((child, ctx.scope)), ctx.scope, ctx.env)
    alias = node.pivoted.alias
    return _make_side(plan if alias is None else apply_alias(plan, alias, ctx.env, node), ctx)


def _sample(node: q.PipeSample, child: Plan, ctx: Context, outer: Scope | None) -> Side:
    return sample(child, node.sample, ctx.env, outer), ctx.scope


def _organize(node: q.Pipe, child: Plan, ctx: Context, outer: Scope | None) -> Side:
    return bind_organization(node, child, None, ctx.env, outer, ctx.scope), ctx.scope


_BINDERS: dict[type[q.Pipe], Callable[[Any, Plan, Context, Scope | None], Side]] = {
    q.PipeSelect: _select,
    q.PipeExtend: _extend,
    q.PipeSet: _set,
    q.PipeDrop: _drop,
    q.PipeAs: _as,
    q.PipeWhere: _where,
    q.PipeAggregate: _aggregate,
    q.PipeSetOperation: _combine,
    q.PipeJoin: _join,
    q.PipePivot: _pivot,
    q.PipeUnpivot: _pivot,
    q.PipeSample: _sample,
    q.PipeOrganize: _organize,
}
