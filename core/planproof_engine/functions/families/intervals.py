"""Arithmetic of dates, timestamps and intervals, under the names of the expressions that operators become.

Source: `BinaryArithmeticWithDatetimeResolver`, `datetimeExpressions.scala`, `intervalExpressions.scala`.
"""

from __future__ import annotations

from typing import Any

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, EITHER, Category, Coerce, TypeRule
from planproof_engine.expr.nodes import Expr
from planproof_engine.expr.traits import RAISES
from planproof_engine.functions.bind import cast, cast_unless_equal
from planproof_engine.functions.families.line import Table, binary, fn, lines, prints, type_of
from planproof_engine.functions.families.rules import must
from planproof_engine.types.coercion import find_tightest
from planproof_engine.types.kinds import ANY, ANY_MOMENT, DAY_TIME, NUMERIC, YEAR_MONTH, OneOf, accepts


def _stamps(args: list[Expr], conf: Conf) -> list[Expr]:
    """`SubtractTimestamps`: both sides take one timestamp type."""
    a, b = args[0].type, args[1].type
    if a == b:
        return args
    for given, other, at in ((a, b, 0), (b, a, 1)):
        if given in (dt.DATE, dt.VOID) or (dt.is_string(given) and conf.ansi):
            target = other if accepts(ANY_MOMENT, other) else dt.TIMESTAMP
            ready = list(args)
            ready[at] = cast(args[at], target, conf)
            return ready
    if isinstance(a, dt.Nanos) or isinstance(b, dt.Nanos):
        both = find_tightest(a, b, conf)
        return args if both is None else [cast_unless_equal(x, both, conf) for x in args]
    stamps = {a, b} == {dt.TIMESTAMP, dt.TIMESTAMP_NTZ}
    return [cast(x, dt.TIMESTAMP_NTZ, conf) if stamps and x.type == dt.TIMESTAMP else x for x in args]


_check_interval = must(
    lambda args, conf: not isinstance(args[0].type, dt.Nanos) or args[1].type != dt.CALENDAR_INTERVAL,
    "UNEXPECTED_INPUT_TYPE", 'The second parameter requires the "INTERVAL DAY TO SECOND" type, not "INTERVAL".',
)
"""To a timestamp of nanoseconds no calendar interval is added."""

_OPERATOR: dict[str, Any] = {"traits": RAISES, "category": Category.OPERATOR}
_TAKEN: dict[str, Any] = {"coerce": Coerce.EXPECTS, **_OPERATOR}
_YM, _DT, _DAYS = dt.Interval("year", "month"), dt.Interval("day", "second"), dt.Interval("day", "day")


def _between(modern: dt.Interval) -> TypeRule:
    """The type of a difference of moments: `SubtractTimestamps` and `SubtractDates` ask `spark.sql.legacy.interval`."""
    return lambda args, conf: dt.CALENDAR_INTERVAL if conf.legacy_interval else modern


TABLE: Table = lines(
    fn("timestamp_add_interval", (ANY_MOMENT, OneOf((dt.CALENDAR_INTERVAL, DAY_TIME))), type_of(0), EITHER, check=_check_interval, show=prints("{0} + {1}"), **_TAKEN, operator="+"),
    fn("timestamp_add_ym_interval", (ANY_MOMENT, YEAR_MONTH), type_of(0), EITHER, show=prints("{0} + {1}"), **_TAKEN, operator="+"),
    fn("date_add_ym_interval", (dt.DATE, YEAR_MONTH), dt.DATE, EITHER, show=prints("{0} + {1}"), **_TAKEN, operator="+"),
    fn("date_add_interval", (dt.DATE, dt.CALENDAR_INTERVAL), dt.DATE, EITHER, show=prints("{0} + {1}"), **_TAKEN, operator="+"),
    fn("datetime_sub", (ANY, ANY), type_of(0), EITHER, show=prints("{0} - {1}"), **_TAKEN, operator="-"),
    fn("subtract_timestamps", (ANY_MOMENT, ANY_MOMENT), _between(_DT), EITHER, coerces=_stamps, show=binary("-"), **_TAKEN, operator="-"),
    fn("subtract_dates", (dt.DATE, dt.DATE), _between(_DAYS), EITHER, show=binary("-"), **_OPERATOR, operator="-"),
    fn("multiply_interval", (dt.CALENDAR_INTERVAL, dt.DOUBLE), dt.CALENDAR_INTERVAL, ALWAYS, **_OPERATOR, operator="*"),
    fn("divide_interval", (dt.CALENDAR_INTERVAL, dt.DOUBLE), dt.CALENDAR_INTERVAL, ALWAYS, **_OPERATOR, operator="/"),
    fn("multiply_ym_interval", (YEAR_MONTH, NUMERIC), _YM, EITHER, show=binary("*"), **_OPERATOR, operator="*"),
    fn("multiply_dt_interval", (DAY_TIME, NUMERIC), _DT, EITHER, show=binary("*"), **_OPERATOR, operator="*"),
    fn("divide_ym_interval", (YEAR_MONTH, NUMERIC), _YM, EITHER, show=binary("/"), **_OPERATOR, operator="/"),
    fn("divide_dt_interval", (DAY_TIME, NUMERIC), _DT, EITHER, show=binary("/"), **_OPERATOR, operator="/"),
)
