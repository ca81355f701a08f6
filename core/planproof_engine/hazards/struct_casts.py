"""A cast between structs that matches fields by position.

`CAST(s AS STRUCT<b: INT, a: INT>)` over `STRUCT<a: INT, b: INT>` puts a's value under b: Spark never looks at names.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine.conf import Conf
from planproof_engine.expr.nodes import Cast
from planproof_engine.expr.pretty import pretty
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.positions import find_swapped_fields, list_difference_conditions
from planproof_engine.hazards.suspicion import Count, Suspicion, find_place_in_rows, make_warning


def struct_casts(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP122: a cast matches the fields of structs by position, and names change places."""
    for column, expr in definitions.operations:
        if isinstance(expr, Cast):
            pairs = list(find_swapped_fields(expr.child.type, expr.type, (column or pretty(expr.child),)))
            if pairs and definitions.computes(expr):
                said = ", ".join(f"{old} under {'.'.join(place)}" for place, old in pairs)
                message = f"a cast matches struct fields by position and puts {said}"
                place, old = pairs[0]
                finding = make_warning("PP122", ".".join(place), place[-1], old, message)
                yield Suspicion(finding, expr.span, _count(expr, definitions))


def _count(cast: Cast, definitions: Definitions) -> Count | None:
    span = find_place_in_rows(cast.child)
    condition = " OR ".join(list_difference_conditions("({x})", cast.child.type, cast.type))
    what = "rows hold a value under another field's name"
    return Count(span, condition, what) if span in definitions.always else None
