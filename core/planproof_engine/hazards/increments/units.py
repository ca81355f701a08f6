"""Units of time: to which one an expression cuts a time, and of which ones it always is a beginning."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from planproof_engine import types as dt
from planproof_engine.expr import nodes as x

_CALENDAR = ("day", "month", "quarter", "year")
_WITHIN = {unit: frozenset(("hour", *_CALENDAR[: at + 1])) for at, unit in enumerate(_CALENDAR)}
_WITHIN |= {"hour": frozenset({"hour"}), "week": frozenset({"hour", "day", "week"})}
"""A beginning of the unit is one of each of these, too."""
_SPELLED = {"mon": "month", "mm": "month", "yyyy": "year", "yy": "year", "dd": "day"}
_PATTERNS = {"yyyyMMddHH": "hour", "yyyyMMdd": "day", "yyyyMM": "month", "yyyy": "year"}
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):00:00(?:\.0*)?(?:Z|[+-]00:00)?)?")
_HOUR = 3_600_000_000
"""In microseconds, as an interval's value is."""


def find_cut(expr: x.Expr) -> tuple[str, x.Expr] | None:
    """The unit to which an expression cuts a time, and the time."""
    if isinstance(expr, x.Cast) and expr.type == dt.DATE:
        return "day", expr.child
    if not isinstance(expr, x.Call) or not expr.args:
        return None
    name, args, last = expr.function.name, expr.args, expr.args[-1]
    if name in ("to_date", "date"):
        return "day", args[0]
    if name in ("date_trunc", "trunc") and len(args) == 2:
        unit, time = args if name == "date_trunc" else args[::-1]
        said = str(unit.value).lower() if isinstance(unit, x.Literal) else ""
        found = _SPELLED.get(said, said)
        return (found, time) if found in _WITHIN else None
    if name == "date_format" and isinstance(last, x.Literal):
        pattern = re.sub(r"[^a-zA-Z]", "", str(last.value))
        return (_PATTERNS[pattern], args[0]) if pattern in _PATTERNS else None
    return None


def list_beginnings(expr: x.Expr, behind: Callable[[x.Expr], x.Expr]) -> frozenset[str]:
    """The units of which each value of an expression is a beginning. `behind`: what makes a column or a subquery."""
    expr = behind(expr)
    if isinstance(expr, x.Literal):
        return _list_of_literal(expr.value)
    if isinstance(expr, x.Alias):
        return list_beginnings(expr.child, behind)
    cut = find_cut(expr)
    if cut is not None:
        return _WITHIN[cut[0]] | (list_beginnings(cut[1], behind) if cut[0] == "day" else frozenset())
    if isinstance(expr, x.Cast):
        return list_beginnings(expr.child, behind)
    found = _list_of_call(expr, behind) if isinstance(expr, x.Call) else frozenset[str]()
    return found | (_WITHIN["day"] if expr.type == dt.DATE else frozenset())


def _list_of_call(call: x.Call, behind: Callable[[x.Expr], x.Expr]) -> frozenset[str]:
    name, args = call.function.name, call.args
    if name in ("coalesce", "ifnull", "nvl", "least", "greatest", "max", "min"):
        return frozenset.intersection(*(list_beginnings(a, behind) for a in args))
    if name == "add_months":
        return list_beginnings(args[0], behind) & _WITHIN["month"]
    if len(args) == 2 and isinstance(args[1], x.Literal) and isinstance(args[1].type, dt.Interval):
        kept, shift = list_beginnings(args[0], behind), args[1].value
        if args[1].type.start in ("year", "month"):
            return kept & _WITHIN["month"]
        if isinstance(shift, int) and shift % _HOUR == 0:
            return kept & _WITHIN["hour" if shift % (24 * _HOUR) else "day"]
    return frozenset()


def _list_of_literal(value: object) -> frozenset[str]:
    """NULL compares with nothing: no row is cut off from others."""
    match = _TIME.fullmatch(str(value))
    if value is None or match is None:
        return frozenset(_WITHIN) if value is None else frozenset()
    try:
        day = date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return frozenset()
    if match[4] not in (None, "00"):
        return _WITHIN["hour"]
    starts = {"week": day.weekday() == 0, "month": day.day == 1}
    starts["quarter"] = starts["month"] and day.month % 3 == 1
    starts["year"] = starts["month"] and day.month == 1
    return _WITHIN["day"] | {unit for unit, is_start in starts.items() if is_start}
