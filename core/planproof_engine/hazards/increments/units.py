"""Units of time: to which one an expression cuts a time, and of which ones it always is a beginning."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from planproof_engine import types as dt
from planproof_engine.expr import nodes as x

_Behind = Callable[[x.Expr], x.Expr]
"""What makes a column or a subquery."""
_CALENDAR = ("day", "month", "quarter", "year")
WITHIN = {unit: frozenset(("hour", *_CALENDAR[: at + 1])) for at, unit in enumerate(_CALENDAR)}
WITHIN |= {"hour": frozenset({"hour"}), "week": frozenset({"hour", "day", "week"})}
"""A beginning of the unit is one of each of these, too."""
PARTS = ("year", "month", "day", "hour")
_SPELLED = {"mon": "month", "mm": "month", "yyyy": "year", "yy": "year", "dd": "day"}
_PATTERNS = {"yyyyMMddHH": "hour", "yyyyMMdd": "day", "yyyyMM": "month", "yyyy": "year"}
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):00:00(?:\.0*)?(?:Z|[+-]00:00)?)?")
_DIGITS = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])?")
_HOUR = 3_600_000_000
"""In microseconds, as an interval's value is."""


def moves(call: x.Call) -> bool:
    """Whether it is a time so many days, hours or months away."""
    return _OF_CALLS.get(call.function.name) in (_list_of_days, _list_of_added)


def moves_ahead(call: x.Call) -> bool | None:
    """Whether it is a greater value than the one that it is made of; None where nobody can tell, or it is no other."""
    name = call.function.name
    if name not in _OF_CALLS or len(call.args) < 2:
        return None
    by = _find_number(call.args[1] if len(call.args) == 3 else call.args[-1])
    return None if by is None else (by < 0) if name == "-" or name.endswith("_sub") else by > 0


def shifts_zone(expr: x.Expr) -> bool:
    """Whether it is a time by another zone's clock, or moved otherwise."""
    name = expr.function.name if isinstance(expr, x.Call) else ""
    return name.endswith("utc_timestamp") or name == "convert_timezone" or (isinstance(expr, x.Call) and moves(expr))


def is_told(call: x.Call) -> bool:
    """Whether it is known here what a function makes of a beginning."""
    name = call.function.name
    is_known = name in _OF_CALLS or name in ("negative", "extractansiintervaldays")
    return is_known or find_cut(call) is not None or bool(call.function.traits.hands_on(len(call.args)))


def is_text_out_of_order(expr: x.Expr) -> bool:
    """Whether it is a day as text that begins with the day or the month, or a number without zeros before it: a later
    one may come before."""
    if isinstance(expr, x.Call) and expr.function.name in ("concat", "concat_ws"):
        first = 2 if expr.function.name == "concat_ws" else 1
        later = [_drop_every_cast(arg) for arg in expr.args[first:]]
        return any(dt.is_integral(arg.type) and not isinstance(arg, x.Literal) for arg in later)
    if not isinstance(expr, x.Call) or expr.function.name != "date_format" or not isinstance(expr.args[-1], x.Literal):
        return False
    return re.match(r"[^a-zA-Z]*[dML]", str(expr.args[-1].value)) is not None


def is_day_in_digits(expr: x.Expr) -> bool:
    """Whether it is a constant day or month without a sign between, such as 20240131: what is compared with it is one,
    too."""
    value = expr.value if isinstance(expr, x.Literal) else None
    return isinstance(value, (str, int)) and _DIGITS.fullmatch(str(value)) is not None


def find_part(expr: x.Expr) -> tuple[str, x.Expr] | None:
    """The part of a time that an expression takes by itself, such as its month in any year, and the time."""
    if not isinstance(expr, x.Call) or len(expr.args) != 1:
        return None
    name = {"dayofmonth": "day"}.get(expr.function.name, expr.function.name)
    return (name, expr.args[0]) if name in PARTS else None


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


def list_beginnings(expr: x.Expr, behind: _Behind) -> frozenset[str]:
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


