"""Session facts, randomness, errors. Source: `misc.scala`, `randomExpressions.scala`, `inputFileBlock.scala`."""

from __future__ import annotations

from planproof.conf import Conf
from planproof.expr.nodes import Call, Expr, Literal
from planproof.functions.families.line import Table, fn, lines
from planproof.functions.families.rules import Pretty, foldable, is_foldable
from planproof.functions.signature import (
    ALWAYS,
    EITHER,
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
from planproof.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, STRING, VOID, DataType, Decimal
from planproof.types.casts import NUMERIC_PRECEDENCE
from planproof.types.kinds import ANY, ANY_STRING, NUMERIC, OneOf

_SEED = OneOf((INT, LONG))


def _seed(args: Args, conf: Conf) -> Mismatch | None:
    unfit = next((a for a in args if not is_foldable(a)), None)
    return unfit and Mismatch("SEED_EXPRESSION_IS_UNFOLDABLE", "the seed of a random function must be a constant.")


def _drawn(args: Args, conf: Conf) -> DataType:
    """`Uniform.dataType`: the wider type of the two bounds; among decimals the one of more digits."""
    low, high = args[0].type, args[1].type
    decimals = [t for t in (low, high) if isinstance(t, Decimal)]
    if decimals and not {low, high} & {FLOAT, DOUBLE}:
        return max(decimals, key=lambda t: t.precision)
    return max((low, high), key=NUMERIC_PRECEDENCE.index)  # type: ignore[arg-type]


def _asserted(call: Call, pretty: Pretty) -> str:
    text = pretty(call.args[0])
    message = pretty(call.args[1]) if len(call.args) == 2 else f"'{text}' is not true!"
    return f"assert_true({text}, {message})"


def _raised(call: Call, pretty: Pretty) -> str:
    return f"raise_error(USER_RAISED_EXCEPTION, map(errorMessage, {pretty(call.args[0])}))"


def _fact(names: str, printed: str | None = None) -> Table:
    """What the session knows of itself."""
    return fn(names, (), STRING, NEVER, printed, effects=PURE, alias=printed is None)


def _reflected(args: Args, conf: Conf) -> Mismatch | None:
    """`CallMethodViaReflection.checkInputDataTypes`: class and method are constant strings."""
    for arg in args[:2]:
        if arg.type != STRING:
            return Mismatch("UNEXPECTED_INPUT_TYPE", "the class and the method must be strings.")
        if not is_foldable(arg):
            return Mismatch("NON_FOLDABLE_INPUT", "the class and the method must be constants.")
        if isinstance(arg, Literal) and arg.value is None:
            return Mismatch("UNEXPECTED_NULL", "the class and the method must not be NULL.")
    return None


def _reflection(names: str) -> Table:
    inputs = (ANY_STRING, ANY_STRING, Many(ANY))
    return fn(names, inputs, STRING, ALWAYS, coerce=Coerce.NONE, check=_reflected, alias=True, foldable=False)


TABLE: Table = lines(
    fn("typeof", (ANY,), STRING, NEVER, coerce=Coerce.NONE, effects=PURE),
    fn("collation", (ANY_STRING,), STRING, NEVER, coerce=Coerce.EXPECTS, effects=PURE),
    _fact("version"),
    _fact("current_user user session_user"),
    _fact("current_catalog"),
    _fact("current_database current_schema", "current_schema"),
    fn("rand random", (Optional(_SEED),), DOUBLE, NEVER, coerce=Coerce.EXPECTS, check=_seed, alias=True, effects=VOLATILE),
    fn("randn", (Optional(_SEED),), DOUBLE, NEVER, coerce=Coerce.EXPECTS, check=_seed, effects=VOLATILE),
    fn("uniform", (NUMERIC, NUMERIC, Optional(_SEED)), _drawn, NEVER, coerce=Coerce.EXPECTS, check=foldable(0, 1, 2), effects=VOLATILE),
    fn("randstr", (INT, Optional(_SEED)), STRING, NEVER, coerce=Coerce.EXPECTS, check=foldable(0, 1), effects=VOLATILE),
    fn("uuid", (Optional(_SEED),), STRING, NEVER, effects=VOLATILE),
    fn("monotonically_increasing_id", (), LONG, NEVER, effects=VOLATILE),
    fn("spark_partition_id", (), INT, NEVER, "SPARK_PARTITION_ID", effects=VOLATILE),
    fn("input_file_name", (), STRING, NEVER, effects=VOLATILE),
    fn("input_file_block_start", (), LONG, NEVER, effects=VOLATILE),
    fn("input_file_block_length", (), LONG, NEVER, effects=VOLATILE),
    fn("assert_true", (BOOLEAN, Optional(ANY_STRING)), VOID, ALWAYS, show=_asserted, effects=RAISES, foldable=False),
    fn("raise_error", (ANY_STRING,), VOID, ALWAYS, show=_raised, effects=RAISES, foldable=False),
    _reflection("java_method reflect"),
    _reflection("try_reflect"),
)

__all__ = ["EITHER", "TABLE", "Expr"]
