"""GROUP BY, grouping sets, HAVING, and what may stand beside them.

Source: `ResolveReferencesInAggregate`, `ResolveGroupingAnalytics`, `CheckAnalysis`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from planproof.analysis.context import Context
from planproof.analysis.expressions import bind
from planproof.analysis.joins import boolean
from planproof.conf import Conf
from planproof.expr import Alias, Call, Column, Expr, Lambda, Literal, Outer, Variable, Window, fresh_id
from planproof.expr.pretty import pretty
from planproof.expr.rewrite import transform_down, transform_up
from planproof.functions.signature import Category
from planproof.plan.nodes import Aggregate, Filter, Plan

Sets = tuple[tuple[int, ...], ...]


def aggregate(
    node: exp.Expr, items: list[Expr], child: Plan, ctx: Context
) -> tuple[Plan, list[Expr], tuple[Expr, ...]]:
    """The Aggregate of a block, with HAVING above it; also the items as the grouping sets leave them."""
    group = node.args.get("group")
    groups, sets = group_expressions(group, items, ctx) if group is not None else ((), None)
    for item, source in zip(items, _sources(node, items)):
        check_grouped(item, groups, source, ctx)
    if sets is not None:
        items = [_nulled(i, groups, sets, ctx) for i in items]
    plan: Plan = Aggregate(groups, tuple(items), child, sets)
    having = node.args.get("having")
    if having is not None:
        condition = having.args["this"]
        bound = bind_having(condition, replace(ctx, grouping=groups if sets is not None else None), items, groups)
        check_grouped(bound, groups, condition, ctx)
        if sets is not None:
            bound = _nulled(bound, groups, sets, ctx)
        plan = Filter(boolean(bound, "filter", condition, ctx.env), plan)
    return plan, items, groups


def _sources(node: exp.Expr, items: list[Expr]) -> list[exp.Expr]:
    nodes = list(node.expressions)
    return nodes if len(nodes) == len(items) else [node] * len(items)


def group_expressions(group: exp.Expr, items: Sequence[Expr], ctx: Context) -> tuple[tuple[Expr, ...], Sets | None]:
    """The grouping expressions, and for ROLLUP, CUBE and GROUPING SETS the sets of their positions."""
    if group.args.get("all") and len(group.expressions) <= 1:
        return _all_groups(items), None
    found: list[Expr] = []
    parts: list[list[tuple[int, ...]]] = []
    for member in group.expressions:
        sets = _member_sets(member, found, items, ctx)
        parts.append(sets)
    kind = group.args.get("with_kind")
    if kind == "GROUPING SETS":
        chosen = [_positions(s, found, items, ctx) for s in group.args.get("sets") or ()]
        return tuple(found), tuple(chosen)
    if kind in ("ROLLUP", "CUBE"):
        singles = [s[0] for s in parts]
        return tuple(found), tuple(_rollup(singles) if kind == "ROLLUP" else _cube(singles))
    if not analytic(group):
        return tuple(found), None
    combined = tuple(tuple(dict.fromkeys(itertools.chain(*choice))) for choice in itertools.product(*parts))
    return tuple(found), combined


def analytic(group: exp.Expr) -> bool:
    """Whether the clause has several grouping sets, so that `grouping()` means something."""
    kinds = (exp.Rollup, exp.Cube, exp.GroupingSets)
    return bool(group.args.get("with_kind")) or any(isinstance(m, kinds) for m in group.expressions)


def _member_sets(member: exp.Expr, found: list[Expr], items: Sequence[Expr], ctx: Context) -> list[tuple[int, ...]]:
    if isinstance(member, exp.Rollup | exp.Cube):
        sets = [_positions(e, found, items, ctx) for e in member.expressions]
        return _rollup(sets) if isinstance(member, exp.Rollup) else _cube(sets)
    if isinstance(member, exp.GroupingSets):
        return [s for e in member.expressions for s in _nested_sets(e, found, items, ctx)]
    return [_positions(member, found, items, ctx, whole=True)]


def _nested_sets(member: exp.Expr, found: list[Expr], items: Sequence[Expr], ctx: Context) -> list[tuple[int, ...]]:
    if isinstance(member, exp.Rollup | exp.Cube | exp.GroupingSets):
        return _member_sets(member, found, items, ctx)
    return [_positions(member, found, items, ctx)]


def _rollup(sets: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [tuple(itertools.chain(*sets[:n])) for n in range(len(sets), -1, -1)]


def _cube(sets: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    chosen = (c for n in range(len(sets), -1, -1) for c in itertools.combinations(sets, n))
    return [tuple(itertools.chain(*c)) for c in chosen]


def _positions(
    member: exp.Expr, found: list[Expr], items: Sequence[Expr], ctx: Context, whole: bool = False
) -> tuple[int, ...]:
    """The positions of a set's members among the grouping expressions, which grow as new ones are met."""
    if isinstance(member, exp.Tuple) and not whole:
        members = member.expressions
    elif isinstance(member, exp.Paren):
        members = [member.args["this"]]
    else:
        members = [member]
    at = []
    for one in members:
        bound = group_expression(one, items, ctx)
        place = next((i for i, e in enumerate(found) if e == bound), None)
        if place is None:
            found.append(bound)
            place = len(found) - 1
        at.append(place)
    return tuple(at)


