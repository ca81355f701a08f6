"""Strings: regular expressions, splitting, encodings, hashes and encryption, too.

Source: `stringExpressions.scala`, `maskExpressions.scala`, `regexpExpressions.scala`, `hash.scala`, `misc.scala`,
`urlExpressions.scala`.
"""

from __future__ import annotations

from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr.function import ALWAYS, EITHER, FIRST, NEVER, Args, Coerce, Many, Mismatch, Optional, where
from planproof_engine.expr.nodes import Call, Cast, Expr, Literal
from planproof_engine.expr.traits import ANSI_RAISES, PURE, RAISES, Cost, Elements, Evaluates, Magnitude
from planproof_engine.functions.bind import cast_to_common, cast_unless_same, make_types_mismatch
from planproof_engine.functions.constants import constant
from planproof_engine.functions.failing import raises
from planproof_engine.functions.families.line import (
    Pretty, Table, array_of, cast_implicitly, check_inputs, checks, fn, foldable, is_foldable, lines, lit, merge_types,
    must, one_type, prove_null_for_null, type_of,
)
from planproof_engine.ground import Conf, Unknown, evolve
from planproof_engine.types.coercion import find_implicit
from planproof_engine.types.kinds import is_collation, is_locale
from planproof_engine.types.kinds import ANY, ANY_ARRAY, ANY_STRING, NUMERIC, ArrayOf, Expected, OneOf

def _collate_type(args: Args, conf: Conf) -> dt.DataType:
    """Spark keeps a written UTF8_BINARY apart from the default since 4.2."""
    name = str(constant(args[1], "collate"))
    if name.upper() == "UTF8_BINARY" and conf.before("4.2"):
        return dt.STRING
    first, *rest = name.split("_")
    language = first.lower() if is_locale(first) else first.upper()
    return dt.String("_".join([language, *(r.upper() for r in rest if r.upper() not in ("CS", "AS"))]))


def _collate_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    if not dt.is_string(args[1].type):
        raise Mismatch("UNEXPECTED_INPUT_TYPE", "The second parameter of `collate` requires a string.", whole=True)
    if not is_foldable(args[1]):
        raise Mismatch("NON_FOLDABLE_ARGUMENT", "collate needs the name of a collation.")
    name = str(constant(args[1], "collate"))
    if not is_collation(name):
        raise Mismatch("COLLATION_INVALID_NAME", "there is no collation of this name.", whole=True)
    return [args[0], Literal(name, dt.STRING, name)]  # `CollateExpressionBuilder` computes it at once.


_TEXT_OR_BYTES = OneOf((ANY_STRING, dt.BINARY))
_NULL_TEXT = Literal(None, dt.STRING, "NULL")
_TO_THE_END = Literal(2147483647, dt.INT, "2147483647")


def _concat_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`ConcatCoercion`: bytes stay bytes and arrays meet as arrays; everything else becomes a string."""
    types = [x.type for x in args]
    if types and all(isinstance(t, dt.Array) for t in types):
        return cast_to_common(args, conf)
    if types and all(t == dt.BINARY for t in types) and not conf.concat_binary_as_string:
        return args
    return [_cast_to_text(x, conf) for x in args]


def _cast_to_text(arg: Expr, conf: Conf) -> Expr:
    target = find_implicit(arg.type, dt.STRING, ansi=conf.ansi)
    return arg if target is None or dt.is_string(arg.type) else cast_unless_same(arg, target, conf)


_JOINABLE = OneOf((ANY_STRING, dt.BINARY, ANY_ARRAY))


def _elt_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`EltCoercion`: an index, then strings; bytes stay bytes where all are."""
    if not args:
        return args
    index, *items = args
    if not (items and all(x.type == dt.BINARY for x in items)) or conf.elt_output_as_string:
        items = [_cast_to_text(x, conf) for x in items]
    return [*cast_implicitly([index], [dt.INT], conf), *items]


def _check_elt(args: Args, conf: Conf) -> Mismatch | None:
    refused = check_inputs(args, [dt.INT] + [_TEXT_OR_BYTES] * (len(args) - 1))
    return refused or one_type("elt")(args[1:], conf)


