"""Spells out what Spark computes in a projection of its own, above which it reads arrays whole."""

from __future__ import annotations

from planproof_engine import types as dt
from planproof_engine.expr import Alias, Call, Expr, Lambda, Literal, transform_down
from planproof_engine.functions.registry import Registry
from planproof_engine.ground import Conf
from planproof_engine.logical.nodes import Plan
from planproof_engine.logical.rewrite import map_expressions
from planproof_engine.optimizer import bind_once, fits, is_alike, laws, make_call
from planproof_engine.optimizer.laws import is_costly, is_heavy, may_raise
from planproof_engine.optimizer.rules.prune_fields import accesses_of, prune_fields, select_prunable


def spell_out(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """`nullif` and `between` without the projection that Spark makes for an operand that they need twice.

    >>> from one_rule import rewrite_example
    >>> rewrite_example(spell_out, "aggregate(items, 0D, (a, i) -> a + i.price) / nullif(size(items), 0)")
    'aggregate(items, 0D, (a, i) -> a + i.price) / if((size(items) = 0), NULL, size(items))'
    >>> rewrite_example(spell_out, "exists(items, i -> i.qty > 1) AND size(items) BETWEEN 2 AND 4")
    'exists(items, i -> i.qty > 1) AND ((size(items) >= 2) AND (size(items) <= 4))'

    An operand that takes a loop is bound:

    >>> rewrite_example(spell_out, "size(items) / nullif(aggregate(items, 0, (a, i) -> a + i.qty), 0)")
    'size(items) / transform(array(aggregate(items, 0, (a, i) -> a + i.qty)), v1 -> nullif(v1, 0))[0]'

    Only when the operand

    - cannot raise, for Spark computes it in any case: also where a lambda does not get to it;
    - else evaluates first of all that the query computes there;

    and

    - no flag changes: `[0]` makes the result nullable.

    >>> rewrite_example(spell_out, "nullif(size(items), 0)")
    'nullif(size(items), 0)'

    What is not deterministic is left alone. It pays where Spark reads all fields of an array for that projection alone,
    and the query needs a few of them (`prune_fields`).
    """
    if not any(laws.find_early_operand(e) is not None for e in plan.all_expressions()):
        return plan
    accesses = accesses_of(plan)
    gained = select_prunable(accesses, despite=True).keys() - select_prunable(accesses).keys()
    tops = frozenset().union(*(accesses.hindered.get(place, ()) for place in gained))

    def change(top: Expr) -> Expr:
        # Tests of filters and joins stay as they are, for Spark to move.
        return _rewrite(top, conf, registry) if id(top) in tops and isinstance(top, Alias) else top

    found = map_expressions(plan, change) if tops else plan
    return found if found is not plan and prune_fields(found, conf, registry) is not found else plan


def _rewrite(top: Expr, conf: Conf, registry: Registry) -> Expr:
    """One expression of a node with all such operands spelled out, or none: which of two errors comes first is not to
    change."""
    spelled = top
    while (found := _Spelling(spelled, conf, registry).spell()) is not spelled:
        spelled = found
    return top if any(laws.find_early_calls(spelled)) else spelled


class _Spelling:
    """One expression of a node; `_within` are the identities of what stands in its lambdas, `_negated` of what says its
    `NOT` itself, as `x NOT BETWEEN y AND z` does."""

    def __init__(self, top: Expr, conf: Conf, registry: Registry) -> None:
        self._top, self._conf, self._registry = top, conf, registry
        lambdas = (e for e in top.walk() if isinstance(e, Lambda))
        self._within = {id(e) for function in lambdas for e in function.body.walk()}
        self._calls = {id(call) for call in laws.find_early_calls(top)}
        self._negated = {id(inner) for e in top.walk() if (inner := _find_negated(e)) is not None}

    def spell(self) -> Expr:
        return transform_down(self._top, self._change)

    def _change(self, expr: Expr) -> Expr | None:
        if id(expr) in self._negated:
            return None
        call = _find_negated(expr) or expr
        operand = self._find_operand(call)
        if operand is not None and not _has_loop(operand):
            made = _spell_twice(call, self._conf, self._registry)
            return self._require_fit(
                expr, made if call is expr else make_call("not", (made,), self._conf, self._registry)
            )
        if id(expr) in self._within or is_heavy(expr) or not laws.is_row_local(expr):
            return None
        # What takes a loop is bound outside of all lambdas: in one, it would be computed for each element.
        inner = expr.walk() if any(isinstance(c, Lambda) for c in expr.children) else (call,)
        for operand in filter(None, map(self._find_operand, inner)):
            if _has_loop(operand) and not self._find_holders(operand, expr):
                found = self._require_fit(expr, bind_once(expr, operand, operand, self._conf, self._registry))
                if found is not None:
                    return found
        return None

    def _find_holders(self, operand: Expr, expr: Expr) -> list[Expr]:
        """The other operands that hold this one and may raise: bound, it would take them along into a lambda."""
        return [o for o in laws.operands_below(expr, operand, self._conf) if not is_alike(o, operand)]

    def _find_operand(self, expr: Expr) -> Expr | None:
        operand = laws.find_early_operand(expr) if id(expr) in self._calls else None
        if operand is None or not laws.is_deterministic(operand) or not laws.is_row_local(operand):
            return None
        if any(map(laws.is_needed_twice, operand.walk())):
            # The text would double with each of them.
            return None
        anyway = not may_raise(operand, self._conf) or _is_evaluated_first(expr, self._top, self._conf)
        return operand if anyway else None

    def _require_fit(self, old: Expr, new: Expr | None) -> Expr | None:
        return new if new is not None and fits(new, old) else None


def _has_loop(operand: Expr) -> bool:
    return any(map(is_costly, operand.walk()))


def _find_negated(expr: Expr) -> Call | None:
    """The call that an expression negates in one text with it."""
    inner = expr.args[0] if isinstance(expr, Call) and expr.function.name == "not" else None
    return inner if isinstance(inner, Call) and isinstance(expr, Call) and inner.span == expr.span else None


def _spell_twice(call: Expr, conf: Conf, registry: Registry) -> Expr:
    """The call as Spark defines it, its operand written twice."""
    assert isinstance(call, Call)
    if call.function.name == "nullif":
        value, other = call.args
        test = make_call("=", (value, other), conf, registry)
        return make_call("if", (test, Literal(None, dt.VOID, "NULL"), value), conf, registry)
    value, least, most = call.args
    above, below = make_call(">=", (value, least), conf, registry), make_call("<=", (value, most), conf, registry)
    return make_call("and", (above, below), conf, registry)


def _is_evaluated_first(call: Expr, top: Expr, conf: Conf) -> bool:
    return laws.nulls_before(top, call, conf) == []
