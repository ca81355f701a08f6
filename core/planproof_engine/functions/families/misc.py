"""Session facts, randomness, errors, methods of Java by reflection, and what only the grammar calls.

`SHOW FUNCTIONS` lists some syntax beside functions, too. Source: `misc.scala`, `randomExpressions.scala`,
`inputFileBlock.scala`, `CallMethodViaReflection`, `AstBuilder`.
"""

from __future__ import annotations

import re
from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr.function import ALWAYS, EITHER, NEVER, Args, Category, Coerce, Many, Mismatch, Optional
from planproof_engine.expr.nodes import Call, Cast, Expr, Literal
from planproof_engine.expr.traits import PURE, RAISES, VOLATILE, Evaluates, Magnitude
from planproof_engine.functions import arithmetic as a
from planproof_engine.functions.bind import cast_argument, cast_unless_same
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families import operators, strings
from planproof_engine.functions.families.line import (
    Pretty, Table, cast_implicitly, check_inputs, fn, foldable, is_foldable, lines, lit, must, prints, uncast,
)
from planproof_engine.functions.families.operators import comparable_operands
from planproof_engine.ground import Conf, Unknown, evolve
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


_LETTERS: dict[dt.DataType, str] = {dt.BOOLEAN: "Z", dt.BYTE: "B", dt.SHORT: "S", dt.INT: "I", dt.LONG: "J", dt.FLOAT: "F", dt.DOUBLE: "D"}
"""What a method can take beside strings (`CallMethodViaReflection.typeMapping`), by the letters of Java's descriptors."""

_METHODS = {
    "java.lang.Boolean": """compare:ZZ getBoolean:T hashCode:Z logicalAnd:ZZ logicalOr:ZZ logicalXor:ZZ parseBoolean:T
        toString:Z valueOf:T,Z""",
    "java.lang.Double": """compare:DD doubleToLongBits:D doubleToRawLongBits:D hashCode:D isFinite:D isInfinite:D isNaN:D
        longBitsToDouble:J max:DD min:DD parseDouble:T sum:DD toHexString:D toString:D valueOf:D,T""",
    "java.lang.Integer": """bitCount:I compare:II compareUnsigned:II decode:T divideUnsigned:II getInteger:T,TI hashCode:I
        highestOneBit:I lowestOneBit:I max:II min:II numberOfLeadingZeros:I numberOfTrailingZeros:I
        parseInt:CIII,T,TI parseUnsignedInt:CIII,T,TI remainderUnsigned:II reverse:I reverseBytes:I
        rotateLeft:II rotateRight:II signum:I sum:II toBinaryString:I toHexString:I toOctalString:I
        toString:I,II toUnsignedLong:I toUnsignedString:I,II valueOf:I,T,TI""",
    "java.lang.Long": """bitCount:J compare:JJ compareUnsigned:JJ decode:T divideUnsigned:JJ getLong:T,TJ hashCode:J
        highestOneBit:J lowestOneBit:J max:JJ min:JJ numberOfLeadingZeros:J numberOfTrailingZeros:J
        parseLong:CIII,T,TI parseUnsignedLong:CIII,T,TI remainderUnsigned:JJ reverse:J reverseBytes:J
        rotateLeft:JI rotateRight:JI signum:J sum:JJ toBinaryString:J toHexString:J toOctalString:J
        toString:J,JI toUnsignedString:J,JI valueOf:J,T,TI""",
    "java.lang.Math": """IEEEremainder:DD abs:D,F,I,J absExact:I,J acos:D addExact:II,JJ asin:D atan:D atan2:DD cbrt:D ceil:D
        copySign:DD,FF cos:D cosh:D decrementExact:I,J exp:D expm1:D floor:D floorDiv:II,JI,JJ
        floorMod:II,JI,JJ fma:DDD,FFF getExponent:D,F hypot:DD incrementExact:I,J log:D log10:D log1p:D
        max:DD,FF,II,JJ min:DD,FF,II,JJ multiplyExact:II,JI,JJ multiplyFull:II multiplyHigh:JJ
        negateExact:I,J nextAfter:DD,FD nextDown:D,F nextUp:D,F pow:DD random: rint:D round:D,F scalb:DI,FI
        signum:D,F sin:D sinh:D sqrt:D subtractExact:II,JJ tan:D tanh:D toDegrees:D toIntExact:J toRadians:D
        ulp:D,F""",
    "java.lang.Object": "",
    "java.lang.String": """valueOf:D,F,I,J,O,Z""",
    "java.lang.System": """arraycopy:OIOII clearProperty:T console: currentTimeMillis: exit:I gc: getLogger:T getProperties:
        getProperty:T,TT getSecurityManager: getenv:,T identityHashCode:O inheritedChannel: lineSeparator:
        load:T loadLibrary:T mapLibraryName:T nanoTime: runFinalization: setProperty:TT""",
    "java.net.URLDecoder": """decode:T,TT""",
    "java.net.URLEncoder": """encode:T,TT""",
    "java.util.UUID": """fromString:T randomUUID:""",
}
"""The static methods of some of Java's classes that take such values only, each with the lists of its parameters: `T` is
a string, `C` a sequence of characters, `O` any object."""

