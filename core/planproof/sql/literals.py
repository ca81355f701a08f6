"""The grammar of constants: Spark's rules `constant`, `number`, `interval`, `literalType`."""

from __future__ import annotations

import re

from planproof.sql import nodes as q
from planproof.sql.datatypes import TypeGrammar
from planproof.sql.keywords import WORDS
from planproof.sql.tokens import NUMBERS

_UNITS = ["NANOSECOND", "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"]
INTERVAL_UNITS = frozenset({*_UNITS, *(f"{unit}S" for unit in _UNITS)})
"""Units that Spark's rule `unitInMultiUnits` names."""

_TO_UNITS = frozenset(("SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR"))
_HEX = re.compile("[0-9a-fA-F]*")
_VALUES = ("INTEGER_VALUE", "DECIMAL_VALUE", "STRING_LITERAL")
_BITS = {"TINYINT_LITERAL": 7, "SMALLINT_LITERAL": 15, "BIGINT_LITERAL": 63}
_TYPED = frozenset(("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "INTERVAL", "X"))


class LiteralGrammar(TypeGrammar):
    """Constants. A constant's token text is kept; nothing is rounded, widened or evaluated here."""

    def number(self) -> q.Literal:
        """A number token, perhaps with a minus before it, which belongs to the literal: so `-128Y` is a tinyint."""
        start = self.start
        sign = "-" if self.skip("-") else ""
        if self.kind not in NUMBERS:
            self.fail()
        kind, text = self.kind, sign + self.token()
        bits = _BITS.get(kind)
        if bits is not None and not -(1 << bits) <= int(text[:-1]) < 1 << bits:
            name = kind.removesuffix("_LITERAL").lower()
            self.later(
                "INVALID_NUMERIC_LITERAL_RANGE",
                f"Numeric literal {text[:-1]} is outside the valid range for {name} with minimum value of "
                f"{-(1 << bits)} and maximum value of {(1 << bits) - 1}. Please adjust the value accordingly.",
                start,
                self.stops[self.i],
            )
        self.advance()
        return self.placed(q.Literal(text, False, kind), start)

    def string_literal(self) -> q.Literal:
        start = self.start
        return self.placed(q.Literal(self.string(), True), start)

    def parameter(self) -> q.Placeholder:
        start = self.start
        if self.skip("?"):
            return self.placed(q.Placeholder(), start)
        self.take(":")
        name = self.identifier()
        return self.placed(q.Placeholder(name.text), start)

    def typed_literal(self) -> q.TypedLiteral:
        """`WORD 'text'`: one string token, unlike a bare string literal."""
        start = self.start
        kind = self.token().upper()
        if self.kind == "BACKQUOTED" or kind not in _TYPED or kind in self.lacks:
            self.later(
                "UNSUPPORTED_TYPED_LITERAL",
                f'Literals of the type "{kind}" are not supported. '
                'Supported types are "DATE", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIMESTAMP", "INTERVAL", "X", "TIME".',
                self.start,
                self.stops[self.i],
            )
        self.advance()
        value = self.string_value(self.i)
        if kind == "X" and not _HEX.fullmatch(value):
            self.later(
                "INVALID_TYPED_LITERAL",
                f'The value of the typed literal "X" is invalid: {self.token()}.',
                self.starts[self.i - 1],
                self.stops[self.i],
            )
        self.advance()
        return self.placed(q.TypedLiteral(value, kind), start)

    def interval_follows(self) -> bool:
        """Whether the word INTERVAL at hand begins an interval with units."""
        ahead = 2 if self.peek() in ("+", "-") else 1
        if self.peek(ahead) not in _VALUES:
            return False
        while self.peek(ahead) == "STRING_LITERAL" and self.peek(ahead + 1) == "STRING_LITERAL":
            ahead += 1
        return self.peek(ahead + 1) in INTERVAL_UNITS

    def interval(self) -> q.IntervalLiteral:
        start = self.start
        self.take("INTERVAL")
        parts = [self._interval_part()]
        to = self._to_unit(parts)
        while to is None and self._part_follows():
            parts.append(self._interval_part())
            to = self._to_unit(parts)
        node = self.placed(q.IntervalLiteral(parts, to), start)
        if to is not None and (len(parts) > 1 or self._part_follows()):
            self.later(
                "_LEGACY_ERROR_TEMP_0028" if len(parts) == 1 else "_LEGACY_ERROR_TEMP_0029",
                "Can only have a single from-to unit in the interval literal syntax",
                start,
                self.stop,
            )
        return node

    def _to_unit(self, parts: list[q.IntervalPart]) -> str | None:
        if self.kind == "TO" and self.peek() in _TO_UNITS and parts[-1].unit in _TO_UNITS:
            self.advance()
            unit = self.kind
            self.advance()
            return unit
        return None

    def _part_follows(self) -> bool:
        ahead = 1 if self.kind in ("+", "-") else 0
        return self.peek(ahead) in _VALUES and self.peek(ahead + 1) in INTERVAL_UNITS

    def _interval_part(self) -> q.IntervalPart:
        start = self.start
        negative = self.kind == "-"
        if self.kind in ("+", "-"):
            self.advance()
        if self.kind not in _VALUES:
            self.fail()
        value = self.string_literal() if self.kind == "STRING_LITERAL" else self.number()
        unit = self.kind
        if unit not in INTERVAL_UNITS:
            self.fail()
        self.advance()
        return self.placed(q.IntervalPart(value, unit, negative), start)

    def constant(self) -> q.Node:
        """Spark's `constant`, where only a constant may stand."""
        kind, start = self.kind, self.start
        if kind == "STRING_LITERAL":
            return self.string_literal()
        if kind == "-" or kind in NUMBERS:
            return self.number()
        if kind in ("?", ":"):
            return self.parameter()
        if kind == "INTERVAL" and self.interval_follows():
            return self.interval()
        if kind in ("NULL", "TRUE", "FALSE") and self.peek() != "STRING_LITERAL":
            self.advance()
            node: q.Node = q.Null() if kind == "NULL" else q.Boolean(kind == "TRUE")
            return self.placed(node, start)
        if kind in WORDS and self.peek() == "STRING_LITERAL":
            return self.typed_literal()
        self.fail()
