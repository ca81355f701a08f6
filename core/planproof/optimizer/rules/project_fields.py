"""Reads a field of every element by a path instead of by a lambda."""

from __future__ import annotations

from planproof.conf import Conf
from planproof.expr import Call, Column, Expr, GetField, GetFieldOfElements, Lambda, Variable
from planproof.expr.rewrite import transform_up
from planproof.functions.registry import Registry
from planproof.optimizer.condition import Condition
from planproof.optimizer.retype import NAMING
from planproof.plan.nodes import Plan
from planproof.plan.rewrite import map_expressions
from planproof.types import Array

CONDITIONS = (Condition("names no field", "_named_by", []),)
"""A null element and a null field both give a null element, and a path has the flags of the lambda."""


def project_fields(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """A transform that only reads a field is the path to that field.

    >>> from planproof.optimizer.example import rewritten
    >>> rewritten(project_fields, "transform(items, i -> i.ship.city)")
    'items.`ship`.`city`'

    The body is a path that starts at the element, and the array is a column or a path itself.

    >>> rewritten(project_fields, "transform(items, i -> i.price + 1)")
    'transform(items, i -> i.price + 1)'

    Only when

    - it names no field: `struct(items.price)` has a field `price`, any other argument makes one called `col1`.

    >>> rewritten(project_fields, "struct(transform(items, i -> i.price))")
    'struct(transform(items, i -> i.price))'
    """
    return map_expressions(plan, _changed)


def _changed(expr: Expr) -> Expr:
    naming = {id(e) for e in _named_by(expr)}
    return transform_up(expr, lambda e: e if id(e) in naming else _projected(e))


def _named_by(expr: Expr) -> list[Expr]:
    """The arguments after which calls in the expression name fields."""
    return [a for e in expr.walk() if isinstance(e, Call) and e.function.name in NAMING for a in e.args]


def _projected(expr: Expr) -> Expr:
    if not isinstance(expr, Call) or expr.function.name != "transform" or expr.span is None:
        return expr
    source, function = expr.args
    if not isinstance(function, Lambda) or len(function.parameters) != 1 or not _is_path(source):
        return expr
    path = _path(function.body, function.parameters[0])
    if not path:
        return expr
    for field in path:
        array = source.type
        assert isinstance(array, Array)
        data_type = Array(field.type, array.contains_null or _own_flag(field))
        source = GetFieldOfElements(source, field.ordinal, field.name, data_type, source.nullable)
    return source


def _own_flag(field: GetField) -> bool:
    struct = field.child.type
    return bool(struct.fields[field.ordinal].nullable)  # type: ignore[attr-defined]


def _is_path(expr: Expr) -> bool:
    while isinstance(expr, GetField | GetFieldOfElements):
        expr = expr.child
    return isinstance(expr, Column)


def _path(body: Expr, element: Variable) -> list[GetField]:
    """The fields from the element down to the body; empty where the body is anything else."""
    fields: list[GetField] = []
    while isinstance(body, GetField):
        fields.insert(0, body)
        body = body.child
    return fields if body == element else []
