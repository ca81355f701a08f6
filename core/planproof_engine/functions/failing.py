"""Constants that raise when Spark computes them, which it does at once for VALUES.

What is not known to raise counts as sound. Source: the `eval` of each expression, and `Cast`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr import Call, Cast, Expr, Lambda, Literal
from planproof_engine.functions.constants import TRUTHS, constant, is_computable
from planproof_engine.ground import Conf
from planproof_engine.zone import is_region

UNEVALUABLE = ("array_sort", "assert_true", "raise_error")
"""Functions that the analyzer does not compute, whatever their arguments are."""

_LAZY = frozenset(("if", "case", "when", "coalesce", "nvl", "ifnull", "nvl2", "and", "or", "nullif"))
_BITS: dict[dt.DataType, int] = {dt.BYTE: 7, dt.SHORT: 15, dt.INT: 31, dt.LONG: 63}
_MOMENTS = (dt.DATE, dt.TIMESTAMP, dt.TIMESTAMP_NTZ)
_CASTS = ("bigint", "date", "decimal", "double", "float", "int", "smallint", "timestamp", "tinyint")


def raises(expr: Expr, conf: Conf) -> bool:
    """Whether the constant is known to raise when it is computed."""
    return any(_raises(part, conf) for part in _list_computed(expr))


def find_failure(expr: Expr, conf: Conf) -> str | None:
    """The condition of the error that computing the constant is known to raise; None for none, or for another one."""
    for part in _list_computed(expr):
        if _raises(part, conf):
            if isinstance(part, Cast) or (isinstance(part, Call) and part.function.name in _CASTS):
                return "CAST_INVALID_INPUT" if dt.is_string(part.children[0].type) else "CAST_OVERFLOW"
            return _CONDITIONS.get(part.function.name) if isinstance(part, Call) else None
    return None


_CONDITIONS = {
    **dict.fromkeys(("%", "/", "div", "mod"), "DIVIDE_BY_ZERO"),
    **dict.fromkeys(("*", "+", "-", "abs", "negative"), "ARITHMETIC_OVERFLOW"),
}


def _list_computed(expr: Expr) -> Iterator[Expr]:
    """The parts that are computed whatever the values of the others are."""
    if isinstance(expr, Lambda) or (isinstance(expr, Call) and expr.function.name.startswith("try_")):
        return
    yield expr
    if isinstance(expr, Call) and expr.function.name in ("collation", "typeof"):
        return  # The type alone is looked at.
    lazy = isinstance(expr, Call) and expr.function.name in _LAZY
    for child in expr.children[:1] if lazy else expr.children:
        yield from _list_computed(child)


def is_no_value(text: str) -> bool:
    """Whether a text can be no number and no moment: it has no digit, and is none of the words that stand for one."""
    words = ("epoch", "inf", "infinity", "nan", "now", "today", "tomorrow", "yesterday")
    return not any(c.isdigit() for c in text) and text.strip().lower().lstrip("+-") not in words


def _raises(expr: Expr, conf: Conf) -> bool:
    if isinstance(expr, Cast):
        if expr.mode == "try":
            return False
        return _fails(expr.child, expr.type, expr.mode == "ansi")
    if not isinstance(expr, Call):
        return False
    name, args = expr.function.name, expr.args
    if name in _CASTS:
        return _fails(args[0], expr.type, conf.ansi)
    if name == "to_number" and _find_value(args[0], str) == "":
        # A format with a point or commas took an empty text for NULL before 4.1.
        return not conf.before("4.1") or not re.search("[.,DG]", _find_value(args[1], str) or ".", re.I)
    always, ansi = _ALWAYS.get(name), _ANSI.get(name) if conf.ansi else None
    return any(rule is not None and rule(args, expr.type) for rule in (always, ansi))


def _find_value(expr: Expr, kind: type) -> Any:
    """The value of a constant, where it is known and of this kind."""
    value = constant(expr, "VALUES") if is_computable(expr) else None
    return value if type(value) is kind else None


def _fails(child: Expr, target: dt.DataType, ansi: bool) -> bool:
    if isinstance(target, dt.Array) and isinstance(child, Call) and child.function.name == "array":
        return any(_fails(value, target.element, ansi) for value in child.args)
    text = _find_value(child, str) if dt.is_string(child.type) else None
    if text is not None:
        if ansi and target in _BITS:
            whole = re.fullmatch(r"\s*([+-]?\d{1,99})\s*", text)
            return whole is None or _overflows(int(whole[1]), target)
        if ansi and target == dt.BOOLEAN:
            return text.strip().lower() not in TRUTHS
        takes = ansi and (dt.is_numeric(target) or target in _MOMENTS)
        return (takes or isinstance(target, dt.Interval)) and is_no_value(text)
    value = child.value if isinstance(child, Literal) and dt.is_numeric(child.type) else None
    if value is None or not ansi:
        return False
    if isinstance(target, dt.Decimal):
        return bool(abs(value) >= 10 ** (target.precision - target.scale))
    return target in _BITS and _overflows(int(value), target)


def _overflows(value: int, data_type: dt.DataType) -> bool:
    bits = _BITS.get(data_type)
    return bits is not None and not -(2**bits) <= value < 2**bits


Rule = Callable[[Sequence[Expr], dt.DataType], bool]


def _divides_by_zero(args: Sequence[Expr], data_type: dt.DataType) -> bool:
    divisor = args[1]
    while isinstance(divisor, Cast):
        divisor = divisor.child
    return isinstance(divisor, Literal) and dt.is_numeric(divisor.type) and divisor.value == 0 and not args[0].nullable


def _make_result_rule(compute: Callable[..., int]) -> Rule:
    """A rule for whole numbers: the result does not fit its type."""

    def rule(args: Sequence[Expr], data_type: dt.DataType) -> bool:
        values = [_find_value(a, int) for a in args]
        return data_type in _BITS and None not in values and _overflows(compute(*values), data_type)

    return rule


def _make_place_rule(first: int) -> Rule:
    """A rule for places in an array that the query lists, counted from `first`."""

    def rule(args: Sequence[Expr], data_type: dt.DataType) -> bool:
        at, made = _find_value(args[1], int), args[0]
        if at is None or not isinstance(made, Call) or made.function.name != "array":
            return False
        return abs(at) >= len(made.args) + first or (at < 0 and first == 0)

    return rule


def _has_no_end(args: Sequence[Expr], data_type: dt.DataType) -> bool:
    """`sequence` that goes the wrong way, or nowhere."""
    values = [_find_value(a, int) for a in args]
    if len(values) < 3 or None in values:
        return False
    start, stop, step = values
    return bool(start != stop and (stop - start) * step <= 0)


def _is_malformed(args: Sequence[Expr], data_type: dt.DataType) -> bool:
    """A pattern whose brackets do not meet."""
    pattern = _find_value(args[1], str) if len(args) > 1 else None
    if pattern is None or not re.fullmatch(r"[\w ()\[\]]*", pattern):
        return False
    try:
        re.compile(pattern)
    except re.error:
        return True
    return False


def _has_key_of_odd_length(args: Sequence[Expr], data_type: dt.DataType) -> bool:
    key = args[1].child if isinstance(args[1], Cast) else args[1]
    text = key.value if isinstance(key, Literal) else None
    return isinstance(text, str) and len(text.encode()) not in (16, 24, 32)


def _has_no_conversion(args: Sequence[Expr], data_type: dt.DataType) -> bool:
    text = _find_value(args[0], str)
    return (
        text is not None
        and bool(re.search(r"%[-#+ 0,(<]*(?:[1-9]\d*)?(?:\.\d+)?[g-zA-Z]", text))
        and not re.search(_CONVERSION, text)
    )


_CONVERSION = r"%(?:\d+\$)?[-#+ 0,(<]*(?:[1-9]\d*)?(?:\.\d+)?(?:[bBhHsScCdoxXeEfgGaAn%]|[tT].)"
"""Java's `Formatter`: place, flags, width, precision, conversion."""


