"""Sketches: HyperLogLog, theta, KLL, tuple, count-min and top-k, as aggregates and as functions of their bytes.

Source: `datasketchesAggregates.scala`, `thetasketchesAggregates.scala`, `kllAggregates.scala`, `tupleSketchAgg.scala`
and its kin, `ApproxTopKAggregates.scala`, `CountMinSketchAgg.scala`, `bitmapExpressions.scala`.
"""

from __future__ import annotations

from typing import Any

from planproof_engine.conf import Conf
from planproof_engine.expr.function import EITHER, NEVER, Args, Category, Check, Coerce, Mismatch, Optional, TypeRule
from planproof_engine.expr.nodes import Expr, Literal
from planproof_engine.expr.traits import RAISES
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.line import Table, fn, lines, lit
from planproof_engine.functions.families.rules import at_once, checks, foldable, is_foldable, must, uncast
from planproof_engine.types import (
    BINARY,
    BOOLEAN,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    VARIANT,
    VOID,
    Array,
    DataType,
    Interval,
    Nanos,
    Struct,
    StructField,
    Time,
)
from planproof_engine.types.kinds import ANY, ANY_STRING, INTEGRAL, Expected, OneOf, is_atomic
from planproof_engine.types.nodes import BYTE, SHORT

_AGG: dict[str, Any] = {"category": Category.AGGREGATE, "foldable": False, "traits": RAISES}
_HINT = "TYPE_CHECK_FAILURE_WITH_HINT"
_EXPECTS: dict[str, Any] = {"coerce": Coerce.EXPECTS}
_EXACT: dict[str, Any] = {"coerce": Coerce.EXPECTS, "traits": RAISES}
_FALSE = Literal(False, BOOLEAN, "false")
_TWO = (BINARY, BINARY)
_LG = Optional(INT, lit(12))
_MODE = Optional(ANY_STRING, lit("sum"))
_PARTS = ("key", "summary", "lgnomentries", "mode")
_MODES = ("sum", "min", "max", "alwaysone")
_KEY = OneOf((Array(INT, True), Array(LONG, True), BINARY, DOUBLE, FLOAT, INT, LONG, ANY_STRING))


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
    if isinstance(args[1], Literal) and args[1].type not in (INT, DATE):
        null = args[1].value is None
        raise Mismatch("APPROX_TOP_K_NULL_ARG" if null else "FAILED_FUNCTION_CALL", "the count must be an int.", whole=True)
    return args


def _sized(size: int | None, mode: int) -> Check:
    """`lgNomEntries` between 4 and 26, then a mode that there is (TYPE_CHECK_FAILURE_WITH_HINT)."""

    fits = must(lambda args, conf: size is None or size >= len(args) or 4 <= _value(args, size) <= 26, _HINT, "lgNomEntries must be between 4 and 26.")
    known = must(lambda args, conf: mode >= len(args) or str(_value(args, mode)).lower() in _MODES, _HINT, f"the mode must be one of {', '.join(_MODES)}.")
    named = checks(_fixed(mode), known)
    return named if size is None else checks(_fixed(size), fits, named)


