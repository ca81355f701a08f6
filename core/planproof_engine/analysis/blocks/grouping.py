"""Aggregation: what may stand beside GROUP BY, grouping sets and HAVING.

Source: `ResolveReferencesInAggregate`, `ResolveGroupingAnalytics`, `CheckAnalysis`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from planproof_engine.analysis.blocks.aggregated import (
    Aggregated,
    Keys,
    check_grouping_calls,
    make_missing_output_error,
    plain_outer_columns,
)
from planproof_engine.analysis.blocks.evidence import find_left_out_keys, make_keys_nullable, prove_by_groups
from planproof_engine.analysis.blocks.groupby import Sets, columns_outside, group_expressions
from planproof_engine.analysis.blocks.joins import cast_condition
from planproof_engine.analysis.expressions import Context
from planproof_engine.analysis.expressions.binding import bind, find_misplaced_subquery, make_unresolved_error
from planproof_engine.analysis.expressions.modifiers import is_volatile, stays_volatile
from planproof_engine.analysis.expressions.timewindows import add_time_window_below
from planproof_engine.analysis.refusals import checks
from planproof_engine.analysis.refusals.correlation import make_must_aggregate_error
from planproof_engine.analysis.script.flags import is_of_routine, list_late_keys, loosen_grouped, loosen_output
from planproof_engine.expr import nodes as x
from planproof_engine.expr.function import Category, Many
from planproof_engine.expr.pretty import pretty
from planproof_engine.ground import AnalysisError, evolve, record
from planproof_engine.logical.nodes import Aggregate, Filter, Plan
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import name_parts


@record(frozen=True, slots=True)
class Grouped:
    """The Aggregate of a block with HAVING above it, the items as grouping sets leave them, and what can be named."""

    plan: Plan
    items: list[x.Expr]
    over: Aggregated


def aggregate(
    node: q.Block | q.PipeSelect,
    items: list[x.Expr],
    lateral: Collection[int],
    child: Plan,
    ctx: Context,
    *,
    filters: bool = True,
) -> Grouped:
    """The Aggregate of a block, and its HAVING unless it `filters` elsewhere. `lateral` are the ids of items that refer
    to aliases on their left."""
    group = node.group
    noted = len(ctx.env.late or ())
    groups, sets, alone = group_expressions(group, items, lateral, ctx) if group is not None else ((), None, ())
    _refuse_keys(groups, sets, group or node, ctx)
    within = sets is None or not ctx.lacks("names inside of grouping sets")
    keys = Keys(groups, alone, within=within, of_sets=sets is not None)
    if sets is not None:
        check_grouping_calls(items, keys, node, ctx)
    if group is not None and group.is_all and ctx.env.functions:
        _refuse_renumbered(groups, group, ctx)
    if any(checks.is_grouping(e) for g in groups for e in g.walk()):
        # It is no aggregate function, but among the keys no grouping set is yet.
        text = "grouping()/grouping_id() can only be used with GroupingSets/Cube/Rollup."
        raise ctx.env.make_error("UNSUPPORTED_GROUPING_EXPRESSION", text, group or node)
    for item, source in zip(items, _list_item_nodes(node, items)):
        checks.refuse_window_within(item, source, ctx.env)
        check_grouped(item, groups, source, ctx, node, keys)
    if any(isinstance(e, x.Window) and checks.is_grouping(e.call) for item in items for e in item.walk()):
        text = "grouping()/grouping_id() is not supported within a window function."
        ctx.env.refuse_late("UNSUPPORTED_EXPR_FOR_WINDOW", text, node)
    # Windows among the keys of grouping sets are computed below Expand.
    if checks.contents(groups) & (checks.GENERATOR | (checks.WINDOW if sets is None else 0)):
        text = "The grouping contains an unsupported expression: a generator or a window stands in the SELECT list."
        ctx.env.refuse_late("UNSUPPORTED_EXPR_FOR_OPERATOR", text, group or node)
    given = items
    if sets is not None:
        absent = find_left_out_keys(groups, sets, keys, list_late_keys(groups, ctx.env))
        items = [make_keys_nullable(i, absent, keys, ctx.conf) for i in items]
    items = prove_by_groups(items, groups, sets, ctx.conf)
    items = loosen_grouped(items, keys, ctx.env)
    plan: Plan = Aggregate(groups, tuple(items), child, sets)
    expanded = [g for g in groups if not isinstance(g, x.Column)] if sets is not None else ()
    over = Aggregated(
        Keys(groups, within=within, of_sets=sets is not None),
        items,
        given,
        expanded,
        of_sets=sets is not None,
        repeated=_has_repeated_sets(sets),
    )
    having = node.having if isinstance(node, q.Block) and filters else None
    if having is not None:
        inner = evolve(ctx, grouping=groups if sets is not None else None)
        windowed = _filter_by_time_window(having.condition, node, plan, ctx) if sets is None else None
        plan = windowed or Filter(_bind_having(having.condition, node, over, groups, sets, inner), plan)
        plan = loosen_output(plan, ctx.env) if over.extended else plan
    if sets is None:
        computed = [*items, *(plan.expressions if having is not None else ())]
        _refuse_unrepeated(computed, groups, noted, group or node, ctx)
    return Grouped(plan, items, over)


def _refuse_renumbered(groups: tuple[x.Expr, ...], node: q.Node, ctx: Context) -> None:
    """Refuses a SQL function of what has a name in it under GROUP BY ALL: the key and the item are one expression until
    Spark looks into the function, which gives the name another id in each."""
    calls = (e for g in groups for e in g.walk() if is_of_routine(e, ctx.env))
    found = next((c for c in calls if any(isinstance(e, x.Alias) and e.explicit for e in c.walk())), None)
    if found is not None:
        text = f'The non-aggregating expression "{pretty(found)}" is no key of GROUP BY any more.'
        ctx.env.refuse_late("MISSING_AGGREGATION", text, node)


def _refuse_keys(groups: tuple[x.Expr, ...], sets: Sets | None, node: q.Node, ctx: Context) -> None:
    if sets is not None and checks.contents(groups) & checks.GENERATOR:
        if ctx.lacks("generators looked for in grouping sets"):
            text = "A generator within grouping sets stays unresolved."
            raise ctx.env.make_error("INTERNAL_ERROR", text, node, by_rule=False)
        checks.refuse_generator(checks.GENERATOR, "GROUP BY", node, ctx.env)
    if sets is not None and any(map(is_volatile, groups)):
        # `ResolveGroupingAnalytics` looks for each by what it is, and a random one is never what it was.
        shown = next(pretty(g) for g in groups if is_volatile(g))
        raise ctx.env.make_error("_LEGACY_ERROR_TEMP_1005", f"{shown} is not in the GROUP BY list.", node)
    late = next(filter(stays_volatile, groups), None)
    if late is not None:
        text = f"Non-deterministic expression '{pretty(late)}' should not appear in grouping expression"
        raise ctx.env.make_error("INTERNAL_ERROR", text, node)
    if ctx.scope.outer is not None:
        checks.refuse_outer(groups, "the grouping", node, ctx.env)


def _refuse_unrepeated(items: list[x.Expr], groups: tuple[x.Expr, ...], noted: int, node: q.Node, ctx: Context) -> None:
    """Refuses a correlated scalar subquery of GROUP BY that neither an item nor HAVING repeats: Spark rewrites it among
    what the Aggregate computes. It looks at subqueries before what the items name, of which errors may be noted."""
    wanted = [e for g in groups for e in g.walk() if isinstance(e, x.ScalarSubquery) and checks.is_correlated(e)]
    held = Keys(e for i in items for e in i.walk() if isinstance(e, x.ScalarSubquery)) if wanted else Keys(())
    if any(e not in held for e in wanted):
        if ctx.env.late is not None:
            del ctx.env.late[noted:]
        raise make_must_aggregate_error(node, ctx.env)


def _has_repeated_sets(sets: Sets | None) -> bool:
    """Whether two grouping sets are the same one: Spark's Expand then numbers them behind the grouping id."""
    return sets is not None and len(set(map(frozenset, sets))) < len(sets)