def _has_no_digits(args: Sequence[Expr], data_type: dt.DataType) -> bool:
    text = _find_value(args[0], str)
    return text is not None and not any(c.isdigit() for c in text)


def _is_no_moment(args: Sequence[Expr], data_type: dt.DataType) -> bool:
    text = _find_value(args[0], str) if args else None
    return text is not None and is_no_value(text)


def _is_no_date(args: Sequence[Expr], data_type: dt.DataType) -> bool:
    month, day = (_find_value(a, int) for a in args[1:3])
    return (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31)


def _is_no_json(args: Sequence[Expr], data_type: dt.DataType) -> bool:
    text = _find_value(args[0], str)
    if text is None:
        return False
    try:
        _JSON.raw_decode(text.strip())
    except ValueError:
        return True
    return bool(re.match(r"\s*-?0\d", text))


def _refuse(found: object) -> None:
    """Refuses NaN, an infinite number, and an object with a key twice."""
    if not isinstance(found, list) or len(dict(found)) < len(found):
        raise ValueError(found)


_JSON = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_refuse)


def _make_value_rule(place: int, fails: Callable[[Any, Sequence[Expr]], bool], kind: type = int) -> Rule:
    """A rule for the value of one argument, where no other may be NULL, beside which nothing is looked at."""

    def rule(args: Sequence[Expr], data_type: dt.DataType) -> bool:
        value = _find_value(args[place], kind) if place < len(args) else None
        return value is not None and not any(a.nullable for a in args) and fails(value, args)

    return rule


