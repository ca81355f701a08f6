"""JSON, CSV and XML. Source: `jsonExpressions.scala`, `csvExpressions.scala`, `xmlExpressions.scala`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planproof.conf import Conf
from planproof.expr.nodes import Call, Expr, Literal
from planproof.functions.bind import unexpected
from planproof.functions.constants import constant
from planproof.functions.families.line import Table, fn, lines
from planproof.functions.families.rules import is_foldable
from planproof.functions.inference import inferred
from planproof.functions.signature import (
    ALWAYS,
    FIRST,
    NEVER,
    PURE,
    RAISES,
    Args,
    Coerce,
    Mismatch,
    Optional,
)
from planproof.origin import Unknown
from planproof.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    SHORT,
    STRING,
    VARIANT,
    VOID,
    Array,
    DataType,
    Map,
    Struct,
    TypeSyntaxError,
    as_nullable,
    from_json,
    is_string,
    parse_fields,
    parse_type,
)
from planproof.types.kinds import ANY, ANY_STRING, MapOf, accepts

Pretty = Callable[[Expr], str]
_OPTIONS = Optional(ANY)
_STRINGS = Array(STRING, True)


def _first_only(call: Call, pretty: Pretty) -> str:
    """The schema and the options are not printed; a map that is parsed is called `entries`."""
    if call.function.name == "from_json" and isinstance(call.type, Map):
        return "entries"
    return f"{call.shown}({pretty(call.args[0])})"


def written_type(arg: Expr, conf: Conf, what: str) -> DataType:
    """The type that a constant schema names: a column list, a type, or a type's JSON (`DataType.fromDDL`)."""
    text = inferred(arg) or constant(arg, what)
    ntz = conf.timestamp_type == "TIMESTAMP_NTZ"
    for read in (parse_fields, parse_type):
        try:
            return read(str(text), timestamp_ntz=ntz)
        except TypeSyntaxError:
            continue
    try:
        return from_json(str(text))
    except (TypeSyntaxError, ValueError, KeyError, TypeError):
        if str(text).isidentifier():
            raise Mismatch("UNSUPPORTED_DATATYPE", f"Unsupported data type \"{str(text).upper()}\".", whole=True) from None
        raise Unknown(f"{what} with the schema {text!r}") from None


def _parsed(args: Args, conf: Conf) -> DataType:
    return as_nullable(written_type(args[1], conf, "parsing"))


def _record(args: Args, conf: Conf) -> Mismatch | None:
    """CSV and XML are read as structs only."""
    found = written_type(args[1], conf, "parsing")
    return None if isinstance(found, Struct) else Mismatch("INVALID_SCHEMA.NON_STRUCT_TYPE", "The schema must be a struct.")


def _container(args: Args, conf: Conf) -> Mismatch | None:
    found = args[0].type
    if isinstance(found, Struct | Array | Map) or found in (VARIANT, VOID):
        return None
    return Mismatch("INVALID_JSON_SCHEMA", f'Input schema "{found.sql}" must be a struct, an array, a map or a variant.')


def _refuse_options(args: Args, at: int) -> None:
    """`ExprUtils.convertToMapData`: options are a call of `map` over strings."""
    if len(args) <= at:
        return
    options = args[at]
    if not isinstance(options, Call) or options.function.name != "map":
        raise Mismatch("INVALID_OPTIONS.NON_MAP_FUNCTION", "the options must be written with `map`.")
    if not accepts(MapOf(ANY_STRING, ANY_STRING), options.type):
        raise Mismatch("INVALID_OPTIONS.NON_STRING_TYPE", "the keys and values of the options must be strings.")


def _with_schema(args: list[Expr], conf: Conf) -> list[Expr]:
    """Spark looks at the schema, then at the options, before it looks at the text's type."""
    if not is_foldable(args[1]) or not is_string(args[1].type):
        raise Mismatch("INVALID_SCHEMA.NON_STRING_LITERAL", "the schema must be a string that is a constant.")
    written_type(args[1], conf, "parsing")
    _refuse_options(args, 2)
    return args


def _with_options(args: list[Expr], conf: Conf) -> list[Expr]:
    """What has no type is written as NULL."""
    _refuse_options(args, 1)
    return [Literal(None, VOID, "NULL"), *args[1:]] if args[0].type == VOID else args


