"""Functions of arrays and maps. Source: `collectionOperations.scala`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, EITHER, FIRST, Adjust, Args, Coerce, Mismatch, Optional
from planproof_engine.expr.nodes import Expr, Literal
from planproof_engine.expr.traits import PURE, RAISES, Cost, Elements
from planproof_engine.functions.bind import cast_unless_same, make_input_mismatch
from planproof_engine.functions.families.line import Table, element, fn, lines, type_of
from planproof_engine.functions.families.rules import cast_implicitly, foldable
from planproof_engine.types import (
    BOOLEAN,
    INT,
    LONG,
    VOID,
    Array,
    DataType,
    Map,
    Struct,
    StructField,
    as_nullable,
    same_type,
)
from planproof_engine.types.coercion import find_tightest, find_wider_without_strings, merge_flags
from planproof_engine.types.kinds import ANY, ANY_ARRAY, ANY_MAP, ANY_STRING, ArrayOf, OneOf, is_orderable

_COLLECTION = OneOf((ANY_ARRAY, ANY_MAP))
_STRINGS = ArrayOf(ANY_STRING)
_ASCENDING = Literal(True, BOOLEAN, "true")


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


Meeting = Callable[[DataType, DataType, Conf], "DataType | None"]


def _tightest(left: DataType, right: DataType, conf: Conf) -> DataType | None:
    """`TypeCoercion.findTightestCommonType`: Spark's collection functions take it in ANSI mode, too."""
    return find_tightest(left, right, conf.without_ansi)


def _wider(left: DataType, right: DataType, conf: Conf) -> DataType | None:
    return find_wider_without_strings((left, right), conf.without_ansi)


def _make_meeting(meeting: Meeting, *, null: bool) -> Adjust:
    """Array and element meet at one type; a bare NULL takes the element's type only where `null`."""

    def coerces(args: list[Expr], conf: Conf) -> list[Expr]:
        array, value = args[0], args[1]
        if not isinstance(array.type, Array) or (value.type == VOID and not null):
            return args
        found = None if same_type(array.type.element, value.type, conf.case_sensitive) else meeting(array.type.element, value.type, conf)
        if found is None:
            return args
        target = Array(found, array.type.contains_null)
        return [cast_unless_same(array, target, conf), cast_unless_same(value, found, conf), *args[2:]]

    return coerces


def _make_array_mismatch(args: Args) -> Mismatch:
    return make_input_mismatch(0, args[0], "ARRAY")


def _make_element_mismatch(args: Args) -> Mismatch:
    return Mismatch(
        "ARRAY_FUNCTION_DIFF_TYPES",
        f'The input should be "ARRAY" and its element, not "{args[0].type.sql}" and "{args[1].type.sql}".',
    )


def _check_search(args: Args, conf: Conf) -> Mismatch | None:
    """`array_contains`, `array_position`: what is looked for must be no bare NULL, and its type must have an order."""
    array, value = args[0].type, args[1].type
    if VOID in (array, value):
        return Mismatch("NULL_TYPE", "Null typed values cannot be used as arguments of the function.")
    return _element_check(args, conf) or _check_sort(args, conf)


def _element_check(args: Args, conf: Conf) -> Mismatch | None:
    array, value = args[0].type, args[1].type
    if not isinstance(array, Array):
        return _make_array_mismatch(args)
    return None if same_type(array.element, value, conf.case_sensitive) else _make_element_mismatch(args)


def _check_removal(args: Args, conf: Conf) -> Mismatch | None:
    array, value = args[0].type, args[1].type
    if not isinstance(array, Array) or not same_type(array.element, value, conf.case_sensitive):
        return _make_element_mismatch(args)
    return _check_sort(args, conf)


def _contains_nullable(args: Args, conf: Conf) -> bool:
    return EITHER(args, conf) or _item_of(args).contains_null


def _cast_both_arrays(args: list[Expr], conf: Conf) -> list[Expr]:
    left, right = args[0].type, args[1].type
    if not isinstance(left, Array) or not isinstance(right, Array) or same_type(left.element, right.element, conf.case_sensitive):
        return args
    found = _tightest(left.element, right.element, conf)
    if found is None:
        return args
    return [cast_unless_same(a, Array(found, t.contains_null), conf) for a, t in zip(args, (left, right))]


