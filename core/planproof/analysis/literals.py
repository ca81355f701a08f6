"""Constants: a token's text to a typed literal, with the text that Spark prints for it.

Source: `AstBuilder.visitNumericLiteral`, `visitTypeConstructor`, `visitInterval`; `Literal.sql`.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal as Number

from planproof.analysis import intervals
from planproof.conf import Conf
from planproof.expr import Literal
from planproof.origin import AnalysisError, Origin, Unknown
from planproof.sql import nodes as q
from planproof.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    DataType,
    Decimal,
    Time,
)

Reader = Callable[[str, Conf, "Origin | None"], Literal]

NULL = Literal(None, VOID, "NULL")
TRUE = Literal(True, BOOLEAN, "true")
FALSE = Literal(False, BOOLEAN, "false")

_SUFFIXES: dict[str, tuple[int, DataType, int]] = {
    "BIGINT_LITERAL": (1, LONG, 63),
    "SMALLINT_LITERAL": (1, SHORT, 15),
    "TINYINT_LITERAL": (1, BYTE, 7),
}


def number(node: q.Node, conf: Conf, origin: Origin | None = None) -> Literal:
    """A numeric token. An integer takes the first of int, bigint and decimal that holds it."""
    text, kind = node.args["this"], node.args["kind"]
    if kind in _SUFFIXES:
        width, data_type, bits = _SUFFIXES[kind]
        return _bounded(text[:-width], data_type, bits, origin)
    if kind == "INTEGER_VALUE":
        value = int(text)
        if -(2**31) <= value < 2**31:
            return Literal(value, INT, str(value))
        if -(2**63) <= value < 2**63:
            return Literal(value, LONG, str(value))
        return _decimal(Number(text), origin)
    if kind in ("DOUBLE_LITERAL", "FLOAT_LITERAL"):
        double = kind == "DOUBLE_LITERAL"
        real = _finite(float(text.rstrip("dDfF")), text, not double, origin)
        return Literal(real, DOUBLE if double else FLOAT, java_double(real, single=not double))
    if kind == "EXPONENT_VALUE":
        return Literal(_finite(float(text), text, False, origin), DOUBLE, java_double(float(text)))
    return _decimal(Number(text.upper().rstrip("BD") if kind == "BIGDECIMAL_LITERAL" else text), origin)


_LARGEST = {True: 3.4028234663852886e38, False: 1.7976931348623157e308}


def _finite(value: float, text: str, single: bool, origin: Origin | None) -> float:
    if abs(value) > _LARGEST[single]:
        raise AnalysisError(
            "INVALID_NUMERIC_LITERAL_RANGE",
            f"Numeric literal {text} is outside the valid range for {'float' if single else 'double'}.",
            origin,
        )
    return value


def _bounded(text: str, data_type: DataType, bits: int, origin: Origin | None = None) -> Literal:
    value = int(text)
    if not -(2**bits) <= value < 2**bits:
        raise AnalysisError(
            "INVALID_NUMERIC_LITERAL_RANGE",
            f"Numeric literal {text} is outside the valid range for {data_type.simple}.",
            origin,
        )
    return Literal(value, data_type, str(value))


def _decimal(value: Number, origin: Origin | None = None) -> Literal:
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    precision = max(len(digits) + max(exponent, 0), scale)
    if precision > 38:
        raise AnalysisError(
            "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
            f"Decimal precision {precision} exceeds max precision 38.",
            origin,
        )
    return Literal(value, Decimal(precision, scale), _plain(value, scale))


def _plain(value: Number, scale: int) -> str:
    """Java's `BigDecimal.toString`: scientific where the number is below 1e-6."""
    if (value == 0 and scale > 6) or (value != 0 and value.adjusted() < -6):
        digits = "".join(map(str, value.as_tuple().digits)).lstrip("0") or "0"
        power = value.adjusted() if value else -scale
        mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
        return f"{'-' if value < 0 else ''}{mantissa}E{power:+d}"
    return f"{abs(value) if value == 0 else value:f}"