_YOUNGER = frozenset(["ceilDiv", "ceilDivExact", "ceilMod", "clamp", "compress", "divideExact", "expand", "floorDivExact"])
"""Methods that some of these classes have since a Java after 17."""

_PACKAGES = re.compile(
    r"java\.(applet|awt|beans|io|lang|math|net|nio|rmi|security|sql|text|time|util)\.|(?!java\.)"
)
"""Where a class may be: Java alone may add one to its own packages (`ClassLoader.defineClass`)."""


def _takes(parameters: str, given: str) -> bool:
    fits = (p == g or p == "O" or (p == "C" and g == "T") for p, g in zip(parameters, given))
    return len(parameters) == len(given) and all(fits)


def _check_method(args: Args, conf: Conf) -> Mismatch | None:
    """`CallMethodViaReflection.checkInputDataTypes`: class and method are constant strings."""
    if not all(dt.is_string(a.type) and is_foldable(a) for a in args[:2]):
        return Mismatch("NON_FOLDABLE_INPUT", "the class and the method must be constant strings.")
    named = (constant(args[0], "reflect"), constant(args[1], "reflect"))
    if None in named:
        return Mismatch("UNEXPECTED_NULL", "the class and the method must not be NULL.")
    letters = ["T" if dt.is_string(a.type) else _LETTERS.get(a.type) for a in args[2:]]
    strange = next((a.type for a, letter in zip(args[2:], letters) if letter is None), None)
    if strange is not None:
        return Mismatch("UNEXPECTED_INPUT_TYPE", f'a method takes booleans, numbers and strings, not "{strange.sql}".')
    return _find_method(*named, "".join(letter for letter in letters if letter))


def _find_method(owner: str, method: str, given: str) -> Mismatch | None:
    """Why Java has no such method. Raises `Unknown` where only a class path can tell."""
    if owner not in _METHODS:
        if _PACKAGES.match(owner):
            raise Unknown("a Java method by reflection")
        return Mismatch("UNEXPECTED_CLASS_TYPE", f"class {owner} not found.")
    known = dict(entry.split(":") for entry in _METHODS[owner].split())
    if any(_takes(parameters, given) for parameters in known.get(method, "-").split(",")):
        return None
    if method in _YOUNGER:
        raise Unknown("a Java method by reflection")
    return Mismatch("UNEXPECTED_STATIC_METHOD", f"cannot find a static method {method} of these types in {owner}.")


def _reflection(names: str) -> Table:
    inputs = (ANY, ANY, Many(ANY))
    return fn(names, inputs, dt.STRING, ALWAYS, coerce=Coerce.NONE, check=_check_method, alias=True, traits=VOLATILE, foldable=False)


