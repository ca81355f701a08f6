"""Dates and timestamps: now, calendar arithmetic, truncation, text, epochs and time zones.

Source: `datetimeExpressions.scala`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, EITHER, NEVER, Args, Category, Coerce, Mismatch, Optional
from planproof_engine.expr.nodes import Call, Expr, Literal
from planproof_engine.expr.traits import ANSI_RAISES, PURE, RAISES, Evaluates, Magnitude
from planproof_engine.functions.bind import apply, cast
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.line import Table, fn, lines, lit, type_of
from planproof_engine.functions.families.rules import is_foldable, null_where_it_fails
from planproof_engine.types import (
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    Decimal,
    Nanos,
    is_string,
)
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

Pretty = Callable[[Expr], str]

_DAYS = OneOf((INT, SHORT, BYTE))
_PARSED = OneOf((ANY_STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ, ANY_NANOS))
_ZONED = OneOf((TIMESTAMP, ANY_NANOS))
_TRUE = Literal(True, BOOLEAN, "true")
_PATTERN = lit("yyyy-MM-dd HH:mm:ss")
_UNITS = (
    *("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR"),
    *("DAY", "DAYOFYEAR", "WEEK", "MONTH", "QUARTER", "YEAR"),
)


def _day_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """Under date_add and date_sub a timestamp or string becomes a date, and a string of days an int."""
    date, days = args
    if date.type in (TIMESTAMP, TIMESTAMP_NTZ) or is_string(date.type):
        date = cast(date, DATE, conf)
    if is_string(days.type):
        days = cast(days, INT, conf) if conf.ansi else _whole_days(days, conf)
    return [date, days]


def _whole_days(days: Expr, conf: Conf) -> Expr:
    """With ANSI off a string of days must be a constant, which Spark computes at once (`StringLiteralCoercion`)."""
    if not is_foldable(days):
        return days
    value = constant(days, "date_add")
    if value is None:
        return cast(days, INT, conf)
    if str(value).strip().lstrip("+-").isdigit():
        return Literal(int(value), INT, str(int(value)))
    raise Mismatch("SECOND_FUNCTION_ARGUMENT_NOT_INTEGER", "The second argument needs to be an integer.")


def _epoch_seconds(args: Args, conf: Conf) -> bool:
    """`SecondsToTimestamp`: a float may be no number, which is NULL."""
    return args[0].nullable or args[0].type in (FLOAT, DOUBLE)


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


_NANOS_OF_NOW = tuple(Nanos(True, digits) for digits in (7, 8, 9))


def _without_arguments(call: Call, pretty: Pretty) -> str:
    return "current_timestamp()" if call.type in _NANOS_OF_NOW else f"{call.function.name}()"


def _now(name: str, returns: DataType) -> Table:
    """Since Spark 4.3 a precision may be given."""
    own: dict[str, Any] = {"coerce": Coerce.NONE, "show": _without_arguments, "traits": PURE}


    def type_of_precision(args: Args, conf: Conf) -> DataType:
        precision = constant(args[0], name) if args else 6
        return returns if precision == 6 else Nanos(returns == TIMESTAMP, precision)

    precise = fn(name, (Optional(ANY),), type_of_precision, NEVER, check=_check_precision, since="4.3", **own)
    return lines(precise, fn(name, (), returns, NEVER, until="4.3", **own))


_CURRENT_TIMESTAMP = _now("current_timestamp", TIMESTAMP)
_CURRENT_TIMEZONE = fn("current_timezone", (), STRING, NEVER, traits=PURE)


def _make_call(line: Table, conf: Conf) -> Expr:
    """A call of the line's function without arguments."""
    (_, function), *_ = line
    return apply(function, (), conf)


def _read_now(args: list[Expr], conf: Conf) -> list[Expr]:
    """`unix_timestamp()` reads the clock."""
    return args or [_make_call(_CURRENT_TIMESTAMP, conf), _PATTERN]


def _zone_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`convert_timezone(target, ts)` starts from the session's time zone."""
    if len(args) == 3:
        return args
    return [_make_call(_CURRENT_TIMEZONE, conf), *args]


def _check_unit(args: Args, conf: Conf) -> Mismatch | None:
    unit = constant(args[0], "timestampadd")
    return None if str(unit).upper() in _UNITS else Mismatch("INVALID_PARAMETER_VALUE.DATETIME_UNIT", f"no datetime unit: {unit}")


def _moved_type(args: Args, conf: Conf) -> DataType:
    return args[2].type


TIMESTAMP_NANOS = Nanos(True, 9)
_NANOS = Kind("TIMESTAMP(9)", lambda t: isinstance(t, Nanos), TIMESTAMP_NANOS)