def _filter_by_time_window(condition: q.Node, node: q.Node, plan: Plan, ctx: Context) -> Plan | None:
    """HAVING with a time window over what is selected: `TimeWindowing` puts that between it and the Aggregate, as the
    first column, and what is above is a filter like WHERE. None for any other; what a sort does above is not known. 4.0
    refuses it with an internal error."""
    if not isinstance(node, q.Block) or node.order is not None or node.sort is not None or ctx.conf.before("4.1"):
        return None
    output = Context(ctx.env, ctx.env.make_scope(plan.output), clause="WHERE")
    try:
        below, output = add_time_window_below([condition], node, plan, output)
        bound = bind(condition, output) if output.time_windows else None
    except AnalysisError:
        return None
    read = [c for window in output.time_windows for c in window.walk() if isinstance(c, x.Column)]
    if bound is None or any(m.id != c.id for c in read for m in ctx.scope.find_matches((c.name,))[0]):
        return None  # The name of an item that hides a column of the input means that column in HAVING.
    checks.refuse_in_filter(bound, "WHERE", condition, node, ctx.env)
    return Filter(cast_condition(bound, condition, ctx.env), below)


def _bind_having(
    node: q.Node, block: q.Node, over: Aggregated, groups: tuple[x.Expr, ...], sets: Sets | None, ctx: Context
) -> x.Expr:
    named = over.names(ctx, every=True)
    for found in named.values():
        # Windows are computed above HAVING, but over grouping sets it is resolved together with them
        # (`tryResolveHavingCondition`). An item that only repeats an alias on its left is the same column.
        found[:] = {a.id: a for a in found if sets is not None or not checks.holds_window(a.child)}.values()
    ctx = evolve(ctx, clause="HAVING", shown=ctx.env.make_scope())
    output = (x.column_of(found[0]) for found in named.values() if len(found) == 1)
    scope = evolve(ctx.scope, hidden=(*ctx.scope.hidden, *output), aggregated=True)
    try:
        bound = bind(node, evolve(ctx, scope=scope, aliases=named, time_windows={}))
    except AnalysisError as error:
        raise _find_unresolved(error, node, over, ctx) or error from None
    checks.refuse_in_filter(bound, "HAVING", node, block, ctx.env)
    if sets is not None:
        _refuse_aggregate_windows(bound, over, node, ctx)
        _refuse_unseen(bound, over, node, ctx)
        check_grouping_calls([bound], over.keys, node, ctx)
    try:
        cast_condition(bound, node, ctx.env)  # Its type comes before what it cannot reach.
    except AnalysisError as error:
        raise find_misplaced_subquery(error, node, evolve(ctx, scope=scope)) or error from None
    settled = over.resolve(bound, node, block, ctx)
    if sets is not None:
        settled = make_keys_nullable(
            settled, find_left_out_keys(groups, sets, over.keys, list_late_keys(groups, ctx.env)), over.keys, ctx.conf
        )
    return cast_condition(settled, node, ctx.env)