def _make_pattern_rule(letters: str, parses: bool) -> Rule:
    """A rule for patterns of dates with letters that no formatter takes, be it Java's old one or its new one
    (`DateTimeFormatterHelper.convertIncompatiblePattern`, `SimpleDateFormat`): what the others take is a setting's."""

    def fails(pattern: str, args: Sequence[Expr]) -> bool:
        read = dt.is_string(args[0].type) or not parses
        return read and bool(set(re.sub("'[^']*'", "", pattern)) & set(letters))

    return _make_value_rule(1, fails, str)


_LETTERS = "ABCIJNPRTUbcefgijlnoprt"


_AREAS = (
    *("Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Brazil", "Canada", "Chile"),
    *("Etc", "Europe", "Indian", "Mexico", "Pacific", "SystemV", "US"),
)


def _is_no_zone(name: str, args: Sequence[Expr]) -> bool:
    """Whether a name that looks like a region's is none (`ZoneId.of`); those of three letters may be short for one, and
    an area may have got another place since. Some machines lack the older names: there nobody knows."""
    looks = re.fullmatch(r"[A-Za-z]{4,}(/[A-Za-z_]+)?", name) is not None and name.partition("/")[0] not in _AREAS
    return looks and not is_region(name) and is_region("US/Pacific")


_PATTERNS = ("rlike", "regexp", "regexp_like", "regexp_extract", "regexp_extract_all", "regexp_replace", "split")

_READING = ("to_date", "to_timestamp", "to_unix_timestamp", "unix_timestamp")

_ALWAYS: Mapping[str, Rule] = {
    **dict.fromkeys(_PATTERNS, _is_malformed),
    **dict.fromkeys(
        ("bit_get", "getbit"), _make_value_rule(1, lambda place, args: not 0 <= place <= _BITS.get(args[0].type, place))
    ),
    **dict.fromkeys(("date_format", "from_unixtime"), _make_pattern_rule(_LETTERS, parses=False)),
    **dict.fromkeys(("from_utc_timestamp", "to_utc_timestamp"), _make_value_rule(1, _is_no_zone, str)),
    **dict.fromkeys(_READING, _make_pattern_rule(_LETTERS + "Qq", parses=True)),
    **dict.fromkeys(("aes_decrypt", "aes_encrypt"), _has_key_of_odd_length),
    "array_insert": _make_value_rule(1, lambda place, args: place == 0),
    "element_at": _make_value_rule(1, lambda place, args: place == 0 and isinstance(args[0].type, dt.Array)),
    "parse_json": _is_no_json,
    **dict.fromkeys(("format_string", "printf"), _has_no_conversion),
    "sequence": _has_no_end,
    "slice": _make_value_rule(1, lambda start, args: start == 0 or (_find_value(args[2], int) or 0) < 0),
    "to_number": _has_no_digits,
    "url_decode": _make_value_rule(0, lambda text, args: re.search(r"%(?![0-9A-Fa-f+-]{2})", text) is not None, str),
}
"""What raises in both modes."""

_ANSI: Mapping[str, Rule] = {
    **dict.fromkeys(("%", "/", "div", "mod", "pmod"), _divides_by_zero),
    "*": _make_result_rule(lambda a, b: a * b),
    "+": _make_result_rule(lambda a, b: a + b),
    "-": _make_result_rule(lambda a, b: a - b),
    "abs": _make_result_rule(abs),
    "element_at": _make_place_rule(1),
    "getarrayitem": _make_place_rule(0),
    **dict.fromkeys(("make_date", "make_timestamp"), _is_no_date),
    "negative": _make_result_rule(lambda a: -a),
    **dict.fromkeys(_READING, _is_no_moment),
}
