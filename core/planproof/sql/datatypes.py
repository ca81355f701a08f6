"""The grammar of data types inside a statement: finds how far a type goes, then reads it."""

from __future__ import annotations

from functools import lru_cache

from planproof.sql import nodes as q
from planproof.sql.cursor import Cursor
from planproof.sql.keywords import WORDS
from planproof.types import VOID, DataType, TypeSyntaxError, parse_type

_YEAR_MONTH = ("YEAR", "MONTH")
_DAY_TIME = ("DAY", "HOUR", "MINUTE", "SECOND")
_LENGTHS = {"CHAR", "CHARACTER", "VARCHAR", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TIME"}
_DECIMALS = ("DECIMAL", "DEC", "NUMERIC")
_WIDEST = 38
"""Digits that a decimal has at most."""
_SIZED = ("CHAR", "CHARACTER", "VARCHAR")
_PLAIN_WORDS = "BIGINT BINARY BOOLEAN BYTE DATE DOUBLE FLOAT INT INTEGER LONG REAL SHORT SMALLINT TINYINT VARIANT VOID"
_PLAIN = frozenset(_PLAIN_WORDS.split())
_OTHERS = "STRING DEC DECIMAL NUMERIC INTERVAL GEOGRAPHY GEOMETRY ARRAY MAP STRUCT"
_NAMED = frozenset({*_PLAIN, *_LENGTHS, *_OTHERS.split()})


@lru_cache(maxsize=4096)
def _read(text: str, timestamp_ntz: bool) -> DataType:
    return parse_type(text, timestamp_ntz=timestamp_ntz)


class TypeGrammar(Cursor):
    """Spark's rule `dataType`."""

    def data_type(self) -> q.TypeName:
        """A type. Raises `AnalysisError` UNSUPPORTED_DATATYPE or INCOMPLETE_TYPE_DEFINITION where Spark does."""
        first, start = self.i, self.start
        self._type_extent()
        text = self.text[start : self.stop]
        if "--" in text or "/*" in text:
            text = " ".join(self.token(at) for at in range(first, self.i))
        try:
            found = _read(text, self.conf.timestamp_type == "TIMESTAMP_NTZ")
        except TypeSyntaxError:
            if self._later:
                return self.placed(q.TypeName(text, VOID), start)
            self.unknown(f"the type {text}", start)
        return self.placed(q.TypeName(text, found), start)

    def _type_extent(self) -> None:
        kind = self.kind
        if kind in self.lacks:
            self._named_extent()
        elif kind in _PLAIN:
            self.advance()
        elif kind in ("ARRAY", "MAP"):
            self.advance()
            if not self._open_angle(kind):
                return
            self._type_extent()
            if kind == "MAP":
                self.take(",")
                self._type_extent()
            self._close_angle()
        elif kind == "STRUCT":
            self._struct_extent()
        elif kind in _LENGTHS:
            self._length_extent()
        elif kind == "INTERVAL":
            self._interval_extent()
        elif kind in WORDS:
            self._named_extent()
        else:
            self.fail()

    def _open_angle(self, kind: str) -> bool:
        if self.kind != "<":
            shown = {"ARRAY": 'Provide an element type. For example: "ARRAY<elementType>".'}.get(
                kind, 'Provide a key type and a value type. For example: "MAP<TIMESTAMP, INT>".'
            )
            self.later(
                f"INCOMPLETE_TYPE_DEFINITION.{kind}",
                f'Incomplete complex type: The definition of "{kind}" type is incomplete. {shown}',
                self.starts[self.i - 1],
                self.stop,
            )
            return False
        self.advance()
        return True

    def _close_angle(self) -> None:
        """One `>`; of a `>>` or `>>>` token only the first sign is taken."""
        if self.kind in (">>", ">>>"):
            at = self.starts[self.i]
            self.kinds[self.i : self.i + 1] = [">", self.kind[1:]]
            self.starts.insert(self.i + 1, at + 1)
            self.stops.insert(self.i, at + 1)
            self.kind = ">"
        self.take(">")

    def _struct_extent(self) -> None:
        self.advance()
        if self.skip("<>"):
            return
        if self.kind != "<":
            self.later(
                "INCOMPLETE_TYPE_DEFINITION.STRUCT",
                'Incomplete complex type: The definition of "STRUCT" type is incomplete. '
                'You must provide at least one field type. For example: "STRUCT<Field1: INT>".',
                self.starts[self.i - 1],
                self.stop,
            )
            return
        self.advance()
        if self.kind == ">":
            self.advance()
            return
        while True:
            self.identifier()
            self.skip(":")
            self._type_extent()
            if self.kind in ("NOT", "!"):
                self.advance()
                self.take("NULL")
            if self.skip("COMMENT"):
                self.string()
            if not self.skip(","):
                break
        self._close_angle()

    def _lengths(self) -> bool:
        """Steps over lengths in parentheses. Returns whether there were any."""
        if self.kind == "(" and self.peek() in ("INTEGER_VALUE", "ANY"):
            self.advance()
            self.advance()
            while self.skip(","):
                self.take("INTEGER_VALUE")
            self.take(")")
            return True
        elif self.kind == "(" and self.peek() in ("?", ":"):
            self.unknown("a parameter marker in a type")
        return False

    def _length_extent(self) -> None:
        kind = self.kind
        start = self.start
        self.advance()
        if not self._lengths() and kind in _SIZED:
            name = self.text[start : self.stop]
            message = f'DataType "{name}" requires a length parameter, for example "{name}"(10).'
            self.later("DATATYPE_MISSING_SIZE", message, start, self.stop)
        if kind.startswith("TIMESTAMP") and self.kinds[self.i - 1] == ")":
            self._precision(kind, start)
        if kind in ("TIME", "TIMESTAMP"):
            self.skip_all("WITH", "LOCAL", "TIME", "ZONE")
            self.skip_all("WITHOUT", "TIME", "ZONE")
        elif self.kind == "COLLATE" and "COLLATE of CHAR" not in self.lacks:
            self._collation_extent()

    def _precision(self, kind: str, start: int) -> None:
        """Refuses a number of digits for a second that no timestamp has
        (`DataTypeAstBuilder.parseTimestampNtzNanosPrecision`)."""
        digits = int(self.token(self.i - 2))
        if "precision of timestamps" in self.lacks:
            self._unsupported(self.text[start : self.stop].upper(), start)
        elif digits in (7, 8, 9) and not self.conf.timestamp_nanos:
            message = "The feature Nanosecond-precision timestamp types is not enabled."
            self.later("FEATURE_NOT_ENABLED", message, start, self.stop)
        elif not 6 <= digits <= 9:
            message = f"The seconds precision {digits} of {kind} is invalid. Expected an integer in [7, 9], or 6."
            self.later("INVALID_TIMESTAMP_PRECISION", message, start, self.stop)

    def _interval_extent(self) -> None:
        self.advance()
        for units, last in ((_YEAR_MONTH, ("MONTH",)), (_DAY_TIME, _DAY_TIME[1:])):
            if self.kind in units:
                self.advance()
                if self.kind == "TO" and self.peek() in last:
                    self.advance()
                    self.advance()
                return

    def _collation_extent(self) -> None:
        self.advance()
        name = self.identifier()
        while self.kind == "." and self.peek() in WORDS:
            self.advance()
            name = self.identifier()
        self.check_collation(name)

    def check_collation(self, name: q.Identifier) -> None:
        if "trimming collations" in self.lacks and name.text.upper().endswith("_RTRIM"):
            message = "The feature is not supported: TRIM specifier in the collation."
            self.later("UNSUPPORTED_FEATURE.TRIM_COLLATION", message, *name.span)

    def _named_extent(self) -> None:
        kind, start, name = self.kind, self.start, self.token()
        self.advance()
        opened = self.i
        sized = self._lengths()
        if kind == "STRING" and self.kind == "COLLATE" and "COLLATE" not in self.lacks:
            self._collation_extent()
        if kind not in _NAMED or kind in self.lacks or (kind in ("GEOMETRY", "GEOGRAPHY") and not sized):
            shown = self.text[start : self.stop].upper() if not name.startswith("`") else name
            self._unsupported(shown, start)
        elif sized and kind in _DECIMALS:
            self._decimal([int(self.token(at)) for at in range(opened + 1, self.i, 2)], start)
        elif sized and kind == "STRING":
            self._unsupported(self.text[start : self.stop].upper(), start)

    def _decimal(self, given: list[int], start: int) -> None:
        """Refuses a precision and a scale that no decimal has (`DecimalType`)."""
        precision, scale = (*given, 0)[:2]
        if len(given) > 2:
            self._unsupported(self.text[start : self.stop].upper(), start)
        elif scale > precision:
            message = f"Decimal scale ({scale}) cannot be greater than precision ({precision})."
            self.later("DECIMAL_SCALE_EXCEEDS_PRECISION", message, start, self.stop)
        elif precision > _WIDEST:
            message = f"Decimal precision {precision} exceeds max precision {_WIDEST}."
            self.later("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", message, start, self.stop)

    def _unsupported(self, shown: str, start: int) -> None:
        self.later("UNSUPPORTED_DATATYPE", f'Unsupported data type "{shown}".', start, self.stop)
