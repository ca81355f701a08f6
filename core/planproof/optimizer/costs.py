"""What work and what data weigh: whether a rewriting pays. No result depends on it."""

from __future__ import annotations

from planproof.expr import Call, Expr
from planproof.expr.traits import Cost
from planproof.types import Array, DataType, Decimal, Map, String, Struct, walk


def costly(expr: Expr) -> bool:
    """Whether the expression by itself does work that grows with its data: anything beyond arithmetic, tests and
    lookups. What is below it counts for itself."""
    return isinstance(expr, Call) and expr.function.traits.cost is not Cost.FEW


def weight(data_type: DataType) -> int:
    """About how much of a file the values of a type take, in numbers."""
    if isinstance(data_type, Struct):
        return sum(weight(f.type) for f in data_type.fields)
    if isinstance(data_type, (Array, Map)):
        return 3 * sum(weight(child) for child in data_type.children)
    if isinstance(data_type, Decimal):
        return 1 if data_type.precision <= 18 else 2
    return 2 if isinstance(data_type, String) or data_type.simple in ("binary", "variant") else 1


_LIGHT = 4


def heavy(expr: Expr) -> bool:
    """Whether its value holds structs of which one copy more costs what binding something around it saves."""
    return any(isinstance(t, Struct) and weight(t) > _LIGHT for t in walk(expr.type))
