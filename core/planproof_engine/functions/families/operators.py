"""Operators, casts under the name of their type such as `int(x)`, and functions that choose among values.

Source: `arithmetic.scala`, `predicates.scala`, `conditionalExpressions.scala`, `nullExpressions.scala`, `StringDecode`;
of casts `FunctionRegistry.castAlias` and `Cast.scala`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor
from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr.function import (
    ALWAYS, EITHER, EITHER_BRANCH, EVERY, NEVER, Args, Coerce, Many, Mismatch, NullRule, Optional,
)
from planproof_engine.expr.nodes import Call, Expr, Literal
from planproof_engine.expr.traits import (
    ANSI_RAISES, PURE, RAISES, Cost, Evaluates, Magnitude, Traits, branches, every, some,
)
from planproof_engine.functions import arithmetic as a
from planproof_engine.functions.bind import (
    cast_to_common, cast_unless_same, check_cast, check_time_cast, is_cast_nullable, make_input_mismatch,
    make_types_mismatch,
)
from planproof_engine.functions.collation import collate_arguments, collate_shared, find_open_collation
from planproof_engine.functions.families.line import (
    Pretty, Table, binary, cast_implicitly, check_inputs, checks, fn, lines, lit, merge_types, merged_type, must,
    one_type, prints, type_of, wants,
)
from planproof_engine.ground import Conf, Unknown, evolve
from planproof_engine.types.coercion import find_wider
from planproof_engine.types.kinds import ANY, ANY_STRING, INTEGRAL, OneOf, is_orderable

_EXACT = ("and", "or", "&", "|", "^")
"""Operators that do not let decimals of different shapes meet."""


def same_operands(
    symbol: str, fits: Callable[[dt.DataType], bool], wanted: str
) -> Callable[[Args, Conf], Mismatch | None]:
    """`BinaryOperator.checkInputDataTypes`: both of one type, and of a type that the operator knows."""

    def check(args: Args, conf: Conf) -> Mismatch | None:
        left, right = args[0].type, args[1].type
        decimals = isinstance(left, dt.Decimal) and isinstance(right, dt.Decimal) and symbol not in _EXACT
        if not decimals and not dt.same_type(left, right, conf.case_sensitive):
            return find_open_collation(symbol, args) or Mismatch(
                "BINARY_OP_DIFF_TYPES",
                f'the left and right operands of `{symbol}` have incompatible types ("{left.sql}" and "{right.sql}").',
            )
        if not fits(left):
            return Mismatch(
                "BINARY_OP_WRONG_TYPE", f'the binary operator `{symbol}` requires {wanted}, not "{left.sql}".'
            )
        return None

    return check


def _is_summable(t: dt.DataType) -> bool:
    return dt.is_numeric(t) or isinstance(t, dt.Interval) or t == dt.CALENDAR_INTERVAL


def arithmetic_type(rule: a.DecimalRule) -> Callable[[Args, Conf], dt.DataType]:
    """The type rule of an operator: by `rule` for two decimals, else the type of the left operand."""
    def returns(args: Args, conf: Conf) -> dt.DataType:
        left, right = args[0].type, args[1].type
        if isinstance(left, dt.Decimal) and isinstance(right, dt.Decimal):
            return rule(left, right, conf)
        return left

    return returns


def _may_overflow(args: Args, conf: Conf) -> bool:
    """With ANSI off a decimal that overflows becomes null."""
    return EITHER(args, conf) or (not conf.ansi and isinstance(args[0].type, dt.Decimal))


_COMPARING = evolve(PURE, evaluates=Evaluates.TO_NULL, cost=Cost.FEW)


def _comparison(names: str, nullable: NullRule = EITHER, coerces: a.Meet = a.comparison, traits: Traits = _COMPARING) -> Table:
    symbol, *_ = names.split()
    meet = _round_bound(symbol) if symbol in _ROUNDED_BOUNDS else coerces
    return fn(names, _PAIR, dt.BOOLEAN, nullable, coerces=meet, coerce=Coerce.NONE, check=comparable_operands(symbol), show=binary(symbol), traits=traits, operator=symbol)


MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<=>": "<=>"}
"""`a < b` is `b > a`."""
_ROUNDED_BOUNDS = {"<": (floor, ceil), "<=": (ceil, floor), ">": (ceil, floor), ">=": (floor, ceil)}
"""How a decimal literal left, or right, of a comparison with an integral becomes a whole number."""


def _round_bound(symbol: str) -> a.Meet:
    """`int < 1.5` is compared, and printed, as `int < 2` (`DecimalPrecisionTypeCoercion.integralAndDecimalLiteral`)."""

    def coerces(args: list[Expr], conf: Conf) -> list[Expr]:
        for at, (this, other) in enumerate((args, args[::-1])):
            if isinstance(this, Literal) and isinstance(this.type, dt.Decimal) and dt.is_integral(other.type):
                if not is_bigint(this.value):
                    raise Unknown("an integral compared with a decimal beyond bigint")
                bound = _ROUNDED_BOUNDS[symbol][at](this.value)
                whole = Literal(bound, dt.LONG, str(bound))
                args = [whole, other] if at == 0 else [other, whole]
        return a.comparison(args, conf)

    return coerces


def is_bigint(value: Any) -> bool:
    """Whether a number lies within the range of bigint."""
    return bool(-(2**63) <= value <= 2**63 - 1)


def compare_beyond_bigint(symbol: str, left: Expr, right: Expr) -> bool | None:
    """What `int < 1e20` always is, also of NULL: Spark puts a constant in its place. None for any other comparison.

    Source: `DecimalPrecisionTypeCoercion.integralAndDecimalLiteral`.
    """
    if symbol not in _ROUNDED_BOUNDS:
        return None
    for number, other, greater in ((left, right, ">"), (right, left, "<")):
        if isinstance(number, Literal) and isinstance(number.type, dt.Decimal) and dt.is_integral(other.type):
            return None if is_bigint(number.value) else bool((number.value > 0) == symbol.startswith(greater))
    return None


def comparable_operands(symbol: str) -> Callable[[Args, Conf], Mismatch | None]:
    """`BinaryComparison.checkInputDataTypes`: both of one type, and of one that can be ordered.

    Since 4.0 the fields of structs may have other names.
    """
    alike = same_operands(symbol, lambda t: True, "any type")

    def check(args: Args, conf: Conf) -> Mismatch | None:
        one_structure = not conf.before("4.0") and dt.same_structure(args[0].type, args[1].type)
        refused = None if one_structure else alike(args, conf)
        if refused is not None or _is_comparable(args[0].type):
            return refused
        return Mismatch("INVALID_ORDERING_TYPE", f'`{symbol}` does not support ordering on "{args[0].type.sql}".')

    return check


def _is_comparable(t: dt.DataType) -> bool:
    return not isinstance(t, dt.Map) and all(_is_comparable(c) for c in t.children) and is_orderable(t)


_check_negation = wants(0, _is_summable, '("NUMERIC" or "INTERVAL DAY TO SECOND" or "INTERVAL YEAR TO MONTH" or "INTERVAL")')


def _cast_number(args: list[Expr], conf: Conf) -> list[Expr]:
    """A string under a sign is a double."""
    given = args[0]
    if dt.is_string(given.type) or given.type == dt.VOID:
        return [cast_unless_same(given, dt.DOUBLE, conf)]
    return args


def _negation(call: Call, pretty: Pretty) -> str:
    return f"(- {pretty(call.args[0])})" if call.shown == "-" else f"negative({pretty(call.args[0])})"


def _in(call: Call, pretty: Pretty) -> str:
    value, *items = (pretty(x) for x in call.args)
    return f"({value} IN ({', '.join(items)}))"


_check_item = must(lambda args, conf: _is_comparable(args[0].type), "INVALID_ORDERING_TYPE", '"{0}" cannot be compared.')


def _check_members(args: Args, conf: Conf) -> Mismatch | None:
    alike = all(dt.same_structure(x.type, args[0].type) for x in args[1:])
    return _check_item(args, conf) if alike else make_types_mismatch("in", args)


def cast_branches(args: list[Expr], conf: Conf) -> list[Expr]:
    """The last two arguments meet as the branches of IF."""
    return [*args[:-2], *cast_to_common(args[-2:], conf, lambda types, conf: find_wider(types[0], types[1], conf))]


def check_branches(args: Args, conf: Conf) -> Mismatch | None:
    """Refuses branches whose types do not meet."""
    left, right = args[-2:]
    return None if dt.same_type(left.type, right.type, conf.case_sensitive) else make_types_mismatch("if", (left, right))


def _if_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`IfCoercion`: branches meet; a bare NULL is a condition only where they do."""
    predicate, left, right = cast_branches(args, conf)
    if predicate.type == dt.VOID and dt.same_type(left.type, right.type, conf.case_sensitive):
        predicate = cast_unless_same(predicate, dt.BOOLEAN, conf)
    return [predicate, left, right]