def java_double(value: float, *, single: bool = False) -> str:
    """Java's `Double.toString` (or `Float.toString`), which Spark prints."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    shortest = _shortest_float(value) if single else repr(value)
    if value == 0:
        return shortest if "." in shortest else f"{shortest}.0"
    mantissa, exponent = f"{Number(shortest):e}".lower().split("e")
    digits = mantissa.replace(".", "").replace("-", "").rstrip("0") or "0"
    power = int(exponent)
    sign = "-" if value < 0 else ""
    if -3 <= power < 7:
        plain = f"{Number(shortest):f}"
        return plain if "." in plain else f"{plain}.0"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"


def _shortest_float(value: float) -> str:
    import struct

    for places in range(1, 10):
        text = f"{value:.{places}g}"
        if struct.pack("f", float(text)) == struct.pack("f", value):
            return text
    return repr(value)


def typed(node: q.TypedLiteral, conf: Conf, origin: Origin | None = None) -> Literal:
    """`DATE '..'`, `TIMESTAMP '..'`, `X'..'` and their kind."""
    text, kind = node.args["this"], node.args["kind"]
    reader = _TYPED.get(kind)
    if reader is None:
        raise Unknown(f"the literal {kind} '{text}'", origin)
    return reader(text, conf, origin)


def _invalid(kind: str, text: str, origin: Origin | None = None) -> AnalysisError:
    return AnalysisError(
        "INVALID_TYPED_LITERAL", f"The value of the typed literal {kind} is invalid: '{text}'.", origin
    )


_DATE = re.compile(r"\s*([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ].*)?)?)?\s*", re.S)
_CLOCK = r"(\d{1,2})(?::(\d{1,2}))?(?::(\d{1,2})(?:\.(\d{0,9}))?)?"
_STAMP = re.compile(
    rf"\s*([+-]?\d{{4,7}})(?:-(\d{{1,2}})(?:-(\d{{1,2}})(?:[T ]+(?:{_CLOCK})?\s*(\S.*?)?)?)?)?\s*", re.S
)
_SPECIAL = ("epoch", "now", "yesterday", "today", "tomorrow")


def _date(text: str, conf: Conf, origin: Origin | None = None) -> Literal:
    word = text.strip().lower().split(" ")[0]
    if word in _SPECIAL:
        return _special_date(word)
    found = _DATE.fullmatch(text)
    if not found:
        raise _invalid("DATE", text, origin)
    year, month, day = int(found[1]), int(found[2] or 1), int(found[3] or 1)
    if not _valid_day(year, month, day):
        raise _invalid("DATE", text, origin)
    return Literal(f"{year:04d}-{month:02d}-{day:02d}", DATE, f"DATE '{_year(year)}-{month:02d}-{day:02d}'")


def _special_date(word: str) -> Literal:
    if word == "epoch":
        return Literal("1970-01-01", DATE, "DATE '1970-01-01'")
    today = dt.date.today() + dt.timedelta(days={"yesterday": -1, "tomorrow": 1}.get(word, 0))
    return Literal(today.isoformat(), DATE, f"DATE '{today.isoformat()}'")


def _year(year: int) -> str:
    return f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"


def _valid_day(year: int, month: int, day: int) -> bool:
    try:
        dt.date(year if 1 <= year <= 9999 else 2000 + year % 400, month, day)
    except ValueError:
        return False
    return True


def _timestamp(kind: str) -> Reader:
    def read(text: str, conf: Conf, origin: Origin | None = None) -> Literal:
        word = text.strip().lower().split(" ")[0]
        if word in _SPECIAL:
            data_type = TIMESTAMP_NTZ if kind == "TIMESTAMP_NTZ" else _plain_timestamp(kind, conf)
            return Literal(text, data_type, f"{_stamp_word(data_type, conf)} '{text}'")
        found = _STAMP.fullmatch(text)
        if not found:
            raise _invalid(kind, text, origin)
        return _stamp(kind, text, found, conf, origin)

    return read


def _plain_timestamp(kind: str, conf: Conf) -> DataType:
    ntz = kind == "TIMESTAMP" and conf.timestamp_type == "TIMESTAMP_NTZ"
    return TIMESTAMP_NTZ if ntz or kind == "TIMESTAMP_NTZ" else TIMESTAMP


def _stamp_word(data_type: DataType, conf: Conf) -> str:
    if data_type == TIMESTAMP_NTZ:
        return "TIMESTAMP_NTZ"
    return "TIMESTAMP"


def _stamp(kind: str, text: str, found: re.Match[str], conf: Conf, origin: Origin | None = None) -> Literal:
    year, month, day = int(found[1]), int(found[2] or 1), int(found[3] or 1)
    hour, minute, second = (int(found[i] or 0) for i in (4, 5, 6))
    if len(found[7] or "") > 6 and conf.timestamp_nanos:
        raise Unknown(f"the nanoseconds of the literal {kind} '{text}'", origin)
    fraction, zone = (found[7] or "")[:6].ljust(6, "0"), found[8]
    if not _valid_day(year, month, day) or hour > 23 or minute > 59 or second > 59:
        raise _invalid(kind, text, origin)
    data_type = _plain_timestamp(kind, conf)
    if kind == "TIMESTAMP" and zone and data_type == TIMESTAMP_NTZ:
        data_type = TIMESTAMP
    clock = f"{hour:02d}:{minute:02d}:{second:02d}"
    if data_type == TIMESTAMP:
        moved = _in_session_zone(year, month, day, clock, fraction, zone, conf)
        if moved is None:
            raise Unknown(f"the zone of the literal {kind} '{text}'", origin)
        date, clock, fraction = moved
    else:
        date = f"{_year(year)}-{month:02d}-{day:02d}"
    shown = f"{date} {clock}" + (f".{fraction}".rstrip("0").rstrip("."))
    return Literal(shown, data_type, f"{_stamp_word(data_type, conf)} '{shown}'")


def _in_session_zone(
    year: int, month: int, day: int, clock: str, fraction: str, zone: str | None, conf: Conf
) -> tuple[str, str, str] | None:
    """The moment in the session's time zone; None where a zone is not known here."""
    if not zone and 1 <= year <= 9999:
        # A local time that the session's zone skips is moved forward, as Java does.
        own = _zone(conf.time_zone)
        if own is None:
            return f"{_year(year)}-{month:02d}-{day:02d}", clock, fraction
    if not 1 <= year <= 9999:
        return None if zone else (f"{_year(year)}-{month:02d}-{day:02d}", clock, fraction)
    source, target = _zone(zone or conf.time_zone), _zone(conf.time_zone)
    if source is None or target is None:
        return None
    naive = dt.datetime.fromisoformat(f"{year:04d}-{month:02d}-{day:02d} {clock}")
    try:
        moved = naive.replace(tzinfo=source).astimezone(dt.timezone.utc).astimezone(target)
    except OverflowError:
        return None if zone else (naive.date().isoformat(), clock, fraction)
    return moved.date().isoformat(), moved.strftime("%H:%M:%S"), fraction


