"""A value that Spark casts on its way through CASE, IF or COALESCE, and that loses something.

Under ANSI `coalesce(zip, 0)` is a number: '01234' becomes 1234.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import Category
from planproof_engine.expr.nodes import Call, Cast, Column, Expr, Outer, Variable
from planproof_engine.expr.pretty import pretty
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.loss import make_change_condition
from planproof_engine.hazards.suspicion import Count, Suspicion, find_place_in_rows, make_warning, subject


def value_casts(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """Texts that become numbers. What is computed with a text is meant as a number."""
    for column, expr in definitions.operations:
        if isinstance(expr, Call) and expr.function.category in (Category.SCALAR, Category.OPERATOR):
            for value in (expr.args[place] for place in expr.function.traits.hands_on(len(expr.args))):
                if _loses(value, definitions) and definitions.computes(expr):
                    assert isinstance(value, Cast)
                    name, given, used = pretty(value.child), value.child.type.simple, value.type.simple
                    message = (
                        f"{subject(column, name)} is {given} and is made a {used} beside the other values: leading "
                        "zeros and the text's spelling are dropped, and other texts fail"
                    )
                    yield Suspicion(
                        make_warning("PP132", column or name, given, used, message),
                        expr.span,
                        _count(value, definitions),
                    )


def _count(value: Cast, definitions: Definitions) -> Count | None:
    span = find_place_in_rows(value.child)
    condition = make_change_condition("({x})", value.child.type, value.type)
    return None if span not in definitions.always else Count(span, condition, "texts change")


def _loses(value: Expr, definitions: Definitions) -> bool:
    """Whether a text that is not a constant becomes a number."""
    if (
        not isinstance(value, Cast)
        or value.written
        or not dt.is_string(value.child.type)
        or not dt.is_numeric(value.type)
    ):
        return False
    return any(isinstance(e, (Column, Outer, Variable)) for e in definitions.of(value.child).walk())
