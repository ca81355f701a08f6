"""One SELECT block: FROM, WHERE, GROUP BY, HAVING, the items, QUALIFY, DISTINCT.

Source: `ResolveReferences`, `ResolveAliases`, `ResolveAggregateFunctions`, `ExtractGenerator`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planproof_engine.analysis.blocks import groupby, grouping
from planproof_engine.analysis.blocks.aggregated import Aggregated, make_missing_output_error
from planproof_engine.analysis.blocks.items import Items, bind_items, substitute
from planproof_engine.analysis.blocks.joins import cast_condition, refuse_aggregates, refuse_no_boolean
from planproof_engine.analysis.blocks.pivots import find_star_error
from planproof_engine.analysis.blocks.relations import bind_from
from planproof_engine.analysis.blocks.rules_first import Reached, raise_error_of_block, reads_table, waits
from planproof_engine.analysis.expressions import Context, Environment, Scope, bind, timewindows
from planproof_engine.analysis.names.stars import refuse_counted_star
from planproof_engine.analysis.refusals import checks
from planproof_engine.analysis.refusals.earlier import (
    CHECKED_LAST,
    find_ambiguous_name,
    find_grouping_call,
    holds_window_call,
    is_checked,
    is_of_aggregate,
)
from planproof_engine.analysis.refusals.hints import refuse_hints
from planproof_engine.analysis.refusals.orderable import refuse_rows
from planproof_engine.analysis.script.flags import is_of_routine, loosen_block
from planproof_engine.expr import Alias, Column, Expr, Outer, Window, column_of, fresh_id, is_aggregate
from planproof_engine.expr.pretty import pretty
from planproof_engine.functions.families.line import is_foldable
from planproof_engine.ground import AnalysisError, Unknown, evolve, record
from planproof_engine.logical.nodes import Distinct, Filter, Plan, Project
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import name_parts


@record(frozen=True, slots=True)
class Block:
    """A bound SELECT: its plan, and what ORDER BY needs to know of the block.

    `over` tells what can be named over the block's Aggregate; None where it has none.
    """

    plan: Plan
    ctx: Context
    items: tuple[Expr, ...]
    over: Aggregated | None = None
    distinct: bool = False


def bind_select(node: q.Block, env: Environment, outer: Scope | None) -> Block:
    """The block's plan. Raises `AnalysisError` where Spark rejects it."""
    reached = Reached(Context(env, Scope(()), windows=windows_of(node)))
    try:
        return _bind_block(node, env, outer, reached)
    except AnalysisError as error:
        if error.waited is None:
            error.waited = waits(reached.source, env) if reached.source is not None else reads_table(node.from_, env)
        if (block := _bind_leniently(node, error, env, outer)) is not None:
            return block
        raise_error_of_block(node, reached, error)
        error = find_grouping_call(node, error, env) or error
        if is_checked(error) and env.late is not None:
            env.late[:] = [e for e in env.late if not _is_behind(e, error, reached)]
        raise error


def _is_behind(late: AnalysisError, error: AnalysisError, reached: Reached) -> bool:
    """Whether `CheckAnalysis` comes to `late` after `error`: both are of the items, which it looks at in order, and at
    what is inside of an expression first."""
    if late in reached.noted or late.origin is None or error.origin is None:
        return False
    return (late.origin.start or 0) > (error.origin.stop or error.origin.start or 0)


