"""What changed between two shapes of a relation, and whom it breaks.

Breaking: what a reader used is gone, narrower, or may be null now. Safe: a reader of the old shape reads the new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, field
from typing import Any

from planproof.invariants.compare import Difference, type_differences
from planproof.invariants.registered import is_widened
from planproof_engine.catalog import RelationName
from planproof_engine.claim import join_path
from planproof_engine.records import record
from planproof_engine.schema import by_name
from planproof_engine.types import DataType, parse_type

BREAKING, SAFE = "breaking", "safe"
_PROMISES = ("never null now", "constraint added")


@record(frozen=True, slots=True)
class ColumnShape:
    """A column as readers see it: its name, its type, and whether they may rely on NOT NULL.

    `is_declared`: a contract speaks of the column, and `not_null` is what it says. `is_derived`: the plan gives no
    null.
    """

    name: str
    type: DataType
    not_null: bool = False
    is_declared: bool = False
    is_derived: bool = False

    def __str__(self) -> str:
        return f"{self.type.simple}{' NOT NULL' if self.not_null else ''}"


@record(frozen=True, slots=True)
class Shape:
    """What readers of a relation may rely on: its columns in order, and its declared constraints."""

    relation: str
    columns: tuple[ColumnShape, ...]
    constraints: frozenset[str] = frozenset()


@record(frozen=True, slots=True)
class SchemaChange:
    """One change of one relation. `column` is a path, None where the whole relation is meant. `reaches` lists the
    columns downstream (`relation.column`) that are made of it, and `relation.*` where it only chooses rows;
    `contracts` the relations among them whose contract promises such a column, `exposures` the names of those that read
    the relation or one of them. `file` is the relation's own, where it is still there."""

    relation: str
    column: str | None
    effect: str
    what: str
    before: str | None = None
    after: str | None = None
    reaches: tuple[str, ...] = ()
    contracts: tuple[str, ...] = ()
    exposures: tuple[str, ...] = ()
    file: str | None = None

    @property
    def direction(self) -> str:
        """Whom the change asks something of: `readers`, who lose what they used; `writers`, who have a new promise to
        keep; or `nobody`."""
        if self.effect == BREAKING:
            return "readers"
        return "writers" if self.what in _PROMISES else "nobody"

    @property
    def said(self) -> str:
        return f"{self.what} (binds writers)" if self.direction == "writers" else self.what

    def describe_reach(self) -> list[str]:
        """The contracts and exposures that the change reaches, in words."""
        words = (("the contract of", self.contracts), ("the exposure", self.exposures))
        return [f"{word} {', '.join(names)}" for word, names in words if names]

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "direction": self.direction}


@record(frozen=True, slots=True)
class Comparison:
    """Two projects, or sources and their freeze file, side by side. `unread` says what could not be compared, why;
    `remarks` what is true of the two as a whole; `compared` how many relations were."""

    changes: tuple[SchemaChange, ...]
    unread: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    compared: int = 0

    @property
    def breaking(self) -> bool:
        return any(change.effect == BREAKING for change in self.changes)


def compare_shapes(before: Shape | None, after: Shape | None, elsewhere: bool = False) -> Iterator[SchemaChange]:
    """The changes of one relation; None where it is not there. `elsewhere`: the two are of two targets, where another
    place is no change."""
    if before is None or after is None:
        shape = before or after
        if shape is not None:
            gone = after is None
            yield SchemaChange(shape.relation, None, BREAKING if gone else SAFE, "removed" if gone else "added")
        return
    if not elsewhere and RelationName.parse(before.relation) != RelationName.parse(after.relation):
        yield SchemaChange(before.relation, None, BREAKING, "moved", before.relation, after.relation)
    yield from _compare_columns(before, after)
    for constraint in sorted(before.constraints - after.constraints):
        yield SchemaChange(after.relation, None, BREAKING, "constraint dropped", constraint, None)
    for constraint in sorted(after.constraints - before.constraints):
        yield SchemaChange(after.relation, None, SAFE, "constraint added", None, constraint)


def _compare_columns(before: Shape, after: Shape) -> Iterator[SchemaChange]:
    relation = after.relation
    old, new = by_name(before.columns), by_name(after.columns)
    for key, column in old.items():
        if key not in new:
            yield SchemaChange(relation, column.name, BREAKING, "column removed", str(column), None)
    for key, column in new.items():
        if key not in old:
            yield SchemaChange(relation, column.name, SAFE, "column added", None, str(column))
        else:
            yield from _compare_column(relation, old[key], column)
    kept = [key for key in old if key in new], [key for key in new if key in old]
    if kept[0] != kept[1]:
        yield SchemaChange(relation, None, SAFE, "columns reordered", ", ".join(kept[0]), ", ".join(kept[1]))


def _compare_column(relation: str, old: ColumnShape, new: ColumnShape) -> Iterator[SchemaChange]:
    for difference in type_differences(old.type, new.type, (new.name,)):
        yield _judge_difference(relation, difference)
    # Who writes down a contract without NOT NULL takes nothing away that the plan alone had given, and still gives.
    kept = old.not_null and not old.is_declared and new.is_derived
    if old.not_null != new.not_null and not kept:
        effect, what = (BREAKING, "may be null now") if old.not_null else (SAFE, "never null now")
        yield SchemaChange(relation, new.name, effect, what, str(old), str(new))


def _judge_difference(relation: str, difference: Difference) -> SchemaChange:
    place, old, new = join_path(difference.path), difference.promised, difference.found
    if old is None or new is None:
        gone = new is None
        what = "field removed" if gone else "field added"
        return SchemaChange(relation, place, BREAKING if gone else SAFE, what, old, new)
    if _is_widening(old, new):
        return SchemaChange(relation, place, SAFE, "type widened", old, new)
    return SchemaChange(
        relation, place, BREAKING, "type narrowed" if _is_widening(new, old) else "type changed", old, new
    )


def _is_widening(narrow: str, wide: str) -> bool:
    try:
        return is_widened(parse_type(narrow), parse_type(wide))
    except ValueError:  # A difference in the order of a struct's fields is told in words.
        return False
