"""Binds what does not depend on a lambda's variables once per row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planproof.conf import Conf
from planproof.expr import Call, Expr, Lambda, Literal, Variable, fresh_id
from planproof.expr.rewrite import transform_down
from planproof.functions.bind import apply
from planproof.functions.registry import Registry
from planproof.optimizer import laws
from planproof.plan.nodes import Plan
from planproof.plan.rewrite import map_expressions
from planproof.types import INT

NAME = "hoist_invariants"


def hoist_invariants(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """An expression that no element changes is computed once per row in place of once per element.

    Before: `transform(xs, x -> concat(x, upper(name)))`

    After: `transform(array(upper(name)), v -> transform(xs, x -> concat(x, v)))[0]`

    Only when the expression

    - uses none of the lambda's variables, but some column or outer variable (Spark folds constants itself);
    - cannot raise: an empty array evaluates the body never, the bound form always;
    - is deterministic, and needs nothing but the row (no aggregate, window or subquery);
    - does more than arithmetic or a lookup, so that binding it pays;

    and the call is nullable already, since `[0]` makes its result nullable.
    """
    return map_expressions(plan, lambda expr: transform_down(expr, lambda e: _hoisted(e, conf, registry)))


def _hoisted(expr: Expr, conf: Conf, registry: Registry) -> Expr | None:
    """The bound form of a call, the outermost first; None goes on to what is inside it."""
    if not isinstance(expr, Call) or not _may_bind(expr):
        return None
    found = next((e for arg in expr.args if isinstance(arg, Lambda) for e in _invariants(arg, conf)), None)
    return None if found is None else _bound(expr, found, conf, registry)


def _may_bind(call: Call) -> bool:
    return (
        call.nullable
        and call.span is not None
        and any(isinstance(a, Lambda) for a in call.args)
        and laws.row_local(call)
    )


def _invariants(function: Lambda, conf: Conf) -> Iterator[Call]:
    """The largest parts of the body that the lambda's variables do not reach and that may be computed beforehand."""
    own = {p.id for p in function.parameters}
    pending: list[tuple[Expr, frozenset[int]]] = [(function.body, frozenset())]
    while pending:
        expr, inner = pending.pop()
        if isinstance(expr, Call) and movable(expr, own | inner, conf):
            yield expr
            continue
        bound = inner | {p.id for p in expr.parameters} if isinstance(expr, Lambda) else inner
        pending.extend((c, bound) for c in reversed(expr.children))


def movable(expr: Call, bound: set[int] | frozenset[int], conf: Conf) -> bool:
    """The rule's conditions on the expression; `bound` are the variables that its new place would not have."""
    free = laws.free_variables(expr)
    return (
        not free & bound
        and bool(free or laws.columns(expr))
        and expr.span is not None
        and laws.costly(expr)
        and not laws.may_raise(expr, conf)
        and laws.deterministic(expr)
    )


def _bound(call: Call, invariant: Call, conf: Conf, registry: Registry) -> Expr:
    """`transform(array(invariant), v -> call with v in place of invariant)[0]`."""
    variable = Variable(fresh_id(), "v", invariant.type, invariant.nullable)
    body = transform_down(call, lambda e: variable if e == invariant else None)
    array, transform, item = (registry.find(n) for n in ("array", "transform", "getarrayitem"))
    assert array is not None
    assert transform is not None
    assert item is not None
    once = apply(array, (invariant,), conf)
    bound = apply(transform, (once, Lambda((variable,), body)), conf)
    return replace(apply(item, (bound, Literal(0, INT, "0")), conf))
