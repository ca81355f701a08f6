"""Dates and timestamps: now, calendar arithmetic, truncation, text, epochs and time zones.

Source: `datetimeExpressions.scala`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, EITHER, NEVER, Args, Category, Coerce, Mismatch, Optional
from planproof_engine.expr.nodes import Expr, Literal
from planproof_engine.expr.traits import ANSI_RAISES, PURE, RAISES, Evaluates, Magnitude
from planproof_engine.functions.bind import apply, cast
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.line import Table, fn, lines, lit, type_of
from planproof_engine.functions.families.rules import is_foldable, null_where_it_fails
from planproof_engine.types.kinds import (
    ANY,
    ANY_MOMENT,
    ANY_NANOS,
    ANY_STRING,
    ANY_TIMESTAMP,
    DECIMAL,
    INTEGRAL,
    NUMERIC,
    Kind,
    OneOf,
)

_DAYS = OneOf((dt.INT, dt.SHORT, dt.BYTE))
_PARSED = OneOf((ANY_STRING, dt.DATE, dt.TIMESTAMP, dt.TIMESTAMP_NTZ, ANY_NANOS))
_ZONED = OneOf((dt.TIMESTAMP, ANY_NANOS))
_TRUE = Literal(True, dt.BOOLEAN, "true")
_PATTERN = lit("yyyy-MM-dd HH:mm:ss")
_UNITS = (
    *("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR"),
    *("DAY", "DAYOFYEAR", "WEEK", "MONTH", "QUARTER", "YEAR"),
)


def _day_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """Under date_add and date_sub a timestamp or string becomes a date, and a string of days an int."""
    date, days = args
    if date.type in (dt.TIMESTAMP, dt.TIMESTAMP_NTZ) or dt.is_string(date.type):
        date = cast(date, dt.DATE, conf)
    if dt.is_string(days.type):
        days = cast(days, dt.INT, conf) if conf.ansi else _whole_days(days, conf)
    return [date, days]


def _whole_days(days: Expr, conf: Conf) -> Expr:
    """With ANSI off a string of days must be a constant, which Spark computes at once (`StringLiteralCoercion`)."""
    if not is_foldable(days):
        return days
    value = constant(days, "date_add")
    if value is None:
        return cast(days, dt.INT, conf)
    if str(value).strip().lstrip("+-").isdigit():
        return Literal(int(value), dt.INT, str(int(value)))
    raise Mismatch("SECOND_FUNCTION_ARGUMENT_NOT_INTEGER", "The second argument needs to be an integer.")


def _check_precision(args: Args, conf: Conf) -> Mismatch | None:
    """`current_timestamp(p)`: p is a constant; 6 means the ordinary type, 7 to 9 types that a setting turns on."""
    if not args:
        return None
    if not is_foldable(args[0]):
        return Mismatch("NON_FOLDABLE_ARGUMENT", "The parameter `precision` must be a foldable expression of INT type.")
    precision = constant(args[0], "current_timestamp")
    if type(precision) is not int:
        return Mismatch("UNEXPECTED_INPUT_TYPE", "The parameter `precision` must be an INT.", whole=True)
    if precision in (7, 8, 9) and not conf.timestamp_nanos:
        return Mismatch("FEATURE_NOT_ENABLED", "timestamps of nanoseconds are off.", whole=True)
    if not 6 <= precision <= 9:
        return Mismatch("INVALID_TIMESTAMP_PRECISION", f"{precision} is no precision of a timestamp.", whole=True)
    return None


_NANOS_OF_NOW = tuple(dt.Nanos(True, digits) for digits in (7, 8, 9))


def _now(name: str, returns: dt.DataType) -> Table:
    """Since Spark 4.3 a precision may be given."""
    own: dict[str, Any] = {"coerce": Coerce.NONE, "show": lambda call, pretty: "current_timestamp()" if call.type in _NANOS_OF_NOW else f"{call.function.name}()", "traits": PURE}


    def type_of_precision(args: Args, conf: Conf) -> dt.DataType:
        precision = constant(args[0], name) if args else 6
        return returns if precision == 6 else dt.Nanos(returns == dt.TIMESTAMP, precision)

    precise = fn(name, (Optional(ANY),), type_of_precision, NEVER, check=_check_precision, since="4.3", **own)
    return lines(precise, fn(name, (), returns, NEVER, until="4.3", **own))


_CURRENT_TIMESTAMP = _now("current_timestamp", dt.TIMESTAMP)
_CURRENT_TIMEZONE = fn("current_timezone", (), dt.STRING, NEVER, traits=PURE)


def _make_call(line: Table, conf: Conf) -> Expr:
    """A call of the line's function without arguments."""
    (_, function), *_ = line
    return apply(function, (), conf)


def _zone_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`convert_timezone(target, ts)` starts from the session's time zone."""
    if len(args) == 3:
        return args
    return [_make_call(_CURRENT_TIMEZONE, conf), *args]


def _check_unit(args: Args, conf: Conf) -> Mismatch | None:
    unit = constant(args[0], "timestampadd")
    return None if str(unit).upper() in _UNITS else Mismatch("INVALID_PARAMETER_VALUE.DATETIME_UNIT", f"no datetime unit: {unit}")


TIMESTAMP_NANOS = dt.Nanos(True, 9)
_NANOS = Kind("TIMESTAMP(9)", lambda t: isinstance(t, dt.Nanos), TIMESTAMP_NANOS)

