"""Reads types: DDL strings with nested NOT NULL, and Spark's type JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from planproof_engine.quoting import find_end_of_quoted
from planproof_engine.types import nodes as n

_TOKEN = re.compile(r"\s*([A-Za-z_0-9]\w*|.)", re.S)

_ATOMS: dict[str, n.DataType] = {
    **{spelling: t for t in n.ATOMS for spelling in (t.spelling, t.json_spelling)},
    "null": n.VOID,
    "real": n.FLOAT,
}


class TypeSyntaxError(ValueError):
    """A type text that Spark's type grammar does not accept; the message quotes the text and the place."""


_DIGITS = 20
_SHOWN = 200


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


class _Reader:
    """Reads one DDL type text by recursive descent."""

    def __init__(self, text: str, timestamp_ntz: bool) -> None:
        self.text, self.timestamp_ntz = text, timestamp_ntz
        self.tokens = list(self._list_tokens())
        self.at = self.levels = 0

    def _list_tokens(self) -> Iterator[tuple[int, str]]:
        text, stop = self.text, 0
        while found := _TOKEN.match(text, stop):
            start, stop = found.span(1)
            if text[start] in "'`":
                stop = find_end_of_quoted(text, start) or 0
                if not stop:
                    raise self.refusal(f"the {text[start]} at {start + 1} is not closed")
            yield start, text[start:stop]

    def fail(self, wanted: str) -> TypeSyntaxError:
        found = self.tokens[self.at][1] if self.at < len(self.tokens) else "the end"
        return self.refusal(f"expected {_shorten(wanted)}, found {_shorten(found)}")

    def refusal(self, why: str) -> TypeSyntaxError:
        return TypeSyntaxError(f"cannot read the type {_shorten(self.text)!r}: {why}")

    def peek(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.tokens[place][1].lower() if place < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        if self.at >= len(self.tokens) or (wanted and self.peek() not in wanted):
            raise self.fail(" or ".join(wanted) or "more")
        self.at += 1
        return self.tokens[self.at - 1][1]

    def skip(self, word: str) -> bool:
        if self.peek() == word:
            self.at += 1
            return True
        return False

    def number(self) -> int:
        sign = -1 if self.skip("-") else 1
        text = self.take()
        if not (text.isdecimal() and len(text) <= _DIGITS):
            self.at -= 1
            raise self.fail(f"a number of at most {_DIGITS} digits")
        return sign * int(text)

    def parameters(self) -> list[int]:
        if not self.skip("("):
            return []
        values = [self.number()]
        while self.skip(","):
            values.append(self.number())
        self.take(")")
        return values

    def identifier(self) -> str:
        token = self.take()
        if token.startswith("`"):
            return token[1:-1].replace("``", "`")
        if not re.fullmatch(r"\w+", token):
            self.at -= 1
            raise self.fail("a field name")
        return token

    def type(self) -> n.DataType:
        word = self.take().lower()
        reader = _COMPOSITES.get(word)
        if reader is not None:
            self.levels += 1
            if self.levels > n.MOST_LEVELS:
                raise n.TooLargeType
            found = reader(self)
            self.levels -= 1
            return found
        if word in ("timestamp", "timestamp_ltz", "timestamp_ntz"):
            return self.timestamp(word)
        if word in _ATOMS:
            self.skip("precision")
            return _ATOMS[word]
        return self.unknown(word)

    def unknown(self, word: str) -> n.DataType:
        """What stands for a word that names no type."""
        self.at -= 1
        raise self.fail("a type")

    def timestamp(self, word: str) -> n.DataType:
        """`timestamp`, its zoned spellings, and the nanosecond forms `timestamp_ltz(9)` and `timestamp_ntz(9)`."""
        ntz = word == "timestamp_ntz" or (word == "timestamp" and self.timestamp_ntz)
        precision = (self.parameters() or [6])[0]
        if word == "timestamp" and (self.peek() == "without" or (self.peek(), self.peek(1)) in _WITH_ZONE):
            ntz = self.take().lower() == "without"
            self.skip("local")
            self.take("time")
            self.take("zone")
        if precision > 6:
            return n.Nanos(not ntz, precision)
        return n.TIMESTAMP_NTZ if ntz else n.TIMESTAMP

    def decimal(self) -> n.DataType:
        values = self.parameters() or [10]
        precision, scale = values[0], values[1] if len(values) > 1 else 0
        if len(values) > 2 or not 0 <= scale <= precision <= 38:
            raise self.refusal(f"decimal({precision},{scale}) is out of range")
        return n.Decimal(precision, scale)

    def string(self) -> n.DataType:
        if self.skip("collate"):
            return n.String(self.identifier().upper())
        return n.STRING

    def length(self) -> int:
        values = self.parameters()
        if len(values) != 1 or values[0] < 0:
            raise self.fail("a length")
        return values[0]

    def time(self) -> n.DataType:
        values = self.parameters() or [6]
        if self.skip("without"):
            self.take("time")
            self.take("zone")
        return n.Time(values[0])

    def interval(self) -> n.DataType:
        start = self.peek()
        if start not in n.YEAR_MONTH_UNITS and start not in n.DAY_TIME_UNITS:
            return n.CALENDAR_INTERVAL
        self.take()
        end = self.take().lower() if self.skip("to") else start
        units = n.YEAR_MONTH_UNITS if start in n.YEAR_MONTH_UNITS else n.DAY_TIME_UNITS
        if end not in units or units.index(end) < units.index(start):
            raise self.refusal(f"no interval from {start} to {end}")
        return n.Interval(start, end)

    def array(self) -> n.DataType:
        self.take("<")
        element = self.type()
        contains_null = not self.skip_not_null()
        self.take(">")
        return n.Array(element, contains_null)

    def map(self) -> n.DataType:
        self.take("<")
        key = self.type()
        self.skip_not_null()
        self.take(",")
        value = self.type()
        contains_null = not self.skip_not_null()
        self.take(">")
        return n.Map(key, value, contains_null)

    def skip_not_null(self) -> bool:
        if self.peek() == "not" and self.peek(1) == "null":
            self.at += 2
            return True
        return False

    def struct(self) -> n.DataType:
        self.take("<")
        if self.skip(">"):
            return n.Struct(())
        fields = self.fields()
        self.take(">")
        return n.Struct(fields)

    def fields(self) -> tuple[n.StructField, ...]:
        fields = [self.field()]
        while self.skip(","):
            fields.append(self.field())
        return tuple(fields)

    def field(self) -> n.StructField:
        name = self.identifier()
        self.skip(":")
        data_type = self.type()
        nullable = not self.skip_not_null()
        if self.skip("comment"):
            self.take()
        return n.StructField(name, data_type, nullable)

    def geo(self, kind: str) -> n.DataType:
        self.take("(")
        srid = -1 if self.skip("any") else self.number()
        self.take(")")
        return n.Geo(kind, srid)


class _Lenient(_Reader):
    """Reads past words that name no type."""

    first = ""

    def unknown(self, word: str) -> n.DataType:
        if not re.fullmatch(r"[a-z_]\w*", word):
            return super().unknown(word)
        self.first = self.first or word
        self.parameters()
        return n.VOID


_WITH_ZONE = (("with", "local"), ("with", "time"))

_COMPOSITES: dict[str, Callable[[_Reader], n.DataType]] = {
    **dict.fromkeys(("decimal", "dec", "numeric"), _Reader.decimal),
    "string": _Reader.string,
    "char": lambda r: n.Char(r.length()),
    "character": lambda r: n.Char(r.length()),
    "varchar": lambda r: n.Varchar(r.length()),
    "time": _Reader.time,
    "interval": _Reader.interval,
    "array": _Reader.array,
    "map": _Reader.map,
    "struct": _Reader.struct,
    "geometry": lambda r: r.geo("geometry"),
    "geography": lambda r: r.geo("geography"),
}


def find_unknown_type(text: str) -> str:
    """The first word of a type text that stands for a type and names none; empty where there is none. Raises
    TypeSyntaxError where the text is no type, whatever its words name."""
    reader = _Lenient(text, False)
    reader.type()
    if reader.peek():
        raise reader.fail("the end")
    return reader.first


def parse_type(text: str, *, timestamp_ntz: bool = False) -> n.DataType:
    """The type that a DDL text names, nested `NOT NULL` included.

    `timestamp_ntz` says what a bare `timestamp` means (`spark.sql.timestampType`). Raises `TypeSyntaxError`.

    >>> parse_type("array<struct<sku:string NOT NULL,qty:int>>").json["elementType"]["fields"][0]["nullable"]
    False
    """
    reader = _Reader(text, timestamp_ntz)
    found = reader.type()
    if reader.at != len(reader.tokens):
        raise reader.fail("the end of the type")
    return found


def parse_fields(text: str, *, timestamp_ntz: bool = False, colons: bool = True) -> n.Struct:
    """The table schema that a DDL column list (`a INT NOT NULL, b STRING`) names, as a struct.

    `colons`: a colon may stand between a column and its type, as within a struct.
    """
    reader = _Reader(text, timestamp_ntz)
    if not colons and reader.peek(1) == ":":
        raise reader.fail("a type")
    found = reader.fields() if reader.tokens else ()
    if reader.at != len(reader.tokens):
        raise reader.fail("the end of the columns")
    return n.Struct(found)


def from_json(form: Any, *, strict: bool = False) -> n.DataType:
    """The type that Spark's JSON form describes; a JSON text is decoded first. A type is named as Spark's JSON names it
    or, unless `strict`, as SQL does. Raises `TypeSyntaxError` and `TooLargeType`."""
    try:
        return _from_json(form, strict)
    except (AttributeError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise TypeSyntaxError(f"cannot read the type JSON {_shorten(str(form))!r}: {error!r}") from error
    except RecursionError:
        raise n.TooLargeType from None


def _from_json(form: Any, strict: bool) -> n.DataType:
    if isinstance(form, str):
        text = form.strip()
        if text[:1] in ("{", '"'):
            return _from_json(json.loads(text), strict)
        found = _JSON_ATOMS.get(text)
        if found is None and strict and not _JSON_PARAMETERS.fullmatch(text):
            raise TypeSyntaxError(f"cannot read the type JSON {_shorten(text)!r}: Spark has no such type")
        return found or parse_type(text)
    kind = form.get("type") if isinstance(form, dict) else None
    if kind == "array":
        return n.Array(_from_json(form["elementType"], strict), form["containsNull"])
    if kind == "map":
        key, value = _from_json(form["keyType"], strict), _from_json(form["valueType"], strict)
        return n.Map(key, value, form["valueContainsNull"])
    if kind == "struct":
        return n.Struct(tuple(_field_from_json(f, strict) for f in form["fields"]))
    raise TypeSyntaxError(f"cannot read the type JSON {_shorten(str(form))!r}: Spark has no such type")


def _field_from_json(form: Any, strict: bool) -> n.StructField:
    metadata = form.get("metadata") or {}
    declared = metadata.get("__CHAR_VARCHAR_TYPE_STRING")
    found = _collate(_from_json(form["type"], strict), form["name"], metadata.get("__COLLATIONS") or {})
    # The declared spelling knows the lengths but not the nested nullability.
    known = n.add_lengths(found, parse_type(declared)) if declared else found
    return n.StructField(form["name"], known, form.get("nullable", True))


def _collate(t: n.DataType, path: str, collations: Mapping[str, str]) -> n.DataType:
    """`t` with the collations that Spark keeps beside a field: `{"xs.element": "icu.UNICODE"}`; a struct's fields keep
    their own. The provider before the dot is no part of the name."""
    if isinstance(t, n.String) and path in collations:
        return n.String(collations[path].split(".", 1)[-1])
    if isinstance(t, n.Array):
        return n.Array(_collate(t.element, f"{path}.element", collations), t.contains_null)
    if isinstance(t, n.Map):
        key, value = _collate(t.key, f"{path}.key", collations), _collate(t.value, f"{path}.value", collations)
        return n.Map(key, value, t.value_contains_null)
    return t


_JSON_PARAMETERS = re.compile(
    r"(decimal|(decimal|char|varchar|time|timestamp_ltz|timestamp_ntz|geometry|geography)\(.*\)|interval .*|string.*)"
)
"""Types with parameters, as Spark's JSON names them (`DataType.nameToType`)."""
_JSON_ATOMS: dict[str, n.DataType] = {t.json_spelling: t for t in n.ATOMS}


def format_ddl(data_type: n.DataType) -> str:
    """A type as a statement declares it, whatever `spark.sql.timestampType` makes of a bare TIMESTAMP.

    >>> format_ddl(n.Map(n.STRING, n.TIMESTAMP))
    'MAP<STRING, TIMESTAMP_LTZ>'
    """
    if isinstance(data_type, n.Array):
        return f"ARRAY<{format_ddl(data_type.element)}>"
    if isinstance(data_type, n.Map):
        return f"MAP<{format_ddl(data_type.key)}, {format_ddl(data_type.value)}>"
    if isinstance(data_type, n.Struct):
        fields = (
            f"{n.quote_if_needed(f.name)}: {format_ddl(f.type)}{'' if f.nullable else ' NOT NULL'}"
            for f in data_type.fields
        )
        return f"STRUCT<{', '.join(fields)}>"
    return "TIMESTAMP_LTZ" if data_type == n.TIMESTAMP else data_type.sql
