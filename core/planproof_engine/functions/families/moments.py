"""Dates, timestamps and intervals made from their parts, parsed from text, computed with, and cut into windows.

Arithmetic goes under the names of the expressions that operators become. A time window becomes a column of its own
below the block that asks for it (`TimeWindowing`, `SessionWindowing`). Source: `datetimeExpressions.scala`,
`intervalExpressions.scala`, `BinaryArithmeticWithDatetimeResolver`, `TimeWindow.scala`, `SessionWindow.scala`,
`timeExpressions.scala`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr.function import (
    ALWAYS, EITHER, NEVER, Args, Category, Check, Coerce, Input, Mismatch, NullRule, Optional, TypeRule,
)
from planproof_engine.expr.nodes import Call, Expr, Literal
from planproof_engine.expr.traits import ANSI_RAISES, PURE, RAISES
from planproof_engine.functions.bind import (
    cast, cast_argument, cast_unless_equal, is_cast_nullable, make_input_mismatch,
)
from planproof_engine.functions.families.line import (
    Pretty, Table, binary, check_inputs, checks, fn, foldable, lines, lit, must, null_where_it_fails, prints, type_of,
)
from planproof_engine.ground import Conf, Unknown
from planproof_engine.types.coercion import find_implicit, find_tightest
from planproof_engine.types.kinds import (
    ANY, ANY_MOMENT, ANY_NANOS, ANY_STRING, ANY_TIME, ANY_TIMESTAMP, DAY_TIME, NUMERIC, YEAR_MONTH, Expected, OneOf,
    accepts,
)

Returns = dt.DataType | TypeRule

_PARSED = OneOf((ANY_STRING, dt.DATE, dt.TIMESTAMP, dt.TIMESTAMP_NTZ, ANY_NANOS))
_PARSED_OR_NUMBER = OneOf((ANY_STRING, dt.DATE, dt.TIMESTAMP, dt.TIMESTAMP_NTZ, NUMERIC, ANY_NANOS))
_SECONDS = dt.Decimal(18, 6)
_ZERO_SECONDS = Literal(0, _SECONDS, "0.000000")
_FIELDS: tuple[Expected, ...] = (dt.INT, dt.INT, dt.INT, dt.INT, dt.INT, dt.Decimal(16, 6), ANY_STRING)
_DATE_TIME: tuple[Expected, ...] = (dt.DATE, ANY_TIME, ANY_STRING)


def _session_stamp(args: Args, conf: Conf) -> dt.DataType:
    """The type that `spark.sql.timestampType` says."""
    return dt.TIMESTAMP_NTZ if conf.timestamp_type == "TIMESTAMP_NTZ" else dt.TIMESTAMP


def _parts(args: Args) -> tuple[Sequence[Expected], Coerce]:
    """A timestamp is made from six fields and a zone, or from a date, a time and a zone."""
    return (_DATE_TIME, Coerce.EXPECTS) if len(args) <= 3 else (_FIELDS, Coerce.IMPLICIT)


def _part_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    kinds, how = _parts(args)
    return [cast_argument(arg, kind, how, conf) for arg, kind in zip(args, kinds)]


def _try_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """A lone date of unknown type keeps its name."""
    return [cast(args[0], dt.DATE, conf)] if len(args) == 1 and args[0].type == dt.VOID else _part_operands(args, conf)


def _check_counts(*counts: int) -> Check:
    def check(args: Args, conf: Conf) -> Mismatch | None:
        if len(args) not in counts:
            return Mismatch("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", f"takes {counts} parameters, not {len(args)}.")
        return check_inputs(args, _parts(args)[0])

    return check


def _make_printer(own: str, joined: str) -> Callable[[Call, Pretty], str]:
    """From fields the function prints its own name; from a date and a time the name of the expression that joins them."""

    def show(call: Call, pretty: Pretty) -> str:
        # Of the fields `try_make_timestamp` prints no zone.
        shown = call.args[:6] if own == "try_make_timestamp" else call.args
        inside = ", ".join(pretty(a) for a in shown)
        return (joined if len(call.args) <= 3 else f"{own}({{}})").format(inside)

    return show


def _maker(name: str, returns: Returns, counts: tuple[int, ...], joined: str) -> Table:
    """Since Spark 4.1 a timestamp is made from dates and times of day, too."""
    tries = name.startswith("try_")

    def nullable(args: Args, conf: Conf) -> bool:
        """A date alone is cast."""
        if len(args) <= 3:
            return returns == dt.TIMESTAMP_NTZ or EITHER(args, conf)
        return tries or null_where_it_fails(args, conf)

    def make_line(counts: tuple[int, ...], **versions: str) -> Table:
        least, most = counts[0], counts[-1]
        inputs: list[Input] = [ANY if at < least else Optional(ANY) for at in range(most)]
        # A time zone that does not exist fails in both modes, also for `try_make_...`.
        traits = RAISES if most > 6 else PURE if tries else ANSI_RAISES
        own: dict[str, Any] = {"coerces": _try_operands if tries else _part_operands, "coerce": Coerce.NONE, "check": _check_counts(*counts)}
        return fn(name, inputs, returns, nullable, show=_make_printer(name, joined), traits=traits, **own, **versions)

    return lines(make_line(counts, since="4.1"), make_line(tuple(c for c in counts if c > 3), until="4.1"))


def _read_nullable(target: TypeRule, tries: bool) -> NullRule:
    """Without a format it is a cast; with one NULL stands for what cannot be parsed, unless that is an error."""

    def rule(args: Args, conf: Conf) -> bool:
        if len(args) > 1:
            return tries or null_where_it_fails(args, conf)
        # Spark has no cast from a number to a timestamp without time zone, yet makes one here. Nanoseconds are read as
        # `try_cast` reads them.
        if isinstance(args[0].type, dt.Nanos) or (dt.is_numeric(args[0].type) and target(args, conf) == dt.TIMESTAMP_NTZ):
            return True
        return is_cast_nullable(args[0], target(args, conf), "ansi" if conf.ansi and not tries else "legacy")

    return rule


def _reader(name: str, inputs: Expected, returns: Returns) -> Table:
    tries = name.startswith("try_")
    rule = returns if callable(returns) else lambda args, conf: returns
    nullable = _read_nullable(rule, tries)
    # Spark fails inside where a number is to become a timestamp by a format.
    by_type = must(
        lambda args, conf: len(args) < 2 or not dt.is_numeric(args[0].type) or rule(args, conf) != dt.TIMESTAMP,
        "INTERNAL_ERROR", "a number cannot be read by a format.", whole=True,
    )
    # A malformed pattern raises in both modes, and so does a text that Spark 2 would have read in another way.
    return fn(name, (inputs, Optional(ANY_STRING)), returns, nullable, check=by_type, traits=RAISES)


_WHOLE = Optional(dt.INT, lit(0))
_SPAN = (*([_WHOLE] * 6), Optional(_SECONDS, _ZERO_SECONDS))


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


_MICROS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_MOMENTS = (dt.TIMESTAMP, dt.TIMESTAMP_NTZ)
_AMOUNT = re.compile(r"\s*([+-]?\d+(?:\.\d{1,9})?)\s*([a-z]+?)s?(?=\s|$)")


def _duration(arg: Expr, conf: Conf) -> int:
    """A duration in microseconds: a number of them, or an interval as text. Raises `Mismatch` as Spark refuses it."""
    if not isinstance(arg, Literal) or isinstance(arg.value, bool) or not (
        isinstance(arg.value, str) or dt.is_integral(arg.type)
    ):
        raise Mismatch("_LEGACY_ERROR_TEMP_1207", "The duration must be an integer, long or string literal.")
    return int(arg.value) if not isinstance(arg.value, str) else _parse_duration(arg.value, conf)


def _parse_duration(text: str, conf: Conf) -> int:
    rest = text.strip().lower().removeprefix("interval")
    total, at = 0, 0
    while at < len(rest.rstrip()):
        found = _AMOUNT.match(rest, at)
        if found is None and not any(c.isdigit() for c in rest):
            raise Mismatch("CANNOT_PARSE_INTERVAL", f"Unable to parse '{text}': it has no number.", whole=True)
        if found is None:
            raise Unknown(f"the duration {text!r}")
        if found[2] in ("month", "year"):
            condition = "FAILED_FUNCTION_CALL" if conf.before("4.0") else "_LEGACY_ERROR_TEMP_3231"
            raise Mismatch(condition, f"Intervals greater than a month is not supported ({text}).", whole=True)
        if found[2] not in _MICROS:
            raise Mismatch("CANNOT_PARSE_INTERVAL", f"Unable to parse '{text}': `{found[2]}` is no unit of time.", whole=True)
        if "." in found[1] and found[2] != "second":
            raise Mismatch("CANNOT_PARSE_INTERVAL", f"Unable to parse '{text}': only seconds have fractions.", whole=True)
        total += int(Fraction(found[1]) * _MICROS[found[2]])
        at = found.end()
    return total


def _check_moment(args: Args, conf: Conf) -> Mismatch | None:
    given = args[0].type
    of_window = isinstance(given, dt.Struct) and len(given.fields) == 2 and all(f.type in _MOMENTS for f in given.fields)
    if not of_window and (isinstance(given, dt.Struct) or find_implicit(given, ANY_TIMESTAMP, ansi=conf.ansi) is None):
        return make_input_mismatch(0, args[0], "TIMESTAMP")
    return None


def _check_gap(args: Args, conf: Conf) -> Mismatch | None:
    """`SessionWindow.checkInputDataTypes`, and the gap that `SessionWindowing` takes."""
    refused, gap = _check_moment(args, conf), args[1].type
    if refused is None and not dt.is_string(gap) and gap not in (dt.CALENDAR_INTERVAL, dt.VOID):
        text = f"Gap duration expression used in session window must be CalendarIntervalType, but got {gap.simple}."
        return Mismatch("_LEGACY_ERROR_TEMP_1040", text)
    return refused


def _check_durations(args: Args, conf: Conf) -> Mismatch | None:
    """`TimeWindow.checkInputDataTypes`."""
    size = _duration(args[1], conf)
    slide = _duration(args[2], conf) if len(args) > 2 else size
    start = _duration(args[3], conf) if len(args) > 3 else 0
    if (refused := _check_moment(args, conf)) is not None:
        return refused
    if size <= 0 or slide <= 0:
        return Mismatch("VALUE_OUT_OF_RANGE", "the durations of a window must be positive.")
    if slide > size or abs(start) >= slide:
        return Mismatch("PARAMETER_CONSTRAINT_VIOLATION", "a window slides by no more than its duration.")
    return None


def _window_type(args: Args, conf: Conf) -> dt.DataType:
    given = dt.TIMESTAMP_NTZ if args[0].type == dt.TIMESTAMP_NTZ else dt.TIMESTAMP
    return dt.Struct((dt.StructField("start", given), dt.StructField("end", given)))


def _start_type(args: Args, conf: Conf) -> dt.DataType:
    window = args[0].type
    assert isinstance(window, dt.Struct)
    return window.fields[0].type


def _check_window(args: Args, conf: Conf) -> Mismatch | None:
    given = args[0].type
    if not isinstance(given, dt.Struct):
        return Mismatch("UNEXPECTED_INPUT_TYPE", f'The first parameter requires the "STRUCT" type, not "{given.sql}".')
    if given.names != ("start", "end"):
        return Mismatch("_LEGACY_ERROR_TEMP_3101", "The input is not a correct window column.")
    return None


_ORIGIN = "1970-01-01 00:00:00"


def _origin_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`time_bucket` without an origin counts from the epoch."""
    bucket, moment, *origin = args
    if moment.type == dt.VOID:
        moment = Literal(None, dt.TIMESTAMP, "NULL")
    if not origin:
        kind = dt.TIMESTAMP_NTZ if moment.type == dt.TIMESTAMP_NTZ else dt.TIMESTAMP
        word = "TIMESTAMP_NTZ" if kind == dt.TIMESTAMP_NTZ else "TIMESTAMP"
        origin = [Literal(_ORIGIN, kind, f"{word} '{_ORIGIN}'")]
    return [bucket, moment, *(Literal(None, moment.type, "NULL") if o.type == dt.VOID else o for o in origin)]


