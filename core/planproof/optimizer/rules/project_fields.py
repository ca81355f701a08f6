"""Reads a field of every element by a path instead of by a lambda."""

from __future__ import annotations

from planproof.conf import Conf
from planproof.expr import Call, Column, Expr, GetField, GetFieldOfElements, Lambda, Variable
from planproof.expr.rewrite import transform_up
from planproof.functions.registry import Registry
from planproof.optimizer.condition import Condition
from planproof.plan.nodes import Plan
from planproof.plan.rewrite import map_expressions
from planproof.types import Array

CONDITIONS: tuple[Condition, ...] = ()
"""A null element and a null field both give a null element, and a path has the flags of the lambda."""


def project_fields(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """A transform that only reads a field is the path to that field.

    >>> from planproof.optimizer.example import rewritten
    >>> rewritten(project_fields, "transform(items, i -> i.ship.city)")
    'items.`ship`.`city`'

    The body is a path that starts at the element, and the array is a column or a path itself.

    >>> rewritten(project_fields, "transform(items, i -> i.price + 1)")
    'transform(items, i -> i.price + 1)'
    """
    return map_expressions(plan, lambda expr: transform_up(expr, _projected))


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