def _since_epoch(name: str, magnitude: Magnitude) -> Table:
    """Of timestamps without a zone since Spark 4.3."""
    own: dict[str, Any] = {"coerce": Coerce.EXPECTS, "traits": replace(PURE, magnitude=magnitude)}
    both = fn(name, (ANY_MOMENT,), LONG, EITHER, since="4.3", **own)
    return lines(both, fn(name, (TIMESTAMP,), LONG, EITHER, until="4.3", **own))


TABLE: Table = lines(
    fn("current_date curdate", (), DATE, NEVER, traits=PURE),
    _CURRENT_TIMESTAMP,
    _now("now", TIMESTAMP),
    _now("localtimestamp", TIMESTAMP_NTZ),
    _CURRENT_TIMEZONE,
    fn("date_add", (DATE, _DAYS), DATE, EITHER, coerces=_day_operands, coerce=Coerce.EXPECTS, plain=True, traits=ANSI_RAISES),
    fn("dateadd", (DATE, _DAYS), DATE, EITHER, "date_add", coerces=_day_operands, coerce=Coerce.EXPECTS, traits=ANSI_RAISES),
    fn("date_sub", (DATE, _DAYS), DATE, EITHER, coerces=_day_operands, coerce=Coerce.EXPECTS, traits=ANSI_RAISES),
    fn("datediff date_diff", (DATE, DATE), INT, EITHER, alias=True, traits=ANSI_RAISES),
    fn("add_months", (DATE, INT), DATE, EITHER, traits=RAISES),
    fn("months_between", (TIMESTAMP, TIMESTAMP, Optional(BOOLEAN, _TRUE)), DOUBLE, EITHER, traits=ANSI_RAISES),
    fn("last_day", (DATE,), DATE, EITHER, traits=ANSI_RAISES),
    fn("next_day", (DATE, ANY_STRING), DATE, ALWAYS, traits=ANSI_RAISES),
    fn("dayname", (DATE,), STRING, EITHER, traits=ANSI_RAISES),
    fn("monthname", (DATE,), STRING, EITHER, traits=ANSI_RAISES),
    fn("trunc", (DATE, ANY_STRING), DATE, ALWAYS, traits=ANSI_RAISES),
    fn("date_trunc", (ANY_STRING, _ZONED), type_of(1), ALWAYS, traits=replace(ANSI_RAISES, evaluates=Evaluates.FIRST)),
    fn("date_format", (_ZONED, ANY_STRING), STRING, EITHER, traits=RAISES),
    fn("date_from_unix_date", (INT,), DATE, EITHER, traits=ANSI_RAISES),
    fn("unix_date", (DATE,), INT, EITHER, coerce=Coerce.EXPECTS, traits=PURE),
    _since_epoch("unix_seconds", Magnitude.SECONDS),
    _since_epoch("unix_millis", Magnitude.LARGE),
    _since_epoch("unix_micros", Magnitude.LARGE),
    fn("timestamp_seconds", (NUMERIC,), TIMESTAMP, _epoch_seconds, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("timestamp_millis", (INTEGRAL,), TIMESTAMP, EITHER, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("unix_nanos", (_NANOS,), Decimal(21, 0), EITHER, coerce=Coerce.EXPECTS, traits=PURE),
    fn("timestamp_nanos", (OneOf((INTEGRAL, DECIMAL)),), TIMESTAMP_NANOS, EITHER, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("timestamp_micros", (INTEGRAL,), TIMESTAMP, EITHER, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("unix_timestamp", (Optional(_PARSED), Optional(ANY_STRING, _PATTERN)), LONG, null_where_it_fails, coerces=_read_now, coerce=Coerce.EXPECTS, traits=replace(RAISES, magnitude=Magnitude.SECONDS)),
    fn("to_unix_timestamp", (_PARSED, Optional(ANY_STRING, _PATTERN)), LONG, null_where_it_fails, coerce=Coerce.EXPECTS, traits=replace(RAISES, magnitude=Magnitude.SECONDS)),
    fn("from_unixtime", (LONG, Optional(ANY_STRING, _PATTERN)), STRING, ALWAYS, traits=RAISES),
    fn("from_utc_timestamp", (TIMESTAMP, ANY_STRING), TIMESTAMP, EITHER, traits=RAISES),
    fn("to_utc_timestamp", (TIMESTAMP, ANY_STRING), TIMESTAMP, EITHER, traits=RAISES),
    fn("convert_timezone", (ANY_STRING, ANY_STRING, Optional(TIMESTAMP_NTZ)), TIMESTAMP_NTZ, EITHER, coerces=_zone_operands, traits=RAISES),
    fn("timestampadd", (ANY_STRING, LONG, ANY_TIMESTAMP), _moved_type, EITHER, check=_check_unit, traits=RAISES, category=Category.OPERATOR),
    fn("timestampdiff", (ANY_STRING, TIMESTAMP, TIMESTAMP), LONG, EITHER, check=_check_unit, traits=RAISES, category=Category.OPERATOR),
)
