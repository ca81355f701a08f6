"""Fields of dates, timestamps, times and intervals: `year(x)`, `extract(YEAR FROM x)`, `date_part('YEAR', x)`.

Source: `datetimeExpressions.scala`, `timeExpressions.scala`, `intervalExpressions.scala`, `Extract.createExpr`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import EITHER, Args, Category, Coerce, Many, Mismatch
from planproof_engine.expr.nodes import Expr
from planproof_engine.expr.traits import ANSI_RAISES, PURE, Evaluates
from planproof_engine.functions.bind import check_setting
from planproof_engine.functions.constants import constant, is_computable
from planproof_engine.functions.families.line import Table, fn, lines, prints
from planproof_engine.functions.families.rules import cast_implicitly, check_inputs, is_foldable
from planproof_engine.types.kinds import ANY, ANY_MOMENT, Expected

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
        "traits": replace(ANSI_RAISES, evaluates=Evaluates.FIRST),
    }

    def nullable(args: Args, conf: Conf) -> bool:
        return _is_time(args) or args[0].nullable

    return lines(fn(name, (ANY, Many(ANY)), dt.INT, nullable, since="4.1", **own), fn(name, (ANY,), dt.INT, nullable, until="4.1", **own))


TABLE: Table = lines(
    *map(_part, ("year", "quarter", "month", "dayofmonth", "dayofyear", "dayofweek", "weekday", "weekofyear")),
    _part("day", alias=True),
    *map(_clock, ("hour", "minute", "second")),
    fn("extract", (ANY, ANY), _field_type, _field_nullable, show=prints("extract({0} FROM {1})"), **_EXTRACT),
    fn("date_part", (ANY, ANY), _field_type, _field_nullable, **_EXTRACT),
    fn("datepart", (ANY, ANY), _field_type, _field_nullable, show=prints("datepart({0} FROM {1})"), **_EXTRACT),
    fn("extractansiintervaldays", (ANY,), dt.INT, EITHER, coerce=Coerce.NONE, traits=PURE, category=Category.OPERATOR),
)