def _make_symbol(symbol: str, name: str, table: Table) -> Table:
    """A symbol for a function that has a name of its own."""
    function = next(line for called, line in table if called == name)
    return [(symbol, evolve(function, category=Category.OPERATOR))]


def _named_type(args: Args, conf: Conf) -> dt.DataType:
    raise Unknown("a cast without its type")


TABLE: Table = lines(
    fn("typeof", (ANY,), dt.STRING, NEVER, coerce=Coerce.NONE, traits=evolve(PURE, evaluates=Evaluates.NONE)),
    fn("collation", (ANY_STRING,), dt.STRING, NEVER, coerce=Coerce.EXPECTS, traits=evolve(PURE, evaluates=Evaluates.NONE)),
    *map(_fact, ("version", "current_user", "current_catalog", "current_path")),
    _fact("user session_user", since="4.0"),
    _fact("user", "current_user", until="4.0"),
    _fact("current_database current_schema", "current_schema", since="4.0"),
    _fact("current_database current_schema", "current_database", until="4.0"),
    fn("rand random", (Optional(_SEED),), dt.DOUBLE, NEVER, coerce=Coerce.EXPECTS, check=_check_seed, traits=VOLATILE),
    fn("randn", (Optional(_SEED),), dt.DOUBLE, NEVER, coerce=Coerce.EXPECTS, check=_check_seed, traits=VOLATILE),
    fn("uniform", (NUMERIC, NUMERIC, Optional(_SEED)), _uniform_type, NEVER, coerce=Coerce.EXPECTS, check=foldable(0, 1, 2), flag_holds=_is_plain_range, traits=evolve(VOLATILE, raises="ansi")),
    fn("randstr", (ANY, Optional(ANY)), dt.STRING, NEVER, coerces=_length_and_seed, coerce=Coerce.NONE, check=_check_length, traits=VOLATILE),
    fn("uuid", (Optional(ANY),), dt.STRING, NEVER, since="4.0", coerce=Coerce.NONE, check=_uuid_seed, show=prints("uuid()"), traits=VOLATILE),
    fn("uuid", (), dt.STRING, NEVER, until="4.0", traits=VOLATILE),
    fn("monotonically_increasing_id", (), dt.LONG, NEVER, traits=evolve(VOLATILE, magnitude=Magnitude.LARGE)),
    fn("spark_partition_id", (), dt.INT, NEVER, "SPARK_PARTITION_ID", traits=VOLATILE),
    fn("input_file_name", (), dt.STRING, NEVER, traits=VOLATILE),
    fn("input_file_block_start, input_file_block_length", (), dt.LONG, NEVER, traits=VOLATILE),
    fn("assert_true", (ANY, Optional(ANY)), dt.VOID, ALWAYS, show=_print_assert, since="4.1", **_ASSERTION),
    fn("assert_true", (ANY, Optional(ANY)), dt.VOID, ALWAYS, show=_print_assert_before, until="4.1", **_ASSERTION),
    fn("raise_error", (ANY_STRING,), dt.VOID, ALWAYS, coerces=_raise_operands, coerce=Coerce.NONE, check=uncast(ANY_STRING), show=_print_raise, since="4.0", traits=RAISES, foldable=False),
    fn("raise_error", (ANY_STRING,), dt.VOID, ALWAYS, until="4.0", traits=RAISES, foldable=False),
    fn("!= <>", (ANY, ANY), dt.BOOLEAN, EITHER, coerces=a.equality, coerce=Coerce.NONE, check=comparable_operands("="), show=prints("(NOT ({0} = {1}))"), traits=PURE, category=Category.OPERATOR),
    _make_symbol("||", "concat", strings.TABLE),
    _make_symbol("case", "when", operators.TABLE),
    fn("cast", (ANY,), _named_type, EITHER, coerce=Coerce.NONE, traits=RAISES, category=Category.OPERATOR),
    _reflection("java_method reflect"), _reflection("try_reflect"),
)
