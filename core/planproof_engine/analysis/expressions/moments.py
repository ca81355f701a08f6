"""Dates and timestamps in typed literals: the text to the moment, as Spark prints it in the session's time zone.

Source: `SparkDateTimeUtils.parseTimestampString`, `stringToDate`, `convertSpecialTimestamp`, `getZoneId`.
"""

from __future__ import annotations

import datetime as dt
import re

from planproof_engine.expr import Literal
from planproof_engine.ground import AnalysisError, Conf, Unknown
from planproof_engine.types import DATE, TIMESTAMP, TIMESTAMP_NTZ, DataType, Nanos

_DATE = r"(?s)\s*([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ].*)?)?)?\s*"
_CLOCK = r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?(\D.*)?)?)?"
_STAMP = rf"(?s)([+-]?\d{{4,6}})(?:-(\d{{1,2}})(?:-(\d{{1,2}})(?:[T ]{_CLOCK})?)?)?"
"""A timestamp's text, without blanks around it: a zone only after seconds, and one `T` or blank before the hours."""

_ONLY_CLOCK = rf"(?s)(?:T(?=\d)|(?=\d{{1,2}}:)){_CLOCK}"
_SPECIAL = r"(?is)(epoch|now|yesterday|today|tomorrow)[ \t]*(.*)"
_DAYS = {"yesterday": -1, "tomorrow": 1}
_OFFSET = r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2}))?(?::?(\d{1,2}))?"
_MOST = dt.timedelta(hours=18)
"""The largest offset that Java's ZoneOffset takes."""


def make_invalid_error(kind: str, text: str) -> AnalysisError:
    """The error for a typed literal whose text is no such value."""
    said = f"The value of the typed literal {kind} is invalid: '{text}'."
    return AnalysisError("INVALID_TYPED_LITERAL", said)


def date(text: str, conf: Conf) -> Literal:
    """`DATE '..'`. Raises `AnalysisError` for a text that is no date."""
    if (word := _find_special_word("DATE", text)) is not None:
        return _special_date(word, conf)
    found = re.fullmatch(_DATE, text)
    if not found:
        raise make_invalid_error("DATE", text)
    year, month, day = int(found[1]), int(found[2] or 1), int(found[3] or 1)
    if not _is_valid_day(year, month, day):
        raise make_invalid_error("DATE", text)
    return Literal(f"{year:04d}-{month:02d}-{day:02d}", DATE, f"DATE '{_format_year(year)}-{month:02d}-{day:02d}'")


def is_date(text: str) -> bool:
    """Whether a cast makes a date of the text. Words such as `today` are dates in literals alone."""
    found = re.fullmatch(_DATE, text)
    return found is not None and _is_valid_day(int(found[1]), int(found[2] or 1), int(found[3] or 1))


def _find_special_word(kind: str, text: str) -> str | None:
    """The special word of a text such as `epoch` or `today CET`; None for any other text. Spark looks up the zone and
    does not use it."""
    found = re.fullmatch(_SPECIAL, text.strip())
    if found is None:
        return None
    word = found[1].lower()
    if found[2] and (word == "now" or _find_zone(kind, text, found[2]) is None):
        raise make_invalid_error(kind, text)
    return word


def _special_date(word: str, conf: Conf) -> Literal:
    if word == "epoch":
        return Literal("1970-01-01", DATE, "DATE '1970-01-01'")
    today = dt.datetime.now(_parse_zone(conf.time_zone)).date() + dt.timedelta(days=_DAYS.get(word, 0))
    return Literal(today.isoformat(), DATE, f"DATE '{today.isoformat()}'")


def _format_year(year: int) -> str:
    return f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"


def _is_valid_day(year: int, month: int, day: int) -> bool:
    try:
        dt.date(year if 1 <= year <= 9999 else 2000 + year % 400, month, day)
    except ValueError:
        return False
    return True


def timestamp(kind: str, text: str, conf: Conf) -> Literal:
    """`TIMESTAMP '..'`, `TIMESTAMP_NTZ '..'` or `TIMESTAMP_LTZ '..'`. Raises `AnalysisError` for a text that is none,
    `Unknown` for a zone that only Java may know."""
    word = _find_special_word(kind, text)
    if word is not None:
        data_type = TIMESTAMP_NTZ if kind == "TIMESTAMP_NTZ" else _plain_timestamp(kind, conf)
        return _make_literal(_special_moment(word, data_type, conf), data_type, text)
    found = re.fullmatch(_STAMP, text.strip())
    if found is not None:
        day = int(found[1]), int(found[2] or 1), int(found[3] or 1)
        return _stamp(kind, text, day, found.groups()[3:], conf)
    found = re.fullmatch(_ONLY_CLOCK, text.strip())
    if found is None or kind == "TIMESTAMP_NTZ":
        raise make_invalid_error(kind, text)
    today = dt.datetime.now(_parse_zone(conf.time_zone)).date()
    return _stamp(kind, text, (today.year, today.month, today.day), found.groups(), conf)


def _plain_timestamp(kind: str, conf: Conf) -> DataType:
    ntz = kind == "TIMESTAMP" and conf.timestamp_type == "TIMESTAMP_NTZ"
    return TIMESTAMP_NTZ if ntz or kind == "TIMESTAMP_NTZ" else TIMESTAMP


