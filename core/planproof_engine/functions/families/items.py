"""Items of arrays and maps, by place or key. Source: `complexTypeExtractors.scala`, `collectionOperations.scala`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, Args, Coerce, Mismatch, NullRule
from planproof_engine.expr.nodes import Call, Expr, GetFieldOfElements
from planproof_engine.expr.traits import ANSI_RAISES, PURE, RAISES, Cost, Elements, Evaluates, Traits
from planproof_engine.functions.bind import cast, cast_unless_same, make_input_mismatch
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.line import Table, element, fn, lines, map_at, prints
from planproof_engine.functions.families.rules import cast_implicitly, check_inputs, is_foldable
from planproof_engine.types.coercion import find_implicit, find_tightest
from planproof_engine.types.kinds import ANY, ANY_ARRAY, ANY_MAP, INTEGRAL, Kind, OneOf

Flag = Callable[[Sequence[bool], int], bool]
"""Takes the null flags of an array's items and a place; gives whether the item found there may be null."""


def _is_picked_nullable(args: Args, flag: Flag, conf: Conf, *, raises: bool) -> bool:
    """`ArrayItem.computeNullabilityFromArray`.

    A constant place in an array that is written out has its item's flag; in another array it may be null. Any other
    place fails outside the array where `raises`, so that only the array's flags count: not even the place's own does.
    Before 4.1 the array's own does not, either.
    """
    array, index = args
    assert isinstance(array.type, dt.Array)
    if not is_foldable(index) or index.nullable:
        return not raises or (array.nullable and not conf.before("4.1")) or array.type.contains_null
    flags = _list_item_flags(array)
    if flags is None:
        return True
    outcomes = {flag(flags, at) for at in range(-len(flags) - 1, len(flags) + 2)}
    return outcomes.pop() if len(outcomes) == 1 else flag(flags, int(constant(index, "an array's item")))


def _list_item_flags(array: Expr) -> list[bool] | None:
    """The null flags of the items of `array(...)`, or of a field of them; None of another array."""
    if isinstance(array, Call) and array.function.name == "array":
        return [item.nullable for item in array.args]
    if isinstance(array, GetFieldOfElements) and not isinstance(array.child, GetFieldOfElements):
        items, found = _list_item_flags(array.child), array.child.type
        assert isinstance(found, dt.Array)
        assert isinstance(found.element, dt.Struct)
        field = found.element.fields[array.ordinal]
        return None if items is None else [flag or field.nullable for flag in items]
    return None


def _from_nought(raises: bool) -> Flag:
    return lambda flags, at: flags[at] if 0 <= at < len(flags) else not raises


def _from_one(raises: bool) -> Flag:
    """`element_at` counts from one, and from the end; place 0 always fails."""

    def flag(flags: Sequence[bool], at: int) -> bool:
        if at == 0:
            return False
        return not raises if abs(at) > len(flags) else flags[at - 1 if at > 0 else at]

    return flag


def _element_nullable(tried: bool) -> NullRule:
    def nullable(args: Args, conf: Conf) -> bool:
        if isinstance(args[0].type, dt.Map):
            return True
        raises = conf.ansi and not tried
        return _is_picked_nullable(args, _from_one(raises), conf, raises=raises)

    return nullable


def _map_key(args: list[Expr], conf: Conf) -> list[Expr]:
    """`map[key]`: the key is cast to the type of the map's keys where that is implicit."""
    found, key = args
    if not isinstance(found.type, dt.Map) or dt.same_type(key.type, found.type.key, conf.case_sensitive):
        return args
    fits = find_implicit(key.type, found.type.key, ansi=conf.ansi) is not None
    return [found, cast(key, found.type.key, conf)] if fits else args


def _map_key_check(args: Args, conf: Conf) -> Mismatch | None:
    key = map_at(args).key
    return None if dt.same_type(args[1].type, key, conf.case_sensitive) else make_input_mismatch(1, args[1], key.sql)


