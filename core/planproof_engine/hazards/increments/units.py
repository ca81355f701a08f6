"""Units of time: to which one an expression cuts a time, and of which ones it always is a beginning."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from planproof_engine import types as dt
from planproof_engine.expr import nodes as x

_CALENDAR = ("day", "month", "quarter", "year")
WITHIN = {unit: frozenset(("hour", *_CALENDAR[: at + 1])) for at, unit in enumerate(_CALENDAR)}
WITHIN |= {"hour": frozenset({"hour"}), "week": frozenset({"hour", "day", "week"})}
"""A beginning of the unit is one of each of these, too."""
_SPELLED = {"mon": "month", "mm": "month", "yyyy": "year", "yy": "year", "dd": "day"}
_PATTERNS = {"yyyyMMddHH": "hour", "yyyyMMdd": "day", "yyyyMM": "month", "yyyy": "year"}
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):00:00(?:\.0*)?(?:Z|[+-]00:00)?)?")
_KEPT = ("coalesce", "ifnull", "nvl", "least", "greatest", "max", "min")
_MOVED = ("date_add", "date_sub", "timestampadd", "datetime_add", "datetime_sub")
_ZONES = ("from_utc_timestamp", "to_utc_timestamp", "convert_timezone")
_SIGNS = ("+", "-", "negative", "add_months", "timestamp_add_ym_interval", "extractansiintervaldays")
_CUTS = ("date_trunc", "trunc", "to_date", "date", "to_timestamp")
_HOUR = 3_600_000_000
"""In microseconds, as an interval's value is."""


def moves(call: x.Call) -> bool:
    """Whether it is a time so many days, hours or months away."""
    return call.function.name in _MOVED


def shifts_zone(expr: x.Expr) -> bool:
    """Whether it is a time by another zone's clock, or moved otherwise."""
    return isinstance(expr, x.Call) and expr.function.name in (*_ZONES, *_MOVED)


def is_told(call: x.Call) -> bool:
    """Whether it is known here what a function makes of a beginning."""
    return call.function.name in (*_KEPT, *_MOVED, *_SIGNS, *_CUTS)


def find_cut(expr: x.Expr) -> tuple[str, x.Expr] | None:
    """The unit to which an expression cuts a time, and the time."""
    if isinstance(expr, x.Cast):
        return _find_day(expr.child) if expr.type == dt.DATE else None
    if not isinstance(expr, x.Call) or not expr.args:
        return None
    name, args, last = expr.function.name, expr.args, expr.args[-1]
    if name in ("to_date", "date"):
        return _find_day(args[0]) if len(args) == 1 else ("day", args[0])
    if name in ("date_trunc", "trunc") and len(args) == 2:
        unit, time = args if name == "date_trunc" else args[::-1]
        said = str(unit.value).lower() if isinstance(unit, x.Literal) else ""
        found = _SPELLED.get(said, said)
        return (found, time) if found in WITHIN else None
    if name == "date_format" and isinstance(last, x.Literal):
        pattern = re.sub(r"[^a-zA-Z]", "", str(last.value))
        return (_PATTERNS[pattern], args[0]) if pattern in _PATTERNS else None
    return None


def _find_day(time: x.Expr) -> tuple[str, x.Expr]:
    """The day of a time; that of the beginning of a month is the month."""
    inner = find_cut(time)
    return ("day", time) if inner is None or inner[0] == "hour" else inner


def list_beginnings(expr: x.Expr, behind: Callable[[x.Expr], x.Expr]) -> frozenset[str]:
    """The units of which each value of an expression is a beginning. `behind`: what makes a column or a subquery."""
    expr = behind(expr)
    if isinstance(expr, x.Literal):
        return _list_of_literal(expr.value)
    if isinstance(expr, x.Alias):
        return list_beginnings(expr.child, behind)
    cut = find_cut(expr)
    if cut is not None:
        return WITHIN[cut[0]] | (list_beginnings(cut[1], behind) if cut[0] == "day" else frozenset())
    if isinstance(expr, x.Cast):
        return list_beginnings(expr.child, behind)
    found = _list_of_call(expr, behind) if isinstance(expr, x.Call) else frozenset[str]()
    return found | (WITHIN["day"] if expr.type == dt.DATE else frozenset())


def _list_of_call(call: x.Call, behind: Callable[[x.Expr], x.Expr]) -> frozenset[str]:
    name, args, last = call.function.name, call.args, call.args[-1] if call.args else call
    by = _find_number(last)
    if name in _KEPT:
        return frozenset.intersection(*(list_beginnings(a, behind) for a in args))
    if name == "add_months":
        return list_beginnings(args[0], behind) & _list_kept_by_months(by)
    if name in ("date_add", "date_sub"):
        return list_beginnings(args[0], behind) & WITHIN["week"] if by is not None and by % 7 == 0 else WITHIN["day"]
    if name == "timestampadd" and isinstance(args[0], x.Literal):
        return list_beginnings(last, behind) & _list_kept(str(args[0].value).lower(), _find_number(args[1]))
    if len(args) == 2 and isinstance(last, x.Literal) and isinstance(last.type, dt.Interval):
        if last.type.start in ("year", "month"):
            return list_beginnings(args[0], behind) & _list_kept_by_months(by)
        if by is not None and by % _HOUR == 0:
            return list_beginnings(args[0], behind) & _list_kept("hour", by // _HOUR)
    return frozenset()


def _find_number(expr: x.Expr) -> int | None:
    while isinstance(expr, (x.Cast, x.Alias)):
        expr = expr.child
    return expr.value if isinstance(expr, x.Literal) and isinstance(expr.value, int) else None


def _list_kept(unit: str, by: int | None) -> frozenset[str]:
    """The units whose beginnings are such, `by` units of another kind earlier or later."""
    months = {"month": 1, "quarter": 3, "year": 12}.get(unit)
    if months is not None:
        return _list_kept_by_months(None if by is None else by * months)
    hours = {"hour": 1, "day": 24, "week": 7 * 24}.get(unit)
    if hours is None or by is None:
        return WITHIN.get(unit, frozenset())
    return WITHIN["hour" if by * hours % 24 else "day" if by * hours % (7 * 24) else "week"]


def _list_kept_by_months(by: int | None) -> frozenset[str]:
    """The same of months."""
    return WITHIN["month" if by is None or by % 3 else "quarter" if by % 12 else "year"]


def _list_of_literal(value: object) -> frozenset[str]:
    """NULL compares with nothing: no row is cut off from others."""
    match = _TIME.fullmatch(str(value))
    if value is None or match is None:
        return frozenset(WITHIN) if value is None else frozenset()
    try:
        day = date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return frozenset()
    if match[4] not in (None, "00"):
        return WITHIN["hour"]
    starts = {"week": day.weekday() == 0, "month": day.day == 1}
    starts["quarter"] = starts["month"] and day.month % 3 == 1
    starts["year"] = starts["month"] and day.month == 1
    return WITHIN["day"] | {unit for unit, is_start in starts.items() if is_start}
