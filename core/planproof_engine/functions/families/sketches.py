"""Sketches: HyperLogLog, theta, KLL, tuple, count-min and top-k, as aggregates and as functions of their bytes.

Source: `datasketchesAggregates.scala`, `thetasketchesAggregates.scala`, `kllAggregates.scala`, `tupleSketchAgg.scala`
and its kin, `ApproxTopKAggregates.scala`, `CountMinSketchAgg.scala`, `bitmapExpressions.scala`.
"""

from __future__ import annotations

from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr.function import EITHER, NEVER, Args, Category, Check, Coerce, Mismatch, Optional, TypeRule
from planproof_engine.expr.nodes import Expr, Literal
from planproof_engine.expr.traits import RAISES
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.line import (
    Table, at_once, checks, fn, foldable, is_foldable, lines, lit, must, uncast,
)
from planproof_engine.ground import Conf
from planproof_engine.types.kinds import ANY, ANY_STRING, INTEGRAL, Expected, OneOf, is_atomic

_AGG: dict[str, Any] = {"category": Category.AGGREGATE, "foldable": False, "traits": RAISES}
_HINT = "TYPE_CHECK_FAILURE_WITH_HINT"
_EXPECTS: dict[str, Any] = {"coerce": Coerce.EXPECTS}
_EXACT: dict[str, Any] = {"coerce": Coerce.EXPECTS, "traits": RAISES}
_FALSE = Literal(False, dt.BOOLEAN, "false")
_TWO = (dt.BINARY, dt.BINARY)
_LG = Optional(dt.INT, lit(12))
_MODE = Optional(ANY_STRING, lit("sum"))
_PARTS = ("key", "summary", "lgnomentries", "mode")
_MODES = ("sum", "min", "max", "alwaysone")
_KEY = OneOf((dt.Array(dt.INT, True), dt.Array(dt.LONG, True), dt.BINARY, dt.DOUBLE, dt.FLOAT, dt.INT, dt.LONG, ANY_STRING))


def _fixed(*places: int) -> Check:
    """Constants that are not NULL."""

    def known(place: int) -> Check:
        said = f"argument {place + 1} must not be NULL."
        return must(lambda args, conf: place >= len(args) or _value(args, place) is not None, "UNEXPECTED_NULL", said)

    return checks(*(rule for place in places for rule in (foldable(place), known(place))))


def _value(args: Args, place: int) -> Any:
    return constant(args[place], "a sketch")


def _constant_count(args: list[Expr], conf: Conf) -> list[Expr]:
    """Spark fails inside where the count is no constant."""
    if not is_foldable(args[1]):
        raise Mismatch("INTERNAL_ERROR", "the count must be a constant.", whole=True)
    if isinstance(args[1], Literal) and args[1].type not in (dt.INT, dt.DATE):
        null = args[1].value is None
        raise Mismatch("APPROX_TOP_K_NULL_ARG" if null else "FAILED_FUNCTION_CALL", "the count must be an int.", whole=True)
    return args


def _sized(size: int | None, mode: int) -> Check:
    """`lgNomEntries` between 4 and 26, then a mode that there is (TYPE_CHECK_FAILURE_WITH_HINT)."""

    fits = must(lambda args, conf: size is None or size >= len(args) or 4 <= _value(args, size) <= 26, _HINT, "lgNomEntries must be between 4 and 26.")
    known = must(lambda args, conf: mode >= len(args) or str(_value(args, mode)).lower() in _MODES, _HINT, f"the mode must be one of {', '.join(_MODES)}.")
    named = checks(_fixed(mode), known)
    return named if size is None else checks(_fixed(size), fits, named)