def group_expression(node: exp.Expr, items: Sequence[Expr], ctx: Context) -> Expr:
    """One GROUP BY item: an ordinal, an expression over the input, or the alias of an item."""
    if isinstance(node, exp.Literal) and not node.args.get("is_string") and node.args.get("kind") == "INTEGER_VALUE":
        return _ordinal(int(node.args["this"]), items, node, ctx)
    named = _aliases(items, ctx) if ctx.conf.group_by_aliases else {}
    bound = bind(node, replace(ctx, clause="GROUP BY", aliases=named))
    bound = _substituted(bound, named)
    if _holds_aggregate(bound):
        raise ctx.env.rejected(
            "GROUP_BY_AGGREGATE", f"Aggregate functions are not allowed in GROUP BY, but found {pretty(bound)}.", node
        )
    return bound


def _ordinal(at: int, items: Sequence[Expr], node: exp.Expr, ctx: Context) -> Expr:
    if not 1 <= at <= len(items):
        raise ctx.env.rejected(
            "GROUP_BY_POS_OUT_OF_RANGE",
            f"GROUP BY position {at} is not in select list (valid range is [1, {len(items)}]).",
            node,
        )
    chosen = _unaliased(items[at - 1])
    if _holds_aggregate(chosen):
        raise ctx.env.rejected(
            "GROUP_BY_POS_AGGREGATE",
            f"GROUP BY {at} refers to an expression that contains an aggregate function.",
            node,
        )
    return chosen


def _unaliased(item: Expr) -> Expr:
    return item.child if isinstance(item, Alias) else item


def _all_groups(items: Sequence[Expr]) -> tuple[Expr, ...]:
    """GROUP BY ALL: every item without an aggregate; of the others the parts outside their aggregates."""
    return tuple(dict.fromkeys(_unaliased(i) for i in items if not _holds_aggregate(i)))


def _holds_aggregate(expr: Expr) -> bool:
    from planproof.analysis.select import holds_aggregate

    return holds_aggregate(expr)


def _nulled(expr: Expr, groups: tuple[Expr, ...], sets: Sets, ctx: Context) -> Expr:
    """The expression with each grouping expression nullable that some set leaves out, but for aggregates' arguments."""
    absent = {g for i, g in enumerate(groups) if any(i not in s for s in sets)}

    def change(e: Expr) -> Expr | None:
        if isinstance(e, Call) and e.function.category is Category.AGGREGATE:
            return e
        if e not in absent:
            return None
        return (
            replace(e, nullable=True, known=None)
            if isinstance(e, Column)
            else Column(fresh_id(), pretty(e), e.type, True)
        )

    return with_flags(transform_down(expr, change), ctx.conf) if absent else expr


