"""Dates, timestamps and times of day: now, calendar arithmetic, truncation, text, epochs, time zones, and their fields.

A field is asked for by `year(x)`, `extract(YEAR FROM x)` or `date_part('YEAR', x)`, of intervals, too. Most functions of
times run static code whose result Spark takes for nullable whatever the arguments. Source: `datetimeExpressions.scala`,
`timeExpressions.scala`, `intervalExpressions.scala`, `Extract.createExpr`.
"""

from __future__ import annotations

from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr.function import ALWAYS, EITHER, NEVER, Args, Category, Coerce, Many, Mismatch, Optional
from planproof_engine.expr.nodes import Expr, Literal
from planproof_engine.expr.traits import ANSI_RAISES, PURE, RAISES, Evaluates, Magnitude
from planproof_engine.functions.bind import apply, cast, check_setting
from planproof_engine.functions.constants import constant, is_computable
from planproof_engine.functions.families.line import (
    Table, cast_implicitly, check_inputs, checks, fn, foldable, implicit, is_foldable, lines, lit, not_null,
    null_where_it_fails, prints, type_of,
)
from planproof_engine.ground import Conf, evolve
from planproof_engine.types.kinds import (
    ANY, ANY_MOMENT, ANY_NANOS, ANY_STRING, ANY_TIME, ANY_TIMESTAMP, DAY_TIME, DECIMAL, INTEGRAL, NUMERIC, Expected,
    Kind, OneOf,
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
    own: dict[str, Any] = {"coerce": Coerce.EXPECTS, "traits": evolve(PURE, magnitude=magnitude)}
    both = fn(name, (ANY_MOMENT,), dt.LONG, EITHER, since="4.3", **own)
    return lines(both, fn(name, (dt.TIMESTAMP,), dt.LONG, EITHER, until="4.3", **own))


_SECONDS = dt.Decimal(8, 6)
_SPELLINGS = {
    "year": "YEAR Y YEARS YR YRS",
    "month": "MONTH MON MONS MONTHS",
    "day": "DAY D DAYS",
    "hour": "HOUR H HOURS HR HRS",
    "minute": "MINUTE M MIN MINS MINUTES",
    "second": "SECOND S SEC SECONDS SECS",
    "yearofweek": "YEAROFWEEK",
    "quarter": "QUARTER QTR",
    "week": "WEEK W WEEKS",
    "dayofweek": "DAYOFWEEK DOW",
    "weekday": "DAYOFWEEK_ISO DOW_ISO",
    "dayofyear": "DOY",
}
_FIELDS = {spelling: field for field, spellings in _SPELLINGS.items() for spelling in spellings.split()}
_CLOCK: dict[str, dt.DataType] = {"hour": dt.INT, "minute": dt.INT, "second": _SECONDS}
_INTERVAL: dict[str, dt.DataType] = {"year": dt.INT, "month": dt.BYTE, "day": dt.INT, "hour": dt.BYTE, "minute": dt.BYTE, "second": _SECONDS}


def _field(args: Args) -> str | None:
    """The field that an extraction names; None where it names NULL. The spelling itself where there is no such field."""
    value = constant(args[0], "extract")
    return None if value is None else _FIELDS.get(value.upper(), value)


def _holds_field(field: str, source: dt.DataType) -> bool:
    """Whether an interval holds the field."""
    if source == dt.CALENDAR_INTERVAL:
        return field in _INTERVAL
    assert isinstance(source, dt.Interval)
    units = dt.YEAR_MONTH_UNITS if source.year_month else dt.DAY_TIME_UNITS
    return field in units[units.index(source.start) : units.index(source.end) + 1]


def _find_extraction(field: str, source: dt.DataType) -> tuple[Expected, dt.DataType] | None:
    """What the source must be for the field, and the field's type; None where it has no such field."""
    if isinstance(source, dt.Interval) or source == dt.CALENDAR_INTERVAL:
        return (ANY, _INTERVAL[field]) if field in _INTERVAL and _holds_field(field, source) else None
    if isinstance(source, dt.Time):
        seconds = dt.Decimal(2 + source.precision, source.precision)
        return (ANY, seconds if field == "second" else dt.INT) if field in _CLOCK else None
    if field in _CLOCK:
        precise = isinstance(source, dt.Nanos) and field == "second"
        return ANY_MOMENT, dt.Decimal(11, 9) if precise else _CLOCK[field]
    return (dt.DATE, dt.INT) if field in _SPELLINGS else None


def _names_field(arg: Expr) -> bool:
    """A field is a constant string, or NULL."""
    return is_foldable(arg) and (dt.is_string(arg.type) or (is_computable(arg) and constant(arg, "extract") is None))


def _cast_source(args: list[Expr], conf: Conf) -> list[Expr]:
    if not _names_field(args[0]):
        return args
    field = _field(args)
    found = None if field is None else _find_extraction(field, args[1].type)
    return args if found is None else cast_implicitly(args, (None, found[0]), conf)


def _check_time(arg: Expr, conf: Conf) -> Mismatch | None:
    return check_setting("time_type", conf) if isinstance(arg.type, dt.Time) else None


def _check_extraction(args: Args, conf: Conf) -> Mismatch | None:
    if not _names_field(args[0]):
        return Mismatch("NON_FOLDABLE_ARGUMENT", "The parameter `field` must be a foldable expression of STRING type.")
    field = _field(args)
    if field is None:
        return None
    found = _find_extraction(field, args[1].type)
    if found is None:
        return Mismatch("INVALID_EXTRACT_FIELD", f'Cannot extract `{field}` from "{args[1].type.sql}".')
    return _check_time(args[1], conf) or check_inputs(args, (None, found[0]))


def _field_type(args: Args, conf: Conf) -> dt.DataType:
    """Spark makes a bare NULL of double where the field is NULL."""
    field = _field(args)
    found = None if field is None else _find_extraction(field, args[1].type)
    return dt.DOUBLE if found is None else found[1]


def _field_nullable(args: Args, conf: Conf) -> bool:
    return _field(args) is None or isinstance(args[1].type, dt.Time) or args[1].nullable


_EXTRACT: dict[str, Any] = {"coerces": _cast_source, "coerce": Coerce.NONE, "check": _check_extraction, "traits": ANSI_RAISES}


def _part(names: str, **more: Any) -> Table:
    """year, month, ...: of a date, or of what can be one."""
    return fn(names, (dt.DATE,), dt.INT, EITHER, traits=ANSI_RAISES, **more)


def _is_time(args: Args) -> bool:
    return isinstance(args[0].type, dt.Time)


def _clock(name: str) -> Table:
    """hour, minute, second: of a timestamp or, since Spark 4.1, a time. That ignores further arguments."""
    own: dict[str, Any] = {
        "coerces": lambda args, conf: cast_implicitly(args[:1], (ANY if _is_time(args) else ANY_MOMENT,), conf),
        "coerce": Coerce.NONE,
        "check": lambda args, conf: _check_time(args[0], conf) if _is_time(args) else check_inputs(args, (ANY_MOMENT,)),
        "traits": evolve(ANSI_RAISES, evaluates=Evaluates.FIRST),
    }

    def nullable(args: Args, conf: Conf) -> bool:
        return _is_time(args) or args[0].nullable

    return lines(fn(name, (ANY, Many(ANY)), dt.INT, nullable, since="4.1", **own), fn(name, (ANY,), dt.INT, nullable, until="4.1", **own))


def _check_digits(args: Args, conf: Conf) -> Mismatch | None:
    """`current_time(p)`: p is a constant between 0 and 9, before Spark 4.3 between 0 and 6."""
    refused = checks(foldable(0), not_null(0))(args, conf)
    if refused is None and args[0].type == dt.DATE:
        # Spark reads the days of a date as the number of digits.
        return Mismatch("VALUE_OUT_OF_RANGE", "precision must be between 0 and 9.")
    refused = refused or check_inputs(args, (dt.INT,))
    if refused is not None:
        return refused
    value = constant(args[0], "current_time")
    if value is None:
        return Mismatch("UNEXPECTED_NULL", "precision must not be NULL.")
    most = 6 if conf.before("4.3") else 9
    if 0 <= value <= most:
        return None
    return Mismatch("VALUE_OUT_OF_RANGE", f"precision must be between 0 and {most}, not {value}.")


def _moved_type(args: Args, conf: Conf) -> dt.DataType:
    """`TimeAddInterval`: precise enough for an interval that holds seconds."""
    time, interval = args[0].type, args[1].type
    assert isinstance(time, dt.Time)
    assert isinstance(interval, dt.Interval)
    return dt.Time(max(time.precision, 6 if interval.end == "second" else 0))


_EXACT: dict[str, Any] = {"coerce": Coerce.EXPECTS}
_OPERATOR: dict[str, Any] = {"coerce": Coerce.NONE, "traits": RAISES, "category": Category.OPERATOR}


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
    fn("date_trunc", (ANY_STRING, _ZONED), type_of(1), ALWAYS, traits=evolve(ANSI_RAISES, evaluates=Evaluates.FIRST)),
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
    fn("unix_timestamp", (Optional(_PARSED), Optional(ANY_STRING, _PATTERN)), dt.LONG, null_where_it_fails, coerces=lambda args, conf: args or [_make_call(_CURRENT_TIMESTAMP, conf), _PATTERN], coerce=Coerce.EXPECTS, traits=evolve(RAISES, magnitude=Magnitude.SECONDS)),
    fn("to_unix_timestamp", (_PARSED, Optional(ANY_STRING, _PATTERN)), dt.LONG, null_where_it_fails, coerce=Coerce.EXPECTS, traits=evolve(RAISES, magnitude=Magnitude.SECONDS)),
    fn("from_unixtime", (dt.LONG, Optional(ANY_STRING, _PATTERN)), dt.STRING, ALWAYS, traits=RAISES),
    fn("from_utc_timestamp, to_utc_timestamp", (dt.TIMESTAMP, ANY_STRING), dt.TIMESTAMP, EITHER, traits=RAISES),
    fn("convert_timezone", (ANY_STRING, ANY_STRING, Optional(dt.TIMESTAMP_NTZ)), dt.TIMESTAMP_NTZ, EITHER, coerces=_zone_operands, traits=RAISES),
    fn("timestampadd", (ANY_STRING, dt.LONG, ANY_TIMESTAMP), type_of(2), EITHER, check=_check_unit, traits=RAISES, category=Category.OPERATOR),
    fn("timestampdiff", (ANY_STRING, dt.TIMESTAMP, dt.TIMESTAMP), dt.LONG, EITHER, check=_check_unit, traits=RAISES, category=Category.OPERATOR),
    *map(_part, ("year", "quarter", "month", "dayofmonth", "dayofyear", "dayofweek", "weekday", "weekofyear")),
    _part("day", alias=True),
    *map(_clock, ("hour", "minute", "second")),
    fn("extract", (ANY, ANY), _field_type, _field_nullable, show=prints("extract({0} FROM {1})"), **_EXTRACT),
    fn("date_part", (ANY, ANY), _field_type, _field_nullable, **_EXTRACT),
    fn("datepart", (ANY, ANY), _field_type, _field_nullable, show=prints("datepart({0} FROM {1})"), **_EXTRACT),
    fn("extractansiintervaldays", (ANY,), dt.INT, EITHER, coerce=Coerce.NONE, traits=PURE, category=Category.OPERATOR),
    fn("current_time localtime", (Optional(ANY, lit(6)),), lambda args, conf: dt.Time(int(constant(args[0], "current_time"))), NEVER, coerces=implicit(dt.INT), coerce=Coerce.NONE, check=_check_digits, traits=PURE),
    fn("make_time", (dt.INT, dt.INT, dt.Decimal(16, 6)), dt.Time(6), ALWAYS, traits=RAISES, needs="time_type"),
    fn("to_time", (ANY_STRING, Optional(ANY_STRING)), dt.Time(6), ALWAYS, traits=RAISES, **_EXACT, needs="time_type"),
    fn("try_to_time", (ANY_STRING, Optional(ANY_STRING)), dt.Time(6), ALWAYS, show=lambda call, pretty: f"try_to_time(to_time({', '.join(map(pretty, call.args))}))", traits=PURE, **_EXACT, needs="time_type"),
    fn("time_diff", (ANY_STRING, ANY_TIME, ANY_TIME), dt.LONG, ALWAYS, traits=RAISES, needs="time_type", since="4.2"),
    fn("time_diff", (ANY_STRING, ANY_TIME, ANY_TIME), dt.LONG, ALWAYS, traits=RAISES, **_EXACT, needs="time_type", until="4.2"),
    fn("time_trunc", (ANY_STRING, ANY_TIME), type_of(1), ALWAYS, traits=RAISES, needs="time_type", since="4.2"),
    fn("time_trunc", (ANY_STRING, ANY_TIME), type_of(1), ALWAYS, traits=RAISES, **_EXACT, needs="time_type", until="4.2"),
    fn("time_from_seconds", (NUMERIC,), dt.Time(6), ALWAYS, traits=RAISES, **_EXACT, needs="time_type"),
    fn("time_from_millis, time_from_micros", (INTEGRAL,), dt.Time(6), ALWAYS, traits=RAISES, **_EXACT, needs="time_type"),
    fn("time_to_seconds", (ANY_TIME,), dt.Decimal(14, 6), ALWAYS, traits=PURE, **_EXACT, needs="time_type"),
    fn("time_to_millis, time_to_micros", (ANY_TIME,), dt.LONG, ALWAYS, traits=PURE, **_EXACT, needs="time_type"),
    fn("time_add_interval", (ANY_TIME, DAY_TIME), _moved_type, ALWAYS, show=prints("{0} + {1}"), **_OPERATOR, needs="time_type", operator="+"),
    fn("time_sub_interval", (ANY_TIME, DAY_TIME), _moved_type, ALWAYS, show=prints("{0} - {1}"), **_OPERATOR, needs="time_type", operator="-"),
    fn("subtract_times", (ANY_TIME, ANY_TIME), dt.Interval("hour", "second"), ALWAYS, show=prints("{0} - {1}"), **_OPERATOR, needs="time_type", operator="-"),
)