def _find_unresolved(error: AnalysisError, node: q.Node, over: Aggregated, ctx: Context) -> Exception | None:
    """The error for a name that means several columns of the input: it counts as not found in HAVING."""
    if error.condition != "AMBIGUOUS_REFERENCE":
        return None
    output = ctx.over([*map(x.column_of, over.items)])
    for parts, named in ((name_parts(n), n) for n in node.find_all(q.Column, q.Dot)):
        if parts and len(ctx.scope.find_matches(parts)[0]) > 1 and not output.scope.find_matches(parts)[0]:
            return make_unresolved_error(parts, output, named)
    return None


def _refuse_aggregate_windows(bound: x.Expr, over: Aggregated, node: q.Node, ctx: Context) -> None:
    """Refuses the alias of an aggregate function over a window: it is taken for one that the Aggregate computes."""
    read = {e.id for e in bound.walk() if isinstance(e, x.Column)}
    for item in over.items:
        windows = (e for e in item.walk() if isinstance(e, x.Window)) if x.column_of(item).id in read else ()
        if any(x.is_aggregate(w.call) for w in windows):
            text = f"Resolved attribute(s) `{x.column_of(item).name}` missing from the aggregation."
            raise ctx.env.make_error("MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT", text, node)


def _refuse_unseen(bound: x.Expr, over: Aggregated, node: q.Node, ctx: Context) -> None:
    """Refuses `grouping(x)` of a column that the Aggregate neither groups by nor gives: HAVING does not find it."""
    shown = {x.column_of(i).id for i in over.items}
    for call in (e for e in bound.walk() if checks.is_grouping(e) and e.function.name == "grouping"):
        within = (
            e for e in call.args[0].walk() if isinstance(e, x.Column) and e.id not in shown and e not in over.keys
        )
        unseen = next(within, None) if call.args[0] not in over.keys else None
        if unseen is not None:
            raise make_missing_output_error(unseen, over.items, node, ctx)


