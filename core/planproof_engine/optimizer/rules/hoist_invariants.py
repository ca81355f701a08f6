"""Computes once per row what a lambda's body would compute anew for each element.

In `transform(ds, x -> x / sum_of(ds))` the divisor is the same for all elements of a row. The rule binds it to a
variable around the call. SQL has no LET, so that an array of one element and a `transform` over it stand for one:

    transform(array(sum_of(ds)), v -> transform(ds, x -> x / v))[0]

Three words. The *call* runs a lambda over an array. The *invariant* is the part of the body that no variable of the
lambda reaches. The *value* is what is bound: the invariant, or `if(test, invariant, NULL)` where computing it may raise
and the lambda might never have computed it, for instance over an empty array.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planproof_engine import expr as x
from planproof_engine import types as dt
from planproof_engine.expr import Cost, transform_down
from planproof_engine.functions.registry import Registry
from planproof_engine.ground import Conf
from planproof_engine.logical.nodes import Plan
from planproof_engine.optimizer import bind_once, fits, is_alike, laws, make_call, make_int, replace_variables
from planproof_engine.optimizer.laws import (
    is_costly,
    is_deterministic,
    is_heavy,
    may_raise,
    may_raise_below,
    nulls_before,
)
from planproof_engine.types.casts import can_up_cast

_READERS = (x.Call, x.GetField, x.GetFieldOfElements)


def hoist_invariants(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """An expression that no element changes is computed once per row in place of once per element.

    >>> from one_rule import rewrite_example
    >>> rewrite_example(hoist_invariants, "transform(ds, x -> x / aggregate(ds, 0D, (a, y) -> a + y))")
    'transform(array(aggregate(ds, 0D, (a, y) -> a + y)), v1 -> transform(ds, x -> x / v1))[0]'

    Only when the expression

    - uses none of the variables of the lambda;
    - cannot raise. An empty array never evaluates the body, so that an error would be new. An expression that may raise
      is bound behind a test that the array has elements, and then only when it

      - evaluates first of all in each body: an error or a null before it might keep it from being evaluated;
      - holds nothing that raises below: the operand of `nullif` is needed twice, and Spark computes it in a projection
        below the query, outside of our test;
      - stands in no branch behind: in `if(x > inv, 0, inv)` a null `x` leaves the first `inv` out, and not the second;
      - stands nowhere else in the call: the finish of `aggregate` runs over an empty array, too;

    and

    - it is deterministic: `rand()` gives each element another value;
    - no struct names a field after it: `struct(upper(name))` has a field `col1`, `struct(v)` one called `v`;
    - no string has a collation of its own: where collations meet, a column's and a variable's give way, and an
      expression's does not;
    - no flag changes: `[0]` makes the result nullable.

    >>> rewrite_example(hoist_invariants, "transform(xs, x -> x / aggregate(xs, 0, (a, y) -> a + y))")
    'transform(array(if((size(xs) > 0), aggregate(xs, 0, (a, y) -> a + y), NULL)), v1 -> transform(xs, x -> x / v1))[0]'
    >>> rewrite_example(hoist_invariants, "filter(xs, x -> x > k AND x > aggregate(xs, 0, (a, y) -> a + y))")
    'filter(xs, x -> x > k AND x > aggregate(xs, 0, (a, y) -> a + y))'
    >>> rewrite_example(hoist_invariants, "transform(array('a'), w -> concat(w, upper(name)))")
    "transform(array('a'), w -> concat(w, upper(name)))"

    It pays where the expression costs more than arithmetic, a lookup, cutting a text or `array_max`. A constant is left
    to Spark, which folds it. A call over aggregates, windows or subqueries stays as it is.
    """
    return laws.map_lambdas(plan, conf, lambda expr: transform_down(expr, lambda e: _rewrite(e, conf, registry)))


def _rewrite(expr: x.Expr, conf: Conf, registry: Registry) -> x.Expr | None:
    """The expression with its first invariant bound around it; None where it has none, and the traversal goes on to
    its children."""
    if not isinstance(expr, _READERS) or expr.span is None:
        return None
    for call, function in _find_loops(expr):
        if is_heavy(expr):
            return None
        for found in _find_invariants(function, conf):
            if laws.operands_below(expr, found, conf):
                continue
            value = _make_value(call, found, conf, registry)
            if value is None or (call is not expr and may_raise(found, conf) and not _is_there_alone(found, [expr], 1)):
                continue
            bound = bind_once(expr, found, value, conf, registry)
            if bound is not None and laws.is_row_local(expr) and fits(bound, expr):
                return bound
    return None


def _find_loops(expr: x.Expr) -> Iterator[tuple[x.Call, x.Lambda]]:
    """The calls in the expression that run a lambda, each with its lambda: the expression itself, and the calls below
    it that make the structs which it reads, as the `filter` in `filter(items, ..)[0].price`.

    Binding around the inner call alone would have Spark copy the structs, and read all of their fields.
    """
    inner: x.Expr | None = expr
    while inner is not None:
        if isinstance(inner, x.Call):
            # The fourth argument of `aggregate`, its finish, runs once: nothing is gained there.
            yield from ((inner, function) for function in inner.args[:3] if isinstance(function, x.Lambda))
        source = None if laws.is_needed_twice(inner) else next(iter(inner.children), None)
        inner = source if isinstance(source, _READERS) and _holds_structs(source) else None


def _holds_structs(expr: x.Expr) -> bool:
    return any(isinstance(t, dt.Struct) for t in dt.walk(expr.type))


def _make_value(call: x.Call, invariant: x.Call, conf: Conf, registry: Registry) -> x.Expr | None:
    """The invariant; where it may raise, `if(test, invariant, NULL)`; None where no test can be written."""
    if not may_raise(invariant, conf):
        return invariant
    test = _make_test(call, invariant, conf, registry)
    return (
        None if test is None else make_call("if", (test, invariant, x.Literal(None, dt.VOID, "NULL")), conf, registry)
    )


def _find_invariants(function: x.Lambda, conf: Conf) -> Iterator[x.Call]:
    """The parts of the body that may be computed outside of the lambda, larger ones before the parts of them."""
    own = frozenset(p.id for p in function.parameters)
    pending = [(function.body, own, True)]
    while pending:
        expr, bound, surely = pending.pop()
        if not _is_worth_it(expr, surely):
            continue
        if isinstance(expr, x.Call) and _is_movable(expr, bound):
            yield expr
            if not may_raise(expr, conf):
                continue
        inner = bound | {p.id for p in expr.parameters} if isinstance(expr, x.Lambda) else bound
        pending.extend((c, inner, sure) for c, sure in reversed(_list_below(expr, surely)))


def _is_movable(expr: x.Call, bound: frozenset[int]) -> bool:
    """Whether the expression may stand outside of the lambdas that bind the variables `bound`, given by id."""
    return (
        not _is_reached(expr, bound)
        and _is_not_folded(expr)
        and (expr.span is not None or expr.function.name == "arrays_zip")
        and is_deterministic(expr)
    )


def _is_worth_it(expr: x.Expr, surely: bool) -> bool:
    """Whether computing the expression, or a part of it, costs more than binding its value.

    Copying a part of a text costs less, and so does Spark's own loop over the elements (`array_max`). What Spark
    computes once per row by itself costs nothing here; `surely` says whether the expression is always evaluated, for
    Spark does so only then.
    """
    return (
        isinstance(expr, x.Call)
        and is_costly(expr)
        and expr.function.traits.cost is not Cost.SCANS
        and not (expr.function.traits.cost is Cost.COPIES and isinstance(expr.type, dt.String))
    ) or any(_is_worth_it(*below) for below in _list_below(expr, surely))


def _list_below(expr: x.Expr, surely: bool) -> list[tuple[x.Expr, bool]]:
    """The children that Spark does not compute once per row by itself, each with whether it is always evaluated."""
    beforehand = laws.find_early_operand(expr) if surely else None
    branches = laws.lazy_operands(expr)
    return [(c, surely and not any(c is e for e in branches)) for c in expr.children if c is not beforehand]


def _make_test(call: x.Call, invariant: x.Expr, conf: Conf, registry: Registry) -> x.Expr | None:
    """SQL that is true where the lambda evaluates the invariant for at least one element; None where it cannot be said.

    `size(array) > 0`, or `exists(array, x -> x.f IS NOT NULL)` where the body stops at a null field before it comes
    to the invariant.
    """
    array, loop = call.args[0], call.function.traits.loop
    if loop is None or len(loop.elements) > 1 or not laws.is_path(array) or may_raise_below(invariant, conf):
        return None
    ((_, at, _),) = loop.elements
    function, before = call.args[at], call.args[1:at]
    assert isinstance(function, x.Lambda)
    if not _is_there_alone(invariant, [e for e in call.args if e is not function]):
        return None
    some = make_call(">", (make_call("size", (array,), conf, registry), make_int(0)), conf, registry)
    if not laws.may_raise(invariant, conf, filled=array):
        return some
    nulls = nulls_before(function.body, invariant, conf)
    if nulls is None or any(may_raise(e, conf) for e in before):
        return None
    if not nulls:
        return some
    element = function.parameters[at - 1]
    tested = _find_element_path(nulls[0], element)
    if loop.stops or len(nulls) > 1 or tested is None:
        return None
    fresh = x.Variable(x.fresh_id(), element.name, element.type, element.nullable)
    found = replace_variables(tested, {element.id: fresh}, conf)
    given = make_call("isnotnull", (found,), conf, registry)
    return make_call("exists", (array, x.Lambda((fresh,), given)), conf, registry)


def _find_element_path(expr: x.Expr, element: x.Variable) -> x.Expr | None:
    """The expression without widening casts, where it is the element or a field of it; None for any other one."""
    while isinstance(expr, x.Cast) and can_up_cast(expr.child.type, expr.type):
        expr = expr.child
    inner = expr
    while isinstance(inner, x.GetField):
        inner = inner.child
    return expr if inner == element else None


def _is_not_folded(expr: x.Expr) -> bool:
    """Whether Spark computes the expression while it runs. It folds a constant while it plans, but no lambda's."""
    return expr.holds(x.Column, x.Outer, x.Variable, x.Lambda)


def _is_reached(expr: x.Expr, bound: frozenset[int]) -> bool:
    return bool(laws.free_variables(expr) & bound)


def _is_there_alone(invariant: x.Expr, others: Sequence[x.Expr], known: int = 0) -> bool:
    """Whether the invariant stands at most `known` times in the other expressions."""
    return sum(is_alike(invariant, e) for other in others for e in other.walk()) <= known
