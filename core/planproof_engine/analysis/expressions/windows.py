"""Window specifications and sort keys. Source: `ResolveWindowFrame`, `WindowSpecDefinition`, `SpecifiedWindowFrame`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from planproof_engine.analysis.blocks.evidence import never_null_over_rows
from planproof_engine.analysis.context import Context
from planproof_engine.analysis.expressions.binding import bind
from planproof_engine.analysis.refusals.orderable import refuse_partition_key, refuse_sort_key
from planproof_engine.expr import Call, Expr, Literal, Sort, Window
from planproof_engine.expr.function import Category, Signature
from planproof_engine.expr.pretty import pretty
from planproof_engine.expr.traits import Frame
from planproof_engine.sql import nodes as q
from planproof_engine.types import (
    CALENDAR_INTERVAL,
    DATE,
    INT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Array,
    DataType,
    Interval,
    Struct,
    Time,
    is_numeric,
    is_string,
)
from planproof_engine.types.casts import can_cast

_WHOLE = "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_MOMENTS = (DATE, TIMESTAMP, TIMESTAMP_NTZ)


def over(function: Call, window: q.Window, ctx: Context, node: q.Node) -> Window:
    """The window expression; a named window is looked up in the block. Raises `AnalysisError` as Spark does."""
    definition = _named(window, ctx, node)
    _refuse_unordered(function.function, definition, ctx, node)
    keys = definition.partition_by
    partition = tuple(bind(n, ctx) for n in keys)
    for key, place in zip(partition, keys):
        refuse_partition_key(key, place, ctx.env)
    order = tuple(sort_keys(definition.order, ctx))
    if definition.cluster:
        order = tuple(Sort(p, True, True) for p in partition)
    _check(function, ctx, node)
    spec = definition.frame
    frame, bounds = _frame(function, spec, order, ctx)
    if spec is not None:
        _check_frame(function, spec, order, frame, ctx, node)
    if _takes_no_order(function) and (order or _moving(spec, ctx)):
        raise ctx.env.rejected(
            "INVALID_WINDOW_SPEC_FOR_AGGREGATION_FUNC",
            f"Cannot specify ORDER BY or a window frame for {pretty(function)}.",
            node,
        )
    return Window(function, partition, order, frame, bounds, _evidence(function, frame, ctx))


_WITH_CURRENT_ROW = frozenset(
    f"{kind} BETWEEN {low} AND {high}"
    for kind in ("ROWS", "RANGE")
    for low in ("UNBOUNDED PRECEDING", "CURRENT ROW")
    for high in ("CURRENT ROW", "UNBOUNDED FOLLOWING")
)
"""Frames that hold the current row and therefore are never empty."""


def _evidence(function: Call, frame: str, ctx: Context) -> str | None:
    """Why the window is never null although its flag says that it may be: the frame holds the current row, whose value
    is not null."""
    if not function.nullable:
        return None
    if function.function.category is Category.WINDOW:
        return function.known
    return never_null_over_rows(function, ctx.conf) if frame in _WITH_CURRENT_ROW else None


def _named(spec: q.Window, ctx: Context, node: q.Node) -> q.Window:
    name = spec.reference
    if name is None:
        return spec
    found = ctx.windows.get(ctx.key(name.text))
    if found is None:
        raise ctx.env.rejected(
            "MISSING_WINDOW_SPECIFICATION", f"Window specification `{name.text}` is not defined.", node
        )
    return _named(found, ctx, node)


def refuse_frame(function: Signature, window: q.Window, ctx: Context, node: q.Node) -> None:
    """Raises what is wrong with the frame of a window function, whatever its arguments are: `ResolveWindowOrder` and
    `ResolveWindowFrame` look at it before any type is checked."""
    definition = _named(window, ctx, node)
    _refuse_unordered(function, definition, ctx, node)
    own = function.traits.frame
    if own is None or definition.frame is None:
        return
    shown, _ = _written(definition.frame, ctx)
    if own is Frame.OFFSET:
        raise _foreign_frame(function, ctx, node)
    if shown != own.value:
        raise _other_frame(shown, own.value, ctx, node)


def _refuse_unordered(function: Signature, definition: q.Window, ctx: Context, node: q.Node) -> None:
    if function.category is Category.WINDOW and not (definition.order or definition.cluster):
        raise ctx.env.rejected(
            "WINDOW_FUNCTION_FRAME_NOT_ORDERED",
            f"The window function `{function.name}` requires an ORDER BY in its window.",
            node,
        )


def _foreign_frame(function: Signature, ctx: Context, node: q.Node) -> Exception:
    text = f"Cannot specify window frame for {function.name} function."
    return ctx.env.rejected("_LEGACY_ERROR_TEMP_1035", text, node)


def _other_frame(shown: str, required: str, ctx: Context, node: q.Node) -> Exception:
    return ctx.env.rejected("_LEGACY_ERROR_TEMP_1036", f"Window frame {shown} must match {required}.", node)


def _check(function: Call, ctx: Context, node: q.Node) -> None:
    category, name = function.function.category, function.function.name
    if category is Category.GENERATOR:
        raise ctx.env.rejected(
            "UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS",
            f'A generator cannot stand inside an expression, but found "{name}" in a window.',
            node,
        )
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


def _takes_no_order(function: Call) -> bool:
    """Aggregates that sort by themselves (`SupportsOrderingWithinGroup`), and the median."""
    modifiers = function.function.modifiers
    if "order" in modifiers:
        return bool(function.order)
    return function.function.name == "median" or "order first" in modifiers


def _moving(spec: q.WindowFrame | None, ctx: Context) -> bool:
    """Whether the query writes a frame that is not the whole partition."""
    return spec is not None and not _written(spec, ctx)[0].endswith(_WHOLE)


def _check_frame(
    function: Call, spec: q.WindowFrame, order: Sequence[Sort], required: str, ctx: Context, node: q.Node
) -> None:
    """Checks a frame that the query writes: it must be the one that the function requires, and fit the sort keys."""
    own = function.function.traits.frame
    shown, bounds = _written(spec, ctx)
    if own is Frame.OFFSET and shown != required:
        raise _foreign_frame(function.function, ctx, node)
    if own is not None and shown != required:
        raise _other_frame(shown, required, ctx, node)
    if spec.kind == "RANGE" and bounds:
        _check_range(order, ctx, node)
        _check_distances(order[0].type, bounds, ctx, node)
    elif any(bound.type != INT for bound in bounds):
        text = "The bounds of a window frame over rows are integers."
        raise ctx.env.rejected("DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE", text, node)
    if _is_unbounded_away(spec):
        text = f"The bounds of the frame {shown} leave nothing between them."
        raise ctx.env.rejected("DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_INVALID_BOUND", text, node)
    # Bounds over anything but times are cast to the type of the sort key.
    if spec.kind == "RANGE" and bounds and order[0].type in _MOMENTS and len({bound.type for bound in bounds}) > 1:
        text = "The bounds of a window frame must have one type."
        raise ctx.env.rejected("DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_DIFF_TYPES", text, node)
    if _upside_down(spec):
        raise ctx.env.rejected(
            "DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_WRONG_COMPARISON",
            f"The lower bound of the frame {shown} must be less than or equal to the upper bound.",
            node,
        )


def _check_range(order: Sequence[Sort], ctx: Context, node: q.Node) -> None:
    """Checks that a range of values has one sort key, and that the key's values have distances: numbers, times,
    intervals."""
    if not order:
        reason, text = "RANGE_FRAME_WITHOUT_ORDER", "A range window frame needs an ORDER BY."
    elif len(order) > 1:
        reason, text = "RANGE_FRAME_MULTI_ORDER", "A range window frame with value boundaries takes one sort key."
    elif not (is_numeric(order[0].type) or isinstance(order[0].type, (Interval, Time)) or order[0].type in _MOMENTS):
        nested = isinstance(order[0].type, (Array, Struct))
        reason = "RANGE_FRAME_INVALID_TYPE" if nested else "SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE"
        text = f'A range window frame cannot be over "{order[0].type.sql}".'
    else:
        return
    raise ctx.env.rejected(f"DATATYPE_MISMATCH.{reason}", text, node)


def _check_distances(key: DataType, bounds: Sequence[Expr], ctx: Context, node: q.Node) -> None:
    """Checks the bounds of a range: they have the sort key's type, or are days or an interval for a date or
    timestamp."""
    for bound in bounds:
        given = bound.type
        if not (is_numeric(given) or is_string(given) or isinstance(given, Interval) or given == CALENDAR_INTERVAL):
            reason = "SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE"
        elif not _reaches(key, given, ctx):
            reason = "RANGE_FRAME_INVALID_TYPE"
        else:
            continue
        text = f'A window frame over "{key.sql}" cannot reach "{given.sql}" far.'
        raise ctx.env.rejected(f"DATATYPE_MISMATCH.{reason}", text, node)


def _reaches(key: DataType, given: DataType, ctx: Context) -> bool:
    """`WindowSpecDefinition.isValidFrameType`, after a bound that can be cast to the key's type was cast."""
    year_month = isinstance(given, Interval) and given.year_month
    if key == DATE:
        days = given == Interval("day", "day") and not ctx.lacks("days in frames over dates")
        return given == INT or days or year_month
    if key in _MOMENTS:
        return isinstance(given, Interval) or given == CALENDAR_INTERVAL
    return given == key or can_cast(given, key, ansi=ctx.conf.ansi)