def _tuples(kind: str, summary: DataType, total: DataType) -> Table:
    """The functions of tuple sketches whose summaries are of one type."""
    value = OneOf((FLOAT, DOUBLE)) if summary == DOUBLE else INT
    aggregate: dict[str, Any] = dict(_AGG)
    return lines(
        fn(f"tuple_sketch_agg_{kind}", (_KEY, value, _LG, _MODE), BINARY, NEVER, check=_sized(2, 3), names=_PARTS, **aggregate),
        fn(f"tuple_union_agg_{kind}", (BINARY, _LG, _MODE), BINARY, NEVER, check=_sized(1, 2), names=("child", *_PARTS[2:]), **aggregate),
        fn(f"tuple_intersection_agg_{kind}", (BINARY, _MODE), BINARY, NEVER, check=_sized(None, 1), **aggregate),
        *(
            table
            for theta in ("", "_theta")
            for table in (
                fn(f"tuple_union{theta}_{kind}", (*_TWO, _LG, _MODE), BINARY, EITHER, check=_sized(2, 3), names=("first", "second", *_PARTS[2:]), **_EXACT),
                fn(f"tuple_intersection{theta}_{kind}", (*_TWO, _MODE), BINARY, EITHER, check=_sized(None, 2), **_EXACT),
                fn(f"tuple_difference{theta}_{kind}", _TWO, BINARY, EITHER, **_EXACT),
            )
        ),
        fn(f"tuple_sketch_summary_{kind}", (BINARY, _MODE), total, EITHER, check=_sized(None, 1), **_EXACT),
        fn(f"tuple_sketch_estimate_{kind}", (BINARY,), DOUBLE, EITHER, **_EXACT),
        fn(f"tuple_sketch_theta_{kind}", (BINARY,), DOUBLE, EITHER, **_EXACT),
    )


def _one_or_many(item: DataType) -> TypeRule:
    """One value for one rank, an array of values for an array of ranks."""
    return lambda args, conf: Array(item, False) if isinstance(args[1].type, Array) else item


def _kll(kind: str, item: DataType, taken: Expected) -> Table:
    """The functions of KLL sketches whose items are of one type."""
    ranks = OneOf((DOUBLE, Array(DOUBLE, False)))
    items = OneOf((item, Array(item, False)))
    own: dict[str, Any] = {"traits": RAISES}
    size = Optional(INT)
    fits = checks(_fixed(1), must(lambda args, conf: len(args) < 2 or 8 <= _value(args, 1) <= 65535, _HINT, "k must be between 8 and 65535."))
    return lines(
        fn(f"kll_sketch_agg_{kind}", (taken, size), BINARY, NEVER, check=fits, **_EXPECTS, **_AGG),
        fn(f"kll_merge_agg_{kind}", (BINARY, size), BINARY, NEVER, check=fits, **_EXPECTS, **_AGG),
        fn(f"kll_sketch_get_n_{kind}", (BINARY,), LONG, EITHER, **own),
        fn(f"kll_sketch_to_string_{kind}", (BINARY,), STRING, EITHER, **own),
        fn(f"kll_sketch_merge_{kind}", _TWO, BINARY, EITHER, **own),
        fn(f"kll_sketch_get_quantile_{kind}", (BINARY, ranks), _one_or_many(item), EITHER, coerces=at_once(foldable(1)), **own),
        fn(f"kll_sketch_get_rank_{kind}", (BINARY, items), _one_or_many(DOUBLE), EITHER, coerces=at_once(foldable(1)), **own),
    )


def _check_top_item(args: Args, conf: Conf) -> Mismatch | None:
    given = args[0].type
    strange = isinstance(given, (Interval, Nanos)) or given in (BINARY, VARIANT, VOID, CALENDAR_INTERVAL)
    if is_atomic(given) and not strange and not (isinstance(given, Time) and conf.before("4.3")):
        return None
    return Mismatch(_HINT, f'{given.sql} columns are not supported.')


def _counts(item: DataType) -> DataType:
    return Array(Struct((StructField("item", item), StructField("count", LONG, False))), False)


def _tracked_type(item: DataType) -> DataType:
    sketch, most = StructField("sketch", BINARY, False), StructField("maxItemsTracked", INT, False)
    return Struct((sketch, most, StructField("itemDataType", item), StructField("itemDataTypeDDL", STRING, False)))


_STATE = ("sketch", "maxItemsTracked", "itemDataType", "itemDataTypeDDL")


def _state_item(args: Args) -> DataType:
    given = args[0].type
    assert isinstance(given, Struct)
    return given.fields[2].type


def _check_state(args: Args, conf: Conf) -> Mismatch | None:
    given = args[0].type
    if given == VOID or (isinstance(given, Struct) and given.names != _STATE):
        return Mismatch(_HINT, "The state must come from approx_top_k_accumulate.")
    if not isinstance(given, Struct):
        return Mismatch("UNEXPECTED_INPUT_TYPE", f'The first parameter requires the "STRUCT" type, not "{given.sql}".')
    return None


