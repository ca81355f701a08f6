"""Functions that build and read maps, and the remaining ones of arrays. Source: `collectionOperations.scala`."""

from __future__ import annotations

from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, EITHER, FIRST, Args, Coerce, Many, Mismatch, Optional
from planproof_engine.expr.nodes import Call, Column, Expr, GetField, LateralReference, Literal
from planproof_engine.expr.traits import PURE, RAISES, VOLATILE
from planproof_engine.functions.bind import cast_to_common, cast_unless_same, make_input_mismatch, make_types_mismatch
from planproof_engine.functions.families.line import Table, fn, lines, lit, type_of
from planproof_engine.functions.families.naming import given_name
from planproof_engine.functions.families.operators import merge_types
from planproof_engine.functions.families.rules import Pretty, cast_implicitly, check_keys, is_foldable
from planproof_engine.origin import Unknown
from planproof_engine.records import evolve
from planproof_engine.types import (
    BOOLEAN,
    BYTE,
    CALENDAR_INTERVAL,
    INT,
    LONG,
    SHORT,
    STRING,
    VOID,
    Array,
    DataType,
    Interval,
    Map,
    Nanos,
    Struct,
    StructField,
    as_nullable,
    is_integral,
    is_string,
    same_type,
)
from planproof_engine.types.coercion import find_common, find_tightest, find_wider_without_strings
from planproof_engine.types.kinds import ANY, ANY_ARRAY, ANY_MAP, ANY_STRING, is_datetime


def _map_from_arrays(args: Args, conf: Conf) -> DataType:
    keys, values = args[0].type, args[1].type
    assert isinstance(keys, Array)
    assert isinstance(values, Array)
    return Map(keys.element, values.element, values.contains_null)


def _entry_fields(args: Args) -> tuple[StructField, StructField] | None:
    found = args[0].type
    if isinstance(found, Array) and isinstance(found.element, Struct) and len(found.element.fields) == 2:
        key, value = found.element.fields
        return key, value
    return None


def _entries_check(args: Args, conf: Conf) -> Mismatch | None:
    fields = _entry_fields(args)
    if fields is None:
        return make_input_mismatch(0, args[0], "ARRAY of pair STRUCT")
    return check_keys([fields[0].type])


def _key_array_check(args: Args, conf: Conf) -> Mismatch | None:
    keys = args[0].type
    return check_keys([keys.element]) if isinstance(keys, Array) else None


def _map_from_entries(args: Args, conf: Conf) -> DataType:
    fields = _entry_fields(args)
    assert fields is not None
    return Map(fields[0].type, fields[1].type, fields[1].nullable)


def _entries_nullable(args: Args, conf: Conf) -> bool:
    found = args[0].type
    return args[0].nullable or (isinstance(found, Array) and found.contains_null)


def _concat_type(args: Args, conf: Conf) -> DataType:
    return merge_types(args, conf) if args else Map(STRING, STRING, True)


def _maps_check(args: Args, conf: Conf) -> Mismatch | None:
    if not all(isinstance(a.type, Map) for a in args):
        return Mismatch("MAP_CONCAT_DIFF_TYPES", "The `map_concat` should all be of type map.")
    return None if all(same_type(a.type, args[0].type, conf.case_sensitive) for a in args[1:]) else make_types_mismatch("map_concat", args)


def _to_common_map(args: list[Expr], conf: Conf) -> list[Expr]:
    return cast_to_common(args, conf) if all(isinstance(a.type, Map) for a in args) else args


def _key_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    found, key = args[0].type, args[1]
    if not isinstance(found, Map) or key.type == VOID or same_type(found.key, key.type, conf.case_sensitive):
        return args
    target = find_wider_without_strings((found.key, key.type), conf)
    if target is None:
        return args
    return cast_implicitly(args, (Map(target, found.value, found.value_contains_null), target), conf)


def _key_check(args: Args, conf: Conf) -> Mismatch | None:
    found, key = args[0].type, args[1].type
    if key == VOID:
        return Mismatch("NULL_TYPE", "Null typed values cannot be used as arguments of `map_contains_key`.")
    if isinstance(found, Map) and same_type(found.key, key, conf.case_sensitive):
        return None
    return Mismatch("MAP_FUNCTION_DIFF_TYPES", f'The input should be a "MAP" and its key, not "{found.sql}" and "{key.sql}".')


def _is_interval(t: DataType) -> bool:
    return t == CALENDAR_INTERVAL or isinstance(t, Interval)


