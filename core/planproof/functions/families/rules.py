"""Rules that lines of several families share: constants, checks, types that follow an argument."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal as Number
from typing import Any

from planproof.conf import Conf
from planproof.expr.nodes import Call, Cast, Expr, GetField, Literal
from planproof.functions.bind import cast_unless_same, different_types
from planproof.functions.signature import Args, Check, Mismatch
from planproof.origin import Unknown
from planproof.types import INT, DataType, is_integral, is_string, same_type
from planproof.types.kinds import is_orderable

Pretty = Callable[[Expr], str]


def is_foldable(expr: Expr) -> bool:
    """`Expression.foldable`: Spark can compute it before it reads a row."""
    if isinstance(expr, Literal):
        return True
    if isinstance(expr, Cast | GetField):
        return is_foldable(expr.child)
    if isinstance(expr, Call):
        fixed = expr.function.foldable and not expr.function.effects.volatile
        return fixed and all(is_foldable(arg) for arg in expr.args)
    return False


def constant(expr: Expr, function: str) -> Any:
    """The value of a foldable argument. Raises `Unknown` where it would have to be computed."""
    if isinstance(expr, Literal):
        return expr.value
    if isinstance(expr, Cast) and isinstance(expr.child, Literal):
        return _converted(expr.child.value, expr.type, function)
    raise Unknown(f"a computed constant as argument of {function}")


def _converted(value: Any, target: DataType, function: str) -> Any:
    if value is None:
        return None
    if is_integral(target) and isinstance(value, int | float | Number) and not isinstance(value, bool):
        return int(value)
    if is_integral(target) and isinstance(value, str) and value.strip().lstrip("+-").isdigit():
        return int(value)
    if is_string(target) and isinstance(value, str):
        return value
    raise Unknown(f"a computed constant as argument of {function}")


def foldable(*places: int) -> Check:
    """Refuses arguments at `places` that are no constants (NON_FOLDABLE_INPUT)."""

    def check(args: Args, conf: Conf) -> Mismatch | None:
        for place in places:
            if place < len(args) and not is_foldable(args[place]):
                return Mismatch("NON_FOLDABLE_INPUT", f"argument {place + 1} must be a foldable expression.")
        return None

    return check


def not_null(*places: int) -> Check:
    """Refuses constants at `places` that are NULL (UNEXPECTED_NULL)."""

    def check(args: Args, conf: Conf) -> Mismatch | None:
        for place in places:
            if place < len(args) and is_foldable(args[place]) and constant(args[place], "this function") is None:
                return Mismatch("UNEXPECTED_NULL", f"argument {place + 1} must not be NULL.")
        return None

    return check


def checks(*rules: Check) -> Check:
    """The first refusal of several checks."""

    def check(args: Args, conf: Conf) -> Mismatch | None:
        return next((found for rule in rules if (found := rule(args, conf)) is not None), None)

    return check


def one_type(name: str) -> Check:
    """Refuses arguments of different types (DATA_DIFF_TYPES)."""
    return lambda args, conf: (
        None if all(same_type(a.type, args[0].type) for a in args[1:]) else different_types(name, args)
    )


def orderable(args: Args, conf: Conf) -> Mismatch | None:
    """Refuses types that cannot be ordered (INVALID_ORDERING_TYPE)."""
    first = next((a.type for a in args if not is_orderable(a.type)), None)
    return first and Mismatch("INVALID_ORDERING_TYPE", f'"{first.sql}" cannot be ordered.')


def decided_by(refused: Callable[[DataType], bool], condition: str) -> Check:
    """Refuses the first argument whose type `refused` names."""

    def check(args: Args, conf: Conf) -> Mismatch | None:
        found = next((a.type for a in args if refused(a.type)), None)
        return found and Mismatch(condition, f'the type "{found.sql}" is not supported here.')

    return check


def to_int(arg: Expr, conf: Conf) -> Expr:
    return cast_unless_same(arg, INT, conf)


def volatile_nullable(args: Args, conf: Conf) -> bool:
    return False
