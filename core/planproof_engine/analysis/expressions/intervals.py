"""Interval literals, to their type and to the text that Spark prints for them.

Source: `AstBuilder.visitInterval`, `IntervalUtils.fromYearMonthString`, `toDayTimeIntervalString`.
"""

from __future__ import annotations

import re
from decimal import Decimal as Number

from planproof_engine import types as dt
from planproof_engine.expr import Literal
from planproof_engine.ground import AnalysisError, Conf, Unknown
from planproof_engine.sql import nodes as q

_MICROS = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_SECOND_PARTS = ("millisecond", "microsecond")
_DAYS = {"week": 7}
_WIDE = {"day": 1, "week": 7, "month": 1, "year": 12}
"""Units that Spark counts in an int, as days or months; all others are microseconds in a bigint."""
_BEYOND = "INVALID_INTERVAL_FORMAT.ARITHMETIC_EXCEPTION"
_NUMBERED = re.compile(r"((?:[+-]\s*|(?<!\d))(?:\d+(?:\.\d+)?|\.\d+))\s*([A-Za-z]+)")
"""A number and its unit."""


def _make_singular(unit: str) -> str:
    lowered = unit.lower()
    return lowered[:-1] if lowered.endswith("s") else lowered


def _read_value(node: q.Literal, negative: bool) -> Number:
    text = node.text.strip()
    if not re.fullmatch(r"[+-]?\s*(\d+(\.\d*)?|\.\d+)", text):
        said = f"Can only use numbers in an interval's values, but got {text!r}."
        raise AnalysisError(_find_condition(text), said)
    value = Number("".join(text.split()))
    return -value if negative else value


def _find_condition(text: str) -> str:
    """The condition for what is no number: the parser refuses letters, `IntervalUtils.stringToInterval` all else."""
    if any(map(str.isalpha, text)):
        return "_LEGACY_ERROR_TEMP_0026"
    if re.match(r"[+-]?\s*(\d+(\.\d*)?|\.\d+)\s", text):
        return "INVALID_INTERVAL_FORMAT.INVALID_UNIT"
    starts = re.match(r"[+-]?\s*[\d.]", text)
    return f"INVALID_INTERVAL_FORMAT.{'INVALID_VALUE' if starts else 'UNRECOGNIZED_NUMBER'}"


def from_parts(node: q.IntervalLiteral, conf: Conf) -> Literal:
    """`INTERVAL 1 DAY 2 HOURS` and `INTERVAL '1-2' YEAR TO MONTH`."""
    if node.to:
        part = node.parts[0]
        return _from_to(part, _make_singular(part.unit), _make_singular(node.to), conf)
    units = [(_read_value(p.value, p.negative), _make_singular(p.unit)) for p in node.parts]
    for part, (_, unit) in zip(node.parts, units):
        if "." in part.value.text and unit != "second":
            said = f"Error parsing an interval: a number of {unit}s cannot have a fractional part."
            raise AnalysisError("INVALID_INTERVAL_FORMAT.INVALID_FRACTION", said)
    return from_units(units, conf)


def from_text(text: str, conf: Conf) -> Literal:
    """`INTERVAL '1 day 2 hours'`."""
    body = re.sub(r"^\s*interval\s+", "", text.strip(), flags=re.I)
    found = _NUMBERED.findall(body)
    rest = _NUMBERED.sub("", body).strip()
    units = [(Number("".join(n.split())), _make_singular(u)) for n, u in found]
    unknown = any(u not in (*dt.YEAR_MONTH_UNITS, *_MICROS, *_DAYS) for _, u in units)
    parted = any("." in n and u != "second" for (n, _), (_, u) in zip(found, units))
    if not units or rest or unknown or parted:
        raise _make_invalid_error(text)
    try:
        return from_units(units, conf)
    except AnalysisError as error:
        raise _make_invalid_error(text) if error.condition == _BEYOND else error from None


def _make_invalid_error(text: str) -> AnalysisError:
    return AnalysisError("INVALID_TYPED_LITERAL", f"The value of the typed literal {text!r} is invalid.")