def _check_same_arrays(args: Args, conf: Conf) -> Mismatch | None:
    left, right = args[0].type, args[1].type
    if isinstance(left, Array) and isinstance(right, Array) and same_type(left.element, right.element, conf.case_sensitive):
        return _check_sort(args, conf)
    return Mismatch(
        "BINARY_ARRAY_DIFF_TYPES",
        f'The inputs should be two "ARRAY"s of one element type, not "{left.sql}" and "{right.sql}".',
    )


def _element(left: Array, right: Array, conf: Conf) -> DataType:
    """The one element type of both, its flags loosest."""
    return merge_flags([left.element, right.element], conf) or left.element


def _union_type(args: Args, conf: Conf) -> DataType:
    left, right = _item_of(args), _item_of(args, 1)
    return Array(_element(left, right, conf), left.contains_null or right.contains_null)


def _intersect_type(args: Args, conf: Conf) -> DataType:
    left, right = _item_of(args), _item_of(args, 1)
    return Array(_element(left, right, conf), left.contains_null and right.contains_null)


def _overlap_nullable(args: Args, conf: Conf) -> bool:
    return EITHER(args, conf) or _item_of(args).contains_null or _item_of(args, 1).contains_null


def _compact_type(args: Args, conf: Conf) -> DataType:
    """Before Spark 4.0 it is a filter, which leaves the flag as it was."""
    return args[0].type if conf.before("4.0") else Array(_item_of(args).element, False)


def _add_value_type(args: Args, conf: Conf) -> DataType:
    """`ArrayAppend` and its kin forget every flag below the array's own."""
    return Array(as_nullable(_item_of(args).element), True)


def _append_type(args: Args, conf: Conf) -> DataType:
    """Before Spark 4.0 flags stay as they are, but for what the value loosens."""
    array = _item_of(args)
    return Array(array.element, array.contains_null or args[1].nullable)


def _repeat_type(args: Args, conf: Conf) -> DataType:
    return Array(args[0].type, args[0].nullable)


def _repeat_nullable(args: Args, conf: Conf) -> bool:
    return args[1].nullable


def _flatten_type(args: Args, conf: Conf) -> DataType:
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
    return Array(_map_of(args).key, True)


def _values(args: Args, conf: Conf) -> DataType:
    return Array(_map_of(args).value, True)


def _entries(args: Args, conf: Conf) -> DataType:
    found = _map_of(args)
    entry = (StructField("key", found.key, False), StructField("value", found.value, found.value_contains_null))
    return Array(Struct(entry), False)


def _check_sort(args: Args, conf: Conf) -> Mismatch | None:
    element_type = _item_of(args).element
    return (
        None
        if is_orderable(element_type)
        else Mismatch("INVALID_ORDERING_TYPE", f'"{element_type.sql}" cannot be ordered.')
    )


def _sort_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """Spark looks whether the direction is a constant before it looks at its type."""
    refused = foldable(1)(args, conf)
    sortable = isinstance(args[0].type, Array) or args[0].type == VOID
    if refused is not None and sortable and args[1].type != VOID:
        raise refused
    return args


def _join_type(args: Args, conf: Conf) -> DataType:
    return _item_of(args).element