def _zone(name: str) -> dt.tzinfo | None:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    text = name.strip()
    found = re.fullmatch(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2}))?(?::?(\d{1,2}))?", text)
    if found:
        seconds = int(found[2]) * 3600 + int(found[3] or 0) * 60 + int(found[4] or 0)
        return dt.timezone(dt.timedelta(seconds=seconds if found[1] == "+" else -seconds))
    if text.upper() in ("Z", "UTC", "GMT", "UT"):
        return dt.timezone.utc
    try:
        return ZoneInfo(_SHORT_ZONES.get(text, text))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


_SHORT_ZONES = {"PST": "America/Los_Angeles", "CST": "America/Chicago", "MST": "America/Denver", "JST": "Asia/Tokyo"}
_SHORT_ZONES |= {"EST": "America/Panama", "CET": "CET", "IST": "Asia/Kolkata", "PRT": "America/Puerto_Rico"}


def _time(text: str, conf: Conf, origin: Origin | None = None) -> Literal:
    found = re.fullmatch(rf"\s*[Tt]?{_CLOCK}\s*([AaPp][Mm])?\s*", text)
    if not found or found[2] is None:
        raise _invalid("TIME", text, origin)
    hour, minute, second, fraction = int(found[1]), int(found[2]), int(found[3] or 0), found[4] or ""
    if found[5] and not 1 <= hour <= 12:
        raise _invalid("TIME", text, origin)
    if found[5]:
        hour = hour % 12 + (12 if found[5].lower() == "pm" else 0)
    if hour > 23 or minute > 59 or second > 59:
        raise _invalid("TIME", text, origin)
    shown = f"{hour:02d}:{minute:02d}:{second:02d}" + (f".{fraction}".rstrip("0").rstrip("."))
    return Literal(shown, Time(max(6, min(len(fraction), 9))), f"TIME '{shown}'")


def _binary(text: str, conf: Conf, origin: Origin | None = None) -> Literal:
    padded = text if len(text) % 2 == 0 else f"0{text}"
    if not re.fullmatch(r"[0-9a-fA-F]*", padded):
        raise _invalid("X", text, origin)
    return Literal(padded.upper(), BINARY, f"X'{padded.upper()}'")


def _interval(text: str, conf: Conf, origin: Origin | None = None) -> Literal:
    return intervals.from_text(text, conf, origin)


_TYPED: dict[str, Reader] = {
    "DATE": _date,
    "TIMESTAMP": _timestamp("TIMESTAMP"),
    "TIMESTAMP_NTZ": _timestamp("TIMESTAMP_NTZ"),
    "TIMESTAMP_LTZ": _timestamp("TIMESTAMP_LTZ"),
    "TIME": _time,
    "X": _binary,
    "INTERVAL": _interval,
}


def interval(node: q.IntervalLiteral, conf: Conf, origin: Origin | None = None) -> Literal:
    return intervals.from_parts(node, conf, origin)


def string(node: q.Node) -> Literal:
    text = node.args["this"]
    return Literal(text, STRING, text)


__all__ = ["FALSE", "NULL", "TRUE", "interval", "number", "string", "typed"]
