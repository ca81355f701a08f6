"""How a line of a function table is written, and the rules that lines share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr.function import (
    EITHER, Adjust, Args, Check, Coerce, Input, Mismatch, NullRule, Signature, TypeRule,
)
from planproof_engine.expr.nodes import Alias, Call, Cast, Expr, GetField, Literal
from planproof_engine.functions.bind import cast_argument, make_input_mismatch, make_types_mismatch
from planproof_engine.functions.collation import find_open_collation
from planproof_engine.ground import Conf
from planproof_engine.types.coercion import merge_flags
from planproof_engine.types.kinds import Expected, accepts, is_orderable, spelling

Table = list[tuple[str, Signature]]
Pretty = Callable[[Expr], str]


def fn(
    names: str,
    /,
    inputs: list[Input] | tuple[Input, ...],
    returns: dt.DataType | TypeRule,
    nullable: NullRule,
    printed: str | None = None,
    **more: Any,
) -> Table:
    """One line. `names` is the name that Spark prints, then its aliases; an alias is printed where `alias=True`. A comma
    stands between functions that differ in nothing but their names.

    `printed` is what Spark prints where that is no name of the function, such as `ACOS` for acos.
    """
    found: Table = []
    for first, *aliases in map(str.split, names.split(",")):
        function = Signature(printed or first, tuple(inputs), returns, nullable, **more)
        found += [(name, function) for name in (first, *aliases)]
    return found


def lines(*tables: Table) -> Table:
    """Several lines as one table."""
    return [line for t in tables for line in t]


def type_of(index: int) -> TypeRule:
    """The result has the type of the argument at `index`."""
    return lambda args, conf: args[index].type


def element(index: int) -> TypeRule:
    """The result has the element type of the array at `index`."""
    return lambda args, conf: array_at(args, index).element


def array_of(index: int, contains_null: bool | None = None) -> TypeRule:
    """The result is an array of what the argument at `index` is, whose nulls it holds where nothing else is said."""

    def rule(args: Args, conf: Conf) -> dt.DataType:
        return dt.Array(args[index].type, args[index].nullable if contains_null is None else contains_null)

    return rule


def array_at(args: Args, index: int = 0) -> dt.Array:
    """The type of an argument that must be an array. Raises `Mismatch`."""
    found = args[index].type
    if not isinstance(found, dt.Array):
        raise Mismatch("UNEXPECTED_INPUT_TYPE", f'The first parameter requires the "ARRAY" type, not "{found.sql}".')
    return found


def map_at(args: Args, index: int = 0) -> dt.Map:
    """The type of an argument that must be a map. Raises `Mismatch`."""
    found = args[index].type
    if not isinstance(found, dt.Map):
        raise Mismatch("UNEXPECTED_INPUT_TYPE", f'The first parameter requires the "MAP" type, not "{found.sql}".')
    return found


def lit(value: int | str | bool) -> Literal:
    """A default argument, printed as Spark prints it."""
    if isinstance(value, str):
        return Literal(value, dt.STRING, value)
    return Literal(value, dt.INT, str(value))


def prints(form: str) -> Callable[[Call, Pretty], str]:
    """Prints a call as `form` says: `{0}` is its first argument."""
    texts = re.split(r"\{(\d)\}", form)

    def show(call: Call, pretty: Pretty) -> str:
        return "".join(pretty(call.args[int(text)]) if at % 2 else text for at, text in enumerate(texts))

    return show


def prints_first(count: int) -> Callable[[Call, Pretty], str]:
    """Prints a call by its name in the query, with no more arguments than `count`."""
    return lambda call, pretty: f"{call.shown}({', '.join(pretty(a) for a in call.args[:count])})"


def binary(symbol: str) -> Callable[[Call, Pretty], str]:
    """Prints a call as `(left symbol right)`."""
    return prints(f"({{0}} {symbol} {{1}})")


_REPLACED = frozenset(
    ["aes_decrypt", "aes_encrypt", "array_compact", "array_prepend", "array_size", "between", "btrim", "convert_timezone", "current_catalog", "current_database", "current_path", "current_schema", "current_user", "date_part", "datepart", "decode", "elt", "equal_null", "extract", "hmac", "ifnull", "ilike", "is_valid_utf8", "jaro_winkler_similarity", "left", "luhn_check", "make_time", "make_valid_utf8", "nullif", "nullifzero", "nvl", "nvl2", "parse_url", "regexp_count", "regexp_substr", "right", "session_user", "split_part", "st_geogfromwkb", "st_geomfromwkb", "to_binary", "to_date", "to_time", "to_timestamp", "to_timestamp_ltz", "to_timestamp_ntz", "try_add", "try_aes_decrypt", "try_divide", "try_make_interval", "try_mod", "try_multiply", "try_parse_url", "try_subtract", "try_to_binary", "try_to_date", "try_to_time", "try_to_timestamp", "try_url_decode", "try_validate_utf8", "url_decode", "url_encode", "user", "validate_utf8", "variant_delete", "variant_strip_nulls", "zeroifnull"]
)
"""What Spark replaces after its analysis (`RuntimeReplaceable`, `CurrentUser` and its like): before that, nothing of it
is foldable. What an older Spark folds is left out."""


def is_foldable(expr: Expr) -> bool:
    """`Expression.foldable`: Spark can compute it before it reads a row."""
    if isinstance(expr, Literal):
        return True
    if isinstance(expr, (Alias, Cast, GetField)):  # An alias in a struct is the name of a field.
        return is_foldable(expr.child)
    if isinstance(expr, Call):
        name, function = expr.function.name, expr.function
        fixed = function.foldable and not function.traits.volatile and name not in _REPLACED
        return fixed and (name == "typeof" or all(is_foldable(arg) for arg in expr.args))
    return False


def null_where_it_fails(args: Args, conf: Conf) -> bool:
    """With ANSI off, a text that cannot be parsed and a date or moment that does not exist become NULL."""
    return not conf.ansi or EITHER(args, conf)


def check_keys(types: Sequence[dt.DataType]) -> Mismatch | None:
    """Refuses keys of a map that hold a map or a variant (`TypeUtils.checkForMapKeyType`)."""
    if any(isinstance(part, dt.Map) or part == dt.VARIANT for key in types for part in dt.walk(key)):
        return Mismatch("INVALID_MAP_KEY_TYPE", "The key of map cannot be/contain a map or a variant.")
    return None


def must(holds: Callable[[Args, Conf], object], condition: str, message: str, *, whole: bool = False) -> Check:
    """Refuses arguments for which `holds` does not; `{0}` in the message is the first one's type."""

    def check(args: Args, conf: Conf) -> Mismatch | None:
        if holds(args, conf):
            return None
        return Mismatch(condition, message.format(*(a.type.sql for a in args)), whole)

    return check


