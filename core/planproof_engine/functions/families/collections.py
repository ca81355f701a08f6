"""Functions of arrays and maps, and their items by place or key.

Source: `collectionOperations.scala`, `complexTypeExtractors.scala`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planproof_engine import types as dt
from planproof_engine.expr.function import (
    ALWAYS, EITHER, FIRST, Adjust, Args, Coerce, Many, Mismatch, NullRule, Optional, where,
)
from planproof_engine.expr.nodes import Call, Column, Expr, GetField, GetFieldOfElements, LateralReference, Literal
from planproof_engine.expr.traits import ANSI_RAISES, PURE, RAISES, VOLATILE, Cost, Elements, Evaluates, Traits
from planproof_engine.functions.bind import (
    cast, cast_to_common, cast_unless_same, make_input_mismatch, make_types_mismatch,
)
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.constructors import given_name
from planproof_engine.functions.families.line import (
    Pretty, Table, array_at, array_of, at_once, cast_implicitly, check_inputs, check_keys, element, fn, foldable,
    is_foldable, lines, lit, map_at, merge_types, must, prints, text_of, type_of,
)
from planproof_engine.ground import Conf, Unknown, evolve
from planproof_engine.types.coercion import find_implicit, find_tightest, find_wider_without_strings, merge_flags
from planproof_engine.types.kinds import (
    ANY, ANY_ARRAY, ANY_MAP, ANY_STRING, INTEGRAL, ArrayOf, Kind, OneOf, is_datetime, is_orderable,
)

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


_meet_at_element = _make_meeting(_tightest, null=True)


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


def _entry_fields(args: Args) -> tuple[dt.StructField, dt.StructField] | None:
    found = args[0].type
    if isinstance(found, dt.Array) and isinstance(found.element, dt.Struct) and len(found.element.fields) == 2:
        key, value = found.element.fields
        return key, value
    return None


def _check_entries(args: Args, conf: Conf) -> Mismatch | None:
    fields = _entry_fields(args)
    if fields is None:
        return make_input_mismatch(0, args[0], "ARRAY of pair STRUCT")
    return check_keys([fields[0].type])


def _key_array_check(args: Args, conf: Conf) -> Mismatch | None:
    keys = args[0].type
    return check_keys([keys.element]) if isinstance(keys, dt.Array) else None


def _map_from_entries(args: Args, conf: Conf) -> dt.DataType:
    fields = _entry_fields(args)
    assert fields is not None
    return dt.Map(fields[0].type, fields[1].type, fields[1].nullable)


def _maps_check(args: Args, conf: Conf) -> Mismatch | None:
    if not all(isinstance(a.type, dt.Map) for a in args):
        return Mismatch("MAP_CONCAT_DIFF_TYPES", "The `map_concat` should all be of type map.")
    return None if all(dt.same_type(a.type, args[0].type, conf.case_sensitive) for a in args[1:]) else make_types_mismatch("map_concat", args)


def _contains_key_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    found, key = args[0].type, args[1]
    if not isinstance(found, dt.Map) or key.type == dt.VOID or dt.same_type(found.key, key.type, conf.case_sensitive):
        return args
    return _cast_to_key(args, found, find_wider_without_strings((found.key, key.type), conf), conf)


def _cast_to_key(args: list[Expr], found: dt.Map, target: dt.DataType | None, conf: Conf) -> list[Expr]:
    """A map and a key that meet at one type of key; as they are where there is none."""
    if target is None:
        return args
    return cast_implicitly(args, (dt.Map(target, found.value, found.value_contains_null), target), conf)


def _check_contains_key(args: Args, conf: Conf) -> Mismatch | None:
    if args[1].type == dt.VOID:
        return Mismatch("NULL_TYPE", "Null typed values cannot be used as arguments of `map_contains_key`.")
    return _check_key(args, conf)


def _check_key(args: Args, conf: Conf) -> Mismatch | None:
    found, key = args[0].type, args[1].type
    if isinstance(found, dt.Map) and dt.same_type(found.key, key, conf.case_sensitive):
        return None
    return Mismatch("MAP_FUNCTION_DIFF_TYPES", f'The input should be a "MAP" and its key, not "{found.sql}" and "{key.sql}".')


def _is_interval(t: dt.DataType) -> bool:
    return t == dt.CALENDAR_INTERVAL or isinstance(t, dt.Interval)


def _sequence_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`Sequence`: bounds (and a step that is no interval) meet at one type; a date beside a timestamp becomes one."""
    ends = args[:2] if len(args) > 2 and _is_interval(args[2].type) else args
    return [*cast_to_common(ends, conf), *args[len(ends) :]]


