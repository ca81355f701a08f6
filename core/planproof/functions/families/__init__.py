"""One table per family of Spark's functions."""

from planproof.functions.families import (
    aggregates,
    bitwise,
    collections,
    conditional,
    constructors,
    datetime,
    encoding,
    generators,
    lambdas,
    math,
    misc,
    numbers,
    operators,
    patterns,
    strings,
)
from planproof.functions.families.line import Table

FAMILIES: tuple[Table, ...] = (
    operators.TABLE,
    lambdas.TABLE,
    constructors.TABLE,
    collections.TABLE,
    aggregates.TABLE,
    datetime.TABLE,
    generators.TABLE,
    math.TABLE,
    bitwise.TABLE,
    conditional.TABLE,
    strings.TABLE,
    patterns.TABLE,
    encoding.TABLE,
    numbers.TABLE,
    misc.TABLE,
)

__all__ = ["FAMILIES"]
