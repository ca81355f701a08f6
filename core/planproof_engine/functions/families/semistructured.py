"""JSON, CSV, XML and variants; Avro and Protobuf, whose schemas and packages lie outside the query.

Spark refuses the last two where the package is not on its class path, which no query tells; so they are known by name
only. Source: `jsonExpressions.scala`, `csvExpressions.scala`, `xmlExpressions.scala`, `variantExpressions.scala`,
`avroSqlFunctions.scala`, `toFromProtobufSqlFunctions.scala`.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr.function import (
    ALWAYS, EITHER, FIRST, NEVER, Args, Category, Check, Coerce, Input, Many, Mismatch, Optional, TypeRule,
)
from planproof_engine.expr.nodes import Call, Expr, Literal
from planproof_engine.expr.traits import PURE, RAISES
from planproof_engine.functions.bind import check_cast
from planproof_engine.functions.constants import constant
from planproof_engine.functions.families.line import (
    Pretty, Table, at_once, checks, fn, foldable, is_foldable, is_null, lines, must, prints_first, wants,
)
from planproof_engine.functions.inference import infer_schema
from planproof_engine.ground import Conf, Unknown
from planproof_engine.types.casts import can_cast
from planproof_engine.types.ddl import find_unknown_type
from planproof_engine.types.kinds import ANY, ANY_STRING, MapOf, accepts

_OPTIONS = Optional(ANY)
_TWO_WORDS = re.compile(r"\s*(\w+|`[^`]+`)(?:\s*:\s*|\s+)\w[\w\s,:<>()`]*\Z")
_NO_WORD = re.compile(r"\s*(\d+\b|[^\w\s`/-])")
"""What no type and no name of a column begins with."""
_PRECISE = re.compile(r"\btimestamp(?:_ltz|_ntz)?\s*\(", re.IGNORECASE)
"""A type that no list of columns may have: Spark then reads the whole as a type."""
_DIGITS = re.compile(_PRECISE.pattern + r"\s*(\d{1,9})", re.IGNORECASE)
_OPEN_TYPES = ("INTERVAL", "TIMESTAMP", "TIME", "STRING", "CHAR", "CHARACTER", "VARCHAR")
"""Words that a type may begin with, and go on after."""
_HAS_LENGTH = re.compile(r"\b(var)?char", re.IGNORECASE)
"""Spark reads such a column, and refuses its type by another condition."""
_STRINGS = dt.Array(dt.STRING, True)


def _print_first(call: Call, pretty: Pretty) -> str:
    """The schema and the options are not printed; a map that is parsed is called `entries`."""
    if call.function.name == "from_json" and isinstance(call.type, dt.Map):
        return "entries"
    return f"{call.shown}({pretty(call.args[0])})"


def parse_written_type(arg: Expr, conf: Conf, what: str) -> dt.DataType:
    """The type that a constant schema names: a column list, a type, or a type's JSON (`DataType.fromDDL`); JSON since 4.0."""
    text = str(infer_schema(arg) or constant(arg, what))
    found = _read_type(text, conf.timestamp_type == "TIMESTAMP_NTZ")
    if found is None or (_PRECISE.search(text) and not _has_digits(text, conf)):
        raise _check_schema(text) or Unknown(f"{what} with the schema {text!r}")
    if any(_is_newer(t, conf) for t in dt.walk(found)) or (text.lstrip().startswith("{") and conf.before("4.0")):
        raise _make_newer_mismatch(text)
    if not conf.preserve_char_varchar and any(isinstance(t, (dt.Char, dt.Varchar)) for t in dt.walk(found)):
        raise Mismatch("UNSUPPORTED_CHAR_OR_VARCHAR_AS_STRING", "char and varchar are no types of a schema.", whole=True)
    return found


def _has_digits(text: str, conf: Conf) -> bool:
    """Whether this Spark has timestamps of as many digits as the schema says."""
    most = 9 if conf.timestamp_nanos else 6
    if text.lstrip().startswith("{"):
        most = 9
    return not conf.before("4.3") and all(6 <= int(digits) <= most for digits in _DIGITS.findall(text))