def case_values(args: Args) -> tuple[list[Expr], list[Expr]]:
    """Conditions and values of `CASE`, whose arguments alternate; a last odd one is the ELSE value."""
    pairs = len(args) // 2
    values = [args[2 * i + 1] for i in range(pairs)]
    return [args[2 * i] for i in range(pairs)], values + list(args[2 * pairs :])


def _case_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    conditions, values = case_values(args)
    values = cast_to_common(values, conf)
    pairs = (part for pair in zip(conditions, values) for part in pair)
    return [*pairs, *values[len(conditions) :]]


def _case_check(args: Args, conf: Conf) -> Mismatch | None:
    conditions, values = case_values(args)
    if not all(dt.same_type(v.type, values[0].type, conf.case_sensitive) for v in values):
        return make_types_mismatch("casewhen", values)
    wrong = next((i for i, condition in enumerate(conditions) if condition.type != dt.BOOLEAN), None)
    return None if wrong is None else make_input_mismatch(2 * wrong, conditions[wrong], "BOOLEAN")


def _case_nullable(args: Args, conf: Conf) -> bool:
    """`CaseWhen.nullable`: since Spark 4.0 nothing counts that stands after a condition which is the literal true."""
    conditions, values = case_values(args)
    for at, condition in enumerate(() if conf.before("4.0") else conditions):
        if isinstance(condition, Literal) and condition.value is True:
            return any(v.nullable for v in values[: at + 1])
    return len(args) % 2 == 0 or any(v.nullable for v in values)


