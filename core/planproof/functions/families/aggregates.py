"""Aggregate and window functions. Source: `catalyst.expressions.aggregate`, `windowExpressions.scala`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planproof.conf import Conf
from planproof.expr.nodes import Call, Expr, Literal
from planproof.functions.families.line import Table, fn, lines, lit, same
from planproof.functions.signature import (
    ALWAYS,
    ANSI_RAISES,
    NEVER,
    PURE,
    VOLATILE,
    Args,
    Category,
    Check,
    Coerce,
    Many,
    Mismatch,
    Optional,
)
from planproof.types import BOOLEAN, BYTE, DOUBLE, INT, LONG, VOID, Array, DataType, Decimal, Interval, is_integral
from planproof.types.coercion import bounded_decimal
from planproof.types.kinds import ANY, DAY_TIME, NUMERIC, YEAR_MONTH, OneOf, is_orderable

Pretty = Callable[[Expr], str]
_SUMMABLE = OneOf((NUMERIC, YEAR_MONTH, DAY_TIME))


def _sum_type(args: Args, conf: Conf) -> DataType:
    given = args[0].type
    if isinstance(given, Decimal):
        return bounded_decimal(given.precision + 10, given.scale)
    if isinstance(given, Interval):
        return given
    return LONG if is_integral(given) else DOUBLE


def _average_type(args: Args, conf: Conf) -> DataType:
    given = args[0].type
    if isinstance(given, Decimal):
        return bounded_decimal(given.precision + 4, given.scale + 4)
    if isinstance(given, Interval):
        return Interval("year", "month") if given.year_month else Interval("day", "second")
    return DOUBLE


def _collected(args: Args, conf: Conf) -> DataType:
    return Array(args[0].type, False)


def _ordered(at: int) -> Check:
    def check(args: Args, conf: Conf) -> Mismatch | None:
        given = args[at].type
        if is_orderable(given):
            return None
        return Mismatch("INVALID_ORDERING_TYPE", f'The function does not support ordering on type "{given.sql}".')

    return check


def _offset_nullable(args: Args, conf: Conf) -> bool:
    """`FrameLessOffsetWindowFunction.nullable`: beyond the window stands the default, which is NULL unless said."""
    return args[0].nullable or len(args) < 3 or args[2].nullable


def _upper(call: Call, pretty: Pretty) -> str:
    return f"{call.shown.upper()}({', '.join(pretty(a) for a in call.args)})"


def _first_only(call: Call, pretty: Pretty) -> str:
    """The flag that ignores nulls is not printed."""
    return f"{call.shown}({pretty(call.args[0])})"


_AGG: dict[str, Any] = {"category": Category.AGGREGATE, "foldable": False}
_WIN: dict[str, Any] = {"category": Category.WINDOW, "foldable": False}
_NULL = Literal(None, VOID, "NULL")

TABLE: Table = lines(
    fn("count", (ANY, Many(ANY)), LONG, NEVER, effects=PURE, **_AGG),
    fn("count_if", (BOOLEAN,), LONG, NEVER, effects=PURE, **_AGG),
    fn("sum", (_SUMMABLE,), _sum_type, ALWAYS, effects=ANSI_RAISES, **_AGG),
    fn("avg mean", (_SUMMABLE,), _average_type, ALWAYS, alias=True, effects=ANSI_RAISES, **_AGG),
    fn("min", (ANY,), same(0), ALWAYS, coerce=Coerce.NONE, check=_ordered(0), effects=PURE, **_AGG),
    fn("max", (ANY,), same(0), ALWAYS, coerce=Coerce.NONE, check=_ordered(0), effects=PURE, **_AGG),
    fn("min_by", (ANY, ANY), same(0), ALWAYS, coerce=Coerce.NONE, check=_ordered(1), effects=PURE, **_AGG),
    fn("max_by", (ANY, ANY), same(0), ALWAYS, coerce=Coerce.NONE, check=_ordered(1), effects=PURE, **_AGG),
    fn("first first_value", (ANY, Optional(BOOLEAN)), same(0), ALWAYS, alias=True, show=_first_only, effects=VOLATILE, **_AGG),
    fn("last last_value", (ANY, Optional(BOOLEAN)), same(0), ALWAYS, alias=True, show=_first_only, effects=VOLATILE, **_AGG),
    fn("any_value", (ANY, Optional(BOOLEAN)), same(0), ALWAYS, show=_first_only, effects=VOLATILE, **_AGG),
    fn("collect_list array_agg", (ANY,), _collected, NEVER, coerce=Coerce.NONE, effects=VOLATILE, **_AGG),
    fn("collect_set", (ANY,), _collected, NEVER, coerce=Coerce.NONE, effects=VOLATILE, **_AGG),
    fn("approx_count_distinct", (ANY, Optional(DOUBLE)), LONG, NEVER, effects=PURE, **_AGG),
    fn("bool_and every", (BOOLEAN,), BOOLEAN, ALWAYS, alias=True, effects=PURE, **_AGG),
    fn("bool_or any some", (BOOLEAN,), BOOLEAN, ALWAYS, alias=True, effects=PURE, **_AGG),
    fn("stddev_samp stddev std", (DOUBLE,), DOUBLE, ALWAYS, alias=True, effects=PURE, **_AGG),
    fn("stddev_pop", (DOUBLE,), DOUBLE, ALWAYS, effects=PURE, **_AGG),
    fn("var_samp variance", (DOUBLE,), DOUBLE, ALWAYS, alias=True, effects=PURE, **_AGG),
    fn("var_pop", (DOUBLE,), DOUBLE, ALWAYS, effects=PURE, **_AGG),
    fn("row_number", (), INT, NEVER, effects=PURE, **_WIN),
    fn("rank", (), INT, NEVER, show=_upper, effects=PURE, **_WIN),
    fn("dense_rank", (), INT, NEVER, show=_upper, effects=PURE, **_WIN),
    fn("percent_rank", (), DOUBLE, NEVER, show=_upper, effects=PURE, **_WIN),
    fn("cume_dist", (), DOUBLE, NEVER, effects=PURE, **_WIN),
    fn("ntile", (Optional(INT, lit(1)),), INT, NEVER, effects=PURE, **_WIN),
    fn("lag", (ANY, Optional(INT, lit(1)), Optional(ANY, _NULL)), same(0), _offset_nullable, effects=PURE, **_WIN),
    fn("lead", (ANY, Optional(INT, lit(1)), Optional(ANY, _NULL)), same(0), _offset_nullable, effects=PURE, **_WIN),
    fn("grouping", (ANY,), BYTE, NEVER, coerce=Coerce.NONE, effects=PURE, **_AGG),
    fn("grouping_id", (Many(ANY),), LONG, NEVER, coerce=Coerce.NONE, effects=PURE, **_AGG),
    fn("nth_value", (ANY, INT, Optional(BOOLEAN)), same(0), ALWAYS, effects=PURE, **_AGG),
)