def _is_newer(t: dt.DataType, conf: Conf) -> bool:
    return (isinstance(t, dt.Time) and conf.before("4.1")) or (t == dt.VARIANT and conf.before("4.0"))


def _make_newer_mismatch(text: str) -> Mismatch:
    """What an older Spark says of a schema with a type that it has not: it reads the text as a type at last, where a
    JSON text or a second word is an error of syntax."""
    if text.lstrip().startswith("{") or _TWO_WORDS.match(text):
        return Mismatch("PARSE_SYNTAX_ERROR", f"the schema {text!r} is neither a type nor a list of columns.", whole=True)
    return Mismatch("UNSUPPORTED_DATATYPE", f'Unsupported data type "{text.upper()}".', whole=True)


def _read_type(text: str, ntz: bool) -> dt.DataType | None:
    if not text.strip():
        return None
    for read in (partial(dt.parse_fields, colons=False), dt.parse_type):
        try:
            return read(text, timestamp_ntz=ntz)
        except dt.TypeSyntaxError:
            continue
    try:
        return dt.from_json(text, strict=True)
    except (dt.TypeSyntaxError, ValueError, KeyError, TypeError):
        return None


def _check_schema(text: str) -> Mismatch | None:
    """Why Spark refuses a text that names no type, where that is plain to see."""
    if not text.strip():
        return Mismatch("PARSE_EMPTY_STATEMENT", "the schema is empty.", whole=True)
    if text.isidentifier():
        return Mismatch("UNSUPPORTED_DATATYPE", f'Unsupported data type "{text.upper()}".', whole=True)
    try:
        named: str | None = "" if _RICHER.search(text) else find_unknown_type(text)
    except dt.TypeSyntaxError:
        named = None
    if named is None or _is_no_type(text):
        return Mismatch("PARSE_SYNTAX_ERROR", f"the schema {text!r} is neither a type nor a list of columns.", whole=True)
    return Mismatch("UNSUPPORTED_DATATYPE", f'Unsupported data type "{named.upper()}".', whole=True) if named else None


_RICHER = re.compile(r"[^\w\s<>(),:.-]|\b(?:as|collate|comment|decimal|default|generated|interval|not|time|timestamp\w*)\b", re.I)
"""What the grammar of columns and types may hold that `find_unknown_type` does not read as Spark does."""


def _is_no_type(text: str) -> bool:
    """True where a text that is no list of columns cannot be a type either: Spark names the error of reading it as a
    type (`DataType.fromDDL`), and that is one of syntax where two words stand side by side, or a JSON text begins."""
    if text.lstrip()[:1] in ("{", "[", '"'):
        return not _is_json(text) or '"udt"' not in text
    if _NO_WORD.match(text):
        return True
    first = _TWO_WORDS.match(text)
    is_type = first is None or first[1].upper() in _OPEN_TYPES
    return not is_type and not _HAS_LENGTH.search(text)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


_check_container = must(
    lambda args, conf: isinstance(args[0].type, (dt.Struct, dt.Array, dt.Map)) or args[0].type in (dt.VARIANT, dt.VOID),
    "INVALID_JSON_SCHEMA", 'Input schema "{0}" must be a struct, an array, a map or a variant.',
)
_check_row = must(
    lambda args, conf: isinstance(args[0].type, dt.Struct) or args[0].type == dt.VOID, "UNSUPPORTED_INPUT_TYPE", '`to_csv` takes a "STRUCT", no "{0}".'
)
_check_record_or_variant = wants(0, lambda t: isinstance(t, dt.Struct) or t in (dt.VARIANT, dt.VOID), "STRUCT")
_check_literal = must(lambda args, conf: not is_null(args[0]), "UNEXPECTED_NULL", "The first argument must not be null.")


def _refuse_options(args: Args, at: int) -> None:
    """`ExprUtils.convertToMapData`: options are a call of `map` over strings, which is computed at once."""
    if len(args) <= at:
        return
    options = args[at]
    if not isinstance(options, Call) or options.function.name != "map":
        raise Mismatch("INVALID_OPTIONS.NON_MAP_FUNCTION", "the options must be written with `map`.")
    if not accepts(MapOf(ANY_STRING, ANY_STRING), options.type):
        raise Mismatch("INVALID_OPTIONS.NON_STRING_TYPE", "the keys and values of the options must be strings.")
    if not all(map(is_foldable, options.args)):
        raise Mismatch("INTERNAL_ERROR", "Cannot evaluate the options: they must be constants.", whole=True)


