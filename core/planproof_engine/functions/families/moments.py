"""Dates, timestamps and intervals made from their parts or parsed from text.

Source: `datetimeExpressions.scala`, `intervalExpressions.scala`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import (
    ALWAYS,
    EITHER,
    Args,
    Check,
    Coerce,
    Input,
    Mismatch,
    NullRule,
    Optional,
    TypeRule,
)
from planproof_engine.expr.nodes import Call, Expr, Literal
from planproof_engine.expr.traits import ANSI_RAISES, PURE, RAISES
from planproof_engine.functions.bind import cast, cast_argument, is_cast_nullable
from planproof_engine.functions.families.line import Pretty, Table, fn, lines, lit
from planproof_engine.functions.families.rules import check_inputs, must, null_where_it_fails
from planproof_engine.types.kinds import ANY, ANY_NANOS, ANY_STRING, ANY_TIME, NUMERIC, Expected, OneOf

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
)
