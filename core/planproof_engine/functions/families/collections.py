"""Functions of arrays and maps. Source: `collectionOperations.scala`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, EITHER, FIRST, Adjust, Args, Coerce, Mismatch, Optional, where
from planproof_engine.expr.nodes import Expr, Literal
from planproof_engine.expr.traits import PURE, RAISES, Cost, Elements
from planproof_engine.functions.bind import cast_unless_same, make_input_mismatch
from planproof_engine.functions.families.line import Table, array_at, array_of, element, fn, lines, map_at, type_of
from planproof_engine.functions.families.rules import at_once, cast_implicitly, foldable, must
from planproof_engine.types.coercion import find_tightest, find_wider_without_strings, merge_flags
from planproof_engine.types.kinds import ANY, ANY_ARRAY, ANY_MAP, ANY_STRING, ArrayOf, OneOf, is_orderable

_COLLECTION = OneOf((ANY_ARRAY, ANY_MAP))
_STRINGS = ArrayOf(ANY_STRING)
_ASCENDING = Literal(True, dt.BOOLEAN, "true")


Meeting = Callable[[dt.DataType, dt.DataType, Conf], "dt.DataType | None"]


def _tightest(left: dt.DataType, right: dt.DataType, conf: Conf) -> dt.DataType | None:
    """`TypeCoercion.findTightestCommonType`: Spark's collection functions take it in ANSI mode, too."""
    return find_tightest(left, right, conf.without_ansi)


def _make_meeting(meeting: Meeting, *, null: bool) -> Adjust:
    """Array and element meet at one type; a bare NULL takes the element's type only where `null`."""

    def coerces(args: list[Expr], conf: Conf) -> list[Expr]:
        array, value = args[0], args[1]
        if not isinstance(array.type, dt.Array) or (value.type == dt.VOID and not null):
            return args
        found = None if dt.same_type(array.type.element, value.type, conf.case_sensitive) else meeting(array.type.element, value.type, conf)
        if found is None:
            return args
        target = dt.Array(found, array.type.contains_null)
        return [cast_unless_same(array, target, conf), cast_unless_same(value, found, conf), *args[2:]]

    return coerces


def _make_element_mismatch(args: Args) -> Mismatch:
    return Mismatch(
        "ARRAY_FUNCTION_DIFF_TYPES",
        f'The input should be "ARRAY" and its element, not "{args[0].type.sql}" and "{args[1].type.sql}".',
    )


def _check_search(args: Args, conf: Conf) -> Mismatch | None:
    """`array_contains`, `array_position`: what is looked for must be no bare NULL, and its type must have an order."""
    array, value = args[0].type, args[1].type
    if dt.VOID in (array, value):
        return Mismatch("NULL_TYPE", "Null typed values cannot be used as arguments of the function.")
    return _element_check(args, conf) or _check_sort(args, conf)


def _element_check(args: Args, conf: Conf) -> Mismatch | None:
    array, value = args[0].type, args[1].type
    if not isinstance(array, dt.Array):
        return make_input_mismatch(0, args[0], "ARRAY")
    return None if dt.same_type(array.element, value, conf.case_sensitive) else _make_element_mismatch(args)


def _check_removal(args: Args, conf: Conf) -> Mismatch | None:
    array, value = args[0].type, args[1].type
    if not isinstance(array, dt.Array) or not dt.same_type(array.element, value, conf.case_sensitive):
        return _make_element_mismatch(args)
    return _check_sort(args, conf)


def _cast_both_arrays(args: list[Expr], conf: Conf) -> list[Expr]:
    left, right = args[0].type, args[1].type
    if not isinstance(left, dt.Array) or not isinstance(right, dt.Array) or dt.same_type(left.element, right.element, conf.case_sensitive):
        return args
    found = _tightest(left.element, right.element, conf)
    if found is None:
        return args
    return [cast_unless_same(a, dt.Array(found, t.contains_null), conf) for a, t in zip(args, (left, right))]