def wants(index: int, fits: Callable[[dt.DataType], object], wanted: str) -> Check:
    """Refuses an argument whose type does not fit (UNEXPECTED_INPUT_TYPE)."""
    return lambda args, conf: None if fits(args[index].type) else make_input_mismatch(index, args[index], wanted)


def at_once(check: Check) -> Adjust:
    """Spark looks at this before it looks at the types of the arguments."""

    def look(args: list[Expr], conf: Conf) -> list[Expr]:
        if (refused := check(args, conf)) is not None:
            raise refused
        return args

    return look


def uncast(*expected: Expected | None) -> Check:
    """Refuses arguments of other types: not even a bare NULL is cast."""
    return lambda args, conf: check_inputs(args, expected)


def implicit(*expected: Expected | None) -> Adjust:
    """Casts the arguments to these types, where that is implicit."""
    return lambda args, conf: cast_implicitly(args, expected, conf)


def not_null(*places: int) -> Check:
    """Refuses constants at `places` that are NULL (UNEXPECTED_NULL)."""

    def check(args: Args, conf: Conf) -> Mismatch | None:
        for place in places:
            if place < len(args) and is_null(args[place]):
                return Mismatch("UNEXPECTED_NULL", f"argument {place + 1} must not be NULL.")
        return None

    return check


def is_null(expr: Expr) -> bool:
    """Whether the expression is a NULL that was written, with or without casts around it."""
    while isinstance(expr, Cast):
        expr = expr.child
    return isinstance(expr, Literal) and expr.value is None


def foldable(*places: int) -> Check:
    """Refuses arguments at `places` that are no constants (NON_FOLDABLE_INPUT)."""

    def check(args: Args, conf: Conf) -> Mismatch | None:
        for place in places:
            if place < len(args) and not is_foldable(args[place]):
                return Mismatch("NON_FOLDABLE_INPUT", f"argument {place + 1} must be a foldable expression.")
        return None

    return check


def checks(*rules: Check) -> Check:
    """The first refusal of several checks."""

    def check(args: Args, conf: Conf) -> Mismatch | None:
        return next((found for rule in rules if (found := rule(args, conf)) is not None), None)

    return check


def one_type(name: str) -> Check:
    """Refuses arguments of different types (DATA_DIFF_TYPES)."""

    def check(args: Args, conf: Conf) -> Mismatch | None:
        if all(dt.same_type(a.type, args[0].type, conf.case_sensitive) for a in args[1:]):
            return None
        return find_open_collation(name, args) or make_types_mismatch(name, args)

    return check


def orderable(args: Args, conf: Conf) -> Mismatch | None:
    """Refuses types that cannot be ordered (INVALID_ORDERING_TYPE)."""
    first = next((a.type for a in args if not is_orderable(a.type)), None)
    return None if first is None else Mismatch("INVALID_ORDERING_TYPE", f'"{first.sql}" cannot be ordered.')


def cast_implicitly(args: Sequence[Expr], expected: Sequence[Expected | None], conf: Conf) -> list[Expr]:
    """The arguments with the casts of `ImplicitCastInputTypes`, for functions that expect by their number of arguments."""
    return [arg if kind is None else cast_argument(arg, kind, Coerce.IMPLICIT, conf) for arg, kind in zip(args, expected)]


def check_inputs(args: Args, expected: Sequence[Expected | None]) -> Mismatch | None:
    """`ExpectsInputTypes.checkInputDataTypes` for the same functions."""
    for index, (arg, kind) in enumerate(zip(args, expected)):
        if kind is not None and not accepts(kind, arg.type):
            return make_input_mismatch(index, arg, spelling(kind))
    return None


def text_of(index: int) -> TypeRule:
    """The string type of the argument at `index`, its collation kept; the default string for another type."""
    return lambda args, conf: args[index].type if dt.is_string(args[index].type) else dt.STRING


def merge_types(args: Args, conf: Conf) -> dt.DataType:
    """`ComplexTypeMergingExpression.dataType`: the one type of the arguments, its flags loosest."""
    found = merge_flags([a.type for a in args], conf)
    return args[0].type if found is None else found


def merged_type(*places: int) -> TypeRule:
    """The one type of the arguments, or of those at `places`."""
    return lambda args, conf: merge_types([args[p] for p in places] if places else args, conf)


def prove_null_for_null(args: Args) -> str | None:
    """Evidence for a function that Spark calls nullable although only a null argument makes it null."""
    if not all(a.evidence for a in args):
        return None
    return next((a.evidence for a in args if a.nullable), args[0].evidence)


def print_by_name(call: Call, pretty: Pretty) -> str:
    """`name(arguments)` under the name that the query used."""
    return f"{call.shown}({', '.join(pretty(a) for a in call.args)})"
