"""Statistical aggregates: moments, regression, percentiles, histograms.

Source: `percentiles.scala`, `ApproximatePercentile.scala`, `CentralMomentAgg.scala`, `Covariance.scala`,
`linearRegression.scala`, `HistogramNumeric.scala`, `Mode.scala`.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal as Number
from typing import Any

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, NEVER, Args, Category, Coerce, Mismatch, Optional, TypeRule
from planproof_engine.expr.nodes import Call, Cast, Expr, Sort
from planproof_engine.expr.traits import ANSI_RAISES, PURE
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.aggregates import average_type
from planproof_engine.functions.families.line import Pretty, Table, fn, lines, lit, type_of
from planproof_engine.functions.families.rules import checks, foldable, is_foldable, not_null
from planproof_engine.origin import Unknown
from planproof_engine.types.kinds import ANY, ANY_TIME, DAY_TIME, INTEGRAL, NUMERIC, YEAR_MONTH, OneOf

_AGG: dict[str, Any] = {"category": Category.AGGREGATE, "foldable": False, "traits": ANSI_RAISES}
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
    own: dict[str, Any] = {**_AGG, **versions}
    within: dict[str, Any] = {"check": _check_fraction, "show": _print_within_group, "modifiers": ("order first",), **own}
    return lines(
        fn("median", (measured,), lambda args, conf: _measure_type(args), ALWAYS, **own),
        fn("percentile", (measured, _FRACTIONS, Optional(INTEGRAL, lit(1))), _spread(_measure_type), ALWAYS, check=_check_fraction, **own),
        fn("percentile_cont", (measured, _FRACTIONS), _spread(_measure_type), ALWAYS, **within),
        fn("percentile_disc", (measured, _FRACTIONS), _spread(_measure_type), ALWAYS, **within),
    )


_BINS = checks(foldable(1), _check_bins)

TABLE: Table = lines(
    fn("corr, covar_pop, covar_samp, regr_intercept, regr_r2, regr_slope, regr_sxx, regr_sxy, regr_syy", (dt.DOUBLE, dt.DOUBLE), dt.DOUBLE, ALWAYS, **_AGG),
    fn("skewness, kurtosis", (dt.DOUBLE,), dt.DOUBLE, ALWAYS, **_AGG),
    fn("regr_count", (NUMERIC, NUMERIC), dt.LONG, NEVER, **_AGG),
    fn("regr_avgx", (NUMERIC, NUMERIC), lambda args, conf: average_type(args[1:], conf), ALWAYS, **_AGG),
    fn("regr_avgy", (NUMERIC, NUMERIC), average_type, ALWAYS, **_AGG),
    _percentiles(_MEASURED, since="4.3"),
    _percentiles(OneOf((NUMERIC, YEAR_MONTH, DAY_TIME)), until="4.3"),
    fn("percentile_approx approx_percentile", (_APPROXIMATED, _FRACTIONS, Optional(INTEGRAL, lit(10000))), _spread(lambda args: args[0].type), ALWAYS, alias=True, check=checks(foldable(1), _check_accuracy, _check_fraction), since="4.3", **_AGG),
    fn("percentile_approx approx_percentile", (_APPROXIMATED_BEFORE, _FRACTIONS, Optional(INTEGRAL, lit(10000))), _spread(lambda args: args[0].type), ALWAYS, alias=True, check=checks(foldable(1), _check_accuracy, _check_fraction), until="4.3", **_AGG),
    fn("histogram_numeric", (_APPROXIMATED, dt.INT), _histogram_type, ALWAYS, check=_BINS, since="4.3", parameters=", 0, 0", **_AGG),
    fn("histogram_numeric", (_APPROXIMATED_BEFORE, dt.INT), _histogram_type, ALWAYS, check=_BINS, until="4.3", parameters=", 0, 0", **_AGG),
    fn("mode", (Optional(ANY), Optional(ANY)), type_of(0), ALWAYS, coerce=Coerce.NONE, check=_check_mode, show=_mode, modifiers=("order instead",), since="4.0", **{**_AGG, "traits": PURE}),
    fn("mode", (ANY,), type_of(0), ALWAYS, coerce=Coerce.NONE, until="4.0", **{**_AGG, "traits": PURE}),
)
