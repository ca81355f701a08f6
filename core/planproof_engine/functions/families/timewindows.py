"""Windows and buckets of time. Source: `TimeWindow.scala`, `SessionWindow.scala`, `timeExpressions.scala`.

A time window becomes a column of its own below the block that asks for it (`TimeWindowing`, `SessionWindowing`).
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, EITHER, NEVER, Args, Coerce, Mismatch, Optional
from planproof_engine.expr.nodes import Expr, Literal
from planproof_engine.expr.traits import RAISES
from planproof_engine.functions.bind import make_input_mismatch
from planproof_engine.functions.families.line import Table, fn, lines, type_of
from planproof_engine.functions.families.rules import check_inputs, checks, foldable
from planproof_engine.origin import Unknown
from planproof_engine.types.coercion import find_implicit
from planproof_engine.types.kinds import ANY, ANY_TIMESTAMP, DAY_TIME, YEAR_MONTH, OneOf

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
    # A row falls into several sliding windows: Spark expands it, and the column is nullable.
    fn("window", (ANY, ANY, Optional(ANY), Optional(ANY)), _window_type, lambda args, conf: len(args) > 2 and _duration(args[1], conf) != _duration(args[2], conf), check=_check_durations, **_MOMENT),
    fn("session_window", (ANY, ANY), _window_type, NEVER, check=_check_gap, **_MOMENT),
    fn("window_time", (ANY,), _start_type, ALWAYS, check=_check_window, **_MOMENT),
    fn("time_bucket", (OneOf((DAY_TIME, YEAR_MONTH)), ANY_TIMESTAMP, Optional(ANY)), type_of(1), EITHER, coerces=_origin_operands, coerce=Coerce.EXPECTS, check=checks(lambda args, conf: check_inputs(args, (None, None, None if args[2].type == dt.VOID else ANY_TIMESTAMP)), foldable(0, 2), _check_bucket), traits=RAISES),
)
