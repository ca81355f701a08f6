"""The time of day. Source: `timeExpressions.scala`.

Most of these run static code whose result Spark takes for nullable whatever the arguments.
"""

from __future__ import annotations

from typing import Any

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, NEVER, Args, Category, Coerce, Mismatch, Optional
from planproof_engine.expr.traits import PURE, RAISES
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.line import Table, fn, lines, lit, prints, type_of
from planproof_engine.functions.families.rules import check_inputs, checks, foldable, implicit, not_null
from planproof_engine.types.kinds import ANY, ANY_STRING, ANY_TIME, DAY_TIME, INTEGRAL, NUMERIC


def _check_precision(args: Args, conf: Conf) -> Mismatch | None:
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
    fn("current_time localtime", (Optional(ANY, lit(6)),), lambda args, conf: dt.Time(int(constant(args[0], "current_time"))), NEVER, coerces=implicit(dt.INT), coerce=Coerce.NONE, check=_check_precision, traits=PURE),
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
