"""How operators meet their operands: string promotion, decimals, common types, and arithmetic with dates and intervals.

Source: `DecimalPrecisionTypeCoercion`, `AnsiStringPromotionTypeCoercion`, `StringPromotionTypeCoercion`,
`ImplicitTypeCoercion` and the `resultDecimalType` of each operator.
"""

from __future__ import annotations

from collections.abc import Callable

from planproof_engine import types as dt
from planproof_engine.expr import Expr, Literal
from planproof_engine.functions.bind import cast_unless_equal, makes_rows
from planproof_engine.ground import Conf
from planproof_engine.types import nodes as n
from planproof_engine.types.casts import decimal_for
from planproof_engine.types.coercion import adjust_decimal, bound_decimal, find_tightest, promote_string, wider_decimal
from planproof_engine.types.kinds import is_atomic


def _cast_both(args: list[Expr], target: dt.DataType, conf: Conf) -> list[Expr]:
    return [_typed_null(a, target) or cast_unless_equal(a, target, conf) for a in args]


def _promote(args: list[Expr], target: dt.DataType, conf: Conf) -> list[Expr]:
    """Both operands cast to the type. An operand of type void, even a column, becomes a NULL of that type
    (`castExpr`)."""
    return [
        Literal(None, target, "NULL") if a.type == dt.VOID and not makes_rows(a) else cast_unless_equal(a, target, conf)
        for a in args
    ]


def _typed_null(arg: Expr, target: dt.DataType) -> Expr | None:
    return Literal(None, target, "NULL") if isinstance(arg, Literal) and arg.type == dt.VOID else None


def promote_strings(args: list[Expr], conf: Conf, *, comparison: bool) -> list[Expr]:
    """A string beside another type takes that type (ANSI), or becomes a double in arithmetic (legacy)."""
    left, right = args[0].type, args[1].type
    if not (dt.is_string(left) or dt.is_string(right)):
        return _cast_dates(args, conf) if comparison else args
    if conf.ansi:
        target = promote_string(left, right)
        return args if target is None else _promote(args, target, conf)
    if comparison:
        target = _legacy_comparison(left, right)
        return args if target is None else _promote(args, target, conf)
    other = right if dt.is_string(left) else left
    if isinstance(other, dt.Interval) or other == n.CALENDAR_INTERVAL:
        return args
    return [cast_unless_equal(a, dt.DOUBLE, conf) if dt.is_string(a.type) else a for a in args]


def _cast_dates(args: list[Expr], conf: Conf) -> list[Expr]:
    if not conf.ansi and {args[0].type, args[1].type} == {dt.DATE, dt.TIMESTAMP}:
        return _cast_both(args, dt.TIMESTAMP, conf)
    return args


def _legacy_comparison(left: dt.DataType, right: dt.DataType) -> dt.DataType | None:
    """`findCommonTypeForBinaryComparison` where one side is a string."""
    text, other = (left, right) if dt.is_string(left) else (right, left)
    if other == dt.VOID:
        return text
    if isinstance(other, dt.Decimal) and other.scale > 0:
        return dt.DOUBLE
    return other if is_atomic(other) and not isinstance(other, dt.Interval) and not dt.is_string(other) else None


def _literal_decimal(arg: Expr, conf: Conf) -> dt.Decimal:
    """An integral literal beside a decimal takes the least decimal that holds it. `DecimalType.fromLiteral` forgets
    tinyint."""
    is_literal = isinstance(arg, Literal) and arg.value is not None and arg.type != dt.BYTE and not arg.is_variable
    if conf.literal_pick_minimum_precision and is_literal:
        assert isinstance(arg, Literal)
        return dt.Decimal(max(len(str(abs(int(arg.value)))), 1), 0)
    return decimal_for(arg.type)


def meet_decimals(args: list[Expr], conf: Conf) -> list[Expr]:
    """Beside a decimal, an integral becomes a decimal; beside a float or double, the decimal becomes a double."""
    types = [a.type for a in args]
    if not any(isinstance(t, dt.Decimal) for t in types) or not all(dt.is_numeric(t) for t in types):
        return args
    if any(t in n.FRACTIONAL_ATOMS for t in types):
        return [cast_unless_equal(a, dt.DOUBLE, conf) if isinstance(a.type, dt.Decimal) else a for a in args]
    return [cast_unless_equal(a, _literal_decimal(a, conf), conf) if dt.is_integral(a.type) else a for a in args]


def meet(args: list[Expr], conf: Conf, fits: Callable[[dt.DataType], bool] | None = None) -> list[Expr]:
    """The tightest common type of two operands, decimals left to themselves (`ImplicitTypeCoercion`).

    Where it does not fit the operator, the operands stay as they are.
    """
    left, right = args[0].type, args[1].type
    one_decimal = isinstance(left, dt.Decimal) or isinstance(right, dt.Decimal)
    if left == right or (one_decimal and dt.VOID not in (left, right)):
        return args
    target = find_tightest(left, right, conf)
    if target is None or (fits is not None and not fits(target)):
        return args
    return _cast_both(args, target, conf)


def _is_computable(t: dt.DataType) -> bool:
    return dt.is_numeric(t) or isinstance(t, dt.Interval) or t in (n.CALENDAR_INTERVAL, dt.VOID)


def is_div_operand(t: dt.DataType) -> bool:
    """Whether `div` takes operands of this type as they are (Spark's `IntegralDivide.inputType`)."""
    return t == dt.LONG or isinstance(t, (dt.Decimal, dt.Interval))


def _cast_bare_nulls(args: list[Expr], target: dt.DataType, conf: Conf) -> list[Expr]:
    """Two operands of type void take the type that the operator expects (`ExpectsInputTypes`)."""
    return _promote(args, target, conf) if all(a.type == dt.VOID for a in args) else args