def _check_same_arrays(args: Args, conf: Conf) -> Mismatch | None:
    left, right = args[0].type, args[1].type
    if isinstance(left, dt.Array) and isinstance(right, dt.Array) and dt.same_type(left.element, right.element, conf.case_sensitive):
        return _check_sort(args, conf)
    return Mismatch(
        "BINARY_ARRAY_DIFF_TYPES",
        f'The inputs should be two "ARRAY"s of one element type, not "{left.sql}" and "{right.sql}".',
    )


def _element(left: dt.Array, right: dt.Array, conf: Conf) -> dt.DataType:
    """The one element type of both, its flags loosest."""
    return merge_flags([left.element, right.element], conf) or left.element


def _check_sort(args: Args, conf: Conf) -> Mismatch | None:
    item = array_at(args).element
    return None if is_orderable(item) else Mismatch("INVALID_ORDERING_TYPE", f'"{item.sql}" cannot be ordered.')


def _union_type(args: Args, conf: Conf) -> dt.DataType:
    left, right = array_at(args), array_at(args, 1)
    return dt.Array(_element(left, right, conf), left.contains_null or right.contains_null)


def _intersect_type(args: Args, conf: Conf) -> dt.DataType:
    left, right = array_at(args), array_at(args, 1)
    return dt.Array(_element(left, right, conf), left.contains_null and right.contains_null)


def _add_value_type(args: Args, conf: Conf) -> dt.DataType:
    """`ArrayAppend` and its kin forget every flag below the array's own."""
    return dt.Array(dt.as_nullable(array_at(args).element), True)


def _append_type(args: Args, conf: Conf) -> dt.DataType:
    """Before Spark 4.0 flags stay as they are, but for what the value loosens."""
    array = array_at(args)
    return dt.Array(array.element, array.contains_null or args[1].nullable)


def _entries(args: Args, conf: Conf) -> dt.DataType:
    found = map_at(args)
    entry = (dt.StructField("key", found.key, False), dt.StructField("value", found.value, found.value_contains_null))
    return dt.Array(dt.Struct(entry), False)


def _sort_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """Spark looks whether the direction is a constant before it looks at its type."""
    sortable = isinstance(args[0].type, dt.Array) or args[0].type == dt.VOID
    return at_once(foldable(1))(args, conf) if sortable and args[1].type != dt.VOID else args


