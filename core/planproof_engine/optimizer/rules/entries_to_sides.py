"""Reads the one side of a map that lambdas over its entries use."""

from __future__ import annotations

from planproof_engine import types as dt
from planproof_engine.expr import Call, Expr, GetField, Lambda, Mismatch, Variable, transform_up
from planproof_engine.functions.registry import Registry
from planproof_engine.ground import Conf, evolve
from planproof_engine.logical.nodes import Plan
from planproof_engine.optimizer import laws, uses_itself
from planproof_engine.optimizer.accesses import keeps_elements
from planproof_engine.optimizer.retype import fits, make_call, replace_variables, retype, substitute

_SIDES = ("map_keys", "map_values")
_OVER_SIDE = {("map_filter", 0): "filter", ("map_filter", 1): "filter", ("transform_values", 1): "transform"}
"""What gives the keys (0) or values (1) of a map function's result, over the keys or values of its argument."""


def entries_to_sides(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """Lambdas that use one side of a map's entries get that side alone, which Parquet can be read by.

    >>> from one_rule import rewrite_example
    >>> rewrite_example(entries_to_sides, "size(map_filter(attrs, (k, v) -> v.b > 1D))")
    'size(filter(map_values(attrs), v -> v.b > 1D))'
    >>> rewrite_example(entries_to_sides, "exists(map_entries(attrs), e -> e.key = 'k1')")
    "exists(map_keys(attrs), e -> e = 'k1')"
    >>> rewrite_example(entries_to_sides, "map_values(map_filter(attrs, (k, v) -> v.b > 1D))")
    'filter(map_values(attrs), v -> v.b > 1D)'
    >>> rewrite_example(entries_to_sides, "map_values(transform_values(attrs, (k, v) -> v.a))")
    'transform(map_values(attrs), v -> v.a)'

    Only when

    - the lambda uses one side alone;
    - no flag changes: `map_keys` calls its elements nullable;
    - nor one of a lambda inside, over an array that is made of a key;
    - no struct names a field after it: `struct(e.value)` has a field `value`.

    >>> rewrite_example(entries_to_sides, "size(map_filter(attrs, (k, v) -> k = v.c))")
    'size(map_filter(attrs, (k, v) -> k = v.c))'
    """

    def change(expr: Expr) -> Expr:
        try:
            return _rewrite(expr, conf, registry)
        except Mismatch:
            return expr

    return laws.map_lambdas(plan, conf, lambda expr: transform_up(expr, change))


def _rewrite(expr: Expr, conf: Conf, registry: Registry) -> Expr:
    if not isinstance(expr, Call) or expr.span is None:
        return expr
    name = expr.function.name
    if name == "size":
        found = _count_side(expr, conf, registry)
    elif name in _SIDES:
        found = _make_side(expr.args[0], _SIDES.index(name), conf, registry)
    else:
        found = _rewrite_over_entries(expr, conf, registry)
    return found if found is not None and fits(found, expr) else expr


def _count_side(size: Call, conf: Conf, registry: Registry) -> Expr | None:
    """`size(map_filter(m, (k, v) -> ..))` as the size of the filtered side."""
    inner = size.args[0]
    if not isinstance(inner, Call) or inner.function.name != "map_filter":
        return None
    sides = (_make_side(inner, at, conf, registry) for at in (0, 1))
    kept = next((side for side in sides if side is not None), None)
    return None if kept is None else make_call("size", (kept,), conf, registry)


def _make_side(made: Expr, at: int, conf: Conf, registry: Registry) -> Expr | None:
    """The keys (0) or values (1) of `map_filter` or `transform_values`, made of the map's keys or values alone."""
    name = _OVER_SIDE.get((made.function.name, at)) if isinstance(made, Call) else None
    if name is None:
        return None
    assert isinstance(made, Call)
    function = made.args[1]
    if not isinstance(function, Lambda) or len(function.parameters) != 2:
        return None
    variable, other = function.parameters[at], function.parameters[1 - at]
    if not _uses_one_side(function.body, other):
        return None
    side = make_call(_SIDES[at], (made.args[0],), conf, registry)
    value = _make_element(side, variable)
    body = replace_variables(function.body, {variable.id: value}, conf)
    return make_call(name, (side, Lambda((value,), body)), conf, registry)


def _find_lambda(call: Call) -> int | None:
    """The place of the lambda, of a function that hands on nothing of its array but what the lambda makes of it."""
    loop = call.function.traits.loop
    if loop is None or len(loop.elements) > 1 or keeps_elements(call):
        return None
    ((_, place, _),) = loop.elements
    return place


def _rewrite_over_entries(call: Call, conf: Conf, registry: Registry) -> Expr | None:
    """`exists(map_entries(m), e -> ..)` over the side of which alone the lambda reads."""
    at = _find_lambda(call)
    entries = call.args[0] if at is not None else None
    if at is None or not isinstance(entries, Call) or entries.function.name != "map_entries":
        return None
    function, place = call.args[at], at - 1
    if not isinstance(function, Lambda) or len(function.parameters) <= place:
        return None
    entry = function.parameters[place]
    read = [e for e in function.body.walk() if isinstance(e, GetField) and e.child == entry]
    if uses_itself(function.body, entry) or len({e.ordinal for e in read}) != 1:
        return None
    ordinal = read[0].ordinal
    side = make_call(_SIDES[ordinal], (entries.args[0],), conf, registry)
    value = _make_element(side, entry)
    body = substitute(function.body, lambda e: value if isinstance(e, GetField) and e.child == entry else None, conf)
    parameters = tuple(value if p is entry else p for p in function.parameters)
    args = tuple(side if a is entries else Lambda(parameters, body) if a is function else a for a in call.args)
    return retype(evolve(call, args=args), conf)


def _uses_one_side(body: Expr, other: Variable) -> bool:
    return not any(e == other for e in body.walk())


def _make_element(array: Expr, variable: Variable) -> Variable:
    """The variable, as an element of another array."""
    assert isinstance(array.type, dt.Array)
    return evolve(variable, type=array.type.element, nullable=array.type.contains_null)
