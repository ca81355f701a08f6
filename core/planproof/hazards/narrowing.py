"""A cast to a narrower integer, which wraps with ANSI off.

`CAST(99999999999L AS INT)` is 1215752191: no error, no null. dbt always runs with ANSI off.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof.conf import Conf
from planproof.expr.nodes import Call, Cast, Column, Expr, Lambda, Variable, Window
from planproof.expr.pretty import pretty
from planproof.functions.signature import Category
from planproof.hazards.lineage import Lineage
from planproof.hazards.loss import changed
from planproof.hazards.suspicion import Count, Suspicion, told, warning
from planproof.types import BYTE, INT, LONG, SHORT, DataType, Decimal, is_integral

_WIDTH = (BYTE, SHORT, INT, LONG)
_DIGITS: dict[DataType, int] = {BYTE: 2, SHORT: 4, INT: 9, LONG: 18}
"""Whole digits that always fit."""
_GROWS = ("+", "-", "*", "sum", "try_sum")


def narrowing(lineage: Lineage, conf: Conf) -> Iterator[Suspicion]:
    """Only over a source's column, a sum or arithmetic on one: a count, a length or a part of a date is small."""
    if conf.ansi:
        return
    for column, expr in lineage.expressions:
        if isinstance(expr, Cast) and expr.written and expr.mode == "legacy" and _wraps(expr, lineage):
            name, given, used = pretty(expr.child), expr.child.type.simple, expr.type.simple
            message = (
                f"{told(column, name)} is {given} and is cast to {used}, which wraps beyond its range with ANSI off"
            )
            yield Suspicion(warning("PP126", column or name, given, used, message), expr.span, _count(expr))


def _wraps(cast: Cast, lineage: Lineage) -> bool:
    return _narrows(cast.child.type, cast.type) and _may_be_large(cast.child, lineage)


def _narrows(source: DataType, target: DataType) -> bool:
    if not is_integral(target):
        return False
    if isinstance(source, Decimal):
        return source.precision - source.scale > _DIGITS[target]
    return is_integral(source) and _WIDTH.index(source) > _WIDTH.index(target)


def _may_be_large(expr: Expr, lineage: Lineage) -> bool:
    found = lineage.definition(expr)
    if isinstance(found, Column):
        return lineage.source(found) is not None
    if isinstance(found, Call) and found.function.name in _GROWS:
        return any(_may_be_large(a, lineage) for a in found.args)
    return isinstance(found, Cast) and not found.written and _may_be_large(found.child, lineage)


def _count(cast: Cast) -> Count | None:
    """None where the value is not one of a row: an aggregate's, a window's, a lambda's."""
    within = getattr(cast.child, "span", None)
    for e in cast.child.walk():
        if isinstance(e, Window | Lambda | Variable) or (
            isinstance(e, Call) and e.function.category not in (Category.SCALAR, Category.OPERATOR)
        ):
            return None
    if within is None:
        return None
    return Count(within, changed("({x})", cast.child.type, cast.type), "values wrap")