def _check_bucket(args: Args, conf: Conf) -> Mismatch | None:
    if args[2].type not in (args[1].type, dt.VOID):
        return Mismatch("UNEXPECTED_INPUT_TYPE", f'The third parameter requires the "{args[1].type.sql}" type.')
    size = args[0]
    if isinstance(size, Literal) and size.text.startswith("INTERVAL '-"):
        return Mismatch("VALUE_OUT_OF_RANGE", "the size of a bucket must be positive.")
    return None


_MOMENT: dict[str, Any] = {"coerce": Coerce.NONE, "traits": RAISES}


TABLE: Table = lines(
    fn("make_date", (dt.INT, dt.INT, dt.INT), dt.DATE, null_where_it_fails, traits=ANSI_RAISES),
    _maker("make_timestamp", _session_stamp, (1, 2, 3, 6, 7), "make_timestamp({})"),
    _maker("make_timestamp_ltz", dt.TIMESTAMP, (2, 3, 6, 7), "make_timestamp({})"),
    _maker("make_timestamp_ntz", dt.TIMESTAMP_NTZ, (2, 6), "make_timestamp_ntz({})"),
    _maker("try_make_timestamp", _session_stamp, (1, 2, 3, 6, 7), "try_make_timestamp({})"),
    _maker("try_make_timestamp_ltz", dt.TIMESTAMP, (2, 3, 6, 7), "make_timestamp({})"),
    _maker("try_make_timestamp_ntz", dt.TIMESTAMP_NTZ, (2, 6), "try_make_timestamp_ntz(make_timestamp_ntz({}))"),
    fn("make_interval", _SPAN, dt.CALENDAR_INTERVAL, null_where_it_fails, traits=ANSI_RAISES),
    fn("try_make_interval", (dt.INT, *_SPAN[1:]), dt.CALENDAR_INTERVAL, ALWAYS, traits=PURE),
    fn("make_dt_interval", (*([_WHOLE] * 3), Optional(_SECONDS, _ZERO_SECONDS)), dt.Interval("day", "second"), EITHER, traits=RAISES),
    fn("make_ym_interval", (_WHOLE, _WHOLE), dt.Interval("year", "month"), EITHER, traits=RAISES),
    _reader("to_date", _PARSED, dt.DATE),
    _reader("try_to_date", _PARSED, dt.DATE),
    _reader("to_timestamp", _PARSED_OR_NUMBER, _session_stamp),
    _reader("to_timestamp_ltz", _PARSED_OR_NUMBER, dt.TIMESTAMP),
    _reader("to_timestamp_ntz", _PARSED_OR_NUMBER, dt.TIMESTAMP_NTZ),
    _reader("try_to_timestamp", _PARSED_OR_NUMBER, _session_stamp),
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
    # A row falls into several sliding windows: Spark expands it, and the column is nullable.
    fn("window", (ANY, ANY, Optional(ANY), Optional(ANY)), _window_type, lambda args, conf: len(args) > 2 and _duration(args[1], conf) != _duration(args[2], conf), check=_check_durations, **_MOMENT),
    fn("session_window", (ANY, ANY), _window_type, NEVER, check=_check_gap, **_MOMENT),
    fn("window_time", (ANY,), _start_type, ALWAYS, check=_check_window, **_MOMENT),
    fn("time_bucket", (OneOf((DAY_TIME, YEAR_MONTH)), ANY_TIMESTAMP, Optional(ANY)), type_of(1), EITHER, coerces=_origin_operands, coerce=Coerce.EXPECTS, check=checks(lambda args, conf: check_inputs(args, (None, None, None if args[2].type == dt.VOID else ANY_TIMESTAMP)), foldable(0, 2), _check_bucket), traits=RAISES),
)