def _between_operands(args: Args, conf: Conf) -> list[tuple[str, list[Expr]]]:
    """`Between` is two comparisons, each with casts of its own."""
    value, low, high = args
    pairs = ((">=", [value, low]), ("<=", [value, high]))
    return [(symbol, a.comparison(collate_shared(symbol, pair, conf), conf)) for symbol, pair in pairs]


def _between_check(args: Args, conf: Conf) -> Mismatch | None:
    found = (comparable_operands(symbol)(pair, conf) for symbol, pair in _between_operands(args, conf))
    return next((refused for refused in found if refused is not None), None)


_escape_check = must(
    lambda args, conf: len(args) < 3 or (isinstance(args[2], Literal) and dt.is_string(args[2].type) and len(str(args[2].value)) == 1),
    "INVALID_ESCAPE_CHAR", "the escape character of LIKE must be one constant character.",
)


def _case(call: Call, pretty: Pretty) -> str:
    conditions, values = case_values(call.args)
    branches = "".join(f" WHEN {pretty(c)} THEN {pretty(v)}" for c, v in zip(conditions, values))
    otherwise = f" ELSE {pretty(values[-1])}" if len(values) > len(conditions) else ""
    return f"CASE{branches}{otherwise} END"


def _print_like(call: Call, pretty: Pretty) -> str:
    text, pattern, *escape = (pretty(x) for x in call.args)
    return f"{text} LIKE {pattern}" + (f" ESCAPE '{escape[0]}'" if escape and escape[0] != "\\" else "")


_NUMBERS = "a numeric or interval type"
_PAIR = (ANY, ANY)


_equal = comparable_operands("=")


def _check_comparison(args: Args, conf: Conf) -> Mismatch | None:
    """Refuses what `=` would refuse."""
    return _equal(a.equality(collate_arguments("=", args, conf), conf), conf)


