"""Functions that others stand for after the analysis, and print their arguments as they found them.

Source: `RuntimeReplaceable`, `InheritAnalysisRules`, `TimeZoneAwareExpression`.
"""

from __future__ import annotations

from collections.abc import Sequence

from planproof_engine import types as dt
from planproof_engine.expr import Alias, Call, Cast, Column, Expr, GetField, Literal
from planproof_engine.expr.parts import replace_parts
from planproof_engine.functions.collation import TEXTUAL
from planproof_engine.ground import evolve

_SEEDED_OR_ZONED = frozenset((
    "cast", "curdate", "current_date", "current_time", "date_format", "date_part", "date_trunc", "datepart",
    "from_csv", "from_json", "from_unixtime", "from_xml", "hour", "localtimestamp", "make_timestamp", "minute",
    "months_between", "rand", "randn", "random", "randstr", "second", "sequence", "shuffle", "timestampadd",
    "timestampdiff", "to_csv", "to_date", "to_json", "to_timestamp", "to_timestamp_ltz", "to_timestamp_ntz",
    "to_unix_timestamp", "to_xml", "try_to_date", "try_to_timestamp", "uniform", "unix_timestamp", "uuid",
))  # fmt: skip
_HAND_ON = frozenset((
    "<", "<=", "<=>", "=", ">", ">=", "array", "case", "coalesce", "current_timestamp", "if", "ifnull", "in", "is null",
    "isnotnull", "isnull", "map", "named_struct", "now", "nvl", "struct", "when",
))  # fmt: skip


def is_zoned(call: Call) -> bool | None:
    """Whether the call has no answer before Spark gives it a time zone or a seed (`TimeZoneAwareExpression`,
    `ExpressionWithRandomSeed`). None for what takes or gives timestamps and was not looked at."""
    name = call.function.name
    if name in ("date_part", "datepart") and call.args[-1].type == dt.DATE:
        return False  # The year of a date is one everywhere.
    if name in _SEEDED_OR_ZONED:
        return True
    moments = (dt.TIMESTAMP, dt.TIMESTAMP_NTZ)
    return None if name not in _HAND_ON and any(e.type in moments for e in (call, *call.args)) else False


_OF_MOMENTS = frozenset(("+", "-", "date_add", "date_sub", "subtract_dates", "subtract_timestamps"))


def is_made_anew(call: Call) -> bool:
    """Whether a rule makes another expression of the call, or made the call of one: an operator over dates or moments
    (`ResolveBinaryArithmetic`)."""
    moments = (dt.DATE, dt.TIMESTAMP, dt.TIMESTAMP_NTZ)
    return call.function.name in _OF_MOMENTS and any(a.type in moments for a in call.args)


_STANDS_FOR = frozenset((
    "assert_true", "between", "btrim", "date_part", "datepart", "decode", "equal_null", "extract", "ifnull",
    "nullif", "nullifzero", "nvl", "nvl2", "try_add", "try_aes_decrypt", "try_divide", "try_element_at",
    "try_make_interval", "try_mod", "try_multiply", "try_parse_url", "try_reflect", "try_subtract",
    "try_to_binary", "try_url_decode", "zeroifnull",
))  # fmt: skip


def prints_as_name(expr: Expr) -> bool:
    """Whether Spark puts an attribute in the place of the expression to print it (`InheritAnalysisRules`)."""
    return isinstance(expr, Call) and expr.function.name in _STANDS_FOR


def restore_texts(function: str, args: Sequence[Expr]) -> Sequence[Expr]:
    """The arguments as such a function prints them: as they were when it was found. A literal has no collation of its
    own by then, unless its call waited for one or stands in what did."""
    if function not in _STANDS_FOR or not any(_is_collated(e) for a in args for e in a.walk()):
        return args
    return args if any(_waits(e) for a in args for e in a.walk()) else [_restore(a) for a in args]


def _is_collated(expr: Expr) -> bool:
    """Whether it is a literal that was given the collation of a text beside it."""
    if not isinstance(expr, Literal) or not isinstance(expr.type, dt.String):
        return False
    return expr.type.collation is not None and expr.text.endswith(f"' collate {expr.type.collation}")


def _waits(expr: Expr) -> bool:
    if isinstance(expr, Call):
        return is_zoned(expr) is not False or (expr.function.name not in TEXTUAL and any(map(_is_collated, expr.args)))
    return not isinstance(expr, (Alias, Column, GetField, Literal)) and not (isinstance(expr, Cast) and expr.written)


def _restore(expr: Expr) -> Expr:
    if isinstance(expr, Literal) and _is_collated(expr):
        return evolve(expr, text=str(expr.value))
    return replace_parts(expr, Expr, _restore)
