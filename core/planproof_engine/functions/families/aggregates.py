"""Aggregate and window functions: moments, regression, percentiles and histograms among them.

Source: `catalyst.expressions.aggregate`, `windowExpressions.scala`, `percentiles.scala`, `ApproximatePercentile.scala`,
`CentralMomentAgg.scala`, `Covariance.scala`, `linearRegression.scala`, `HistogramNumeric.scala`, `Mode.scala`.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal as Number
from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr.function import (
    ALWAYS, FIRST, NEVER, Args, Category, Check, Coerce, Many, Mismatch, Optional, TypeRule,
)
from planproof_engine.expr.nodes import Call, Cast, Expr, Literal, Sort
from planproof_engine.expr.traits import ANSI_RAISES, PURE, VOLATILE, Frame, Magnitude, some
from planproof_engine.functions.bind import cast, cast_argument, make_types_mismatch
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.line import (
    Pretty, Table, array_at, array_of, at_once, cast_implicitly, check_inputs, checks, fn, foldable, is_foldable, lines,
    lit, must, not_null, prints_first, type_of, uncast, wants,
)
from planproof_engine.ground import Conf, Unknown, evolve
from planproof_engine.types.coercion import bound_decimal
from planproof_engine.types.kinds import (
    ANY, ANY_STRING, ANY_TIME, DAY_TIME, INTEGRAL, NUMERIC, YEAR_MONTH, OneOf, is_orderable,
)

_SUMMABLE = OneOf((NUMERIC, YEAR_MONTH, DAY_TIME))


def _sum_type(args: Args, conf: Conf) -> dt.DataType:
    given = args[0].type
    if isinstance(given, dt.Decimal):
        return bound_decimal(given.precision + 10, given.scale)
    if isinstance(given, dt.Interval):
        return given
    return dt.LONG if dt.is_integral(given) else dt.DOUBLE


def average_type(args: Args, conf: Conf) -> dt.DataType:
    """`Average.resultType`."""
    given = args[0].type
    if isinstance(given, dt.Decimal):
        return bound_decimal(given.precision + 4, given.scale + 4)
    if isinstance(given, dt.Interval):
        return dt.Interval("year", "month") if given.year_month else dt.Interval("day", "second")
    return dt.DOUBLE


def _cast_to_seconds(args: list[Expr], conf: Conf) -> list[Expr]:
    """A timestamp is summed as seconds."""
    return [cast(a, dt.DOUBLE, conf) if a.type == dt.TIMESTAMP else a for a in args]


def _orderable_at(at: int) -> Check:
    return must(lambda args, conf: is_orderable(args[at].type), "INVALID_ORDERING_TYPE", f'The function does not support ordering on type "{{{at}}}".')


def _upper(call: Call, pretty: Pretty) -> str:
    """A rank is over the window's order: arguments are not printed."""
    return f"{call.shown.upper()}()"


def _print_first(call: Call, pretty: Pretty) -> str:
    """The flag that ignores nulls is not printed."""
    return f"{call.shown}({'DISTINCT ' if call.distinct else ''}{pretty(call.args[0])})"


def _bit_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """A bare NULL among bits is an int."""
    return [Literal(None, dt.INT, "NULL") if a.type == dt.VOID else a for a in args]


def _by_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    return [*args[:2], *cast_implicitly(args[2:], (dt.INT,), conf)]


def _by_type(args: Args, conf: Conf) -> dt.DataType:
    """With a count, `max_by(x, y, k)` is an array of the k best."""
    return args[0].type if len(args) < 3 else dt.Array(args[0].type, True)


def _by_check(args: Args, conf: Conf) -> Mismatch | None:
    if len(args) < 3:
        return _orderable_at(1)(args, conf)
    refused = checks(uncast(None, None, dt.INT), foldable(2), _orderable_at(1))(args, conf)
    return refused or (None if _whole_number(args[2]) > 0 else Mismatch("VALUE_OUT_OF_RANGE", "k must be positive."))


def _whole_number(arg: Expr) -> int:
    value = constant(arg, "this function")
    return 0 if value is None else int(value)


def _positive(place: int) -> Check:
    return must(lambda args, conf: _whole_number(args[place]) > 0, "VALUE_OUT_OF_RANGE", f"argument {place + 1} must be positive.")


