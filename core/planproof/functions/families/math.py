"""Mathematics. Source: `mathExpressions.scala`, `arithmetic.scala`, `randomExpressions.scala`, `TryEval.scala`."""

from __future__ import annotations

from typing import Any

from planproof.conf import Conf
from planproof.expr.nodes import Expr
from planproof.functions import arithmetic as a
from planproof.functions.bind import cast_unless_same
from planproof.functions.families.line import Table, fn, lines, lit, same
from planproof.functions.families.operators import _same_operands
from planproof.functions.families.rules import checks, constant, foldable, one_type, orderable
from planproof.functions.signature import (
    ALWAYS,
    ANSI_RAISES,
    EITHER,
    EVERY,
    FIRST,
    NEVER,
    PURE,
    RAISES,
    VOLATILE,
    Args,
    Coerce,
    Many,
    Mismatch,
    Optional,
)
from planproof.types import BINARY, DOUBLE, INT, LONG, STRING, DataType, Decimal, is_numeric, is_string, same_type
from planproof.types.coercion import bounded_decimal, wider_without_strings
from planproof.types.kinds import (
    ANY,
    ANY_STRING,
    DAY_TIME,
    DECIMAL,
    INTEGRAL,
    NUMERIC,
    YEAR_MONTH,
    OneOf,
)


def _real(names: str, nullable: Any = EITHER, printed: str | None = None) -> Table:
    """A function of one double."""
    return fn(names, (DOUBLE,), DOUBLE, nullable, printed or names.split()[0].upper(), effects=PURE)


def _rounded(decimal: Decimal, scale: int) -> Decimal:
    """`RoundBase.dataType`: one digit more before the point, for what rounding carries over."""
    whole = decimal.precision - decimal.scale + 1
    if scale < 0:
        return Decimal(min(max(whole, 1 - scale), 38), 0)
    kept = min(decimal.scale, scale)
    return Decimal(min(whole + kept, 38), kept)


def _rounded_type(args: Args, conf: Conf) -> DataType:
    found = args[0].type
    if not isinstance(found, Decimal):
        return found
    return _rounded(found, constant(args[1], "round") or 0)


def _whole_type(args: Args, conf: Conf) -> DataType:
    """`Ceil.dataType` and `Floor.dataType`."""
    found = args[0].type
    if isinstance(found, Decimal):
        return found if found.scale == 0 else bounded_decimal(found.precision - found.scale + 1, 0)
    return LONG


def _whole(args: list[Expr], conf: Conf) -> list[Expr]:
    return args


def _widest(args: list[Expr], conf: Conf) -> list[Expr]:
    """`greatest` and `least` meet without turning anything into strings."""
    if all(same_type(x.type, args[0].type) for x in args[1:]):
        return args
    target = wider_without_strings([x.type for x in args], ansi=conf.ansi)
    return args if target is None else [cast_unless_same(x, target, conf) for x in args]


def _extreme(name: str) -> Table:
    return fn(
        name,
        (Many(ANY, 2),),
        same(0),
        EVERY,
        coerces=_widest,
        coerce=Coerce.NONE,
        check=checks(one_type(name), orderable),
        effects=PURE,
    )


def _doubled_string(args: list[Expr], conf: Conf) -> list[Expr]:
    return [cast_unless_same(args[0], DOUBLE, conf)] if is_string(args[0].type) else args


_NUMBER_OR_INTERVAL = OneOf((NUMERIC, DAY_TIME, YEAR_MONTH))
_BUCKETED = OneOf((DOUBLE, YEAR_MONTH, DAY_TIME))
_ROUNDED = {"coerce": Coerce.IMPLICIT, "check": foldable(1), "effects": ANSI_RAISES}

TABLE: Table = lines(
    fn("abs", (_NUMBER_OR_INTERVAL,), same(0), EITHER, coerces=_doubled_string, effects=ANSI_RAISES),
    _real("acos"),
    _real("acosh"),
    _real("asin"),
    _real("asinh"),
    _real("atan"),
    _real("atanh"),
    _real("cbrt"),
    _real("cos"),
    _real("cosh"),
    _real("cot"),
    _real("csc"),
    _real("degrees"),
    _real("exp"),
    _real("expm1"),
    _real("radians"),
    _real("rint"),
    _real("sec"),
    _real("sin"),
    _real("sinh"),
    _real("sqrt"),
    _real("tan"),
    _real("tanh"),
    _real("ln", ALWAYS, "ln"),
    _real("log10", ALWAYS),
    _real("log1p", ALWAYS),
    _real("log2", ALWAYS),
    fn("sign", (_NUMBER_OR_INTERVAL,), DOUBLE, EITHER, effects=PURE),
    fn("signum", (_NUMBER_OR_INTERVAL,), DOUBLE, EITHER, "SIGNUM", effects=PURE),
    fn("log", (DOUBLE, Optional(DOUBLE)), DOUBLE, ALWAYS, "LOG", effects=PURE),
    fn("atan2", (DOUBLE, DOUBLE), DOUBLE, EITHER, "ATAN2", effects=PURE),
    fn("hypot", (DOUBLE, DOUBLE), DOUBLE, EITHER, "HYPOT", effects=PURE),
    fn("pow", (DOUBLE, DOUBLE), DOUBLE, EITHER, effects=PURE),
    fn("power", (DOUBLE, DOUBLE), DOUBLE, EITHER, "POWER", effects=PURE),
    fn("e", (), DOUBLE, NEVER, "E", effects=PURE),
    fn("pi", (), DOUBLE, NEVER, "PI", effects=PURE),
    fn("round", (NUMERIC, Optional(INT, lit(0))), _rounded_type, ALWAYS, **_ROUNDED),
    fn("bround", (NUMERIC, Optional(INT, lit(0))), _rounded_type, ALWAYS, **_ROUNDED),
    fn("factorial", (INT,), LONG, ALWAYS, effects=PURE),
    fn("bin", (LONG,), STRING, EITHER, effects=PURE),
    fn("hex", (OneOf((LONG, BINARY, ANY_STRING)),), STRING, EITHER, effects=PURE),
    fn("unhex", (ANY_STRING,), BINARY, ALWAYS, effects=PURE),
    fn("conv", (ANY_STRING, INT, INT), same(0), ALWAYS, effects=ANSI_RAISES),
    fn("width_bucket", (_BUCKETED, _BUCKETED, _BUCKETED, LONG), LONG, ALWAYS, effects=PURE),
    fn(
        "pmod",
        (ANY, ANY),
        lambda args, conf: args[0].type,
        ALWAYS,
        coerces=a.arithmetic,
        coerce=Coerce.NONE,
        effects=ANSI_RAISES,
    ),
    _extreme("greatest"),
    _extreme("least"),
)
