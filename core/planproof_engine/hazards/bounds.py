"""Between which whole numbers an expression lies: by its type, and by what statistics know of the columns in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planproof_engine.records import record

Find = Callable[[str, str], "tuple[int, int] | None"]
"""Between which numbers the values of a relation's column lie, None where nobody knows."""


def find_nothing(relation: str, column: str) -> tuple[int, int] | None:
    """Where no statistics are at hand."""
    return None


@record(frozen=True, slots=True)
class Between:
    """A constant, or a value of which only its type is known."""

    low: int
    high: int

    @property
    def is_constant(self) -> bool:
        return self.low == self.high

    def find_range(self, find: Find) -> tuple[int, int]:
        return self.low, self.high

    def columns(self) -> Iterator[tuple[str, str]]:
        return iter(())


@record(frozen=True, slots=True)
class StoredRange:
    """A source's own column, whose type bounds it anyhow."""

    relation: str
    column: str
    low: int
    high: int

    @property
    def is_constant(self) -> bool:
        return False

    def find_range(self, find: Find) -> tuple[int, int]:
        return find(self.relation, self.column) or (self.low, self.high)

    def columns(self) -> Iterator[tuple[str, str]]:
        yield self.relation, self.column


@record(frozen=True, slots=True)
class Computed:
    """`+`, `-` or `*` of two, as numbers without an end.

    >>> Computed("*", Between(-2, 3), Between(-5, 7)).find_range(find_nothing)
    (-15, 21)
    """

    operator: str
    left: Bounds
    right: Bounds

    @property
    def is_constant(self) -> bool:
        return self.left.is_constant and self.right.is_constant

    def find_range(self, find: Find) -> tuple[int, int]:
        (a, b), (c, d) = self.left.find_range(find), self.right.find_range(find)
        if self.operator == "+":
            return a + c, b + d
        if self.operator == "-":
            return a - d, b - c
        ends = (a * c, a * d, b * c, b * d)
        return min(ends), max(ends)

    def columns(self) -> Iterator[tuple[str, str]]:
        yield from self.left.columns()
        yield from self.right.columns()


@record(frozen=True, slots=True)
class OneOf:
    """One of several values, or null, which is no number: so it is no constant, though all of them be the same."""

    values: tuple[Bounds, ...]

    @property
    def is_constant(self) -> bool:
        return False

    def find_range(self, find: Find) -> tuple[int, int]:
        ranges = [value.find_range(find) for value in self.values]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def columns(self) -> Iterator[tuple[str, str]]:
        for value in self.values:
            yield from value.columns()


Bounds = Between | StoredRange | Computed | OneOf


@record(frozen=True, slots=True)
class Fits:
    """A hazard comes true in no row as long as `value` lies between `low` and `high`.

    `surely`: a row of the result computes the value whatever any table holds.
    """

    value: Bounds
    low: int
    high: int
    surely: bool = False

    @property
    def is_beyond(self) -> bool:
        """Whether the value is one number, whatever any row holds, and lies outside."""
        return self.value.is_constant and not self.holds(find_nothing)

    def holds(self, find: Find) -> bool:
        least, most = self.value.find_range(find)
        return self.low <= least and most <= self.high
