"""Functions of arrays and maps. Source: `collectionOperations.scala`."""

from __future__ import annotations

from planproof.conf import Conf
from planproof.expr.nodes import Expr
from planproof.functions.bind import cast_unless_same
from planproof.functions.families.line import Table, element, fn, lines, same
from planproof.functions.signature import (
    ALWAYS,
    EITHER,
    FIRST,
    PURE,
    RAISES,
    Args,
    Coerce,
    Mismatch,
    Optional,
)
from planproof.types import BOOLEAN, INT, LONG, STRING, Array, DataType, Map, Struct, StructField, is_string, same_type
from planproof.types.coercion import implicit, tightest, wider_without_strings
from planproof.types.kinds import ANY, ANY_ARRAY, ANY_MAP, ANY_STRING, OneOf, is_orderable

_COLLECTION = OneOf((ANY_ARRAY, ANY_MAP))


def _item_of(args: Args, at: int = 0) -> Array:
    found = args[at].type
    assert isinstance(found, Array)
    return found


def _map_of(args: Args) -> Map:
    found = args[0].type
    assert isinstance(found, Map)
    return found


def _size_nullable(args: Args, conf: Conf) -> bool:
    """With the legacy setting the size of NULL is -1 (`spark.sql.legacy.sizeOfNull`, off under ANSI)."""
    return args[0].nullable if conf.ansi or not conf.size_of_null else False


def _with_element(args: list[Expr], conf: Conf) -> list[Expr]:
    """Array and element meet at the tightest type that holds both (`ArrayBinaryLike`, `array_contains`)."""
    array, value = args[0], args[1]
    if not isinstance(array.type, Array) or same_type(array.type.element, value.type):
        return args
    found = tightest(array.type.element, value.type, ansi=conf.ansi)
    if found is None:
        return args
    target = Array(found, array.type.contains_null)
    return [cast_unless_same(array, target, conf), cast_unless_same(value, found, conf), *args[2:]]


def _element_check(args: Args, conf: Conf) -> Mismatch | None:
    array, value = args[0].type, args[1].type
    if not isinstance(array, Array):
        return Mismatch("UNEXPECTED_INPUT_TYPE", f'The first parameter requires the "ARRAY" type, not "{array.sql}".')
    if value.simple == "void":
        return Mismatch("NULL_TYPE", "Null typed values cannot be used as arguments of the function.")
    if not same_type(array.element, value):
        return Mismatch(
            "ARRAY_FUNCTION_DIFF_TYPES",
            f'The input should be "ARRAY" and its element, not "{array.sql}" and "{value.sql}".',
        )
    return None


def _contains_nullable(args: Args, conf: Conf) -> bool:
    return EITHER(args, conf) or _item_of(args).contains_null


def _both_arrays(args: list[Expr], conf: Conf) -> list[Expr]:
    left, right = args[0].type, args[1].type
    if not isinstance(left, Array) or not isinstance(right, Array) or same_type(left.element, right.element):
        return args
    found = wider_without_strings((left.element, right.element), ansi=conf.ansi)
    if found is None:
        return args
    return [cast_unless_same(a, Array(found, t.contains_null), conf) for a, t in zip(args, (left, right))]


def _same_arrays(args: Args, conf: Conf) -> Mismatch | None:
    left, right = args[0].type, args[1].type
    if isinstance(left, Array) and isinstance(right, Array) and same_type(left.element, right.element):
        return None
    return Mismatch(
        "BINARY_ARRAY_DIFF_TYPES",
        f'The inputs should be two "ARRAY"s of one element type, not "{left.sql}" and "{right.sql}".',
    )


def _union_type(args: Args, conf: Conf) -> DataType:
    left, right = _item_of(args), _item_of(args, 1)
    return Array(left.element, left.contains_null or right.contains_null)


def _intersect_type(args: Args, conf: Conf) -> DataType:
    left, right = _item_of(args), _item_of(args, 1)
    return Array(left.element, left.contains_null and right.contains_null)


