"""Numbers and bytes as text and back. Source: `numberFormatExpressions.scala`, `ToBinary`, `TryEval.scala`."""

from __future__ import annotations

from typing import Any

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, EITHER, Args, Coerce, Mismatch, Optional
from planproof_engine.expr.nodes import Call, Expr
from planproof_engine.expr.traits import PURE, RAISES
from planproof_engine.functions import arithmetic as a
from planproof_engine.functions import numberformat
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.line import Pretty, Table, fn, lines
from planproof_engine.functions.families.operators import arithmetic_type, same_operands
from planproof_engine.functions.families.rules import (
    at_once,
    cast_implicitly,
    check_inputs,
    foldable,
    is_foldable,
    print_by_name,
)
from planproof_engine.origin import Unknown
from planproof_engine.types.kinds import ANY, ANY_STRING, DECIMAL, Expected


def _shape(pattern: Expr) -> str | None:
    """A number format in upper case; None for NULL. Raises `Mismatch` for one that is malformed."""
    text = constant(pattern, "to_number")
    if text is None:
        return None
    shape = str(text).upper()
    if (condition := numberformat.find_refusal(shape)) is not None:
        raise Mismatch(f"INVALID_FORMAT.{condition}", f"The format is invalid: '{shape}'.")
    return shape


def _number_type(args: Args, conf: Conf) -> dt.DataType:
    """`ToNumberParser.parsedDecimalType`: the digits of the format, and those after its decimal point."""
    shape = _shape(args[1])
    if shape is None:
        return dt.Decimal(10, 0)
    digits = sum(c in "09" for c in shape)
    point = max(shape.find("."), shape.find("D"))
    scale = sum(c in "09" for c in shape[point:]) if point >= 0 else 0
    if digits > 38:
        said = f"Decimal precision {digits} exceeds max precision 38."
        raise Mismatch("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", said, whole=True)
    return dt.Decimal(digits, scale)


def _is_moment(t: dt.DataType) -> bool:
    return t in (dt.DATE, dt.TIMESTAMP, dt.TIMESTAMP_NTZ) or isinstance(t, (dt.Nanos, dt.Time))


_BYTES_AS = {"hex": "hex", "base64": "base64", "utf-8": "decode"}


def _to_char_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`ToCharacterBuilder`: a moment is formatted, bytes are encoded, all else is a decimal."""
    value, pattern = args
    if _is_moment(value.type):
        own = isinstance(value.type, dt.Nanos) or (isinstance(value.type, dt.Time) and not conf.before("4.3"))
        target = value.type if own else dt.TIMESTAMP
        return cast_implicitly(args, [target, ANY_STRING], conf)
    if value.type != dt.BINARY:
        return cast_implicitly(args, [DECIMAL, ANY_STRING], conf)
    if pattern.type != dt.STRING or not is_foldable(pattern):
        raise Mismatch("NON_FOLDABLE_ARGUMENT", "to_char needs a constant format for bytes.")
    if constant(pattern, "to_char") is None:
        raise Mismatch("INVALID_PARAMETER_VALUE.NULL", "to_char needs a format for bytes.")
    if str(constant(pattern, "to_char")).strip().lower() not in _BYTES_AS:
        raise Mismatch("INVALID_PARAMETER_VALUE.BINARY_FORMAT", "to_char knows hex, base64 and utf-8.")
    return args


def _check_to_char(args: Args, conf: Conf) -> Mismatch | None:
    value = args[0].type
    if value == dt.BINARY:
        return None
    expected: list[Expected | None] = [value if _is_moment(value) else DECIMAL, ANY_STRING]
    refused = check_inputs(args, expected) or (None if _is_moment(value) else foldable(1)(args, conf))
    if refused is None and not _is_moment(value):
        _shape(args[1])
    return refused


def _check_number_to_char(args: Args, conf: Conf) -> Mismatch | None:
    """Before Spark 4.0 numbers alone are written."""
    refused = foldable(1)(args, conf)
    if refused is None:
        _shape(args[1])
    return refused


def _print_to_char(call: Call, pretty: Pretty) -> str:
    value, pattern = call.args
    if _is_moment(value.type):
        return f"date_format({pretty(value)}, {pretty(pattern)})"
    if value.type == dt.BINARY:
        way = _BYTES_AS[str(constant(pattern, "to_char")).strip().lower()]
        name = "to_varchar" if call.shown == "to_varchar" else way
        return f"{name}({pretty(value)}{', ' + pretty(pattern) if way == 'decode' else ''})"
    return f"to_char({pretty(value)}, {pretty(pattern)})"


def _to_binary_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`ToBinary` looks at the format before it looks at what it formats."""
    at_once(foldable(1))(args, conf)
    name = constant(args[1], "to_binary") if len(args) == 2 else None
    if name is None or str(name).lower() in ("hex", "base64", "utf-8", "utf8"):
        return args
    raise Mismatch("INVALID_ARG_VALUE", "to_binary knows hex, base64, utf-8 and utf8.")


