"""What a worker does for Python functions that stand in lambdas: which list it flattens, and what it hands back.

A `Level` is one higher-order call: its elements, of all rows of a batch, are one flat array. Depth 0 is the row,
depth 1 the outermost call's elements, and so on inward. Nothing here knows Spark or Arrow; levels can be pickled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planproof_engine import types as dt

BROKEN = "PLANPROOF-DECLARATION"
"""How a worker's message about a broken declaration begins; the function's name follows."""


@dataclass(frozen=True)
class Given:
    """An argument of the worker's call, lists nested `depth` deep; depth 0 is a captured value, one per row."""

    argument: int
    depth: int


@dataclass(frozen=True)
class Position:
    """The index parameter at `depth`: where an element stands in its list, from 0."""

    depth: int


@dataclass(frozen=True)
class Made:
    """The result of an earlier application, by that one's number; it is at `depth`."""

    application: int
    depth: int


Source = Given | Position | Made


@dataclass(frozen=True)
class Application:
    """One call of a Python function, for all elements of its level at once.

    `number` is its place in running order, `takes` the types of its arguments. `returned` is False for one whose values
    only another application reads.
    """

    number: int
    function: str
    sources: tuple[Source, ...]
    takes: tuple[dt.DataType, ...]
    type: dt.DataType
    nullable: bool
    returned: bool = True


@dataclass(frozen=True)
class Carried:
    """A list whose elements are handed back beside the results."""

    given: Given
    type: dt.DataType
    nullable: bool


@dataclass(frozen=True)
class Level:
    """One higher-order call: its element's lists (`shape` is any of them), what is handed back per element, and the
    calls inside its body. `nullable` says whether a list of this level may be null."""

    shape: Given
    carried: tuple[Carried, ...]
    applications: tuple[Application, ...]
    inner: tuple[Level, ...]
    nullable: bool

    @property
    def depth(self) -> int:
        return self.shape.depth

    @property
    def returned(self) -> tuple[Application, ...]:
        return tuple(a for a in self.applications if a.returned)

    @property
    def parts(self) -> tuple[dt.StructField, ...]:
        """The parts of an element of the result: carried elements, then results, then the inner levels' lists."""
        fields = [dt.StructField(f"c{i}", c.type, c.nullable) for i, c in enumerate(self.carried)]
        fields += [dt.StructField(f"r{i}", a.type, a.nullable) for i, a in enumerate(self.returned)]
        fields += [dt.StructField(f"n{i}", level.type, level.nullable) for i, level in enumerate(self.inner)]
        return tuple(fields)

    @property
    def bare(self) -> bool:
        """True where an element of the result is its one part, without a struct around it."""
        return len(self.parts) == 1

    @property
    def type(self) -> dt.Array:
        """The type of the list that comes back for this level."""
        if self.bare:
            (part,) = self.parts
            return dt.Array(part.type, part.nullable)
        return dt.Array(dt.Struct(self.parts), False)

    def all_applications(self) -> Iterator[Application]:
        """Every application of this level and of those inside it."""
        yield from self.applications
        for level in self.inner:
            yield from level.all_applications()


@dataclass(frozen=True)
class ListCall:
    """A call that a worker evaluates; `name` is how the lowered text calls it."""

    name: str
    level: Level
