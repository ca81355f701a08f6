"""Dates, timestamps and times. Source: `datetimeExpressions.scala`."""

from __future__ import annotations

from collections.abc import Callable

from planproof.conf import Conf
from planproof.expr.nodes import Call, Expr, Literal
from planproof.functions.bind import cast
from planproof.functions.families.line import Table, fn, lines, lit, same
from planproof.functions.signature import (
    ALWAYS,
    ANSI_RAISES,
    EITHER,
    NEVER,
    RAISES,
    Args,
    Coerce,
    Effects,
    Optional,
)
from planproof.origin import Unknown
from planproof.types import (
    BOOLEAN,
    BYTE,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    INT,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    Decimal,
    Interval,
    Time,
    is_string,
)
from planproof.types.kinds import (
    ANY,
    ANY_STRING,
    ANY_TIME,
    ANY_TIMESTAMP,
    DAY_TIME,
    INTEGRAL,
    NUMERIC,
    YEAR_MONTH,
    OneOf,
)

Pretty = Callable[[Expr], str]
_DAYS = OneOf((INT, SHORT, BYTE))
_STAMP_OR_TIME = OneOf((ANY_TIMESTAMP, ANY_TIME))
_STEADY = Effects("never", False)
_NOW = Effects("never", False)
"""Within one query `now()` is one value, so it may be computed once."""


def _any_or_failing(args: Args, conf: Conf) -> bool:
    """A value that cannot be parsed is null with ANSI off."""
    return not conf.ansi or EITHER(args, conf)


def _to_date_operand(args: list[Expr], conf: Conf) -> list[Expr]:
    """Timestamps and strings become dates under the date functions, in both modes."""
    first = args[0]
    if first.type in (TIMESTAMP, TIMESTAMP_NTZ) or is_string(first.type):
        return [cast(first, DATE, conf), *args[1:]]
    return args


def _date_add_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    ready = _to_date_operand(args, conf)
    if is_string(ready[1].type) and conf.ansi:
        ready = [ready[0], cast(ready[1], INT, conf)]
    return ready


def _date_parts(args: list[Expr], conf: Conf) -> list[Expr]:
    """A date field of a timestamp is one of its date (`GetDateFieldOperations`)."""
    first = args[0]
    return [cast(first, DATE, conf)] if first.type in (TIMESTAMP, TIMESTAMP_NTZ) else args


def _symbol(text: str, parens: bool) -> Callable[[Call, Pretty], str]:
    def show(call: Call, pretty: Pretty) -> str:
        inside = f"{pretty(call.args[0])} {text} {pretty(call.args[1])}"
        return f"({inside})" if parens else inside

    return show


def _stamps(args: list[Expr], conf: Conf) -> list[Expr]:
    """`SubtractTimestamps`: both sides take one timestamp type."""
    left, right = args
    a, b = left.type, right.type
    if a == b:
        return args
    for given, other, at in ((a, b, 0), (b, a, 1)):
        if given == DATE or is_string(given):
            target = other if other in (TIMESTAMP, TIMESTAMP_NTZ) else TIMESTAMP
            ready = list(args)
            ready[at] = cast(args[at], target, conf)
            return ready
    return [
        left if a == TIMESTAMP_NTZ else cast(left, TIMESTAMP_NTZ, conf),
        right if b == TIMESTAMP_NTZ else cast(right, TIMESTAMP_NTZ, conf),
    ]


def _dates(args: list[Expr], conf: Conf) -> list[Expr]:
    return [a if a.type == DATE else cast(a, DATE, conf) for a in args]


_EXTRACTS: dict[str, tuple[str, DataType]] = {
    **dict.fromkeys(("YEAR", "Y", "YEARS", "YR", "YRS"), ("year", INT)),
    **dict.fromkeys(("YEAROFWEEK",), ("yearofweek", INT)),
    **dict.fromkeys(("QUARTER", "QTR"), ("quarter", INT)),
    **dict.fromkeys(("MONTH", "MON", "MONS", "MONTHS"), ("month", INT)),
    **dict.fromkeys(("WEEK", "W", "WEEKS"), ("week", INT)),
    **dict.fromkeys(("DAY", "D", "DAYS"), ("day", INT)),
    **dict.fromkeys(("DAYOFWEEK", "DOW", "DAYOFWEEK_ISO", "DOW_ISO"), ("dayofweek", INT)),
    **dict.fromkeys(("DOY",), ("doy", INT)),
    **dict.fromkeys(("HOUR", "H", "HOURS", "HR", "HRS"), ("hour", INT)),
    **dict.fromkeys(("MINUTE", "M", "MIN", "MINS", "MINUTES"), ("minute", INT)),
    **dict.fromkeys(("SECOND", "S", "SEC", "SECONDS", "SECS"), ("second", Decimal(8, 6))),
}


