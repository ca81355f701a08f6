"""Operators between two values. Where one value is a date, a timestamp or an interval, Spark puts another operation in
the operator's place.

Source: `BinaryArithmeticWithDatetimeResolver`.
"""

from __future__ import annotations

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Context, bind, call
from planproof_engine.expr import Call, Expr, Literal, Mismatch
from planproof_engine.functions.bind import cast, cast_unless_equal, make_input_mismatch
from planproof_engine.functions.families.operators import compare_beyond_bigint
from planproof_engine.ground import evolve
from planproof_engine.sql import nodes as q


def bind_binary(symbol: str, left: Expr, right: Expr, ctx: Context, node: q.Node) -> Expr:
    """`left symbol right`, as Spark resolves it by the operands' types."""
    if symbol in _RESOLVERS and (_is_temporal(left.type) or _is_temporal(right.type)):
        _refuse_mixed(symbol, left, right, ctx, node)
        if (found := _RESOLVERS[symbol](left, right, ctx, node)) is not None:
            return found
    if (truth := _rewrite_truth(symbol, left, right, ctx, node)) is not None:
        return truth
    always = compare_beyond_bigint(symbol, left, right)
    return (
        call(symbol, [left, right], ctx, node) if always is None else Literal(always, dt.BOOLEAN, str(always).lower())
    )


def _rewrite_truth(symbol: str, left: Expr, right: Expr, ctx: Context, node: q.Node) -> Expr | None:
    """With ANSI off, `b = 1` becomes `b` and `b = 0` becomes `NOT b` (`BooleanEquality`). None for any other
    comparison."""
    if ctx.conf.ansi or symbol not in ("=", "<=>"):
        return None
    for value, number in ((left, right), (right, left)):
        if (
            value.type == dt.BOOLEAN
            and isinstance(number, Literal)
            and dt.is_numeric(number.type)
            and number.value in (0, 1)
        ):
            found = value if number.value == 1 else call("not", [value], ctx, node)
            return found if symbol == "=" else call("and", [call("isnotnull", [value], ctx, node), found], ctx, node)
    return None


def _refuse_mixed(symbol: str, left: Expr, right: Expr, ctx: Context, node: q.Node) -> None:
    """Refuses operands for which Spark finds no operation: intervals of two families, and NULL where its type stays
    open."""
    a, b = _family(left.type), _family(right.type)
    if symbol in "+-" and a and b and a != b and (symbol, b) != ("-", "ym"):
        raise ctx.env.make_mismatch_error(make_input_mismatch(0, left, "TIMESTAMP"), node)
    pairs = [(left, right), (right, left)] if symbol == "+" else [(left, right)] if symbol == "-" else []
    if any(x.type == dt.VOID and y.type == dt.CALENDAR_INTERVAL for x, y in pairs):
        raise ctx.env.make_mismatch_error(
            Mismatch("CAST_WITHOUT_SUGGESTION", 'cannot cast "TIMESTAMP" to "VOID".'), node
        )
    if symbol == "/" and left.type == dt.VOID and b:
        text = f'the operands of `/` have incompatible types ("VOID" and "{right.type.sql}").'
        raise ctx.env.make_mismatch_error(Mismatch("BINARY_OP_DIFF_TYPES", text), node)


def negate(operand: Expr, ctx: Context, node: q.Node) -> Expr:
    """Unary minus, printed `(- x)`; the function `negative` prints its name."""
    found = call("negative", [operand], ctx, node)
    return evolve(found, shown="-") if isinstance(found, Call) else found


def bind_try(node: q.Call, ctx: Context, name: str) -> Expr | None:
    """`try_add` and the like: over dates, times and intervals the operator's type, with NULL in place of an error.

    None where the call has not just two arguments: it is then bound, and refused, like any other call.
    """
    function = ctx.env.registry.find(name)
    plain = all(not isinstance(n, (q.Star, q.Kwarg, q.Lambda)) for n in node.arguments)
    modified = any((node.distinct, node.filter, node.nulls, node.within_group, node.over))
    if function is None or len(node.arguments) != 2 or not plain or modified:
        return None
    left, right = (bind(n, ctx) for n in node.arguments)
    if not (_is_temporal(left.type) or _is_temporal(right.type)) or function.tries not in _RESOLVERS:
        return evolve(call(name, [left, right], ctx, node, name), span=node.span)
    inner = bind_binary(function.tries, left, right, ctx, node)
    return Call(function, (left, right), inner.type, True, name, span=node.span)


