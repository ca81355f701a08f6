"""The values of constant arguments: literals, casts of literals, and small functions over them.

Spark's analyzer evaluates some arguments (a scale, a format, a unit), and their values decide types and flags.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal as Number
from typing import Any

from planproof_engine.expr.function import EITHER, Mismatch
from planproof_engine.expr.nodes import Alias, Call, Cast, Expr, GetField, Literal
from planproof_engine.origin import Unknown
from planproof_engine.types import (
    DATE,
    LONG,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Array,
    DataType,
    is_integral,
    is_numeric,
    is_string,
)

Value = Any


class _Uncomputed(Exception):
    """The value would have to be computed by Spark."""


def constant(expr: Expr, function: str) -> Value:
    """The value of a foldable argument. Raises `Unknown` where only Spark could compute it."""
    try:
        return _compute(expr)
    except _Uncomputed:
        raise Unknown(f"a computed constant as argument of {function}") from None


def is_computable(expr: Expr) -> bool:
    """Whether `constant` knows the value."""
    try:
        _compute(expr)
    except (_Uncomputed, Mismatch):
        return False
    return True


def _compute(expr: Expr) -> Value:
    if isinstance(expr, Literal):
        return expr.value
    if isinstance(expr, Cast):
        return _convert(_compute(expr.child), expr)
    if isinstance(expr, GetField):
        return _compute(_find_field(expr))
    if not isinstance(expr, Call):
        raise _Uncomputed
    name, args = expr.function.name, expr.args
    if name == "typeof":
        return args[0].type.simple
    if name in _CASTS:
        return _convert(_compute(args[0]), Cast(args[0], expr.type, "legacy", True))
    if name == "if":
        return _compute(args[1] if _compute(args[0]) is True else args[2])
    if name in ("coalesce", "nvl", "ifnull"):
        return next((v for v in map(_compute, args) if v is not None), None)
    if name in _LENGTHS and isinstance(args[0], Call) and args[0].function.name == "array":
        return len(args[0].args)
    if name in _LENGTHS and isinstance(args[0].type, Array):
        raise _Uncomputed
    return _compute_call(expr, [_compute(a) for a in args])


_CASTS = ("bigint", "date", "decimal", "double", "float", "int", "smallint", "string", "tinyint")
_LENGTHS = ("size", "cardinality", "array_size")


def _find_field(expr: GetField) -> Expr:
    """The field of a struct that the expression itself builds (`SimplifyExtractValueOps`)."""
    made = _find_field(expr.child) if isinstance(expr.child, GetField) else expr.child
    if not isinstance(made, Call) or made.function.name not in ("struct", "named_struct"):
        raise _Uncomputed
    values = made.args[1::2] if made.function.name == "named_struct" else made.args
    value = values[expr.ordinal]
    return value.child if isinstance(value, Alias) else value


def _compute_call(call: Call, values: list[Value]) -> Value:
    """NULL where a value is, of a function that gives NULL for NULL and for nothing else."""
    signature = call.function
    compute = COMPUTED.get(signature.name)
    if compute is None:
        raise _Uncomputed
    if signature.nullable is EITHER and None in values:
        return None
    found = compute(values)
    if found is None or (isinstance(found, int) and not _holds(call.type, found)):
        raise _Uncomputed
    return found


def _holds(data_type: DataType, value: int) -> bool:
    bits = 63 if data_type == LONG else 31
    limit: int = 2**bits
    return -limit <= value < limit


def _convert(value: Value, cast: Cast) -> Value:
    """What Spark folds a cast to."""
    target = cast.type
    if value is None or (is_string(target) and isinstance(value, str)):
        return value
    if is_string(target) and type(value) is int:
        return str(value)
    if target == DATE and is_string(cast.child.type) and _DAY.fullmatch(value):
        return value
    if target == DATE and cast.child.type in (TIMESTAMP, TIMESTAMP_NTZ) and _DAY.match(value):
        return value[:10]
    if is_numeric(target) and isinstance(value, (str, int, float, Number)) and not isinstance(value, bool):
        number = _read_number(value, cast)
        return int(number) if number is not None and is_integral(target) else number
    raise _Uncomputed


def _read_number(value: str | float | Number, cast: Cast) -> float | Number | None:
    if not isinstance(value, str):
        return value
    try:
        return int(value) if is_integral(cast.type) else float(value)
    except ValueError:
        if cast.mode == "ansi":
            text = f"The value '{value}' cannot be cast to \"{cast.type.sql}\"."
            raise Mismatch("CAST_INVALID_INPUT", text, whole=True) from None
        return None


def _for_values_of(kind: type, compute: Callable[..., Value]) -> Callable[[list[Value]], Value]:
    """`compute`, for values that are all of one kind. For others the result is None: not known."""
    return lambda values: compute(*values) if values and all(type(v) is kind for v in values) else None


_DAY = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")
"""How the value of a date begins, and that of a timestamp, which is the session's wall clock."""


