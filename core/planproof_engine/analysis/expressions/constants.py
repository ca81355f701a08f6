"""Values that are known before a query runs: session variables, and the texts that IDENTIFIER and EXECUTE take."""

from __future__ import annotations

import re
from decimal import Decimal as Number

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Context, bind
from planproof_engine.analysis.expressions.literals import format_decimal
from planproof_engine.expr import Call, Cast, Column, Expr, Literal, ScalarSubquery, SessionVariable, drop_alias
from planproof_engine.functions.bind import cast_unless_same
from planproof_engine.functions.constants import COMPUTED, round_half_up
from planproof_engine.ground import Unknown
from planproof_engine.logical.nodes import OneRow, Plan, Project
from planproof_engine.sql import nodes as q

_SUFFIXES: dict[dt.DataType, str] = {
    dt.BYTE: "Y",
    dt.SHORT: "S",
    dt.INT: "",
    dt.LONG: "L",
    dt.DOUBLE: "D",
    dt.FLOAT: "F",
}


def fold(expr: Expr) -> Expr:
    """The literal that simple arithmetic, concatenation and casts of literals give. Any other expression comes back as
    it is."""
    if isinstance(expr, ScalarSubquery):
        only = find_row(expr.plan)
        return fold(only[0]) if only else expr
    if isinstance(expr, Cast):
        child = fold(expr.child)
        return _convert(child, expr.type) or expr if isinstance(child, Literal) else expr
    if not isinstance(expr, Call):
        return expr
    args = [fold(a) for a in expr.args]
    if not all(isinstance(a, Literal) for a in args):
        return expr
    compute = COMPUTED.get(expr.function.name)
    if compute is None:
        return expr
    value = compute([getattr(a, "value", None) for a in args])
    return Literal(value, expr.type, str(value)) if type(value) in (float, int, str) else expr


def find_row(plan: Plan) -> tuple[Expr, ...] | None:
    """The one row of a query without FROM. None for any other query, whose rows only a run can tell."""
    if not isinstance(plan, Project) or not isinstance(plan.child, OneRow):
        return None
    return tuple(map(drop_alias, plan.items))


_INTEGER = re.compile(r"\s*[+-]?\d+\s*")
_BOUNDS: dict[dt.DataType, int] = {dt.BYTE: 2**7, dt.SHORT: 2**15, dt.INT: 2**31, dt.LONG: 2**63}


def _convert(literal: Literal, target: dt.DataType) -> Literal | None:
    """The literal as a value of another type; None for a conversion that is not computed here."""
    value = literal.value
    if value is None or dt.same_type(literal.type, target):
        return Literal(value, target, literal.text)
    if dt.is_integral(target) and dt.is_integral(literal.type):
        return Literal(value, target, literal.text)
    if dt.is_integral(target) and dt.is_string(literal.type) and _INTEGER.fullmatch(value):
        found = int(value)
        return Literal(found, target, str(found)) if abs(found) < _BOUNDS[target] else None
    if dt.is_string(target) and (dt.is_string(literal.type) or dt.is_integral(literal.type)):
        return Literal(str(value), target, str(value))
    if isinstance(target, dt.Decimal) and (dt.is_integral(literal.type) or isinstance(literal.type, dt.Decimal)):
        return _rescale(Number(value), target)
    if target in (dt.DOUBLE, dt.FLOAT) and (dt.is_integral(literal.type) or isinstance(literal.type, dt.Decimal)):
        return Literal(float(value), target, str(float(value)))
    return None


def _rescale(value: Number, target: dt.Decimal) -> Literal | None:
    """The number as a decimal of this type (`Decimal.toPrecision`); None where it does not fit."""
    found = round_half_up(value, target.scale)
    whole = max(found.adjusted() + 1, 0) if found else 0
    if whole > target.precision - target.scale:
        return None
    return Literal(found, target, format_decimal(found, target.scale))


