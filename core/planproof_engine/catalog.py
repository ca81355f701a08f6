"""The registry of data sources: which relations exist, and with which schema."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from planproof_engine import types as dt
from planproof_engine.budget import spared
from planproof_engine.ground import quote_name, quote_parts, record
from planproof_engine.schema import LogicalField, LogicalSchema

Columns = Iterable[tuple[str, "str | dt.DataType", bool]]
SESSION_CATALOG = "spark_catalog"
"""Spark's own catalog."""

UNKNOWN = "unknown"
"""The kind of a relation of whose columns nothing is known."""
_IDENTITIES = itertools.count(1)


@record(frozen=True, slots=True)
class Relation:
    """A table or view: its dotted name, its fields (with the evidence that upstream proved), and what it is."""

    name: str
    schema: LogicalSchema
    kind: str = "table"

    @property
    def parts(self) -> tuple[str, ...]:
        return split_name(self.name)


def split_name(name: str) -> tuple[str, ...]:
    """The parts of a dotted name; a part in backticks may hold dots.

    >>> split_name("a.`b.c`")
    ('a', 'b.c')
    """
    if "`" not in name:
        return tuple(name.split("."))
    pieces = name.split("`")
    if pieces[0] == pieces[-1] == "" and all(between == "." for between in pieces[2:-1:2]):
        return tuple(pieces[1::2])
    parts: list[list[str]] = [[]]
    quoted, i = False, 0
    while i < len(name):
        c = name[i]
        if c == "`" and quoted and name[i + 1 : i + 2] == "`":
            i += 1
            parts[-1].append(c)
        elif c == "`":
            quoted = not quoted
        elif c == "." and not quoted:
            parts.append([])
        else:
            parts[-1].append(c)
        i += 1
    return tuple(map("".join, parts))


def join_name(parts: Iterable[str]) -> str:
    """The dotted name of these parts; a part that holds a dot or a backtick is quoted. The inverse of `split_name`."""
    return ".".join(quote_name(p) if "." in p or "`" in p else p for p in parts)


@dataclass(frozen=True, slots=True, eq=False)
class RelationName:
    """A relation's name as somebody spelt it: `parts` are catalog, schema and name, or the last of them.

    Names are equal where they have the same `key`. Spark's own catalog keeps no case, and need not be named. Another
    catalog may tell names apart by case alone, or not (Iceberg's over JDBC and over Hive); Spark does not say, and one
    relation is spelt in two ways far more often than two are told apart so: case counts nowhere.

    >>> RelationName.parse("spark_catalog.shop.`Orders`") == RelationName(("Shop", "orders"))
    True
    """

    parts: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> RelationName:
        """Of a dotted name; a part in backticks may hold dots."""
        return cls(split_name(text))

    @property
    def key(self) -> tuple[str, ...]:
        """What all spellings of the name share."""
        folded = tuple(part.lower() for part in self.parts)
        return folded[1:] if len(folded) > 2 and folded[0] == SESSION_CATALOG else folded

    @property
    def namespace(self) -> tuple[str, ...]:
        """What stands before the name: schema, and catalog."""
        return self.parts[:-1]

    @property
    def last(self) -> str:
        """The name alone."""
        return self.parts[-1]

    @property
    def in_schema(self) -> RelationName:
        """Schema and name, without the catalog."""
        return RelationName(self.parts[-2:])

    @property
    def quoted(self) -> str:
        """As it stands in a statement."""
        return quote_parts(self.parts)

    def sibling(self, name: str) -> RelationName:
        """Another relation of the same schema."""
        return RelationName((*self.namespace, name))

    def within(self, namespace: Sequence[str]) -> RelationName:
        """The whole name, where the session's current namespace (catalog, schema) is this one. Spark's own catalog is
        left out: some of its statements take two parts only."""
        before = {1: namespace, 2: namespace[:1]}.get(len(self.parts), ())
        catalog, *rest = *before, *self.parts
        return RelationName(tuple(rest if catalog.lower() == SESSION_CATALOG else (catalog, *rest)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RelationName) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return join_name(self.parts)


def relation(
    name: str, columns: Columns, *, kind: str = "table", evidence: Mapping[str, str] | None = None
) -> Relation:
    """A relation of these columns; `evidence` says of some why they hold no null. Raises `TypeSyntaxError`."""
    known = evidence or {}
    fields = tuple(
        LogicalField(
            name,
            column,
            dt.parse_type(data_type) if isinstance(data_type, str) else data_type,
            nullable,
            known.get(column) or (None if nullable else "the source's flag"),
        )
        for column, data_type, nullable in columns
    )
    return Relation(name, LogicalSchema(fields), kind)


@dataclass(slots=True)
class Catalog:
    """Relations by name, looked up without case.

    `relations` maps a dotted name to `[(column, type, nullable), ...]`; a type is a DDL text or a `DataType`. A name is
    found by its full spelling, and below `namespace` (what `USE` set, `default` at first) by its last part. `source`,
    such as a live catalog, is asked once for each name that is not registered here. Two catalogs are never equal,
    whatever they hold.
    """

    relations: Mapping[str, Columns] | None = None
    source: Callable[[tuple[str, ...]], Relation | None] | None = None
    namespace: tuple[str, ...] = ("default",)
    catalog: str = SESSION_CATALOG
    identity: int = field(default_factory=lambda: next(_IDENTITIES))
    _found: dict[tuple[str, ...], Relation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, columns in (self.relations or {}).items():
            self.add(name, columns)

    def add(
        self, name: str, columns: Columns, *, kind: str = "table", evidence: Mapping[str, str] | None = None
    ) -> Relation:
        """Registers a relation and returns it; an existing one of that name is replaced."""
        found = relation(name, columns, kind=kind, evidence=evidence)
        self.put(found)
        return found

    def put(self, relation: Relation) -> None:
        self._found[tuple(p.lower() for p in relation.parts)] = relation

    def drop(self, name: str) -> None:
        self._found.pop(tuple(p.lower() for p in split_name(name)), None)

    def holds(self, name: str) -> bool:
        """Whether a relation is registered under exactly this name."""
        return tuple(p.lower() for p in split_name(name)) in self._found

    def find(self, parts: tuple[str, ...]) -> Relation | None:
        """The relation that a query names by `parts`, or None."""
        wanted = tuple(p.lower() for p in parts)
        for before in ((), self.namespace, (self.catalog, *self.namespace), (self.catalog,)):
            found = self._found.get((*before, *wanted))
            if found is not None:
                return found
        if len(wanted) > 1 and wanted[0] == self.catalog:
            return self.find(wanted[1:])
        if len(wanted) == 2 and wanted[0] in (*self.namespace, "session") and wanted[1:] in self._found:
            found = self._found[wanted[1:]]
            # A temporary view is of no schema (`SessionCatalog.getTempView`).
            return found if wanted[0] == "session" or found.kind != "temporary view" else None
        return self._ask(parts)

    def _ask(self, parts: tuple[str, ...]) -> Relation | None:
        if self.source is None:
            return None
        with spared():  # Whoever asks Spark for this must hear its answer to the end.
            found = self.source(parts)
        if found is not None:
            self._found[tuple(p.lower() for p in parts)] = found
        return found

    def qualifier(self, relation: Relation) -> tuple[str, ...]:
        """The qualifier of the relation's columns: its name as it is registered here."""
        return relation.parts

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(r.name for r in self._found.values())
