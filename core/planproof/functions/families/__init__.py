"""One table per family of Spark's functions."""

from planproof.functions.families import aggregates, collections, constructors, datetime, lambdas, math, operators
from planproof.functions.families.line import Table

FAMILIES: tuple[Table, ...] = (
    operators.TABLE,
    lambdas.TABLE,
    constructors.TABLE,
    collections.TABLE,
    aggregates.TABLE,
    datetime.TABLE,
    math.TABLE,
)

__all__ = ["FAMILIES"]