def make_variable(name: str, value: Expr, target: dt.DataType, ctx: Context) -> Expr:
    """What a session variable's name stands for: a literal that prints as Spark prints it, where the value is known."""
    given = cast_unless_same(value, target, ctx.conf)
    found = _fold_array(given, target) or fold(given)
    if isinstance(found, Literal) and not dt.same_type(found.type, target):
        found = _convert(found, target) or given
    if not isinstance(found, Literal):
        return SessionVariable(name, target, False, known=not given.nullable)
    return Literal(found.value, target, f"variablereference(system.session.{name}={literal_sql(found)})")


def _fold_array(expr: Expr, target: dt.DataType) -> Literal | None:
    """The array of literals that a call makes, as one literal, which prints as `Literal.sql` has it."""
    while isinstance(expr, Cast):
        expr = expr.child
    if not isinstance(target, dt.Array) or not isinstance(expr, Call) or expr.function.name != "array":
        return None
    folded = [fold(a) for a in expr.args]
    members = [_convert(m, target.element) if isinstance(m, Literal) else None for m in folded]
    known = [m for m in members if m is not None]
    text = f"ARRAY({', '.join(map(literal_sql, known))})"
    return Literal(tuple(m.value for m in known), target, text) if len(known) == len(members) else None


def make_unknown_variable(name: str, declared: Expr) -> Expr:
    """The session variable after an assignment of which the value is not known."""
    return SessionVariable(name, declared.type, True, known=False)


def literal_sql(literal: Literal) -> str:
    """The literal as SQL (`Literal.sql`)."""
    value, data_type = literal.value, literal.type
    if value is None:
        return "NULL" if isinstance(data_type, (dt.Array, dt.Map, dt.Struct)) else f"CAST(NULL AS {data_type.sql})"
    if data_type == dt.BOOLEAN:
        return str(value).lower()
    if dt.is_string(data_type):
        return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"
    if data_type in _SUFFIXES:
        return f"{value}{_SUFFIXES[data_type]}"
    if isinstance(data_type, dt.Decimal):
        return f"{literal.text}BD"
    return literal.sql or literal.text


def function_name(node: q.Call, ctx: Context) -> str:
    """The name of the function that is called, which `IDENTIFIER(expr)` may spell."""
    name = node.name
    return name if isinstance(name, str) else text_of(name.operand, ctx, "IDENTIFIER() as a function's name")


def text_of(node: q.Node, ctx: Context, what: str) -> str:
    """The text that a constant expression gives."""
    bound = bind(node, ctx)
    found = fold(drop_alias(bound))  # A parameter keeps its alias before Spark 4.1.
    value = getattr(found, "value", None)
    if not isinstance(found, Literal) or not isinstance(value, str) or not dt.same_type(found.type, dt.STRING):
        raise ctx.env.make_unknown(what, node)
    return value


def resolve_identifier(node: q.IdentifierClause, ctx: Context) -> str:
    """The name that `IDENTIFIER(expr)` spells. Raises `AnalysisError` where it is no constant text."""
    spelt = bind(node.operand, ctx)
    if not dt.is_string(spelt.type) or spelt.holds(Column):
        reason = "NOT_CONSTANT" if spelt.holds(Column) else "WRONG_TYPE"
        text = "The expression of IDENTIFIER must be a constant STRING which is NOT NULL."
        raise ctx.env.make_error(f"NOT_A_CONSTANT_STRING.{reason}", text, node)
    return text_of(node.operand, ctx, "IDENTIFIER of a computed name")


BARE = {
    "current_date": "current_date",
    "current_timestamp": "current_timestamp",
    "current_time": "current_time",
    "current_user": "current_user",
    "session_user": "current_user",
    "user": "current_user",
    "localtime": "localtime",
    "grouping__id": "grouping_id",
}
"""Functions that a query may name without parentheses, where no column has the name."""


def find_bare_call(parts: tuple[str, ...], ctx: Context) -> str | None:
    """The function that a name without parentheses means, where no column has the name. Raises `Unknown` where one may
    have it."""
    name = parts[0].lower()
    found = BARE.get(name) if len(parts) == 1 and not ctx.lacks(f"{name} without parentheses") else None
    if found is not None and not ctx.scope.known:
        raise Unknown(f"whether {name} is a column")
    return found
