"""A division of integers that is stored as an integer: the digits after the point are cut off, not rounded."""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.nodes import Call
from planproof_engine.expr.pretty import pretty
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.suspicion import Suspicion, make_warning, subject
from planproof_engine.hazards.terms import drop_casts


def integer_division(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP127: a cast to a whole number cuts off a division of integers."""
    for column, expr in definitions.casts(conf):
        if dt.is_integral(expr.type):
            quotient = definitions.of(expr.child)
            if isinstance(quotient, Call) and quotient.function.name == "/" and _is_of_integers(quotient):
                name = pretty(quotient)
                message = (
                    f"{subject(column, name)} is a division of integers, and its cast to {expr.type.simple} cuts it off"
                )
                finding = make_warning("PP127", column or name, quotient.type.simple, expr.type.simple, message)
                yield Suspicion(finding, expr.span)


def _is_of_integers(quotient: Call) -> bool:
    return all(dt.is_integral(drop_casts(a).type) for a in quotient.args)
