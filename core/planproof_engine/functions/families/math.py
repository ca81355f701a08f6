"""Mathematics. Source: `mathExpressions.scala`, `arithmetic.scala`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, EITHER, EVERY, NEVER, Args, Coerce, Many, Mismatch, Optional
from planproof_engine.expr.nodes import Call, Expr
from planproof_engine.expr.traits import ANSI_RAISES, PURE, Cost, Evaluates, Magnitude, Traits, every
from planproof_engine.functions import arithmetic as a
from planproof_engine.functions.bind import cast_unless_same, make_types_mismatch
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.line import Pretty, Table, fn, lines, lit, type_of
from planproof_engine.functions.families.operators import arithmetic_type, same_operands
from planproof_engine.functions.families.rules import (
    cast_implicitly,
    check_inputs,
    checks,
    foldable,
    is_foldable,
    merged_type,
    one_type,
    orderable,
    print_by_name,
    prove_null_for_null,
    text_of,
)
from planproof_engine.types.coercion import bound_decimal, find_wider_without_strings
from planproof_engine.types.kinds import ANY, ANY_STRING, DAY_TIME, DECIMAL, NUMERIC, YEAR_MONTH, OneOf


def _real(name: str, printed: str | None = None, traits: Traits = PURE) -> Table:
    """A function of one double. Spark calls all of them nullable; they answer NaN, not null."""
    return fn(name, (dt.DOUBLE,), dt.DOUBLE, ALWAYS, printed or name.upper(), evidence=prove_null_for_null, traits=traits)


def _log(name: str, printed: str | None = None) -> Table:
    """A logarithm: null where it is not defined."""
    return fn(name, (dt.DOUBLE,), dt.DOUBLE, ALWAYS, printed or name.upper(), traits=PURE)


def _prove_rounding(args: Args) -> str | None:
    """Rounding is null only for null, except for decimals of 38 digits, where a carried digit may not fit."""
    full = isinstance(args[0].type, dt.Decimal) and args[0].type.precision == 38
    return None if full else prove_null_for_null(args)


def round_decimal(decimal: dt.Decimal, scale: int) -> dt.Decimal:
    """`RoundBase.dataType`: one digit more before the point, for what rounding carries over."""
    whole = decimal.precision - decimal.scale + 1
    if scale < 0:
        return dt.Decimal(min(max(whole, 1 - scale), 38), 0)
    kept = min(decimal.scale, scale)
    return dt.Decimal(min(whole + kept, 38), kept)


def _round_type(args: Args, conf: Conf) -> dt.DataType:
    found = args[0].type
    return round_decimal(found, constant(args[1], "round") or 0) if isinstance(found, dt.Decimal) else found


def _whole_type(found: dt.DataType) -> dt.DataType:
    """`Ceil.dataType` and `Floor.dataType`."""
    if isinstance(found, dt.Decimal):
        return found if found.scale == 0 else bound_decimal(found.precision - found.scale + 1, 0)
    return dt.LONG


_WHOLE = (OneOf((dt.DOUBLE, DECIMAL, dt.LONG)),)
_SCALED = (DECIMAL, dt.INT)


def _near(names: str) -> Table:
    """`ceil` and `floor`: to a whole number, or as a decimal to a scale."""

    def coerces(args: list[Expr], conf: Conf) -> list[Expr]:
        if len(args) == 2 and (args[1].type != dt.INT or not is_foldable(args[1]) or constant(args[1], "ceil") is None):
            raise Mismatch("NON_FOLDABLE_ARGUMENT", f"`{names}` needs a constant INT as its scale.")
        return cast_implicitly(args, _WHOLE if len(args) == 1 else _SCALED, conf)

    def check(args: Args, conf: Conf) -> Mismatch | None:
        return check_inputs(args, _WHOLE if len(args) == 1 else _SCALED)

    def returns(args: Args, conf: Conf) -> dt.DataType:
        return _whole_type(args[0].type) if len(args) == 1 else _round_type(args, conf)

    def show(call: Call, pretty: Pretty) -> str:
        text = print_by_name(call, pretty)
        as_is = len(call.args) == 2 or call.shown == "ceiling"
        return text if as_is else text.replace(call.shown, call.shown.upper(), 1)

    own: dict[str, Any] = {"coerces": coerces, "coerce": Coerce.NONE, "check": check, "show": show, "alias": True}
    traits = replace(ANSI_RAISES, evaluates=Evaluates.TO_NULL, magnitude=Magnitude.GROWS)
    return fn(names, (ANY, Optional(ANY)), returns, ALWAYS, evidence=_prove_rounding, traits=traits, **own)


def _extreme_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`greatest` and `least` meet without turning anything into strings."""
    if all(dt.same_type(x.type, args[0].type, conf.case_sensitive) for x in args[1:]):
        return args
    target = find_wider_without_strings([x.type for x in args], conf)
    return args if target is None else [cast_unless_same(x, target, conf) for x in args]