def _bind_block(node: q.Block, env: Environment, outer: Scope | None, reached: Reached) -> Block:
    from_ = node.from_
    if from_ is None:
        _refuse_trailing_comma(node, env)
    source, scope = bind_from(from_.relation if from_ is not None else None, env, outer)
    if from_ is not None:
        refuse_aggregates(source, from_, env)
    child = source
    reached.clause, reached.source = "WHERE", source
    ctx = reached.ctx = evolve(reached.ctx, scope=scope)
    if node.where is not None:
        child, ctx = _bind_where(node.where.condition, child, ctx, node)
    reached.clause, reached.noted = "SELECT", tuple(env.late or ())
    child, ctx = _add_time_windows(node, child, ctx)
    group = node.group
    if group is not None and groupby.has_grouping_sets(group):
        ctx = evolve(ctx, grouping=())
    refuse_counted_star(node, ctx)
    try:
        plain = group is None and node.having is None
        items = bind_items(node.items, ctx, grouped=not plain, source=source if plain else None)
    except AnalysisError as error:
        raise find_ambiguous_name(node, error, ctx) or find_star_error(node, source, error, env) or error from None
    found = items.content
    over = None
    having = node.having
    if having is not None and group is None and env.conf.having_as_where:
        bound = bind(having.condition, ctx)
        checks.refuse_in_filter(bound, "WHERE", having, node, env)
        below = Filter(cast_condition(bound, having, env), child)
        plan: Plan = Project(tuple(items.exprs), items.add_generators(below))
    elif group is not None or having is not None or found & checks.AGGREGATE:
        given = (*items.exprs, *items.arguments)
        plan, items, over = bind_aggregate(node, items, child, ctx)
        if outer is not None:
            checks.refuse_outer(given, "the aggregation", group or node, env)
        over.extended |= bool(found & checks.WINDOW) or (having is not None and env.lacks("sorting over HAVING"))
        over.extended |= bool(env.functions) and any(is_of_routine(e, env) for i in items.exprs for e in i.walk())
    else:
        if found & checks.WINDOW and found & checks.OUTER and not env.lacks("correlation in windows"):
            checks.refuse_outer(_list_window_columns(items.exprs), "the window", node, env)
        exprs = loosen_block(items.exprs, env, windows=bool(found & checks.WINDOW), lateral=bool(items.lateral))
        items = evolve(items, exprs=exprs)
        plan = Project(tuple(items.exprs), items.add_generators(child))
    plan = _bind_qualify_and_distinct(node, plan, items, ctx, found, over)
    if node.hint is not None:
        read = (*scope.hidden, *scope.columns)
        keys = None if over is None else [c.id for c in read if c in over.keys]
        refuse_hints(node.hint, plan.output, ctx, () if node.distinct else keys)
    return Block(plan, ctx, tuple(items.exprs), over, bool(node.distinct))


def _bind_leniently(node: q.Block, error: AnalysisError, env: Environment, outer: Scope | None) -> Block | None:
    """The block, where `error` is about a plan that is resolved: rules go on above it. Raises what else is wrong with
    the block, where Spark looks at that first."""
    of_windows = error.condition.startswith(("INVALID_WINDOW_SPEC_FOR_AGGREGATION_FUNC", "UNSUPPORTED_EXPR_FOR_WINDOW"))
    at_once = error.condition == "UNSUPPORTED_GROUPING_EXPRESSION" and env.conf.before("4.0")
    if not error.condition.startswith(CHECKED_LAST) or env.lenient:
        return None
    late: list[AnalysisError] = []
    try:
        block = bind_select(node, evolve(env, lenient=True, late=late), outer)
    except Unknown:
        return None
    except AnalysisError as other:
        # HAVING stands above the Aggregate, which `CheckAnalysis` looks at first.
        within = _stands_in(other, node.having) and not _stands_in(error, node.having)
        behind = is_checked(other) and (at_once or within)
        if of_windows == is_of_aggregate(other) and not behind:
            raise
        return None
    if at_once:
        return None
    first = [*filter(is_of_aggregate, late), error] if of_windows else [error, *late]
    if env.late is None or env.probing:
        raise first[0]
    env.late.extend(first)
    return block


def _stands_in(error: AnalysisError, clause: q.Node | None) -> bool:
    start = error.origin.start if error.origin is not None else None
    return clause is not None and start is not None and clause.span[0] <= start < clause.span[1]


