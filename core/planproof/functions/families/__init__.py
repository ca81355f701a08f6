"""One table per family of Spark's functions."""

from planproof.functions.families import aggregates, constructors, datetime, lambdas, math, operators
from planproof.functions.families.line import Table

FAMILIES: tuple[Table, ...] = (
    operators.TABLE,
    lambdas.TABLE,
    constructors.TABLE,
    aggregates.TABLE,
    datetime.TABLE,
    math.TABLE,
)

__all__ = ["FAMILIES"]