def _is_unbounded_away(spec: q.WindowFrame) -> bool:
    """Whether the frame starts behind the last row, or ends before the first."""
    if _place(spec.start, spec.start_side) == math.inf:
        return True
    return spec.end is not None and _place(spec.end, spec.end_side) == -math.inf


def _upside_down(spec: q.WindowFrame) -> bool:
    """Whether both bounds are numbers, and the lower lies above the upper. `CURRENT ROW AND 1 PRECEDING` is a frame
    without rows, which Spark takes (`SpecifiedWindowFrame.checkInputDataTypes`)."""
    low = _place(spec.start, spec.start_side)
    high = None if spec.end is None else _place(spec.end, spec.end_side)
    return low is not None and high is not None and low > high


def _place(bound: q.Node | str, side: str | None) -> float | None:
    sign = -1 if side == "PRECEDING" else 1
    if isinstance(bound, str):
        return None if bound == "CURRENT ROW" else sign * math.inf
    if isinstance(bound, q.Literal) and not bound.is_string:
        try:
            return sign * float(bound.text)
        except ValueError:
            return None
    return None


def sort_keys(nodes: Sequence[q.Node], ctx: Context) -> list[Sort]:
    """ORDER BY items: ascending puts nulls first unless said otherwise, descending last."""
    found = []
    for node in nodes:
        given = node if isinstance(node, q.Ordered) else q.Ordered(node)
        child = bind(given.key, ctx)
        if ctx.clause != "DISTRIBUTE BY":
            refuse_sort_key(child, node, ctx.env)
        nulls_first = not given.desc if given.nulls_first is None else given.nulls_first
        found.append(Sort(child, not given.desc, nulls_first))
    return found