def list_ends(expr: x.Expr, behind: _Behind) -> frozenset[str]:
    """The units of which each value, a day, is the last: the day before a beginning, the end of a month."""
    expr = behind(expr)
    if isinstance(expr, (x.Cast, x.Alias)):
        return list_ends(expr.child, behind)
    if not isinstance(expr, x.Call):
        return frozenset()
    if expr.function.name == "last_day":
        return WITHIN["month"]
    by = {"date_sub": 1, "date_add": -1}.get(expr.function.name)
    is_day_before = by is not None and _find_number(expr.args[1]) == by
    return list_beginnings(expr.args[0], behind) if is_day_before else frozenset()


def _list_of_call(call: x.Call, behind: _Behind) -> frozenset[str]:
    handed = call.function.traits.hands_on(len(call.args))
    if handed:
        return frozenset.intersection(*(list_beginnings(call.args[place], behind) for place in handed))
    made = _OF_CALLS.get(call.function.name)
    return made(call, behind) if made is not None else frozenset()


def _list_of_months(call: x.Call, behind: _Behind) -> frozenset[str]:
    return list_beginnings(call.args[0], behind) & _list_kept("month", _find_number(call.args[1]))


def _list_of_days(call: x.Call, behind: _Behind) -> frozenset[str]:
    by = _find_number(call.args[1])
    is_weeks = by is not None and by % 7 == 0
    return list_beginnings(call.args[0], behind) & WITHIN["week"] if is_weeks else WITHIN["day"]


def _list_of_added(call: x.Call, behind: _Behind) -> frozenset[str]:
    """`dateadd(unit, by, time)`; or a time and an interval."""
    args, last = call.args, call.args[-1]
    if len(args) == 3 and isinstance(args[0], x.Literal):
        return list_beginnings(last, behind) & _list_kept(str(args[0].value).lower(), _find_number(args[1]))
    by = _find_number(last)
    if len(args) != 2 or by is None or not isinstance(last.type, dt.Interval):
        return frozenset()
    if last.type.start in ("year", "month"):
        return list_beginnings(args[0], behind) & _list_kept("month", by)
    return list_beginnings(args[0], behind) & _list_kept("hour", by // _HOUR) if by % _HOUR == 0 else frozenset()


def _list_of_text(call: x.Call, behind: _Behind) -> frozenset[str]:
    return list_beginnings(call.args[0], behind) if len(call.args) == 1 else frozenset()


_OF_CALLS: dict[str, Callable[[x.Call, _Behind], frozenset[str]]] = {
    "add_months": _list_of_months,
    "date_add": _list_of_days,
    "date_sub": _list_of_days,
    "timestampadd": _list_of_added,
    "datetime_add": _list_of_added,
    "datetime_sub": _list_of_added,
    "timestamp_add_interval": _list_of_added,
    "timestamp_add_ym_interval": _list_of_added,
    "date_add_ym_interval": _list_of_added,
    "+": _list_of_added,
    "-": _list_of_added,
    "to_timestamp": _list_of_text,
}


def _drop_every_cast(expr: x.Expr) -> x.Expr:
    while isinstance(expr, (x.Cast, x.Alias)):
        expr = expr.child
    return expr


def _find_number(expr: x.Expr) -> int | None:
    expr = _drop_every_cast(expr)
    return expr.value if isinstance(expr, x.Literal) and isinstance(expr.value, int) else None


def _list_kept(unit: str, by: int | None) -> frozenset[str]:
    """The units whose beginnings are such, `by` units of another kind earlier or later."""
    months = {"month": 1, "quarter": 3, "year": 12}.get(unit)
    hours = {"hour": 1, "day": 24, "week": 7 * 24}.get(unit)
    if months is not None:
        moved = None if by is None else by * months
        return WITHIN["month" if moved is None or moved % 3 else "quarter" if moved % 12 else "year"]
    if hours is None or by is None:
        return WITHIN.get(unit, frozenset())
    return WITHIN["hour" if by * hours % 24 else "day" if by * hours % (7 * 24) else "week"]


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
