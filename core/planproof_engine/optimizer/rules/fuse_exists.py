"""Tests elements as they are transformed, and no more of them than the answer needs."""

from __future__ import annotations

from planproof_engine import types as dt
from planproof_engine.expr import Call, Expr, Lambda, Mismatch, Variable, fresh_id, transform_up
from planproof_engine.functions.registry import Registry
from planproof_engine.ground import Conf
from planproof_engine.logical.nodes import Plan
from planproof_engine.optimizer import is_deterministic, laws, make_call, may_raise, replace_variables


def fuse_exists(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """An exists (or forall) over a transform computes each element when it tests it, up to the one that decides.

    >>> from one_rule import rewrite_example
    >>> rewrite_example(fuse_exists, "exists(transform(words, w -> upper(w)), u -> u LIKE 'A%')")
    "exists(words, w1 -> upper(w1) LIKE 'A%')"

    Only when the transform's body

    - cannot raise, for `exists` leaves out the elements behind the first match;
    - is deterministic, as the row's other calls of a generator get other numbers else;

    and

    - no struct names a field after it: `struct(u)` has a field `u`.

    >>> rewrite_example(fuse_exists, "exists(transform(xs, x -> 1 / x), y -> y > 1)")
    'exists(transform(xs, x -> 1 / x), y -> y > 1)'

    It pays where the test uses the transformed element once, outside of lambdas of its own. Elements that are structs
    are left alone: Spark reads only some of their fields under a transform, and all of them under an exists.
    """
    return laws.map_lambdas(plan, conf, lambda expr: transform_up(expr, lambda e: _rewrite(e, conf, registry)))


def _rewrite(expr: Expr, conf: Conf, registry: Registry) -> Expr:
    loop = laws.loop_of(expr)
    if not isinstance(expr, Call) or expr.span is None or loop is None or not loop.stops:
        return expr
    made, test = expr.args
    if not isinstance(made, Call) or made.function.name != "transform" or not isinstance(test, Lambda):
        return expr
    array, function = made.args
    assert isinstance(function, Lambda)
    if may_raise(function.body, conf) or not is_deterministic(function.body):
        return expr
    if not _is_worth_it(array, function, test):
        return expr
    (given,) = function.parameters
    element = Variable(fresh_id(), given.name, given.type, given.nullable)
    try:
        value = replace_variables(function.body, {given.id: element}, conf)
        body = replace_variables(test.body, {test.parameters[0].id: value}, conf)
    except Mismatch:
        return expr
    return make_call(expr.function.name, (array, Lambda((element,), body)), conf, registry)


def _is_worth_it(array: Expr, function: Lambda, test: Lambda) -> bool:
    assert isinstance(array.type, dt.Array)
    plain = not isinstance(array.type.element, dt.Struct)
    return plain and len(function.parameters) == 1 and _count_uses(test.body, test.parameters[0]) <= 1


def _count_uses(body: Expr, variable: Variable) -> int:
    """How often an evaluation of the body reads the variable; an inner lambda may do so many times."""
    if isinstance(body, Lambda):
        return 2 * sum(_count_uses(child, variable) for child in body.children)
    return (body == variable) + sum(_count_uses(child, variable) for child in body.children)
