"""Window specifications and sort keys. Source: `ResolveWindowFrame`, `WindowSpecDefinition`, `SpecifiedWindowFrame`."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from planproof_engine import types as dt
from planproof_engine.analysis.blocks.evidence import prove_over_rows
from planproof_engine.analysis.expressions import Context, bind
from planproof_engine.analysis.expressions.constants import fold
from planproof_engine.analysis.refusals.orderable import refuse_partition_key, refuse_sort_key, refuse_spread_key
from planproof_engine.expr import Call, Category, Expr, Frame, Signature, Sort, Window
from planproof_engine.expr.pretty import pretty
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.line import is_foldable
from planproof_engine.ground import record
from planproof_engine.sql import nodes as q
from planproof_engine.types.casts import can_cast

_WHOLE = "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_MOMENTS = (dt.DATE, dt.TIMESTAMP, dt.TIMESTAMP_NTZ)


def bind_window(function: Call, window: q.Window, ctx: Context, node: q.Node) -> Window:
    """The window expression; a named window is looked up in the block. Raises `AnalysisError` as Spark does."""
    definition = _find_definition(window, ctx, node)
    _refuse_unordered(function.function, definition, ctx, node)
    keys = definition.partition_by
    partition = tuple(bind(n, ctx) for n in keys)
    order = tuple(sort_keys(definition.order, ctx))
    if definition.cluster:
        order = tuple(Sort(p, True, True) for p in partition)
    _refuse_generator(function, ctx, node)
    spec = definition.frame
    frame, bounds = _make_frame(function, spec, order, ctx)
    if spec is not None:
        _check_frame(function, spec, order, frame, ctx, node)
    _check(function, ctx, node)
    if _takes_no_order(function) and (order or _has_moving_frame(spec, ctx)) and not ctx.env.lenient:
        text = f"Cannot specify ORDER BY or a window frame for {pretty(function)}."
        raise ctx.env.make_error("INVALID_WINDOW_SPEC_FOR_AGGREGATION_FUNC", text, node)
    for key, place in zip(partition, keys):
        refuse_partition_key(key, place, ctx.env)
    return Window(function, partition, order, frame, bounds, _prove(function, frame, ctx))


_WITH_CURRENT_ROW = frozenset(
    f"{kind} BETWEEN {low} AND {high}"
    for kind in ("ROWS", "RANGE")
    for low in ("UNBOUNDED PRECEDING", "CURRENT ROW")
    for high in ("CURRENT ROW", "UNBOUNDED FOLLOWING")
)
"""Frames that hold the current row and therefore are never empty."""


def _prove(function: Call, frame: str, ctx: Context) -> str | None:
    """Why the window is never null although its flag says that it may be: the frame holds the current row, whose value
    is not null."""
    if not function.nullable:
        return None
    if function.function.category is Category.WINDOW:
        return function.known
    return prove_over_rows(function, ctx.conf) if frame in _WITH_CURRENT_ROW else None


def _find_definition(spec: q.Window, ctx: Context, node: q.Node) -> q.Window:
    name = spec.reference
    if name is None:
        return spec
    found = ctx.windows.get(name.text)
    if found is None:
        text = f"Window specification `{name.text}` is not defined."
        raise ctx.env.make_error("MISSING_WINDOW_SPECIFICATION", text, node)
    return _find_definition(found, ctx, node)


def refuse_frame(function: Signature, window: q.Window, ctx: Context, node: q.Node) -> None:
    """Raises what is wrong with the frame of a window function, whatever its arguments are: `ResolveWindowOrder` and
    `ResolveWindowFrame` look at it before any type is checked."""
    definition = _find_definition(window, ctx, node)
    _refuse_unordered(function, definition, ctx, node)
    own = function.traits.frame
    by_query = isinstance(node, q.Call) and any(offset.holds(q.Query) for offset in node.arguments[1:2])
    if own is Frame.OFFSET and by_query and not ctx.conf.before("4.0"):
        # The frame is made of the subquery as it is written, and stays so when the subquery is resolved.
        _refuse_other_frame(function, "", None, ctx, node)
    if own is None or definition.frame is None:
        return
    shown, _ = _make_written_frame(definition.frame, ctx)
    _refuse_other_frame(function, shown, None if own is Frame.OFFSET else own.value, ctx, node)


def _refuse_unordered(function: Signature, definition: q.Window, ctx: Context, node: q.Node) -> None:
    if function.category is Category.WINDOW and not (definition.order or definition.cluster):
        text = f"The window function `{function.name}` requires an ORDER BY in its window."
        raise ctx.env.make_error("WINDOW_FUNCTION_FRAME_NOT_ORDERED", text, node)


def _refuse_other_frame(function: Signature, shown: str, required: str | None, ctx: Context, node: q.Node) -> None:
    """Refuses a frame other than the one that the function has by itself; `lag` and its kin take none."""
    if shown != required and function.traits.frame is Frame.OFFSET:
        text = f"Cannot specify window frame for {function.name} function."
        raise ctx.env.make_error("_LEGACY_ERROR_TEMP_1035", text, node)
    if shown != required:
        raise ctx.env.make_error("_LEGACY_ERROR_TEMP_1036", f"Window frame {shown} must match {required}.", node)


def _refuse_generator(function: Call, ctx: Context, node: q.Node) -> None:
    if function.function.category is Category.GENERATOR:
        text = f'A generator cannot stand inside an expression, but found "{function.function.name}" in a window.'
        raise ctx.env.make_error("UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS", text, node)


def _check(function: Call, ctx: Context, node: q.Node) -> None:
    category, name = function.function.category, function.function.name
    if category not in (Category.AGGREGATE, Category.WINDOW) and not ctx.env.lenient:
        said = f"Expression `{name}` not supported within a window function."
        raise ctx.env.make_error("UNSUPPORTED_EXPR_FOR_WINDOW", said, node)
    if function.distinct:
        text = f"Distinct window functions are not supported: {pretty(function)}."
        raise ctx.env.make_error("DISTINCT_WINDOW_FUNCTION_UNSUPPORTED", text, node)


def _takes_no_order(function: Call) -> bool:
    """Aggregates that sort by themselves (`SupportsOrderingWithinGroup`), and the median."""
    modifiers = function.function.modifiers
    if "order" in modifiers:
        return bool(function.order)
    return function.function.name == "median" or "order first" in modifiers


def _has_moving_frame(spec: q.WindowFrame | None, ctx: Context) -> bool:
    """Whether the query writes a frame that is not the whole partition."""
    return spec is not None and not _make_written_frame(spec, ctx)[0].endswith(_WHOLE)


def _check_frame(
    function: Call, spec: q.WindowFrame, order: Sequence[Sort], required: str, ctx: Context, node: q.Node
) -> None:
    """Checks a frame that the query writes: it must be the one that the function requires, and fit the sort keys."""
    own = function.function.traits.frame
    shown, _ = _make_written_frame(spec, ctx)
    if own is not None:
        _refuse_other_frame(function.function, shown, required, ctx, node)
    ends = _bind_ends(spec, order, ctx)
    _check_bounds(spec, ends, shown, ctx, node)
    if spec.kind == "RANGE":
        _check_range(order, [e.type for e in ends if isinstance(e, _Distance)], shown, ctx, node)


@record(frozen=True, slots=True)
class _Distance:
    """A bound that is a value: its type after Spark cast it to the sort key's, and how far it lies behind the current
    row, where that is known."""

    type: dt.DataType
    rows: float | None


_End = _Distance | str
"""A bound of a frame: a distance, or `CURRENT ROW`, `UNBOUNDED PRECEDING`, `UNBOUNDED FOLLOWING`."""


def _bind_ends(spec: q.WindowFrame, order: Sequence[Sort], ctx: Context) -> tuple[_End, _End]:
    """Both bounds (`TypeCoercion.WindowFrameCoercion`)."""
    high = "CURRENT ROW" if spec.end is None else _bind_end(spec.end, spec.end_side, spec, order, ctx)
    return _bind_end(spec.start, spec.start_side, spec, order, ctx), high


def _bind_end(bound: q.Node | str, side: str | None, spec: q.WindowFrame, order: Sequence[Sort], ctx: Context) -> _End:
    if isinstance(bound, str):
        return f"{bound} {side}" if side else bound
    found = bind(bound, ctx)
    key = _single_key(spec, order)
    # The sign that PRECEDING puts before a text makes it a number (`ImplicitTypeCasts` of `UnaryMinus`).
    given = dt.DOUBLE if side == "PRECEDING" and dt.is_string(found.type) else found.type
    return _Distance(key if key is not None and _is_cast(given, key, ctx) else given, _count_rows(found, side))


def _count_rows(bound: Expr, side: str | None) -> float | None:
    value = getattr(fold(bound), "value", None)
    if not isinstance(value, (int, float, Decimal)) or isinstance(value, bool):
        return None
    return -float(value) if side == "PRECEDING" else float(value)


def _check_bounds(spec: q.WindowFrame, ends: tuple[_End, _End], shown: str, ctx: Context, node: q.Node) -> None:
    """`SpecifiedWindowFrame.checkInputDataTypes`. `CURRENT ROW AND 1 PRECEDING` is a frame without rows, which it
    takes."""
    low, high = ends
    if any(isinstance(end, _Distance) and not _is_taken(end.type, spec.kind) for end in ends):
        condition = "DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE"
        text = f"The bounds of the frame {shown} are no integers, numbers or intervals."
    elif low == "UNBOUNDED FOLLOWING" or high == "UNBOUNDED PRECEDING":
        condition = "DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_INVALID_BOUND"
        text = f"The bounds of the frame {shown} leave nothing between them."
    elif isinstance(low, str) or isinstance(high, str):
        return
    elif low.type != high.type:
        condition = "DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_DIFF_TYPES"
        text = "The bounds of a window frame must have one type."
    elif low.rows is not None and high.rows is not None and low.rows > high.rows:
        condition = "DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_WRONG_COMPARISON"
        text = f"The lower bound of the frame {shown} must be less than or equal to the upper bound."
    else:
        return
    raise ctx.env.make_error(condition, text, node)


def _is_taken(given: dt.DataType, kind: str) -> bool:
    if kind == "ROWS":
        return given == dt.INT
    return dt.is_numeric(given) or isinstance(given, dt.Interval) or given == dt.CALENDAR_INTERVAL


def _check_range(
    order: Sequence[Sort], distances: Sequence[dt.DataType], shown: str, ctx: Context, node: q.Node
) -> None:
    """`WindowSpecDefinition.checkInputDataTypes`: a range has a sort key, and one of values a single one that has
    distances of this type."""
    if not order and not shown.endswith(_WHOLE):
        condition = "DATATYPE_MISMATCH.RANGE_FRAME_WITHOUT_ORDER"
        text = "A range window frame needs an ORDER BY."
    elif distances and len(order) > 1:
        condition = "DATATYPE_MISMATCH.RANGE_FRAME_MULTI_ORDER"
        text = "A range window frame with value boundaries takes one sort key."
    elif distances and not _is_valid_frame_type(order[0].type, distances[0], ctx):
        condition = "DATATYPE_MISMATCH.RANGE_FRAME_INVALID_TYPE"
        text = f'A window frame over "{order[0].type.sql}" cannot reach "{distances[0].sql}" far.'
    else:
        return
    raise ctx.env.make_error(condition, text, node)


def _is_valid_frame_type(key: dt.DataType, given: dt.DataType, ctx: Context) -> bool:
    """`WindowSpecDefinition.isValidFrameType`."""
    year_month = isinstance(given, dt.Interval) and given.year_month
    if key == dt.DATE:
        days = given == dt.Interval("day", "day") and not ctx.lacks("days in frames over dates")
        return given == dt.INT or days or year_month
    if key in _MOMENTS:
        return isinstance(given, dt.Interval) or given == dt.CALENDAR_INTERVAL
    return given == key


def sort_keys(nodes: Sequence[q.Node], ctx: Context) -> list[Sort]:
    """ORDER BY items: ascending puts nulls first unless said otherwise, descending last."""
    found = []
    for node in nodes:
        given = node if isinstance(node, q.Ordered) else q.Ordered(node)
        child = bind(given.key, ctx)
        if ctx.clause in ("CLUSTER BY", "DISTRIBUTE BY"):
            refuse_spread_key(child, node, ctx.env)
        if ctx.clause != "DISTRIBUTE BY":
            refuse_sort_key(child, node, ctx.env)
        nulls_first = not given.desc if given.nulls_first is None else given.nulls_first
        found.append(Sort(child, not given.desc, nulls_first))
    return found


def _make_frame(
    function: Call, spec: q.WindowFrame | None, order: Sequence[Sort], ctx: Context
) -> tuple[str, tuple[Expr, ...]]:
    """The frame as Spark prints it, and the expressions in it."""
    if (own := function.function.traits.frame) is not None:
        return _print_offset_frame(function) if own is Frame.OFFSET else own.value, ()
    if spec is None:
        unbounded = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
        return ("RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW" if order else unbounded), ()
    return _make_written_frame(spec, ctx, order)


def _make_written_frame(spec: q.WindowFrame, ctx: Context, order: Sequence[Sort] = ()) -> tuple[str, tuple[Expr, ...]]:
    key = _single_key(spec, order)
    low, first = _bind_bound(spec.start, spec.start_side, ctx, key)
    high, second = _bind_bound(spec.end, spec.end_side, ctx, key) if spec.end is not None else ("CURRENT ROW", ())
    return f"{spec.kind} BETWEEN {low} AND {high}", first + second


def _single_key(spec: q.WindowFrame, order: Sequence[Sort]) -> dt.DataType | None:
    """The type of the sort key to which Spark casts the bounds."""
    return order[0].type if spec.kind == "RANGE" and len(order) == 1 else None


def _is_cast(bound: dt.DataType, key: dt.DataType | None, ctx: Context) -> bool:
    return key is not None and key not in _MOMENTS and bound != key and can_cast(bound, key, ansi=ctx.conf.ansi)


def _print_offset_frame(function: Call) -> str:
    """`lag` has its constant offset negated and computed, `lead` has it as it is written."""
    offset = function.args[1]
    if function.function.name == "lead" or not is_foldable(offset):
        bound = f"{pretty(offset)} FOLLOWING"
        if isinstance(offset, Call) and offset.function.name == "negative":
            bound = f"{pretty(offset.args[0])} PRECEDING"
    else:
        value = constant(offset, "lag")
        bound = f"{'NULL' if value is None else -value} FOLLOWING"
    return f"ROWS BETWEEN {bound} AND {bound}"


def _bind_bound(
    bound: q.Node | str, side: str | None, ctx: Context, key: dt.DataType | None
) -> tuple[str, tuple[Expr, ...]]:
    """The bound as Spark prints it, and the expressions in it. Where Spark casts a bound to the sort key's type, it
    prints `3 PRECEDING` as `(- 3) FOLLOWING`."""
    if isinstance(bound, str):
        return (f"{bound} {side}" if side else bound), ()
    found = bind(bound, ctx)
    cast = _is_cast(found.type, key, ctx)
    return f"(- {pretty(found)}) FOLLOWING" if cast and side == "PRECEDING" else f"{pretty(found)} {side}", (found,)
