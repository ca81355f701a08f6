"""Session facts, randomness, errors, reflection. Source: `misc.scala`, `randomExpressions.scala`, `inputFileBlock.scala`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, NEVER, Args, Coerce, Mismatch, Optional
from planproof_engine.expr.nodes import Call, Cast, Expr, Literal
from planproof_engine.expr.traits import PURE, RAISES, VOLATILE, Evaluates, Magnitude
from planproof_engine.functions.bind import cast_argument, cast_unless_same
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.line import Pretty, Table, fn, lines, lit, prints
from planproof_engine.functions.families.rules import cast_implicitly, check_inputs, foldable, is_foldable, must, uncast
from planproof_engine.origin import Unknown
from planproof_engine.types.casts import NUMERIC_PRECEDENCE
from planproof_engine.types.kinds import ANY, ANY_STRING, NUMERIC, OneOf

_SEED = OneOf((dt.INT, dt.LONG))


_check_seed = must(lambda args, conf: all(map(is_foldable, args)), "SEED_EXPRESSION_IS_UNFOLDABLE", "the seed of a random function must be a constant.")
_uuid_seed = must(
    lambda args, conf: all((dt.is_integral(a.type) or a.type == dt.VOID) and is_foldable(a) for a in args),
    "INVALID_PARAMETER_VALUE.LONG", "the seed of uuid must be a constant integer.",
)


def _uniform_type(args: Args, conf: Conf) -> dt.DataType:
    """`Uniform.dataType`: the wider type of the two bounds; among decimals the one of more digits."""
    low, high = args[0].type, args[1].type
    decimals = [t for t in (low, high) if isinstance(t, dt.Decimal)]
    if decimals and not {low, high} & {dt.FLOAT, dt.DOUBLE}:
        return max(decimals, key=lambda t: t.precision)
    return max((low, high), key=lambda t: NUMERIC_PRECEDENCE.index(t) if t in NUMERIC_PRECEDENCE else -1)


def _is_plain_range(args: Args) -> bool:
    """Spark calls the number NOT NULL. It is NULL where a bound is NULL or does not fit its decimal."""
    return all(not a.nullable and (dt.is_integral(a.type) or a.type in (dt.FLOAT, dt.DOUBLE)) for a in args[:2])


def _length_and_seed(args: list[Expr], conf: Conf) -> list[Expr]:
    """The length of `randstr` is cast, its seed is not."""
    ways = ((dt.INT, Coerce.IMPLICIT), (_SEED, Coerce.EXPECTS))
    return [cast_argument(arg, expected, how, conf) for arg, (expected, how) in zip(args, ways)]


def _check_length(args: Args, conf: Conf) -> Mismatch | None:
    refused = check_inputs(args, [dt.INT, _SEED]) or foldable(0, 1)(args, conf)
    if refused is not None:
        return refused
    length = constant(args[0], "randstr")
    if length is None or length >= 0:
        return None
    return Mismatch("VALUE_OUT_OF_RANGE", "the length of randstr must not be negative.")


def _assert_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    condition, *message = args
    if condition.type == dt.VOID:
        condition = cast_unless_same(condition, dt.BOOLEAN, conf)
    return [condition, *cast_implicitly(_message_operands(message, conf), [ANY_STRING], conf)]


def _print_assert(call: Call, pretty: Pretty) -> str:
    text = pretty(call.args[0])
    message = pretty(call.args[1]) if len(call.args) == 2 else f"'{text}' is not true!"
    return f"assert_true({text}, {message})"


def _print_assert_before(call: Call, pretty: Pretty) -> str:
    """Older Sparks tell the condition with the ids of its columns, which nobody but a run knows."""
    condition, *message = call.args
    if not message and any(not isinstance(e, (Literal, Cast)) and not _is_cast(e) for e in condition.walk()):
        raise Unknown("the message of assert_true, in which Spark prints ids")
    text = pretty(condition)
    said = pretty(message[0]) if message else f"'{_print_literal(condition, pretty)}' is not true!"
    return f"assert_true({text}, {said})"


def _is_cast(expr: Expr) -> bool:
    """`boolean(x)` is a cast by its name."""
    return isinstance(expr, Call) and expr.function.name == expr.type.simple and len(expr.args) == 1


def _print_literal(condition: Expr, pretty: Pretty) -> str:
    """A literal or a cast of one, as `simpleString` has it."""
    if isinstance(condition, Call):
        return f"cast({_print_literal(condition.args[0], pretty)} as {condition.type.simple})"
    if isinstance(condition, Cast) and condition.written:
        return f"cast({_print_literal(condition.child, pretty)} as {condition.type.simple})"
    return pretty(condition.child if isinstance(condition, Cast) else condition).lower()


def _message_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """The message travels in a map, and a map of variants that are not null does not cast to strings."""
    if args and not conf.ansi and args[0].type == dt.VARIANT and not args[0].nullable:
        raise Mismatch("CAST_WITHOUT_SUGGESTION", "cannot cast the message of raise_error to a string.")
    return args


def _raise_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """The class of the error is an operand of its own (`RaiseErrorExpressionBuilder`)."""
    args = cast_implicitly(_message_operands(args, conf), [ANY_STRING], conf)
    return [*args, lit("_LEGACY_ERROR_USER_RAISED_EXCEPTION")] if conf.legacy_raise_error else args


def _print_raise(call: Call, pretty: Pretty) -> str:
    said = pretty(call.args[1]) if len(call.args) > 1 else "USER_RAISED_EXCEPTION"
    return f"raise_error({said}, map(errorMessage, {pretty(call.args[0])}))"


def _fact(names: str, printed: str | None = None, **versions: str) -> Table:
    """What the session knows of itself."""
    return fn(names, (), dt.STRING, NEVER, printed, traits=PURE, alias=printed is None, **versions)


_ASSERTION: dict[str, Any] = {"coerces": _assert_operands, "coerce": Coerce.NONE, "check": uncast(dt.BOOLEAN, ANY_STRING), "traits": RAISES, "foldable": False}

TABLE: Table = lines(
    fn("typeof", (ANY,), dt.STRING, NEVER, coerce=Coerce.NONE, traits=replace(PURE, evaluates=Evaluates.NONE)),
    fn("collation", (ANY_STRING,), dt.STRING, NEVER, coerce=Coerce.EXPECTS, traits=replace(PURE, evaluates=Evaluates.NONE)),
    *map(_fact, ("version", "current_user", "current_catalog", "current_path")),
    _fact("user session_user", since="4.0"),
    _fact("user", "current_user", until="4.0"),
    _fact("current_database current_schema", "current_schema", since="4.0"),
    _fact("current_database current_schema", "current_database", until="4.0"),
    fn("rand random", (Optional(_SEED),), dt.DOUBLE, NEVER, coerce=Coerce.EXPECTS, check=_check_seed, traits=VOLATILE),
    fn("randn", (Optional(_SEED),), dt.DOUBLE, NEVER, coerce=Coerce.EXPECTS, check=_check_seed, traits=VOLATILE),
    fn("uniform", (NUMERIC, NUMERIC, Optional(_SEED)), _uniform_type, NEVER, coerce=Coerce.EXPECTS, check=foldable(0, 1, 2), flag_holds=_is_plain_range, traits=replace(VOLATILE, raises="ansi")),
    fn("randstr", (ANY, Optional(ANY)), dt.STRING, NEVER, coerces=_length_and_seed, coerce=Coerce.NONE, check=_check_length, traits=VOLATILE),
    fn("uuid", (Optional(ANY),), dt.STRING, NEVER, since="4.0", coerce=Coerce.NONE, check=_uuid_seed, show=prints("uuid()"), traits=VOLATILE),
    fn("uuid", (), dt.STRING, NEVER, until="4.0", traits=VOLATILE),
    fn("monotonically_increasing_id", (), dt.LONG, NEVER, traits=replace(VOLATILE, magnitude=Magnitude.LARGE)),
    fn("spark_partition_id", (), dt.INT, NEVER, "SPARK_PARTITION_ID", traits=VOLATILE),
    fn("input_file_name", (), dt.STRING, NEVER, traits=VOLATILE),
    fn("input_file_block_start, input_file_block_length", (), dt.LONG, NEVER, traits=VOLATILE),
    fn("assert_true", (ANY, Optional(ANY)), dt.VOID, ALWAYS, show=_print_assert, since="4.1", **_ASSERTION),
    fn("assert_true", (ANY, Optional(ANY)), dt.VOID, ALWAYS, show=_print_assert_before, until="4.1", **_ASSERTION),
    fn("raise_error", (ANY_STRING,), dt.VOID, ALWAYS, coerces=_raise_operands, coerce=Coerce.NONE, check=uncast(ANY_STRING), show=_print_raise, since="4.0", traits=RAISES, foldable=False),
    fn("raise_error", (ANY_STRING,), dt.VOID, ALWAYS, until="4.0", traits=RAISES, foldable=False),
)
