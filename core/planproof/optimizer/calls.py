"""Calls and constants that rules make, bound as if the query had written them."""

from __future__ import annotations

from planproof.conf import Conf
from planproof.expr import Call, Expr, Literal, Variable, fresh_id
from planproof.functions.bind import apply
from planproof.functions.registry import Registry
from planproof.types import BOOLEAN, INT, Array

FALSE = Literal(False, BOOLEAN, "false")


def applied(name: str, args: tuple[Expr, ...], conf: Conf, registry: Registry) -> Call:
    """A call of one of Spark's own functions. Raises `planproof.functions.signature.Mismatch` where it takes no such
    arguments."""
    function = registry.find(name)
    assert function is not None
    return apply(function, args, conf)


def number(value: int) -> Literal:
    return Literal(value, INT, str(value))


def element_of(array: Expr, name: str) -> Variable:
    """A new lambda variable for the elements of an array; `name` is what its name begins with."""
    assert isinstance(array.type, Array)
    return Variable(fresh_id(), name, array.type.element, array.type.contains_null)
