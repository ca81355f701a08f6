"""What the sweep puts into functions: one column of every type, nullable and not, and some literals.

A specimen is an argument in both tongues: `sql` for Spark and `expr` for planproof. `SPECIMENS` holds them by their SQL
text; `BASES` holds argument lists for functions whose inputs alone do not say what a good call looks like.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal as Number
from typing import Any

from planproof_engine.expr.nodes import Column, Expr, Literal
from planproof_engine.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    VOID,
    Array,
    DataType,
    Decimal,
    Interval,
    Map,
    String,
    Struct,
    StructField,
    Time,
)


@dataclass(frozen=True, slots=True)
class Specimen:
    sql: str
    expr: Expr

    @property
    def is_literal(self) -> bool:
        return isinstance(self.expr, Literal)


_PAIR = Struct((StructField("a", INT, False), StructField("b", STRING, True)))

TYPES: dict[str, DataType] = {
    "int": INT,
    "string": STRING,
    "double": DOUBLE,
    "bigint": LONG,
    "dec": Decimal(10, 2),
    "boolean": BOOLEAN,
    "date": DATE,
    "ts": TIMESTAMP,
    "ntz": TIMESTAMP_NTZ,
    "binary": BINARY,
    "tinyint": BYTE,
    "smallint": SHORT,
    "float": FLOAT,
    "dec_whole": Decimal(5, 0),
    "dec_big": Decimal(38, 18),
    "lcase": String("UTF8_LCASE"),
    "time": Time(6),
    "interval": CALENDAR_INTERVAL,
    "ym": Interval("year", "month"),
    "dt": Interval("day", "second"),
    "variant": VARIANT,
    "ints": Array(INT, True),
    "ints_full": Array(INT, False),
    "strings": Array(STRING, True),
    "dates": Array(DATE, False),
    "binaries": Array(BINARY, True),
    "matrix": Array(Array(INT, True), False),
    "matrix_full": Array(Array(LONG, False), True),
    "structs": Array(_PAIR, True),
    "map": Map(STRING, INT, True),
    "map_full": Map(INT, STRING, False),
    "struct": _PAIR,
    "struct_loose": Struct((StructField("a", LONG, True), StructField("B", STRING, True))),
    "void": VOID,
}
"""The sweep's columns: `name` is nullable, `name_nn` is not. The first that an input accepts is its base argument."""


def _columns() -> list[Specimen]:
    made = []
    for number, (name, data_type) in enumerate(TYPES.items()):
        made.append(Specimen(name, Column(-2 * number - 1, name, data_type, True)))
        if data_type != VOID:
            made.append(Specimen(f"{name}_nn", Column(-2 * number - 2, f"{name}_nn", data_type, False)))
    return made


def literal(sql: str, value: object, data_type: DataType, text: str | None = None) -> Specimen:
    return Specimen(sql, Literal(value, data_type, sql if text is None else text))


LITERALS = (
    literal("NULL", None, VOID),
    literal("2", 2, INT),
    literal("'ab'", "ab", STRING, "ab"),
    literal("'2'", "2", STRING, "2"),
    literal("1.5", Number("1.5"), Decimal(2, 1)),
    literal("2.5D", 2.5, DOUBLE, "2.5"),
    literal("7L", 7, LONG, "7"),
    literal("true", True, BOOLEAN),
    literal("X'1C'", b"\x1c", BINARY),
    literal("DATE'2024-02-29'", "2024-02-29", DATE, "DATE '2024-02-29'"),
)
"""Literals that are tried in every place."""

OTHERS = (
    literal("-1", -1, INT),
    literal("0", 0, INT),
    literal("1", 1, INT),
    literal("5", 5, INT),
    literal("10", 10, INT),
    literal("256", 256, INT),
    literal("0.5D", 0.5, DOUBLE, "0.5"),
    literal("false", False, BOOLEAN),
    *(
        literal(f"'{text}'", text, STRING, text)
        for text in (
            "",
            "utf-8",
            "99.99",
            "yyyy-MM-dd",
            "year",
            "HOST",
            "GCM",
            "%s",
            "java.util.UUID",
            "randomUUID",
            "b",
            "hex",
            "X",
            "x",
            "n",
            "DEFAULT",
            "utf8_lcase",
            "SHA-256",
            "HOUR",
            "sum",
        )
    ),
    literal("INTERVAL '5' MINUTE", 5, Interval("minute", "minute"), "INTERVAL '05' MINUTE"),
)