_FIVE = Optional(INT, lit(5))
_TOP = checks(_check_top_item, must(lambda args, conf: all(map(is_foldable, args[1:])), _HINT, "the counts must be constants."))
_TEN_THOUSAND = Optional(INT, lit(10000))
_COUNTED = OneOf((INTEGRAL, STRING, BINARY))
_SURE = must(lambda args, conf: _value(args, 1) > 0 and 0 < _value(args, 2) < 1, "VALUE_OUT_OF_RANGE", "eps must be positive, and the confidence between 0 and 1.")
_CMS = ("column", "epsilon", "confidence", "seed")

TABLE: Table = lines(
    fn("hll_sketch_agg", (OneOf((INT, LONG, ANY_STRING, BINARY)), _LG), BINARY, NEVER, **_EXPECTS, **_AGG),
    fn("hll_union_agg", (BINARY, Optional(BOOLEAN, _FALSE)), BINARY, NEVER, **_EXPECTS, **_AGG),
    fn("hll_sketch_estimate", (BINARY,), LONG, EITHER, **_EXACT),
    fn("hll_union", (*_TWO, Optional(BOOLEAN, _FALSE)), BINARY, EITHER, **_EXACT),
    fn("theta_sketch_agg", (_KEY, _LG), BINARY, NEVER, **_EXPECTS, **_AGG),
    fn("theta_union_agg", (BINARY, _LG), BINARY, NEVER, **_EXPECTS, **_AGG),
    fn("theta_intersection_agg", (BINARY,), BINARY, NEVER, **_EXPECTS, **_AGG),
    fn("theta_sketch_estimate", (BINARY,), LONG, EITHER, **_EXACT),
    fn("theta_union", (*_TWO, _LG), BINARY, EITHER, **_EXACT),
    fn("theta_intersection", _TWO, BINARY, EITHER, **_EXACT),
    fn("theta_difference", _TWO, BINARY, EITHER, **_EXACT),
    _kll("bigint", LONG, OneOf((BYTE, INT, LONG, SHORT))),
    _kll("float", FLOAT, FLOAT),
    _kll("double", DOUBLE, OneOf((FLOAT, DOUBLE))),
    _tuples("double", DOUBLE, DOUBLE),
    _tuples("integer", INT, LONG),
    fn("approx_top_k", (ANY, _FIVE, _TEN_THOUSAND), lambda args, conf: _counts(args[0].type), NEVER, check=_TOP, **_AGG),
    fn("approx_top_k_accumulate", (ANY, _TEN_THOUSAND), lambda args, conf: _tracked_type(args[0].type), NEVER, check=_TOP, **_AGG),
    fn("approx_top_k_combine", (ANY, Optional(INT, lit(-1))), lambda args, conf: _tracked_type(_state_item(args)), NEVER, coerces=_constant_count, check=_check_state, **_AGG),
    fn("approx_top_k_estimate", (ANY, _FIVE), lambda args, conf: _counts(_state_item(args)), NEVER, check=_check_state, traits=RAISES),
    fn("count_min_sketch", (_COUNTED, DOUBLE, DOUBLE, OneOf((INT, LONG))), BINARY, NEVER, check=checks(_fixed(1, 2, 3), _SURE), names=_CMS, **_EXPECTS, **_AGG),
    fn("bitmap_construct_agg", (LONG,), BINARY, NEVER, **_AGG),
    # Not even a bare NULL stands for a bitmap.
    fn("bitmap_or_agg", (ANY,), BINARY, NEVER, coerce=Coerce.NONE, check=uncast(BINARY), **_AGG),
    fn("bitmap_and_agg", (ANY,), BINARY, NEVER, coerce=Coerce.NONE, check=uncast(BINARY), **_AGG),
)