def _join_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`array_join` casts the items to strings, but no separator."""
    return [*cast_implicitly(args[:1], (_STRINGS,), conf), *args[1:]] if isinstance(args[0].type, Array) else args


def _size(names: str) -> Table:
    traits = replace(PURE, elements=Elements.COUNT, cost=Cost.FEW)
    return fn(names, (_COLLECTION,), INT, _size_nullable, alias=True, coerce=Coerce.EXPECTS, traits=traits)


TABLE: Table = lines(
    _size("size cardinality"),
    fn("array_size", (ANY_ARRAY,), INT, EITHER, traits=replace(PURE, elements=Elements.COUNT, cost=Cost.FEW)),
    fn("array_contains", (ANY_ARRAY, ANY), BOOLEAN, _contains_nullable, coerces=_make_meeting(_wider, null=False), coerce=Coerce.NONE, check=_check_search, traits=PURE),
    fn("array_position", (ANY_ARRAY, ANY), LONG, EITHER, coerces=_make_meeting(_tightest, null=True), coerce=Coerce.NONE, check=_check_search, traits=PURE),
    fn("array_remove", (ANY_ARRAY, ANY), type_of(0), EITHER, coerces=_make_meeting(_tightest, null=True), coerce=Coerce.NONE, check=_check_removal, traits=PURE, plain=True),
    fn("array_append", (ANY_ARRAY, ANY), _add_value_type, FIRST, coerces=_make_meeting(_tightest, null=True), coerce=Coerce.NONE, check=_element_check, since="4.0", traits=PURE, plain=True),
    fn("array_append", (ANY_ARRAY, ANY), _append_type, FIRST, coerces=_make_meeting(_tightest, null=True), coerce=Coerce.NONE, check=_element_check, until="4.0", traits=PURE, plain=True),
    fn("array_prepend", (ANY_ARRAY, ANY), _add_value_type, FIRST, coerces=_make_meeting(_tightest, null=True), coerce=Coerce.NONE, check=_element_check, traits=PURE, plain=True),
    fn("array_union", (ANY_ARRAY, ANY_ARRAY), _union_type, EITHER, coerces=_cast_both_arrays, coerce=Coerce.NONE, check=_check_same_arrays, traits=PURE, plain=True),
    fn("array_intersect", (ANY_ARRAY, ANY_ARRAY), _intersect_type, EITHER, coerces=_cast_both_arrays, coerce=Coerce.NONE, check=_check_same_arrays, traits=PURE, plain=True),
    fn("array_except", (ANY_ARRAY, ANY_ARRAY), type_of(0), EITHER, coerces=_cast_both_arrays, coerce=Coerce.NONE, check=_check_same_arrays, traits=PURE, plain=True),
    fn("arrays_overlap", (ANY_ARRAY, ANY_ARRAY), BOOLEAN, _overlap_nullable, coerces=_cast_both_arrays, coerce=Coerce.NONE, check=_check_same_arrays, traits=PURE),
    fn("array_distinct", (ANY_ARRAY,), type_of(0), EITHER, coerce=Coerce.EXPECTS, check=_check_sort, traits=PURE, plain=True),
    fn("array_compact", (ANY_ARRAY,), _compact_type, EITHER, traits=PURE, plain=True),
    fn("array_max", (ANY_ARRAY,), element(0), ALWAYS, check=_check_sort, traits=replace(PURE, cost=Cost.SCANS)),
    fn("array_min", (ANY_ARRAY,), element(0), ALWAYS, check=_check_sort, traits=replace(PURE, cost=Cost.SCANS)),
    fn("array_repeat", (ANY, INT), _repeat_type, _repeat_nullable, coerce=Coerce.EXPECTS, traits=RAISES, plain=True),
    fn("array_join", (_STRINGS, ANY_STRING, Optional(ANY_STRING)), _join_type, EITHER, coerces=_join_operands, coerce=Coerce.EXPECTS, traits=PURE),
    fn("flatten", (ANY_ARRAY,), _flatten_type, _flatten_nullable, coerce=Coerce.NONE, check=_flatten_check, traits=RAISES, plain=True),
    fn("slice", (ANY_ARRAY, INT, INT), type_of(0), EITHER, traits=replace(RAISES, elements=Elements.KEEPS), plain=True),
    fn("sort_array", (ANY_ARRAY, Optional(BOOLEAN, _ASCENDING)), type_of(0), EITHER, coerces=_sort_operands, coerce=Coerce.EXPECTS, check=_check_sort, traits=PURE, plain=True),
    fn("map_keys", (ANY_MAP,), _keys, EITHER, coerce=Coerce.EXPECTS, traits=replace(PURE, cost=Cost.FEW)),
    fn("map_values", (ANY_MAP,), _values, EITHER, coerce=Coerce.EXPECTS, traits=replace(PURE, cost=Cost.FEW), plain=True),
    fn("map_entries", (ANY_MAP,), _entries, EITHER, coerce=Coerce.EXPECTS, traits=PURE, plain=True),
)