SPECIMENS: dict[str, Specimen] = {s.sql: s for s in (*_columns(), *LITERALS, *OTHERS)}

BASES: dict[str, tuple[str, ...]] = {
    "aes_decrypt": ("binary_nn", "binary_nn", "'GCM'", "'DEFAULT'", "binary_nn"),
    "aes_encrypt": ("binary_nn", "binary_nn", "'GCM'", "'DEFAULT'", "binary_nn", "binary_nn"),
    "approx_top_k": ("int_nn", "5", "256"),
    "approx_top_k_accumulate": ("int_nn", "256"),
    "approx_top_k_combine": ("struct_nn", "256"),
    "bround": ("dec_nn", "1"),
    "ceil": ("dec_nn", "1"),
    "collate": ("string_nn", "'utf8_lcase'"),
    "count_min_sketch": ("int_nn", "0.5D", "0.5D", "1"),
    "current_time": ("5",),
    "date_part": ("'year'", "date_nn"),
    "datepart": ("'year'", "date_nn"),
    "decode": ("binary_nn", "'utf-8'", "string_nn", "string_nn", "string_nn"),
    "elt": ("1", "string_nn", "string_nn"),
    "extract": ("'year'", "date_nn"),
    "floor": ("dec_nn", "1"),
    "first": ("int_nn", "true"),
    "histogram_numeric": ("double_nn", "5"),
    "hmac": ("binary_nn", "binary_nn", "'SHA-256'"),
    "ilike": ("string_nn", "string_nn", "'X'"),
    "java_method": ("'java.util.UUID'", "'randomUUID'"),
    "kll_sketch_get_quantile_bigint": ("binary_nn", "0.5D"),
    "kll_sketch_get_rank_bigint": ("binary_nn", "0.5D"),
    "kll_sketch_get_quantile_double": ("binary_nn", "0.5D"),
    "kll_sketch_get_rank_double": ("binary_nn", "0.5D"),
    "kll_sketch_get_quantile_float": ("binary_nn", "0.5D"),
    "kll_sketch_get_rank_float": ("binary_nn", "0.5D"),
    "lag": ("int_nn", "2", "int_nn", "true"),
    "lead": ("int_nn", "2", "int_nn", "true"),
    "last": ("int_nn", "true"),
    "like": ("string_nn", "string_nn", "'X'"),
    "listagg": ("string_nn", "'x'"),
    "mask": ("string_nn", "'X'", "'x'", "'n'", "'b'"),
    "nth_value": ("int_nn", "2"),
    "ntile": ("5",),
    "percentile": ("double_nn", "0.5D", "int_nn"),
    "percentile_approx": ("double_nn", "0.5D", "256"),
    "rand": ("5",),
    "randn": ("5",),
    "randstr": ("5", "1"),
    "round": ("dec_nn", "1"),
    "time_bucket": ("INTERVAL '5' MINUTE", "ts_nn"),
    "time_diff": ("'HOUR'", "time_nn", "time_nn"),
    "time_trunc": ("'HOUR'", "time_nn"),
    "to_csv": ("struct_nn",),
    "try_reflect": ("'java.util.UUID'", "'randomUUID'"),
    "uniform": ("0", "10", "5"),
    "uuid": ("5",),
    "when": ("boolean_nn", "int_nn", "int_nn"),
    "if": ("boolean_nn", "int_nn", "int_nn"),
}
"""Good arguments by function name, as specimens; a shorter call takes the first of them."""


def spelled(t: DataType) -> Any:
    """The type as JSON with every collation written out, which Spark's own JSON keeps in field metadata."""
    if isinstance(t, String):
        return t.simple
    if isinstance(t, Array):
        return {"type": "array", "elementType": spelled(t.element), "containsNull": t.contains_null}
    if isinstance(t, Map):
        value = {"valueType": spelled(t.value), "valueContainsNull": t.value_contains_null}
        return {"type": "map", "keyType": spelled(t.key), **value}
    if isinstance(t, Struct):
        members = [{"name": f.name, "type": spelled(f.type), "nullable": f.nullable, "metadata": {}} for f in t.fields]
        return {"type": "struct", "fields": members}
    return t.json
