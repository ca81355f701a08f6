"""Spark's data types as frozen values.

Every type answers in Spark's three spellings: `simple` is the catalog string (`array<struct<a:int>>`), `sql` the SQL
spelling used in output names and messages (`ARRAY<STRUCT<a: INT>>`), `json` the JSON form that keeps the nested
nullability. Source: `org.apache.spark.sql.types`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from operator import is_not, or_
from typing import Any

from planproof_engine.ground import Unknown, quote_name, record
from planproof_engine.types.srids import crs_of

Json = Any

MOST_TYPES = 100_000
"""Types that one type may hold, nested ones counted wherever they stand: a struct of two structs of two structs ..."""
MOST_LEVELS = 64
"""Types are written and compared call within call, of which Python allows 1,000, and dbt or Airflow has used some."""


class TooLargeType(Unknown, ValueError):
    """Raised where a type would be larger than one may be. It is a bad value, too, to whoever reads types."""

    def __init__(self) -> None:
        Unknown.__init__(self, f"a type of more than {MOST_TYPES:,} types or {MOST_LEVELS} levels")

    def __reduce__(self) -> tuple[Any, ...]:
        return TooLargeType, ()


@record(frozen=True, slots=True)
class DataType:
    """A Spark data type; compare with `==`, which includes the nested nullability."""

    @property
    def simple(self) -> str:
        raise TypeError(f"{type(self).__name__} has no spelling")

    @property
    def sql(self) -> str:
        return self.simple.upper()

    @property
    def json(self) -> Json:
        return self.simple

    @property
    def children(self) -> tuple[DataType, ...]:
        """The directly nested types, in the order in which they are written."""
        return ()

    @property
    def extent(self) -> tuple[int, int]:
        """How many types it holds, itself counted, and how many levels."""
        return 1, 1

    def __str__(self) -> str:
        return self.simple


@record(frozen=True, slots=True)
class Atomic(DataType):
    """A type without parameters, known by its catalog spelling and its JSON spelling."""

    spelling: str
    json_spelling: str

    def __eq__(self, other: object) -> bool:
        # Types are compared all the time, and most of them are atomic.
        return self is other or (
            type(other) is Atomic and self.spelling == other.spelling and self.json_spelling == other.json_spelling
        )

    def __hash__(self) -> int:
        return hash(self.spelling)

    @property
    def simple(self) -> str:
        return self.spelling

    @property
    def json(self) -> Json:
        return self.json_spelling


@record(frozen=True, slots=True)
class Decimal(DataType):
    """`decimal(precision,scale)`: so many digits, and so many of them behind the point."""

    precision: int = 10
    scale: int = 0

    @property
    def simple(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@record(frozen=True, slots=True)
class String(DataType):
    """A string. `collation` is None for the default string type and a full collation name where one was written;
    Spark keeps a written `UTF8_BINARY` apart from the default."""

    collation: str | None = None

    @property
    def simple(self) -> str:
        return "string" if self.collation is None else f"string collate {self.collation}"

    @property
    def sql(self) -> str:
        return "STRING" if self.collation is None else f"STRING COLLATE {self.collation}"

    @property
    def json(self) -> Json:
        return self.simple if self.collation == "UTF8_BINARY" else "string"


@record(frozen=True, slots=True)
class Sized(DataType):
    """A string of a declared length."""

    length: int

    @property
    def simple(self) -> str:
        return f"{type(self).__name__.lower()}({self.length})"


@record(frozen=True, slots=True)
class Char(Sized):
    """`char(length)`: in a plan Spark takes it for a string, and pads what is stored."""


@record(frozen=True, slots=True)
class Varchar(Sized):
    """`varchar(length)`: in a plan Spark takes it for a string, and refuses longer values where it stores."""


@record(frozen=True, slots=True)
class Time(DataType):
    """`time(precision)`: a time of day with so many digits of a second."""

    precision: int = 6

    @property
    def simple(self) -> str:
        return f"time({self.precision})"


@record(frozen=True, slots=True)
class Nanos(DataType):
    """`timestamp_ltz(precision)` or `timestamp_ntz(precision)`: a timestamp with 7 to 9 digits of a second
    (`TimestampLTZNanosType`, `TimestampNTZNanosType`)."""

    zoned: bool
    precision: int

    @property
    def simple(self) -> str:
        return f"timestamp_{'ltz' if self.zoned else 'ntz'}({self.precision})"


YEAR_MONTH_UNITS = ("year", "month")
DAY_TIME_UNITS = ("day", "hour", "minute", "second")


@record(frozen=True, slots=True)
class Interval(DataType):
    """An ANSI interval: `start` and `end` are both year-month units or both day-time units."""

    start: str
    end: str

    @property
    def year_month(self) -> bool:
        return self.start in YEAR_MONTH_UNITS

    @property
    def simple(self) -> str:
        return f"interval {self.start}" if self.start == self.end else f"interval {self.start} to {self.end}"


ANY_SYSTEM = -1
"""The reference system of a geometry or geography that may hold any."""


@record(frozen=True, slots=True)
class Geo(DataType):
    """`geometry(srid)` or `geography(srid)`; the reference system -1 stands for ANY."""

    kind: str
    srid: int

    @property
    def simple(self) -> str:
        return f"{self.kind}({'any' if self.srid < 0 else self.srid})"

    @property
    def json(self) -> Json:
        return f"{self.kind}({crs_of(self.srid)}{', SPHERICAL' if self.kind == 'geography' else ''})"


@record(frozen=True, slots=True)
class Nested(DataType):
    """A type that holds others. It is measured when it is made: what reads it walks all of it. Raises
    `TooLargeType`."""

    extent: tuple[int, int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        total, levels = 1, 0
        for child in self.children:
            if isinstance(child, Nested):
                inner = child.extent
                total += inner[0]
                levels = max(levels, inner[1])
            else:
                total += 1
        if total > MOST_TYPES or levels >= MOST_LEVELS:
            raise TooLargeType
        object.__setattr__(self, "extent", (total, levels + 1))


@record(frozen=True, slots=True)
class Array(Nested):
    """`array<element>`; `contains_null` is its flag."""

    element: DataType
    contains_null: bool = True

    @property
    def simple(self) -> str:
        return f"array<{self.element.simple}>"

    @property
    def sql(self) -> str:
        return f"ARRAY<{self.element.sql}>"

    @property
    def json(self) -> Json:
        return {"type": "array", "elementType": self.element.json, "containsNull": self.contains_null}

    @property
    def children(self) -> tuple[DataType, ...]:
        return (self.element,)


@record(frozen=True, slots=True)
class Map(Nested):
    """`map<key,value>`; `value_contains_null` is its flag. A key is never null."""

    key: DataType
    value: DataType
    value_contains_null: bool = True

    @property
    def simple(self) -> str:
        return f"map<{self.key.simple},{self.value.simple}>"

    @property
    def sql(self) -> str:
        return f"MAP<{self.key.sql}, {self.value.sql}>"

    @property
    def json(self) -> Json:
        return {
            "type": "map",
            "keyType": self.key.json,
            "valueType": self.value.json,
            "valueContainsNull": self.value_contains_null,
        }

    @property
    def children(self) -> tuple[DataType, ...]:
        return (self.key, self.value)


def quote_if_needed(part: str) -> str:
    """Spark's `quoteIfNeeded`: backticks around anything that is not letters, digits and `_`, or that is all digits."""
    plain = bool(part) and all(c == "_" or (c.isascii() and c.isalnum()) for c in part) and not part.isdigit()
    return part if plain else quote_name(part)