def _nanvl_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`NaNvl`: a float beside a double becomes a double, NULL takes the other's type."""
    left, right = cast_implicitly(args, [_FRACTION, _FRACTION], conf)
    if args[1].type == dt.VOID:
        return [left, cast_unless_same(args[1], left.type, conf)]
    if dt.DOUBLE in (left.type, right.type) and dt.FLOAT in (left.type, right.type):
        return [cast_unless_same(left, dt.DOUBLE, conf), cast_unless_same(right, dt.DOUBLE, conf)]
    return [left, right]


_FRACTION = OneOf((dt.DOUBLE, dt.FLOAT))


_NULL_TEXT = Literal(None, dt.STRING, "NULL")
"""What `decode` answers where no key is equal and it has no default: a string, whatever its values are."""


def _decode_values(args: Args) -> list[Expr]:
    """The results of `decode(expr, key, value, ..., default)`."""
    rest = list(args[1:])
    return rest[1::2] + (rest[-1:] if len(rest) % 2 else [])


def _decode_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    if len(args) == 2:
        return cast_implicitly(args, [dt.BINARY, ANY_STRING], conf)
    missing = [] if len(args) % 2 == 0 else [_NULL_TEXT]
    values = iter(collate_arguments("coalesce", cast_to_common([*_decode_values(args), *missing], conf), conf, keep=True))
    rest = args[1:]
    last = len(rest) - 1 if len(rest) % 2 else -1
    return [args[0], *(next(values) if at % 2 or at == last else arg for at, arg in enumerate(rest))]


def _check_decode(args: Args, conf: Conf) -> Mismatch | None:
    if len(args) == 2:
        return check_inputs(args, [dt.BINARY, ANY_STRING])
    pairs = (len(args) - 1) // 2
    for key in args[1 : 1 + 2 * pairs : 2]:
        if (refused := _check_comparison([args[0], key], conf)) is not None:
            return refused
    missing = [] if len(args) % 2 == 0 else [_NULL_TEXT]
    values = cast_to_common([*_decode_values(args), *missing], conf)
    return one_type("casewhen")(collate_arguments("coalesce", values, conf), conf)


def _decode_nullable(args: Args, conf: Conf) -> bool:
    if len(args) == 2 and conf.before("4.0"):
        return any(a.nullable for a in args)
    return len(args) % 2 == 1 or len(args) == 2 or any(v.nullable for v in _decode_values(args))


def _make_coalesce(names: str, inputs: tuple[Any, ...], evaluates: Evaluates) -> Table:
    traits = evolve(PURE, evaluates=evaluates, conditional=True, hands_on=every, cost=Cost.FEW)
    # It holds no null where one of its arguments holds none.
    return fn(names, inputs, merged_type(), EVERY, coerce=Coerce.COMMON, evidence=lambda args: next((x.evidence for x in args if x.evidence), None), alias=True, traits=traits, plain=True)


def _to(name: str, target: dt.DataType) -> Table:
    """The cast to `target`. Spark prints what is cast, as for a cast that the query did not write."""

    def nullable(args: Args, conf: Conf) -> bool:
        return is_cast_nullable(args[0], target, "ansi" if conf.ansi else "legacy")

    def check(args: Args, conf: Conf) -> Mismatch | None:
        refused = check_cast(args[0].type, target, "ansi" if conf.ansi else "legacy")
        return refused or check_time_cast(args[0].type, target, conf)

    own: dict[str, Any] = {"coerce": Coerce.NONE, "check": check, "traits": evolve(ANSI_RAISES, cost=Cost.FEW), "needs": "time_type" if target == dt.Time(6) else ""}
    return fn(name, (ANY,), target, nullable, show=lambda call, pretty: pretty(call.args[0]), **own)


_CAST_TYPES: dict[str, dt.DataType] = {
    "bigint": dt.LONG, "binary": dt.BINARY, "boolean": dt.BOOLEAN, "date": dt.DATE, "decimal": dt.Decimal(10, 0), "double": dt.DOUBLE,
    "float": dt.FLOAT, "int": dt.INT, "smallint": dt.SHORT, "string": dt.STRING, "time": dt.Time(6), "timestamp": dt.TIMESTAMP,
    "tinyint": dt.BYTE,
}
CASTS = frozenset(_CAST_TYPES)