def _extreme(name: str) -> Table:
    check = checks(one_type(name), orderable)
    own: dict[str, Any] = {"coerces": _extreme_operands, "coerce": Coerce.NONE, "check": check}
    return fn(name, (Many(ANY, 2),), merged_type(), EVERY, traits=replace(PURE, hands_on=every), **own)


def _arithmetic(name: str, decimal: a.DecimalRule, meet: Any, check: Any) -> Table:
    own: dict[str, Any] = {"coerces": meet, "coerce": Coerce.NONE, "check": check}
    return fn(name, (ANY, ANY), arithmetic_type(decimal), ALWAYS, traits=replace(ANSI_RAISES, strict=True, evaluates=Evaluates.LAST_FIRST), **own)


def _print_log(call: Call, pretty: Pretty) -> str:
    base = "E(), " if len(call.args) == 1 else ""
    return f"LOG({base}{', '.join(pretty(x) for x in call.args)})"


def _check_one_scale(args: Args, conf: Conf) -> Mismatch | None:
    """`WidthBucket.checkInputDataTypes`: value and bounds are all doubles, or all intervals of one kind."""
    kinds = {x.type.year_month if isinstance(x.type, dt.Interval) else None for x in args[:3]}
    return None if len(kinds) == 1 else make_types_mismatch("width_bucket", args[:3])


_NUMBER_OR_INTERVAL = OneOf((NUMERIC, DAY_TIME, YEAR_MONTH))
_SIGNED = OneOf((dt.DOUBLE, YEAR_MONTH, DAY_TIME))
_ROUND = (NUMERIC, Optional(dt.INT, lit(0)))

TABLE: Table = lines(
    fn("abs", (_NUMBER_OR_INTERVAL,), type_of(0), EITHER, traits=replace(ANSI_RAISES, total_over_floats=True, cost=Cost.FEW, magnitude=Magnitude.GROWS)),
    *map(_real, ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "cot", "csc", "degrees", "exp", "expm1", "radians", "sec", "sin", "sinh", "tan", "tanh")),
    _log("ln", "ln"),
    *map(_log, ("log10", "log1p", "log2")),
    _real("rint", "rint"),
    _real("sqrt", traits=replace(PURE, evaluates=Evaluates.TO_NULL)),
    fn("sign", (_SIGNED,), dt.DOUBLE, ALWAYS, evidence=prove_null_for_null, traits=PURE),
    fn("signum", (_SIGNED,), dt.DOUBLE, ALWAYS, "SIGNUM", evidence=prove_null_for_null, traits=PURE),
    fn("log", (dt.DOUBLE, Optional(dt.DOUBLE)), dt.DOUBLE, ALWAYS, "LOG", show=_print_log, traits=PURE),
    fn("atan2", (dt.DOUBLE, dt.DOUBLE), dt.DOUBLE, EITHER, "ATAN2", traits=PURE),
    fn("hypot", (dt.DOUBLE, dt.DOUBLE), dt.DOUBLE, EITHER, "HYPOT", traits=PURE),
    fn("pow", (dt.DOUBLE, dt.DOUBLE), dt.DOUBLE, EITHER, traits=PURE),
    fn("power", (dt.DOUBLE, dt.DOUBLE), dt.DOUBLE, EITHER, "POWER", traits=PURE),
    fn("e", (), dt.DOUBLE, NEVER, "E", traits=PURE),
    fn("pi", (), dt.DOUBLE, NEVER, "PI", traits=PURE),
    _near("ceil ceiling"),
    _near("floor"),
    fn("round, bround", _ROUND, _round_type, ALWAYS, check=foldable(1), evidence=_prove_rounding, traits=replace(ANSI_RAISES, total_over_floats=True, evaluates=Evaluates.LAST_FIRST, magnitude=Magnitude.GROWS)),
    fn("factorial", (dt.INT,), dt.LONG, ALWAYS, traits=PURE),
    fn("bin", (dt.LONG,), dt.STRING, EITHER, traits=PURE),
    fn("hex", (OneOf((dt.LONG, dt.BINARY, ANY_STRING)),), text_of(0), EITHER, traits=PURE),
    fn("unhex", (ANY_STRING,), dt.BINARY, ALWAYS, traits=PURE),
    fn("conv", (ANY_STRING, dt.INT, dt.INT), type_of(0), ALWAYS, traits=ANSI_RAISES),
    fn("width_bucket", (_SIGNED, _SIGNED, _SIGNED, dt.LONG), dt.LONG, ALWAYS, check=_check_one_scale, traits=PURE),
    _arithmetic("pmod", a.remainder_decimal, a.remainder, same_operands("pmod", dt.is_numeric, "a numeric type")),
    *map(_extreme, ("greatest", "least")),
)
