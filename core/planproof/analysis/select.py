"""One SELECT block: FROM, WHERE, GROUP BY, HAVING, the items, QUALIFY, DISTINCT.

Source: `ResolveReferences`, `ResolveAliases`, `ResolveAggregateFunctions`, `ExtractWindowExpressions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from planproof.analysis import grouping
from planproof.analysis.context import Context, Environment
from planproof.analysis.expressions import bind
from planproof.analysis.joins import boolean
from planproof.analysis.relations import bind_from
from planproof.analysis.scope import Scope
from planproof.analysis.stars import expand
from planproof.analysis.timewindows import with_time_windows
from planproof.expr import (
    Alias,
    Call,
    Cast,
    Column,
    Expr,
    GetField,
    GetFieldOfElements,
    Literal,
    Outer,
    Variable,
    Window,
    fresh_id,
)
from planproof.expr.pretty import pretty
from planproof.functions.signature import Category
from planproof.plan.nodes import Distinct, Filter, Generate, Plan, Project
from planproof.sql.nodes import name_parts, span


@dataclass(frozen=True, slots=True)
class Block:
    """A bound SELECT: its plan, the scope of its input, and how its items came about (for ORDER BY)."""

    plan: Plan
    input: Scope
    ctx: Context
    aggregated: bool
    items: tuple[Expr, ...]
    groups: tuple[Expr, ...] = ()


def bind_select(node: exp.Expr, env: Environment, outer: Scope | None) -> Block:
    """The block's plan. Raises `AnalysisError` where Spark rejects it."""
    child, scope = bind_from(_this(node.args.get("from_")), env, outer)
    ctx = Context(env, scope, windows=_windows(node, scope))
    where = node.args.get("where")
    if where is not None:
        child, scope, ctx = _filtered(where.args["this"], child, scope, ctx)
    group = node.args.get("group")
    if group is not None and grouping.analytic(group):
        ctx = replace(ctx, grouping=())
    child, ctx = with_time_windows(node, child, replace(ctx, scope=scope))
    items, child, scope = bind_items(node.expressions, child, ctx)
    ctx = replace(ctx, scope=scope)
    having = node.args.get("having")
    aggregated = group is not None or any(holds_aggregate(i) for i in items)
    groups: tuple[Expr, ...] = ()
    if aggregated or (having is not None and _having_aggregates(having, ctx, items)):
        plan, items, groups = grouping.aggregate(node, items, child, ctx)
        aggregated = True
    else:
        plan = _plain(having, items, child, ctx)
    qualify = node.args.get("qualify")
    if qualify is not None:
        plan = _qualified(qualify.args["this"], plan, items, ctx)
    if node.args.get("distinct"):
        plan = Distinct(plan)
    return Block(plan, scope, ctx, aggregated, tuple(items), groups)


def _this(node: exp.Expr | None) -> exp.Expr | None:
    return node.args["this"] if node is not None else None


def _windows(node: exp.Expr, scope: Scope) -> dict[str, exp.Expr]:
    return {scope.key(w.args["this"].args["this"]): w for w in node.args.get("windows") or ()}


def _filtered(condition: exp.Expr, child: Plan, scope: Scope, ctx: Context) -> tuple[Plan, Scope, Context]:
    bound = boolean(bind(condition, replace(ctx, clause="WHERE")), "filter", condition, ctx.env)
    refuse_aggregates(bound, condition, ctx)
    plan = Filter(bound, child)
    scope = refreshed(scope, plan)
    return plan, scope, replace(ctx, scope=scope)


def refuse_aggregates(bound: Expr, node: exp.Expr, ctx: Context) -> None:
    if holds_aggregate(bound):
        raise ctx.env.rejected(
            "INVALID_WHERE_CONDITION",
            "The WHERE condition contains aggregate, window or generator functions, which is not allowed there.",
            node,
        )


def refreshed(scope: Scope, plan: Plan) -> Scope:
    """The scope with the flags and evidence that `plan` gives its columns."""
    by_id = {c.id: c for c in plan.output}
    columns = tuple(by_id.get(c.id, c) for c in scope.columns)
    if all(a is b for a, b in zip(columns, scope.columns)):
        return scope
    hidden = tuple(by_id.get(c.id, c) for c in scope.hidden)
    return Scope(columns, hidden, scope.outer, scope.case_sensitive)


def bind_items(nodes: Sequence[exp.Expr], child: Plan, ctx: Context) -> tuple[list[Expr], Plan, Scope]:
    """The select list: each item a Column or an Alias; a generator becomes a Generate below."""
    items: list[Expr] = []
    aliases: dict[str, list[Alias]] = {}
    lateral = replace(ctx, aliases=aliases) if ctx.conf.lateral_column_alias else ctx
    generated: tuple[Plan, Scope] | None = None
    for node in nodes:
        if isinstance(node, exp.Star):
            items += expand(node, ctx)
            continue
        made = _generated(node, child, ctx)
        if made is not None:
            if generated is not None:
                raise ctx.env.rejected("UNSUPPORTED_GENERATOR.MULTI_GENERATOR", "Only one generator per SELECT.", node)
            generated, columns = made
            items += columns
            continue
        item = named_item(node, lateral)
        items.append(item)
        if isinstance(item, Alias) and (isinstance(node, exp.Alias) or name_parts(node)):
            aliases.setdefault(ctx.key(item.name), []).append(item)
    if generated is None:
        return _inlined(items, aliases), child, ctx.scope
    return _inlined(items, aliases), generated[0], generated[1]


