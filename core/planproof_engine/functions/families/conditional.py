"""Functions that choose among values by NULL or NaN. Source: `nullExpressions.scala`, `predicates.scala`,
`StringDecode`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, EITHER, EITHER_BRANCH, EVERY, NEVER, Args, Coerce, Many, Mismatch
from planproof_engine.expr.nodes import Expr, Literal
from planproof_engine.expr.traits import ANSI_RAISES, PURE, RAISES, Cost, Evaluates, every, some
from planproof_engine.functions import arithmetic as a
from planproof_engine.functions.bind import cast_to_common, cast_unless_same
from planproof_engine.functions.collation import collate_arguments, collate_shared
from planproof_engine.functions.families.line import Table, fn, lines, lit, type_of
from planproof_engine.functions.families.operators import cast_branches, check_branches, comparable_operands
from planproof_engine.functions.families.rules import cast_implicitly, check_inputs, merge_types, merged_type, one_type
from planproof_engine.types.kinds import ANY, ANY_STRING, OneOf

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
    traits = replace(PURE, evaluates=evaluates, conditional=True, hands_on=every, cost=Cost.FEW)
    # It holds no null where one of its arguments holds none.
    own: dict[str, Any] = {"coerce": Coerce.COMMON, "evidence": lambda args: next((x.evidence for x in args if x.evidence), None)}
    return fn(names, inputs, merged_type(), EVERY, alias=True, traits=traits, plain=True, **own)


TABLE: Table = lines(
    _make_coalesce("coalesce", (Many(ANY, 1),), Evaluates.CHOOSES),
    _make_coalesce("nvl ifnull", (ANY, ANY), Evaluates.FIRST),
    fn("nvl2", (ANY, ANY, ANY), merged_type(1, 2), EITHER_BRANCH, coerces=cast_branches, coerce=Coerce.NONE, check=check_branches, traits=replace(PURE, evaluates=Evaluates.FIRST, conditional=True, hands_on=some(1, 2), cost=Cost.FEW)),
    fn("nullif", (ANY, ANY), type_of(0), ALWAYS, coerce=Coerce.NONE, check=lambda args, conf: _equal(a.equality(collate_shared("=", args, conf), conf), conf), traits=replace(ANSI_RAISES, evaluates=Evaluates.FIRST, twice=True, hands_on=some(0), cost=Cost.FEW)),
    fn("nullifzero", (ANY,), type_of(0), ALWAYS, coerce=Coerce.NONE, check=lambda args, conf: _check_comparison([args[0], lit(0)], conf), traits=ANSI_RAISES),
    fn("zeroifnull", (ANY,), type_of(0), NEVER, coerces=lambda args, conf: cast_to_common([args[0], lit(0)], conf)[:1], coerce=Coerce.NONE, check=lambda args, conf: one_type("coalesce")(cast_to_common([args[0], lit(0)], conf), conf), traits=ANSI_RAISES),
    fn("nanvl", (_FRACTION, _FRACTION), type_of(0), EITHER, coerces=_nanvl_operands, traits=replace(PURE, strict=False, evaluates=Evaluates.FIRST, conditional=True)),
    fn("isnan", (_FRACTION,), dt.BOOLEAN, NEVER, traits=PURE),
    fn("equal_null", (ANY, ANY), dt.BOOLEAN, NEVER, coerces=a.equality, coerce=Coerce.NONE, check=comparable_operands("<=>"), traits=PURE),
    fn("decode", (ANY, ANY, Many(ANY)), lambda args, conf: dt.STRING if len(args) == 2 else merge_types(_decode_values(args), conf), _decode_nullable, coerces=_decode_operands, coerce=Coerce.NONE, check=_check_decode, traits=replace(RAISES, evaluates=Evaluates.FIRST)),
)
