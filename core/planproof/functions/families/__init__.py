"""One table per family of Spark's functions."""

from planproof.functions.families import aggregates, constructors, lambdas, operators
from planproof.functions.families.line import Table

FAMILIES: tuple[Table, ...] = (
    operators.TABLE,
    lambdas.TABLE,
    constructors.TABLE,
    aggregates.TABLE,
)

__all__ = ["FAMILIES"]