def from_units(units: list[tuple[Number, str]], conf: Conf) -> Literal:
    """An interval of values and units: year-month, day-time, or (by the legacy setting) a calendar interval."""
    for value, unit in units:
        size = abs(int(value) * _WIDE[unit]) >> 31 if unit in _WIDE else abs(int(value) * _MICROS.get(unit, 1)) >> 63
        if size:
            text = f"Error parsing an interval: {value} {unit} is beyond the range of a number."
            raise AnalysisError(_BEYOND, text)
    if any(u == "nanosecond" for _, u in units):
        raise Unknown("an interval in nanoseconds")
    names = {u for _, u in units}
    months_only = names <= set(dt.YEAR_MONTH_UNITS)
    if conf.legacy_interval:
        return _sum_calendar(units)
    if months_only:
        return _sum_months(units)
    if names & set(dt.YEAR_MONTH_UNITS):
        said = "Cannot mix year-month and day-time fields in one interval literal."
        raise AnalysisError("_LEGACY_ERROR_TEMP_0029", said)
    return _sum_micros(units, conf)


def _sum_months(units: list[tuple[Number, str]]) -> Literal:
    months = int(sum(v * (12 if u == "year" else 1) for v, u in units))
    present = [u for u in dt.YEAR_MONTH_UNITS if any(u == x for _, x in units)]
    return make_year_month(months, present[0], present[-1])


def make_year_month(months: int, start: str, end: str) -> Literal:
    """A year-month interval of so many months, as Spark prints it."""
    sign, size = ("-" if months < 0 else ""), abs(months)
    shown = f"{sign}{size // 12 if start == 'year' else size}" if start == end else f"{sign}{size // 12}-{size % 12}"
    return Literal(months, dt.Interval(start, end), f"INTERVAL '{shown}' {_fields(start, end)}")


def _fields(start: str, end: str) -> str:
    return start.upper() if start == end else f"{start.upper()} TO {end.upper()}"


_LONGEST = 2**63 - 1


def _sum_micros(units: list[tuple[Number, str]], conf: Conf) -> Literal:
    """Each part is cut to microseconds before the parts are added."""
    micros = sum(int(v * (_DAYS[u] * _MICROS["day"] if u in _DAYS else _MICROS[u])) for v, u in units)
    if not -_LONGEST - 1 <= micros <= _LONGEST:
        condition = "ArithmeticException" if conf.before("4.1") else "INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION"
        raise AnalysisError(condition, "Integer overflow while operating with intervals.")
    as_fields = {"second" if u in _SECOND_PARTS else "day" if u in _DAYS else u for _, u in units}
    present = [u for u in dt.DAY_TIME_UNITS if u in as_fields]
    return make_day_time(micros, present[0], present[-1])


def make_day_time(micros: int, start: str, end: str) -> Literal:
    """The literal as `toDayTimeIntervalString` prints it in ANSI style."""
    sign, rest = ("-" if micros < 0 else ""), abs(micros)
    shown = ""
    for unit in dt.DAY_TIME_UNITS[dt.DAY_TIME_UNITS.index(start) : dt.DAY_TIME_UNITS.index(end) + 1]:
        whole, rest = divmod(rest, _MICROS[unit])
        shown += f"{whole} " if unit == "day" else f"{whole:02d}:"
    fraction = f".{rest:06d}".rstrip("0") if end == "second" and rest else ""
    return Literal(micros, dt.Interval(start, end), f"INTERVAL '{sign}{shown[:-1]}{fraction}' {_fields(start, end)}")


def _sum_calendar(units: list[tuple[Number, str]]) -> Literal:
    months = int(sum(v * (12 if u == "year" else 1) for v, u in units if u in dt.YEAR_MONTH_UNITS))
    days = int(sum(v * _DAYS.get(u, 1) for v, u in units if u in ("day", "week")))
    micros = int(sum(v * _MICROS[u] for v, u in units if u in _MICROS and u != "day"))
    return _make_calendar(months, days, micros)


def _make_calendar(months: int, days: int, micros: int) -> Literal:
    """An interval of the calendar."""
    return Literal((months, days, micros), dt.CALENDAR_INTERVAL, f"INTERVAL '{calendar_text(months, days, micros)}'")