def _add_time_windows(node: q.Block, child: Plan, ctx: Context) -> tuple[Plan, Context]:
    try:
        return timewindows.add_time_windows(node, child, ctx)
    except AnalysisError as error:
        if is_checked(error):
            bind_items(node.items, ctx)  # `CheckAnalysis` looks at the items before GROUP BY.
        raise


def _refuse_trailing_comma(node: q.Block, env: Environment) -> None:
    """`SELECT a, FROM t` reads as a column called FROM under the name t."""
    items = node.items
    last = items[-1] if len(items) > 1 else None
    if isinstance(last, q.Alias) and [p.lower() for p in name_parts(last.operand)] == ["from"]:
        text = "Trailing comma detected in SELECT clause. Remove the trailing comma before the FROM clause."
        raise env.make_error("TRAILING_COMMA_IN_SELECT", text, node)


def _list_window_columns(items: Sequence[Expr]) -> list[Expr]:
    """The keys and arguments of windows that are plain columns. Any other one Spark computes below the window."""
    windows = [w for i in items for w in i.walk() if isinstance(w, Window)]
    parts = [p for w in windows for p in (*w.call.children, *w.partition, *(o.child for o in w.order))]
    return [p for p in parts if isinstance(p, (Column, Outer))]


def _bind_qualify_and_distinct(
    node: q.Block, plan: Plan, items: Items, ctx: Context, found: int, over: Aggregated | None
) -> Plan:
    if node.qualify is not None:
        plan = _bind_qualify(node.qualify.condition, plan, items, ctx, found, over)
    if not node.distinct:
        return plan
    refuse_rows(plan.output, node, ctx.env)
    return Distinct(plan)


def windows_of(node: q.Query) -> dict[str, q.Window]:
    """What WINDOW defines, by name, whose case counts (`WindowsSubstitution`)."""
    return {w.name.text: w.window for w in node.windows}


def _bind_where(condition: q.Node, child: Plan, ctx: Context, block: q.Node) -> tuple[Plan, Context]:
    child, ctx = timewindows.add_time_window_below([condition], block, child, ctx)
    bound = bind(condition, evolve(ctx, clause="WHERE"))
    refuse_no_boolean(bound, block, ctx.env)
    if not _is_aggregated_outside(bound, ctx):
        checks.refuse_in_filter(bound, "WHERE", condition, block, ctx.env)
    plan = Filter(bound, child)
    return plan, evolve(ctx, scope=refresh_scope(ctx.scope, plan), time_windows={})


def _is_aggregated_outside(bound: Expr, ctx: Context) -> bool:
    """Whether all aggregates of the condition belong to the enclosing query, in whose HAVING this subquery stands."""
    if (
        ctx.scope.outer is None
        or not ctx.scope.outer.aggregated
        or checks.content(bound) & (checks.WINDOW | checks.GENERATOR)
    ):
        return False
    calls = [e for e in bound.walk() if is_aggregate(e)]
    return bool(calls) and all(checks.has_outer_columns_only(c) for c in calls)


def refresh_scope(scope: Scope, plan: Plan) -> Scope:
    """The scope with the flags and evidence that `plan` gives its columns."""
    by_id = {c.id: c for c in plan.output}
    columns = tuple(by_id.get(c.id, c) for c in scope.columns)
    if all(a is b for a, b in zip(columns, scope.columns)):
        return scope
    hidden = tuple(by_id.get(c.id, c) for c in scope.hidden)
    return Scope(columns, hidden, scope.outer, scope.case_sensitive)


def bind_aggregate(
    node: q.Block | q.PipeSelect, items: Items, child: Plan, ctx: Context
) -> tuple[Plan, Items, Aggregated]:
    """The block's Aggregate and HAVING, and over them the generators, whose arguments the Aggregate computes."""
    noted = len(ctx.env.late or ())
    if isinstance(node, q.Block) and node.having is not None and items.content & checks.WINDOW and items.refers:
        condition = "UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_AGGREGATE_WITH_WINDOW_AND_HAVING"
        raise ctx.env.make_error(condition, "An item names an alias on its left beside windows and HAVING.", node)
    found = _bind_aggregate(node, items, child, ctx)
    if items.late is not None and len(ctx.env.late or ()) == noted:
        raise items.late
    return found