def _generated(node: exp.Expr, child: Plan, ctx: Context) -> tuple[tuple[Plan, Scope], list[Expr]] | None:
    """A generator in SELECT, with its aliases, as a Generate over the child."""
    from planproof.analysis.relations import generator

    inner = node.args["this"] if isinstance(node, exp.Alias | exp.Aliases) else node
    if not isinstance(inner, exp.Anonymous):
        return None
    function = ctx.env.registry.find(str(inner.args["this"]))
    if function is None or function.category is not Category.GENERATOR:
        return None
    call, outputs = generator(inner, ctx)
    names = [n for n, _, _ in outputs]
    if isinstance(node, exp.Alias):
        given = [node.args["alias"].args["this"]]
    else:
        given = [i.args["this"] for i in node.expressions] if isinstance(node, exp.Aliases) else names
    if len(given) != len(outputs):
        raise ctx.env.rejected(
            "UDTF_ALIAS_NUMBER_MISMATCH",
            f"The number of aliases does not match the generator's columns: expected {len(outputs)}, got {len(given)}.",
            node,
        )
    is_outer = call.shown.endswith("_outer")
    columns = tuple(Column(fresh_id(), name, t, nullable or is_outer) for name, (_, t, nullable) in zip(given, outputs))
    plan = Generate(call, is_outer, columns, child)
    return (plan, ctx.scope), list(columns)


def named_item(node: exp.Expr, ctx: Context) -> Expr:
    """One select item as a Column or an Alias, named as Spark names it."""
    if isinstance(node, exp.Aliases):
        raise ctx.env.unknown("several names for one expression", node)
    if isinstance(node, exp.Alias):
        return Alias(bind(node.args["this"], ctx), node.args["alias"].args["this"], fresh_id())
    bound = bind(node, ctx)
    if isinstance(bound, Column):
        parts = name_parts(node)
        # A lateral alias reference prints another name than the one it gives to the column.
        lateral = bool(parts) and bound.name != parts[-1]
        return Alias(bound, parts[-1], fresh_id(), explicit=False) if lateral else bound
    return Alias(bound, _auto_name(bound, node), fresh_id(), explicit=False)


def _auto_name(bound: Expr, node: exp.Expr) -> str:
    """`ResolveAliases.assignAliases`: a path takes its last name, a cast of a name that name, all else its SQL."""
    inner = node
    while isinstance(inner, exp.Paren):
        inner = inner.args["this"]
    parts = name_parts(inner)
    if parts and isinstance(bound, Column | GetField | GetFieldOfElements | Outer | Variable | Call | Literal):
        return _path_name(bound, parts)
    if isinstance(inner, exp.Cast) and isinstance(bound, Cast):
        operand = inner.args["this"]
        if isinstance(bound.child, Column) and name_parts(operand):
            return bound.child.name
    return pretty(bound)


def _path_name(bound: Expr, parts: tuple[str, ...]) -> str:
    if isinstance(bound, Call) and bound.function.name != "getmapvalue":
        return pretty(bound)
    return parts[-1]


def _inlined(items: list[Expr], aliases: dict[str, list[Alias]]) -> list[Expr]:
    """References to aliases on the left replaced by what these aliases name."""
    if not aliases:
        return items
    by_id = {a.id: a.child for found in aliases.values() for a in found}
    done: list[Expr] = []
    for item in items:
        if isinstance(item, Alias):
            child = substituted(item.child, by_id)
            item = item if child is item.child else replace(item, child=child)
            by_id[item.id] = item.child
        elif isinstance(item, Column) and item.id in by_id:
            item = Alias(by_id[item.id], item.name, fresh_id(), explicit=False)
        done.append(item)
    return done


def substituted(expr: Expr, by_id: dict[int, Expr]) -> Expr:
    """The expression with columns of these ids replaced; an untouched expression comes back as the same object."""
    from planproof.expr.rewrite import transform_up

    return transform_up(expr, lambda e: by_id.get(e.id, e) if isinstance(e, Column) else e)


def holds_aggregate(expr: Expr) -> bool:
    """Whether an aggregate function stands in the expression, other than as the function of a window."""
    if isinstance(expr, Window):
        inside = [*expr.call.children, *expr.partition, *expr.order]
        return any(holds_aggregate(e) for e in inside)
    if isinstance(expr, Call) and expr.function.category is Category.AGGREGATE:
        return True
    return any(holds_aggregate(c) for c in expr.children)


def holds_window(expr: Expr) -> bool:
    return isinstance(expr, Window) or any(holds_window(c) for c in expr.children)


def _having_aggregates(having: exp.Expr, ctx: Context, items: list[Expr]) -> bool:
    """HAVING without GROUP BY makes a global aggregate where it, or an item, aggregates."""
    return holds_aggregate(grouping.bind_having(having.args["this"], ctx, items, ()))


def _plain(having: exp.Expr | None, items: list[Expr], child: Plan, ctx: Context) -> Plan:
    plan: Plan = Project(tuple(items), child)
    if having is None:
        return plan
    if not ctx.scope.columns and not items:
        return plan
    bound = grouping.bind_having(having.args["this"], ctx, items, ())
    return Filter(boolean(bound, "filter", having, ctx.env), plan)


def _qualified(condition: exp.Expr, plan: Plan, items: Sequence[Expr], ctx: Context) -> Plan:
    bound = grouping.bind_having(condition, ctx, items, ())
    return Filter(boolean(bound, "filter", condition, ctx.env), plan)


def item_spans(nodes: Sequence[exp.Expr]) -> list[tuple[int, int]]:
    return [span(n) for n in nodes]
