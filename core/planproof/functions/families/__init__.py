"""One table per family of Spark's functions."""

from planproof.functions.families import (
    aggregates,
    bitwise,
    casts,
    collections,
    conditional,
    constructors,
    datetime,
    times,
    moments,
    intervals,
    datefields,
    encoding,
    generators,
    lambdas,
    maps,
    math,
    misc,
    numbers,
    operators,
    patterns,
    semistructured,
    strings,
)
from planproof.functions.families.line import Table

FAMILIES: tuple[Table, ...] = (
    operators.TABLE,
    lambdas.TABLE,
    constructors.TABLE,
    collections.TABLE,
    maps.TABLE,
    semistructured.TABLE,
    aggregates.TABLE,
    datetime.TABLE,
    times.TABLE,
    moments.TABLE,
    intervals.TABLE,
    datefields.TABLE,
    generators.TABLE,
    math.TABLE,
    bitwise.TABLE,
    casts.TABLE,
    conditional.TABLE,
    strings.TABLE,
    patterns.TABLE,
    encoding.TABLE,
    numbers.TABLE,
    misc.TABLE,
)

__all__ = ["FAMILIES"]
