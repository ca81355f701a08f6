"""Asks whether two arrays share an element by a hash set instead of by nested loops."""

from __future__ import annotations

from planproof_engine import types as dt
from planproof_engine.expr import Call, Expr, Lambda, Variable, transform_up
from planproof_engine.functions.registry import Registry
from planproof_engine.ground import Conf
from planproof_engine.logical.nodes import Plan
from planproof_engine.optimizer import is_deterministic, is_independent, laws, may_raise
from planproof_engine.optimizer.retype import FALSE, make_call, make_int


def exists_to_overlap(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """An exists within an exists that compares elements for equality is arrays_overlap.

    >>> from one_rule import rewrite_example
    >>> rewrite_example(exists_to_overlap, "exists(xs, x -> exists(array(k, 7), y -> y = x))")
    'arrays_overlap(xs, array(k, 7))'
    >>> rewrite_example(exists_to_overlap, "exists(words, w -> exists(map_keys(attrs), y -> y = w))")
    'if((size(words) = 0), false, arrays_overlap(words, map_keys(attrs)))'

    Only when the inner array

    - may be null behind a test of the outer one's size alone: of an empty one `exists` is false, `arrays_overlap` NULL;
    - cannot raise, for an empty outer array never evaluates it;
    - is deterministic: `exists` computes it for each element;
    - does not use the element.

    >>> rewrite_example(exists_to_overlap, "exists(xs, x -> exists(slice(xs, k, 1), y -> y = x))")
    'exists(xs, x -> exists(slice(xs, k, 1), y -> y = x))'

    It pays for types that Spark looks up in a hash set. Spark's old `exists`, which takes a null of its body for false,
    is left alone.
    """
    if not conf.three_valued_exists:
        return plan
    return laws.map_lambdas(plan, conf, lambda expr: transform_up(expr, lambda e: _rewrite(e, conf, registry)))


def _rewrite(expr: Expr, conf: Conf, registry: Registry) -> Expr:
    if not isinstance(expr, Call) or expr.function.name != "exists" or expr.span is None:
        return expr
    left, outer = expr.args
    if not isinstance(outer, Lambda) or not isinstance(outer.body, Call) or outer.body.function.name != "exists":
        return expr
    right, inner = outer.body.args
    if not isinstance(inner, Lambda) or not _compares(inner.body, outer.parameters[0], inner.parameters[0]):
        return expr
    if not _is_hashed(left) or not _may_stand_outside(right, outer.parameters[0], conf):
        return expr
    found = make_call("arrays_overlap", (left, right), conf, registry)
    if _may_be_null(right):
        if not laws.is_path(left):
            return expr
        empty = make_call("=", (make_call("size", (left,), conf, registry), make_int(0)), conf, registry)
        found = make_call("if", (empty, FALSE, found), conf, registry)
    return found


def _compares(body: Expr, one: Variable, other: Variable) -> bool:
    return isinstance(body, Call) and body.function.name == "=" and body.args in ((one, other), (other, one))


def _is_hashed(array: Expr) -> bool:
    assert isinstance(array.type, dt.Array)
    return array.type.element in laws.HASHED


def _may_stand_outside(array: Expr, element: Variable, conf: Conf) -> bool:
    return is_independent(array, element) and not may_raise(array, conf) and is_deterministic(array)


def _may_be_null(array: Expr) -> bool:
    return array.nullable
