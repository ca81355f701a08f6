"""Changes inside an expression: the types and flags of the expressions around a change are derived anew. And calls and
constants that rules make, bound as if the query had written them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planproof_engine import expr as x
from planproof_engine import types as dt
from planproof_engine.expr import Mismatch, rebuild
from planproof_engine.functions.bind import apply, is_cast_nullable
from planproof_engine.functions.registry import Registry
from planproof_engine.ground import Conf, evolve
from planproof_engine.optimizer.equivalence import is_alike

NAMING = frozenset(("struct", "arrays_zip"))
"""Functions that name fields after arguments that are paths or variables."""


def substitute(expr: x.Expr, change: Callable[[x.Expr], x.Expr | None], conf: Conf) -> x.Expr:
    """The expression with `change` applied from the top; what stands around a change is typed again.

    `change` gives None to go on to the children. Raises `planproof_engine.expr.function.Mismatch` where a function does
    not take the new types, and where a struct would name a field after another path, or a lambda's variable change.
    """
    if (found := change(expr)) is not None:
        return found
    made = rebuild(expr, lambda child: substitute(child, change, conf))
    if made is expr:
        return expr
    typed = retype(made, conf)
    if isinstance(expr, x.Call) and expr.function.name in NAMING and not keeps_names(expr, typed):
        raise Mismatch("", f"{expr.function.name} would name a field otherwise")
    if isinstance(expr, x.Call) and not keeps_variables(expr, typed):
        raise Mismatch("", f"the variables of {expr.function.name} would be others")
    return typed


def replace_variables(expr: x.Expr, values: Mapping[int, x.Expr], conf: Conf) -> x.Expr:
    """The expression with the variables of these ids replaced. A value keeps its meaning: ids are never captured."""
    return substitute(expr, lambda e: values.get(e.id) if isinstance(e, x.Variable) else None, conf)


def retype(expr: x.Expr, conf: Conf) -> x.Expr:
    """The node with its type and flag derived anew from its children."""
    if isinstance(expr, x.Call):
        function = expr.function
        data_type = function.returns(expr.args, conf) if callable(function.returns) else function.returns
        return evolve(expr, type=data_type, nullable=function.nullable(expr.args, conf))
    if isinstance(expr, x.Cast):
        return evolve(expr, nullable=is_cast_nullable(expr.child, expr.type, expr.mode))
    if isinstance(expr, (x.GetField, x.GetFieldOfElements)):
        found = x.get_field(expr.child, expr.ordinal)
        return evolve(expr, type=found.type, nullable=found.nullable)
    return expr


def keeps_names(old: x.Expr, new: x.Expr) -> bool:
    """Whether two calls that name fields after their arguments give the same names. The name of a variable in a new
    place is not known yet, and counts as another one."""
    pairs = zip(old.children, new.children)
    moved = any(isinstance(b, x.Variable) and a != b for a, b in pairs)
    return not moved and _field_names(old.type) == _field_names(new.type)


def keeps_variables(old: x.Expr, new: x.Expr) -> bool:
    """Whether the lambdas of two calls stand over arrays and maps of one type, flags included."""
    if not any(isinstance(e, x.Lambda) for e in old.children):
        return True
    return all(a.type == b.type for a, b in zip(old.children, new.children) if isinstance(a.type, (dt.Array, dt.Map)))


def _field_names(data_type: dt.DataType) -> tuple[str, ...]:
    fields = data_type.element if isinstance(data_type, dt.Array) else data_type
    return fields.names if isinstance(fields, dt.Struct) else ()


def fits(new: x.Expr, old: x.Expr) -> bool:
    """Whether `new` may stand where `old` stood: the same type, nested flags included, and the same flag."""
    return new.type == old.type and new.nullable == old.nullable


FALSE = x.Literal(False, dt.BOOLEAN, "false")


def make_call(name: str, args: tuple[x.Expr, ...], conf: Conf, registry: Registry) -> x.Call:
    """A call of one of Spark's own functions. Raises `planproof_engine.expr.function.Mismatch` where it takes no such
    arguments."""
    function = registry.find(name)
    assert function is not None
    return apply(function, args, conf)


def make_int(value: int) -> x.Literal:
    """A literal of type int."""
    return x.Literal(value, dt.INT, str(value))


def bind_once(expr: x.Expr, part: x.Expr, value: x.Expr, conf: Conf, registry: Registry) -> x.Expr | None:
    """`transform(array(value), v -> expr with v in place of part)[0]`; None where the variable does not fit in."""
    variable = x.Variable(x.fresh_id(), "v", value.type, value.nullable)
    try:
        body = substitute(expr, lambda e: variable if is_alike(part, e) else None, conf)
    except Mismatch:
        return None
    once = make_call("array", (value,), conf, registry)
    bound = make_call("transform", (once, x.Lambda((variable,), body)), conf, registry)
    return make_call("getarrayitem", (bound, make_int(0)), conf, registry)