def _format(args: Args) -> str:
    return str(constant(args[1], "to_binary")).lower() if len(args) == 2 else "hex"


def _make_try(name: str, symbol: str, meet: a.Meet, rule: a.DecimalRule) -> Table:
    """`try_add` and the like: the operator, with NULL in place of an error."""

    def coerces(args: list[Expr], conf: Conf) -> list[Expr]:
        kinds = [x.type for x in args]
        if any(isinstance(t, dt.Interval) or t == dt.CALENDAR_INTERVAL or _is_moment(t) for t in kinds):
            if symbol == "%":
                return args  # No moment and no interval has a remainder.
            raise Unknown(f"{name} with dates or intervals")
        return meet(args, conf)

    fits = (lambda t: isinstance(t, dt.Decimal) or t == dt.DOUBLE) if symbol == "/" else dt.is_numeric
    own: dict[str, Any] = {"coerces": coerces, "coerce": Coerce.NONE, "check": same_operands(symbol, fits, "a numeric type")}
    return fn(name, (ANY, ANY), arithmetic_type(rule), ALWAYS, traits=PURE, show=print_by_name, tries=symbol, **own)


_FORMATTED = (ANY_STRING, ANY_STRING)

TABLE: Table = lines(
    fn("to_number", _FORMATTED, _number_type, EITHER, check=foldable(1), traits=RAISES),
    fn("try_to_number", _FORMATTED, _number_type, ALWAYS, check=foldable(1), traits=PURE),
    fn("to_char to_varchar", (ANY, ANY), dt.STRING, EITHER, coerces=_to_char_operands, coerce=Coerce.NONE, check=_check_to_char, alias=True, show=_print_to_char, since="4.0", traits=RAISES),
    fn("to_char to_varchar", (DECIMAL, ANY_STRING), dt.STRING, EITHER, check=_check_number_to_char, until="4.0", traits=RAISES),
    # Only base64 keeps its argument's nullability; before 4.0 what `encode` makes keeps it too.
    fn("to_binary", (ANY_STRING, Optional(ANY_STRING)), dt.BINARY, lambda args, conf: args[0].nullable or _format(args) != "base64", coerces=_to_binary_operands, since="4.0", traits=RAISES),
    fn("to_binary", (ANY_STRING, Optional(ANY_STRING)), dt.BINARY, lambda args, conf: args[0].nullable or _format(args) not in ("base64", "utf-8", "utf8"), coerces=_to_binary_operands, until="4.0", traits=RAISES),
    fn("try_to_binary", (ANY_STRING, Optional(ANY_STRING)), dt.BINARY, ALWAYS, coerces=at_once(foldable(1)), traits=PURE),
    _make_try("try_add", "+", a.arithmetic, a.sum_decimal),
    _make_try("try_subtract", "-", a.arithmetic, a.sum_decimal),
    _make_try("try_multiply", "*", a.arithmetic, a.product_decimal),
    _make_try("try_divide", "/", a.division, a.quotient_decimal),
    _make_try("try_mod", "%", a.arithmetic, a.remainder_decimal),
)