def _special_moment(word: str, data_type: DataType, conf: Conf) -> str | None:
    """What Spark prints for a special word; None for `now`, which only Spark's run knows."""
    if word == "now":
        return None
    zone = _parse_zone(conf.time_zone)
    if word == "epoch":
        start = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
        return f"{(start if data_type == TIMESTAMP_NTZ else start.astimezone(zone)):%Y-%m-%d %H:%M:%S}"
    return f"{dt.datetime.now(zone).date() + dt.timedelta(days=_DAYS.get(word, 0))} 00:00:00"


def _make_literal(moment: str | None, data_type: DataType, text: str) -> Literal:
    word = "TIMESTAMP_NTZ" if data_type == TIMESTAMP_NTZ else "TIMESTAMP"
    return Literal(moment or text, data_type, f"{word} '{moment or text}'")


def _stamp(kind: str, text: str, day: tuple[int, int, int], clock: tuple[str | None, ...], conf: Conf) -> Literal:
    """`clock`: the texts of hour, minute, second, fraction and zone."""
    hour, minute, second = (int(part or 0) for part in clock[:3])
    digits, zone = clock[3] or "", (clock[4] or "").strip()
    if not _is_valid_day(*day) or hour > 23 or minute > 59 or second > 59:
        raise make_invalid_error(kind, text)
    if zone and _find_zone(kind, text, zone) is None:
        raise make_invalid_error(kind, text)
    data_type = TIMESTAMP if kind == "TIMESTAMP" and zone else _plain_timestamp(kind, conf)
    precise = conf.timestamp_nanos and len(digits) > 6
    if precise and len(digits) > 9:
        said = f"The timestamp literal '{text}' has {len(digits)} digits of a second: at most 9 are supported."
        raise AnalysisError("INVALID_TIMESTAMP_LITERAL_PRECISION", said)
    written, fraction = f"{hour:02d}:{minute:02d}:{second:02d}", digits if precise else digits[:6].ljust(6, "0")
    shown = f"{_format_year(day[0])}-{day[1]:02d}-{day[2]:02d}"
    if data_type == TIMESTAMP:
        moved = _convert_to_session_zone(*day, written, fraction, zone, conf)
        if moved is None:
            raise Unknown(f"the zone of the literal {kind} '{text}'")
        shown, written, fraction = moved
    if precise:
        zoned, moment = data_type == TIMESTAMP, f"{shown} {written}.{fraction}"
        return Literal(moment, Nanos(zoned, len(digits)), f"TIMESTAMP_{'LTZ' if zoned else 'NTZ'} '{moment}'")
    return _make_literal(f"{shown} {written}" + (f".{fraction}".rstrip("0").rstrip(".")), data_type, text)


def _convert_to_session_zone(
    year: int, month: int, day: int, clock: str, fraction: str, zone: str | None, conf: Conf
) -> tuple[str, str, str] | None:
    """The moment in the session's time zone; None where a zone is not known here."""
    target = _parse_zone(conf.time_zone)
    source = _parse_zone(zone) if zone else target
    if source is None or target is None or not 1 <= year <= 9999:
        return None if zone else (f"{_format_year(year)}-{month:02d}-{day:02d}", clock, fraction)
    # A local time that the session's zone skips is moved forward, as Java does.
    naive = dt.datetime.fromisoformat(f"{year:04d}-{month:02d}-{day:02d} {clock}")
    try:
        moved = naive.replace(tzinfo=source).astimezone(dt.timezone.utc).astimezone(target)
    except OverflowError:
        return None if zone else (naive.date().isoformat(), clock, fraction)
    return moved.date().isoformat(), moved.strftime("%H:%M:%S"), fraction


def _find_zone(kind: str, text: str, name: str) -> dt.tzinfo | None:
    """The zone that a literal names; None where Java knows no such zone. Raises `Unknown` where Java may know it."""
    found = _parse_zone(name)
    if found is None and ("/" in name or name in _ONLY_OF_JAVA):
        raise Unknown(f"the zone of the literal {kind} '{text}'")
    return found


def _parse_zone(name: str) -> dt.tzinfo | None:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    text = name.strip()
    found = re.fullmatch(_OFFSET, text)
    if found:
        offset = dt.timedelta(hours=int(found[2]), minutes=int(found[3] or 0), seconds=int(found[4] or 0))
        if offset > _MOST or int(found[3] or 0) > 59 or int(found[4] or 0) > 59:
            return None
        return dt.timezone(offset if found[1] == "+" else -offset)
    if text in ("Z", "UTC", "GMT", "UT"):
        return dt.timezone.utc
    try:
        return ZoneInfo(_SHORT_ZONES.get(text, text))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


_SHORT_ZONES = {"PST": "America/Los_Angeles", "CST": "America/Chicago", "MST": "America/Denver", "JST": "Asia/Tokyo"}
_SHORT_ZONES |= {"EST": "America/Panama", "CET": "CET", "IST": "Asia/Kolkata", "PRT": "America/Puerto_Rico"}
_ONLY_OF_JAVA = frozenset(
    ("ACT", "AET", "AGT", "ART", "AST", "BET", "BST", "CAT", "CNT", "CTT", "EAT", "ECT", "IET", "MIT", "NET", "NST")
)
"""Java's own short names of zones, which no other database of time zones has."""
