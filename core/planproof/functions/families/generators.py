"""Functions that make rows. Source: `generators.scala`.

`columns` says what each row holds; the call itself has no value, so its type is void.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planproof.conf import Conf
from planproof.expr.nodes import Expr, Literal
from planproof.functions.bind import cast_unless_same
from planproof.functions.families.line import Table, fn, lines
from planproof.functions.signature import NEVER, PURE, Args, Category, Coerce, Many, Mismatch
from planproof.origin import Unknown
from planproof.types import BOOLEAN, INT, STRING, VOID, Array, DataType, Map, Struct, same_type
from planproof.types.coercion import common
from planproof.types.kinds import ANY, ANY_ARRAY, ANY_MAP, ANY_STRING, OneOf

Columns = Sequence[tuple[str, DataType, bool]]
_COLLECTION = OneOf((ANY_ARRAY, ANY_MAP))


def _items(args: Args, conf: Conf) -> Columns:
    found = args[0].type
    if isinstance(found, Map):
        return [("key", found.key, False), ("value", found.value, found.value_contains_null)]
    assert isinstance(found, Array)
    return [("col", found.element, found.contains_null)]


def _placed_items(args: Args, conf: Conf) -> Columns:
    return [("pos", INT, False), *_items(args, conf)]


def _inlined(args: Args, conf: Conf) -> Columns:
    found = args[0].type
    assert isinstance(found, Array)
    struct = found.element
    assert isinstance(struct, Struct)
    return [(f.name, f.type, f.nullable or found.contains_null) for f in struct.fields]


def _structs(args: Args, conf: Conf) -> Mismatch | None:
    found = args[0].type
    if isinstance(found, Array) and isinstance(found.element, Struct):
        return None
    return Mismatch(
        "UNEXPECTED_INPUT_TYPE", f'The first parameter requires the "ARRAY<STRUCT>" type, not "{found.sql}".'
    )


def _width(args: Args) -> tuple[int, int]:
    """Rows and columns of `stack(n, ...)`."""
    rows = args[0]
    if not isinstance(rows, Literal) or not isinstance(rows.value, int):
        raise Unknown("stack of a number of rows that is no literal")
    return rows.value, -(-(len(args) - 1) // max(rows.value, 1))


def _stack_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """Each column of the stack meets at one type."""
    rows, width = _width(args)
    if rows < 1:
        return args
    ready = list(args)
    for column in range(width):
        places = [1 + r * width + column for r in range(rows) if 1 + r * width + column < len(args)]
        types = [args[p].type for p in places]
        target = common(types, ansi=conf.ansi)
        if target is None or all(same_type(t, types[0]) for t in types):
            continue
        for place in places:
            ready[place] = cast_unless_same(args[place], target, conf)
    return ready


def _stacked(args: Args, conf: Conf) -> Columns:
    rows, width = _width(args)
    found: list[tuple[str, DataType, bool]] = []
    for column in range(width):
        cells = [args[1 + r * width + column] for r in range(rows) if 1 + r * width + column < len(args)]
        found.append((f"col{column}", cells[0].type, True))
    return found


def _stack_check(args: Args, conf: Conf) -> Mismatch | None:
    rows, width = _width(args)
    if rows < 1:
        return Mismatch("VALUE_OUT_OF_RANGE", "The number of rows of `stack` must be positive.")
    for column in range(width):
        types = [args[1 + r * width + column].type for r in range(rows) if 1 + r * width + column < len(args)]
        if any(not same_type(t, types[0]) for t in types[1:]):
            return Mismatch(
                "STACK_COLUMN_DIFF_TYPES", f"The data type of the column ({column}) do not have the same type."
            )
    return None


def _tuple(args: Args, conf: Conf) -> Columns:
    return [(f"c{i}", STRING, True) for i in range(len(args) - 1)]


_MAKES: dict[str, Any] = {"category": Category.GENERATOR, "foldable": False}

def _keywords(args: Args, conf: Conf) -> Columns:
    return [("keyword", STRING, False), ("reserved", BOOLEAN, False)]


TABLE: Table = lines(
    fn("explode explode_outer", (_COLLECTION,), VOID, NEVER, alias=True, names=("collection",), coerce=Coerce.EXPECTS, columns=_items, effects=PURE, **_MAKES),
    fn("posexplode posexplode_outer", (_COLLECTION,), VOID, NEVER, alias=True, names=("collection",), coerce=Coerce.EXPECTS, columns=_placed_items, effects=PURE, **_MAKES),
    fn("sql_keywords", (), VOID, NEVER, columns=_keywords, effects=PURE, **_MAKES),
    fn("inline inline_outer", (ANY,), VOID, NEVER, alias=True, names=("input",), coerce=Coerce.NONE, check=_structs, columns=_inlined, effects=PURE, **_MAKES),
    fn("stack", (INT, Many(ANY, 1)), VOID, NEVER, coerces=_stack_operands, coerce=Coerce.NONE, check=_stack_check, columns=_stacked, effects=PURE, **_MAKES),
    fn("json_tuple", (ANY_STRING, Many(ANY_STRING, 1)), VOID, NEVER, coerce=Coerce.EXPECTS, columns=_tuple, effects=PURE, **_MAKES),
)