def _extract_type(args: Args, conf: Conf) -> DataType:
    field, source = args
    if not isinstance(field, Literal) or not isinstance(field.value, str):
        raise Unknown("extract of a field that is no literal")
    found = _EXTRACTS.get(field.value.upper())
    if found is None or isinstance(source.type, Interval | Time) or source.type == CALENDAR_INTERVAL:
        raise Unknown(f"extract of {field.value} from {source.type.simple}")
    return found[1]


def _extract_nullable(args: Args, conf: Conf) -> bool:
    return args[1].nullable or is_string(args[1].type)


def _extract(call: Call, pretty: Pretty) -> str:
    return f"extract({pretty(call.args[0])} FROM {pretty(call.args[1])})"


def _part(names: str) -> Table:
    """year, month, ...: of a date; a timestamp is one's date first."""
    return fn(names, (DATE,), INT, EITHER, coerces=_date_parts, alias=True, effects=_STEADY)


def _clock(name: str) -> Table:
    return fn(name, (_STAMP_OR_TIME,), INT, EITHER, effects=_STEADY)


def _stamp_type(conf: Conf) -> DataType:
    return TIMESTAMP_NTZ if conf.timestamp_type == "TIMESTAMP_NTZ" else TIMESTAMP


def _parsed_stamp(args: Args, conf: Conf) -> DataType:
    return _stamp_type(conf)


_PARSED = OneOf((ANY_STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ))
_NUMERIC_PARSED = OneOf((ANY_STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ, NUMERIC))


def _parse_nullable(args: Args, conf: Conf) -> bool:
    return not conf.ansi or EITHER(args, conf)


def _cast_nullable(args: Args, conf: Conf) -> bool:
    """Without a format it is a cast, whose flag does not depend on the mode."""
    if len(args) > 1:
        return _parse_nullable(args, conf)
    return args[0].nullable or is_string(args[0].type)


def _date_nullable(args: Args, conf: Conf) -> bool:
    if len(args) > 1:
        return _parse_nullable(args, conf)
    return args[0].nullable or args[0].type not in (DATE, TIMESTAMP, TIMESTAMP_NTZ)


_TRUE = Literal(True, BOOLEAN, "true")