def _read_schema(args: list[Expr], conf: Conf) -> dt.DataType:
    if not is_foldable(args[1]) or not dt.is_string(args[1].type):
        raise Mismatch("INVALID_SCHEMA.NON_STRING_LITERAL", "the schema must be a string that is a constant.")
    return parse_written_type(args[1], conf, "parsing")


def _json_schema(args: list[Expr], conf: Conf) -> list[Expr]:
    """Spark looks at the schema, then at the options, before it looks at the text's type."""
    found = _read_schema(args, conf)
    _refuse_options(args, 2)
    if isinstance(found, dt.Map) and not dt.is_string(found.key):
        raise Mismatch("INVALID_JSON_MAP_KEY_TYPE", f'"{found.sql}" can only contain STRING as a key type.')
    if not isinstance(found, (dt.Struct, dt.Array, dt.Map)) and found != dt.VARIANT:
        raise Mismatch("INVALID_JSON_SCHEMA", f'"{found.sql}" must be a struct, an array, a map or a variant.')
    return args


def _csv_schema(args: list[Expr], conf: Conf) -> list[Expr]:
    if not isinstance(_read_schema(args, conf), dt.Struct):
        raise Mismatch("INVALID_SCHEMA.NON_STRUCT_TYPE", "The schema must be a struct.")
    _refuse_options(args, 2)
    return args


def _xml_schema(args: list[Expr], conf: Conf) -> list[Expr]:
    found = _read_schema(args, conf)
    _refuse_options(args, 2)
    if not isinstance(found, dt.Struct) and found != dt.VARIANT:
        raise Mismatch("INVALID_XML_SCHEMA", f'"{found.sql}" must be a struct or a variant.')
    return args


def _option_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """A value of type void is written as NULL."""
    _refuse_options(args, 1)
    return [Literal(None, dt.VOID, "NULL"), *args[1:]] if args[0].type == dt.VOID else args


def _sample_operands(args: list[Expr], conf: Conf) -> list[Expr]:
    """`schema_of_...` reads a constant."""
    _refuse_options(args, 1)
    if not is_foldable(args[0]):
        raise Mismatch("NON_FOLDABLE_INPUT", "the text must be a foldable expression.")
    return args


def _xpath(names: str, returns: dt.DataType) -> Table:
    """The path is a constant string, which Spark looks at before it looks at the document's type."""
    path = must(lambda args, conf: is_foldable(args[1]) or args[1].type == dt.VOID, "NON_FOLDABLE_INPUT", "the path must be a foldable expression.")
    own: dict[str, Any] = {"coerces": at_once(path), "coerce": Coerce.EXPECTS, "alias": True, "traits": RAISES}
    return fn(names, (ANY_STRING, ANY_STRING), returns, ALWAYS, **own)


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


def _variant_type(args: Args, conf: Conf) -> dt.DataType:
    return dt.as_nullable(parse_written_type(args[2], conf, "variant_get")) if len(args) > 2 else dt.VARIANT


def _check_storable(args: Args, conf: Conf) -> Mismatch | None:
    """A value that is put into a variant must be castable to one; NULL is."""
    value = args[2].type
    return None if value in (dt.VOID, dt.VARIANT) else check_cast(value, dt.VARIANT, "ansi")


def _get(name: str) -> Table:
    """The `try_` form, too, fails on a malformed path."""
    own: dict[str, Any] = {"coerces": _type_operands, "check": lambda args, conf: check_cast(dt.VARIANT, _variant_type(args, conf), "ansi"), "coerce": Coerce.EXPECTS}
    return fn(name, (dt.VARIANT, ANY_STRING, Optional(ANY_STRING)), _variant_type, ALWAYS, show=prints_first(2), alias=True, traits=RAISES, **own)