def _is_temporal(t: dt.DataType) -> bool:
    return isinstance(t, (dt.Interval, dt.Time, dt.Nanos)) or t in (
        dt.DATE,
        dt.TIMESTAMP,
        dt.TIMESTAMP_NTZ,
        dt.CALENDAR_INTERVAL,
    )


def _is_day(t: dt.DataType) -> bool:
    return isinstance(t, dt.Interval) and t.start == t.end == "day"


def _is_day_time(t: dt.DataType) -> bool:
    return isinstance(t, dt.Interval) and not t.year_month


def _is_year_month(t: dt.DataType) -> bool:
    return isinstance(t, dt.Interval) and t.year_month


def _is_timestamp(t: dt.DataType) -> bool:
    return t in (dt.TIMESTAMP, dt.TIMESTAMP_NTZ) or isinstance(t, dt.Nanos)


def _add(left: Expr, right: Expr, ctx: Context, node: q.Node) -> Expr | None:
    found = _add_to(left, right, ctx, node)
    return found if found is not None else _add_to(right, left, ctx, node)


def _add_to(start: Expr, other: Expr, ctx: Context, node: q.Node) -> Expr | None:
    """`start + other` where `start` is the moment."""
    a, b = start.type, other.type
    if a == dt.DATE:
        return _add_to_date(start, other, ctx, node)
    if _is_timestamp(a) and b == dt.VOID and not ctx.lacks("timestamps plus NULL"):
        span = _DAY_SECOND if isinstance(a, dt.Nanos) else dt.CALENDAR_INTERVAL
        return call("timestamp_add_interval", [start, cast(other, span, ctx.conf)], ctx, node)
    if _is_timestamp(a) and _is_year_month(b):
        return call("timestamp_add_ym_interval", [start, other], ctx, node)
    if isinstance(a, dt.Time) and (_is_day_time(b) or b == dt.VOID):
        moved = cast_unless_equal(other, _DAY_SECOND, ctx.conf) if b == dt.VOID else other
        return call("time_add_interval", [start, moved], ctx, node)
    interval = b == dt.CALENDAR_INTERVAL or _is_day_time(b)
    if (
        (interval and not _is_temporal(a) and a != dt.VOID)
        or (b == dt.CALENDAR_INTERVAL and a != b)
        or (interval and _is_timestamp(a))
    ):
        moment = cast(start, dt.TIMESTAMP, ctx.conf) if dt.is_string(a) else start
        added = call("timestamp_add_interval", [moment, other], ctx, node)
        return added if added.type == a else cast(added, a, ctx.conf)
    return None


def _add_to_date(date: Expr, other: Expr, ctx: Context, node: q.Node) -> Expr | None:
    b = other.type
    if b == dt.VOID and not ctx.conf.before("4.1"):
        parts = [cast(date, dt.TIMESTAMP, ctx.conf), cast(other, dt.CALENDAR_INTERVAL, ctx.conf)]
        return call("timestamp_add_interval", parts, ctx, node)
    if _is_day(b):
        return call("date_add", [date, call("extractansiintervaldays", [other], ctx, node)], ctx, node)
    if _is_day_time(b):
        return call("timestamp_add_interval", [cast(date, dt.TIMESTAMP, ctx.conf), other], ctx, node)
    if _is_year_month(b):
        return call("date_add_ym_interval", [date, other], ctx, node)
    if b == dt.CALENDAR_INTERVAL:
        return call("date_add_interval", [date, other], ctx, node)
    if b == dt.STRING:
        raise ctx.env.make_mismatch_error(make_input_mismatch(1, other, _DAYS), node)
    return call("date_add", [date, other], ctx, node)