TABLE: Table = lines(
    fn("current_date curdate", (), DATE, NEVER, alias=True, effects=_NOW),
    fn("current_timestamp", (), TIMESTAMP, NEVER, effects=_NOW),
    fn("now", (), TIMESTAMP, NEVER, effects=_NOW),
    fn("localtimestamp", (), TIMESTAMP_NTZ, NEVER, effects=_NOW),
    fn("current_timezone", (), STRING, NEVER, effects=_NOW),
    fn("date_add", (DATE, _DAYS), DATE, EITHER, coerces=_date_add_operands, effects=_STEADY),
    fn("date_sub", (DATE, _DAYS), DATE, EITHER, coerces=_date_add_operands, effects=_STEADY),
    fn("datediff date_diff", (DATE, DATE), INT, EITHER, alias=True, effects=_STEADY),
    fn("add_months", (DATE, INT), DATE, EITHER, effects=RAISES),
    fn("months_between", (TIMESTAMP, TIMESTAMP, Optional(BOOLEAN, _TRUE)), DOUBLE, EITHER, effects=_STEADY),
    fn("last_day", (DATE,), DATE, EITHER, effects=_STEADY),
    fn("next_day", (DATE, ANY_STRING), DATE, ALWAYS, effects=ANSI_RAISES),
    fn("trunc", (DATE, ANY_STRING), DATE, ALWAYS, effects=_STEADY),
    fn("date_trunc", (ANY_STRING, TIMESTAMP), TIMESTAMP, ALWAYS, effects=_STEADY),
    fn("date_format", (TIMESTAMP, ANY_STRING), STRING, EITHER, effects=RAISES),
    fn("date_from_unix_date", (INT,), DATE, EITHER, effects=_STEADY),
    fn("unix_date", (DATE,), INT, EITHER, effects=_STEADY),
    fn("unix_seconds", (TIMESTAMP,), LONG, EITHER, effects=_STEADY),
    fn("unix_millis", (TIMESTAMP,), LONG, EITHER, effects=_STEADY),
    fn("unix_micros", (TIMESTAMP,), LONG, EITHER, effects=_STEADY),
    fn("timestamp_millis", (INTEGRAL,), TIMESTAMP, EITHER, effects=RAISES),
    fn("timestamp_micros", (INTEGRAL,), TIMESTAMP, EITHER, effects=RAISES),
    _part("year"),
    _part("quarter"),
    _part("month"),
    _part("day dayofmonth"),
    _part("dayofyear"),
    _part("dayofweek"),
    _part("weekday"),
    _part("weekofyear"),
    _clock("hour"),
    _clock("minute"),
    _clock("second"),
    fn("extract", (ANY_STRING, ANY), _extract_type, _extract_nullable, show=_extract, effects=_STEADY),
    fn("make_date", (INT, INT, INT), DATE, _any_or_failing, effects=ANSI_RAISES),
    fn("to_date", (_PARSED, Optional(ANY_STRING)), DATE, _date_nullable, effects=ANSI_RAISES),
    fn("to_timestamp", (_NUMERIC_PARSED, Optional(ANY_STRING)), _parsed_stamp, _cast_nullable, effects=ANSI_RAISES),
    fn("unix_timestamp", (Optional(_PARSED), Optional(ANY_STRING, lit("yyyy-MM-dd HH:mm:ss"))), LONG, _parse_nullable, effects=ANSI_RAISES),
    fn("to_unix_timestamp", (_PARSED, Optional(ANY_STRING, lit("yyyy-MM-dd HH:mm:ss"))), LONG, _parse_nullable, effects=ANSI_RAISES),
    fn("from_unixtime", (LONG, Optional(ANY_STRING, lit("yyyy-MM-dd HH:mm:ss"))), STRING, ALWAYS, effects=RAISES),
    fn("from_utc_timestamp", (TIMESTAMP, ANY_STRING), TIMESTAMP, EITHER, effects=RAISES),
    fn("to_utc_timestamp", (TIMESTAMP, ANY_STRING), TIMESTAMP, EITHER, effects=RAISES),
    fn("extractansiintervaldays", (DAY_TIME,), INT, EITHER, effects=_STEADY),
    fn("timestamp_add_interval", (ANY_TIMESTAMP, OneOf((CALENDAR_INTERVAL, DAY_TIME))), same(0), EITHER, coerce=Coerce.NONE, show=_symbol("+", False), effects=RAISES),
    fn("timestamp_add_ym_interval", (ANY_TIMESTAMP, YEAR_MONTH), same(0), EITHER, coerce=Coerce.NONE, show=_symbol("+", False), effects=RAISES),
    fn("date_add_ym_interval", (DATE, YEAR_MONTH), DATE, EITHER, coerce=Coerce.NONE, show=_symbol("+", False), effects=RAISES),
    fn("date_add_interval", (DATE, CALENDAR_INTERVAL), DATE, EITHER, coerce=Coerce.NONE, show=_symbol("+", False), effects=RAISES),
    fn("datetime_sub", (ANY, ANY), same(0), EITHER, coerce=Coerce.NONE, show=_symbol("-", False), effects=RAISES),
    fn("subtract_timestamps", (ANY_TIMESTAMP, ANY_TIMESTAMP), Interval("day", "second"), EITHER, coerces=_stamps, coerce=Coerce.NONE, show=_symbol("-", True), effects=RAISES),
    fn("subtract_dates", (DATE, DATE), Interval("day", "day"), EITHER, coerces=_dates, coerce=Coerce.NONE, show=_symbol("-", True), effects=RAISES),
    fn("multiply_interval", (CALENDAR_INTERVAL, DOUBLE), CALENDAR_INTERVAL, ALWAYS, show=lambda call, pretty: f"multiply_interval({', '.join(map(pretty, call.args))})", effects=RAISES),
    fn("divide_interval", (CALENDAR_INTERVAL, DOUBLE), CALENDAR_INTERVAL, ALWAYS, effects=RAISES),
    fn("multiply_ym_interval", (YEAR_MONTH, NUMERIC), Interval("year", "month"), EITHER, show=_symbol("*", True), effects=RAISES),
    fn("multiply_dt_interval", (DAY_TIME, NUMERIC), Interval("day", "second"), EITHER, show=_symbol("*", True), effects=RAISES),
    fn("divide_ym_interval", (YEAR_MONTH, NUMERIC), Interval("year", "month"), EITHER, show=_symbol("/", True), effects=RAISES),
    fn("divide_dt_interval", (DAY_TIME, NUMERIC), Interval("day", "second"), EITHER, show=_symbol("/", True), effects=RAISES),
)
