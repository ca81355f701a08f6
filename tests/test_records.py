"""Records are what dataclasses are: compared and hashed by value, changed as `dataclasses.replace` changes them."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, fields, replace

import pytest

from planproof_engine.expr import Alias, Column, Expr, Outer
from planproof_engine.logical.builder import scan
from planproof_engine.logical.nodes import Filter, Plan, Project
from planproof_engine.records import evolve, record
from planproof_engine.types import INT

COLUMN = Column(1, "a", INT, True, ("t",))
TABLE = scan("t", [("a", "int", True), ("b", "int", False)]).plan
PROJECT = Project((Alias(COLUMN, "x", 2),), TABLE)


@record(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0


@dataclass(frozen=True, slots=True)
class Frozen:
    x: int
    y: int = 0


def test_a_record_compares_and_hashes_as_a_frozen_dataclass() -> None:
    assert Point(1) == Point(1, 0) != Point(1, 1)
    assert hash(Point(1, 2)) == hash(Frozen(1, 2))
    assert repr(Point(1)) == "Point(x=1, y=0)"
    assert not hasattr(Point(1), "__dict__")


def test_a_record_does_not_watch_its_fields_and_a_frozen_dataclass_does() -> None:
    point = Point(1)
    point.x = 2  # type: ignore[misc]
    assert point == Point(2)
    with pytest.raises(FrozenInstanceError):
        Frozen(1).x = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("node", "changes"),
    [
        (COLUMN, {}),
        (COLUMN, {"name": "b", "nullable": False}),
        (Outer(COLUMN), {"column": Column(3, "c", INT, False)}),
        (PROJECT, {"items": (Alias(COLUMN, "y", 4),)}),
        (Filter(COLUMN, TABLE), {"child": PROJECT}),
        (Frozen(1), {"y": 5}),
    ],
    ids=lambda given: type(given).__name__,
)
def test_evolve_changes_what_replace_changes(node: Expr | Plan, changes: dict[str, object]) -> None:
    made, expected = evolve(node, **changes), replace(node, **changes)  # type: ignore[type-var]
    assert [getattr(made, f.name) for f in fields(made)] == [getattr(expected, f.name) for f in fields(expected)]
    assert made is not node


def test_evolve_computes_derived_fields_anew_and_takes_none() -> None:
    assert [c.name for c in evolve(PROJECT, items=(Alias(COLUMN, "y", 4),)).output] == ["y"]
    with pytest.raises(TypeError, match="Project is not made of a field output"):
        evolve(PROJECT, output=())  # type: ignore[call-arg]
