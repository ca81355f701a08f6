"""Schemas: ordered vectors of fields, with the relation (logical) and without it (physical).

Notation of the specification: `LF(relation, name, type, nullable)`, `PF(name, type, nullable)`, `LCol(relation, name)`,
`PCol(index, name)`, `strip(LF) = PF`, `Set(a) === Set(b)` compares multisets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import field
from typing import Generic, Protocol, TypeVar

from planproof_engine import types as dt
from planproof_engine.ground import record

T = TypeVar("T")


def fold_name(name: str, case_sensitive: bool = False) -> str:
    """A column's name as Spark compares it; `case_sensitive` is its `spark.sql.caseSensitive` (`SQLConf.resolver`)."""
    return name if case_sensitive else name.lower()


class ColumnNames(Set[str]):
    """Names of columns, found whatever their case; they are listed as `fold_name` has them."""

    __slots__ = ("_names",)

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = {fold_name(name): name for name in names}

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and fold_name(name) in self._names

    def find_spelling(self, name: str) -> str:
        """The name as it is spelt here. Raises KeyError."""
        return self._names[fold_name(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class ByColumn(Mapping[str, T]):
    """What belongs to columns, found by their names whatever the case. Where two names differ by nothing else, the one
    that is spelt so counts, or else the last."""

    __slots__ = ("_exact", "_items")

    def __init__(self, items: Iterable[tuple[str, T]] = ()) -> None:
        self._exact = dict(items)
        self._items = {fold_name(name): item for name, item in self._exact.items()}

    def __getitem__(self, name: str) -> T:
        return self._exact[name] if name in self._exact else self._items[fold_name(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)


def by_name(fields: Iterable[N]) -> ByColumn[N]:
    """Fields, or whatever has a name, by it."""
    return ByColumn((f.name, f) for f in fields)


def drop_columns(fields: Iterable[N], names: Iterable[str]) -> list[N]:
    """The fields but those with one of the names, whatever its case; where a field is spelt so, that one alone: a
    session that is case-sensitive makes tables with a column `d` and a column `D`."""
    kept = list(fields)
    spelt = {f.name for f in kept}.intersection(names)
    others = ColumnNames(name for name in names if name not in spelt)
    return [f for f in kept if f.name not in spelt and f.name not in others]


@record(frozen=True, slots=True)
class PhysicalField:
    """A field of a sink, batch or file: name, type and flag, without a relation."""

    name: str
    type: dt.DataType
    nullable: bool

    def __str__(self) -> str:
        return f"{self.name} {self.type.simple}{'' if self.nullable else ' NOT NULL'}"


@record(frozen=True, slots=True)
class LogicalField:
    """A field of a plan's schema.

    `relation` is Spark's qualifier of the attribute, dots between its parts; None where the field was computed.
    `evidence` says why the field holds no null (None: nothing is known); it and `doubt` where a null may come
    from; neither is part of the field's identity.
    """

    relation: str | None
    name: str
    type: dt.DataType
    nullable: bool
    evidence: str | None = field(default=None, compare=False)
    doubt: str | None = field(default=None, compare=False)

    def strip(self) -> PhysicalField:
        return PhysicalField(self.name, self.type, self.nullable)

    def __str__(self) -> str:
        qualified = f"{self.relation}.{self.name}" if self.relation else self.name
        return f"{qualified} {self.type.simple}{'' if self.nullable else ' NOT NULL'}"


class DuplicateField(ValueError):
    """I1: two fields of one logical schema share (relation, name), or a bare name stands beside a qualified one."""


F = TypeVar("F", PhysicalField, LogicalField)


@record(frozen=True, slots=True)
class Schema(Generic[F]):
    """An ordered vector of fields. `==` is ordered and exact."""

    fields: tuple[F, ...] = ()

    def __iter__(self) -> Iterator[F]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, index: int) -> F:
        return self.fields[index]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    def same_fields(self, other: Schema[F]) -> bool:
        """`Set(self) === Set(other)`: the same fields with the same multiplicity, in any order."""
        return Counter(self.fields) == Counter(other.fields)

    def __str__(self) -> str:
        return "[" + ", ".join(str(f) for f in self.fields) + "]"


@record(frozen=True, slots=True)
class PhysicalSchema(Schema[PhysicalField]):
    """What a sink, a batch or a file holds. Names need not be unique (D1)."""

    def as_nullable(self) -> PhysicalSchema:
        return PhysicalSchema(tuple(PhysicalField(f.name, dt.as_nullable(f.type), True) for f in self.fields))

    def drop_lengths(self) -> PhysicalSchema:
        """Without the lengths of char and varchar: Spark checks them as it writes, and files hold texts."""
        return PhysicalSchema(tuple(PhysicalField(f.name, dt.drop_lengths(f.type), f.nullable) for f in self.fields))


@record(frozen=True, slots=True)
class LogicalSchema(Schema[LogicalField]):
    """The qualified schema of a plan node."""

    def strip(self) -> PhysicalSchema:
        """The physical schema: every relation dropped, order and duplicates kept."""
        return PhysicalSchema(tuple(f.strip() for f in self.fields))
