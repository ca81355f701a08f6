"""Calls and constants that rules make, bound as if the query had written them."""

from __future__ import annotations

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr import Call, Expr, Lambda, Literal, Variable, fresh_id
from planproof_engine.expr.function import Mismatch
from planproof_engine.functions.bind import apply
from planproof_engine.functions.registry import Registry
from planproof_engine.optimizer.equivalence import is_alike
from planproof_engine.optimizer.retype import substitute

FALSE = Literal(False, dt.BOOLEAN, "false")


def make_call(name: str, args: tuple[Expr, ...], conf: Conf, registry: Registry) -> Call:
    """A call of one of Spark's own functions. Raises `planproof_engine.expr.function.Mismatch` where it takes no such
    arguments."""
    function = registry.find(name)
    assert function is not None
    return apply(function, args, conf)


def make_int(value: int) -> Literal:
    """A literal of type int."""
    return Literal(value, dt.INT, str(value))


def bind_once(expr: Expr, part: Expr, value: Expr, conf: Conf, registry: Registry) -> Expr | None:
    """`transform(array(value), v -> expr with v in place of part)[0]`; None where the variable does not fit in."""
    variable = Variable(fresh_id(), "v", value.type, value.nullable)
    try:
        body = substitute(expr, lambda e: variable if is_alike(part, e) else None, conf)
    except Mismatch:
        return None
    once = make_call("array", (value,), conf, registry)
    bound = make_call("transform", (once, Lambda((variable,), body)), conf, registry)
    return make_call("getarrayitem", (bound, make_int(0)), conf, registry)
