"""Takes the first elements of an array instead of testing every index."""

from __future__ import annotations

from planproof.conf import Conf
from planproof.expr import Call, Expr, Lambda, Literal, Variable
from planproof.expr.rewrite import transform_up
from planproof.functions.bind import apply
from planproof.functions.registry import Registry
from planproof.optimizer.condition import Condition
from planproof.plan.nodes import Plan
from planproof.plan.rewrite import map_expressions
from planproof.types import INT

CONDITIONS = (
    Condition("is not negative", "_not_negative", True),
    Condition("is below the greatest int", "_fits_an_int", True),
)


def filter_to_slice(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """A filter that asks for small indexes alone is a slice.

    >>> from planproof.optimizer.example import rewritten
    >>> rewritten(filter_to_slice, "filter(xs, (x, i) -> i < 3)")
    'slice(xs, 1, 3)'

    Only when the bound is an int literal that

    - is not negative: such a bound keeps nothing, and `slice` refuses it;
    - is below the greatest int: the next one is no length.

    >>> rewritten(filter_to_slice, "filter(xs, (x, i) -> i < -1)")
    'filter(xs, (x, i) -> i < -1)'
    """
    return map_expressions(plan, lambda expr: transform_up(expr, lambda e: _sliced(e, conf, registry)))


def _sliced(expr: Expr, conf: Conf, registry: Registry) -> Expr:
    if not isinstance(expr, Call) or expr.function.name != "filter" or expr.span is None:
        return expr
    size = _bound(expr.args[1])
    function = registry.find("slice")
    if size is None or function is None:
        return expr
    args = (expr.args[0], Literal(1, INT, "1"), Literal(size, INT, str(size)))
    return apply(function, args, conf)


def _bound(function: Expr) -> int | None:
    """How many elements `(x, i) -> i < n` (or `i <= n - 1`, or `n > i`) keeps; None for any other lambda."""
    if not isinstance(function, Lambda) or len(function.parameters) != 2 or not isinstance(function.body, Call):
        return None
    index, body = function.parameters[1], function.body
    shifts = {"<": 0, "<=": 1} if body.args[:1] == (index,) else {">": 0, ">=": 1}
    if body.function.name not in shifts or len(body.args) != 2:
        return None
    variable, limit = body.args if body.function.name in ("<", "<=") else body.args[::-1]
    if not isinstance(variable, Variable) or variable != index or not isinstance(limit, Literal):
        return None
    if limit.type != INT or not isinstance(limit.value, int):
        return None
    size = limit.value + shifts[body.function.name]
    return size if _not_negative(size) and _fits_an_int(size) else None


def _not_negative(size: int) -> bool:
    return size >= 0


def _fits_an_int(size: int) -> bool:
    return size < 2**31
