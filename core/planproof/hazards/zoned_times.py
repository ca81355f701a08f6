"""A timestamp with a zone beside one without: Spark shifts one of them by the session's time zone.

The same rows give other values in a session with another zone.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof.conf import Conf
from planproof.expr.nodes import Cast, Literal
from planproof.expr.pretty import pretty
from planproof.hazards.lineage import Lineage
from planproof.hazards.suspicion import Suspicion, warning
from planproof.types import TIMESTAMP, TIMESTAMP_NTZ

_BOTH = {TIMESTAMP, TIMESTAMP_NTZ}


def zoned_times(lineage: Lineage, conf: Conf) -> Iterator[Suspicion]:
    """One warning per column: a cast that is written is meant."""
    said: set[str] = set()
    for _, expr in lineage.expressions:
        if not isinstance(expr, Cast) or expr.written or {expr.type, expr.child.type} != _BOTH:
            continue
        name = pretty(expr.child)
        if isinstance(lineage.definition(expr.child), Literal) or name in said:
            continue
        said.add(name)
        given, used = expr.child.type.simple, expr.type.simple
        message = f"{name} is {given} and is taken as {used} in the session's time zone, {conf.time_zone}"
        yield Suspicion(warning("PP128", name, given, used, message), expr.span)
