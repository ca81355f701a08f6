"""Constants: a token's text to a typed literal, with the text that Spark prints for it.

Source: `AstBuilder.numericLiteral`, `visitTypeConstructor`, `visitInterval`; `Literal.sql`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal as Number
from functools import partial
from typing import TypeGuard

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import intervals, moments
from planproof_engine.expr import Literal
from planproof_engine.functions.constants import format_java_double
from planproof_engine.ground import AnalysisError, Conf, Unknown
from planproof_engine.sql import nodes as q

Reader = Callable[[str, Conf], Literal]

NULL = Literal(None, dt.VOID, "NULL")
TRUE = Literal(True, dt.BOOLEAN, "true")
FALSE = Literal(False, dt.BOOLEAN, "false")

_SUFFIXES: dict[str, tuple[int, dt.DataType, int]] = {
    "BIGINT_LITERAL": (1, dt.LONG, 63),
    "SMALLINT_LITERAL": (1, dt.SHORT, 15),
    "TINYINT_LITERAL": (1, dt.BYTE, 7),
}


def is_position(node: q.Node) -> TypeGuard[q.Literal]:
    """Whether it is an int, which in GROUP BY and ORDER BY says the place of an item: 2147483648 is a bigint."""
    return isinstance(node, q.Literal) and node.kind == "INTEGER_VALUE" and int(node.text) < 2**31


def plain(node: q.Literal, conf: Conf) -> Literal:
    """A text or a number. An integer takes the first of int, bigint and decimal that holds it."""
    text, kind = node.text, node.kind
    if node.is_string:
        return Literal(text, dt.STRING, text)
    if kind in _SUFFIXES:
        width, data_type, bits = _SUFFIXES[kind]
        return _make_integer(text[:-width], data_type, bits)
    if kind == "INTEGER_VALUE":
        value = int(text)
        if -(2**31) <= value < 2**31:
            return Literal(value, dt.INT, str(value))
        if -(2**63) <= value < 2**63:
            return Literal(value, dt.LONG, str(value))
        return _decimal(Number(text))
    if kind in ("DOUBLE_LITERAL", "FLOAT_LITERAL"):
        double = kind == "DOUBLE_LITERAL"
        real = _require_finite(float(text.rstrip("dDfF")), text, not double)
        return Literal(real, dt.DOUBLE if double else dt.FLOAT, format_java_double(real, single=not double))
    if kind == "EXPONENT_VALUE" and not conf.exponent_as_decimal:
        return Literal(_require_finite(float(text), text, False), dt.DOUBLE, format_java_double(float(text)))
    if kind != "BIGDECIMAL_LITERAL":
        return _decimal(Number(text))
    try:
        return _decimal(Number(text.upper().rstrip("BD")))
    except AnalysisError as error:
        if not conf.before("4.0"):
            raise
        raise AnalysisError("_LEGACY_ERROR_TEMP_0061", error.message) from None


_LARGEST = {True: 3.4028234663852886e38, False: 1.7976931348623157e308}


def _require_finite(value: float, text: str, single: bool) -> float:
    if abs(value) > _LARGEST[single]:
        said = f"Numeric literal {text} is outside the valid range for {'float' if single else 'double'}."
        raise AnalysisError("INVALID_NUMERIC_LITERAL_RANGE", said)
    return value


def _make_integer(text: str, data_type: dt.DataType, bits: int) -> Literal:
    value = int(text)
    if not -(2**bits) <= value < 2**bits:
        said = f"Numeric literal {text} is outside the valid range for {data_type.simple}."
        raise AnalysisError("INVALID_NUMERIC_LITERAL_RANGE", said)
    return Literal(value, data_type, str(value))


def _decimal(value: Number) -> Literal:
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    precision = max(len(digits) + max(exponent, 0), scale)
    if precision > 38:
        text = f"Decimal precision {precision} exceeds max precision 38."
        raise AnalysisError("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", text)
    return Literal(value, dt.Decimal(precision, scale), format_decimal(value, scale))


def format_decimal(value: Number, scale: int) -> str:
    """Java's `BigDecimal.toString`: scientific where the number is below 1e-6."""
    if (value == 0 and scale > 6) or (value != 0 and value.adjusted() < -6):
        digits = "".join(map(str, value.as_tuple().digits)).lstrip("0") or "0"
        power = value.adjusted() if value else -scale
        mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
        return f"{'-' if value < 0 else ''}{mantissa}E{power:+d}"
    return f"{abs(value) if value == 0 else value:f}"


def typed(node: q.TypedLiteral, conf: Conf) -> Literal:
    """`DATE '..'`, `TIMESTAMP '..'`, `X'..'` and their kind."""
    text, kind = node.text, node.kind
    reader = _TYPED.get(kind)
    if reader is None:
        raise Unknown(f"the literal {kind} '{text}'")
    return reader(text, conf)


_TIME = re.compile(r"\s*[Tt]?(\d{1,2})(?::(\d{1,2}))?(?::(\d{1,2})(?:\.(\d{0,9}))?)?\s*(?:([AaPp][Mm])\s*)?")


def _time(text: str, conf: Conf) -> Literal:
    found = _TIME.fullmatch(text)
    if not found or found[2] is None or (found[5] and not 1 <= int(found[1]) <= 12):
        raise moments.make_invalid_error("TIME", text)
    hour, minute, second, fraction = int(found[1]), int(found[2]), int(found[3] or 0), found[4] or ""
    if found[5]:
        hour = hour % 12 + (12 if found[5].lower() == "pm" else 0)
    if hour > 23 or minute > 59 or second > 59:
        raise moments.make_invalid_error("TIME", text)
    shown = f"{hour:02d}:{minute:02d}:{second:02d}" + (f".{fraction}".rstrip("0").rstrip("."))
    return Literal(shown, dt.Time(max(6, min(len(fraction), 9))), f"TIME '{shown}'")


def _binary(text: str, conf: Conf) -> Literal:
    padded = text if len(text) % 2 == 0 else f"0{text}"
    if not re.fullmatch(r"[0-9a-fA-F]*", padded):
        raise moments.make_invalid_error("X", text)
    return Literal(padded.upper(), dt.BINARY, f"X'{padded.upper()}'")


_TYPED: dict[str, Reader] = {
    "DATE": moments.date,
    "TIMESTAMP": partial(moments.timestamp, "TIMESTAMP"),
    "TIMESTAMP_NTZ": partial(moments.timestamp, "TIMESTAMP_NTZ"),
    "TIMESTAMP_LTZ": partial(moments.timestamp, "TIMESTAMP_LTZ"),
    "TIME": _time,
    "X": _binary,
    "INTERVAL": intervals.from_text,
}