_check_flag = must(
    lambda args, conf: len(args) < 2 or (isinstance(args[1], Literal) and args[1].type == dt.BOOLEAN and args[1].value is not None),
    "_LEGACY_ERROR_TEMP_1210", "The second argument should be a boolean literal.",
)
"""Whether to ignore nulls is a boolean literal."""


def _print_collect(call: Call, pretty: Pretty) -> str:
    name = f"{call.function.name}({'DISTINCT ' if call.distinct else ''}{pretty(call.args[0])})"
    return f"{name} RESPECT NULLS" if call.respect_nulls else name


def _compares(t: dt.DataType) -> bool:
    """Whether a set can compare it: no map, and no string of a collation in which other bytes are equal."""
    return not isinstance(t, dt.Map) and not (isinstance(t, dt.String) and t.collation not in (None, "UTF8_BINARY"))


_check_set_items = must(lambda args, conf: all(map(_compares, dt.walk(args[0].type))), "UNSUPPORTED_INPUT_TYPE", 'collect_set() cannot take a "{0}".')


def _listagg_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """The delimiter is a string, or bytes between bytes."""
    value, delimiter = args
    value = cast_argument(value, _TEXT, Coerce.IMPLICIT, conf)
    return [value, delimiter if delimiter.type == dt.VOID else cast_argument(delimiter, _TEXT, Coerce.IMPLICIT, conf)]


def _check_delimiter(args: Args, conf: Conf) -> Mismatch | None:
    value, delimiter = args
    refused = check_inputs(args, (_TEXT, None if delimiter.type == dt.VOID else _TEXT)) or foldable(1)(args, conf)
    if refused is not None or delimiter.type == dt.VOID or dt.same_type(delimiter.type, value.type):
        return refused
    return make_types_mismatch("listagg", args)


def _print_listagg(call: Call, pretty: Pretty) -> str:
    inside = ", ".join(pretty(a) for a in call.args)
    text = f"{'listagg' if call.order else call.shown}({'DISTINCT ' if call.distinct else ''}{inside})"
    return text + (f" WITHIN GROUP (ORDER BY {', '.join(pretty(o) for o in call.order)})" if call.order else "")


def _check_deviation(args: Args, conf: Conf) -> Mismatch | None:
    """The relative deviation is a literal double or decimal, at most 0.39."""
    if len(args) < 2:
        return None
    given = args[1]
    if not isinstance(given, Literal) or not (isinstance(given.type, dt.Decimal) or given.type == dt.DOUBLE):
        return Mismatch("_LEGACY_ERROR_TEMP_1104", "The second argument should be a double literal.")
    return Mismatch("FAILED_FUNCTION_CALL", "The deviation is too large.", whole=True) if given.value > 0.39 else None


def _shift_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """The default takes the value's type. The offset is not cast: Spark makes the frame of it first."""
    default, offset = args[2], args[1]
    at_once(_check_flag_at(3))(args, conf)
    given = offset.type
    if is_foldable(offset) and given != dt.INT and (dt.is_numeric(given) or dt.is_string(given) or given == dt.VOID):
        raise Mismatch("_LEGACY_ERROR_TEMP_1035", "Cannot specify window frame for this function.")
    return [*args[:2], cast_argument(default, args[0].type, Coerce.IMPLICIT, conf), *args[3:]]


def _check_flag_at(place: int) -> Check:
    """Whether to ignore nulls is a boolean literal (of window functions)."""
    return must(
        lambda args, conf: place >= len(args) or (isinstance(args[place], Literal) and args[place].type == dt.BOOLEAN),
        "INVALID_PARAMETER_VALUE.BOOLEAN", "`ignoreNulls` expects a boolean literal.",
    )


def _check_offset(args: Args, conf: Conf) -> Mismatch | None:
    """The offset is a constant. Spark makes another frame of one that it would have to cast."""
    if is_foldable(args[1]):
        return None
    if isinstance(args[1], Cast):
        return Mismatch("_LEGACY_ERROR_TEMP_1035", "Cannot specify window frame for this function.")
    return foldable(1)(args, conf)


def _check_default(args: Args, conf: Conf) -> Mismatch | None:
    default = args[2]
    return None if default.type == dt.VOID else check_inputs(args, (None, None, args[0].type))


