"""Constants in SQL."""

from __future__ import annotations

import re

from planproof_engine import types as dt
from planproof_engine.expr.nodes import Literal
from planproof_engine.sql.unparse.texts import make_error, write_string

_SUFFIXES: dict[dt.DataType, str] = {dt.LONG: "L", dt.SHORT: "S", dt.BYTE: "Y", dt.DOUBLE: "D", dt.FLOAT: "F"}
_TYPED = re.compile(r"(DATE|TIMESTAMP|TIMESTAMP_NTZ|TIME|INTERVAL) '")


def has_flags(data_type: dt.DataType) -> bool:
    """Whether something nested in the type cannot be null: no text says so."""
    return data_type != dt.as_nullable(data_type)


def write_literal(constant: Literal) -> str:
    """The constant with its own type. Raises `Unknown` for one that has no literal form."""
    data_type, value = constant.type, constant.value
    if value is None:
        # What it meets gives a plain NULL its type, nested flags included, which no text names.
        plain = data_type == dt.VOID or has_flags(data_type)
        return "NULL" if plain else f"CAST(NULL AS {data_type.sql})"
    if isinstance(data_type, dt.String):
        text = write_string(str(value))
        return text if data_type.collation is None else f"collate({text}, '{data_type.collation}')"
    if data_type == dt.BOOLEAN:
        return "TRUE" if value else "FALSE"
    if isinstance(data_type, dt.Decimal):
        return f"{value:f}BD"
    if dt.is_integral(data_type):
        return f"{int(value)}{_SUFFIXES.get(data_type, '')}"
    if data_type in (dt.DOUBLE, dt.FLOAT) and re.fullmatch(r"-?[\d.]+(E-?\d+)?", constant.text):
        return f"{constant.text}{_SUFFIXES[data_type]}"
    if data_type == dt.BINARY or _TYPED.match(constant.text):
        return constant.text
    raise make_error(f"the {data_type.simple} {constant.text}")