def _tuples(kind: str, summary: dt.DataType, total: dt.DataType) -> Table:
    """The functions of tuple sketches whose summaries are of one type."""
    value = OneOf((dt.FLOAT, dt.DOUBLE)) if summary == dt.DOUBLE else dt.INT
    aggregate: dict[str, Any] = dict(_AGG)
    return lines(
        fn(f"tuple_sketch_agg_{kind}", (_KEY, value, _LG, _MODE), dt.BINARY, NEVER, check=_sized(2, 3), names=_PARTS, **aggregate),
        fn(f"tuple_union_agg_{kind}", (dt.BINARY, _LG, _MODE), dt.BINARY, NEVER, check=_sized(1, 2), names=("child", *_PARTS[2:]), **aggregate),
        fn(f"tuple_intersection_agg_{kind}", (dt.BINARY, _MODE), dt.BINARY, NEVER, check=_sized(None, 1), **aggregate),
        *(
            table
            for theta in ("", "_theta")
            for table in (
                fn(f"tuple_union{theta}_{kind}", (*_TWO, _LG, _MODE), dt.BINARY, EITHER, check=_sized(2, 3), names=("first", "second", *_PARTS[2:]), **_EXACT),
                fn(f"tuple_intersection{theta}_{kind}", (*_TWO, _MODE), dt.BINARY, EITHER, check=_sized(None, 2), **_EXACT),
                fn(f"tuple_difference{theta}_{kind}", _TWO, dt.BINARY, EITHER, **_EXACT),
            )
        ),
        fn(f"tuple_sketch_summary_{kind}", (dt.BINARY, _MODE), total, EITHER, check=_sized(None, 1), **_EXACT),
        fn(f"tuple_sketch_estimate_{kind}", (dt.BINARY,), dt.DOUBLE, EITHER, **_EXACT),
        fn(f"tuple_sketch_theta_{kind}", (dt.BINARY,), dt.DOUBLE, EITHER, **_EXACT),
    )


def _one_or_many(item: dt.DataType) -> TypeRule:
    """One value for one rank, an array of values for an array of ranks."""
    return lambda args, conf: dt.Array(item, False) if isinstance(args[1].type, dt.Array) else item


def _kll(kind: str, item: dt.DataType, taken: Expected) -> Table:
    """The functions of KLL sketches whose items are of one type."""
    ranks = OneOf((dt.DOUBLE, dt.Array(dt.DOUBLE, False)))
    items = OneOf((item, dt.Array(item, False)))
    own: dict[str, Any] = {"traits": RAISES}
    size = Optional(dt.INT)
    fits = checks(_fixed(1), must(lambda args, conf: len(args) < 2 or 8 <= _value(args, 1) <= 65535, _HINT, "k must be between 8 and 65535."))
    return lines(
        fn(f"kll_sketch_agg_{kind}", (taken, size), dt.BINARY, NEVER, check=fits, **_EXPECTS, **_AGG),
        fn(f"kll_merge_agg_{kind}", (dt.BINARY, size), dt.BINARY, NEVER, check=fits, **_EXPECTS, **_AGG),
        fn(f"kll_sketch_get_n_{kind}", (dt.BINARY,), dt.LONG, EITHER, **own),
        fn(f"kll_sketch_to_string_{kind}", (dt.BINARY,), dt.STRING, EITHER, **own),
        fn(f"kll_sketch_merge_{kind}", _TWO, dt.BINARY, EITHER, **own),
        fn(f"kll_sketch_get_quantile_{kind}", (dt.BINARY, ranks), _one_or_many(item), EITHER, coerces=at_once(foldable(1)), **own),
        fn(f"kll_sketch_get_rank_{kind}", (dt.BINARY, items), _one_or_many(dt.DOUBLE), EITHER, coerces=at_once(foldable(1)), **own),
    )


def _check_top_item(args: Args, conf: Conf) -> Mismatch | None:
    given = args[0].type
    strange = isinstance(given, (dt.Interval, dt.Nanos)) or given in (dt.BINARY, dt.VARIANT, dt.VOID, dt.CALENDAR_INTERVAL)
    if is_atomic(given) and not strange and not (isinstance(given, dt.Time) and conf.before("4.3")):
        return None
    return Mismatch(_HINT, f'{given.sql} columns are not supported.')


def _counts(item: dt.DataType) -> dt.DataType:
    return dt.Array(dt.Struct((dt.StructField("item", item), dt.StructField("count", dt.LONG, False))), False)


def _tracked_type(item: dt.DataType) -> dt.DataType:
    sketch, most = dt.StructField("sketch", dt.BINARY, False), dt.StructField("maxItemsTracked", dt.INT, False)
    return dt.Struct((sketch, most, dt.StructField("itemDataType", item), dt.StructField("itemDataTypeDDL", dt.STRING, False)))


_STATE = ("sketch", "maxItemsTracked", "itemDataType", "itemDataTypeDDL")


def _state_item(args: Args) -> dt.DataType:
    given = args[0].type
    assert isinstance(given, dt.Struct)
    return given.fields[2].type


