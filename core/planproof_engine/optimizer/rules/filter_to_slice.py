"""Takes the first elements of an array instead of testing every index."""

from __future__ import annotations

from planproof_engine import types as dt
from planproof_engine.expr import Call, Expr, Lambda, Literal, transform_up
from planproof_engine.functions.registry import Registry
from planproof_engine.ground import Conf
from planproof_engine.logical.nodes import Plan
from planproof_engine.optimizer import laws, make_call, make_int, may_raise


def filter_to_slice(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """A filter that asks for small indexes alone is a slice.

    >>> from one_rule import rewrite_example
    >>> rewrite_example(filter_to_slice, "filter(xs, (x, i) -> i < 3)")
    'slice(xs, 1, 3)'
    >>> rewrite_example(filter_to_slice, "filter(xs, (x, i) -> i < k)")
    'slice(xs, 1, greatest(coalesce(k, 0), 0))'

    Only when the bound is an int that, as a literal,

    - is not negative: such a bound keeps nothing, and `slice` refuses it;
    - is below the greatest int: the next one is no length;

    and that otherwise

    - cannot raise: an empty array never evaluates it;
    - is deterministic: `filter` computes it for each element;
    - uses none of the variables of the lambda.

    >>> rewrite_example(filter_to_slice, "filter(xs, (x, i) -> i < -1)")
    'filter(xs, (x, i) -> i < -1)'
    >>> rewrite_example(filter_to_slice, "filter(xs, (x, i) -> i < k + 1)")
    'filter(xs, (x, i) -> i < k + 1)'
    """
    return laws.map_lambdas(plan, conf, lambda expr: transform_up(expr, lambda e: _rewrite(e, conf, registry)))


def _rewrite(expr: Expr, conf: Conf, registry: Registry) -> Expr:
    if not isinstance(expr, Call) or expr.function.name != "filter" or expr.span is None:
        return expr
    size = _find_size(expr.args[1], conf, registry)
    if size is None:
        return expr
    return make_call("slice", (expr.args[0], make_int(1), size), conf, registry)


def _find_size(function: Expr, conf: Conf, registry: Registry) -> Expr | None:
    """How many elements `(x, i) -> i < n` (or `i <= n - 1`, or `n > i`) keeps; None for any other lambda."""
    if not isinstance(function, Lambda) or len(function.parameters) != 2 or not isinstance(function.body, Call):
        return None
    index, body = function.parameters[1], function.body
    shifts = {"<": 0, "<=": 1} if body.args[:1] == (index,) else {">": 0, ">=": 1}
    if body.function.name not in shifts or len(body.args) != 2:
        return None
    variable, limit = body.args if body.function.name in ("<", "<=") else body.args[::-1]
    if variable != index or limit.type != dt.INT:
        return None
    shift = shifts[body.function.name]
    if isinstance(limit, Literal):
        return _make_size(limit.value + shift) if isinstance(limit.value, int) else None
    held = shift == 0 and _is_independent(limit, function) and not may_raise(limit, conf) and _is_deterministic(limit)
    return _clamp_size(limit, conf, registry) if held else None


def _make_size(size: int) -> Expr | None:
    return make_int(size) if _is_not_negative(size) and _fits_an_int(size) else None


def _clamp_size(limit: Expr, conf: Conf, registry: Registry) -> Expr:
    """The bound, where a NULL and a negative one keep nothing."""
    known = make_call("coalesce", (limit, make_int(0)), conf, registry) if limit.nullable else limit
    return make_call("greatest", (known, make_int(0)), conf, registry)


def _is_not_negative(size: int) -> bool:
    return size >= 0


def _fits_an_int(size: int) -> bool:
    return size < 2**31


def _is_deterministic(limit: Expr) -> bool:
    return laws.is_deterministic(limit) and laws.is_row_local(limit)


def _is_independent(limit: Expr, function: Lambda) -> bool:
    return not laws.free_variables(limit) & {p.id for p in function.parameters}
