"""What a hazard gives: a warning, its place in the text, and what to count so that data decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planproof_engine.expr import Call, Category, Expr, Lambda, LateralReference, Span, Variable, Window
from planproof_engine.finding import Finding, Verdict
from planproof_engine.ground import evolve, record

Find = Callable[[str, str], "tuple[int, int] | None"]
"""Between which numbers the values of a relation's column lie, None where nobody knows."""


def find_nothing(relation: str, column: str) -> tuple[int, int] | None:
    """Where no statistics are at hand."""
    return None


@record(frozen=True, slots=True)
class Between:
    """A constant, or a value of which only its type is known. `column`: a source's own, by relation and name, of which
    statistics may know more."""

    low: int
    high: int
    column: tuple[str, str] | None = None

    @property
    def is_constant(self) -> bool:
        return self.low == self.high and self.column is None

    def find_range(self, find: Find) -> tuple[int, int]:
        return (self.column and find(*self.column)) or (self.low, self.high)

    def columns(self) -> Iterator[tuple[str, str]]:
        return iter((self.column,) if self.column else ())


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
    is_constant = False

    def find_range(self, find: Find) -> tuple[int, int]:
        lows, highs = zip(*(value.find_range(find) for value in self.values))
        return min(lows), max(highs)

    def columns(self) -> Iterator[tuple[str, str]]:
        return (column for value in self.values for column in value.columns())


Bounds = Between | Computed | OneOf
"""Between which whole numbers an expression lies: by its type, and by what statistics know of the columns in it."""


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


@record(frozen=True, slots=True)
class Count:
    """The rows of the model's own sources for which a condition holds.

    With `columns`, `span` is an input of a set operation, and the condition is about its columns under the names `c0`,
    `c1`, ... Without, `span` is an expression, and the condition is about it (`{x}`) in the rows of its query block.
    `what` says what such rows show. `fits`, where there is one, may spare the count. With `wide` the span is arithmetic
    of integers, and the rows are those in which it lies outside of these numbers. `sql` is a whole query of its own.
    Without any of them nothing is counted.

    `cast`: the span is that of a cast, and the condition is about what it casts, in the rows that take the branch in
    which it stands.
    `grouped`: the block makes the value, by an aggregate or a window.
    `null`: a lost value becomes NULL, and a COALESCE around the cast may then give another value.
    `reaches`: the output columns that hold the value.
    `alone`: the output columns that have a NULL for each value that is lost.
    """

    span: Span
    condition: str
    what: str
    columns: int = 0
    fits: Fits | None = None
    wide: tuple[int, int] | None = None
    sql: str | None = None
    cast: bool = False
    grouped: bool = False
    null: bool = False
    reaches: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()


@record(frozen=True, slots=True)
class Suspicion:
    """A hazard's warning; `span` is its place in the text. `count` is None where no count could decide."""

    finding: Finding
    span: Span | None = None
    count: Count | None = None


def find_place_in_rows(expr: Expr) -> Span | None:
    """The place of an expression that has a value in each row of its query block; None for one of an aggregate, a
    window or a lambda, and for one that reads another item of its SELECT."""
    for e in expr.walk():
        if isinstance(e, (Window, Lambda, Variable, LateralReference)) or (
            isinstance(e, Call) and e.function.category not in (Category.SCALAR, Category.OPERATOR)
        ):
            return None
    found: Span | None = getattr(expr, "span", None)
    return found


def judge_certain(finding: Finding, fits: Fits | None) -> Finding | None:
    """The hazard that is true whatever any table holds: a constant lies outside of its range, in a row that is surely
    there; None where rows decide."""
    if fits is None or not fits.surely or not fits.is_beyond:
        return None
    return evolve(finding, verdict=Verdict.VIOLATED, message=f"{finding.message}; the constant lies outside of it")


def subject(column: str | None, text: str) -> str:
    """An expression as a message begins with it: the output column first, where that is not named by itself.

    >>> subject("n", "(a * 1000)"), subject("a", "a"), subject(None, "a")
    ('n: (a * 1000)', 'a', 'a')
    """
    return text if column is None or column == text else f"{column}: {text}"


def make_warning(
    code: str, column: str | None, promised: str | None, found: str | None, message: str, plane: str = "logical"
) -> Finding:
    """A finding with the verdict `warning`."""
    return Finding(Verdict.WARNING, code, plane, column, promised, found, message)