def calendar_text(months: int, days: int, micros: int) -> str:
    """`IntervalUtils.toMultiUnitsString`."""
    years, rest_months = divmod(abs(months), 12)
    words = []
    sign = "-" if months < 0 else ""
    words += [f"{sign}{years} years"] if years else []
    words += [f"{sign}{rest_months} months"] if rest_months else []
    words += [f"{days} days"] if days else []
    sign, rest = ("-" if micros < 0 else ""), abs(micros)
    for unit in ("hour", "minute"):
        whole, rest = divmod(rest, _MICROS[unit])
        words += [f"{sign}{whole} {unit}s"] if whole else []
    if rest:
        seconds, fraction = divmod(rest, 1_000_000)
        tail = f".{fraction:06d}".rstrip("0") if fraction else ""
        words.append(f"{sign}{seconds}{tail} seconds")
    return " ".join(words) or "0 seconds"


_LONGEST_FIRST = {"day": 9, "hour": 10, "minute": 12}


def _from_to(part: q.IntervalPart, start: str, end: str, conf: Conf) -> Literal:
    text = part.value.text.strip()
    negative = part.negative != text.startswith("-")
    body = text.lstrip("+-")
    if start == "year" and end == "month":
        months = _read_months(body, negative, conf)
        return _make_calendar(months, 0, 0) if conf.legacy_interval else make_year_month(months, "year", "month")
    known = start in dt.DAY_TIME_UNITS and end in dt.DAY_TIME_UNITS
    units = dt.DAY_TIME_UNITS[dt.DAY_TIME_UNITS.index(start) : dt.DAY_TIME_UNITS.index(end) + 1] if known else ()
    if len(units) < 2:
        said = f"Error parsing {text!r} to interval: there are no intervals from {start} to {end}."
        raise AnalysisError("INVALID_INTERVAL_FORMAT.UNSUPPORTED_FROM_TO_EXPRESSION", said)
    # One space stands behind the days and a colon behind any other field. A field below another one has two digits at
    # most, and seconds alone have a fraction, of nine digits at most (`IntervalUtils.daySecondPatternString`).
    forms = [rf"\d{{1,{_LONGEST_FIRST[start]}}}", *[r"\d{1,2}"] * (len(units) - 1)]
    if end == "second":
        forms[-1] += r"(?:\.\d{1,9})?"
    below = (f"{' ' if above == 'day' else ':'}({form})" for above, form in zip(units, forms[1:]))
    found = re.fullmatch(f"({forms[0]}){''.join(below)}", body)
    if not found:
        raise _make_format_error(text, start, end)
    numbers = found.groups()
    for number, unit, above in zip(numbers[1:], units[1:], units):
        most = _MICROS[above] // _MICROS[unit] - 1
        if int(Number(number)) > most:
            text = f"requirement failed: {unit} {number} outside range [0, {most}]."
            raise AnalysisError("_LEGACY_ERROR_TEMP_0063", text)
    sign = -1 if negative else 1
    micros = int(sum(Number(n) * _MICROS[u] for n, u in zip(numbers, units)))
    if conf.legacy_interval:
        days, rest = divmod(micros, _MICROS["day"]) if start == "day" else (0, micros)
        return _make_calendar(0, sign * days, sign * rest)
    if micros > _LONGEST + negative:
        raise AnalysisError("_LEGACY_ERROR_TEMP_0063", "Integer overflow while parsing an interval.")
    return make_day_time(sign * micros, start, end)


def _read_months(body: str, negative: bool, conf: Conf) -> int:
    """The months of `years-months`, which an int holds (`IntervalUtils.toYMInterval`)."""
    found = re.fullmatch(r"(\d+)-(\d{1,2})", body)
    if not found:
        raise _make_format_error(body, "year", "month")
    months = (int(found[1]) * 12 + int(found[2])) * (-1 if negative else 1)
    if int(found[2]) > 11 or not -(2**31) <= months < 2**31:
        condition = "_LEGACY_ERROR_TEMP_0063" if conf.before("4.0") else "INVALID_INTERVAL_FORMAT.INTERVAL_PARSING"
        text = f"Error parsing {body!r} to interval: a year has 12 months, and an int holds them."
        raise AnalysisError(condition, text)
    return months


def _make_format_error(text: str, start: str, end: str) -> AnalysisError:
    noticed = "_WITH_NOTICE" if start in dt.DAY_TIME_UNITS else ""  # It names a setting for the old format.
    said = f"Interval string {text!r} does not match the {start} to {end} format."
    return AnalysisError(f"INVALID_INTERVAL_FORMAT.UNMATCHED_FORMAT_STRING{noticed}", said)