def _overlap_nullable(args: Args, conf: Conf) -> bool:
    return EITHER(args, conf) or _item_of(args).contains_null or _item_of(args, 1).contains_null


def _compacted(args: Args, conf: Conf) -> DataType:
    return Array(_item_of(args).element, False)


def _with_value(args: Args, conf: Conf) -> DataType:
    array = _item_of(args)
    return Array(array.element, array.contains_null or args[1].nullable)


def _repeated(args: Args, conf: Conf) -> DataType:
    return Array(args[0].type, args[0].nullable)


def _repeat_nullable(args: Args, conf: Conf) -> bool:
    return args[1].nullable


def _flattened(args: Args, conf: Conf) -> DataType:
    inner = _item_of(args).element
    assert isinstance(inner, Array)
    return inner


def _flatten_check(args: Args, conf: Conf) -> Mismatch | None:
    found = args[0].type
    if isinstance(found, Array) and isinstance(found.element, Array):
        return None
    return Mismatch(
        "UNEXPECTED_INPUT_TYPE", f'The first parameter requires the "ARRAY" of "ARRAY" type, not "{found.sql}".'
    )


def _flatten_nullable(args: Args, conf: Conf) -> bool:
    return args[0].nullable or _item_of(args).contains_null


def _keys(args: Args, conf: Conf) -> DataType:
    return Array(_map_of(args).key, False)


def _values(args: Args, conf: Conf) -> DataType:
    found = _map_of(args)
    return Array(found.value, found.value_contains_null)


def _entries(args: Args, conf: Conf) -> DataType:
    found = _map_of(args)
    entry = (StructField("key", found.key, False), StructField("value", found.value, found.value_contains_null))
    return Array(Struct(entry), False)


def _sorted_check(args: Args, conf: Conf) -> Mismatch | None:
    element_type = _item_of(args).element
    return (
        None
        if is_orderable(element_type)
        else Mismatch("INVALID_ORDERING_TYPE", f'"{element_type.sql}" cannot be ordered.')
    )