def _check_state(args: Args, conf: Conf) -> Mismatch | None:
    given = args[0].type
    if given == dt.VOID or (isinstance(given, dt.Struct) and given.names != _STATE):
        return Mismatch(_HINT, "The state must come from approx_top_k_accumulate.")
    if not isinstance(given, dt.Struct):
        return Mismatch("UNEXPECTED_INPUT_TYPE", f'The first parameter requires the "STRUCT" type, not "{given.sql}".')
    return None


_FIVE = Optional(dt.INT, lit(5))
_TOP = checks(_check_top_item, must(lambda args, conf: all(map(is_foldable, args[1:])), _HINT, "the counts must be constants."))
_TEN_THOUSAND = Optional(dt.INT, lit(10000))
_COUNTED = OneOf((INTEGRAL, dt.STRING, dt.BINARY))
_SURE = must(lambda args, conf: _value(args, 1) > 0 and 0 < _value(args, 2) < 1, "VALUE_OUT_OF_RANGE", "eps must be positive, and the confidence between 0 and 1.")
_CMS = ("column", "epsilon", "confidence", "seed")

TABLE: Table = lines(
    fn("hll_sketch_agg", (OneOf((dt.INT, dt.LONG, ANY_STRING, dt.BINARY)), _LG), dt.BINARY, NEVER, **_EXPECTS, **_AGG),
    fn("hll_union_agg", (dt.BINARY, Optional(dt.BOOLEAN, _FALSE)), dt.BINARY, NEVER, **_EXPECTS, **_AGG),
    fn("hll_sketch_estimate, theta_sketch_estimate", (dt.BINARY,), dt.LONG, EITHER, **_EXACT),
    fn("hll_union", (*_TWO, Optional(dt.BOOLEAN, _FALSE)), dt.BINARY, EITHER, **_EXACT),
    fn("theta_sketch_agg", (_KEY, _LG), dt.BINARY, NEVER, **_EXPECTS, **_AGG),
    fn("theta_union_agg", (dt.BINARY, _LG), dt.BINARY, NEVER, **_EXPECTS, **_AGG),
    fn("theta_intersection_agg", (dt.BINARY,), dt.BINARY, NEVER, **_EXPECTS, **_AGG),
    fn("theta_union", (*_TWO, _LG), dt.BINARY, EITHER, **_EXACT),
    fn("theta_intersection, theta_difference", _TWO, dt.BINARY, EITHER, **_EXACT),
    _kll("bigint", dt.LONG, OneOf((dt.BYTE, dt.INT, dt.LONG, dt.SHORT))),
    _kll("float", dt.FLOAT, dt.FLOAT),
    _kll("double", dt.DOUBLE, OneOf((dt.FLOAT, dt.DOUBLE))),
    _tuples("double", dt.DOUBLE, dt.DOUBLE),
    _tuples("integer", dt.INT, dt.LONG),
    fn("approx_top_k", (ANY, _FIVE, _TEN_THOUSAND), lambda args, conf: _counts(args[0].type), NEVER, check=_TOP, **_AGG),
    fn("approx_top_k_accumulate", (ANY, _TEN_THOUSAND), lambda args, conf: _tracked_type(args[0].type), NEVER, check=_TOP, **_AGG),
    fn("approx_top_k_combine", (ANY, Optional(dt.INT, lit(-1))), lambda args, conf: _tracked_type(_state_item(args)), NEVER, coerces=_constant_count, check=_check_state, **_AGG),
    fn("approx_top_k_estimate", (ANY, _FIVE), lambda args, conf: _counts(_state_item(args)), NEVER, check=_check_state, traits=RAISES),
    fn("count_min_sketch", (_COUNTED, dt.DOUBLE, dt.DOUBLE, OneOf((dt.INT, dt.LONG))), dt.BINARY, NEVER, check=checks(_fixed(1, 2, 3), _SURE), names=_CMS, **_EXPECTS, **_AGG),
    fn("bitmap_construct_agg", (dt.LONG,), dt.BINARY, NEVER, **_AGG),
    # Not even a bare NULL stands for a bitmap.
    fn("bitmap_or_agg, bitmap_and_agg", (ANY,), dt.BINARY, NEVER, coerce=Coerce.NONE, check=uncast(dt.BINARY), **_AGG),
)