@record(frozen=True, slots=True)
class StructField:
    """One field of a struct, with its flag."""

    name: str
    type: DataType
    nullable: bool = True

    @property
    def json(self) -> Json:
        return {"name": self.name, "type": self.type.json, "nullable": self.nullable, "metadata": {}}


@record(frozen=True, slots=True)
class Struct(Nested):
    """`struct<..>`: its fields in order. Names may repeat."""

    fields: tuple[StructField, ...] = ()

    @property
    def simple(self) -> str:
        return "struct<" + ",".join(f"{f.name}:{f.type.simple}" for f in self.fields) + ">"

    @property
    def sql(self) -> str:
        inner = (f"{quote_if_needed(f.name)}: {f.type.sql}{'' if f.nullable else ' NOT NULL'}" for f in self.fields)
        return f"STRUCT<{', '.join(inner)}>"

    @property
    def json(self) -> Json:
        return {"type": "struct", "fields": [f.json for f in self.fields]}

    @property
    def children(self) -> tuple[DataType, ...]:
        return tuple(f.type for f in self.fields)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)


VOID = Atomic("void", "void")
BOOLEAN = Atomic("boolean", "boolean")
BYTE = Atomic("tinyint", "byte")
SHORT = Atomic("smallint", "short")
INT = Atomic("int", "integer")
LONG = Atomic("bigint", "long")
FLOAT = Atomic("float", "float")
DOUBLE = Atomic("double", "double")
BINARY = Atomic("binary", "binary")
DATE = Atomic("date", "date")
TIMESTAMP = Atomic("timestamp", "timestamp")
TIMESTAMP_NTZ = Atomic("timestamp_ntz", "timestamp_ntz")
CALENDAR_INTERVAL = Atomic("interval", "interval")
VARIANT = Atomic("variant", "variant")
STRING = String()

