"""The grammar of data types inside a statement: finds how far a type goes, then reads it."""

from __future__ import annotations

from functools import lru_cache

from planproof_engine import types as dt
from planproof_engine.sql import nodes as q
from planproof_engine.sql.cursor import Cursor
from planproof_engine.sql.keywords import WORDS
from planproof_engine.types.kinds import is_collation

_YEAR_MONTH = ("YEAR", "MONTH")
_DAY_TIME = ("DAY", "HOUR", "MINUTE", "SECOND")
_LENGTHS = {"CHAR", "CHARACTER", "VARCHAR", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TIME"}
_DECIMALS = ("DECIMAL", "DEC", "NUMERIC")
_WIDEST = 38
"""Digits that a decimal has at most."""
_GREATEST = 2**31 - 1
_SIZED = ("CHAR", "CHARACTER", "VARCHAR")
_PLAIN_WORDS = "BIGINT BINARY BOOLEAN BYTE DATE DOUBLE FLOAT INT INTEGER LONG REAL SHORT SMALLINT TINYINT VARIANT VOID"
_PLAIN = frozenset(_PLAIN_WORDS.split())
_OTHERS = "STRING DEC DECIMAL NUMERIC INTERVAL GEOGRAPHY GEOMETRY ARRAY MAP STRUCT"
_NAMED = frozenset({*_PLAIN, *_LENGTHS, *_OTHERS.split()})


@lru_cache(maxsize=4096)
def _read(text: str, timestamp_ntz: bool) -> dt.DataType:
    return dt.parse_type(text, timestamp_ntz=timestamp_ntz)


def data_type(c: Cursor) -> q.TypeName:
    """A type. Raises `AnalysisError` UNSUPPORTED_DATATYPE or INCOMPLETE_TYPE_DEFINITION where Spark does."""
    first, start = c.i, c.start
    _skip_type(c)
    text = c.text[start : c.stop]
    if "--" in text or "/*" in text:
        text = " ".join(c.token(at) for at in range(first, c.i))
    try:
        found = _read(text, c.conf.timestamp_type == "TIMESTAMP_NTZ")
    except dt.TypeSyntaxError:
        if c._later:
            return c.place(q.TypeName(text, dt.VOID), start)
        c.refuse_construct(f"the type {text}", start)
    return c.place(q.TypeName(text, found), start)


def _skip_type(c: Cursor) -> None:
    kind = c.kind
    if kind in c.lacks:
        _skip_named(c)
    elif kind in _PLAIN:
        c.advance()
    elif kind in ("ARRAY", "MAP"):
        c.advance()
        if not _open_angle(c, kind):
            return
        _skip_type(c)
        if kind == "MAP":
            c.take(",")
            _skip_type(c)
        c.take(">")
    elif kind == "STRUCT":
        _skip_struct(c)
    elif kind in _LENGTHS:
        _skip_length(c)
    elif kind == "INTERVAL":
        _skip_interval(c)
    elif kind in WORDS:
        _skip_named(c)
    else:
        c.fail()


_INCOMPLETE = {
    "ARRAY": 'Provide an element type. For example: "ARRAY<elementType>".',
    "MAP": 'Provide a key type and a value type. For example: "MAP<TIMESTAMP, INT>".',
    "STRUCT": 'You must provide at least one field type. For example: "STRUCT<Field1: INT>".',
}


def _open_angle(c: Cursor, kind: str) -> bool:
    if c.skip("<"):
        return True
    message = f'Incomplete complex type: The definition of "{kind}" type is incomplete. {_INCOMPLETE[kind]}'
    c.keep_error(f"INCOMPLETE_TYPE_DEFINITION.{kind}", message, c.starts[c.i - 1])
    return False


def _skip_struct(c: Cursor) -> None:
    c.advance()
    if c.skip("<>") or not _open_angle(c, "STRUCT") or c.skip(">"):
        return
    c.read_list(_skip_field)
    c.take(">")


def _skip_field(c: Cursor) -> None:
    c.identifier()
    c.skip(":")
    _skip_type(c)
    if c.kind in ("NOT", "!"):
        c.advance()
        c.take("NULL")
    if c.skip("COMMENT"):
        c.string()


def _skip_lengths(c: Cursor) -> bool:
    """Steps over lengths in parentheses. Returns whether there were any."""
    if c.kind == "(" and c.peek() in ("INTEGER_VALUE", "ANY"):
        within = c.kinds[c.i - 1] in (*_SIZED, *_DECIMALS)
        c.advance()
        _check_length(c, within)
        c.advance()
        while c.skip(","):
            _check_length(c, within)
            c.take("INTEGER_VALUE")
        c.take(")")
        return True
    elif c.kind == "(" and c.peek() in ("?", ":"):
        c.refuse_construct("a parameter marker in a type")
    return False


def _check_length(c: Cursor, within: bool) -> None:
    """Refuses the parameter of a text or a decimal that is no INT (`DataTypeAstBuilder`)."""
    if within and c.kind == "INTEGER_VALUE" and int(c.token()) > _GREATEST:
        message = f"The value {c.token()} of a data type's parameter is out of the range of a 32-bit integer."
        c.keep_error_here("DATATYPE_PARAMETER_VALUE_OUT_OF_RANGE", message)


def _skip_length(c: Cursor) -> None:
    kind = c.kind
    start = c.start
    c.advance()
    if not _skip_lengths(c) and kind in _SIZED:
        name = c.text[start : c.stop]
        message = f'DataType "{name}" requires a length parameter, for example "{name}"(10).'
        c.keep_error("DATATYPE_MISSING_SIZE", message, start)
    if kind.startswith("TIMESTAMP") and c.kinds[c.i - 1] == ")":
        _check_precision(c, kind, start)
    if kind in ("TIME", "TIMESTAMP"):
        c.skip_all("WITH", "LOCAL", "TIME", "ZONE")
        c.skip_all("WITHOUT", "TIME", "ZONE")
    elif c.kind == "COLLATE" and "COLLATE of CHAR" not in c.lacks:
        _skip_collation(c)


def _check_precision(c: Cursor, kind: str, start: int) -> None:
    """Refuses a number of digits for a second that no timestamp has
    (`DataTypeAstBuilder.parseTimestampNtzNanosPrecision`)."""
    digits = int(c.token(c.i - 2))
    if "precision of timestamps" in c.lacks:
        _keep_unsupported(c, c.text[start : c.stop].upper(), start)
    elif digits in (7, 8, 9) and not c.conf.timestamp_nanos:
        message = "The feature Nanosecond-precision timestamp types is not enabled."
        c.keep_error("FEATURE_NOT_ENABLED", message, start)
    elif not 6 <= digits <= 9:
        message = f"The seconds precision {digits} of {kind} is invalid. Expected an integer in [7, 9], or 6."
        c.keep_error("INVALID_TIMESTAMP_PRECISION", message, start)


def _skip_interval(c: Cursor) -> None:
    c.advance()
    for units, last in ((_YEAR_MONTH, ("MONTH",)), (_DAY_TIME, _DAY_TIME[1:])):
        if c.kind in units:
            c.advance()
            if c.kind == "TO" and c.peek() in last:
                c.advance(2)
            return


def _skip_collation(c: Cursor) -> None:
    c.advance()
    parts = [c.identifier()]
    while c.kind == "." and c.peek() in WORDS:
        c.advance()
        parts.append(c.identifier())
    check_collation(c, parts)
    if not is_collation(parts[-1].text):  # That of an expression is looked up by a rule.
        _keep_no_collation(c, parts)


def check_collation(c: Cursor, parts: list[q.Identifier]) -> None:
    """Keeps an error for later where the name is qualified by what holds no collations
    (`CollationFactory.resolveFullyQualifiedName`), or this Spark has none that trim."""
    *within, name = parts
    if within and [part.text.lower() for part in within] != ["system", "builtin"]:
        _keep_no_collation(c, parts)
    elif "trimming collations" in c.lacks and name.text.upper().endswith("_RTRIM"):
        message = "The feature is not supported: TRIM specifier in the collation."
        c.keep_error("UNSUPPORTED_FEATURE.TRIM_COLLATION", message, *name.span)


def _keep_no_collation(c: Cursor, parts: list[q.Identifier]) -> None:
    message = f"The value {parts[-1].text} does not represent a correct collation name."
    c.keep_error("COLLATION_INVALID_NAME", message, parts[0].span[0], parts[-1].span[1])


def _skip_named(c: Cursor) -> None:
    kind, start, name = c.kind, c.start, c.token()
    c.advance()
    opened = c.i
    sized = _skip_lengths(c)
    if kind == "STRING" and c.kind == "COLLATE" and "COLLATE" not in c.lacks:
        _skip_collation(c)
    if kind not in _NAMED or kind in c.lacks or (kind in ("GEOMETRY", "GEOGRAPHY") and not sized):
        shown = c.text[start : c.stop].upper() if not name.startswith("`") else name
        _keep_unsupported(c, shown, start)
    elif sized and kind in _DECIMALS:
        _check_decimal(c, [int(c.token(at)) for at in range(opened + 1, c.i, 2)], start)
    elif sized and kind == "STRING":
        _keep_unsupported(c, c.text[start : c.stop].upper(), start)


def _check_decimal(c: Cursor, given: list[int], start: int) -> None:
    """Refuses a precision and a scale that no decimal has (`DecimalType`)."""
    precision, scale = (*given, 0)[:2]
    if len(given) > 2:
        _keep_unsupported(c, c.text[start : c.stop].upper(), start)
    elif scale > precision:
        message = f"Decimal scale ({scale}) cannot be greater than precision ({precision})."
        c.keep_error("DECIMAL_SCALE_EXCEEDS_PRECISION", message, start)
    elif precision > _WIDEST:
        message = f"Decimal precision {precision} exceeds max precision {_WIDEST}."
        c.keep_error("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", message, start)


def _keep_unsupported(c: Cursor, shown: str, start: int) -> None:
    c.keep_error("UNSUPPORTED_DATATYPE", f'Unsupported data type "{shown}".', start)
