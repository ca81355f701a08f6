"""Higher-order functions. Source: `higherOrderFunctions.scala`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from planproof_engine.conf import Conf
from planproof_engine.expr.function import EITHER, FIRST, Args, Coerce, LambdaOf, Mismatch, Signature
from planproof_engine.expr.nodes import Call, Expr
from planproof_engine.expr.traits import PURE, RAISES, Elements, Loop
from planproof_engine.functions.bind import cast_unless_same
from planproof_engine.functions.families.line import Table, fn, lines
from planproof_engine.functions.families.rules import check_keys
from planproof_engine.types import BOOLEAN, INT, VOID, Array, DataType, Map, as_nullable, same_structure, same_type
from planproof_engine.types.casts import force_nullable
from planproof_engine.types.coercion import find_wider
from planproof_engine.types.kinds import ANY, ANY_ARRAY, ANY_MAP, is_orderable

Types = Sequence[tuple[DataType, bool]]


def _array(args: Args, index: int = 0) -> Array:
    found = args[index].type
    if not isinstance(found, Array):
        raise Mismatch("UNEXPECTED_INPUT_TYPE", f'The first parameter requires the "ARRAY" type, not "{found.sql}".')
    return found


def _map(args: Args, index: int = 0) -> Map:
    found = args[index].type
    if not isinstance(found, Map):
        raise Mismatch("UNEXPECTED_INPUT_TYPE", f'The first parameter requires the "MAP" type, not "{found.sql}".')
    return found


def _element_and_index(args: Args, at: int) -> Types:
    array = _array(args)
    return ((array.element, array.contains_null), (INT, False))


def _element(args: Args, at: int) -> Types:
    return _element_and_index(args, at)[:1]


def _pair(args: Args, at: int) -> Types:
    array = _array(args)
    return ((array.element, array.contains_null),) * 2


def _entry(args: Args, at: int) -> Types:
    found = _map(args)
    return ((found.key, False), (found.value, found.value_contains_null))


def _zip_parameters(args: Args, at: int) -> Types:
    return ((_array(args).element, True), (_array(args, 1).element, True))


def _map_zip_parameters(args: Args, at: int) -> Types:
    left, right = _map(args), _map(args, 1)
    return ((left.key, False), (left.value, True), (right.value, True))


def _aggregate_parameters(args: Args, at: int) -> Types:
    """merge sees (accumulator, element), finish sees the accumulator alone."""
    return _reduce_parameters(args, at, as_nullable(args[1].type))


def _aggregate_parameters_before(args: Args, at: int) -> Types:
    """Older Sparks keep the nested flags of the initial value, though what is merged may break them."""
    return _reduce_parameters(args, at, args[1].type)


def _reduce_parameters(args: Args, at: int, accumulator: DataType) -> Types:
    array = _array(args)
    if at == 3:
        return ((accumulator, True),)
    return ((accumulator, True), (array.element, array.contains_null))


def _cast_keys(args: list[Expr], conf: Conf) -> list[Expr]:
    """`MapZipWithTypeCoercion`: both maps take the wider key type."""
    left, right = args[0].type, args[1].type
    if not isinstance(left, Map) or not isinstance(right, Map) or same_type(left.key, right.key, conf.case_sensitive):
        return args
    key = find_wider(left.key, right.key, conf)
    if key is None or force_nullable(left.key, key) or force_nullable(right.key, key):
        return args
    first = cast_unless_same(args[0], Map(key, left.value, left.value_contains_null), conf)
    second = cast_unless_same(args[1], Map(key, right.value, right.value_contains_null), conf)
    return [first, second, *args[2:]]


def _check_key_types(args: Args, conf: Conf) -> Mismatch | None:
    left, right = _map(args), _map(args, 1)
    if same_type(left.key, right.key, conf.case_sensitive):
        return None
    return Mismatch("MAP_ZIP_WITH_DIFF_TYPES", f'the maps have the keys "{left.key.sql}" and "{right.key.sql}".')


def _is_key(args: Args, conf: Conf) -> Mismatch | None:
    return check_keys([args[1].type])


def _check_boolean_body(args: Args, conf: Conf) -> Mismatch | None:
    body = args[-1]
    if body.type in (BOOLEAN, VOID):
        return None
    return Mismatch(
        "UNEXPECTED_INPUT_TYPE", f'The second parameter requires the "BOOLEAN" type, not "{body.type.sql}".'
    )


def _check_accumulator(args: Args, conf: Conf) -> Mismatch | None:
    """`ExpectsInputTypes` makes a merge that is NULL one of the accumulator's type."""
    zero, merge = args[1].type, args[2].type
    if merge == VOID or same_structure(zero, merge):
        return None
    return Mismatch("UNEXPECTED_INPUT_TYPE", f'The third parameter requires the "{zero.sql}" type, not "{merge.sql}".')


