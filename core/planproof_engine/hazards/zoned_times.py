"""A timestamp with a zone beside one without: Spark shifts one of them by the session's time zone.

The same rows give other values in a session with another zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.nodes import Call, Cast, Expr, InSubquery, Literal
from planproof_engine.expr.pretty import pretty
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.suspicion import Suspicion, make_warning, subject
from planproof_engine.zone import is_region

_BOTH = {dt.TIMESTAMP, dt.TIMESTAMP_NTZ}
_OFFSET = re.compile(r"(?:UTC|GMT)?[+-]\d{1,2}(?::?\d\d){0,2}")


def zoned_times(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """One warning per column: a cast that is written is meant."""
    said: set[str] = set()
    for column, expr in definitions.operations:
        for taken, used in _list_taken(expr):
            name = pretty(taken)
            if isinstance(definitions.of(taken), Literal) or name in said:
                continue
            said.add(name)
            given = taken.type.simple
            message = f"{subject(column, name)} is {given} and is taken as {used.simple} in {_describe_zone(conf)}"
            yield Suspicion(
                make_warning("PP128", column or name, given, used.simple, message), getattr(expr, "span", None)
            )


def _describe_zone(conf: Conf) -> str:
    """Where no setting names a zone, Spark uses the zone of the machine on which it runs."""
    if "time_zone" in conf.stated or conf.time_zone != Conf().time_zone:
        # What is no zone may be a secret that a profile's `env_var` gave.
        is_known = is_region(conf.time_zone) or _OFFSET.fullmatch(conf.time_zone)
        return f"the session's time zone{f', {conf.time_zone}' if is_known else ''}"
    return "the session's time zone: no spark.sql.session.timeZone is set, so that of the machine that runs Spark"


def _list_taken(expr: Expr) -> Iterator[tuple[Expr, dt.DataType]]:
    """(what is cast by nobody's word, the type that it is taken as)."""
    if isinstance(expr, Cast) and not expr.written and {expr.type, expr.child.type} == _BOTH:
        yield expr.child, expr.type
    elif isinstance(expr, Call) and expr.function.name == "between" and {a.type for a in expr.args} >= _BOTH:
        yield from ((a, dt.TIMESTAMP) for a in expr.args if a.type == dt.TIMESTAMP_NTZ)
    elif isinstance(expr, InSubquery):
        for pair in zip(expr.values, expr.plan.output):
            if {e.type for e in pair} == _BOTH:
                yield from ((e, dt.TIMESTAMP) for e in pair if e.type == dt.TIMESTAMP_NTZ)
