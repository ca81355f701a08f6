"""Vectors, which are arrays of float. Source: `vectorExpressions.scala`."""

from __future__ import annotations

from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr.function import ALWAYS, Category, Coerce, Optional
from planproof_engine.expr.nodes import Literal
from planproof_engine.expr.traits import RAISES
from planproof_engine.functions.families.line import Table, fn, lines
from planproof_engine.functions.families.rules import uncast
from planproof_engine.types.kinds import ANY, Expected

_VECTOR = dt.Array(dt.FLOAT, True)
_DEGREE = Optional(ANY, Literal(2.0, dt.FLOAT, "2.0"))


def _of(*expected: Expected) -> dict[str, Any]:
    return {"coerce": Coerce.NONE, "check": uncast(*expected), "traits": RAISES}


_AGG: dict[str, Any] = {"category": Category.AGGREGATE, "foldable": False}

TABLE: Table = lines(
    fn("vector_cosine_similarity, vector_inner_product, vector_l2_distance", (ANY, ANY), dt.FLOAT, ALWAYS, **_of(_VECTOR, _VECTOR)),
    fn("vector_norm", (ANY, _DEGREE), dt.FLOAT, ALWAYS, **_of(_VECTOR, dt.FLOAT)),
    fn("vector_normalize", (ANY, _DEGREE), _VECTOR, ALWAYS, **_of(_VECTOR, dt.FLOAT)),
    fn("vector_avg, vector_sum", (ANY,), dt.Array(dt.FLOAT, False), ALWAYS, **_of(_VECTOR), **_AGG),
)