def _key_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`element_at`: an array takes an int, or what is smaller; a map a key that meets its own keys."""
    found, key = args[0].type, args[1]
    if isinstance(found, dt.Map) and not dt.same_type(found.key, key.type, conf.case_sensitive):
        target = find_tightest(found.key, key.type, conf.without_ansi)
        if target is None:
            return args
        return cast_implicitly(args, (dt.Map(target, found.value, found.value_contains_null), target), conf)
    if isinstance(found, dt.Array) and key.type in (dt.BYTE, dt.SHORT):
        return [args[0], cast_unless_same(key, dt.INT, conf)]
    return args


def _element_at_check(args: Args, conf: Conf) -> Mismatch | None:
    found, key = args[0].type, args[1].type
    if isinstance(found, dt.Array):
        return None if key == dt.INT else make_input_mismatch(1, args[1], "INT")
    if not isinstance(found, dt.Map):
        return make_input_mismatch(0, args[0], '("ARRAY" or "MAP")')
    if dt.same_type(found.key, key, conf.case_sensitive):
        return None
    return Mismatch("MAP_FUNCTION_DIFF_TYPES", f'The input should be a "MAP" and its key, not "{found.sql}" and "{key.sql}".')


def _element_at_type(args: Args, conf: Conf) -> dt.DataType:
    found = args[0].type
    return found.element if isinstance(found, dt.Array) else map_at(args).value


def _place_kind(conf: Conf) -> Kind | dt.DataType:
    """`get` was `arr[n]` before 4.1, which takes no texts."""
    return INTEGRAL if conf.before("4.1") else dt.INT


def _place_is_known(args: Args) -> bool:
    """A null place gives null, and so does a null array. `computeNullabilityFromArray` does not look at that, so that
    the flag may be untrue."""
    return all(not arg.nullable or arg.evidence is not None for arg in args[:2])


_COLLECTION = OneOf((ANY_ARRAY, ANY_MAP))


def _element_at(name: str, expected: OneOf | Kind, tried: bool, traits: Traits) -> Table:
    own: dict[str, Any] = {"coerces": _key_operands, "coerce": Coerce.NONE, "check": _element_at_check, "traits": traits, "flag_holds": _place_is_known}
    return fn(name, (expected, ANY), _element_at_type, _element_nullable(tried), **own)


TABLE: Table = lines(
    fn("getarrayitem", (ANY, INTEGRAL), element(0), lambda args, conf: _is_picked_nullable(args, _from_nought(conf.ansi), conf, raises=conf.ansi), show=prints("{0}[{1}]"), coerce=Coerce.EXPECTS, traits=replace(ANSI_RAISES, evaluates=Evaluates.TO_NULL, elements=Elements.ITEM, cost=Cost.FEW), flag_holds=_place_is_known, plain=True),
    fn("getmapvalue", (ANY, ANY), lambda args, conf: map_at(args).value, ALWAYS, coerces=_map_key, coerce=Coerce.NONE, check=_map_key_check, show=prints("{0}[{1}]"), traits=replace(PURE, evaluates=Evaluates.TO_NULL, elements=Elements.ITEM, cost=Cost.FEW), plain=True),
    fn("get", (ANY, ANY), element(0), lambda args, conf: _is_picked_nullable(args, _from_nought(False), conf, raises=False), coerces=lambda args, conf: cast_implicitly(args, (None, _place_kind(conf)), conf), coerce=Coerce.NONE, check=lambda args, conf: check_inputs(args, (ANY_ARRAY, _place_kind(conf))), traits=replace(PURE, elements=Elements.ITEM)),
    _element_at("element_at", _COLLECTION, tried=False, traits=replace(RAISES, evaluates=Evaluates.TO_NULL, elements=Elements.ITEM)),
    _element_at("try_element_at", ANY, tried=True, traits=replace(RAISES, elements=Elements.ITEM)),
)
