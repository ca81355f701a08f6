"""Variants. Source: `variantExpressions.scala`."""

from __future__ import annotations

from typing import Any

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import (
    ALWAYS,
    EITHER,
    FIRST,
    NEVER,
    Args,
    Category,
    Check,
    Coerce,
    Input,
    Many,
    Mismatch,
    Optional,
)
from planproof_engine.expr.nodes import Expr, Literal
from planproof_engine.expr.traits import PURE, RAISES
from planproof_engine.functions.bind import check_cast
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.line import Table, fn, lines, prints_first
from planproof_engine.functions.families.rules import checks, foldable, is_foldable, must
from planproof_engine.functions.families.semistructured import parse_written_type
from planproof_engine.types.casts import can_cast
from planproof_engine.types.kinds import ANY, ANY_STRING

_TRUE = Literal(True, dt.BOOLEAN, "true")


_check_nested = must(
    lambda args, conf: isinstance(args[0].type, (dt.Array, dt.Map, dt.Struct)) and can_cast(dt.VARIANT, args[0].type, ansi=conf.ansi),
    "CAST_WITHOUT_SUGGESTION", 'cannot cast "{0}" to "VARIANT".',
)
"""Only containers become variant objects, of what a variant can be read as."""


def _type_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """The type to read is a constant text, which Spark looks at first."""
    if len(args) <= 2:
        return args
    named = is_foldable(args[2]) and dt.is_string(args[2].type)
    if not named or constant(args[2], "variant_get") is None:
        raise Mismatch("INVALID_SCHEMA.NON_STRING_LITERAL", "the type must be a string that is a constant.")
    return args


def _read_type(args: Args, conf: Conf) -> dt.DataType:
    return dt.as_nullable(parse_written_type(args[2], conf, "variant_get")) if len(args) > 2 else dt.VARIANT


def _check_storable(args: Args, conf: Conf) -> Mismatch | None:
    """A value that is put into a variant must be castable to one; NULL is."""
    value = args[2].type
    return None if value in (dt.VOID, dt.VARIANT) else check_cast(value, dt.VARIANT, "ansi")


def _get(name: str) -> Table:
    """The `try_` form, too, fails on a malformed path."""
    own: dict[str, Any] = {"coerces": _type_operands, "check": lambda args, conf: check_cast(dt.VARIANT, _read_type(args, conf), "ansi"), "coerce": Coerce.EXPECTS}
    return fn(name, (dt.VARIANT, ANY_STRING, Optional(ANY_STRING)), _read_type, ALWAYS, show=prints_first(2), alias=True, traits=RAISES, **own)


def _make_change(name: str, *more: Input, check: Check = _check_storable, names: tuple[str, ...] = ()) -> Table:
    """A change of a variant, and its `try_` form, which gives NULL for a value that does not fit, but fails on a path that is none."""
    inputs = (dt.VARIANT, ANY_STRING, ANY, *more)
    own: dict[str, Any] = {"check": check, "coerce": Coerce.EXPECTS, "names": names}
    return lines(
        fn(name, inputs, dt.VARIANT, EITHER, traits=RAISES, **own),
        fn(f"try_{name}", inputs, dt.VARIANT, ALWAYS, traits=RAISES, **own),
    )


_AGG: dict[str, Any] = {"category": Category.AGGREGATE, "foldable": False}

TABLE: Table = lines(
    fn("parse_json", (ANY_STRING,), dt.VARIANT, EITHER, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("try_parse_json", (ANY_STRING,), dt.VARIANT, ALWAYS, coerce=Coerce.EXPECTS, traits=PURE),
    fn("is_variant_null", (dt.VARIANT,), dt.BOOLEAN, NEVER, coerce=Coerce.EXPECTS, traits=PURE),
    fn("is_valid_variant", (dt.VARIANT,), dt.BOOLEAN, FIRST, coerce=Coerce.EXPECTS, traits=PURE),
    *map(_get, ("variant_get", "try_variant_get")),
    fn("schema_of_variant", (dt.VARIANT,), dt.STRING, FIRST, coerce=Coerce.EXPECTS, traits=PURE),
    fn("schema_of_variant_agg", (dt.VARIANT,), dt.STRING, NEVER, coerce=Coerce.EXPECTS, traits=PURE, **_AGG),
    fn("to_variant_object", (ANY,), dt.VARIANT, FIRST, coerce=Coerce.NONE, check=_check_nested, traits=RAISES),
    _make_change("variant_set", Optional(dt.BOOLEAN, _TRUE), check=checks(foldable(3), _check_storable), names=("v", "path", "val", "create_if_missing")),
    *map(_make_change, ("variant_insert", "variant_array_append")),
    fn("variant_delete", (dt.VARIANT, ANY_STRING, Many(ANY_STRING)), dt.VARIANT, FIRST, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("variant_strip_nulls", (dt.VARIANT, Optional(dt.BOOLEAN, _TRUE)), dt.VARIANT, EITHER, check=foldable(1), names=("v", "include_arrays"), coerce=Coerce.EXPECTS, traits=RAISES),
    fn("variant_explode variant_explode_outer", (dt.VARIANT,), dt.VARIANT, NEVER, alias=True, names=("input",), columns=lambda args, conf: [("pos", dt.INT, False), ("key", dt.STRING, True), ("value", dt.VARIANT, False)], coerce=Coerce.EXPECTS, category=Category.TABLE, foldable=False, traits=PURE),
)
