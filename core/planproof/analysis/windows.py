"""Window specifications and sort keys. Source: `WindowSpecDefinition`, `SpecifiedWindowFrame`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planproof.analysis.context import Context
from planproof.expr import Call, Expr, Literal, Sort, Window
from planproof.expr.pretty import pretty
from planproof.functions.signature import Category

_GROWING = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_RANKS = {"row_number", "rank", "dense_rank", "percent_rank", "ntile"}
_OFFSETS = {"lag", "lead"}


def over(function: Call, spec: exp.Window, ctx: Context, node: exp.Expr) -> Window:
    """The window expression; a named window is looked up in the block. Raises `AnalysisError` as Spark does."""
    from planproof.analysis.expressions import bind

    definition = _named(spec, ctx, node)
    partition = tuple(bind(n, ctx) for n in definition.args.get("partition_by") or ())
    order = tuple(sort_keys(definition.args.get("order") or (), ctx))
    if definition.args.get("cluster"):
        order = tuple(Sort(p, True, True) for p in partition)
    _check(function, order, ctx, node)
    frame, bounds = _frame(function, definition.args.get("spec"), bool(order), ctx)
    return Window(function, partition, order, frame, bounds)


def _named(spec: exp.Expr, ctx: Context, node: exp.Expr) -> exp.Expr:
    alias = spec.args.get("alias")
    if alias is None:
        return spec
    found = ctx.windows.get(ctx.key(alias.args["this"]))
    if found is None:
        raise ctx.env.rejected(
            "MISSING_WINDOW_SPECIFICATION", f"Window specification `{alias.args['this']}` is not defined.", node
        )
    return _named(found, ctx, node)


def _check(function: Call, order: Sequence[Sort], ctx: Context, node: exp.Expr) -> None:
    category, name = function.function.category, function.function.name
    if category not in (Category.AGGREGATE, Category.WINDOW):
        raise ctx.env.rejected(
            "UNSUPPORTED_EXPR_FOR_WINDOW", f"Expression `{name}` not supported within a window function.", node
        )
    if function.distinct:
        raise ctx.env.rejected(
            "DISTINCT_WINDOW_FUNCTION_UNSUPPORTED",
            f"Distinct window functions are not supported: {pretty(function)}.",
            node,
        )
    if category is Category.WINDOW and not order:
        raise ctx.env.rejected(
            "WINDOW_FUNCTION_FRAME_NOT_ORDERED",
            f"The window function `{name}` requires an ORDER BY in its window.",
            node,
        )


def sort_keys(nodes: Sequence[exp.Expr], ctx: Context) -> list[Sort]:
    """ORDER BY items: ascending puts nulls first unless said otherwise, descending last."""
    from planproof.analysis.expressions import bind

    found = []
    for node in nodes:
        ordered = isinstance(node, exp.Ordered)
        descending = bool(ordered and node.args.get("desc"))
        nulls = node.args.get("nulls_first") if ordered else None
        child = bind(node.args["this"] if ordered else node, ctx)
        found.append(Sort(child, not descending, bool(nulls) if nulls is not None else not descending))
    return found


def _frame(function: Call, spec: exp.Expr | None, ordered: bool, ctx: Context) -> tuple[str, tuple[Expr, ...]]:
    """The frame as Spark prints it, and the expressions in it."""
    name = function.function.name
    if name in _RANKS:
        return _GROWING, ()
    if name == "cume_dist":
        return "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", ()
    if name in _OFFSETS:
        return _offset_frame(function), ()
    if spec is None:
        unbounded = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
        return ("RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW" if ordered else unbounded), ()
    low, first = _bound(spec.args["start"], spec.args.get("start_side"), ctx)
    end = spec.args.get("end")
    high, second = _bound(end, spec.args.get("end_side"), ctx) if end is not None else ("CURRENT ROW", ())
    return f"{spec.args['kind']} BETWEEN {low} AND {high}", first + second


def _offset_frame(function: Call) -> str:
    offset = function.args[1] if len(function.args) > 1 else Literal(1, function.type, "1")
    value = getattr(offset, "value", None)
    shown = str(value if function.function.name == "lead" else -value) if isinstance(value, int) else pretty(offset)
    return f"ROWS BETWEEN {shown} FOLLOWING AND {shown} FOLLOWING"


def _bound(bound: exp.Expr | str, side: str | None, ctx: Context) -> tuple[str, tuple[Expr, ...]]:
    from planproof.analysis.expressions import bind

    if isinstance(bound, str):
        return (f"{bound} {side}" if side else bound), ()
    found = bind(bound, ctx)
    return f"{pretty(found)} {side}", (found,)
