"""Functions that make arrays, maps and structs, and the names that fields take over from arguments.

Source: `complexTypeCreator.scala`.
"""

from __future__ import annotations


from planproof_engine import types as dt
from planproof_engine.expr.function import EITHER, NEVER, Args, Category, Coerce, Many, Mismatch
from planproof_engine.expr.nodes import (
    UNPRINTED, Alias, Call, Column, Expr, GetField, GetFieldOfElements, LateralReference, Literal, Outer, Variable,
)
from planproof_engine.expr.traits import PURE, RAISES, Cost, Evaluates, every
from planproof_engine.functions.bind import cast_to_common
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.line import (
    Pretty, Table, check_keys, fn, is_foldable, is_null, lines, merge_types, type_of,
)
from planproof_engine.ground import Conf, Unknown, evolve
from planproof_engine.types.kinds import ANY

def _array_type(args: Args, conf: Conf) -> dt.DataType:
    if not args:
        return dt.Array(dt.STRING if conf.empty_collections_of_strings else dt.VOID, False)
    return dt.Array(merge_types(args, conf), any(a.nullable for a in args))


def _halves(args: list[Expr]) -> tuple[list[Expr], list[Expr]]:
    return args[0::2], args[1::2]


def _cast_entries(args: list[Expr], conf: Conf) -> list[Expr]:
    """Keys meet at one type, values at another."""
    if len(args) % 2:
        return args
    entries = zip(*(cast_to_common(half, conf) for half in _halves(args)))
    return [part for entry in entries for part in entry]


def _entries_check(args: Args, conf: Conf) -> Mismatch | None:
    if len(args) % 2:
        return Mismatch("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "`map` requires 2n (n > 0) parameters.")
    keys, values = _halves(list(args))
    for what, exprs in (("KEY", keys), ("VALUE", values)):
        if any(not dt.same_type(e.type, exprs[0].type, conf.case_sensitive) for e in exprs[1:]):
            return Mismatch(
                f"CREATE_MAP_{what}_DIFF_TYPES", f"The given {what.lower()}s of `map` should be of one type."
            )
    return check_keys([k.type for k in keys])


def _map_type(args: Args, conf: Conf) -> dt.DataType:
    if not args:
        empty = dt.STRING if conf.empty_collections_of_strings else dt.VOID
        return dt.Map(empty, empty, False)
    keys, values = _halves(list(args))
    return dt.Map(merge_types(keys, conf), merge_types(values, conf), any(v.nullable for v in values))


def _field_name(arg: Expr, at: int) -> str:
    name = given_name(arg)
    return f"col{at + 1}" if name is None else name


def _named_struct_type(args: Args, conf: Conf) -> dt.DataType:
    names, values = _halves(list(args))
    return dt.Struct(tuple(dt.StructField(_constant(n), v.type, v.nullable) for n, v in zip(names, values)))


def _constant(name: Expr) -> str:
    value = constant(name, "named_struct")
    if isinstance(value, str):
        return value
    raise Unknown("named_struct with a name that is no literal")


def _check_named_struct(args: Args, conf: Conf) -> Mismatch | None:
    if len(args) % 2:
        return Mismatch("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "`named_struct` requires 2n (n > 0) parameters.")
    for name in args[0::2]:
        if not is_foldable(name):
            return Mismatch("CREATE_NAMED_STRUCT_WITHOUT_FOLDABLE_STRING", "Only foldable `STRING` names are allowed.")
        if not dt.is_string(name.type):
            return Mismatch("CREATE_NAMED_STRUCT_WITHOUT_FOLDABLE_STRING", f'A name has the type "{name.type.sql}".')
        if is_null(name):
            return Mismatch("UNEXPECTED_NULL", "The names must not be null.")
    return None


def _struct(call: Call, pretty: Pretty) -> str:
    """`struct` keeps its own spelling; a row `(a, b)` is printed as the named_struct that it is."""
    made = [a.child if isinstance(a, Alias) and a.id == UNPRINTED else a for a in call.args]
    if call.shown == "struct":
        return f"struct({', '.join(map(pretty, made))})"
    return f"named_struct({', '.join(f'{_field_name(a, i)}, {pretty(made[i])}' for i, a in enumerate(call.args))})"


def given_name(expr: Expr) -> str | None:
    """The name that an expression brings along; None where it has none.

    Source: `CreateStruct.create`, the constructor of `ArraysZip`.
    """
    if isinstance(expr, Alias) and not expr.explicit and isinstance(expr.child, Literal):
        # A part of NULL: its key is its name, as of any other value, unless it is a place.
        last = expr.name[expr.name.rfind("[") + 1 :].rstrip("]`")
        return None if last.isdigit() else last
    if isinstance(expr, (Alias, Column, GetField, GetFieldOfElements, LateralReference, Variable)):
        return expr.name
    if isinstance(expr, Outer):
        return expr.column.name
    if isinstance(expr, Call) and expr.function.name == "getmapvalue":
        key = expr.args[1]
        return key.value if isinstance(key, Literal) and isinstance(key.value, str) else None
    return None


TABLE: Table = lines(
    fn("array", (Many(ANY),), _array_type, NEVER, coerce=Coerce.COMMON, traits=evolve(PURE, hands_on=every, cost=Cost.FEW), plain=True),
    fn("map", (Many(ANY),), _map_type, NEVER, coerces=_cast_entries, coerce=Coerce.NONE, check=_entries_check, traits=evolve(RAISES, hands_on=every), plain=True),
    fn("struct", (Many(ANY),), lambda args, conf: dt.Struct(tuple(dt.StructField(_field_name(a, i), a.type, a.nullable) for i, a in enumerate(args))), NEVER, coerce=Coerce.NONE, show=_struct, traits=evolve(PURE, evaluates=Evaluates.ALL, cost=Cost.FEW)),
    # `struct(a => 1)`: Spark's analyzer takes the argument for a column without a name, and then cannot run the query.
    fn("namedargumentexpression", (ANY,), type_of(0), EITHER, coerce=Coerce.NONE, traits=RAISES, category=Category.OPERATOR),
    fn("named_struct", (Many(ANY),), _named_struct_type, NEVER, coerce=Coerce.NONE, check=_check_named_struct, traits=evolve(PURE, evaluates=Evaluates.ALL, cost=Cost.FEW), plain=True),
)
