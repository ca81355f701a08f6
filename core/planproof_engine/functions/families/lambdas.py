"""Higher-order functions. Source: `higherOrderFunctions.scala`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr.function import EITHER, FIRST, Args, Coerce, LambdaOf, Mismatch, Signature, Variables, where
from planproof_engine.expr.nodes import Call, Expr
from planproof_engine.expr.traits import PURE, RAISES, Elements, Loop
from planproof_engine.functions.bind import cast_unless_same
from planproof_engine.functions.families.line import (
    Table, array_at, array_of, check_keys, fn, lines, map_at, must, type_of,
)
from planproof_engine.ground import Conf, evolve
from planproof_engine.types.casts import force_nullable
from planproof_engine.types.coercion import find_wider
from planproof_engine.types.kinds import ANY, ANY_ARRAY, ANY_MAP, is_orderable

Types = Sequence[tuple[dt.DataType, bool]]


def _element_and_index(args: Args, at: int) -> Types:
    array = array_at(args)
    return ((array.element, array.contains_null), (dt.INT, False))


def _pair(args: Args, at: int) -> Types:
    array = array_at(args)
    return ((array.element, array.contains_null),) * 2


def _entry(args: Args, at: int) -> Types:
    found = map_at(args)
    return ((found.key, False), (found.value, found.value_contains_null))


def _accumulated(loosen: Callable[[dt.DataType], dt.DataType]) -> Variables:
    """merge sees (accumulator, element), finish sees the accumulator alone."""

    def variables(args: Args, at: int) -> Types:
        accumulator = (loosen(args[1].type), True)
        return (accumulator,) if at == 3 else (accumulator, _element_and_index(args, at)[0])

    return variables


def _cast_keys(args: list[Expr], conf: Conf) -> list[Expr]:
    """`MapZipWithTypeCoercion`: both maps take the wider key type."""
    left, right = args[0].type, args[1].type
    if not isinstance(left, dt.Map) or not isinstance(right, dt.Map) or dt.same_type(left.key, right.key, conf.case_sensitive):
        return args
    key = find_wider(left.key, right.key, conf)
    if key is None or force_nullable(left.key, key) or force_nullable(right.key, key):
        return args
    first = cast_unless_same(args[0], dt.Map(key, left.value, left.value_contains_null), conf)
    second = cast_unless_same(args[1], dt.Map(key, right.value, right.value_contains_null), conf)
    return [first, second, *args[2:]]


def _check_key_types(args: Args, conf: Conf) -> Mismatch | None:
    left, right = map_at(args).key, map_at(args, 1).key
    if dt.same_type(left, right, conf.case_sensitive):
        return None
    return Mismatch("MAP_ZIP_WITH_DIFF_TYPES", f'the maps have the keys "{left.sql}" and "{right.sql}".')


_check_boolean_body = must(
    lambda args, conf: args[-1].type in (dt.BOOLEAN, dt.VOID), "UNEXPECTED_INPUT_TYPE", 'The second parameter requires the "BOOLEAN" type, not "{1}".'
)


def _check_accumulator(args: Args, conf: Conf) -> Mismatch | None:
    """`ExpectsInputTypes` makes a merge that is NULL one of the accumulator's type."""
    zero, merge = args[1].type, args[2].type
    if merge == dt.VOID or dt.same_structure(zero, merge):
        return None
    return Mismatch("UNEXPECTED_INPUT_TYPE", f'The third parameter requires the "{zero.sql}" type, not "{merge.sql}".')


def _check_comparator(args: Args, conf: Conf) -> Mismatch | None:
    if len(args) < 2:
        found = args[0].type
        ordered = not isinstance(found, dt.Array) or is_orderable(found.element)
        return None if ordered else Mismatch("INVALID_ORDERING_TYPE", f'"{found.sql}" has elements without an order.')
    if args[1].type == dt.INT:
        return None
    return Mismatch("UNEXPECTED_RETURN_TYPE", f'The comparator must return "INT", not "{args[1].type.sql}".')


_DEFAULT_COMPARATOR = (
    "lambdafunction((IF(((namedlambdavariable() IS NULL) AND (namedlambdavariable() IS NULL)), 0, "
    "(IF((namedlambdavariable() IS NULL), 1, (IF((namedlambdavariable() IS NULL), -1, "
    "(IF((namedlambdavariable() < namedlambdavariable()), -1, (IF((namedlambdavariable() > namedlambdavariable()), 1, 0)"
    "))))))))), namedlambdavariable(), namedlambdavariable())"
)


def _print_sort(call: Call, pretty: Callable[[Expr], str]) -> str:
    comparator = pretty(call.args[1]) if len(call.args) > 1 else _DEFAULT_COMPARATOR
    return f"array_sort({pretty(call.args[0])}, {comparator})"