TABLE: Table = lines(
    fn("+", _PAIR, arithmetic_type(a.sum_decimal), _may_overflow, coerces=a.arithmetic, coerce=Coerce.NONE, check=same_operands("+", _is_summable, _NUMBERS), show=binary("+"), traits=evolve(ANSI_RAISES, total_over_floats=True, strict=True, evaluates=Evaluates.TO_NULL, commutative=True, wraps=True, cost=Cost.FEW, magnitude=Magnitude.GROWS), operator="+"),
    fn("-", _PAIR, arithmetic_type(a.sum_decimal), _may_overflow, coerces=a.arithmetic, coerce=Coerce.NONE, check=same_operands("-", _is_summable, _NUMBERS), show=binary("-"), traits=evolve(ANSI_RAISES, total_over_floats=True, strict=True, evaluates=Evaluates.TO_NULL, wraps=True, cost=Cost.FEW, magnitude=Magnitude.GROWS), operator="-"),
    fn("*", _PAIR, arithmetic_type(a.product_decimal), _may_overflow, coerces=a.arithmetic, coerce=Coerce.NONE, check=same_operands("*", dt.is_numeric, "a numeric type"), show=binary("*"), traits=evolve(ANSI_RAISES, total_over_floats=True, strict=True, evaluates=Evaluates.TO_NULL, commutative=True, wraps=True, cost=Cost.FEW, magnitude=Magnitude.GROWS), operator="*"),
    fn("/", _PAIR, arithmetic_type(a.quotient_decimal), ALWAYS, coerces=a.division, coerce=Coerce.NONE, check=same_operands("/", lambda t: isinstance(t, dt.Decimal) or t == dt.DOUBLE, "DOUBLE or DECIMAL"), show=binary("/"), traits=evolve(ANSI_RAISES, strict=True, evaluates=Evaluates.LAST_FIRST, cost=Cost.FEW), operator="/"),
    fn("%", _PAIR, arithmetic_type(a.remainder_decimal), ALWAYS, coerces=a.remainder, coerce=Coerce.NONE, check=same_operands("%", dt.is_numeric, "a numeric type"), show=binary("%"), traits=evolve(ANSI_RAISES, strict=True, evaluates=Evaluates.LAST_FIRST, cost=Cost.FEW), operator="%"),
    fn("mod", _PAIR, arithmetic_type(a.remainder_decimal), ALWAYS, coerces=a.remainder, coerce=Coerce.NONE, check=same_operands("%", dt.is_numeric, "a numeric type"), traits=evolve(ANSI_RAISES, strict=True, evaluates=Evaluates.LAST_FIRST)),
    fn("div", _PAIR, dt.LONG, ALWAYS, coerces=a.integral_division, coerce=Coerce.NONE, check=same_operands("div", a.is_div_operand, "BIGINT, DECIMAL or an interval"), show=binary("div"), traits=evolve(ANSI_RAISES, strict=True, evaluates=Evaluates.LAST_FIRST, cost=Cost.FEW), operator="div"),
    _comparison("= ==", coerces=a.equality, traits=evolve(_COMPARING, commutative=True)),
    _comparison("<=>", nullable=NEVER, coerces=a.equality, traits=evolve(_COMPARING, evaluates=Evaluates.ALL, commutative=True)),
    *map(_comparison, ("<", "<=", ">", ">=")),
    fn("and", _PAIR, dt.BOOLEAN, EITHER, coerces=a.logic, coerce=Coerce.NONE, check=same_operands("and", lambda t: t == dt.BOOLEAN, "BOOLEAN"), show=binary("AND"), traits=evolve(PURE, strict=False, evaluates=Evaluates.FIRST, commutative=True, cost=Cost.FEW), operator="and"),
    fn("or", _PAIR, dt.BOOLEAN, EITHER, coerces=a.logic, coerce=Coerce.NONE, check=same_operands("or", lambda t: t == dt.BOOLEAN, "BOOLEAN"), show=binary("OR"), traits=evolve(PURE, strict=False, evaluates=Evaluates.FIRST, commutative=True, cost=Cost.FEW), operator="or"),
    fn("not !", (dt.BOOLEAN,), dt.BOOLEAN, EITHER, show=prints("(NOT {0})"), traits=evolve(PURE, evaluates=Evaluates.TO_NULL, cost=Cost.FEW), in_words=True),
    fn("&", _PAIR, type_of(0), EITHER, coerces=a.bits, coerce=Coerce.NONE, check=same_operands("&", dt.is_integral, "an integral type"), show=binary("&"), traits=evolve(PURE, commutative=True, cost=Cost.FEW), operator="&"),
    fn("|", _PAIR, type_of(0), EITHER, coerces=a.bits, coerce=Coerce.NONE, check=same_operands("|", dt.is_integral, "an integral type"), show=binary("|"), traits=evolve(PURE, commutative=True, cost=Cost.FEW), operator="|"),
    fn("^", _PAIR, type_of(0), EITHER, coerces=a.bits, coerce=Coerce.NONE, check=same_operands("^", dt.is_integral, "an integral type"), show=binary("^"), traits=evolve(PURE, commutative=True, cost=Cost.FEW), operator="^"),
    fn("~", (INTEGRAL,), type_of(0), EITHER, show=prints("~{0}"), traits=evolve(PURE, cost=Cost.FEW)),
    fn("negative", (ANY,), type_of(0), EITHER, coerces=_cast_number, coerce=Coerce.NONE, check=_check_negation, show=_negation, traits=evolve(ANSI_RAISES, total_over_floats=True, evaluates=Evaluates.TO_NULL, cost=Cost.FEW)),
    fn("positive", (ANY,), type_of(0), EITHER, coerces=_cast_number, coerce=Coerce.NONE, check=_check_negation, show=prints("(+ {0})"), traits=evolve(PURE, total_over_floats=True, evaluates=Evaluates.TO_NULL, cost=Cost.FEW)),
    fn("isnull", (ANY,), dt.BOOLEAN, NEVER, coerce=Coerce.NONE, show=prints("({0} IS NULL)"), traits=evolve(PURE, evaluates=Evaluates.ALL, cost=Cost.FEW)),
    fn("isnotnull", (ANY,), dt.BOOLEAN, NEVER, coerce=Coerce.NONE, show=prints("({0} IS NOT NULL)"), traits=evolve(PURE, evaluates=Evaluates.ALL, cost=Cost.FEW)),
    fn("isunknown", (ANY,), dt.BOOLEAN, NEVER, coerce=Coerce.NONE, show=prints("({0} IS UNKNOWN)"), traits=evolve(PURE, evaluates=Evaluates.ALL, cost=Cost.FEW)),
    fn("isnotunknown", (ANY,), dt.BOOLEAN, NEVER, coerce=Coerce.NONE, show=prints("({0} IS NOT UNKNOWN)"), traits=evolve(PURE, evaluates=Evaluates.ALL, cost=Cost.FEW)),
    fn("between", (ANY, ANY, ANY), dt.BOOLEAN, lambda args, conf: any(x.nullable for _, pair in _between_operands(args, conf) for x in pair), coerce=Coerce.NONE, check=_between_check, traits=evolve(PURE, twice=True, cost=Cost.FEW), in_words=True),
    fn("in", (ANY, Many(ANY)), dt.BOOLEAN, EITHER, coerces=cast_to_common, coerce=Coerce.NONE, check=_check_members, show=_in, traits=evolve(PURE, strict=False, evaluates=Evaluates.FIRST, cost=Cost.FEW), in_words=True),
    fn("like", (ANY_STRING, ANY_STRING, Optional(ANY)), dt.BOOLEAN, EITHER, check=_escape_check, show=_print_like, since="4.0", traits=evolve(RAISES, evaluates=Evaluates.TO_NULL), in_words=True),
    # Before Spark 4.0 the escape character is not printed.
    fn("like", (ANY_STRING, ANY_STRING, Optional(ANY)), dt.BOOLEAN, EITHER, check=_escape_check, show=prints("{0} LIKE {1}"), until="4.0", traits=evolve(RAISES, evaluates=Evaluates.TO_NULL), in_words=True),
    fn("ilike", (ANY_STRING, ANY_STRING, Optional(ANY)), dt.BOOLEAN, EITHER, check=_escape_check, show=prints("ilike({0}, {1})"), traits=evolve(RAISES, evaluates=Evaluates.TO_NULL), in_words=True),
    fn("rlike regexp regexp_like", (ANY_STRING, ANY_STRING), dt.BOOLEAN, EITHER, show=lambda call, pretty: f"{call.shown.upper()}({pretty(call.args[0])}, {pretty(call.args[1])})", alias=True, traits=evolve(RAISES, evaluates=Evaluates.TO_NULL), in_words=True),
    fn("if", (ANY, ANY, ANY), merged_type(1, 2), EITHER_BRANCH, coerces=_if_operands, coerce=Coerce.NONE, check=checks(wants(0, lambda t: t == dt.BOOLEAN, "BOOLEAN"), check_branches), show=prints("(IF({0}, {1}, {2}))"), traits=evolve(PURE, evaluates=Evaluates.CHOOSES, conditional=True, hands_on=some(1, 2), cost=Cost.FEW)),
    fn("when", (ANY, ANY, Many(ANY)), lambda args, conf: merge_types(case_values(args)[1], conf), _case_nullable, coerces=_case_operands, coerce=Coerce.NONE, check=_case_check, show=_case, traits=evolve(PURE, evaluates=Evaluates.CHOOSES, conditional=True, hands_on=branches, cost=Cost.FEW), in_words=True),
    _make_coalesce("coalesce", (Many(ANY, 1),), Evaluates.CHOOSES),
    _make_coalesce("nvl ifnull", (ANY, ANY), Evaluates.FIRST),
    fn("nvl2", (ANY, ANY, ANY), merged_type(1, 2), EITHER_BRANCH, coerces=cast_branches, coerce=Coerce.NONE, check=check_branches, traits=evolve(PURE, evaluates=Evaluates.FIRST, conditional=True, hands_on=some(1, 2), cost=Cost.FEW)),
    fn("nullif", (ANY, ANY), type_of(0), ALWAYS, coerce=Coerce.NONE, check=lambda args, conf: _equal(a.equality(collate_shared("=", args, conf), conf), conf), traits=evolve(ANSI_RAISES, evaluates=Evaluates.FIRST, twice=True, hands_on=some(0), cost=Cost.FEW)),
    fn("nullifzero", (ANY,), type_of(0), ALWAYS, coerce=Coerce.NONE, check=lambda args, conf: _check_comparison([args[0], lit(0)], conf), traits=ANSI_RAISES),
    fn("zeroifnull", (ANY,), type_of(0), NEVER, coerces=lambda args, conf: cast_to_common([args[0], lit(0)], conf)[:1], coerce=Coerce.NONE, check=lambda args, conf: one_type("coalesce")(cast_to_common([args[0], lit(0)], conf), conf), traits=ANSI_RAISES),
    fn("nanvl", (_FRACTION, _FRACTION), type_of(0), EITHER, coerces=_nanvl_operands, traits=evolve(PURE, strict=False, evaluates=Evaluates.FIRST, conditional=True)),
    fn("isnan", (_FRACTION,), dt.BOOLEAN, NEVER, traits=PURE),
    fn("equal_null", (ANY, ANY), dt.BOOLEAN, NEVER, coerces=a.equality, coerce=Coerce.NONE, check=comparable_operands("<=>"), traits=PURE),
    fn("decode", (ANY, ANY, Many(ANY)), lambda args, conf: dt.STRING if len(args) == 2 else merge_types(_decode_values(args), conf), _decode_nullable, coerces=_decode_operands, coerce=Coerce.NONE, check=_check_decode, traits=evolve(RAISES, evaluates=Evaluates.FIRST)),
    *(_to(name, target) for name, target in _CAST_TYPES.items()),
)