def _make_change(name: str, *more: Input, check: Check = _check_storable, names: tuple[str, ...] = ()) -> Table:
    """A change of a variant, and its `try_` form, which gives NULL for a value that does not fit, but fails on a path that is none."""
    inputs = (dt.VARIANT, ANY_STRING, ANY, *more)
    own: dict[str, Any] = {"check": check, "coerce": Coerce.EXPECTS, "names": names}
    return lines(
        fn(name, inputs, dt.VARIANT, EITHER, traits=RAISES, **own),
        fn(f"try_{name}", inputs, dt.VARIANT, ALWAYS, traits=RAISES, **own),
    )


_AGG: dict[str, Any] = {"category": Category.AGGREGATE, "foldable": False}


def _make_unknown_type(what: str) -> TypeRule:
    def rule(args: Args, conf: Conf) -> dt.DataType:
        raise Unknown(what)

    return rule


_check_name = must(
    lambda args, conf: len(args) < 2 or (is_foldable(args[1]) and (dt.is_string(args[1].type) or args[1].type == dt.VOID)),
    "TYPE_CHECK_FAILURE_WITH_HINT", "the second argument must be a constant string.",
)
"""The schema, or the message's name, is a constant text: so much is looked at without the package."""


def _line(name: str, what: str, least: int, more: int) -> Table:
    inputs: tuple[Input, ...] = (*[ANY] * least, *[Optional(ANY)] * more)
    return fn(name, inputs, _make_unknown_type(what), ALWAYS, coerce=Coerce.NONE, check=_check_name, traits=RAISES)


TABLE: Table = lines(
    fn("get_json_object", (ANY_STRING, ANY_STRING), dt.STRING, ALWAYS, coerce=Coerce.EXPECTS, traits=PURE),
    fn("json_array_length", (ANY_STRING,), dt.INT, ALWAYS, coerce=Coerce.EXPECTS, traits=PURE),
    fn("json_object_keys", (ANY_STRING,), _STRINGS, ALWAYS, coerce=Coerce.EXPECTS, traits=PURE),
    fn("from_json", (ANY_STRING, ANY, _OPTIONS), lambda args, conf: dt.as_nullable(parse_written_type(args[1], conf, "parsing")), ALWAYS, coerces=_json_schema, show=_print_first, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("to_json", (ANY, _OPTIONS), dt.STRING, ALWAYS, coerces=_option_operands, check=_check_container, show=_print_first, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("schema_of_json, schema_of_csv, schema_of_xml", (ANY_STRING, _OPTIONS), dt.STRING, NEVER, coerces=_sample_operands, check=_check_literal, show=_print_first, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("from_csv", (ANY_STRING, ANY, _OPTIONS), lambda args, conf: dt.as_nullable(parse_written_type(args[1], conf, "parsing")), FIRST, coerces=_csv_schema, show=_print_first, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("to_csv", (ANY, _OPTIONS), dt.STRING, ALWAYS, coerces=_option_operands, check=_check_row, show=_print_first, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("from_xml", (ANY_STRING, ANY, _OPTIONS), lambda args, conf: dt.as_nullable(parse_written_type(args[1], conf, "parsing")), ALWAYS, coerces=_xml_schema, show=_print_first, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("to_xml", (ANY, _OPTIONS), dt.STRING, ALWAYS, coerces=_option_operands, check=_check_record_or_variant, show=_print_first, coerce=Coerce.EXPECTS, traits=RAISES),
    _xpath("xpath_string", dt.STRING),
    _xpath("xpath_boolean", dt.BOOLEAN),
    _xpath("xpath_short", dt.SHORT),
    _xpath("xpath_int", dt.INT),
    _xpath("xpath_long", dt.LONG),
    _xpath("xpath_float", dt.FLOAT),
    _xpath("xpath_double xpath_number", dt.DOUBLE),
    _xpath("xpath", _STRINGS),
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
    _line("from_avro", "Avro data", 2, 1),
    _line("to_avro", "Avro data", 1, 1),
    _line("schema_of_avro", "an Avro schema", 1, 1),
    _line("from_protobuf", "Protobuf data", 2, 2),
    _line("to_protobuf", "Protobuf data", 2, 2),
)
