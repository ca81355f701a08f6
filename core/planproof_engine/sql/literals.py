"""The grammar of constants: Spark's rules `constant`, `number`, `interval`, `literalType`.

A constant's token text is kept; nothing is rounded, widened or evaluated here.
"""

from __future__ import annotations

import re

from planproof_engine.sql import nodes as q
from planproof_engine.sql.cursor import Cursor
from planproof_engine.sql.keywords import WORDS
from planproof_engine.sql.tokens import NUMBERS

_UNITS = ["NANOSECOND", "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"]
INTERVAL_UNITS = frozenset({*_UNITS, *(f"{unit}S" for unit in _UNITS)})
"""Units that Spark's rule `unitInMultiUnits` names."""

_TO_UNITS = frozenset(("SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR"))
_HEX = re.compile("[0-9a-fA-F]*")
_VALUES = ("INTEGER_VALUE", "DECIMAL_VALUE", "STRING_LITERAL")
_BITS = {"TINYINT_LITERAL": 7, "SMALLINT_LITERAL": 15, "BIGINT_LITERAL": 63}
_TYPED = frozenset(("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "INTERVAL", "X"))


def number(c: Cursor) -> q.Literal:
    """A number token, perhaps with a minus before it, which belongs to the literal: so `-128Y` is a tinyint."""
    start = c.start
    sign = "-" if c.skip("-") else ""
    if c.kind not in NUMBERS:
        c.fail()
    kind, text = c.kind, sign + c.token()
    bits = _BITS.get(kind)
    if bits is not None and not -(1 << bits) <= int(text[:-1]) < 1 << bits:
        name = kind.removesuffix("_LITERAL").lower()
        message = (
            f"Numeric literal {text[:-1]} is outside the valid range for {name} with minimum value of "
            f"{-(1 << bits)} and maximum value of {(1 << bits) - 1}. Please adjust the value accordingly."
        )
        c.keep_error_here("INVALID_NUMERIC_LITERAL_RANGE", message, start)
    c.advance()
    return c.place(q.Literal(text, False, kind), start)


def string_literal(c: Cursor) -> q.Literal:
    """A string, or several side by side."""
    start = c.start
    return c.place(q.Literal(c.string(), True), start)


def parameter(c: Cursor) -> q.Placeholder:
    """`?` or `:name`."""
    start = c.start
    if c.skip("?"):
        return c.place(q.Placeholder(), start)
    c.take(":")
    name = c.identifier()
    return c.place(q.Placeholder(name.text), start)


def typed_literal(c: Cursor) -> q.TypedLiteral:
    """`WORD 'text'`: one string token, unlike a bare string literal."""
    start = c.start
    kind = c.token().upper()
    if c.kind == "BACKQUOTED" or kind not in _TYPED or kind in c.lacks:
        message = (
            f'Literals of the type "{kind}" are not supported. '
            'Supported types are "DATE", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIMESTAMP", "INTERVAL", "X", "TIME".'
        )
        c.keep_error_here("UNSUPPORTED_TYPED_LITERAL", message)
    c.advance()
    value = c.string_value(c.i)
    if kind == "X" and not _HEX.fullmatch(value):
        message = f'The value of the typed literal "X" is invalid: {c.token()}.'
        c.keep_error_here("INVALID_TYPED_LITERAL", message, c.starts[c.i - 1])
    c.advance()
    return c.place(q.TypedLiteral(value, kind), start)


def interval_follows(c: Cursor) -> bool:
    """Whether the word INTERVAL at hand begins an interval with units."""
    ahead = 2 if c.peek() in ("+", "-") else 1
    if c.peek(ahead) not in _VALUES:
        return False
    while c.peek(ahead) == "STRING_LITERAL" and c.peek(ahead + 1) == "STRING_LITERAL":
        ahead += 1
    return c.peek(ahead + 1) in INTERVAL_UNITS


def interval(c: Cursor) -> q.IntervalLiteral:
    """INTERVAL with one part or several: `INTERVAL 1 DAY -2 HOURS`, `INTERVAL '1-2' YEAR TO MONTH`."""
    start = c.start
    c.take("INTERVAL")
    parts = [_interval_part(c)]
    to = _to_unit(c, parts)
    while to is None and _part_follows(c):
        parts.append(_interval_part(c))
        to = _to_unit(c, parts)
    node = c.place(q.IntervalLiteral(parts, to), start)
    if to is not None and not parts[0].value.is_string:
        c.keep_error("_LEGACY_ERROR_TEMP_0027", "The value of from-to unit must be a string", start)
    if to is not None and (len(parts) > 1 or _part_follows(c)):
        message = "Can only have a single from-to unit in the interval literal syntax"
        c.keep_error("_LEGACY_ERROR_TEMP_0028" if len(parts) == 1 else "_LEGACY_ERROR_TEMP_0029", message, start)
    return node


def _to_unit(c: Cursor, parts: list[q.IntervalPart]) -> str | None:
    if c.kind == "TO" and c.peek() in _TO_UNITS and parts[-1].unit in _TO_UNITS:
        c.advance()
        unit = c.kind
        c.advance()
        return unit
    return None


def _part_follows(c: Cursor) -> bool:
    ahead = 1 if c.kind in ("+", "-") else 0
    return c.peek(ahead) in _VALUES and c.peek(ahead + 1) in INTERVAL_UNITS


def _interval_part(c: Cursor) -> q.IntervalPart:
    start = c.start
    negative = c.kind == "-"
    if c.kind in ("+", "-"):
        c.advance()
    if c.kind not in _VALUES:
        c.fail()
    value = string_literal(c) if c.kind == "STRING_LITERAL" else number(c)
    unit = c.kind
    if unit not in INTERVAL_UNITS:
        c.fail()
    c.advance()
    return c.place(q.IntervalPart(value, unit, negative), start)


def constant(c: Cursor) -> q.Node:
    """Spark's `constant`, where only a constant may stand."""
    kind, start = c.kind, c.start
    if kind == "STRING_LITERAL":
        return string_literal(c)
    if kind == "-" or kind in NUMBERS:
        return number(c)
    if kind in ("?", ":"):
        return parameter(c)
    if kind == "INTERVAL" and interval_follows(c):
        return interval(c)
    if kind in ("NULL", "TRUE", "FALSE") and c.peek() != "STRING_LITERAL":
        c.advance()
        node: q.Node = q.Null() if kind == "NULL" else q.Boolean(kind == "TRUE")
        return c.place(node, start)
    if kind in WORDS and c.peek() == "STRING_LITERAL":
        return typed_literal(c)
    c.fail()
