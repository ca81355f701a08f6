"""Functions that make rows. Source: `generators.scala`.

`columns` says what each row holds; the call itself has no value, so its type is void.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr.function import NEVER, Args, Category, Coerce, Many, Mismatch, Optional
from planproof_engine.expr.nodes import Expr, Literal
from planproof_engine.expr.traits import PURE, VOLATILE, Elements
from planproof_engine.functions.bind import cast, cast_unless_same, make_input_mismatch
from planproof_engine.functions.constants import constant, is_computable
from planproof_engine.functions.failing import find_failure
from planproof_engine.functions.families.line import Table, array_at, fn, is_foldable, lines, must, uncast
from planproof_engine.ground import Conf, evolve
from planproof_engine.types.coercion import find_implicit
from planproof_engine.types.kinds import ANY, ANY_ARRAY, ANY_MAP, OneOf

Columns = Sequence[tuple[str, dt.DataType, bool]]
_COLLECTION = OneOf((ANY_ARRAY, ANY_MAP))


def _items(args: Args, conf: Conf) -> Columns:
    found = args[0].type
    if isinstance(found, dt.Map):
        return [("key", found.key, False), ("value", found.value, found.value_contains_null)]
    return [("col", array_at(args).element, array_at(args).contains_null)]


def _struct_columns(args: Args, conf: Conf) -> Columns:
    found = array_at(args)
    struct = found.element
    assert isinstance(struct, dt.Struct)
    return [(f.name, f.type, f.nullable or found.contains_null) for f in struct.fields]


def _find_size(args: Args) -> tuple[int, int]:
    """Rows and columns of `stack(n, ...)`. Spark looks at the type of the number before it looks for a constant, and
    takes NULL for 0 (`children.head.eval().asInstanceOf[Int]`)."""
    if args[0].type != dt.INT:
        raise make_input_mismatch(0, args[0], "INT")
    if not is_foldable(args[0]):
        raise Mismatch("NON_FOLDABLE_INPUT", "the number of rows of `stack` must be a constant.")
    rows = constant(args[0], "stack")
    rows = 0 if rows is None else rows
    return rows, -(-(len(args) - 1) // max(rows, 1))


def _stack_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """A cell of type void takes the type of the first cell of its column that has one (`StackCoercion`)."""
    rows, width = _find_size(args)
    if rows < 1:
        return args
    ready = list(args)
    for column in range(width):
        places = range(1 + column, len(args), width)
        target = next((args[p].type for p in places if args[p].type != dt.VOID), dt.VOID)
        for place in places:
            if args[place].type == dt.VOID and isinstance(args[place], Literal):
                ready[place] = cast_unless_same(args[place], target, conf)
    return ready


def _stack_columns(args: Args, conf: Conf) -> Columns:
    _, width = _find_size(args)
    return [(f"col{column}", args[1 + column].type, True) for column in range(width)]


def _stack_check(args: Args, conf: Conf) -> Mismatch | None:
    rows, width = _find_size(args)
    if rows < 1:
        return Mismatch("VALUE_OUT_OF_RANGE", "The number of rows of `stack` must be positive.")
    for column in range(width):
        first, *others = args[1 + column :: width]
        if any(not dt.same_type(other.type, first.type, conf.case_sensitive) for other in others):
            return Mismatch(
                "STACK_COLUMN_DIFF_TYPES", f"The data type of the column ({column}) do not have the same type."
            )
    return None


_MAKES: dict[str, Any] = {"category": Category.GENERATOR, "foldable": False}
_TABLE: dict[str, Any] = {"category": Category.TABLE, "foldable": False}


def _collations(args: Args, conf: Conf) -> Columns:
    names = ("CATALOG", "SCHEMA", "NAME", "LANGUAGE", "COUNTRY")
    more = ("ACCENT_SENSITIVITY", "CASE_SENSITIVITY", "PAD_ATTRIBUTE", "ICU_VERSION")
    return [(n, dt.STRING, n in ("LANGUAGE", "COUNTRY", "ICU_VERSION")) for n in (*names, *more)]


_CALLER = dt.parse_fields("class STRING, method STRING, file STRING, line STRING")
_FAILURE = dt.parse_fields("class STRING, msg STRING").fields


def _logs(args: Args, conf: Conf) -> Columns:
    failure = dt.Struct((*_FAILURE, dt.StructField("stacktrace", dt.Array(_CALLER, True))))
    texts: list[tuple[str, dt.DataType]] = [("ts", dt.TIMESTAMP), ("level", dt.STRING), ("msg", dt.STRING)]
    more: list[tuple[str, dt.DataType]] = [("context", dt.Map(dt.STRING, dt.STRING, True)), ("exception", failure)]
    return [(name, t, True) for name, t in (*texts, *more, ("logger", dt.STRING))]


_BOUNDS = {1: ("end",), 2: ("start", "end"), 3: ("start", "end", "step"), 4: ("start", "end", "step", "numSlices")}


def _range_check(args: Args, conf: Conf) -> Mismatch | None:
    """`Range`: constants that come to numbers. Spark computes them when it resolves the call."""
    for place, (name, arg) in enumerate(zip(_BOUNDS[len(args)], args)):
        if not is_foldable(arg) or (isinstance(arg, Literal) and arg.is_variable):
            # Spark names a session variable here, and a name is no constant (`Alias.foldable`).
            return Mismatch("NON_FOLDABLE_ARGUMENT", f"`range` needs a constant as its `{name}`.")
        if (failure := find_failure(arg, conf)) is not None:
            return Mismatch(failure, f"the `{name}` of `range` cannot be computed.", whole=True)
        target = dt.INT if place == 3 else dt.LONG
        fits = arg.type != dt.VOID and find_implicit(arg.type, target, ansi=conf.ansi) is not None
        whole = cast(arg, target, conf)
        if not fits or (is_computable(arg) and constant(whole, "range") is None):
            return Mismatch("UNEXPECTED_INPUT_TYPE", f'`range` cannot take a "{arg.type.sql}" as its `{name}`.', whole=True)
        if name == "step" and is_computable(whole) and constant(whole, "range") == 0:
            return Mismatch("FAILED_FUNCTION_CALL", "the step of `range` must not be 0.", whole=True)
    return None


_EXPLODED: dict[str, Any] = {"alias": True, "coerce": Coerce.NONE, "check": uncast(_COLLECTION), "traits": evolve(PURE, elements=Elements.EACH), **_MAKES}
_PLACED: dict[str, Any] = {**_EXPLODED, "columns": lambda args, conf: [("pos", dt.INT, False), *_items(args, conf)]}
_STRUCTS = must(
    lambda args, conf: isinstance(args[0].type, dt.Array) and isinstance(args[0].type.element, dt.Struct),
    "UNEXPECTED_INPUT_TYPE", 'The first parameter requires the "ARRAY<STRUCT>" type, not "{0}".',
)
_INLINED: dict[str, Any] = {"alias": True, "coerce": Coerce.NONE, "check": _STRUCTS, "columns": _struct_columns, "traits": PURE, **_MAKES}

TABLE: Table = lines(
    fn("explode explode_outer", (_COLLECTION,), dt.VOID, NEVER, names=("collection",), columns=_items, **_EXPLODED),
    fn("posexplode posexplode_outer", (_COLLECTION,), dt.VOID, NEVER, names=("collection",), since="4.0", **_PLACED),
    fn("posexplode posexplode_outer", (_COLLECTION,), dt.VOID, NEVER, until="4.0", **_PLACED),
    fn("sql_keywords", (), dt.VOID, NEVER, columns=lambda args, conf: [("keyword", dt.STRING, False), ("reserved", dt.BOOLEAN, False)], traits=PURE, **_TABLE),
    fn("collations", (), dt.VOID, NEVER, columns=_collations, traits=PURE, **_TABLE),
    fn("python_worker_logs", (), dt.VOID, NEVER, check=must(lambda args, conf: conf.python_logging, "FEATURE_NOT_ENABLED", "The feature Python Worker Logging is not enabled.", whole=True), columns=_logs, traits=VOLATILE, **_TABLE),
    fn("range", (ANY, Optional(ANY), Optional(ANY), Optional(ANY)), dt.VOID, NEVER, coerce=Coerce.NONE, check=_range_check, columns=lambda args, conf: [("id", dt.LONG, False)], traits=PURE, **_TABLE),
    fn("inline inline_outer", (ANY,), dt.VOID, NEVER, names=("input",), since="4.0", **_INLINED),
    fn("inline inline_outer", (ANY,), dt.VOID, NEVER, until="4.0", **_INLINED),
    fn("stack", (dt.INT, Many(ANY, 1)), dt.VOID, NEVER, coerces=_stack_operands, coerce=Coerce.NONE, check=_stack_check, columns=_stack_columns, traits=PURE, **_MAKES),
    fn("json_tuple", (ANY, Many(ANY, 1)), dt.VOID, NEVER, coerce=Coerce.NONE, check=must(lambda args, conf: all(dt.is_string(a.type) for a in args), "NON_STRING_TYPE", "all arguments of the function `json_tuple` must be strings."), columns=lambda args, conf: [(f"c{i}", args[0].type, True) for i in range(len(args) - 1)], traits=PURE, **_MAKES),
)
