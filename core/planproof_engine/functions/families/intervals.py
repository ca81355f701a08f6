"""Arithmetic of dates, timestamps and intervals, under the names of the expressions that operators become.

Source: `BinaryArithmeticWithDatetimeResolver`, `datetimeExpressions.scala`, `intervalExpressions.scala`.
"""

from __future__ import annotations

from typing import Any

from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, EITHER, Category, Coerce, TypeRule
from planproof_engine.expr.nodes import Expr
from planproof_engine.expr.traits import RAISES
from planproof_engine.functions.bind import cast, cast_unless_equal
from planproof_engine.functions.families.line import Table, binary, fn, lines, prints, type_of
from planproof_engine.functions.families.rules import must
from planproof_engine.types import (
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    Interval,
    Nanos,
    is_string,
)
from planproof_engine.types.coercion import find_tightest
from planproof_engine.types.kinds import ANY, ANY_MOMENT, DAY_TIME, NUMERIC, YEAR_MONTH, OneOf, accepts


def _stamps(args: list[Expr], conf: Conf) -> list[Expr]:
    """`SubtractTimestamps`: both sides take one timestamp type."""
    a, b = args[0].type, args[1].type
    if a == b:
        return args
    for given, other, at in ((a, b, 0), (b, a, 1)):
        if given in (DATE, VOID) or (is_string(given) and conf.ansi):
            target = other if accepts(ANY_MOMENT, other) else TIMESTAMP
            ready = list(args)
            ready[at] = cast(args[at], target, conf)
            return ready
    if isinstance(a, Nanos) or isinstance(b, Nanos):
        both = find_tightest(a, b, conf)
        return args if both is None else [cast_unless_equal(x, both, conf) for x in args]
    stamps = {a, b} == {TIMESTAMP, TIMESTAMP_NTZ}
    return [cast(x, TIMESTAMP_NTZ, conf) if stamps and x.type == TIMESTAMP else x for x in args]


_check_interval = must(
    lambda args, conf: not isinstance(args[0].type, Nanos) or args[1].type != CALENDAR_INTERVAL,
    "UNEXPECTED_INPUT_TYPE", 'The second parameter requires the "INTERVAL DAY TO SECOND" type, not "INTERVAL".',
)
"""To a timestamp of nanoseconds no calendar interval is added."""

_OPERATOR: dict[str, Any] = {"traits": RAISES, "category": Category.OPERATOR}
_TAKEN: dict[str, Any] = {"coerce": Coerce.EXPECTS, **_OPERATOR}
_YM, _DT, _DAYS = Interval("year", "month"), Interval("day", "second"), Interval("day", "day")


def _between(modern: Interval) -> TypeRule:
    """The type of a difference of moments: `SubtractTimestamps` and `SubtractDates` ask `spark.sql.legacy.interval`."""
    return lambda args, conf: CALENDAR_INTERVAL if conf.legacy_interval else modern


TABLE: Table = lines(
    fn("timestamp_add_interval", (ANY_MOMENT, OneOf((CALENDAR_INTERVAL, DAY_TIME))), type_of(0), EITHER, check=_check_interval, show=prints("{0} + {1}"), **_TAKEN, operator="+"),
    fn("timestamp_add_ym_interval", (ANY_MOMENT, YEAR_MONTH), type_of(0), EITHER, show=prints("{0} + {1}"), **_TAKEN, operator="+"),
    fn("date_add_ym_interval", (DATE, YEAR_MONTH), DATE, EITHER, show=prints("{0} + {1}"), **_TAKEN, operator="+"),
    fn("date_add_interval", (DATE, CALENDAR_INTERVAL), DATE, EITHER, show=prints("{0} + {1}"), **_TAKEN, operator="+"),
    fn("datetime_sub", (ANY, ANY), type_of(0), EITHER, show=prints("{0} - {1}"), **_TAKEN, operator="-"),
    fn("subtract_timestamps", (ANY_MOMENT, ANY_MOMENT), _between(_DT), EITHER, coerces=_stamps, show=binary("-"), **_TAKEN, operator="-"),
    fn("subtract_dates", (DATE, DATE), _between(_DAYS), EITHER, show=binary("-"), **_OPERATOR, operator="-"),
    fn("multiply_interval", (CALENDAR_INTERVAL, DOUBLE), CALENDAR_INTERVAL, ALWAYS, **_OPERATOR, operator="*"),
    fn("divide_interval", (CALENDAR_INTERVAL, DOUBLE), CALENDAR_INTERVAL, ALWAYS, **_OPERATOR, operator="/"),
    fn("multiply_ym_interval", (YEAR_MONTH, NUMERIC), _YM, EITHER, show=binary("*"), **_OPERATOR, operator="*"),
    fn("multiply_dt_interval", (DAY_TIME, NUMERIC), _DT, EITHER, show=binary("*"), **_OPERATOR, operator="*"),
    fn("divide_ym_interval", (YEAR_MONTH, NUMERIC), _YM, EITHER, show=binary("/"), **_OPERATOR, operator="/"),
    fn("divide_dt_interval", (DAY_TIME, NUMERIC), _DT, EITHER, show=binary("/"), **_OPERATOR, operator="/"),
)
