"""A cast to char(n) or varchar(n), which neither cuts nor pads: Spark takes it for a cast to string."""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine.conf import Conf
from planproof_engine.expr.nodes import Cast
from planproof_engine.expr.pretty import pretty
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.suspicion import Suspicion, make_warning, subject


def ignored_lengths(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP130: a cast to char or varchar, which Spark takes for string."""
    for column, expr in definitions.operations:
        if isinstance(expr, Cast) and expr.ignored is not None:
            name, wanted = pretty(expr.child), expr.ignored.simple
            message = (
                f"{subject(column, name)} is cast to {wanted}, which Spark takes for string: nothing is cut or padded"
            )
            yield Suspicion(make_warning("PP130", column or name, wanted, "string", message), expr.span)