def _part_of_day(start: int, stop: int) -> Callable[[list[Value]], Value]:
    return _for_values_of(str, lambda day: int(day[start:stop]) if _DAY.fullmatch(day) else None)


def _substring(values: list[Value]) -> Value:
    text, start, *length = values
    if not isinstance(text, str) or not all(isinstance(v, int) for v in (start, *length)):
        return None
    begin = start - 1 if start > 0 else start + len(text) if start < 0 else 0
    end = len(text) if not length else begin + length[0]
    return text[max(begin, 0) : max(end, 0)]


def _divide(left: int, right: int) -> int | None:
    """The quotient, cut towards zero, as Java divides."""
    quotient = abs(left) // abs(right) if right else None
    return quotient if quotient is None or (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int | None:
    """The remainder, with the sign of the dividend."""
    quotient = _divide(left, right)
    return None if quotient is None else left - quotient * right


def _extreme(choose: Callable[[list[int]], int]) -> Callable[[list[Value]], Value]:
    """`greatest` and `least`, which pass over NULL."""

    def compute(values: list[Value]) -> Value:
        given = [v for v in values if v is not None]
        return choose(given) if given and all(type(v) is int for v in given) else None

    return compute


COMPUTED: Mapping[str, Callable[[list[Value]], Value]] = {
    "+": _for_values_of(int, lambda a, b: a + b),
    "-": _for_values_of(int, lambda a, b: a - b),
    "*": _for_values_of(int, lambda a, b: a * b),
    "negative": _for_values_of(int, lambda a: -a),
    "abs": _for_values_of(int, abs),
    "%": _for_values_of(int, _remainder),
    "mod": _for_values_of(int, _remainder),
    "div": _for_values_of(int, _divide),
    "&": _for_values_of(int, lambda a, b: a & b),
    "|": _for_values_of(int, lambda a, b: a | b),
    "^": _for_values_of(int, lambda a, b: a ^ b),
    "~": _for_values_of(int, lambda a: ~a),
    "/": lambda values: None if None in values or not values[1] else values[0] / values[1],
    "bit_count": _for_values_of(int, lambda a: bin(a & (2**64 - 1)).count("1")),
    "rint": _for_values_of(float, lambda a: float(round(a))),
    "greatest": _extreme(max),
    "least": _extreme(min),
    **dict.fromkeys(("length", "len", "char_length", "character_length"), _for_values_of(str, len)),
    "concat": _for_values_of(str, lambda *texts: "".join(texts)),
    "lower": _for_values_of(str, str.lower),
    "upper": _for_values_of(str, str.upper),
    "replace": _for_values_of(str, lambda text, old, new="": text.replace(old, new) if old else text),
    **dict.fromkeys(("chr", "char"), _for_values_of(int, lambda n: chr(n % 256) if n >= 0 else "")),
    "year": _part_of_day(0, 4),
    "month": _part_of_day(5, 7),
    **dict.fromkeys(("day", "dayofmonth"), _part_of_day(8, 10)),
    "reverse": _for_values_of(str, lambda text: text[::-1]),
    "concat_ws": _for_values_of(str, lambda between, *texts: between.join(texts)),
    "trim": _for_values_of(str, lambda text: text.strip(" ")),
    "ltrim": _for_values_of(str, lambda text: text.lstrip(" ")),
    "rtrim": _for_values_of(str, lambda text: text.rstrip(" ")),
    "substring": _substring,
    "substr": _substring,
}
"""Functions of constants that are computed here: values in, the value out, None where it is not known."""