INTEGRAL = (BYTE, SHORT, INT, LONG)
FRACTIONAL_ATOMS = (FLOAT, DOUBLE)
_MOMENTS = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
ATOMS = (VOID, BOOLEAN, *INTEGRAL, *FRACTIONAL_ATOMS, BINARY, *_MOMENTS, CALENDAR_INTERVAL, VARIANT)


def is_integral(t: DataType) -> bool:
    """Whether it is a whole-number type."""
    return t in INTEGRAL


def is_numeric(t: DataType) -> bool:
    """Whether it is a number of any kind."""
    return isinstance(t, Decimal) or t in INTEGRAL or t in FRACTIONAL_ATOMS


def is_string(t: DataType) -> bool:
    """True for `string`, collated or not, and for char and varchar."""
    return isinstance(t, (String, Char, Varchar))


def walk(t: DataType) -> Iterator[DataType]:
    """The type and every type nested in it, outermost first."""
    yield t
    for child in t.children:
        yield from walk(child)


def flags_of(t: DataType) -> tuple[bool, ...]:
    """Of each type directly within another one, whether its value may be null; a map's key may not."""
    if isinstance(t, Array):
        return (t.contains_null,)
    if isinstance(t, Map):
        return False, t.value_contains_null
    return tuple(f.nullable for f in t.fields) if isinstance(t, Struct) else ()


def remake(t: DataType, children: Sequence[DataType], flags: Sequence[bool]) -> DataType:
    """An array, map or struct with other types and flags directly within it; the names of fields stay."""
    if isinstance(t, Array):
        return Array(children[0], flags[0])
    if isinstance(t, Map):
        return Map(children[0], children[1], flags[1])
    assert isinstance(t, Struct)
    parts = zip(t.fields, children, flags)
    return Struct(tuple(StructField(f.name, child, nullable) for f, child, nullable in parts))


def are_nested_alike(a: DataType, b: DataType) -> bool:
    """Whether both are arrays, both maps or both structs, of as many types."""
    return isinstance(a, Nested) and type(a) is type(b) and len(a.children) == len(b.children)


def as_nullable(t: DataType) -> DataType:
    """The type with every nested flag set to nullable, as a V1 table forgets them (`DataType.asNullable`)."""
    if not isinstance(t, Nested):
        return t
    children = [*map(as_nullable, t.children)]
    return remake(t, children, [True] * len(children))


def loosen(kept: DataType, other: DataType) -> DataType:
    """The type, with each flag within it nullable that is so in another type of the same shape."""
    if not (isinstance(kept, Nested) and type(kept) is type(other)):
        return kept
    return remake(kept, [*map(loosen, kept.children, other.children)], [*map(or_, flags_of(kept), flags_of(other))])


def drop_lengths(t: DataType) -> DataType:
    """The type with char and varchar as plain strings, as a query sees them
    (`CharVarcharUtils.replaceCharVarcharWithString`); itself where it holds none."""
    if not isinstance(t, Nested):
        return STRING if isinstance(t, (Char, Varchar)) else t
    children = t.children
    changed = tuple(map(drop_lengths, children))
    return remake(t, changed, flags_of(t)) if any(map(is_not, changed, children)) else t


def add_lengths(t: DataType, declared: DataType) -> DataType:
    """`t` with the char and varchar lengths of `declared`, a type of the same shape; flags and names stay `t`'s."""
    if isinstance(t, String) and isinstance(declared, (Char, Varchar)):
        return declared
    if not are_nested_alike(t, declared):
        return t
    return remake(t, [*map(add_lengths, t.children, declared.children)], flags_of(t))


def same_structure(a: DataType, b: DataType) -> bool:
    """`DataType.equalsStructurally` without nullability: equal but for nested flags and the names of struct fields."""
    if are_nested_alike(a, b):
        return all(map(same_structure, a.children, b.children))
    return same_type(a, b)


def same_type(a: DataType, b: DataType, case_sensitive: bool = False) -> bool:
    """Spark's `DataType.sameType`: equal but for nested nullability, and for the case of struct names if that does not
    count."""
    if are_nested_alike(a, b):
        alike = _have_same_names(a, b, case_sensitive)
        return alike and all(same_type(x, y, case_sensitive) for x, y in zip(a.children, b.children))
    if isinstance(a, String) and isinstance(b, String):
        return (a.collation or "UTF8_BINARY") == (b.collation or "UTF8_BINARY")
    return a == b


def _have_same_names(a: DataType, b: DataType, case_sensitive: bool) -> bool:
    if not (isinstance(a, Struct) and isinstance(b, Struct)) or a.names == b.names:
        return True
    return not case_sensitive and [n.lower() for n in a.names] == [n.lower() for n in b.names]
