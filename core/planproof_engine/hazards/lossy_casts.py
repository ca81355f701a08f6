"""A cast that gives NULL, or another value, in place of one that was there.

With ANSI off `CAST('n/a' AS INT)` is NULL, and so is `CAST(12345 AS DECIMAL(4,2))`; under ANSI both are errors. dbt
always runs with ANSI off. Casts to narrower integers of what may be large are PP126.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.nodes import Call, Cast, Expr, Literal, Window
from planproof_engine.expr.pretty import pretty
from planproof_engine.expr.traits import Magnitude
from planproof_engine.hazards.definitions import Definitions, find_cast
from planproof_engine.hazards.loss import LIMIT, find_lost
from planproof_engine.hazards.narrowing import narrows, wraps
from planproof_engine.hazards.reached import Reached, find_reached
from planproof_engine.hazards.suspicion import Count, Suspicion, find_place_in_rows, make_warning, subject

CODE = "PP138"


def lossy_casts(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """Only casts whose value becomes a part of an output column: what a condition looks at changes no value."""
    if conf.ansi:
        return
    reaching: dict[int, Reached] | None = None
    found: dict[object, Suspicion] = {}
    for column, expr in definitions.operations:
        cast = find_cast(expr, conf)
        if cast is None or cast.mode != "legacy" or not _may_lose(cast, definitions):
            continue
        if reaching is None:
            reaching = find_reached(definitions.root)
        becomes = reaching.get(id(expr))
        # A key of GROUP BY that names an item of the SELECT is the same cast.
        is_known = cast.span in found and column is None
        if becomes is not None and definitions.computes(expr) and not is_known:
            found[cast.span] = _make_suspicion(column, cast, becomes)
    yield from found.values()


def _may_lose(cast: Cast, definitions: Definitions) -> bool:
    if find_lost("x", cast.child.type, cast.type) is None:
        return False
    behind = definitions.all_of(cast.child)
    if all(isinstance(one, Literal) and _holds(one.value, cast.type) for one in behind):
        return False
    if not narrows(cast.child.type, cast.type):
        return True
    return not wraps(cast, definitions) and (cast.type not in (dt.INT, dt.LONG) or not all(map(_is_small, behind)))


def _is_small(value: Expr) -> bool:
    """Whether a value fits into an int, as a count or a length does: not a fraction, nor what a generator gives."""
    if isinstance(value, Window):
        value = value.call
    if isinstance(value, Literal):
        return True
    known = isinstance(value, Call) and value.function.traits.magnitude is Magnitude.SMALL
    return known and dt.is_integral(value.type)


def _holds(value: object, target: dt.DataType) -> bool:
    """Whether a constant is plainly kept: NULL, a number of few enough digits, a date as ISO writes it."""
    if value is None:
        return True
    if isinstance(target, dt.Decimal) and isinstance(value, (int, decimal.Decimal)):
        whole: int = 10 ** (target.precision - target.scale)
        return -whole < value - 1 and value + 1 < whole
    if target in LIMIT and isinstance(value, int):
        return -LIMIT[target] <= value < LIMIT[target]
    if isinstance(value, str):
        return _is_written(value, target)
    return False


def _is_written(text: str, target: dt.DataType) -> bool:
    try:
        if target in (dt.DATE, dt.TIMESTAMP, dt.TIMESTAMP_NTZ):
            return bool(datetime.date.fromisoformat(text[:10])) and len(text) == 10
        return target in (dt.INT, dt.LONG, dt.DOUBLE) and text.isascii() and text.isdigit() and len(text) < 10
    except ValueError:
        return False


def _make_suspicion(column: str | None, cast: Cast, becomes: Reached) -> Suspicion:
    name, given, used = pretty(cast.child), cast.child.type.simple, cast.type.simple
    found = find_lost("({x})", cast.child.type, cast.type)
    assert found is not None
    instead = "NULL" if found.null else "another value"
    message = (
        f"{subject(column, name)} is {given} and is cast to {used}, which gives {instead} {_describe_loss(cast)} "
        "with ANSI off"
    )
    count = Count(
        cast.span or (-1, -1),
        found.condition,
        "values are lost",
        cast=True,
        grouped=find_place_in_rows(cast.child) is None,
        null=found.null,
        reaches=becomes.columns,
        alone=becomes.alone if found.null else (),
    )
    return Suspicion(make_warning(CODE, becomes.columns[0], given, used, message), cast.span, count)


def _describe_loss(cast: Cast) -> str:
    source, target = cast.child.type, cast.type
    if dt.is_string(source):
        return f"for a text that is no {target.simple}"
    return "for what it cannot hold"


def stand_in(target: str) -> str | None:
    """A value of a type, in SQL, that hardly any column has; None for types that have none such."""
    found = dt.parse_type(target)
    if found in (dt.DATE, dt.TIMESTAMP, dt.TIMESTAMP_NTZ):
        return f"CAST('0077-07-07' AS {found.sql})"
    if isinstance(found, dt.Decimal) and found.precision - found.scale < 2:
        return None
    return f"CAST(-77 AS {found.sql})" if dt.is_numeric(found) else None