def _frame(
    function: Call, spec: q.WindowFrame | None, order: Sequence[Sort], ctx: Context
) -> tuple[str, tuple[Expr, ...]]:
    """The frame as Spark prints it, and the expressions in it."""
    own = function.function.traits.frame
    if own is not None:
        return _offset_frame(function) if own is Frame.OFFSET else own.value, ()
    if spec is None:
        unbounded = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
        return ("RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW" if order else unbounded), ()
    return _written(spec, ctx, order)


def _written(spec: q.WindowFrame, ctx: Context, order: Sequence[Sort] = ()) -> tuple[str, tuple[Expr, ...]]:
    key = order[0].type if spec.kind == "RANGE" and len(order) == 1 else None
    low, first = _bound(spec.start, spec.start_side, ctx, key)
    high, second = _bound(spec.end, spec.end_side, ctx, key) if spec.end is not None else ("CURRENT ROW", ())
    return f"{spec.kind} BETWEEN {low} AND {high}", first + second


def _offset_frame(function: Call) -> str:
    offset = function.args[1] if len(function.args) > 1 else Literal(1, function.type, "1")
    value = getattr(offset, "value", None)
    shown = str(value if function.function.name == "lead" else -value) if isinstance(value, int) else pretty(offset)
    return f"ROWS BETWEEN {shown} FOLLOWING AND {shown} FOLLOWING"


def _bound(bound: q.Node | str, side: str | None, ctx: Context, key: DataType | None) -> tuple[str, tuple[Expr, ...]]:
    """The bound as Spark prints it, and the expressions in it. Where Spark casts a bound to the sort key's type, it
    prints `3 PRECEDING` as `(- 3) FOLLOWING`."""
    if isinstance(bound, str):
        return (f"{bound} {side}" if side else bound), ()
    found = bind(bound, ctx)
    cast = (
        key is not None and key not in _MOMENTS and found.type != key and can_cast(found.type, key, ansi=ctx.conf.ansi)
    )
    return f"(- {pretty(found)}) FOLLOWING" if cast and side == "PRECEDING" else f"{pretty(found)} {side}", (found,)