def _sequence_check(args: Args, conf: Conf) -> Mismatch | None:
    start, stop = args[0].type, args[1].type
    step = args[2].type if len(args) > 2 else None
    numbers = dt.is_integral(start) and (step is None or dt.same_type(step, start))
    moments = is_datetime(start) and not isinstance(start, dt.Nanos) and (step is None or _is_interval(step))
    if dt.same_type(start, stop) and (numbers or moments):
        return None
    return Mismatch("SEQUENCE_WRONG_INPUT_TYPES", "`sequence` needs bounds of one integral, date or timestamp type and a fitting step.")


def _zip_type(args: Args, conf: Conf) -> dt.DataType:
    """A named expression names its field, another is called by its place.

    Raises `Unknown` for a map's value under a key that is no text: Spark 4.3 fails to name it.
    """
    fields = []
    for at, arg in enumerate(args):
        name = given_name(arg)
        if name is None and isinstance(arg, Call) and arg.function.name == "getmapvalue":
            raise Unknown("arrays_zip of a map's value under a key that is no text")
        fields.append(dt.StructField(str(at) if name is None else name, array_at(args, at).element, True))
    return dt.Array(dt.Struct(tuple(fields)), False)


def _make_empty(arg: Expr) -> Expr:
    if isinstance(arg, (Column, GetField)):
        return evolve(arg, type=dt.Array(dt.VOID, True))
    if isinstance(arg, LateralReference):
        return evolve(arg, child=_make_empty(arg.child))
    return Literal(None, dt.Array(dt.VOID, True), "NULL")


_look_at_seed = at_once(must(
    lambda args, conf: len(args) < 2 or (is_foldable(args[1]) and args[1].type in (dt.INT, dt.LONG, dt.VOID)),
    "INVALID_PARAMETER_VALUE.LONG", "the seed of `shuffle` must be a constant.",
))
"""`ExpressionWithRandomSeed.expressionToSeed`: the seed is an INT, a BIGINT or NULL."""


def _print_zip(call: Call, pretty: Pretty) -> str:
    texts = ("NULL" if a.type == dt.Array(dt.VOID, True) and isinstance(a, Column) else pretty(a) for a in call.args)
    return f"arrays_zip({', '.join(texts)})"


def _arrays_check(args: Args, conf: Conf) -> Mismatch | None:
    for at, arg in enumerate(args):
        if not isinstance(arg.type, dt.Array):
            return Mismatch("UNEXPECTED_INPUT_TYPE", f'The parameter {at + 1} requires the "ARRAY" type, not "{arg.type.sql}".')
    return None


def _insert_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    array, at, item = args[0], args[1], args[2]
    place = cast_unless_same(at, dt.INT, conf) if at.type in (dt.BYTE, dt.SHORT) else at
    if place.type == dt.INT:
        array, item = _meet_at_element([array, item], conf)
    return [array, place, item]


def _insert_check(args: Args, conf: Conf) -> Mismatch | None:
    array, at, item = (a.type for a in args)
    if isinstance(array, dt.Array) and at == dt.INT and dt.same_type(array.element, item, conf.case_sensitive):
        return None
    if isinstance(array, dt.Array) and at != dt.INT:
        return make_input_mismatch(1, args[1], "INT")
    return Mismatch("ARRAY_FUNCTION_DIFF_TYPES", f'`array_insert` takes an "ARRAY", an "INT" and an element, not "{item.sql}".')


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