def _list_item_nodes(node: q.Block | q.PipeSelect, items: list[x.Expr]) -> list[q.Node]:
    nodes = list(node.items)
    return nodes if len(nodes) == len(items) else [node] * len(items)


def check_grouped(
    expr: x.Expr, groups: tuple[x.Expr, ...], node: q.Node, ctx: Context, block: q.Node, keys: Keys | None = None
) -> None:
    """Every column outside an aggregate must be grouped by: MISSING_AGGREGATION, or MISSING_GROUP_BY."""
    keys = keys if keys is not None else Keys(groups)
    if isinstance(expr, x.Alias) and expr.id in keys.items:
        return
    bad = next(_find_ungrouped(x.drop_alias(expr), keys), None)
    if bad is None:
        return
    if isinstance(bad, x.ScalarSubquery):
        ctx.env.refuse_late(
            "SCALAR_SUBQUERY_IS_IN_GROUP_BY_OR_AGGREGATE_FUNCTION",
            "A correlated scalar subquery is neither in GROUP BY nor inside an aggregate function. Add it to GROUP BY "
            "using ordinal position, or wrap it in first().",
            _subquery_node(bad, node),
        )
    elif not groups and not keys.of_sets:
        ctx.env.refuse_late(
            "MISSING_GROUP_BY",
            "The query does not include a GROUP BY clause. Add GROUP BY or turn it into the window functions using "
            f"OVER clauses: `{bad.name}` is neither grouped nor aggregated.",
            block,
        )
    else:
        ctx.env.refuse_late(
            "MISSING_AGGREGATION",
            f'The non-aggregating expression "{bad.name}" is based on columns which are not participating in the '
            "GROUP BY clause. Add it to GROUP BY, or take one value of each group, as any_value() does.",
            node,
        )


def _subquery_node(subquery: x.ScalarSubquery, node: q.Node) -> q.Node:
    """Where the subquery stands in `node`: around what it evaluates."""
    start, stop = next(
        (e.span for e in subquery.plan.all_expressions() if isinstance(e, x.Column) and e.span), node.span
    )
    around = (n for n in node.find_all(q.Subquery) if n.span[0] <= start and stop <= n.span[1])
    return next(around, node)


def _ranks(call: x.Expr) -> bool:
    function = call.function if isinstance(call, x.Call) else None
    return (
        function is not None
        and function.category is Category.WINDOW
        and any(isinstance(i, Many) for i in function.inputs)
    )


def _find_ungrouped(expr: x.Expr, keys: Keys) -> Iterator[x.Column | x.ScalarSubquery]:
    if isinstance(expr, (x.Literal, x.Outer)) or (expr in keys and (keys.of_sets or not checks.holds_window(expr))):
        # Spark takes windows out of the Aggregate before it compares its items with its keys. Those of grouping sets
        # are columns by then.
        return
    if isinstance(expr, x.Column):
        yield expr
        return
    if x.is_aggregate(expr):
        return
    if isinstance(expr, x.Call) and expr.function.name == "window_time":
        # It becomes a column of its own below the grouping, as the window does.
        yield from (e for e in expr.walk() if isinstance(e, x.Column))
        return
    if isinstance(expr, x.ScalarSubquery) and checks.is_correlated(expr):
        yield expr
        return
    if isinstance(expr, (x.Exists, x.InSubquery)):
        yield from (c for c in plain_outer_columns(expr) if c not in keys)
    children = expr.children
    if isinstance(expr, x.Window):
        # What ranks rows by the order of the window forgets its arguments (`RankLike.withOrder`).
        children = (*(() if _ranks(expr.call) else expr.call.children), *expr.partition, *expr.order)
        if keys.of_sets and x.is_aggregate(expr.call) and not checks.is_grouping(expr.call):
            # `constructAggregateExprs` leaves aggregates as they are, so those of windows mean the column before it
            # was expanded, which is no key.
            yield from (c for a in expr.call.children for c in columns_outside(a))
    for child in children:
        yield from _find_ungrouped(child, keys)
