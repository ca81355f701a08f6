"""Transforms only the elements that are used."""

from __future__ import annotations

from planproof_engine.expr import Call, Expr, Lambda, Literal, transform_up
from planproof_engine.functions.registry import Registry
from planproof_engine.ground import Conf, evolve
from planproof_engine.logical.nodes import Plan
from planproof_engine.optimizer import is_deterministic, laws, may_raise
from planproof_engine.optimizer.retype import make_call, make_int, retype

_ENDS = {
    ("getarrayitem", 0): 1,
    ("get", 0): 1,
    ("element_at", 1): 1,
    ("element_at", -1): -1,
    ("try_element_at", 1): 1,
    ("try_element_at", -1): -1,
}
"""Calls that read the first (1) or last (-1) element, by name and index."""


def transform_fewer(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """A transform whose elements are counted, sliced, or read at one end works on no others.

    >>> from one_rule import rewrite_example
    >>> rewrite_example(transform_fewer, "slice(transform(words, w -> upper(w)), 2, k)")
    'transform(slice(words, 2, k), w -> upper(w))'
    >>> rewrite_example(transform_fewer, "get(transform(words, w -> upper(w)), 0)")
    'get(transform(slice(words, 1, 1), w -> upper(w)), 0)'
    >>> rewrite_example(transform_fewer, "size(transform(words, w -> upper(w)))")
    'size(words)'

    Only when the body

    - cannot raise, for the other elements are not computed any more;
    - is deterministic, as the row's other calls of a generator get other numbers else;
    - does not use the index, which counts from where the slice begins (but where only the size is asked for).

    >>> rewrite_example(transform_fewer, "slice(transform(xs, x -> 1 / x), 1, 3)")
    'slice(transform(xs, x -> 1 / x), 1, 3)'
    >>> rewrite_example(transform_fewer, "slice(transform(words, (w, i) -> repeat(w, i)), 2, 1)")
    'slice(transform(words, (w, i) -> repeat(w, i)), 2, 1)'
    """
    return laws.map_lambdas(plan, conf, lambda expr: transform_up(expr, lambda e: _rewrite(e, conf, registry)))


def _rewrite(expr: Expr, conf: Conf, registry: Registry) -> Expr:
    if not isinstance(expr, Call) or expr.span is None:
        return expr
    made = expr.args[0] if expr.args else None
    if not isinstance(made, Call) or made.function.name != "transform":
        return expr
    function = made.args[1]
    assert isinstance(function, Lambda)
    if may_raise(function.body, conf) or not is_deterministic(function.body):
        return expr
    found = _rewrite_over_fewer(expr, made, function, conf, registry)
    return expr if found is None else found


def _rewrite_over_fewer(expr: Call, made: Call, function: Lambda, conf: Conf, registry: Registry) -> Expr | None:
    """What the call over a transform is over fewer elements; None where it needs them all."""
    name, array = expr.function.name, made.args[0]
    if name in ("size", "array_size"):
        return retype(evolve(expr, args=(array, *expr.args[1:])), conf)
    if not _is_without_index(function):
        return None
    if name == "slice":
        text = "transform"
        return make_call(text, (make_call("slice", (array, *expr.args[1:]), conf, registry), function), conf, registry)
    end = _find_end(expr)
    if end is None or _is_one(array):
        return None
    one = make_call("slice", (array, make_int(end), make_int(1)), conf, registry)
    return evolve(expr, args=(make_call("transform", (one, function), conf, registry), *expr.args[1:]))


def _find_end(call: Call) -> int | None:
    index = call.args[1] if len(call.args) == 2 else None
    return _ENDS.get((call.function.name, index.value)) if isinstance(index, Literal) else None


def _is_one(array: Expr) -> bool:
    """Whether the array has one element at most by its form, as this rule leaves it."""
    if not isinstance(array, Call):
        return False
    if array.function.name == "slice":
        length = array.args[2]
        return isinstance(length, Literal) and length.value in (0, 1)
    return array.function.name == "array" and len(array.args) <= 1


def _is_without_index(function: Lambda) -> bool:
    return len(function.parameters) == 1
