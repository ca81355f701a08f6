"""How much work a call is, and how much data a type takes. Rules ask it to see whether a rewriting pays; no result
depends on it."""

from __future__ import annotations

from planproof_engine import types as dt
from planproof_engine.expr import Call, Expr
from planproof_engine.expr.traits import Cost


def is_costly(expr: Expr) -> bool:
    """Whether the expression does work that grows with its data: anything beyond arithmetic, tests and lookups. The
    expressions below it do not count here."""
    return isinstance(expr, Call) and expr.function.traits.cost is not Cost.FEW


def weigh_type(data_type: dt.DataType) -> int:
    """About how much of a file a value of the type takes; a number takes 1."""
    if isinstance(data_type, dt.Struct):
        return sum(weigh_type(f.type) for f in data_type.fields)
    if isinstance(data_type, (dt.Array, dt.Map)):
        return 3 * sum(weigh_type(child) for child in data_type.children)
    if isinstance(data_type, dt.Decimal):
        return 1 if data_type.precision <= 18 else 2
    return 2 if isinstance(data_type, dt.String) or data_type.simple in ("binary", "variant") else 1


_LIGHT = 4


def is_heavy(expr: Expr) -> bool:
    """Whether its value holds structs, so that one more copy of it costs as much as a rewriting around it saves."""
    return any(isinstance(t, dt.Struct) and weigh_type(t) > _LIGHT for t in dt.walk(expr.type))
