"""Functions that build and read maps, and the remaining ones of arrays. Source: `collectionOperations.scala`."""

from __future__ import annotations

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, EITHER, FIRST, Args, Coerce, Many, Mismatch, Optional, where
from planproof_engine.expr.nodes import Call, Column, Expr, GetField, LateralReference, Literal
from planproof_engine.expr.traits import PURE, RAISES, VOLATILE
from planproof_engine.functions.bind import cast_to_common, cast_unless_same, make_input_mismatch, make_types_mismatch
from planproof_engine.functions.families.line import Pretty, Table, array_at, array_of, fn, lines, lit, prints, type_of
from planproof_engine.functions.families.naming import given_name
from planproof_engine.functions.families.rules import (
    at_once,
    cast_implicitly,
    check_keys,
    is_foldable,
    merge_types,
    must,
    text_of,
)
from planproof_engine.origin import Unknown
from planproof_engine.records import evolve
from planproof_engine.types.coercion import find_common, find_tightest, find_wider_without_strings
from planproof_engine.types.kinds import ANY, ANY_ARRAY, ANY_MAP, ANY_STRING, is_datetime


def _entry_fields(args: Args) -> tuple[dt.StructField, dt.StructField] | None:
    found = args[0].type
    if isinstance(found, dt.Array) and isinstance(found.element, dt.Struct) and len(found.element.fields) == 2:
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
    return check_keys([keys.element]) if isinstance(keys, dt.Array) else None


def _map_from_entries(args: Args, conf: Conf) -> dt.DataType:
    fields = _entry_fields(args)
    assert fields is not None
    return dt.Map(fields[0].type, fields[1].type, fields[1].nullable)


def _maps_check(args: Args, conf: Conf) -> Mismatch | None:
    if not all(isinstance(a.type, dt.Map) for a in args):
        return Mismatch("MAP_CONCAT_DIFF_TYPES", "The `map_concat` should all be of type map.")
    return None if all(dt.same_type(a.type, args[0].type, conf.case_sensitive) for a in args[1:]) else make_types_mismatch("map_concat", args)


def _key_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    found, key = args[0].type, args[1]
    if not isinstance(found, dt.Map) or key.type == dt.VOID or dt.same_type(found.key, key.type, conf.case_sensitive):
        return args
    target = find_wider_without_strings((found.key, key.type), conf)
    if target is None:
        return args
    return cast_implicitly(args, (dt.Map(target, found.value, found.value_contains_null), target), conf)


def _key_check(args: Args, conf: Conf) -> Mismatch | None:
    found, key = args[0].type, args[1].type
    if key == dt.VOID:
        return Mismatch("NULL_TYPE", "Null typed values cannot be used as arguments of `map_contains_key`.")
    if isinstance(found, dt.Map) and dt.same_type(found.key, key, conf.case_sensitive):
        return None
    return Mismatch("MAP_FUNCTION_DIFF_TYPES", f'The input should be a "MAP" and its key, not "{found.sql}" and "{key.sql}".')


def _is_interval(t: dt.DataType) -> bool:
    return t == dt.CALENDAR_INTERVAL or isinstance(t, dt.Interval)


def _sequence_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`Sequence`: bounds (and a step that is no interval) meet at one type; a date beside a timestamp becomes one."""
    ends = args[:2] if len(args) > 2 and _is_interval(args[2].type) else args
    types = [a.type for a in ends]
    if all(dt.same_type(t, types[0], conf.case_sensitive) for t in types):
        return args
    target = find_common(types, conf)
    return args if target is None else [cast_unless_same(a, target, conf) for a in ends] + list(args[len(ends) :])


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
    if not isinstance(array.type, dt.Array) or place.type != dt.INT or dt.same_type(array.type.element, item.type, conf.case_sensitive):
        return [array, place, item]
    found = find_tightest(array.type.element, item.type, conf.without_ansi)
    if found is None:
        return [array, place, item]
    return [cast_unless_same(array, dt.Array(found, array.type.contains_null), conf), place, cast_unless_same(item, found, conf)]


def _insert_check(args: Args, conf: Conf) -> Mismatch | None:
    array, at, item = (a.type for a in args)
    if isinstance(array, dt.Array) and at == dt.INT and dt.same_type(array.element, item, conf.case_sensitive):
        return None
    if isinstance(array, dt.Array) and at != dt.INT:
        return make_input_mismatch(1, args[1], "INT")
    return Mismatch("ARRAY_FUNCTION_DIFF_TYPES", f'`array_insert` takes an "ARRAY", an "INT" and an element, not "{item.sql}".')


TABLE: Table = lines(
    fn("map_from_arrays", (ANY_ARRAY, ANY_ARRAY), lambda args, conf: dt.Map(array_at(args).element, array_at(args, 1).element, array_at(args, 1).contains_null), EITHER, check=_key_array_check, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("map_from_entries", (ANY_ARRAY,), _map_from_entries, lambda args, conf: args[0].nullable or (isinstance(args[0].type, dt.Array) and args[0].type.contains_null), coerce=Coerce.NONE, check=_entries_check, traits=RAISES),
    fn("map_concat", (Many(ANY),), lambda args, conf: merge_types(args, conf) if args else dt.Map(dt.STRING, dt.STRING, True), EITHER, coerces=lambda args, conf: cast_to_common(args, conf) if all(isinstance(a.type, dt.Map) for a in args) else args, coerce=Coerce.NONE, check=_maps_check, traits=RAISES),
    fn("map_contains_key", (ANY_MAP, ANY), dt.BOOLEAN, ALWAYS, coerces=_key_operands, coerce=Coerce.NONE, check=_key_check, traits=PURE),
    fn("str_to_map", (ANY_STRING, Optional(ANY_STRING, lit(",")), Optional(ANY_STRING, lit(":"))), lambda args, conf: dt.Map(text_of(0)(args, conf), text_of(0)(args, conf), True), EITHER, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("sequence", (ANY, ANY, Optional(ANY)), array_of(0, False), EITHER, coerces=_sequence_operands, coerce=Coerce.NONE, check=_sequence_check, traits=RAISES),
    # A NULL counts as an array of nothing, and keeps the name that it has.
    fn("arrays_zip", (Many(ANY),), _zip_type, EITHER, coerces=lambda args, conf: [_make_empty(a) if a.type == dt.VOID else a for a in args], coerce=Coerce.NONE, check=_arrays_check, show=_print_zip, traits=PURE),
    fn("array_insert", (ANY, ANY, ANY), lambda args, conf: dt.Array(dt.as_nullable(array_at(args).element), True), where(0, 1), coerces=_insert_operands, coerce=Coerce.NONE, check=_insert_check, traits=RAISES),
    fn("shuffle", (ANY_ARRAY, Optional(ANY)), type_of(0), FIRST, coerces=_look_at_seed, coerce=Coerce.EXPECTS, show=prints("shuffle({0})"), traits=VOLATILE, since="4.0"),
    fn("shuffle", (ANY_ARRAY,), type_of(0), FIRST, coerce=Coerce.EXPECTS, traits=VOLATILE, until="4.0"),
)

