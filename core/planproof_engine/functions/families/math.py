"""Mathematics, bits, vectors (which are arrays of float), and numbers as text and back.

Source: `mathExpressions.scala`, `arithmetic.scala`, `bitwiseExpressions.scala`, `bitmapExpressions.scala`,
`vectorExpressions.scala`, `numberFormatExpressions.scala`, `ToBinary`, `TryEval.scala`.
"""

from __future__ import annotations

from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr.function import (
    ALWAYS, EITHER, EVERY, NEVER, Args, Category, Coerce, Many, Mismatch, Optional,
)
from planproof_engine.expr.nodes import Call, Expr, Literal
from planproof_engine.expr.traits import ANSI_RAISES, PURE, RAISES, Cost, Evaluates, Magnitude, Traits, every
from planproof_engine.functions import arithmetic as a
from planproof_engine.functions import numberformat
from planproof_engine.functions.bind import cast_to_common, make_types_mismatch
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.line import (
    Pretty, Table, at_once, cast_implicitly, check_inputs, checks, fn, foldable, is_foldable, lines, lit, merged_type,
    one_type, orderable, print_by_name, prove_null_for_null, text_of, type_of, uncast,
)
from planproof_engine.functions.families.operators import arithmetic_type, same_operands
from planproof_engine.ground import Conf, Unknown, evolve
from planproof_engine.types.coercion import bound_decimal, find_wider_without_strings
from planproof_engine.types.kinds import (
    ANY, ANY_STRING, DAY_TIME, DECIMAL, INTEGRAL, NUMERIC, YEAR_MONTH, Expected, OneOf,
)

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
    traits = evolve(ANSI_RAISES, evaluates=Evaluates.TO_NULL, magnitude=Magnitude.GROWS)
    return fn(names, (ANY, Optional(ANY)), returns, ALWAYS, evidence=_prove_rounding, traits=traits, **own)


def _extreme(name: str) -> Table:
    """`greatest` and `least` meet without turning anything into strings."""
    return fn(name, (Many(ANY, 2),), merged_type(), EVERY, coerces=lambda args, conf: cast_to_common(args, conf, find_wider_without_strings), coerce=Coerce.NONE, check=checks(one_type(name), orderable), traits=evolve(PURE, hands_on=every))


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


_SHIFTED = OneOf((dt.INT, dt.LONG))


def _shift(name: str, symbol: str) -> Table:
    """A shift is printed as it was written: by its name, or by its symbol."""

    def show(call: Call, pretty: Pretty) -> str:
        left, right = (pretty(a) for a in call.args)
        return f"({left} {symbol} {right})" if call.shown == symbol else f"{call.shown}({left}, {right})"

    own: dict[str, Any] = {"alias": True, "show": show, "traits": PURE}
    return fn(f"{name} {symbol}", (_SHIFTED, dt.INT), type_of(0), EITHER, **own)


_VECTOR = dt.Array(dt.FLOAT, True)
_DEGREE = Optional(ANY, Literal(2.0, dt.FLOAT, "2.0"))


def _of(*expected: Expected) -> dict[str, Any]:
    return {"coerce": Coerce.NONE, "check": uncast(*expected), "traits": RAISES}


_AGG: dict[str, Any] = {"category": Category.AGGREGATE, "foldable": False}


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
    fn("abs", (_NUMBER_OR_INTERVAL,), type_of(0), EITHER, traits=evolve(ANSI_RAISES, total_over_floats=True, cost=Cost.FEW, magnitude=Magnitude.GROWS)),
    *map(_real, ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "cot", "csc", "degrees", "exp", "expm1", "radians", "sec", "sin", "sinh", "tan", "tanh")),
    _log("ln", "ln"),
    *map(_log, ("log10", "log1p", "log2")),
    _real("rint", "rint"),
    _real("sqrt", traits=evolve(PURE, evaluates=Evaluates.TO_NULL)),
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
    fn("round, bround", _ROUND, _round_type, ALWAYS, check=foldable(1), evidence=_prove_rounding, traits=evolve(ANSI_RAISES, total_over_floats=True, evaluates=Evaluates.LAST_FIRST, magnitude=Magnitude.GROWS)),
    fn("factorial", (dt.INT,), dt.LONG, ALWAYS, traits=PURE),
    fn("bin", (dt.LONG,), dt.STRING, EITHER, traits=PURE),
    fn("hex", (OneOf((dt.LONG, dt.BINARY, ANY_STRING)),), text_of(0), EITHER, traits=PURE),
    fn("unhex", (ANY_STRING,), dt.BINARY, ALWAYS, traits=PURE),
    fn("conv", (ANY_STRING, dt.INT, dt.INT), type_of(0), ALWAYS, traits=ANSI_RAISES),
    fn("width_bucket", (_SIGNED, _SIGNED, _SIGNED, dt.LONG), dt.LONG, ALWAYS, check=_check_one_scale, traits=PURE),
    fn("pmod", (ANY, ANY), arithmetic_type(a.remainder_decimal), ALWAYS, coerces=a.remainder, coerce=Coerce.NONE, check=same_operands("pmod", dt.is_numeric, "a numeric type"), traits=evolve(ANSI_RAISES, strict=True, evaluates=Evaluates.LAST_FIRST)),
    *map(_extreme, ("greatest", "least")),
    fn("bit_count", (OneOf((INTEGRAL, dt.BOOLEAN)),), dt.INT, EITHER, coerce=Coerce.EXPECTS, traits=PURE),
    fn("bit_get getbit", (INTEGRAL, dt.INT), dt.BYTE, EITHER, alias=True, traits=RAISES),
    _shift("shiftleft", "<<"),
    _shift("shiftright", ">>"),
    _shift("shiftrightunsigned", ">>>"),
    fn("bitmap_bit_position, bitmap_bucket_number", (dt.LONG,), dt.LONG, EITHER, traits=PURE),
    fn("bitmap_count", (dt.BINARY,), dt.LONG, EITHER, coerce=Coerce.NONE, check=uncast(dt.BINARY), traits=PURE),
    fn("vector_cosine_similarity, vector_inner_product, vector_l2_distance", (ANY, ANY), dt.FLOAT, ALWAYS, **_of(_VECTOR, _VECTOR)),
    fn("vector_norm", (ANY, _DEGREE), dt.FLOAT, ALWAYS, **_of(_VECTOR, dt.FLOAT)),
    fn("vector_normalize", (ANY, _DEGREE), _VECTOR, ALWAYS, **_of(_VECTOR, dt.FLOAT)),
    fn("vector_avg, vector_sum", (ANY,), dt.Array(dt.FLOAT, False), ALWAYS, **_of(_VECTOR), **_AGG),
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