def _bind_aggregate(
    node: q.Block | q.PipeSelect, items: Items, child: Plan, ctx: Context
) -> tuple[Plan, Items, Aggregated]:
    if len(items.generated) > 1:
        text = f"One generator may stand beside GROUP BY or aggregate functions, but {len(items.generated)} do."
        raise ctx.env.make_error("UNSUPPORTED_GENERATOR.MULTI_GENERATOR", text, node)
    if not items.generated:
        grouped = grouping.aggregate(node, items.exprs, items.lateral, child, ctx)
        return grouped.plan, evolve(items, exprs=grouped.items), grouped.over
    if not isinstance(node, q.Block) or node.having is None:
        return _bind_below_generators(node, items, child, ctx)
    plan, made, over = _bind_below_generators(node, items, child, ctx)
    over.generated = True
    return _filter_generated(plan, node.having, node, ctx), made, over


def _filter_generated(plan: Plan, having: q.Having, block: q.Block, ctx: Context) -> Plan:
    """HAVING over what generators make. They are taken out of the Aggregate first, and it is a plain filter above them
    (`ExtractGenerator`), which older Sparks do not resolve."""
    output = evolve(ctx, scope=ctx.env.make_scope(plan.output, ctx.scope.outer), clause="HAVING")
    bound = bind(having.condition, output)
    aggregates = checks.holds_aggregate(bound)
    if ctx.lacks("HAVING over generators") and (aggregates or block.order is None):
        refused = "UNSUPPORTED_EXPR_FOR_OPERATOR" if aggregates else "INTERNAL_ERROR"
        raise ctx.env.make_error(refused, "HAVING over a generator stays unresolved.", having, by_rule=False)
    checks.refuse_in_filter(bound, "WHERE", having, block, ctx.env)
    return Filter(cast_condition(bound, having, ctx.env), plan)


def _bind_below_generators(
    node: q.Block | q.PipeSelect, items: Items, child: Plan, ctx: Context
) -> tuple[Plan, Items, Aggregated]:
    """Arguments of generators stand where the generators do: a position in GROUP BY counts those that are no constants,
    not columns."""
    (made,) = items.generated
    made_ids = {c.id for c in made.columns}
    head = made.columns[0]
    listed: list[Expr] = []
    for item in items.exprs:
        if not isinstance(item, Column) or item.id not in made_ids:
            listed.append(item)
        elif item is head:
            arguments = (a for a in made.call.args if not is_foldable(a))
            listed += [Alias(a, pretty(a), fresh_id(), explicit=False) for a in arguments]
    grouped = grouping.aggregate(node, listed, items.lateral, child, ctx, filters=False)
    bare = next((i for i in items.exprs if isinstance(i, Column) and i.id not in made_ids), None)
    if grouped.over.of_sets and bare is not None:
        # `ExtractGenerator` names the column before Expand, which the Aggregate no longer gives.
        text = f'Resolved attribute(s) "{bare.name}" missing below a generator over grouping sets.'
        raise ctx.env.make_error("MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_APPEAR_IN_OPERATION", text, node)
    held = map(column_of, grouped.items)
    plan = grouped.plan
    exprs: list[Expr] = []
    for item in items.exprs:
        if not isinstance(item, Column) or item.id not in made_ids:
            exprs.append(next(held))
            continue
        if item is head:
            shown = tuple(a if is_foldable(a) else next(held) for a in made.call.args)
            plan = evolve(made, call=evolve(made.call, args=shown)).over(plan)
        exprs.append(item)
    return Project(tuple(exprs), plan), evolve(items, exprs=exprs, generated=[]), grouped.over