def _check_comparator(args: Args, conf: Conf) -> Mismatch | None:
    if len(args) < 2:
        found = args[0].type
        ordered = not isinstance(found, Array) or is_orderable(found.element)
        return None if ordered else Mismatch("INVALID_ORDERING_TYPE", f'"{found.sql}" has elements without an order.')
    if args[1].type == INT:
        return None
    return Mismatch("UNEXPECTED_RETURN_TYPE", f'The comparator must return "INT", not "{args[1].type.sql}".')


def _transform_type(args: Args, conf: Conf) -> DataType:
    return Array(args[1].type, args[1].nullable)


def _filter_type(args: Args, conf: Conf) -> DataType:
    return args[0].type


def _exists_nullable(args: Args, conf: Conf) -> bool:
    """`ArrayExists.nullable`: with three-valued logic the body's null can be the answer."""
    return args[0].nullable or (args[1].nullable and conf.three_valued_exists)


def _aggregate_type(args: Args, conf: Conf) -> DataType:
    return args[3].type if len(args) == 4 else args[2].type


def _aggregate_nullable(args: Args, conf: Conf) -> bool:
    return args[0].nullable or args[-1].nullable


def _zip_nullable(args: Args, conf: Conf) -> bool:
    return args[0].nullable or args[1].nullable


def _zip_type(args: Args, conf: Conf) -> DataType:
    return Array(args[2].type, args[2].nullable)


def _transform_values_type(args: Args, conf: Conf) -> DataType:
    return Map(_map(args).key, args[1].type, args[1].nullable)


def _transform_keys_type(args: Args, conf: Conf) -> DataType:
    found = _map(args)
    return Map(args[1].type, found.value, found.value_contains_null)


def _map_zip_type(args: Args, conf: Conf) -> DataType:
    return Map(_map(args).key, args[2].type, args[2].nullable)


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
    "variables": _aggregate_parameters,
    "check": _check_accumulator,
    "coerce": Coerce.EXPECTS,
    "traits": replace(PURE, loop=Loop(((0, 2, 1),), alone=False)),
}
_ELEMENT = ((0, 1, 0),)
"""The lambda behind the array takes an element first."""

def takes_condition(function: Signature) -> bool:
    """Whether a function's lambda says yes or no of each element."""
    return function.check is _check_boolean_body


TABLE: Table = lines(
    fn("transform", _ITEM_OR_INDEX, _transform_type, FIRST, variables=_element_and_index, coerce=Coerce.EXPECTS, traits=replace(PURE, loop=Loop(_ELEMENT))),
    fn("filter", _ITEM_OR_INDEX, _filter_type, FIRST, variables=_element_and_index, check=_check_boolean_body, coerce=Coerce.EXPECTS, traits=replace(PURE, elements=Elements.KEEPS, loop=Loop(_ELEMENT))),
    fn("exists", _ITEM, BOOLEAN, _exists_nullable, variables=_element, check=_check_boolean_body, coerce=Coerce.EXPECTS, traits=replace(PURE, loop=Loop(_ELEMENT, stops=True))),
    fn("forall", _ITEM, BOOLEAN, EITHER, variables=_element, check=_check_boolean_body, coerce=Coerce.EXPECTS, traits=replace(PURE, loop=Loop(_ELEMENT, stops=True))),
    fn("aggregate reduce", _REDUCED, _aggregate_type, _aggregate_nullable, alias=True, since="4.3", **_AGGREGATE),
    fn("aggregate reduce", _REDUCED, _aggregate_type, _aggregate_nullable, alias=True, until="4.3", **(_AGGREGATE | {"variables": _aggregate_parameters_before})),
    fn("array_sort", (ANY_ARRAY, LambdaOf((2,), optional=True)), _filter_type, FIRST, variables=_pair, check=_check_comparator, show=_print_sort, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("zip_with", (ANY_ARRAY, ANY_ARRAY, LambdaOf((2,))), _zip_type, _zip_nullable, variables=_zip_parameters, coerce=Coerce.EXPECTS, traits=replace(PURE, loop=Loop(((0, 2, 0), (1, 2, 1))))),
    fn("map_filter", _ENTRY, _filter_type, FIRST, variables=_entry, check=_check_boolean_body, coerce=Coerce.EXPECTS, traits=PURE),
    fn("transform_values", _ENTRY, _transform_values_type, FIRST, variables=_entry, coerce=Coerce.EXPECTS, traits=PURE),
    fn("transform_keys", _ENTRY, _transform_keys_type, FIRST, variables=_entry, check=_is_key, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("map_zip_with", (ANY_MAP, ANY_MAP, LambdaOf((3,))), _map_zip_type, _zip_nullable, variables=_map_zip_parameters, coerces=_cast_keys, check=_check_key_types, coerce=Coerce.EXPECTS, traits=PURE),
)
