"""Calls and constants that rules make, bound as if the query had written them."""

from __future__ import annotations

from planproof_engine.conf import Conf
from planproof_engine.expr import Call, Expr, Lambda, Literal, Variable, fresh_id
from planproof_engine.expr.function import Mismatch
from planproof_engine.functions.bind import apply
from planproof_engine.functions.registry import Registry
from planproof_engine.optimizer.equivalence import alike
from planproof_engine.optimizer.retype import substituted
from planproof_engine.types import BOOLEAN, INT

FALSE = Literal(False, BOOLEAN, "false")


def applied(name: str, args: tuple[Expr, ...], conf: Conf, registry: Registry) -> Call:
    """A call of one of Spark's own functions. Raises `planproof_engine.expr.function.Mismatch` where it takes no such
    arguments."""
    function = registry.find(name)
    assert function is not None
    return apply(function, args, conf)


def number(value: int) -> Literal:
    """A literal of type int."""
    return Literal(value, INT, str(value))


def bound_once(expr: Expr, part: Expr, value: Expr, conf: Conf, registry: Registry) -> Expr | None:
    """`transform(array(value), v -> expr with v in place of part)[0]`; None where the variable does not fit in."""
    variable = Variable(fresh_id(), "v", value.type, value.nullable)
    try:
        body = substituted(expr, lambda e: variable if alike(part, e) else None, conf)
    except Mismatch:
        return None
    once = applied("array", (value,), conf, registry)
    bound = applied("transform", (once, Lambda((variable,), body)), conf, registry)
    return applied("getarrayitem", (bound, number(0)), conf, registry)
