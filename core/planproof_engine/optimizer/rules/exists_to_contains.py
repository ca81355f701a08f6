"""Looks a value up in an array by a built-in instead of by a lambda."""

from __future__ import annotations

from planproof_engine import types as dt
from planproof_engine.expr import Call, Expr, Lambda, transform_up
from planproof_engine.functions.bind import apply
from planproof_engine.functions.registry import Registry
from planproof_engine.ground import Conf
from planproof_engine.logical.nodes import Plan
from planproof_engine.optimizer import is_deterministic, is_independent, laws, may_raise

_PAYS = (dt.BYTE, dt.SHORT, dt.INT, dt.LONG, dt.DATE, dt.TIMESTAMP, dt.TIMESTAMP_NTZ)


def exists_to_contains(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """An exists that compares each element with one value is array_contains.

    >>> from one_rule import rewrite_example
    >>> rewrite_example(exists_to_contains, "exists(xs, x -> x = 7)")
    'array_contains(xs, 7)'

    Only when the value

    - is never null: over an empty array `exists` is false, `array_contains(.., NULL)` is NULL;
    - cannot raise, for an empty array never evaluates the body;
    - is deterministic: `exists` computes it for each element;
    - does not use the element.

    >>> rewrite_example(exists_to_contains, "exists(xs, x -> x = k)")
    'exists(xs, x -> x = k)'
    >>> rewrite_example(exists_to_contains, "exists(xs, x -> x = coalesce(k, 0) + 1)")
    'exists(xs, x -> x = coalesce(k, 0) + 1)'

    Both sides have the element's type (a comparison that casts the elements is another one). It pays with whole numbers
    and dates: `array_contains` gains little with strings, and loses with doubles.

    Spark's old `exists`, which takes a null of its body for false, is left alone.
    """
    if not conf.three_valued_exists:
        return plan
    return laws.map_lambdas(plan, conf, lambda expr: transform_up(expr, lambda e: _rewrite(e, conf, registry)))


def _rewrite(expr: Expr, conf: Conf, registry: Registry) -> Expr:
    if not isinstance(expr, Call) or expr.function.name != "exists" or expr.span is None:
        return expr
    array, function = expr.args
    value = _find_value(function, conf) if isinstance(function, Lambda) else None
    contains = registry.find("array_contains")
    if value is None or contains is None or not isinstance(array.type, dt.Array) or array.type.element != value.type:
        return expr
    if value.type not in _PAYS:
        return expr
    return apply(contains, (array, value), conf)


def _find_value(function: Lambda, conf: Conf) -> Expr | None:
    """The value with which the body compares the element; None where the conditions do not hold."""
    body, element = function.body, function.parameters[0]
    if len(function.parameters) != 1 or not isinstance(body, Call) or body.function.name != "=":
        return None
    left, right = body.args
    value = right if left == element else left if right == element else None
    if value is None or not is_independent(value, element):
        return None
    return value if _is_never_null(value) and not may_raise(value, conf) and is_deterministic(value) else None


def _is_never_null(value: Expr) -> bool:
    return not value.nullable
