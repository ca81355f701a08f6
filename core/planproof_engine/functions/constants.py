"""The values of constant arguments: literals, casts of literals, and small functions over them. And numbers of 32 and
64 bits, as Java holds and writes them.

Spark's analyzer evaluates some arguments (a scale, a format, a unit), and their values decide types and flags.
"""

from __future__ import annotations

import operator
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, localcontext
from decimal import Decimal as Number
from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr import Call, Cast, Expr, GetField, Literal, drop_alias, struct_values
from planproof_engine.expr.function import EITHER, FIRST, Mismatch
from planproof_engine.ground import Unknown

# Numbers of Java


def round_float(value: float) -> float:
    """The nearest number of 32 bits."""
    try:
        found: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return found


def format_java_double(value: float, *, single: bool = False) -> str:
    """Java's `Double.toString` (or `Float.toString`), which Spark prints."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    shortest = _write_shortest(round_float(value)) if single else repr(value)
    if value == 0:
        return shortest if "." in shortest else f"{shortest}.0"
    mantissa, exponent = f"{Number(shortest):e}".lower().split("e")
    digits = mantissa.replace(".", "").replace("-", "").rstrip("0") or "0"
    power = int(exponent)
    sign = "-" if value < 0 else ""
    if -3 <= power < 7:
        plain = f"{Number(shortest):f}"
        return plain if "." in plain else f"{plain}.0"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"


def is_written_alike(value: float, *, single: bool = False) -> bool:
    """Whether every Java writes a number as `format_java_double` does. Before 19 some had more digits than they need
    (JDK-4511638): whole numbers that have no neighbour at a distance of one, up to some size, and the very small; Java
    17 was asked of 800,000 numbers."""
    size, (least, first, last) = abs(value), (1.2e-38, 2.0**24, 1e20) if single else (2.3e-308, 2.0**53, 1e30)
    return value == 0 or value != value or (least <= size and not first <= size < last)


def _write_shortest(value: float) -> str:
    """The fewest digits that tell a number of 32 bits from its neighbours."""
    return next((t for n in range(1, 9) if round_float(float(t := f"{value:.{n}g}")) == value), f"{value:.9g}")


# Values

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


def find_text(expr: Expr) -> str | None:
    """The value cast to a string, "null" for NULL; None where only Spark could compute it."""
    try:
        value = _compute(expr)
        return "null" if value is None else _write(value, expr.type)
    except (_Uncomputed, Mismatch):
        return None


_MOST = 1_000
_known: dict[int, tuple[Expr, Value]] = {}
"""Numbers that were computed last, and failures, by the identity of the expression: of a sum of thousands of terms each
sum within is asked for by itself. No text is kept: of a long concatenation they would take the square of its length."""


def _compute(expr: Expr) -> Value:
    if isinstance(expr, Literal):
        return round_float(expr.value) if expr.type == dt.FLOAT and expr.value is not None else expr.value
    known, value = _known.get(id(expr), (None, None))
    if known is not expr:
        try:
            value = _compute_anew(expr)
        except (_Uncomputed, Mismatch) as failure:
            value = failure
        if value is None or isinstance(value, (int, float, Number, _Uncomputed, Mismatch)):
            if len(_known) >= _MOST:
                _known.clear()
            _known[id(expr)] = expr, value
    if isinstance(value, (_Uncomputed, Mismatch)):
        raise value.with_traceback(None)  # Each raise would add to it.
    return value


def _compute_anew(expr: Expr) -> Value:
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
    if name in _CHOOSING:
        return _choose(name, args)
    if name in _LENGTHS and isinstance(args[0], Call) and args[0].function.name == "array":
        return len(args[0].args)
    if name in _LENGTHS and isinstance(args[0].type, dt.Array):
        raise _Uncomputed
    return _compute_call(expr, [_compute(a) for a in args])


_CASTS = ("bigint", "boolean", "date", "decimal", "double", "float", "int", "smallint", "string", "tinyint")
_CHOOSING = ("and", "coalesce", "if", "ifnull", "nvl", "or", "when")
_DECIDED = {"and": False, "or": True}
"""What decides the whole, whatever the other operand is."""
_LENGTHS = ("size", "cardinality", "array_size")


def _choose(name: str, args: Sequence[Expr]) -> Value:
    """The value of a function that passes over NULL, or asks a condition first."""
    if name in ("if", "when"):
        chosen = (v for c, v in zip(args[::2], args[1::2]) if _compute(c) is True)
        other = args[-1] if len(args) % 2 else None
        taken = next(chosen, other)
        return None if taken is None else _compute(taken)
    if name in _DECIDED:
        values = [_compute(a) for a in args]
        return _DECIDED[name] if _DECIDED[name] in values else None if None in values else not _DECIDED[name]
    return next((v for v in map(_compute, args) if v is not None), None)


def _find_field(expr: GetField) -> Expr:
    """The field of a struct that the expression itself builds (`SimplifyExtractValueOps`)."""
    made = _find_field(expr.child) if isinstance(expr.child, GetField) else expr.child
    values = struct_values(made)
    if values is None:
        raise _Uncomputed
    return drop_alias(values[expr.ordinal])


def _compute_call(call: Call, values: list[Value]) -> Value:
    """NULL where a value is, of a function that gives NULL for NULL and for nothing else."""
    signature = call.function
    compute = COMPUTED.get(signature.name)
    if compute is None:
        raise _Uncomputed
    if (signature.nullable is EITHER and None in values) or (signature.nullable is FIRST and values[0] is None):
        return None
    if signature.name in _OF_EQUALS and not all(a.type == dt.STRING or dt.is_numeric(a.type) for a in call.args):
        raise _Uncomputed
    found = compute(values)
    return found if isinstance(found, bool) else _fit(found, call.type)


def _fit(found: Value, data_type: dt.DataType) -> Value:
    """What is computed, as the type holds it."""
    if found is None or (isinstance(found, int) and not _holds(data_type, found)):
        raise _Uncomputed
    if isinstance(found, Number) and isinstance(data_type, dt.Decimal):
        found = round_half_up(found, data_type.scale)
        if abs(found) >= Number(10) ** (data_type.precision - data_type.scale):
            raise _Uncomputed
    return round_float(found) if data_type == dt.FLOAT and isinstance(found, float) else found


def round_half_up(value: Number, scale: int) -> Number:
    """The number with so many digits after the point (`Decimal.changePrecision`)."""
    with localcontext() as digits:
        digits.prec = 80
        return value.quantize(Number(1).scaleb(-scale), ROUND_HALF_UP)


def _holds(data_type: dt.DataType, value: int) -> bool:
    bits = 63 if data_type == dt.LONG else 31
    limit: int = 2**bits
    return -limit <= value < limit


def _convert(value: Value, cast: Cast) -> Value:
    """What Spark folds a cast to."""
    target = cast.type
    if value is None or (dt.is_string(target) and isinstance(value, str)):
        return value
    if dt.is_string(target):
        return _write(value, cast.child.type)
    if target == dt.DATE and dt.is_string(cast.child.type) and _DAY.fullmatch(value):
        return value
    if target == dt.DATE and cast.child.type in (dt.TIMESTAMP, dt.TIMESTAMP_NTZ) and _DAY.match(value):
        return value[:10]
    if target == dt.BOOLEAN and (isinstance(value, bool) or dt.is_integral(cast.child.type)):
        return bool(value)
    if target == dt.BOOLEAN and dt.is_string(cast.child.type) and value.strip().lower() in TRUTHS:
        return value.strip().lower() in TRUTHS[:5]
    if dt.is_numeric(target) and isinstance(value, (str, int, float, Number)) and not isinstance(value, bool):
        return _hold(_read_number(value, cast), target)
    raise _Uncomputed


TRUTHS = ("t", "true", "y", "yes", "1", "f", "false", "n", "no", "0")
"""The texts that are a BOOLEAN, those of true first (`SparkStringUtils.isTrueString`)."""


def _hold(number: float | Number | None, target: dt.DataType) -> Value:
    """The number as a value of the type."""
    if number is None:
        return None
    if dt.is_integral(target):
        return int(number)
    return _fit(Number(str(number)) if isinstance(target, dt.Decimal) else float(number), target)


def _write(value: Value, data_type: dt.DataType) -> str:
    """The value of a type as a string (`ToStringBase`)."""
    text = None
    if isinstance(value, str) and (data_type == dt.DATE or dt.is_string(data_type)):
        text = value
    elif isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, int) and dt.is_integral(data_type):
        text = str(value)
    elif isinstance(value, Number) and isinstance(data_type, dt.Decimal):
        text = format(round_half_up(value, data_type.scale), "f")
    elif isinstance(value, (int, float)) and data_type in (dt.DOUBLE, dt.FLOAT):
        is_single = data_type == dt.FLOAT
        text = format_java_double(value, single=is_single) if is_written_alike(value, single=is_single) else None
    if text is None:
        raise _Uncomputed
    return text


def _read_number(value: str | float | Number, cast: Cast) -> float | Number | None:
    if not isinstance(value, str):
        return value
    try:
        return int(value) if dt.is_integral(cast.type) else float(value)
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


def _arithmetic(compute: Callable[..., Value]) -> Callable[[list[Value]], Value]:
    """`compute`, for numbers of one kind: whole ones, decimals or floating ones."""

    def of(values: list[Value]) -> Value:
        kinds = {type(v) for v in values}
        if len(kinds) != 1 or not kinds <= {int, float, Number}:
            return None
        with localcontext() as digits:
            digits.prec = 80
            return compute(*values)

    return of


def _comparison(compute: Callable[[Value, Value], bool]) -> Callable[[list[Value]], Value]:
    """`compute`, for two numbers, or two strings, which Spark compares by their bytes."""

    def of(values: list[Value]) -> Value:
        if not (all(type(v) is str for v in values) or all(type(v) in (int, Number) for v in values)):
            return None
        left, right = (v.encode() if isinstance(v, str) else v for v in values)
        return compute(left, right)

    return of


def _pad(left: bool) -> Callable[[list[Value]], Value]:
    """`lpad` and `rpad`, which cut a text that is too long."""

    def compute(values: list[Value]) -> Value:
        text, length, *given = values
        pad = given[0] if given else " "
        if type(length) is not int or not isinstance(text, str) or not isinstance(pad, str) or length > _LONGEST:
            return None
        missing = (pad * max(length, 0))[: max(length - len(text), 0)]
        return (missing + text if left and missing else text + missing)[: max(length, 0)]

    return compute


def _capitalize(text: str) -> Value:
    """Java has capitals of its own for some letters beyond ASCII."""
    words = (w[:1].upper() + w[1:].lower() for w in text.split(" "))
    return " ".join(words) if text.isascii() else None


def _repeat(values: list[Value]) -> Value:
    text, times = values
    known = isinstance(text, str) and type(times) is int and times * len(text) <= _LONGEST
    return text * times if known else None


_LONGEST = 1000
"""Of how many characters a text is still made here."""

_COMPARING: Mapping[str, Callable[[list[Value]], Value]] = {
    **dict.fromkeys(("=", "=="), _comparison(operator.eq)),
    "<": _comparison(operator.lt),
    "<=": _comparison(operator.le),
    ">": _comparison(operator.gt),
    ">=": _comparison(operator.ge),
}

_OF_EQUALS = (*_COMPARING, "<=>", "in")

COMPUTED: Mapping[str, Callable[[list[Value]], Value]] = {
    **_COMPARING,
    **dict.fromkeys(("not", "!"), _for_values_of(bool, operator.not_)),
    "<=>": lambda values: values[0] is values[1] if None in values else _COMPARING["="](values),
    "in": lambda values: any(v == values[0] for v in values[1:]) if len({type(v) for v in values}) == 1 else None,
    "positive": lambda values: values[0],
    **dict.fromkeys(("format_string", "printf"), _for_values_of(str, lambda text, *_: None if "%" in text else text)),
    "isnull": lambda values: values[0] is None,
    "isnotnull": lambda values: values[0] is not None,
    "+": _arithmetic(operator.add),
    "-": _arithmetic(operator.sub),
    "*": _arithmetic(operator.mul),
    "negative": _for_values_of(int, lambda a: -a),
    "abs": _for_values_of(int, abs),
    **dict.fromkeys(("%", "mod"), _for_values_of(int, _remainder)),
    "div": _for_values_of(int, _divide),
    "&": _for_values_of(int, lambda a, b: a & b),
    "|": _for_values_of(int, lambda a, b: a | b),
    "^": _for_values_of(int, lambda a, b: a ^ b),
    "~": _for_values_of(int, lambda a: ~a),
    "/": _arithmetic(lambda a, b: a / b if b else None),
    "bit_count": _for_values_of(int, lambda a: bin(a & (2**64 - 1)).count("1")),
    "rint": _for_values_of(float, lambda a: float(round(a))),
    "greatest": _extreme(max),
    "least": _extreme(min),
    **dict.fromkeys(("length", "len", "char_length", "character_length"), _for_values_of(str, len)),
    "concat": _for_values_of(str, lambda *texts: "".join(texts)),
    "initcap": _for_values_of(str, _capitalize),
    "lower": _for_values_of(str, str.lower),
    "upper": _for_values_of(str, str.upper),
    "replace": _for_values_of(str, lambda text, old, new="": text.replace(old, new) if old else text),
    **dict.fromkeys(("chr", "char"), _for_values_of(int, lambda n: chr(n % 256) if n >= 0 else "")),
    "year": _part_of_day(0, 4),
    "month": _part_of_day(5, 7),
    **dict.fromkeys(("day", "dayofmonth"), _part_of_day(8, 10)),
    "reverse": _for_values_of(str, lambda text: text[::-1]),
    "concat_ws": _for_values_of(str, lambda between, *texts: between.join(texts)),
    "trim": _for_values_of(str, lambda text, *chars: None if chars else text.strip(" ")),
    "ltrim": _for_values_of(str, lambda text, *chars: None if chars else text.lstrip(" ")),
    "rtrim": _for_values_of(str, lambda text, *chars: None if chars else text.rstrip(" ")),
    "lpad": _pad(left=True),
    "rpad": _pad(left=False),
    "repeat": _repeat,
    **dict.fromkeys(("substring", "substr"), _substring),
}
"""Functions of constants that are computed here: values in, the value out, None where it is not known."""