def _subtract(left: Expr, right: Expr, ctx: Context, node: q.Node) -> Expr | None:
    a, b = left.type, right.type
    if ctx.conf.ansi and dt.DATE in (a, b) and dt.STRING in (a, b):
        left, right = (cast_unless_equal(x, dt.DATE, ctx.conf) for x in (left, right))
        return call("subtract_dates", [left, right], ctx, node)
    if (times := _cast_to_times(left, right, ctx)) is not None:
        return call("subtract_times", times, ctx, node)
    if (_is_timestamp(a) and not isinstance(b, dt.Interval) and b != dt.CALENDAR_INTERVAL) or _is_timestamp(b):
        return call("subtract_timestamps", [left, right], ctx, node)
    if b == dt.DATE or (a == dt.DATE and b == dt.VOID and not ctx.conf.before("4.1")):
        return call("subtract_dates", [left, right], ctx, node)
    if a == dt.DATE and not isinstance(b, dt.Interval) and b != dt.CALENDAR_INTERVAL:
        if b == dt.STRING:
            raise ctx.env.make_mismatch_error(make_input_mismatch(1, right, _DAYS), node)
        return call("date_sub", [left, right], ctx, node)
    if a == dt.DATE and _is_day(b):
        days = negate(call("extractansiintervaldays", [right], ctx, node), ctx, node)
        return call("date_add", [left, days], ctx, node)
    if (
        isinstance(a, dt.Interval)
        or a in (dt.CALENDAR_INTERVAL, dt.VOID)
        or not (isinstance(b, dt.Interval) or b == dt.CALENDAR_INTERVAL)
    ):
        return None
    return _subtract_interval(left, right, ctx, node)


def _cast_to_times(left: Expr, right: Expr, ctx: Context) -> list[Expr] | None:
    """The operands as times of day where one is a time and the other is one too, NULL, or (with ANSI on) a string."""
    time = next((e.type for e in (left, right) if isinstance(e.type, dt.Time)), None)
    if time is None:
        return None
    text = ctx.conf.ansi and (dt.is_string(left.type) or dt.is_string(right.type))
    fits = text or all(isinstance(e.type, dt.Time) or e.type == dt.VOID for e in (left, right))
    return [e if isinstance(e.type, dt.Time) else cast(e, time, ctx.conf) for e in (left, right)] if fits else None


def _subtract_interval(left: Expr, right: Expr, ctx: Context, node: q.Node) -> Expr | None:
    """A moment less an interval: the sum with its negation, printed `moment - interval`."""
    summed = _add_to(left, right, ctx, node)
    if summed is None:
        return None
    if isinstance(left.type, dt.Time):
        return call("time_sub_interval", [left, right], ctx, node)
    shown = call("datetime_sub", [left, right], ctx, node)
    inner = evolve(shown, type=summed.type, nullable=summed.nullable) if isinstance(shown, Call) else shown
    return cast_unless_equal(inner, left.type, ctx.conf) if dt.is_string(left.type) else inner


def _multiply(left: Expr, right: Expr, ctx: Context, node: q.Node) -> Expr | None:
    for interval, number in ((left, right), (right, left)):
        if (name := _INTERVAL_TIMES.get(_family(interval.type))) is not None:
            return call(f"multiply_{name}", [interval, number], ctx, node)
    return None


def _divide(left: Expr, right: Expr, ctx: Context, node: q.Node) -> Expr | None:
    name = _INTERVAL_TIMES.get(_family(left.type))
    return call(f"divide_{name}", [left, right], ctx, node) if name is not None else None


def _family(t: dt.DataType) -> str:
    if t == dt.CALENDAR_INTERVAL:
        return "calendar"
    return "ym" if _is_year_month(t) else "dt" if _is_day_time(t) else ""


_DAYS = '("INT" or "SMALLINT" or "TINYINT")'
_DAY_SECOND = dt.Interval("day", "second")
_INTERVAL_TIMES = {"calendar": "interval", "ym": "ym_interval", "dt": "dt_interval"}
_RESOLVERS = {"+": _add, "-": _subtract, "*": _multiply, "/": _divide}
