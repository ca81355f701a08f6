"""The results of `schema_of_json` and `schema_of_csv` over a literal, where they are plain to see.

Source: `JsonInferSchema`, `CSVInferSchema`. Calls with options, dates and numbers of many digits stay unknown.
"""

from __future__ import annotations

import json
import re
from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr import Call, Expr, Literal


class _Unclear(Exception):
    """The type is not plain to see."""


def infer_schema(schema: Expr) -> str | None:
    """The DDL text that a call of `schema_of_json` or `schema_of_csv` over a literal gives; None for any other call."""
    if not isinstance(schema, Call) or schema.function.name not in _READERS or not isinstance(schema.args[0], Literal):
        return None
    text = schema.args[0].value
    separator = _find_separator(schema.args[1:])
    if not isinstance(text, str) or separator is None:
        return None
    try:
        return _READERS[schema.function.name](text, separator).sql
    except (_Unclear, ValueError, RecursionError):
        return None


def _find_separator(options: tuple[Expr, ...]) -> str | None:
    """The separator of CSV that the options set; None where they set anything else."""
    if not options:
        return ","
    entries = options[0].args if isinstance(options[0], Call) else ()
    values = [e.value if isinstance(e, Literal) else None for e in entries]
    if len(values) == 2 and values[0] in ("sep", "delimiter") and isinstance(values[1], str) and len(values[1]) == 1:
        return values[1]
    return None


def _infer_csv(text: str, separator: str) -> dt.DataType:
    if '"' in text or "\n" in text or "\\" in text:
        raise _Unclear
    cells = text.split(separator)
    return dt.Struct(tuple(dt.StructField(f"_c{i}", _infer_cell(cell), True) for i, cell in enumerate(cells)))


def _infer_cell(cell: str) -> dt.DataType:
    if re.fullmatch(r"-?\d{1,9}", cell):
        return dt.INT
    if re.fullmatch(r"-?\d+\.\d+", cell):
        return dt.DOUBLE
    if re.fullmatch(r"[A-Za-z][A-Za-z ]*", cell):
        return dt.BOOLEAN if cell.lower() in ("true", "false") else _infer_word(cell)
    raise _Unclear


def _infer_word(cell: str) -> dt.DataType:
    """Words that read as numbers are left alone."""
    if cell.lower() in ("nan", "inf", "infinity"):
        raise _Unclear
    return dt.STRING


def _infer_json(text: str, separator: str) -> dt.DataType:
    found = _infer_value(json.loads(text, parse_constant=_refuse_constant))
    return _canonicalize(found)


def _refuse_constant(name: str) -> Any:
    raise _Unclear


def _infer_value(value: Any) -> dt.DataType:
    if value is None:
        return dt.VOID
    if isinstance(value, bool):
        return dt.BOOLEAN
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise _Unclear
        return dt.LONG
    if isinstance(value, float):
        return dt.DOUBLE
    if isinstance(value, str):
        return dt.STRING
    if isinstance(value, list):
        found: dt.DataType = dt.VOID
        for item in value:
            found = _merge(found, _infer_value(item))
        return dt.Array(found, True)
    return dt.Struct(tuple(dt.StructField(name, _infer_value(value[name]), True) for name in sorted(value)))


def _merge(a: dt.DataType, b: dt.DataType) -> dt.DataType:
    if a == b or b == dt.VOID:
        return a
    if a == dt.VOID:
        return b
    if {a, b} == {dt.LONG, dt.DOUBLE}:
        return dt.DOUBLE
    if isinstance(a, dt.Struct) and isinstance(b, dt.Struct):
        left, right = ({f.name: f.type for f in t.fields} for t in (a, b))
        names = sorted({*left, *right})
        return dt.Struct(
            tuple(dt.StructField(n, _merge(left.get(n, dt.VOID), right.get(n, dt.VOID)), True) for n in names)
        )
    if isinstance(a, dt.Array) and isinstance(b, dt.Array):
        return dt.Array(_merge(a.element, b.element), True)
    return dt.STRING


def _canonicalize(t: dt.DataType) -> dt.DataType:
    """A field that is null in every value is a string (`canonicalizeType`)."""
    if t == dt.VOID:
        return dt.STRING
    children = [*map(_canonicalize, t.children)]
    return dt.remake(t, children, [True] * len(children)) if children else t


_READERS = {"schema_of_json": _infer_json, "schema_of_csv": _infer_csv}
