"""Runs a loop that a lambda's body says twice once per element."""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine.expr import Call, Cast, Expr, GetField, GetFieldOfElements, Lambda, transform_up
from planproof_engine.functions.registry import Registry
from planproof_engine.ground import Conf, evolve
from planproof_engine.logical.nodes import Plan
from planproof_engine.optimizer import is_alike, is_deterministic, laws, may_raise
from planproof_engine.optimizer.retype import bind_once, fits, retype


def share_loops(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """A loop that the body of a lambda says twice runs once per element.

    >>> from one_rule import rewrite_example
    >>> twice = "transform(ds, x -> size(filter(ds, y -> y > x)) / (1D + size(filter(ds, y -> y > x))))"
    >>> rewrite_example(share_loops, twice)
    'transform(ds, x -> transform(array(size(filter(ds, y -> y > x))), v1 -> v1 / (1D + v1))[0])'

    Only when the loop

    - cannot raise, or is what the body evaluates first of all;
    - is deterministic;

    and

    - no flag changes: `[0]` makes the body nullable;
    - no struct names a field after it;
    - no string has a collation of its own.

    >>> rewrite_example(share_loops, "transform(xs, x -> if(x > 1, aggregate(xs, 0, (a, y) -> a + y * x), "
    ...     "aggregate(xs, 0, (a, y) -> a + y * x) + 1))")
    'transform(xs, x -> if(x > 1, aggregate(xs, 0, (a, y) -> a + y * x), aggregate(xs, 0, (a, y) -> a + y * x) + 1))'

    It pays where the body evaluates one of the two in any case, and the loop goes through all elements: `exists` and
    `forall` stop early.
    """
    return laws.map_lambdas(plan, conf, lambda expr: transform_up(expr, lambda e: _rewrite(e, conf, registry)))


def _rewrite(expr: Expr, conf: Conf, registry: Registry) -> Expr:
    """The call with the bodies of its lambdas sharing their loops."""
    if not isinstance(expr, Call) or expr.span is None or not any(isinstance(a, Lambda) for a in expr.args):
        return expr
    args = tuple(_share_loop(a, conf, registry) if isinstance(a, Lambda) else a for a in expr.args)
    if all(a is b for a, b in zip(args, expr.args)) or not laws.is_row_local(expr):
        return expr
    made = retype(evolve(expr, args=args), conf)
    return made if fits(made, expr) else expr


def _share_loop(function: Lambda, conf: Conf, registry: Registry) -> Lambda:
    """The lambda with the first loop bound that its body repeats and may bind."""
    for loop in _find_repeated(function.body):
        if laws.operands_below(function.body, loop, conf):
            continue
        first = laws.nulls_before(function.body, loop, conf) == []
        if (first or (_is_certain(function.body, loop) and not may_raise(loop, conf))) and is_deterministic(loop):
            body = bind_once(function.body, loop, loop, conf, registry)
            if body is not None:
                return evolve(function, body=body)
    return function


def _find_repeated(body: Expr) -> Iterator[Call]:
    """The loops that stand in the body more than once, each of them once, the outermost first."""
    found = [e for e in body.walk() if isinstance(e, Call) and e.span is not None and _has_loop(e)]
    # Loops in loops begin alike, and none of them is as large as another.
    by_size: dict[int, list[Call]] = {}
    for loop in found:
        by_size.setdefault(sum(1 for _ in loop.walk()), []).append(loop)
    again = {id(loop) for loops in by_size.values() for loop in _find_first(loops)}
    yield from (loop for loop in found if id(loop) in again)


def _find_first(loops: list[Call]) -> Iterator[Call]:
    for at, loop in enumerate(loops[:-1]):
        if not any(is_alike(loop, other) for other in loops[:at]) and any(is_alike(loop, o) for o in loops[at + 1 :]):
            yield loop


def _has_loop(expr: Expr) -> bool:
    loops = map(laws.loop_of, expr.walk())
    return any(loop is not None and not loop.stops for loop in loops)


def _is_certain(body: Expr, loop: Call) -> bool:
    """Whether the body evaluates the loop for every element, or stops at a null before; so no inner lambda's variable
    is in it."""
    if is_alike(loop, body):
        return True
    if isinstance(body, (Cast, GetField, GetFieldOfElements)):
        return _is_certain(body.child, loop)
    if not isinstance(body, Call):
        return False
    evaluated = body.args[: body.function.count_evaluated(len(body.args))]
    return any(_is_certain(arg, loop) for arg in evaluated if not isinstance(arg, Lambda))
