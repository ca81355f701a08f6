"""Regular expressions and splitting. Source: `regexpExpressions.scala`, `stringExpressions.scala`."""

from __future__ import annotations

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, EITHER, Args, Optional
from planproof_engine.expr.nodes import Cast
from planproof_engine.expr.traits import RAISES
from planproof_engine.functions.constants import constant
from planproof_engine.functions.failing import raises
from planproof_engine.functions.families.line import Table, array_of, fn, lines, lit, type_of
from planproof_engine.functions.families.rules import checks, foldable, is_foldable, must, prove_null_for_null
from planproof_engine.types.kinds import ANY_STRING

_check_part = must(
    lambda args, conf: not (isinstance(args[2], Cast) and all(map(is_foldable, args)) and raises(args[2], conf)),
    "CAST_OVERFLOW", "The part of split_part is a whole number that is no INT.", whole=True,
)
"""A call of constants alone is computed while the query is analyzed."""


def _starts(args: Args, conf: Conf) -> bool:
    position = constant(args[3], "regexp_replace")
    return position is None or position > 0


_start = checks(foldable(3), must(_starts, "VALUE_OUT_OF_RANGE", "the position of regexp_replace must be 1 or greater."))
"""`RegExpReplace.checkInputDataTypes`: the start is a positive constant."""
_TEXTS = (ANY_STRING, ANY_STRING)

TABLE: Table = lines(
    fn("regexp_replace", (*_TEXTS, ANY_STRING, Optional(dt.INT, lit(1))), type_of(0), EITHER, check=_start, traits=RAISES),
    fn("regexp_extract", (*_TEXTS, Optional(dt.INT, lit(1))), type_of(0), EITHER, traits=RAISES),
    fn("regexp_extract_all", (*_TEXTS, Optional(dt.INT, lit(1))), array_of(0, True), EITHER, traits=RAISES),
    fn("regexp_count", _TEXTS, dt.INT, EITHER, traits=RAISES),
    fn("regexp_substr", _TEXTS, type_of(0), ALWAYS, traits=RAISES),
    fn("regexp_instr", (*_TEXTS, Optional(dt.INT, lit(0))), dt.INT, EITHER, traits=RAISES),
    fn("split", (*_TEXTS, Optional(dt.INT, lit(-1))), array_of(0, False), EITHER, traits=RAISES),
    fn("split_part", (*_TEXTS, dt.INT), type_of(0), ALWAYS, check=_check_part, evidence=prove_null_for_null, traits=RAISES),
)