def _make_trim_printer(side: str) -> Any:
    """Prints a trim: `TRIM(LEADING what FROM text)` of (what, text), else its name."""

    def show(call: Call, pretty: Pretty) -> str:
        if len(call.args) == 1:
            return f"{call.function.name}({pretty(call.args[0])})"
        what, text = call.args
        return f"TRIM({side} {pretty(what)} FROM {pretty(text)})"

    return show


def _trim(name: str, side: str) -> Table:
    return fn(name, (ANY_STRING, Optional(ANY_STRING)), type_of(-1), EITHER, show=_make_trim_printer(side), traits=PURE)


def _pad(name: str) -> Table:
    """`lpad` and `rpad`: strings are padded with a blank, bytes with zero."""

    def coerces(args: list[Expr], conf: Conf) -> list[Expr]:
        if args[0].type == dt.BINARY and (len(args) == 2 or args[2].type == dt.BINARY):
            pad = args[2:] or [Literal(b"\0", dt.BINARY, "X'00'")]
            return [args[0], *cast_implicitly(args[1:2], [dt.INT], conf), *pad]
        if isinstance(args[1].type, dt.String) and args[1].type.collation:
            raise Unknown(f"{name} to a length that is a collated string")
        pad = args[2:] or [lit(" ")]
        return cast_implicitly([*args[:2], *pad], [ANY_STRING, dt.INT, ANY_STRING], conf)

    def check(args: Args, conf: Conf) -> Mismatch | None:
        kind: Expected = dt.BINARY if args[0].type == dt.BINARY and args[2].type == dt.BINARY else ANY_STRING
        return check_inputs(args, [kind, dt.INT, kind])

    return fn(name, (ANY, ANY, Optional(ANY)), type_of(0), EITHER, coerces=coerces, coerce=Coerce.NONE, check=check, traits=PURE)


def _search(name: str) -> Table:
    """`contains`, `startswith`, `endswith`: of two strings, or of two binaries."""

    def kinds(args: Args) -> list[Expected | None]:
        return [dt.BINARY, dt.BINARY] if all(x.type == dt.BINARY for x in args) else [ANY_STRING, ANY_STRING]

    own: dict[str, Any] = {
        "coerces": lambda args, conf: cast_implicitly(args, kinds(args), conf),
        "check": lambda args, conf: check_inputs(args, kinds(args)),
        "coerce": Coerce.NONE,
    }


    def nullable(args: Args, conf: Conf) -> bool:
        """Static code checks the bytes, and Spark takes the result of static code for nullable."""
        return EITHER(args, conf) or all(x.type == dt.BINARY for x in args)

    return fn(name, (ANY, ANY), dt.BOOLEAN, nullable, evidence=prove_null_for_null, traits=PURE, **own)


def _check_mask(args: Args, conf: Conf) -> Mismatch | None:
    """`Mask.checkInputDataTypes`: each replacement is one character, or NULL."""
    for arg in args[1:]:
        value = constant(arg, "mask")
        if value is not None and len(str(value)) != 1:
            return Mismatch("INPUT_SIZE_NOT_ONE", "each replacement of mask must be one character.")
    return None


_check_part = must(
    lambda args, conf: not (isinstance(args[2], Cast) and all(map(is_foldable, args)) and raises(args[2], conf)),
    "CAST_OVERFLOW", "The part of split_part is a whole number that is no INT.", whole=True,
)
"""A call of constants alone is computed while the query is analyzed."""


def _starts(args: Args, conf: Conf) -> bool:
    position = constant(args[3], "regexp_replace")
    return position is None or position > 0


_start = checks(foldable(3), must(_starts, "VALUE_OUT_OF_RANGE", "the position of regexp_replace must be 1 or greater."))
"""`RegExpReplace.checkInputDataTypes`: the start is a positive constant."""
_TEXTS = (ANY_STRING, ANY_STRING)