DecimalRule = Callable[[dt.Decimal, dt.Decimal, Conf], dt.Decimal]
Meet = Callable[[list[Expr], Conf], list[Expr]]


def _meet_numbers(fits: Callable[[dt.DataType], bool], unknown: dt.DataType) -> Meet:
    """Casts operands to the type in which Spark computes, where that fits; two of type void to `unknown`."""

    def operands(args: list[Expr], conf: Conf) -> list[Expr]:
        ready = meet_decimals(promote_strings(args, conf, comparison=False), conf)
        return _cast_bare_nulls(meet(ready, conf, fits), unknown, conf)

    return operands


arithmetic = _meet_numbers(_is_computable, dt.DOUBLE)
"""The operands of `+`, `-`, `*` and their kin."""
remainder = _meet_numbers(dt.is_numeric, dt.DOUBLE)
"""`%` and pmod know numbers only."""
bits = _meet_numbers(dt.is_integral, dt.INT)
"""The operands of `&`, `|` and `^`, cast to the wider of two whole-number types."""


def division(args: list[Expr], conf: Conf) -> list[Expr]:
    """`/` works on doubles and decimals only; everything else numeric becomes a double."""
    ready = meet_decimals(promote_strings(args, conf, comparison=False), conf)
    types = [a.type for a in ready]
    if types[0] == dt.VOID and dt.is_numeric(types[1]):
        return _cast_both(ready, dt.DOUBLE, conf)
    whole = all(isinstance(t, dt.Decimal) or t == dt.DOUBLE for t in types)
    if not whole and all(dt.is_numeric(t) or t == dt.VOID for t in types):
        if any(isinstance(t, dt.Decimal) for t in types):
            return meet(ready, conf, _is_computable)
        return _cast_both(ready, dt.DOUBLE, conf)
    return meet(ready, conf, _is_computable)


def integral_division(args: list[Expr], conf: Conf) -> list[Expr]:
    """`div` widens byte, short and int to long."""
    ready = meet_decimals(promote_strings(args, conf, comparison=False), conf)
    ready = [cast_unless_equal(a, dt.LONG, conf) if dt.is_integral(a.type) else a for a in ready]
    return _cast_bare_nulls(meet(ready, conf, is_div_operand), dt.LONG, conf)


def comparison(args: list[Expr], conf: Conf) -> list[Expr]:
    """Two operands of a comparison, cast to the type in which Spark compares them."""
    ready = promote_strings(args, conf, comparison=True)
    ready = meet_decimals(ready, conf)
    left, right = ready[0].type, ready[1].type
    if isinstance(left, dt.Decimal) and isinstance(right, dt.Decimal) and left != right:
        return _cast_both(ready, wider_decimal(left, right, conf.keeps_scale), conf)
    return meet(ready, conf)


def equality(args: list[Expr], conf: Conf) -> list[Expr]:
    """`=` and `<=>`: with ANSI off a boolean beside a number becomes that number (`BooleanEquality`)."""
    ready = comparison(args, conf)
    types = [a.type for a in ready]
    if not conf.ansi and dt.BOOLEAN in types and any(dt.is_numeric(t) for t in types):
        number = types[1] if types[0] == dt.BOOLEAN else types[0]
        return _cast_both(ready, number, conf)
    return ready


def logic(args: list[Expr], conf: Conf) -> list[Expr]:
    """AND and OR: a string is promoted under ANSI, a bare NULL becomes a boolean."""
    ready = meet_decimals(promote_strings(args, conf, comparison=True) if conf.ansi else args, conf)
    return _cast_bare_nulls(meet(ready, conf, lambda t: t in (dt.BOOLEAN, dt.VOID)), dt.BOOLEAN, conf)


def _fit_decimal(precision: int, scale: int, conf: Conf) -> dt.Decimal:
    return adjust_decimal(precision, scale) if conf.allow_precision_loss else bound_decimal(precision, scale)


def sum_decimal(a: dt.Decimal, b: dt.Decimal, conf: Conf) -> dt.Decimal:
    """The type of a sum or difference of decimals. Source: Spark's `Add.resultDecimalType`."""
    scale = max(a.scale, b.scale)
    return _fit_decimal(max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale, conf)


def product_decimal(a: dt.Decimal, b: dt.Decimal, conf: Conf) -> dt.Decimal:
    """The type of a product of decimals. Source: Spark's `Multiply.resultDecimalType`."""
    return _fit_decimal(a.precision + b.precision + 1, a.scale + b.scale, conf)


def quotient_decimal(a: dt.Decimal, b: dt.Decimal, conf: Conf) -> dt.Decimal:
    """The type of a quotient of decimals. Source: Spark's `Divide.resultDecimalType`."""
    if conf.allow_precision_loss:
        scale = max(6, a.scale + b.precision + 1)
        return adjust_decimal(a.precision - a.scale + b.scale + scale, scale)
    whole = min(38, a.precision - a.scale + b.scale)
    fraction = min(38, max(6, a.scale + b.precision + 1))
    excess = whole + fraction - 38
    if excess > 0:
        fraction -= excess // 2 + 1
        whole = 38 - fraction
    return bound_decimal(whole + fraction, fraction)


def remainder_decimal(a: dt.Decimal, b: dt.Decimal, conf: Conf) -> dt.Decimal:
    """The type of a remainder of decimals. Source: Spark's `Remainder.resultDecimalType`."""
    scale = max(a.scale, b.scale)
    return _fit_decimal(min(a.precision - a.scale, b.precision - b.scale) + scale, scale, conf)
