"""Records are what dataclasses are: compared and hashed by value, changed as `dataclasses.replace` changes them."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from planproof_engine.expr import Alias, Column, Expr, Outer
from planproof_engine.logical.builder import scan
from planproof_engine.logical.nodes import Filter, Plan, Project
from planproof_engine.records import evolve, record, sealed
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


@sealed(frozen=True, slots=True)
class Sealed:
    x: int
    y: int = 0


def test_a_sealed_record_is_a_frozen_dataclass() -> None:
    assert Sealed(1) == Sealed(1, 0) != Sealed(1, 1)
    assert hash(Sealed(1, 2)) == hash(Frozen(1, 2))
    assert repr(Sealed(1)) == "Sealed(x=1, y=0)"
    assert replace(Sealed(1), y=5) == evolve(Sealed(1), y=5) == Sealed(1, 5)
    assert pickle.loads(pickle.dumps(Sealed(1, 2))) == Sealed(1, 2)
    with pytest.raises(FrozenInstanceError):
        Sealed(1).x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del Sealed(1).x


@record(frozen=True, slots=True)
class Made:
    """All that `dataclass` lets a field be."""

    self_named: int
    fresh: list[int] = field(default_factory=list)
    y: int = 1
    counted: int = field(init=False)
    known: str = field(init=False, default="k")
    empty: dict[str, int] = field(init=False, default_factory=dict)
    by_name: int = field(kw_only=True)
    either: int = field(kw_only=True, default=7)

    def __post_init__(self) -> None:
        self.counted = self.y + 1  # type: ignore[misc]


def test_the_init_that_the_first_object_compiles_is_that_of_a_dataclass() -> None:
    one, other = Made(1, by_name=2), Made(1, y=1, by_name=2)
    expected = "Made(self_named=1, fresh=[], y=1, counted=2, known='k', empty={}, by_name=2, either=7)"
    assert repr(one) == repr(other) == expected
    assert one.fresh is not other.fresh
    assert one.empty is not other.empty
    with pytest.raises(TypeError, match=r"Made.__init__\(\) missing 1 required keyword-only argument: 'by_name'"):
        Made(1)  # type: ignore[call-arg]
    assert list(inspect.signature(Made).parameters) == ["self_named", "fresh", "y", "by_name", "either"]


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