def key_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`element_at`: an array takes an int, a map a key that meets its own keys."""
    found, key = args[0].type, args[1]
    if isinstance(found, Map) and not same_type(found.key, key.type):
        target = tightest(found.key, key.type, ansi=conf.ansi)
        if target is None:
            return args
        whole = Map(target, found.value, found.value_contains_null)
        return [cast_unless_same(args[0], whole, conf), cast_unless_same(key, target, conf)]
    if isinstance(found, Array):
        aim = implicit(key.type, INT, ansi=conf.ansi)
        return [args[0], key if aim is None else cast_unless_same(key, aim, conf)]
    return args


def element_at_check(args: Args, conf: Conf) -> Mismatch | None:
    found, key = args[0].type, args[1].type
    if isinstance(found, Array) and key == INT:
        return None
    if isinstance(found, Map) and same_type(found.key, key):
        return None
    return Mismatch("UNEXPECTED_INPUT_TYPE", f'"{found.sql}" cannot be read at a "{key.sql}".')


def element_at_type(args: Args, conf: Conf) -> DataType:
    found = args[0].type
    return found.element if isinstance(found, Array) else _map_of(args).value


def _element_at_nullable(args: Args, conf: Conf) -> bool:
    """`ElementAt.nullable`: certain only for a literal place inside an array that is written out."""
    array, index = args
    items = getattr(array, "args", None)
    value = getattr(index, "value", None)
    if (
        getattr(getattr(array, "function", None), "name", None) == "array"
        and isinstance(value, int)
        and items is not None
    ):
        if value == 0 or abs(value) > len(items):
            return True
        return bool(items[value - 1 if value > 0 else value].nullable)
    return True


def _joined_check(args: Args, conf: Conf) -> Mismatch | None:
    return (
        None if is_string(_item_of(args).element) else Mismatch("UNEXPECTED_INPUT_TYPE", "`array_join` joins strings.")
    )


def _size(names: str) -> Table:
    return fn(names, (_COLLECTION,), INT, _size_nullable, alias=True, coerce=Coerce.EXPECTS, effects=PURE)


TABLE: Table = lines(
    _size("size cardinality"),
    fn("array_size", (ANY_ARRAY,), INT, EITHER, coerce=Coerce.EXPECTS, effects=PURE),
    fn("array_contains", (ANY_ARRAY, ANY), BOOLEAN, _contains_nullable, coerces=_with_element, coerce=Coerce.NONE, check=_element_check, effects=PURE),
    fn("array_position", (ANY_ARRAY, ANY), LONG, EITHER, coerces=_with_element, coerce=Coerce.NONE, check=_element_check, effects=PURE),
    fn("array_remove", (ANY_ARRAY, ANY), same(0), EITHER, coerces=_with_element, coerce=Coerce.NONE, check=_element_check, effects=PURE),
    fn("array_append", (ANY_ARRAY, ANY), _with_value, FIRST, coerces=_with_element, coerce=Coerce.NONE, check=_element_check, effects=PURE),
    fn("array_prepend", (ANY_ARRAY, ANY), _with_value, FIRST, coerces=_with_element, coerce=Coerce.NONE, check=_element_check, effects=PURE),
    fn("array_union", (ANY_ARRAY, ANY_ARRAY), _union_type, EITHER, coerces=_both_arrays, coerce=Coerce.NONE, check=_same_arrays, effects=PURE),
    fn("array_intersect", (ANY_ARRAY, ANY_ARRAY), _intersect_type, EITHER, coerces=_both_arrays, coerce=Coerce.NONE, check=_same_arrays, effects=PURE),
    fn("array_except", (ANY_ARRAY, ANY_ARRAY), same(0), EITHER, coerces=_both_arrays, coerce=Coerce.NONE, check=_same_arrays, effects=PURE),
    fn("arrays_overlap", (ANY_ARRAY, ANY_ARRAY), BOOLEAN, _overlap_nullable, coerces=_both_arrays, coerce=Coerce.NONE, check=_same_arrays, effects=PURE),
    fn("array_distinct", (ANY_ARRAY,), same(0), EITHER, coerce=Coerce.EXPECTS, effects=PURE),
    fn("array_compact", (ANY_ARRAY,), _compacted, EITHER, coerce=Coerce.EXPECTS, effects=PURE),
    fn("array_max", (ANY_ARRAY,), element(0), ALWAYS, coerce=Coerce.EXPECTS, effects=PURE),
    fn("array_min", (ANY_ARRAY,), element(0), ALWAYS, coerce=Coerce.EXPECTS, effects=PURE),
    fn("array_repeat", (ANY, INT), _repeated, _repeat_nullable, effects=RAISES),
    fn("array_join", (ANY_ARRAY, ANY_STRING, Optional(ANY_STRING)), STRING, EITHER, check=_joined_check, effects=PURE),
    fn("element_at", (_COLLECTION, ANY), element_at_type, _element_at_nullable, coerces=key_operands, coerce=Coerce.NONE, check=element_at_check, effects=RAISES),
    fn("flatten", (ANY_ARRAY,), _flattened, _flatten_nullable, coerce=Coerce.NONE, check=_flatten_check, effects=RAISES),
    fn("slice", (ANY_ARRAY, INT, INT), same(0), EITHER, effects=RAISES),
    fn("sort_array", (ANY_ARRAY, Optional(BOOLEAN)), same(0), FIRST, check=_sorted_check, effects=PURE),
    fn("map_keys", (ANY_MAP,), _keys, EITHER, coerce=Coerce.EXPECTS, effects=PURE),
    fn("map_values", (ANY_MAP,), _values, EITHER, coerce=Coerce.EXPECTS, effects=PURE),
    fn("map_entries", (ANY_MAP,), _entries, EITHER, coerce=Coerce.EXPECTS, effects=PURE),
)