_ENTRY = (ANY_MAP, LambdaOf((2,)))
_ITEM = (ANY_ARRAY, LambdaOf((1,)))
_ITEM_OR_INDEX = (ANY_ARRAY, LambdaOf((1, 2)))
_REDUCED = (ANY_ARRAY, ANY, LambdaOf((2,)), LambdaOf((1,), optional=True))
_AGGREGATE: dict[str, Any] = {
    "variables": _accumulated(dt.as_nullable),
    "check": _check_accumulator,
    "coerce": Coerce.EXPECTS,
    "traits": evolve(PURE, loop=Loop(((0, 2, 1),), alone=False)),
}
_ELEMENT = ((0, 1, 0),)
"""The lambda behind the array takes an element first."""

def takes_condition(function: Signature) -> bool:
    """Whether a function's lambda says yes or no of each element."""
    return function.check is _check_boolean_body


_IN_AN_ARRAY = "exists(transform({0}, {look}), is_seen -> is_seen)"
_IN_A_MAP = "exists(map_values(transform_values({0}, {look})), is_seen -> is_seen)"
LOOKS = dict.fromkeys(("transform", "filter", "exists", "forall"), _IN_AN_ARRAY)
LOOKS |= dict.fromkeys(("map_filter", "transform_values", "transform_keys"), _IN_A_MAP)
LOOKS |= {
    "zip_with": "exists(zip_with({0}, {1}, {look}), is_seen -> is_seen)",
    "map_zip_with": "exists(map_values(map_zip_with({0}, {1}, {look})), is_seen -> is_seen)",
}
"""By a function's name, the SQL that asks whether `look`, a condition as a lambda of the same parameters, holds for any
values that its lambda is called with; the numbers are its arguments."""
FOLDS = ("aggregate", "reduce")
"""Their first lambda takes what was made so far beside an element, the second one takes what was made at last."""


TABLE: Table = lines(
    fn("transform", _ITEM_OR_INDEX, array_of(1), FIRST, variables=_element_and_index, coerce=Coerce.EXPECTS, traits=evolve(PURE, loop=Loop(_ELEMENT))),
    fn("filter", _ITEM_OR_INDEX, type_of(0), FIRST, variables=_element_and_index, check=_check_boolean_body, coerce=Coerce.EXPECTS, traits=evolve(PURE, elements=Elements.KEEPS, loop=Loop(_ELEMENT))),
    # `ArrayExists.nullable`: with three-valued logic the body's null can be the answer.
    fn("exists", _ITEM, dt.BOOLEAN, lambda args, conf: args[0].nullable or (args[1].nullable and conf.three_valued_exists), variables=lambda args, at: _element_and_index(args, at)[:1], check=_check_boolean_body, coerce=Coerce.EXPECTS, traits=evolve(PURE, loop=Loop(_ELEMENT, stops=True))),
    fn("forall", _ITEM, dt.BOOLEAN, EITHER, variables=lambda args, at: _element_and_index(args, at)[:1], check=_check_boolean_body, coerce=Coerce.EXPECTS, traits=evolve(PURE, loop=Loop(_ELEMENT, stops=True))),
    fn("aggregate reduce", _REDUCED, type_of(-1), where(0, -1), alias=True, since="4.3", **_AGGREGATE),
    # Older Sparks keep the nested flags of the initial value, though what is merged may break them.
    fn("aggregate reduce", _REDUCED, type_of(-1), where(0, -1), alias=True, until="4.3", **(_AGGREGATE | {"variables": _accumulated(lambda given: given)})),
    fn("array_sort", (ANY_ARRAY, LambdaOf((2,), optional=True)), type_of(0), FIRST, variables=_pair, check=_check_comparator, show=_print_sort, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("zip_with", (ANY_ARRAY, ANY_ARRAY, LambdaOf((2,))), array_of(2), where(0, 1), variables=lambda args, at: ((array_at(args).element, True), (array_at(args, 1).element, True)), coerce=Coerce.EXPECTS, traits=evolve(PURE, loop=Loop(((0, 2, 0), (1, 2, 1))))),
    fn("map_filter", _ENTRY, type_of(0), FIRST, variables=_entry, check=_check_boolean_body, coerce=Coerce.EXPECTS, traits=PURE),
    fn("transform_values", _ENTRY, lambda args, conf: dt.Map(map_at(args).key, args[1].type, args[1].nullable), FIRST, variables=_entry, coerce=Coerce.EXPECTS, traits=PURE),
    fn("transform_keys", _ENTRY, lambda args, conf: evolve(map_at(args), key=args[1].type), FIRST, variables=_entry, check=lambda args, conf: check_keys([args[1].type]), coerce=Coerce.EXPECTS, traits=RAISES),
    fn("map_zip_with", (ANY_MAP, ANY_MAP, LambdaOf((3,))), lambda args, conf: dt.Map(map_at(args).key, args[2].type, args[2].nullable), where(0, 1), variables=lambda args, at: ((map_at(args).key, False), (map_at(args).value, True), (map_at(args, 1).value, True)), coerces=_cast_keys, check=_check_key_types, coerce=Coerce.EXPECTS, traits=PURE),
)