def _sequence_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`Sequence`: bounds (and a step that is no interval) meet at one type; a date beside a timestamp becomes one."""
    ends = args[:2] if len(args) > 2 and _is_interval(args[2].type) else args
    types = [a.type for a in ends]
    if all(same_type(t, types[0], conf.case_sensitive) for t in types):
        return args
    target = find_common(types, conf)
    return args if target is None else [cast_unless_same(a, target, conf) for a in ends] + list(args[len(ends) :])


def _sequence_check(args: Args, conf: Conf) -> Mismatch | None:
    start, stop = args[0].type, args[1].type
    step = args[2].type if len(args) > 2 else None
    numbers = is_integral(start) and (step is None or same_type(step, start))
    moments = is_datetime(start) and not isinstance(start, Nanos) and (step is None or _is_interval(step))
    if same_type(start, stop) and (numbers or moments):
        return None
    return Mismatch("SEQUENCE_WRONG_INPUT_TYPES", "`sequence` needs bounds of one integral, date or timestamp type and a fitting step.")


def _sequence_type(args: Args, conf: Conf) -> DataType:
    return Array(args[0].type, False)


def _zip_type(args: Args, conf: Conf) -> DataType:
    """A named expression names its field, another is called by its place.

    Raises `Unknown` for a map's value under a key that is no text: Spark 4.3 fails to name it.
    """
    fields = []
    for at, arg in enumerate(args):
        array = arg.type
        assert isinstance(array, Array)
        name = given_name(arg)
        if name is None and isinstance(arg, Call) and arg.function.name == "getmapvalue":
            raise Unknown("arrays_zip of a map's value under a key that is no text")
        fields.append(StructField(str(at) if name is None else name, array.element, True))
    return Array(Struct(tuple(fields)), False)


def _zip_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """A NULL counts as an array of nothing, and keeps the name that it has."""
    return [_make_empty(a) if a.type == VOID else a for a in args]


def _make_empty(arg: Expr) -> Expr:
    if isinstance(arg, (Column, GetField)):
        return evolve(arg, type=Array(VOID, True))
    if isinstance(arg, LateralReference):
        return evolve(arg, child=_make_empty(arg.child))
    return Literal(None, Array(VOID, True), "NULL")


def _shuffle_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`ExpressionWithRandomSeed.expressionToSeed`: the seed is an INT, a BIGINT or NULL."""
    if len(args) > 1 and not (is_foldable(args[1]) and args[1].type in (INT, LONG, VOID)):
        raise Mismatch("INVALID_PARAMETER_VALUE.LONG", "the seed of `shuffle` must be a constant.")
    return args


def _print_shuffle(call: Call, pretty: Pretty) -> str:
    return f"shuffle({pretty(call.args[0])})"


def _print_zip(call: Call, pretty: Pretty) -> str:
    texts = ("NULL" if a.type == Array(VOID, True) and isinstance(a, Column) else pretty(a) for a in call.args)
    return f"arrays_zip({', '.join(texts)})"


def _arrays_check(args: Args, conf: Conf) -> Mismatch | None:
    for at, arg in enumerate(args):
        if not isinstance(arg.type, Array):
            return Mismatch("UNEXPECTED_INPUT_TYPE", f'The parameter {at + 1} requires the "ARRAY" type, not "{arg.type.sql}".')
    return None


def _insert_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    array, at, item = args[0], args[1], args[2]
    place = cast_unless_same(at, INT, conf) if at.type in (BYTE, SHORT) else at
    if not isinstance(array.type, Array) or place.type != INT or same_type(array.type.element, item.type, conf.case_sensitive):
        return [array, place, item]
    found = find_tightest(array.type.element, item.type, conf.without_ansi)
    if found is None:
        return [array, place, item]
    return [cast_unless_same(array, Array(found, array.type.contains_null), conf), place, cast_unless_same(item, found, conf)]


def _insert_type(args: Args, conf: Conf) -> DataType:
    found = args[0].type
    assert isinstance(found, Array)
    return Array(as_nullable(found.element), True)


def _insert_nullable(args: Args, conf: Conf) -> bool:
    return args[0].nullable or args[1].nullable


def _insert_check(args: Args, conf: Conf) -> Mismatch | None:
    array, at, item = (a.type for a in args)
    if isinstance(array, Array) and at == INT and same_type(array.element, item, conf.case_sensitive):
        return None
    if isinstance(array, Array) and at != INT:
        return make_input_mismatch(1, args[1], "INT")
    return Mismatch("ARRAY_FUNCTION_DIFF_TYPES", f'`array_insert` takes an "ARRAY", an "INT" and an element, not "{item.sql}".')


def _str_to_map_type(args: Args, conf: Conf) -> DataType:
    return Map(args[0].type, args[0].type, True) if is_string(args[0].type) else Map(STRING, STRING, True)


TABLE: Table = lines(
    fn("map_from_arrays", (ANY_ARRAY, ANY_ARRAY), _map_from_arrays, EITHER, check=_key_array_check, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("map_from_entries", (ANY_ARRAY,), _map_from_entries, _entries_nullable, coerce=Coerce.NONE, check=_entries_check, traits=RAISES),
    fn("map_concat", (Many(ANY),), _concat_type, EITHER, coerces=_to_common_map, coerce=Coerce.NONE, check=_maps_check, traits=RAISES),
    fn("map_contains_key", (ANY_MAP, ANY), BOOLEAN, ALWAYS, coerces=_key_operands, coerce=Coerce.NONE, check=_key_check, traits=PURE),
    fn("str_to_map", (ANY_STRING, Optional(ANY_STRING, lit(",")), Optional(ANY_STRING, lit(":"))), _str_to_map_type, EITHER, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("sequence", (ANY, ANY, Optional(ANY)), _sequence_type, EITHER, coerces=_sequence_operands, coerce=Coerce.NONE, check=_sequence_check, traits=RAISES),
    fn("arrays_zip", (Many(ANY),), _zip_type, EITHER, coerces=_zip_operands, coerce=Coerce.NONE, check=_arrays_check, show=_print_zip, traits=PURE),
    fn("array_insert", (ANY, ANY, ANY), _insert_type, _insert_nullable, coerces=_insert_operands, coerce=Coerce.NONE, check=_insert_check, traits=RAISES),
    fn("shuffle", (ANY_ARRAY, Optional(ANY)), type_of(0), FIRST, coerces=_shuffle_operands, coerce=Coerce.EXPECTS, show=_print_shuffle, traits=VOLATILE, since="4.0"),
    fn("shuffle", (ANY_ARRAY,), type_of(0), FIRST, coerce=Coerce.EXPECTS, traits=VOLATILE, until="4.0"),
)

