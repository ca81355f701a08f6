"""What a function does when it runs, as its line in `functions/families/` declares it.

Code outside of `functions/` asks the trait, and never looks at the function's name: what is known about Spark stands
once. `make conformance` compares the traits with real Spark, over edge values and nulls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Literal

from planproof_engine.ground import record

Places = Callable[[int], Sequence[int]]
"""Takes how many arguments a call has; gives the places of some of them."""


def nowhere(count: int) -> Sequence[int]:
    """No argument is meant."""
    return ()


def every(count: int) -> Sequence[int]:
    """All arguments are meant."""
    return range(count)


def branches(count: int) -> Sequence[int]:
    """What CASE may give: each second argument, and an odd last one, which stands after ELSE."""
    return (*range(1, count, 2), *((count - 1,) if count % 2 else ()))


def some(*places: int) -> Places:
    """The arguments at these positions are meant, as far as a call has them."""
    return lambda count: [place for place in places if place < count]


class Evaluates(Enum):
    """Which arguments a call evaluates in each row, and in which order.

    - UNSAID: perhaps all of them, in an unknown order. A null, or a value that gives null, may leave others out.
    - NONE: no argument; the call needs only their types (`typeof`).
    - ALL: every argument, nulls or not (`struct`).
    - TO_NULL: from the left, up to the first null, which makes the result null (`a + b`).
    - LAST_FIRST: as TO_NULL, but the last argument first: the divisor of `/`, the digits of `round`. Where a divisor of
      zero makes the result null, it ends the evaluation like a null.
    - FIRST: the first argument in each row, the others in some rows or in none (`nvl`).
    - CHOOSES: as FIRST, and Spark computes the first argument in its place, not in a projection below (`coalesce`).
    """

    UNSAID = "unsaid"
    NONE = "none"
    ALL = "all"
    TO_NULL = "to null"
    LAST_FIRST = "last first"
    FIRST = "first"
    CHOOSES = "chooses"


class Elements(Enum):
    """What becomes of the elements of the first argument, an array or a map.

    ITEM: one of them is the result (`element_at`). KEEPS: the result holds some of them, and only its lambda looks at
    them (`filter`). COUNT: the result depends on their number alone (`size`). EACH: each becomes a row (`explode`).
    """

    ITEM = "item"
    KEEPS = "keeps"
    COUNT = "count"
    EACH = "each"


@record(frozen=True, slots=True)
class Loop:
    """How a function runs a lambda over arrays.

    `elements` says which parameter of which lambda is an element of which argument: (argument, lambda, parameter).
    `stops`: the lambda's answer may end the loop before the last element (`exists`). `alone`: the lambda sees one
    element at a time, and not what it gave for the others (`transform`, but not `aggregate`).
    """

    elements: tuple[tuple[int, int, int], ...]
    stops: bool = False
    alone: bool = True


class Cost(Enum):
    """The work of one call. FEW: a few instructions, less than binding a value costs. COPIES: a short text is copied.
    SCANS: Spark's own loop over plain values. WORKS: more, as far as is known."""

    FEW = "few"
    COPIES = "copies"
    SCANS = "scans"
    WORKS = "works"


class Magnitude(Enum):
    """How large the integer may be that a call gives.

    SMALL: a count or a part of a date (`year`). GROWS: it grows with the arguments (`+`). LARGE: beyond an int whatever
    the arguments are. SECONDS: seconds since 1970, which fit into an int today, and no longer once they are multiplied.
    """

    SMALL = "small"
    GROWS = "grows"
    LARGE = "large"
    SECONDS = "seconds"


class Frame(Enum):
    """The frame that a window function runs over, whatever the query says. OFFSET: the one row at its offset
    (`lag`)."""

    ROWS = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    RANGE = "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    OFFSET = "offset"


@record(frozen=True, slots=True)
class Traits:
    """What is known of each call of a function. What is not stated is the worst.

    - `raises`: `never`, `ansi` (in ANSI mode only) or `always` (in both).
    - `volatile`: two calls may differ.
    - `strict`: a null argument makes the result null (Spark's `NullIntolerant`); None: it does where `nullable` is
      `EITHER`.
    - `conditional`: Spark's `ConditionalExpression`, which leaves all but the first argument in their places.
    - `twice`: Spark writes it with its first argument twice.
    - `hands_on`: the arguments that the result is, or holds, as they are.
    - `null_over_nothing`: an aggregate function that is null only where there is no value to aggregate.
    - `wraps`: with ANSI off a result beyond the type's range starts anew at the other end, without an error.
      `total_over_floats`: over floats it never raises.
    """

    raises: Literal["never", "ansi", "always"] = "always"
    volatile: bool = True
    strict: bool | None = None
    evaluates: Evaluates = Evaluates.UNSAID
    conditional: bool = False
    twice: bool = False
    hands_on: Places = nowhere
    elements: Elements | None = None
    loop: Loop | None = None
    null_over_nothing: bool = False
    commutative: bool = False
    wraps: bool = False
    total_over_floats: bool = False
    cost: Cost = Cost.WORKS
    magnitude: Magnitude = Magnitude.SMALL
    frame: Frame | None = None


UNSTATED = Traits()
PURE = Traits("never", False)
ANSI_RAISES = Traits("ansi", False)
RAISES = Traits("always", False)
VOLATILE = Traits("never", True)