def _make_items_scope(items: Items, scope: Scope, windows: bool) -> Scope:
    """What QUALIFY can name: the input, then the items.

    Where `windows` stand among the items, Spark has already put the other items below them, behind the columns that
    items with windows need. Source: `ResolveQualify`, `ExtractWindowExpressions`.
    """
    output = tuple(map(column_of, items.exprs))
    if not windows:
        made = (c for g in items.generated for c in g.columns)  # A Generate below gives them by then.
        return evolve(scope, columns=(*scope.columns, *made), hidden=(*scope.hidden, *output))
    taken = (c for i in items.exprs if checks.holds_window(i) for c in _list_columns_beside_windows(i))
    return evolve(scope, columns=(*output, *taken), hidden=(*scope.columns, *scope.hidden))


def _list_columns_beside_windows(expr: Expr) -> Iterator[Column]:
    """The columns that an expression hands on to windows or computes with above them."""
    if isinstance(expr, Column):
        yield expr
    elif isinstance(expr, Window):
        parts = (*expr.call.children, *expr.partition, *(o.child for o in expr.order))
        yield from (p for p in parts if isinstance(p, Column))
    else:
        for child in expr.children:
            yield from _list_columns_beside_windows(child)


def _refuse_ungrouped(bound: Expr, items: Items, over: Aggregated, node: q.Node, ctx: Context) -> None:
    """QUALIFY over an Aggregate reaches its output and what it groups by, in aggregate functions too."""
    shown = {column_of(i).id for i in items.exprs}
    pending = [bound]
    while pending:
        expr = pending.pop()
        if expr in over.keys:
            continue
        if isinstance(expr, Column) and expr.id not in shown:
            raise make_missing_output_error(expr, items.exprs, node, ctx)
        pending += expr.children


def _make_aggregate_error(bound: Expr, over: Aggregated | None, node: q.Node, ctx: Context) -> Exception:
    """The error of an aggregate function in QUALIFY, which stands above the block's Aggregate. In the keys of a window
    over one it is taken for one of a query without GROUP BY."""
    if over is None or _has_aggregate_beside_windows(bound):
        said = "An aggregate function of QUALIFY must stand in a window."
        return ctx.env.make_error("QUALIFY_AGGREGATE_NOT_ALLOWED", said, node)
    if ctx.env.conf.databricks:
        return ctx.env.make_unknown("an aggregate function in QUALIFY after GROUP BY", node)
    text = "QUALIFY comes after GROUP BY: name the aggregate function in the SELECT list, and order by that name."
    return ctx.env.make_error("MISSING_GROUP_BY", text, node)


def _has_aggregate_beside_windows(expr: Expr) -> bool:
    if isinstance(expr, Window):
        return False
    found = is_aggregate(expr)
    return found or any(map(_has_aggregate_beside_windows, expr.children))


def _bind_qualify(
    condition: q.Node, plan: Plan, items: Items, ctx: Context, found: int, over: Aggregated | None
) -> Plan:
    lacking = ctx.env.make_error(
        "QUALIFY_REQUIRES_WINDOW_FUNCTION", "QUALIFY needs a window function in the SELECT list or in it.", condition
    )
    over_items = evolve(ctx, scope=_make_items_scope(items, ctx.scope, bool(found & checks.WINDOW)), clause="QUALIFY")
    try:
        bound = bind(condition, over_items)
    except AnalysisError as error:
        has_window = found & checks.WINDOW or holds_window_call(condition)
        if error.condition == "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE" and not has_window:
            raise lacking from None
        raise
    if over is not None:
        _refuse_ungrouped(bound, items, over, condition, ctx)
    else:
        bound = substitute(bound, {i.id: i.child for i in items.exprs if isinstance(i, Alias)})
    within = checks.content(bound)
    if within & checks.AGGREGATE:
        raise _make_aggregate_error(bound, over, condition, ctx)
    if not (within | found) & checks.WINDOW:
        raise lacking
    return Filter(cast_condition(bound, condition, ctx.env), plan)
