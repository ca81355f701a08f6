"""A cast to a narrower integer, which wraps with ANSI off.

`CAST(99999999999L AS INT)` is 1215752191, `CAST(99999999999.0D AS INT)` is 2147483647: no error, no null. dbt always
runs with ANSI off.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof.conf import Conf
from planproof.expr.nodes import Call, Cast, Column, Expr, Lambda, Variable, Window
from planproof.expr.pretty import pretty
from planproof.functions.signature import Category
from planproof.hazards.lineage import Lineage
from planproof.hazards.loss import changed
from planproof.hazards.suspicion import Count, Range, Suspicion, told, warning
from planproof.types import BYTE, DOUBLE, FLOAT, INT, LONG, SHORT, DataType, Decimal, is_integral

_FLOATING = (FLOAT, DOUBLE)
_WIDTH = (BYTE, SHORT, INT, LONG)
_DIGITS: dict[DataType, int] = {BYTE: 2, SHORT: 4, INT: 9, LONG: 18}
"""Whole digits that always fit."""
_LIMIT: dict[DataType, int] = {BYTE: 2**7, SHORT: 2**15, INT: 2**31, LONG: 2**63}
_GROWS = ("+", "-", "*", "sum", "try_sum", "abs")
_HANDS_ON = (
    *("coalesce", "nvl", "ifnull", "nvl2", "if", "case", "when", "greatest", "least", "nullif"),
    *("max", "min", "any_value", "first", "first_value", "last", "last_value", "lag", "lead"),
)
"""Functions that give one of their arguments as it is."""


def narrowing(lineage: Lineage, conf: Conf) -> Iterator[Suspicion]:
    """Only over a source's column, what hands one on, a sum or arithmetic on one: a count, a length or a part of a date
    is small."""
    if conf.ansi:
        return
    for column, expr in lineage.casts(conf):
        if expr.mode == "legacy" and _wraps(expr, lineage):
            name, given, used = pretty(expr.child), expr.child.type.simple, expr.type.simple
            does = "is cut to its range" if expr.child.type in _FLOATING else "wraps beyond its range"
            message = f"{told(column, name)} is {given} and is cast to {used}, which {does} with ANSI off"
            yield Suspicion(warning("PP126", column or name, given, used, message), expr.span, _count(expr, lineage))


def _wraps(cast: Cast, lineage: Lineage) -> bool:
    return _narrows(cast.child.type, cast.type) and _may_be_large(cast.child, lineage)


def _narrows(source: DataType, target: DataType) -> bool:
    if not is_integral(target):
        return False
    if isinstance(source, Decimal):
        return source.precision - source.scale > _DIGITS[target]
    if source in _FLOATING:
        return True
    return is_integral(source) and _WIDTH.index(source) > _WIDTH.index(target)


def _may_be_large(expr: Expr, lineage: Lineage) -> bool:
    found = lineage.definition(expr)
    if isinstance(found, Column):
        return lineage.source(found) is not None
    if isinstance(found, Window):
        found = found.call
    if isinstance(found, Call) and found.function.name in (*_GROWS, *_HANDS_ON):
        # A condition, or a place to look at, has another type.
        return any(
            _may_be_large(a, lineage) for a in found.args if a.type == found.type or found.function.name in _GROWS
        )
    return isinstance(found, Cast) and not found.written and _may_be_large(found.child, lineage)


def _harmless(cast: Cast, lineage: Lineage) -> Range | None:
    """The whole numbers that fit, where the value is a source's own column of a wider such type."""
    found = lineage.stored(cast.child)
    if found is None or not is_integral(cast.child.type):
        return None
    source, column = found
    return Range(source.relation, column.name, -_LIMIT[cast.type], _LIMIT[cast.type] - 1)


def _count(cast: Cast, lineage: Lineage) -> Count | None:
    """None where the value is not one of a row: an aggregate's, a window's, a lambda's."""
    within = getattr(cast.child, "span", None)
    for e in cast.child.walk():
        if isinstance(e, Window | Lambda | Variable) or (
            isinstance(e, Call) and e.function.category not in (Category.SCALAR, Category.OPERATOR)
        ):
            return None
    if within is None:
        return None
    if cast.child.type in _FLOATING:
        limit = _LIMIT[cast.type]
        return Count(within, f"({{x}}) >= {limit}D OR ({{x}}) <= -{limit + 1}D", "values lie outside of its range")
    condition = changed("({x})", cast.child.type, cast.type)
    return Count(within, condition, "values wrap", harmless=_harmless(cast, lineage))