def with_flags(expr: Expr, conf: Conf) -> Expr:
    """The expression with the nullability of every call taken anew from its arguments."""

    def change(e: Expr) -> Expr:
        if isinstance(e, Call) and e.function.category is Category.SCALAR and not e.nullable:
            return replace(e, nullable=e.function.nullable(e.args, conf))
        return e

    return transform_up(expr, change)


def bind_having(node: exp.Expr, ctx: Context, items: Sequence[Expr], groups: tuple[Expr, ...]) -> Expr:
    """HAVING and QUALIFY: names mean the block's output first where the input has none of that name."""
    named = _aliases(items, ctx)
    return _substituted(bind(node, replace(ctx, clause="HAVING", aliases=named)), named)


def _aliases(items: Sequence[Expr], ctx: Context) -> dict[str, list[Alias]]:
    """The items' aliases by name, the first of each name."""
    found: dict[str, list[Alias]] = {}
    for item in items:
        if isinstance(item, Alias):
            found.setdefault(ctx.key(item.name), [item])
    return found


def _substituted(bound: Expr, named: dict[str, list[Alias]]) -> Expr:
    """The expression with references to aliases replaced by what they name."""
    by_id = {a.id: a.child for found in named.values() for a in found}
    if not by_id:
        return bound
    return transform_up(bound, lambda e: by_id.get(e.id, e) if isinstance(e, Column) else e)


_COMMUTATIVE = frozenset(("+", "*", "&", "|", "^", "and", "or", "=", "<=>"))


def canonical(expr: Expr) -> Expr:
    """The expression with the operands of commutative operators in one order (`Expression.canonicalized`)."""

    def change(e: Expr) -> Expr:
        if isinstance(e, Call) and e.function.name in _COMMUTATIVE:
            return replace(e, args=tuple(sorted(e.args, key=repr)))
        return _numbered(e) if isinstance(e, Lambda) else e

    return transform_up(expr, change)


def _numbered(function: Lambda) -> Expr:
    """The lambda with variables numbered by how deep lambdas nest below it, so that equal lambdas are equal."""
    depth = max((-p.id for e in function.body.walk() if isinstance(e, Lambda) for p in e.parameters), default=0)
    renamed = {p.id: replace(p, id=-(depth + 1 + i)) for i, p in enumerate(function.parameters)}
    body = transform_up(function.body, lambda e: renamed.get(e.id, e) if isinstance(e, Variable) else e)
    return replace(function, parameters=tuple(renamed.values()), body=body)


def check_grouped(expr: Expr, groups: tuple[Expr, ...], node: exp.Expr, ctx: Context) -> None:
    """Every column outside an aggregate must be grouped by. Raises MISSING_AGGREGATION (or MISSING_GROUP_BY)."""
    keys = {canonical(g) for g in groups}
    bad = next(_ungrouped(_unaliased(expr), keys), None)
    if bad is None:
        return
    if not groups:
        raise ctx.env.rejected(
            "MISSING_GROUP_BY",
            "The query does not include a GROUP BY clause. Add GROUP BY or turn it into the window functions using "
            f"OVER clauses: `{bad.name}` is neither grouped nor aggregated.",
            node,
        )
    raise ctx.env.rejected(
        "MISSING_AGGREGATION",
        f'The non-aggregating expression "{bad.name}" is based on columns which are not participating in the '
        "GROUP BY clause.",
        node,
    )


def _ungrouped(expr: Expr, keys: set[Expr]) -> Iterator[Column]:
    if isinstance(expr, Literal | Outer) or (keys and canonical(expr) in keys):
        return
    if isinstance(expr, Column):
        if not any(isinstance(k, Column) and k.id == expr.id for k in keys):
            yield expr
        return
    if isinstance(expr, Call) and expr.function.category is Category.AGGREGATE:
        return
    if isinstance(expr, Call) and expr.function.name == "window_time":
        # It becomes a column of its own below the grouping, as the window does.
        yield from (e for e in expr.walk() if isinstance(e, Column))
        return
    if isinstance(expr, Window):
        for part in (*expr.call.children, *expr.partition, *expr.order):
            yield from _ungrouped(part, keys)
        return
    for child in expr.children:
        yield from _ungrouped(child, keys)