def _join_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`array_join` casts the items to strings, but no separator."""
    return [*cast_implicitly(args[:1], (_STRINGS,), conf), *args[1:]] if isinstance(args[0].type, dt.Array) else args


TABLE: Table = lines(
    # With the legacy setting the size of NULL is -1 (`spark.sql.legacy.sizeOfNull`, off under ANSI).
    fn("size cardinality", (_COLLECTION,), dt.INT, lambda args, conf: args[0].nullable and (conf.ansi or not conf.size_of_null), alias=True, coerce=Coerce.EXPECTS, traits=replace(PURE, elements=Elements.COUNT, cost=Cost.FEW)),
    fn("array_size", (ANY_ARRAY,), dt.INT, EITHER, traits=replace(PURE, elements=Elements.COUNT, cost=Cost.FEW)),
    fn("array_contains", (ANY_ARRAY, ANY), dt.BOOLEAN, lambda args, conf: EITHER(args, conf) or array_at(args).contains_null, coerces=_make_meeting(lambda left, right, conf: find_wider_without_strings((left, right), conf.without_ansi), null=False), coerce=Coerce.NONE, check=_check_search, traits=PURE),
    fn("array_position", (ANY_ARRAY, ANY), dt.LONG, EITHER, coerces=_make_meeting(_tightest, null=True), coerce=Coerce.NONE, check=_check_search, traits=PURE),
    fn("array_remove", (ANY_ARRAY, ANY), type_of(0), EITHER, coerces=_make_meeting(_tightest, null=True), coerce=Coerce.NONE, check=_check_removal, traits=PURE, plain=True),
    fn("array_append", (ANY_ARRAY, ANY), _add_value_type, FIRST, coerces=_make_meeting(_tightest, null=True), coerce=Coerce.NONE, check=_element_check, since="4.0", traits=PURE, plain=True),
    fn("array_append", (ANY_ARRAY, ANY), _append_type, FIRST, coerces=_make_meeting(_tightest, null=True), coerce=Coerce.NONE, check=_element_check, until="4.0", traits=PURE, plain=True),
    fn("array_prepend", (ANY_ARRAY, ANY), _add_value_type, FIRST, coerces=_make_meeting(_tightest, null=True), coerce=Coerce.NONE, check=_element_check, traits=PURE, plain=True),
    fn("array_union", (ANY_ARRAY, ANY_ARRAY), _union_type, EITHER, coerces=_cast_both_arrays, coerce=Coerce.NONE, check=_check_same_arrays, traits=PURE, plain=True),
    fn("array_intersect", (ANY_ARRAY, ANY_ARRAY), _intersect_type, EITHER, coerces=_cast_both_arrays, coerce=Coerce.NONE, check=_check_same_arrays, traits=PURE, plain=True),
    fn("array_except", (ANY_ARRAY, ANY_ARRAY), type_of(0), EITHER, coerces=_cast_both_arrays, coerce=Coerce.NONE, check=_check_same_arrays, traits=PURE, plain=True),
    fn("arrays_overlap", (ANY_ARRAY, ANY_ARRAY), dt.BOOLEAN, lambda args, conf: EITHER(args, conf) or array_at(args).contains_null or array_at(args, 1).contains_null, coerces=_cast_both_arrays, coerce=Coerce.NONE, check=_check_same_arrays, traits=PURE),
    fn("array_distinct", (ANY_ARRAY,), type_of(0), EITHER, coerce=Coerce.EXPECTS, check=_check_sort, traits=PURE, plain=True),
    # Before Spark 4.0 it is a filter, which leaves the flag as it was.
    fn("array_compact", (ANY_ARRAY,), lambda args, conf: args[0].type if conf.before("4.0") else dt.Array(array_at(args).element, False), EITHER, traits=PURE, plain=True),
    fn("array_max, array_min", (ANY_ARRAY,), element(0), ALWAYS, check=_check_sort, traits=replace(PURE, cost=Cost.SCANS)),
    fn("array_repeat", (ANY, dt.INT), array_of(0), where(1), coerce=Coerce.EXPECTS, traits=RAISES, plain=True),
    fn("array_join", (_STRINGS, ANY_STRING, Optional(ANY_STRING)), element(0), EITHER, coerces=_join_operands, coerce=Coerce.EXPECTS, traits=PURE),
    fn("flatten", (ANY_ARRAY,), element(0), lambda args, conf: args[0].nullable or array_at(args).contains_null, coerce=Coerce.NONE, check=must(lambda args, conf: isinstance(args[0].type, dt.Array) and isinstance(args[0].type.element, dt.Array), "UNEXPECTED_INPUT_TYPE", 'The first parameter requires the "ARRAY" of "ARRAY" type, not "{0}".'), traits=RAISES, plain=True),
    fn("slice", (ANY_ARRAY, dt.INT, dt.INT), type_of(0), EITHER, traits=replace(RAISES, elements=Elements.KEEPS), plain=True),
    fn("sort_array", (ANY_ARRAY, Optional(dt.BOOLEAN, _ASCENDING)), type_of(0), EITHER, coerces=_sort_operands, coerce=Coerce.EXPECTS, check=_check_sort, traits=PURE, plain=True),
    fn("map_keys", (ANY_MAP,), lambda args, conf: dt.Array(map_at(args).key, True), EITHER, coerce=Coerce.EXPECTS, traits=replace(PURE, cost=Cost.FEW)),
    fn("map_values", (ANY_MAP,), lambda args, conf: dt.Array(map_at(args).value, True), EITHER, coerce=Coerce.EXPECTS, traits=replace(PURE, cost=Cost.FEW), plain=True),
    fn("map_entries", (ANY_MAP,), _entries, EITHER, coerce=Coerce.EXPECTS, traits=PURE, plain=True),
)