def _check_no_map(args: Args, conf: Conf) -> Mismatch | None:
    """`HashExpression.checkInputDataTypes`: the order inside a map is open, so it has no hash."""
    if not args:
        return Mismatch("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "hash functions require at least one argument.")
    inner = [t for a in args for t in dt.walk(a.type)]
    if any(isinstance(t, dt.Map) for t in inner):
        return Mismatch("HASH_MAP_TYPE", "the input of a hash function cannot hold a map.")
    return Mismatch("HASH_VARIANT_TYPE", "the input of a hash function cannot hold a variant.") if dt.VARIANT in inner else None


_URL = (ANY_STRING, ANY_STRING, Optional(ANY_STRING))
_CIPHER = (dt.BINARY, dt.BINARY, Optional(ANY_STRING, lit("GCM")), Optional(ANY_STRING, lit("DEFAULT")))


TABLE: Table = lines(
    fn("concat", (Many(ANY),), lambda args, conf: merge_types(args, conf) if args else dt.STRING, EITHER, coerces=_concat_operands, coerce=Coerce.NONE, check=lambda args, conf: check_inputs(args, [_JOINABLE] * len(args)) or one_type("concat")(args, conf), traits=evolve(PURE, evaluates=Evaluates.TO_NULL, cost=Cost.COPIES), plain=True),
    fn("concat_ws", (ANY_STRING, Many(OneOf((ArrayOf(ANY_STRING), ANY_STRING)))), type_of(0), FIRST, traits=evolve(PURE, evaluates=Evaluates.ALL, cost=Cost.COPIES)),
    fn("elt", (ANY, Many(ANY, 1)), type_of(1), ALWAYS, coerces=_elt_operands, coerce=Coerce.NONE, check=_check_elt, traits=evolve(ANSI_RAISES, evaluates=Evaluates.FIRST)),
    fn("length len char_length character_length", (_TEXT_OR_BYTES,), dt.INT, EITHER, alias=True, traits=evolve(PURE, evaluates=Evaluates.TO_NULL, cost=Cost.FEW)),
    fn("bit_length, octet_length", (_TEXT_OR_BYTES,), dt.INT, EITHER, traits=PURE),
    fn("upper ucase", (ANY_STRING,), type_of(0), EITHER, alias=True, plain=True, traits=evolve(PURE, evaluates=Evaluates.TO_NULL)),
    fn("lower lcase", (ANY_STRING,), type_of(0), EITHER, alias=True, plain=True, traits=evolve(PURE, evaluates=Evaluates.TO_NULL)),
    fn("initcap", (ANY_STRING,), type_of(0), EITHER, traits=PURE),
    fn("ascii", (ANY_STRING,), dt.INT, EITHER, traits=PURE),
    fn("chr char", (dt.LONG,), dt.STRING, EITHER, alias=True, traits=PURE),
    fn("soundex", (ANY_STRING,), dt.STRING, EITHER, coerce=Coerce.EXPECTS, traits=PURE),
    fn("space", (dt.INT,), dt.STRING, EITHER, traits=PURE),
    fn("repeat", (ANY_STRING, dt.INT), type_of(0), EITHER, traits=PURE),
    fn("reverse", (OneOf((ANY_STRING, ANY_ARRAY)),), type_of(0), EITHER, until="4.2", traits=evolve(PURE, evaluates=Evaluates.TO_NULL, elements=Elements.KEEPS), plain=True),
    fn("reverse", (OneOf((ANY_STRING, dt.BINARY, ANY_ARRAY)),), type_of(0), EITHER, since="4.2", traits=evolve(PURE, evaluates=Evaluates.TO_NULL, elements=Elements.KEEPS), plain=True),
    fn("substring substr", (_TEXT_OR_BYTES, dt.INT, Optional(dt.INT, _TO_THE_END)), type_of(0), EITHER, alias=True, traits=evolve(PURE, cost=Cost.COPIES)),
    fn("left", (_TEXT_OR_BYTES, dt.INT), type_of(0), EITHER, traits=evolve(PURE, cost=Cost.COPIES)),
    fn("right", (ANY_STRING, dt.INT), type_of(0), ALWAYS, evidence=prove_null_for_null, traits=evolve(PURE, cost=Cost.COPIES)),
    fn("substring_index", (ANY_STRING, ANY_STRING, dt.INT), type_of(0), EITHER, traits=PURE),
    _trim("trim", "BOTH"),
    _trim("ltrim", "LEADING"),
    _trim("rtrim", "TRAILING"),
    fn("btrim", (ANY_STRING, Optional(ANY_STRING)), type_of(0), EITHER, traits=PURE),
    *map(_pad, ("lpad", "rpad")),
    fn("replace", (ANY_STRING, ANY_STRING, Optional(ANY_STRING, lit(""))), type_of(0), EITHER, traits=PURE),
    fn("translate", (ANY_STRING, ANY_STRING, ANY_STRING), type_of(0), EITHER, traits=PURE),
    # `Overlay.checkInputDataTypes`: input and replacement are both strings or both binary.
    fn("overlay", (_TEXT_OR_BYTES, _TEXT_OR_BYTES, dt.INT, Optional(dt.INT, lit(-1))), type_of(0), EITHER, check=lambda args, conf: None if dt.same_type(args[0].type, args[1].type) else make_types_mismatch("overlay", args[:2]), traits=PURE),
    *map(_search, ("contains", "startswith", "endswith")),
    fn("instr", (ANY_STRING, ANY_STRING), dt.INT, EITHER, until="4.3", traits=PURE),
    # With a start it looks for the first occurrence.
    fn("instr", (ANY_STRING, ANY_STRING, Optional(dt.INT), Optional(dt.INT)), dt.INT, EITHER, coerces=lambda args, conf: [*args, lit(1)] if len(args) == 3 else args, since="4.3", traits=RAISES),
    # `StringLocate.nullable`: without a start nothing is found.
    fn("locate position", (ANY_STRING, ANY_STRING, Optional(dt.INT, lit(1))), dt.INT, where(0, 1), alias=True, traits=PURE),
    fn("find_in_set", (ANY_STRING, ANY_STRING), dt.INT, EITHER, traits=PURE),
    fn("levenshtein", (ANY_STRING, ANY_STRING, Optional(dt.INT)), dt.INT, EITHER, traits=evolve(PURE, strict=False)),
    fn("jaro_winkler_similarity", (ANY_STRING, ANY_STRING), dt.DOUBLE, ALWAYS, evidence=prove_null_for_null, traits=PURE),
    fn("luhn_check", (ANY_STRING,), dt.BOOLEAN, ALWAYS, evidence=prove_null_for_null, traits=PURE),
    fn("collate", (ANY_STRING, ANY_STRING), _collate_type, FIRST, coerces=_collate_operands, coerce=Coerce.EXPECTS, traits=PURE),
    fn("quote", (ANY_STRING,), dt.STRING, ALWAYS, evidence=prove_null_for_null, traits=PURE),
    fn("format_string printf", (ANY_STRING, Many(ANY)), type_of(0), FIRST, check=must(lambda args, conf: not (isinstance(args[0], Literal) and "%0$" in str(args[0].value)), "INVALID_PARAMETER_VALUE.ZERO_INDEX", "format_string counts its arguments from 1."), alias=True, traits=RAISES),
    fn("format_number", (NUMERIC, OneOf((dt.INT, ANY_STRING))), dt.STRING, ALWAYS, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("sentences", (ANY_STRING, Optional(ANY_STRING, lit("")), Optional(ANY_STRING, lit(""))), lambda args, conf: dt.Array(dt.Array(args[0].type, False), False), ALWAYS, traits=PURE),
    fn("mask", (ANY_STRING, Optional(ANY_STRING, lit("X")), Optional(ANY_STRING, lit("x")), Optional(ANY_STRING, lit("n")), Optional(ANY_STRING, _NULL_TEXT)), type_of(0), ALWAYS, coerce=Coerce.EXPECTS, check=checks(foldable(1, 2, 3, 4), _check_mask), names=("str", "upperChar", "lowerChar", "digitChar", "otherChar"), traits=RAISES),
    fn("regexp_replace", (*_TEXTS, ANY_STRING, Optional(dt.INT, lit(1))), type_of(0), EITHER, check=_start, traits=RAISES),
    fn("regexp_extract", (*_TEXTS, Optional(dt.INT, lit(1))), type_of(0), EITHER, traits=RAISES),
    fn("regexp_extract_all", (*_TEXTS, Optional(dt.INT, lit(1))), array_of(0, True), EITHER, traits=RAISES),
    fn("regexp_count", _TEXTS, dt.INT, EITHER, traits=RAISES),
    fn("regexp_substr", _TEXTS, type_of(0), ALWAYS, traits=RAISES),
    fn("regexp_instr", (*_TEXTS, Optional(dt.INT, lit(0))), dt.INT, EITHER, traits=RAISES),
    fn("split", (*_TEXTS, Optional(dt.INT, lit(-1))), array_of(0, False), EITHER, traits=RAISES),
    fn("split_part", (*_TEXTS, dt.INT), type_of(0), ALWAYS, check=_check_part, evidence=prove_null_for_null, traits=RAISES),
    fn("base64, to_base32, md5, sha, sha1", (dt.BINARY,), dt.STRING, EITHER, traits=PURE),
    fn("unbase64, from_base32", (ANY_STRING,), dt.BINARY, EITHER, traits=RAISES),
    fn("encode", (ANY_STRING, ANY_STRING), dt.BINARY, ALWAYS, since="4.0", evidence=prove_null_for_null, traits=RAISES),
    fn("encode", (ANY_STRING, ANY_STRING), dt.BINARY, EITHER, until="4.0", traits=RAISES),
    fn("is_valid_utf8", (ANY_STRING,), dt.BOOLEAN, ALWAYS, evidence=prove_null_for_null, traits=PURE),
    fn("make_valid_utf8", (ANY_STRING,), type_of(0), ALWAYS, evidence=prove_null_for_null, traits=PURE),
    fn("validate_utf8", (ANY_STRING,), type_of(0), ALWAYS, evidence=prove_null_for_null, traits=RAISES),
    fn("try_validate_utf8", (ANY_STRING,), type_of(0), ALWAYS, traits=PURE),
    fn("url_encode", (ANY_STRING,), dt.STRING, ALWAYS, evidence=prove_null_for_null, traits=PURE),
    fn("url_decode", (ANY_STRING,), dt.STRING, ALWAYS, evidence=prove_null_for_null, traits=RAISES),
    fn("try_url_decode", (ANY_STRING,), dt.STRING, ALWAYS, traits=PURE),
    fn("parse_url", _URL, dt.STRING, ALWAYS, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("try_parse_url", _URL, dt.STRING, ALWAYS, coerces=lambda args, conf: [cast_unless_same(x, dt.STRING, conf) if x.type == dt.VOID else x for x in args], coerce=Coerce.EXPECTS, traits=PURE),
    fn("sha2", (dt.BINARY, dt.INT), dt.STRING, ALWAYS, traits=PURE),
    fn("crc32", (dt.BINARY,), dt.LONG, EITHER, traits=evolve(PURE, magnitude=Magnitude.LARGE)),
    fn("hmac", (dt.BINARY, dt.BINARY, Optional(ANY_STRING, lit("SHA-256"))), dt.BINARY, ALWAYS, evidence=prove_null_for_null, traits=RAISES),
    fn("hash", (Many(ANY),), dt.INT, NEVER, coerce=Coerce.NONE, check=_check_no_map, traits=PURE),
    fn("xxhash64", (Many(ANY),), dt.LONG, NEVER, coerce=Coerce.NONE, check=_check_no_map, traits=evolve(PURE, magnitude=Magnitude.LARGE)),
    fn("aes_encrypt", (*_CIPHER, Optional(dt.BINARY, lit("")), Optional(dt.BINARY, lit(""))), dt.BINARY, ALWAYS, traits=RAISES),
    fn("aes_decrypt", (*_CIPHER, Optional(dt.BINARY, lit(""))), dt.BINARY, ALWAYS, traits=RAISES),
    fn("try_aes_decrypt", (*_CIPHER, Optional(dt.BINARY, lit(""))), dt.BINARY, ALWAYS, traits=PURE),
)

KEYS = ("md5", "sha", "sha1", "sha2", "xxhash64", "concat", "concat_ws")
"""What makes one key of several values."""
