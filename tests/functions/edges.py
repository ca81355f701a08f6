"""Edge values by type: what functions that never raise must bear, and what must give no null under a non-null flag."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cases import base, call_sql, counts, derive, is_alias, takes_lambda

from planproof.conf import Conf
from planproof.functions.registry import builtin
from planproof.functions.signature import Category

EDGES: dict[str, tuple[str, ...]] = {
    "int": ("0", "-2147483648", "2147483647", "-1"),
    "string": ("''", "'abc'", "'-1'", "'2024-02-30 25:61:61'"),
    "double": ("0D", "double('NaN')", "double('Infinity')", "-1.7976931348623157E308D"),
    "bigint": ("0L", "-9223372036854775807L - 1L", "9223372036854775807L", "-1L"),
    "dec": ("0.00BD", "99999999.99BD", "-99999999.99BD", "0.01BD"),
    "boolean": ("true", "false", "true", "false"),
    "date": ("DATE'1970-01-01'", "DATE'0001-01-01'", "DATE'9999-12-31'", "DATE'2024-02-29'"),
    "ts": (
        "TIMESTAMP'1970-01-01 00:00:00'",
        "TIMESTAMP'0001-01-01 00:00:00'",
        "TIMESTAMP'9999-12-31 23:59:59'",
        "TIMESTAMP'2024-03-10 02:30:00'",
    ),
    "ntz": (
        "TIMESTAMP_NTZ'1970-01-01 00:00:00'",
        "TIMESTAMP_NTZ'0001-01-01 00:00:00'",
        "TIMESTAMP_NTZ'9999-12-31 23:59:59'",
        "TIMESTAMP_NTZ'2024-03-10 02:30:00'",
    ),
    "binary": ("X''", "X'00'", "X'FF'", "X'C328'"),
    "tinyint": ("0Y", "-128Y", "127Y", "-1Y"),
    "smallint": ("0S", "-32768S", "32767S", "-1S"),
    "float": ("0F", "float('NaN')", "float('-Infinity')", "float('3.4028235E38')"),
    "dec_whole": ("0BD", "99999BD", "-99999BD", "1BD"),
    "variant": ("parse_json('null')", "parse_json('1')", "parse_json('[1]')", "parse_json('{}')"),
    "ints": ("array()", "array(1, null)", "array(-2147483648)", "array(2147483647, 2147483647)"),
    "strings": ("array()", "array('', null)", "array('a')", "array('b', 'b')"),
    "map": ("map()", "map('a', null)", "map('', 1)", "map('a', 1, 'b', 2)"),
    "struct": (
        "named_struct('a', 0, 'b', null)",
        "named_struct('a', -1, 'b', '')",
        "named_struct('a', 1, 'b', 'x')",
        "named_struct('a', 2, 'b', 'y')",
    ),
}
"""Four values of each type, one for each row of the view."""

_CASTS = {
    "dec": "DECIMAL(10,2)",
    "dec_whole": "DECIMAL(5,0)",
    "ints": "ARRAY<INT>",
    "strings": "ARRAY<STRING>",
    "map": "MAP<STRING,INT>",
    "struct": "STRUCT<a:INT,b:STRING>",
}
VIEW = "edge_rows"


@dataclass(frozen=True, slots=True)
class Asked:
    """A call over edge values: what planproof says of it."""

    name: str
    sql: str
    raises: str
    nullable: bool


def view_sql() -> str:
    rows = []
    for row in range(4):
        cells = (
            f"CAST({v[row]} AS {_CASTS[k]}) AS {k}_nn" if k in _CASTS else f"{v[row]} AS {k}_nn"
            for k, v in EDGES.items()
        )
        rows.append(f"SELECT {', '.join(cells)}")
    return f"CREATE OR REPLACE TEMPORARY VIEW {VIEW} AS {' UNION ALL '.join(rows)}"


def calls(ansi: bool) -> Iterator[Asked]:
    """Each scalar function's good calls whose arguments have edge values."""
    registry, conf = builtin(), Conf(ansi=ansi, time_type=True)
    for name in registry:
        function = registry.functions[name]
        plain = function.category is Category.SCALAR and not takes_lambda(function) and name not in registry.internal
        if not plain or not name.isidentifier() or is_alias(name, function):
            continue
        for count in counts(function)[:3]:
            args = base(name, function, count)
            if not all(a.removesuffix("_nn") in EDGES or not a.endswith("_nn") for a in args):
                continue
            found = derive(name, function, args, conf)
            if found.columns:
                yield Asked(name, call_sql(name, function, args), function.effects.raises, found.columns[0][2])


def broken(spark: Any, asked: list[Asked], ansi: bool) -> Iterator[str]:
    """What contradicts the effects or the flags: an error that should not be, a null where there is none."""
    forbidden = ("never",) if ansi else ("never", "ansi")
    try:
        columns = ", ".join(f"({call.sql}) IS NULL" for call in asked)
        rows = spark.sql(f"SELECT {columns} FROM {VIEW}").collect()
    except Exception as error:  # Whatever one call fails by, the others are asked without it.
        if len(asked) > 1:
            half = len(asked) // 2
            yield from broken(spark, asked[:half], ansi)
            yield from broken(spark, asked[half:], ansi)
        elif asked[0].raises in forbidden:
            yield f"{asked[0].sql} [{'ansi' if ansi else 'legacy'}] raises: {str(error)[:120]}"
        return
    for at, call in enumerate(asked):
        if not call.nullable and any(row[at] for row in rows):
            yield f"{call.sql} [{'ansi' if ansi else 'legacy'}] is null under a non-null flag"
