"""Records are what dataclasses are: compared and hashed by value, changed as `dataclasses.replace` changes them."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from planproof_engine.expr import Alias, Column, Expr, Outer
from planproof_engine.logical.nodes import Filter, Plan, Project, Scan
from planproof_engine.records import evolve, record
from planproof_engine.types import INT

COLUMN = Column(1, "a", INT, True, ("t",))
TABLE = Scan("t", (COLUMN, Column(3, "b", INT, False, ("t",))))
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


def test_a_record_compiles_its_init_when_the_first_object_is_made() -> None:
    @record(frozen=True, slots=True)
    class Made:
        """All that `dataclass` lets a field be."""

        x: int
        fresh: list[int] = field(default_factory=list)
        y: int = 1
        counted: int = field(init=False)
        known: str = field(init=False, default="k")
        by_name: int = field(kw_only=True)

        def __post_init__(self) -> None:
            self.counted = self.y + 1  # type: ignore[misc]

    before, one, after, other = Made.__init__, Made(1, by_name=2), Made.__init__, Made(1, y=1, by_name=2)
    assert before is not after is Made.__init__
    assert repr(one) == repr(other)
    assert repr(one).endswith("Made(x=1, fresh=[], y=1, counted=2, known='k', by_name=2)")
    assert one.fresh is not other.fresh
    with pytest.raises(TypeError, match=r"missing 1 required keyword-only argument: 'by_name'"):
        Made(1)  # type: ignore[call-arg]


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