def _element_at_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`element_at`: an array takes an int, or what is smaller; a map a key that meets its own keys."""
    found, key = args[0].type, args[1]
    if isinstance(found, dt.Map) and not dt.same_type(found.key, key.type, conf.case_sensitive):
        return _cast_to_key(args, found, _tightest(found.key, key.type, conf), conf)
    if isinstance(found, dt.Array) and key.type in (dt.BYTE, dt.SHORT):
        return [args[0], cast_unless_same(key, dt.INT, conf)]
    return args


def _element_at_check(args: Args, conf: Conf) -> Mismatch | None:
    found, key = args[0].type, args[1].type
    if isinstance(found, dt.Array):
        return None if key == dt.INT else make_input_mismatch(1, args[1], "INT")
    if not isinstance(found, dt.Map):
        return make_input_mismatch(0, args[0], '("ARRAY" or "MAP")')
    return _check_key(args, conf)


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


def _element_at(name: str, expected: OneOf | Kind, tried: bool, traits: Traits) -> Table:
    return fn(name, (expected, ANY), _element_at_type, _element_nullable(tried), coerces=_element_at_operands, coerce=Coerce.NONE, check=_element_at_check, traits=traits, flag_holds=_place_is_known)


TABLE: Table = lines(
    # With the legacy setting the size of NULL is -1 (`spark.sql.legacy.sizeOfNull`, off under ANSI).
    fn("size cardinality", (_COLLECTION,), dt.INT, lambda args, conf: args[0].nullable and (conf.ansi or not conf.size_of_null), alias=True, coerce=Coerce.EXPECTS, traits=evolve(PURE, elements=Elements.COUNT, cost=Cost.FEW)),
    fn("array_size", (ANY_ARRAY,), dt.INT, EITHER, traits=evolve(PURE, elements=Elements.COUNT, cost=Cost.FEW)),
    fn("array_contains", (ANY_ARRAY, ANY), dt.BOOLEAN, lambda args, conf: EITHER(args, conf) or array_at(args).contains_null, coerces=_make_meeting(lambda left, right, conf: find_wider_without_strings((left, right), conf.without_ansi), null=False), coerce=Coerce.NONE, check=_check_search, traits=PURE),
    fn("array_position", (ANY_ARRAY, ANY), dt.LONG, EITHER, coerces=_meet_at_element, coerce=Coerce.NONE, check=_check_search, traits=PURE),
    fn("array_remove", (ANY_ARRAY, ANY), type_of(0), EITHER, coerces=_meet_at_element, coerce=Coerce.NONE, check=_check_removal, traits=PURE, plain=True),
    fn("array_append", (ANY_ARRAY, ANY), _add_value_type, FIRST, coerces=_meet_at_element, coerce=Coerce.NONE, check=_element_check, since="4.0", traits=PURE, plain=True),
    fn("array_append", (ANY_ARRAY, ANY), _append_type, FIRST, coerces=_meet_at_element, coerce=Coerce.NONE, check=_element_check, until="4.0", traits=PURE, plain=True),
    fn("array_prepend", (ANY_ARRAY, ANY), _add_value_type, FIRST, coerces=_meet_at_element, coerce=Coerce.NONE, check=_element_check, traits=PURE, plain=True),
    fn("array_union", (ANY_ARRAY, ANY_ARRAY), _union_type, EITHER, coerces=_cast_both_arrays, coerce=Coerce.NONE, check=_check_same_arrays, traits=PURE, plain=True),
    fn("array_intersect", (ANY_ARRAY, ANY_ARRAY), _intersect_type, EITHER, coerces=_cast_both_arrays, coerce=Coerce.NONE, check=_check_same_arrays, traits=PURE, plain=True),
    fn("array_except", (ANY_ARRAY, ANY_ARRAY), type_of(0), EITHER, coerces=_cast_both_arrays, coerce=Coerce.NONE, check=_check_same_arrays, traits=PURE, plain=True),
    fn("arrays_overlap", (ANY_ARRAY, ANY_ARRAY), dt.BOOLEAN, lambda args, conf: EITHER(args, conf) or array_at(args).contains_null or array_at(args, 1).contains_null, coerces=_cast_both_arrays, coerce=Coerce.NONE, check=_check_same_arrays, traits=PURE),
    fn("array_distinct", (ANY_ARRAY,), type_of(0), EITHER, coerce=Coerce.EXPECTS, check=_check_sort, traits=PURE, plain=True),
    # Before Spark 4.0 it is a filter, which leaves the flag as it was.
    fn("array_compact", (ANY_ARRAY,), lambda args, conf: args[0].type if conf.before("4.0") else dt.Array(array_at(args).element, False), EITHER, traits=PURE, plain=True),
    fn("array_max, array_min", (ANY_ARRAY,), element(0), ALWAYS, check=_check_sort, traits=evolve(PURE, cost=Cost.SCANS)),
    fn("array_repeat", (ANY, dt.INT), array_of(0), where(1), coerce=Coerce.EXPECTS, traits=RAISES, plain=True),
    fn("array_join", (_STRINGS, ANY_STRING, Optional(ANY_STRING)), element(0), EITHER, coerces=_join_operands, coerce=Coerce.EXPECTS, traits=PURE),
    fn("flatten", (ANY_ARRAY,), element(0), lambda args, conf: args[0].nullable or array_at(args).contains_null, coerce=Coerce.NONE, check=must(lambda args, conf: isinstance(args[0].type, dt.Array) and isinstance(args[0].type.element, dt.Array), "UNEXPECTED_INPUT_TYPE", 'The first parameter requires the "ARRAY" of "ARRAY" type, not "{0}".'), traits=RAISES, plain=True),
    fn("slice", (ANY_ARRAY, dt.INT, dt.INT), type_of(0), EITHER, traits=evolve(RAISES, elements=Elements.KEEPS), plain=True),
    fn("sort_array", (ANY_ARRAY, Optional(dt.BOOLEAN, _ASCENDING)), type_of(0), EITHER, coerces=_sort_operands, coerce=Coerce.EXPECTS, check=_check_sort, traits=PURE, plain=True),
    fn("map_keys", (ANY_MAP,), lambda args, conf: dt.Array(map_at(args).key, True), EITHER, coerce=Coerce.EXPECTS, traits=evolve(PURE, cost=Cost.FEW)),
    fn("map_values", (ANY_MAP,), lambda args, conf: dt.Array(map_at(args).value, True), EITHER, coerce=Coerce.EXPECTS, traits=evolve(PURE, cost=Cost.FEW), plain=True),
    fn("map_entries", (ANY_MAP,), _entries, EITHER, coerce=Coerce.EXPECTS, traits=PURE, plain=True),
    fn("map_from_arrays", (ANY_ARRAY, ANY_ARRAY), lambda args, conf: dt.Map(array_at(args).element, array_at(args, 1).element, array_at(args, 1).contains_null), EITHER, check=_key_array_check, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("map_from_entries", (ANY_ARRAY,), _map_from_entries, lambda args, conf: args[0].nullable or (isinstance(args[0].type, dt.Array) and args[0].type.contains_null), coerce=Coerce.NONE, check=_check_entries, traits=RAISES),
    fn("map_concat", (Many(ANY),), lambda args, conf: merge_types(args, conf) if args else dt.Map(dt.STRING, dt.STRING, True), EITHER, coerces=lambda args, conf: cast_to_common(args, conf) if all(isinstance(a.type, dt.Map) for a in args) else args, coerce=Coerce.NONE, check=_maps_check, traits=RAISES),
    fn("map_contains_key", (ANY_MAP, ANY), dt.BOOLEAN, ALWAYS, coerces=_contains_key_operands, coerce=Coerce.NONE, check=_check_contains_key, traits=PURE),
    fn("str_to_map", (ANY_STRING, Optional(ANY_STRING, lit(",")), Optional(ANY_STRING, lit(":"))), lambda args, conf: dt.Map(text_of(0)(args, conf), text_of(0)(args, conf), True), EITHER, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("sequence", (ANY, ANY, Optional(ANY)), array_of(0, False), EITHER, coerces=_sequence_operands, coerce=Coerce.NONE, check=_sequence_check, traits=RAISES),
    # A NULL counts as an array of nothing, and keeps the name that it has.
    fn("arrays_zip", (Many(ANY),), _zip_type, EITHER, coerces=lambda args, conf: [_make_empty(a) if a.type == dt.VOID else a for a in args], coerce=Coerce.NONE, check=_arrays_check, show=_print_zip, traits=PURE),
    fn("array_insert", (ANY, ANY, ANY), lambda args, conf: dt.Array(dt.as_nullable(array_at(args).element), True), where(0, 1), coerces=_insert_operands, coerce=Coerce.NONE, check=_insert_check, traits=RAISES),
    fn("shuffle", (ANY_ARRAY, Optional(ANY)), type_of(0), FIRST, coerces=_look_at_seed, coerce=Coerce.EXPECTS, show=prints("shuffle({0})"), traits=VOLATILE, since="4.0"),
    fn("shuffle", (ANY_ARRAY,), type_of(0), FIRST, coerce=Coerce.EXPECTS, traits=VOLATILE, until="4.0"),
    fn("getarrayitem", (ANY, INTEGRAL), element(0), lambda args, conf: _is_picked_nullable(args, _from_nought(conf.ansi), conf, raises=conf.ansi), show=prints("{0}[{1}]"), coerce=Coerce.EXPECTS, traits=evolve(ANSI_RAISES, evaluates=Evaluates.TO_NULL, elements=Elements.ITEM, cost=Cost.FEW), flag_holds=_place_is_known, plain=True),
    fn("getmapvalue", (ANY, ANY), lambda args, conf: map_at(args).value, ALWAYS, coerces=_map_key, coerce=Coerce.NONE, check=_map_key_check, show=prints("{0}[{1}]"), traits=evolve(PURE, evaluates=Evaluates.TO_NULL, elements=Elements.ITEM, cost=Cost.FEW), plain=True),
    fn("get", (ANY, ANY), element(0), lambda args, conf: _is_picked_nullable(args, _from_nought(False), conf, raises=False), coerces=lambda args, conf: cast_implicitly(args, (None, _place_kind(conf)), conf), coerce=Coerce.NONE, check=lambda args, conf: check_inputs(args, (ANY_ARRAY, _place_kind(conf))), traits=evolve(PURE, elements=Elements.ITEM)),
    _element_at("element_at", _COLLECTION, tried=False, traits=evolve(RAISES, evaluates=Evaluates.TO_NULL, elements=Elements.ITEM)),
    _element_at("try_element_at", ANY, tried=True, traits=evolve(RAISES, elements=Elements.ITEM)),
)
