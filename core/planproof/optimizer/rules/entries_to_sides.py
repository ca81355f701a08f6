"""Reads the one side of a map that lambdas over its entries use."""

from __future__ import annotations

from dataclasses import replace

from planproof.conf import Conf
from planproof.expr import Call, Expr, GetField, Lambda, Variable, fresh_id
from planproof.expr.rewrite import transform_up
from planproof.functions.bind import apply
from planproof.functions.registry import Registry
from planproof.optimizer.accesses import uses_itself
from planproof.optimizer.condition import Condition
from planproof.optimizer.retype import derived, fits, substituted, with_variables
from planproof.plan.nodes import Plan
from planproof.plan.rewrite import map_expressions
from planproof.types import Array

_READS = {"exists": 1, "forall": 1, "transform": 1, "aggregate": 2}
"""Functions that hand on nothing of the array but what their lambda makes of it, with the lambda's place."""
_SIDES = ("map_keys", "map_values")

CONDITIONS = (
    Condition("uses one side alone", "_one_side", True),
    Condition("no flag changes", "_keeps_flags", True),
)


def entries_to_sides(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """Lambdas that use one side of a map's entries get that side alone, which Parquet can be read by.

    >>> from planproof.optimizer.example import rewritten
    >>> rewritten(entries_to_sides, "size(map_filter(attrs, (k, v) -> v.b > 1D))")
    'size(filter(map_values(attrs), v1 -> v1.b > 1D))'
    >>> rewritten(entries_to_sides, "exists(map_entries(attrs), e -> e.key = 'k1')")
    "exists(map_keys(attrs), key1 -> key1 = 'k1')"

    Only when

    - the lambda uses one side alone;
    - no flag changes: `map_keys` calls its elements nullable.

    >>> rewritten(entries_to_sides, "size(map_filter(attrs, (k, v) -> k = v.c))")
    'size(map_filter(attrs, (k, v) -> k = v.c))'
    """
    return map_expressions(plan, lambda expr: transform_up(expr, lambda e: _changed(e, conf, registry)))


def _changed(expr: Expr, conf: Conf, registry: Registry) -> Expr:
    if not isinstance(expr, Call) or expr.span is None:
        return expr
    found = _counted(expr, conf, registry) if expr.function.name == "size" else _over_entries(expr, conf, registry)
    return found if found is not None and _keeps_flags(found, expr) else expr


def _counted(size: Call, conf: Conf, registry: Registry) -> Expr | None:
    """`size(map_filter(m, (k, v) -> ..))` as the size of the filtered side."""
    inner = size.args[0]
    if not isinstance(inner, Call) or inner.function.name != "map_filter":
        return None
    function = inner.args[1]
    assert isinstance(function, Lambda)
    for at, variable in enumerate(function.parameters):
        others = [p for p in function.parameters if p is not variable]
        if len(function.parameters) == 2 and all(_one_side(function.body, other) for other in others):
            side = _call(_SIDES[at], (inner.args[0],), conf, registry)
            value = _element(side, variable.name)
            body = with_variables(function.body, {variable.id: value}, conf)
            kept = _call("filter", (side, Lambda((value,), body)), conf, registry)
            return _call("size", (kept,), conf, registry)
    return None


def _over_entries(call: Call, conf: Conf, registry: Registry) -> Expr | None:
    """`exists(map_entries(m), e -> ..)` over the side of which alone the lambda reads."""
    at = _READS.get(call.function.name)
    entries = call.args[0] if at is not None else None
    if at is None or not isinstance(entries, Call) or entries.function.name != "map_entries":
        return None
    function, place = call.args[at], at - 1
    if not isinstance(function, Lambda) or len(function.parameters) <= place:
        return None
    entry = function.parameters[place]
    sides = {e.ordinal for e in function.body.walk() if isinstance(e, GetField) and e.child == entry}
    if uses_itself(function.body, entry) or len(sides) != 1:
        return None
    (ordinal,) = sides
    side = _call(_SIDES[ordinal], (entries.args[0],), conf, registry)
    value = _element(side, ("key", "value")[ordinal])
    body = substituted(function.body, lambda e: value if isinstance(e, GetField) and e.child == entry else None, conf)
    parameters = tuple(value if p is entry else p for p in function.parameters)
    args = tuple(side if a is entries else Lambda(parameters, body) if a is function else a for a in call.args)
    return derived(replace(call, args=args), conf)


def _keeps_flags(new: Expr, old: Expr) -> bool:
    return fits(new, old)


def _one_side(body: Expr, other: Variable) -> bool:
    return not any(e == other for e in body.walk())


def _element(array: Expr, name: str) -> Variable:
    assert isinstance(array.type, Array)
    return Variable(fresh_id(), name, array.type.element, array.type.contains_null)


def _call(name: str, args: tuple[Expr, ...], conf: Conf, registry: Registry) -> Call:
    function = registry.find(name)
    assert function is not None
    return apply(function, args, conf)