def _sampled(args: list[Expr], conf: Conf) -> list[Expr]:
    """`schema_of_...` reads a constant."""
    _refuse_options(args, 1)
    if not is_foldable(args[0]):
        raise Mismatch("NON_FOLDABLE_INPUT", "the text must be a foldable expression.")
    return args


def _record_or_variant(args: Args, conf: Conf) -> Mismatch | None:
    found = args[0].type
    return None if isinstance(found, Struct) or found in (VARIANT, VOID) else unexpected(0, args[0], "STRUCT")


def _row(args: Args, conf: Conf) -> Mismatch | None:
    found = args[0].type
    if isinstance(found, Struct) or found == VOID:
        return None
    return Mismatch("UNSUPPORTED_INPUT_TYPE", f'`to_csv` takes a "STRUCT", no "{found.sql}".')


def _some_literal(args: Args, conf: Conf) -> Mismatch | None:
    if isinstance(args[0], Literal) and args[0].value is None:
        return Mismatch("UNEXPECTED_NULL", "The first argument must not be null.")
    return None


def _xpath(names: str, returns: DataType) -> Table:
    """The path is a constant string, which Spark looks at before it looks at the document's type."""

    def path(args: list[Expr], conf: Conf) -> list[Expr]:
        if not is_foldable(args[1]) and args[1].type != VOID:
            raise Mismatch("NON_FOLDABLE_INPUT", "the path must be a foldable expression.")
        return args

    own: dict[str, Any] = {"coerces": path, "coerce": Coerce.EXPECTS, "alias": True, "effects": RAISES}
    return fn(names, (ANY_STRING, ANY_STRING), returns, ALWAYS, **own)


TABLE: Table = lines(
    fn("get_json_object", (ANY_STRING, ANY_STRING), STRING, ALWAYS, coerce=Coerce.EXPECTS, effects=PURE),
    fn("json_array_length", (ANY_STRING,), INT, ALWAYS, coerce=Coerce.EXPECTS, effects=PURE),
    fn("json_object_keys", (ANY_STRING,), _STRINGS, ALWAYS, coerce=Coerce.EXPECTS, effects=PURE),
    fn("from_json", (ANY_STRING, ANY, _OPTIONS), _parsed, ALWAYS, coerces=_with_schema, show=_first_only, coerce=Coerce.EXPECTS, effects=RAISES),
    fn("to_json", (ANY, _OPTIONS), STRING, ALWAYS, coerces=_with_options, check=_container, show=_first_only, coerce=Coerce.EXPECTS, effects=RAISES),
    fn("schema_of_json", (ANY_STRING, _OPTIONS), STRING, NEVER, coerces=_sampled, check=_some_literal, show=_first_only, coerce=Coerce.EXPECTS, effects=RAISES),
    fn("from_csv", (ANY_STRING, ANY, _OPTIONS), _parsed, FIRST, coerces=_with_schema, check=_record, show=_first_only, coerce=Coerce.EXPECTS, effects=RAISES),
    fn("to_csv", (ANY, _OPTIONS), STRING, ALWAYS, coerces=_with_options, check=_row, show=_first_only, coerce=Coerce.EXPECTS, effects=RAISES),
    fn("schema_of_csv", (ANY_STRING, _OPTIONS), STRING, NEVER, coerces=_sampled, check=_some_literal, show=_first_only, coerce=Coerce.EXPECTS, effects=RAISES),
    fn("from_xml", (ANY_STRING, ANY, _OPTIONS), _parsed, ALWAYS, coerces=_with_schema, check=_record, show=_first_only, coerce=Coerce.EXPECTS, effects=RAISES),
    fn("to_xml", (ANY, _OPTIONS), STRING, ALWAYS, coerces=_with_options, check=_record_or_variant, show=_first_only, coerce=Coerce.EXPECTS, effects=RAISES),
    fn("schema_of_xml", (ANY_STRING, _OPTIONS), STRING, NEVER, coerces=_sampled, check=_some_literal, show=_first_only, coerce=Coerce.EXPECTS, effects=RAISES),
    _xpath("xpath_string", STRING),
    _xpath("xpath_boolean", BOOLEAN),
    _xpath("xpath_short", SHORT),
    _xpath("xpath_int", INT),
    _xpath("xpath_long", LONG),
    _xpath("xpath_float", FLOAT),
    _xpath("xpath_double xpath_number", DOUBLE),
    _xpath("xpath", _STRINGS),
)