def _lag_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`lag` negates a constant offset at once, which fails inside for what has no negative."""
    given = args[1].type
    has_negative = dt.is_numeric(given) or given in (dt.VOID, dt.CALENDAR_INTERVAL) or isinstance(given, dt.Interval)
    if is_foldable(args[1]) and not has_negative:
        raise Mismatch("FAILED_FUNCTION_CALL", "the offset of lag must be a number.", whole=True)
    return _shift_operands(args, conf)


def _print_nth(call: Call, pretty: Pretty) -> str:
    ignores = call.ignore_nulls or (len(call.args) > 2 and bool(constant(call.args[2], "nth_value")))
    return f"nth_value({pretty(call.args[0])}, {pretty(call.args[1])}){' ignore nulls' if ignores else ''}"


_AGG: dict[str, Any] = {"category": Category.AGGREGATE, "foldable": False}
_WIN: dict[str, Any] = {"category": Category.WINDOW, "foldable": False}
_PICKING: dict[str, Any] = {**_AGG, "traits": evolve(VOLATILE, hands_on=some(0), null_over_nothing=True), "modifiers": ("nulls",)}
_COLLECTING: dict[str, Any] = {**_PICKING, "traits": VOLATILE}
_COLLECTED: dict[str, Any] = {**_AGG, "traits": VOLATILE}
_NTH: dict[str, Any] = {**_WIN, "traits": PURE, "modifiers": ("nulls",)}
_SHIFTING: dict[str, Any] = {**_NTH, "traits": evolve(PURE, hands_on=some(0, 2), frame=Frame.OFFSET)}
_NULL = Literal(None, dt.VOID, "NULL")
_NULLS_TOO = (ANY, Optional(ANY))
_BY = (ANY, ANY, Optional(ANY))
_TEXT = OneOf((ANY_STRING, dt.BINARY))
_CLOCK = OneOf((dt.TIMESTAMP, dt.TIMESTAMP_NTZ))
_OFFSET = (Optional(ANY, _NULL), Optional(dt.INT, lit(1)), Optional(ANY, _NULL), Optional(ANY))


_STATISTIC: dict[str, Any] = {"category": Category.AGGREGATE, "foldable": False, "traits": ANSI_RAISES}
_MEASURED = OneOf((NUMERIC, ANY_TIME, YEAR_MONTH, DAY_TIME))
_APPROXIMATED = OneOf((NUMERIC, dt.DATE, dt.TIMESTAMP, dt.TIMESTAMP_NTZ, YEAR_MONTH, DAY_TIME, ANY_TIME))
_APPROXIMATED_BEFORE = OneOf(_APPROXIMATED.members[:-1])
"""Before Spark 4.3."""
_FRACTIONS = OneOf((dt.DOUBLE, dt.Array(dt.DOUBLE, False)))


def _values(arg: Expr) -> list[float | None]:
    """The numbers of a constant, or of an array of constants but for its NULLs; `[None]` for NULL itself."""
    inner = arg.child if isinstance(arg, Cast) else arg
    if isinstance(inner, Call) and inner.function.name == "array":
        return [v for item in inner.args for v in _values(item) if v is not None]
    value = constant(arg, "percentile")
    if value is None:
        return [None]
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Number)):
        raise Unknown("a computed percentage")
    return [float(value)]


def _check_fraction(args: Args, conf: Conf) -> Mismatch | None:
    """Percentages are constants between 0 and 1."""
    if not is_foldable(args[1]):
        return Mismatch("NON_FOLDABLE_INPUT", "the percentage must be a constant.")
    found = _values(args[1])
    if None in found:
        return Mismatch("UNEXPECTED_NULL", "the percentage must not be NULL.")
    if any(v is not None and not 0 <= v <= 1 for v in found):
        return Mismatch("VALUE_OUT_OF_RANGE", "the percentage must be between 0 and 1.")
    return None


def _check_accuracy(args: Args, conf: Conf) -> Mismatch | None:
    found = checks(foldable(2), not_null(2))(args, conf)
    if found is None and (_values(args[2])[0] or 0) <= 0:
        return Mismatch("VALUE_OUT_OF_RANGE", "the accuracy must be positive.")
    return found


def _measure_type(args: Args) -> dt.DataType:
    """Numbers have percentiles of type double, intervals of the widest interval type, times of their own."""
    given = args[0].type
    if isinstance(given, dt.Interval):
        return dt.Interval("year", "month") if given.year_month else dt.Interval("day", "second")
    return dt.DOUBLE if dt.is_numeric(given) else given


def _spread(item: Callable[[Args], dt.DataType]) -> TypeRule:
    """One value for one percentage, an array of values for an array of them."""
    return lambda args, conf: dt.Array(item(args), False) if isinstance(args[1].type, dt.Array) else item(args)


def _histogram_type(args: Args, conf: Conf) -> dt.DataType:
    return dt.Array(dt.Struct((dt.StructField("x", args[0].type), dt.StructField("y", dt.DOUBLE))), True)


def _is_descending(call: Call) -> bool:
    return any(isinstance(key, Sort) and not key.ascending for key in call.order)


def _print_within_group(call: Call, pretty: Pretty) -> str:
    """`percentile_cont(p) WITHIN GROUP (ORDER BY v)`; the direction is printed where it is descending."""
    value, *rest = call.args
    inside = ", ".join(pretty(a) for a in rest)
    down = " DESC" if _is_descending(call) else ""
    distinct = "DISTINCT " if call.distinct else ""
    return f"{call.shown}({distinct}{inside}) WITHIN GROUP (ORDER BY {pretty(value)}{down})"


def _mode(call: Call, pretty: Pretty) -> str:
    """An ordered mode prints the other direction: of equally frequent values it takes the first in that order."""
    value = pretty(call.args[0])
    if call.order:
        down = "" if _is_descending(call) else " DESC"
        return f"mode() WITHIN GROUP (ORDER BY {value}{down})"
    steady = len(call.args) > 1 and constant(call.args[1], "mode")
    return f"mode() WITHIN GROUP (ORDER BY {value} DESC)" if steady else f"mode({value})"


def _check_mode(args: Args, conf: Conf) -> Mismatch | None:
    """`mode(x, deterministic)`."""
    if not args:
        return Mismatch("INVALID_WITHIN_GROUP_EXPRESSION.WITHIN_GROUP_MISSING", "`mode` needs WITHIN GROUP.")
    if len(args) < 2:
        return None
    if not is_foldable(args[1]):
        return Mismatch("NON_FOLDABLE_ARGUMENT", "The parameter `deterministic` must be a foldable expression of BOOLEAN type.")
    if args[1].type != dt.BOOLEAN:
        null = constant(args[1], "mode") is None
        return Mismatch("UNEXPECTED_NULL" if null else "UNEXPECTED_INPUT_TYPE", "`deterministic` must be a boolean.", whole=not null)
    return None


def _check_bins(args: Args, conf: Conf) -> Mismatch | None:
    """A histogram has two bins at least."""
    count = constant(args[1], "histogram_numeric")
    if count is None:
        return Mismatch("UNEXPECTED_NULL", "the number of bins must not be NULL.")
    return None if count >= 2 else Mismatch("VALUE_OUT_OF_RANGE", "a histogram has at least two bins.")


def _percentiles(measured: OneOf, **versions: Any) -> Table:
    """The exact percentiles, over what these versions measure: times of day since Spark 4.3."""
    own: dict[str, Any] = {**_STATISTIC, **versions}
    within: dict[str, Any] = {"check": _check_fraction, "show": _print_within_group, "modifiers": ("order first",), **own}
    return lines(
        fn("median", (measured,), lambda args, conf: _measure_type(args), ALWAYS, **own),
        fn("percentile", (measured, _FRACTIONS, Optional(INTEGRAL, lit(1))), _spread(_measure_type), ALWAYS, check=_check_fraction, **own),
        fn("percentile_cont", (measured, _FRACTIONS), _spread(_measure_type), ALWAYS, **within),
        fn("percentile_disc", (measured, _FRACTIONS), _spread(_measure_type), ALWAYS, **within),
    )


_BINS = checks(foldable(1), _check_bins)


TABLE: Table = lines(
    fn("count", (Many(ANY),), dt.LONG, NEVER, check=must(lambda args, conf: args or conf.parameterless_count, "WRONG_NUM_ARGS.WITH_SUGGESTION", "The `count` requires >= 1 parameters but the actual number is 0."), traits=PURE, **_AGG),
    fn("count_if", (dt.BOOLEAN,), dt.LONG, NEVER, traits=PURE, **_AGG),
    fn("sum", (_SUMMABLE,), _sum_type, ALWAYS, coerces=_cast_to_seconds, traits=evolve(ANSI_RAISES, null_over_nothing=True, magnitude=Magnitude.GROWS), **_AGG),
    fn("avg mean", (_SUMMABLE,), average_type, ALWAYS, coerces=_cast_to_seconds, alias=True, traits=evolve(ANSI_RAISES, null_over_nothing=True), **_AGG),
    fn("min, max", (ANY,), type_of(0), ALWAYS, coerce=Coerce.NONE, check=_orderable_at(0), traits=evolve(PURE, hands_on=some(0), null_over_nothing=True), **_AGG, plain=True),
    fn("bit_and, bit_or, bit_xor", (INTEGRAL,), type_of(0), ALWAYS, coerces=_bit_operands, coerce=Coerce.EXPECTS, traits=evolve(PURE, null_over_nothing=True), **_AGG),
    fn("try_sum", (_SUMMABLE,), _sum_type, ALWAYS, coerces=_cast_to_seconds, traits=evolve(PURE, magnitude=Magnitude.GROWS), **_AGG),
    fn("try_avg", (_SUMMABLE,), average_type, ALWAYS, coerces=_cast_to_seconds, traits=PURE, **_AGG),
    fn("min_by, max_by", (ANY, ANY), type_of(0), ALWAYS, coerce=Coerce.NONE, check=_orderable_at(1), until="4.2", traits=evolve(PURE, null_over_nothing=True), **_AGG),
    fn("min_by, max_by", _BY, _by_type, ALWAYS, coerce=Coerce.NONE, coerces=_by_operands, check=_by_check, since="4.2", traits=evolve(PURE, null_over_nothing=True), **_AGG),
    fn("measure", (ANY,), type_of(0), FIRST, traits=PURE, **_AGG),
    fn("first first_value", _NULLS_TOO, type_of(0), ALWAYS, alias=True, check=_check_flag, show=_print_first, **_PICKING),
    fn("last last_value", _NULLS_TOO, type_of(0), ALWAYS, alias=True, check=_check_flag, show=_print_first, **_PICKING),
    fn("any_value", _NULLS_TOO, type_of(0), ALWAYS, check=_check_flag, show=_print_first, **_PICKING),
    fn("collect_list array_agg", (ANY,), array_of(0, False), NEVER, coerce=Coerce.NONE, show=_print_collect, since="4.2", parameters=", 0, 0, true", **_COLLECTING),
    fn("collect_list array_agg", (ANY,), array_of(0, False), NEVER, coerce=Coerce.NONE, show=_print_collect, until="4.2", parameters=", 0, 0", **_COLLECTED),
    fn("collect_set", (ANY,), array_of(0, False), NEVER, coerce=Coerce.NONE, check=_check_set_items, show=_print_collect, since="4.2", parameters=", 0, 0, true", **_COLLECTING),
    fn("collect_set", (ANY,), array_of(0, False), NEVER, coerce=Coerce.NONE, check=_check_set_items, show=_print_collect, until="4.2", parameters=", 0, 0", **_COLLECTED),
    fn("collect_union", (ANY,), lambda args, conf: dt.Array(array_at(args).element, False), NEVER, coerce=Coerce.NONE, check=wants(0, lambda t: isinstance(t, dt.Array), "ARRAY"), **_COLLECTING),
    fn("listagg string_agg", (_TEXT, Optional(ANY, _NULL)), type_of(0), ALWAYS, coerces=_listagg_operands, check=_check_delimiter, alias=True, show=_print_listagg, modifiers=("order",), traits=VOLATILE, **_AGG),
    fn("approx_count_distinct", (ANY, Optional(ANY)), dt.LONG, NEVER, check=_check_deviation, show=_print_first, traits=PURE, **_AGG),
    fn("bool_and every", (dt.BOOLEAN,), dt.BOOLEAN, ALWAYS, alias=True, traits=evolve(PURE, null_over_nothing=True), **_AGG),
    fn("bool_or any some", (dt.BOOLEAN,), dt.BOOLEAN, ALWAYS, alias=True, traits=evolve(PURE, null_over_nothing=True), **_AGG),
    fn("stddev_samp stddev std", (dt.DOUBLE,), dt.DOUBLE, ALWAYS, alias=True, traits=PURE, **_AGG),
    fn("stddev_pop, var_pop", (dt.DOUBLE,), dt.DOUBLE, ALWAYS, traits=PURE, **_AGG),
    fn("var_samp variance", (dt.DOUBLE,), dt.DOUBLE, ALWAYS, alias=True, traits=PURE, **_AGG),
    fn("row_number", (), dt.INT, NEVER, traits=evolve(PURE, frame=Frame.ROWS), **_WIN),
    fn("rank, dense_rank", (Many(ANY),), dt.INT, NEVER, show=_upper, traits=evolve(PURE, frame=Frame.ROWS), **_WIN),
    fn("percent_rank", (Many(ANY),), dt.DOUBLE, NEVER, show=_upper, traits=evolve(PURE, frame=Frame.ROWS), **_WIN),
    fn("cume_dist", (), dt.DOUBLE, NEVER, traits=evolve(PURE, frame=Frame.RANGE), **_WIN),
    fn("ntile", (Optional(ANY, lit(1)),), dt.INT, NEVER, coerce=Coerce.NONE, check=checks(foldable(0), uncast(dt.INT), _positive(0)), traits=evolve(PURE, frame=Frame.ROWS), **_WIN),
    fn("lag", _OFFSET, type_of(0), lambda args, conf: args[0].nullable or len(args) < 3 or args[2].nullable, coerces=_lag_operands, check=checks(_check_default, _check_offset), show=prints_first(3), **_SHIFTING),
    fn("lead", _OFFSET, type_of(0), lambda args, conf: args[0].nullable or len(args) < 3 or args[2].nullable, coerces=_shift_operands, check=checks(_check_default, _check_offset), show=prints_first(3), **_SHIFTING),
    fn("nth_value", (ANY, dt.INT, Optional(ANY)), type_of(0), ALWAYS, coerces=at_once(_check_flag_at(2)), check=checks(foldable(1), _positive(1)), show=_print_nth, **_NTH),
    fn("counter_diff", (NUMERIC, Optional(_CLOCK)), type_of(0), ALWAYS, names=("value", "start_time"), coerce=Coerce.EXPECTS, traits=evolve(PURE, frame=Frame.ROWS), **_WIN),
    fn("grouping", (ANY,), dt.BYTE, NEVER, coerce=Coerce.NONE, traits=PURE, **_AGG),
    fn("grouping_id", (Many(ANY),), lambda args, conf: dt.INT if conf.integer_grouping_id else dt.LONG, NEVER, coerce=Coerce.NONE, traits=PURE, **_AGG),
    fn("corr, covar_pop, covar_samp, regr_intercept, regr_r2, regr_slope, regr_sxx, regr_sxy, regr_syy", (dt.DOUBLE, dt.DOUBLE), dt.DOUBLE, ALWAYS, **_STATISTIC),
    fn("skewness, kurtosis", (dt.DOUBLE,), dt.DOUBLE, ALWAYS, **_STATISTIC),
    fn("regr_count", (NUMERIC, NUMERIC), dt.LONG, NEVER, **_STATISTIC),
    fn("regr_avgx", (NUMERIC, NUMERIC), lambda args, conf: average_type(args[1:], conf), ALWAYS, **_STATISTIC),
    fn("regr_avgy", (NUMERIC, NUMERIC), average_type, ALWAYS, **_STATISTIC),
    _percentiles(_MEASURED, since="4.3"),
    _percentiles(OneOf((NUMERIC, YEAR_MONTH, DAY_TIME)), until="4.3"),
    fn("percentile_approx approx_percentile", (_APPROXIMATED, _FRACTIONS, Optional(INTEGRAL, lit(10000))), _spread(lambda args: args[0].type), ALWAYS, alias=True, check=checks(foldable(1), _check_accuracy, _check_fraction), since="4.3", **_STATISTIC),
    fn("percentile_approx approx_percentile", (_APPROXIMATED_BEFORE, _FRACTIONS, Optional(INTEGRAL, lit(10000))), _spread(lambda args: args[0].type), ALWAYS, alias=True, check=checks(foldable(1), _check_accuracy, _check_fraction), until="4.3", **_STATISTIC),
    fn("histogram_numeric", (_APPROXIMATED, dt.INT), _histogram_type, ALWAYS, check=_BINS, since="4.3", parameters=", 0, 0", **_STATISTIC),
    fn("histogram_numeric", (_APPROXIMATED_BEFORE, dt.INT), _histogram_type, ALWAYS, check=_BINS, until="4.3", parameters=", 0, 0", **_STATISTIC),
    fn("mode", (Optional(ANY), Optional(ANY)), type_of(0), ALWAYS, coerce=Coerce.NONE, check=_check_mode, show=_mode, modifiers=("order instead",), since="4.0", **{**_STATISTIC, "traits": PURE}),
    fn("mode", (ANY,), type_of(0), ALWAYS, coerce=Coerce.NONE, until="4.0", **{**_STATISTIC, "traits": PURE}),
)
