"""Stops at the first match where a query only asks whether a filter keeps anything."""

from __future__ import annotations

from planproof_engine.expr import Call, Expr, Lambda, Literal, transform_down
from planproof_engine.functions.families.operators import MIRRORED
from planproof_engine.functions.registry import Registry
from planproof_engine.ground import Conf
from planproof_engine.logical.nodes import Plan
from planproof_engine.optimizer import is_deterministic, laws, may_raise
from planproof_engine.optimizer.retype import FALSE, fits, make_call

_SOME = {(">", 0): True, (">=", 1): True, ("=", 0): False}
"""What a comparison of a count with a constant asks: for some, or for none. All are false of Spark's old size of NULL,
which is -1."""


def count_to_exists(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """A count of what a filter keeps, held against none, is an exists: it makes no array and stops at the first match.

    >>> from one_rule import rewrite_example
    >>> rewrite_example(count_to_exists, "size(filter(words, w -> w IS NOT NULL)) > 0")
    'exists(words, w -> w IS NOT NULL)'
    >>> rewrite_example(count_to_exists, "size(filter(xs, x -> x > 7)) = 0")
    '(NOT exists(xs, x -> coalesce(x > 7, false)))'

    Only when the filter's test

    - cannot raise, for `exists` leaves out the elements behind the first match;
    - is deterministic, as the row's other calls of a generator get other numbers else;

    and

    - a null of the test keeps nothing: where it may be null it counts as false;
    - no flag changes: the size of NULL may be -1.

    >>> rewrite_example(count_to_exists, "size(filter(xs, x -> x / 2 > 1)) > 1")
    'size(filter(xs, x -> x / 2 > 1)) > 1'
    >>> rewrite_example(count_to_exists, "size(filter(xs, x -> 1 / x > 1)) > 0")
    'size(filter(xs, x -> 1 / x > 1)) > 0'
    """
    return laws.map_lambdas(plan, conf, lambda expr: transform_down(expr, lambda e: _rewrite(e, conf, registry)))


def _rewrite(expr: Expr, conf: Conf, registry: Registry) -> Expr | None:
    """The exists that a comparison asks for; None for any other expression."""
    if not isinstance(expr, Call) or expr.span is None:
        return None
    asked = _read_comparison(expr)
    if asked is None:
        return None
    kept, some = asked
    found = _make_exists(kept, conf, registry)
    if found is None:
        return None
    made = found if some else make_call("not", (found,), conf, registry)
    return made if fits(made, expr) else None


def _read_comparison(comparison: Call) -> tuple[Call, bool] | None:
    """The filter whose size is compared, and whether some (True) or none is asked for."""
    inner = comparison.args[0] if comparison.function.name == "not" else None
    if isinstance(inner, Call) and inner.span == comparison.span:  # `!=` is one text and two calls.
        equal = _read_comparison(inner)
        return None if equal is None else (equal[0], not equal[1])
    if len(comparison.args) != 2:
        return None
    name, (left, right) = comparison.function.name, comparison.args
    if isinstance(left, Literal):
        name, left, right = MIRRORED.get(name, ""), right, left
    if not isinstance(right, Literal) or not isinstance(right.value, int):
        return None
    some = _SOME.get((name, right.value))
    kept = left.args[0] if isinstance(left, Call) and left.function.name in ("size", "array_size") else None
    if some is None or not isinstance(kept, Call) or kept.function.name != "filter":
        return None
    return kept, some


def _make_exists(kept: Call, conf: Conf, registry: Registry) -> Expr | None:
    array, function = kept.args
    if not isinstance(function, Lambda) or len(function.parameters) != 1:
        return None
    test = function.body
    if may_raise(test, conf) or not is_deterministic(test):
        return None
    if _may_be_null(test):
        test = make_call("coalesce", (test, FALSE), conf, registry)
    return make_call("exists", (array, Lambda(function.parameters, test)), conf, registry)


def _may_be_null(test: Expr) -> bool:
    return test.nullable