def _since_epoch(name: str, magnitude: Magnitude) -> Table:
    """Of timestamps without a zone since Spark 4.3."""
    own: dict[str, Any] = {"coerce": Coerce.EXPECTS, "traits": replace(PURE, magnitude=magnitude)}
    both = fn(name, (ANY_MOMENT,), dt.LONG, EITHER, since="4.3", **own)
    return lines(both, fn(name, (dt.TIMESTAMP,), dt.LONG, EITHER, until="4.3", **own))


TABLE: Table = lines(
    fn("current_date curdate", (), dt.DATE, NEVER, traits=PURE),
    _CURRENT_TIMESTAMP,
    _now("now", dt.TIMESTAMP),
    _now("localtimestamp", dt.TIMESTAMP_NTZ),
    _CURRENT_TIMEZONE,
    fn("date_add", (dt.DATE, _DAYS), dt.DATE, EITHER, coerces=_day_operands, coerce=Coerce.EXPECTS, plain=True, traits=ANSI_RAISES),
    fn("dateadd", (dt.DATE, _DAYS), dt.DATE, EITHER, "date_add", coerces=_day_operands, coerce=Coerce.EXPECTS, traits=ANSI_RAISES),
    fn("date_sub", (dt.DATE, _DAYS), dt.DATE, EITHER, coerces=_day_operands, coerce=Coerce.EXPECTS, traits=ANSI_RAISES),
    fn("datediff date_diff", (dt.DATE, dt.DATE), dt.INT, EITHER, alias=True, traits=ANSI_RAISES),
    fn("add_months", (dt.DATE, dt.INT), dt.DATE, EITHER, traits=RAISES),
    fn("months_between", (dt.TIMESTAMP, dt.TIMESTAMP, Optional(dt.BOOLEAN, _TRUE)), dt.DOUBLE, EITHER, traits=ANSI_RAISES),
    fn("last_day", (dt.DATE,), dt.DATE, EITHER, traits=ANSI_RAISES),
    fn("next_day, trunc", (dt.DATE, ANY_STRING), dt.DATE, ALWAYS, traits=ANSI_RAISES),
    fn("dayname, monthname", (dt.DATE,), dt.STRING, EITHER, traits=ANSI_RAISES),
    fn("date_trunc", (ANY_STRING, _ZONED), type_of(1), ALWAYS, traits=replace(ANSI_RAISES, evaluates=Evaluates.FIRST)),
    fn("date_format", (_ZONED, ANY_STRING), dt.STRING, EITHER, traits=RAISES),
    fn("date_from_unix_date", (dt.INT,), dt.DATE, EITHER, traits=ANSI_RAISES),
    fn("unix_date", (dt.DATE,), dt.INT, EITHER, coerce=Coerce.EXPECTS, traits=PURE),
    _since_epoch("unix_seconds", Magnitude.SECONDS),
    _since_epoch("unix_millis", Magnitude.LARGE),
    _since_epoch("unix_micros", Magnitude.LARGE),
    # `SecondsToTimestamp`: a float may be no number, which is NULL.
    fn("timestamp_seconds", (NUMERIC,), dt.TIMESTAMP, lambda args, conf: args[0].nullable or args[0].type in (dt.FLOAT, dt.DOUBLE), coerce=Coerce.EXPECTS, traits=RAISES),
    fn("timestamp_millis, timestamp_micros", (INTEGRAL,), dt.TIMESTAMP, EITHER, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("unix_nanos", (_NANOS,), dt.Decimal(21, 0), EITHER, coerce=Coerce.EXPECTS, traits=PURE),
    fn("timestamp_nanos", (OneOf((INTEGRAL, DECIMAL)),), TIMESTAMP_NANOS, EITHER, coerce=Coerce.EXPECTS, traits=RAISES),
    # Without arguments it reads the clock.
    fn("unix_timestamp", (Optional(_PARSED), Optional(ANY_STRING, _PATTERN)), dt.LONG, null_where_it_fails, coerces=lambda args, conf: args or [_make_call(_CURRENT_TIMESTAMP, conf), _PATTERN], coerce=Coerce.EXPECTS, traits=replace(RAISES, magnitude=Magnitude.SECONDS)),
    fn("to_unix_timestamp", (_PARSED, Optional(ANY_STRING, _PATTERN)), dt.LONG, null_where_it_fails, coerce=Coerce.EXPECTS, traits=replace(RAISES, magnitude=Magnitude.SECONDS)),
    fn("from_unixtime", (dt.LONG, Optional(ANY_STRING, _PATTERN)), dt.STRING, ALWAYS, traits=RAISES),
    fn("from_utc_timestamp, to_utc_timestamp", (dt.TIMESTAMP, ANY_STRING), dt.TIMESTAMP, EITHER, traits=RAISES),
    fn("convert_timezone", (ANY_STRING, ANY_STRING, Optional(dt.TIMESTAMP_NTZ)), dt.TIMESTAMP_NTZ, EITHER, coerces=_zone_operands, traits=RAISES),
    fn("timestampadd", (ANY_STRING, dt.LONG, ANY_TIMESTAMP), type_of(2), EITHER, check=_check_unit, traits=RAISES, category=Category.OPERATOR),
    fn("timestampdiff", (ANY_STRING, dt.TIMESTAMP, dt.TIMESTAMP), dt.LONG, EITHER, check=_check_unit, traits=RAISES, category=Category.OPERATOR),
)
