"""Edge values by type: what functions that never raise must bear, and what must give no null under a non-null flag.

Every accepted call of the sweep runs over all pairs of edge values of its arguments, in both ANSI modes, on the driver
of a real Spark (`Evaluations.java`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from asked import Kept, compiled, in_mode, state
from cases import Args, matrix, takes_lambda
from specimens import SPECIMENS, TYPES, spelled

from planproof_engine.conf import Conf
from planproof_engine.expr.function import Category, Mismatch, Signature
from planproof_engine.expr.nodes import Call
from planproof_engine.functions.bind import apply
from planproof_engine.functions.registry import builtin
from planproof_engine.optimizer.laws import may_raise
from planproof_engine.origin import Unknown
from planproof_engine.types import VOID

EDGES: dict[str, tuple[str, ...]] = {
    "int": ("0", "-2147483648", "2147483647", "-1", "5"),
    "string": ("''", "'abc'", "'-1'", "'2024-02-30 25:61:61'", "'[%(é'", """'{"a":[1,null]}'"""),
    "double": ("0D", "double('NaN')", "double('Infinity')", "-1.7976931348623157E308D", "0.5D"),
    "bigint": ("0L", "-9223372036854775807L - 1L", "9223372036854775807L", "-1L", "5L"),
    "dec": ("0.00BD", "99999999.99BD", "-99999999.99BD", "0.01BD"),
    "boolean": ("true", "false"),
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
    "binary": ("X''", "X'00'", "X'FF'", "X'C328'", "X'61'"),
    "tinyint": ("0Y", "-128Y", "127Y", "-1Y"),
    "smallint": ("0S", "-32768S", "32767S", "-1S"),
    "float": ("0F", "float('NaN')", "float('-Infinity')", "float('3.4028235E38')"),
    "dec_whole": ("0BD", "99999BD", "-99999BD", "1BD"),
    "dec_big": ("0BD", "99999999999999999999.999999999999999999BD", "-99999999999999999999BD", "0.5BD"),
    "lcase": ("''", "'ABC'", "'2024-02-30'"),
    "time": ("TIME'00:00:00'", "TIME'23:59:59.999999'", "TIME'12:34:56'"),
    "interval": (
        "make_interval(0)",
        "make_interval(178956970, 7, 0, 2147483647)",
        "make_interval(-9999, 1, 1, -1, 5, 6, 7.5)",
    ),
    "ym": ("INTERVAL '0' MONTH", "INTERVAL '178956970-7' YEAR TO MONTH", "INTERVAL '-1-1' YEAR TO MONTH"),
    "dt": ("INTERVAL '0' SECOND", "INTERVAL '106751991' DAY", "INTERVAL '-1 1:01:01.5' DAY TO SECOND"),
    "variant": (
        "parse_json('null')",
        "parse_json('1')",
        "parse_json('[1, null]')",
        """parse_json('{"a": {"b": "x"}}')""",
    ),
    "ints": ("array()", "array(1, null)", "array(-2147483648)", "array(2147483647, 2147483647)"),
    "ints_full": ("array()", "array(1, 2, 1)", "array(-2147483648)"),
    "strings": ("array()", "array('', null)", "array('a')", "array('b', 'b')"),
    "dates": ("array()", "array(DATE'2024-02-29', DATE'0001-01-01')"),
    "binaries": ("array()", "array(X'', null)", "array(X'C3', X'28')"),
    "matrix": ("array()", "array(array())", "array(array(1, null), array(2))"),
    "matrix_full": ("array()", "array(array(), null)", "array(array(1L, 2L))"),
    "structs": ("array()", "array(null)", "array(named_struct('a', 1, 'b', null), named_struct('a', 0, 'b', ''))"),
    "map": ("map()", "map('a', null)", "map('', 1)", "map('a', 1, 'b', 2)"),
    "map_full": ("map()", "map(0, '')", "map(1, 'a', 2, 'b')"),
    "struct": ("named_struct('a', 0, 'b', null)", "named_struct('a', -1, 'b', '')", "named_struct('a', 1, 'b', 'x')"),
    "struct_loose": ("named_struct('a', null, 'B', null)", "named_struct('a', 1L, 'B', 'x')"),
    "void": ("NULL",),
}
"""A few values of each type; the nullable column of a type holds NULL, too."""

_SECOND = "__2"
"""Ends the columns that hold the second argument's values."""


@dataclass(frozen=True, slots=True)
class Run:
    """A call over edge values: what planproof says of it."""

    name: str
    sql: str
    raises: bool
    nullable: bool
    flag_holds: bool

    def contradicted(self, outcome: str) -> list[str]:
        """What its outcome says against it."""
        if outcome.startswith("!"):
            return []
        raised, null, nested = outcome.split()
        return [
            text
            for text, found in (
                (f"raises {raised}", raised not in ("-", *_NOT_RUN) and not self.raises),
                ("is null under a non-null flag", null == "null" and not self.nullable and self.flag_holds),
                ("holds a null under a non-null flag", nested == "null" and self.flag_holds),
            )
            if found
        ]


UNBOUNDED = frozenset(("sequence", "repeat", "space", "lpad", "rpad", "array_repeat", "randstr", "format_number"))
"""Functions whose results grow with a number: the edges of numbers would fill the memory."""

_NOT_RUN = ("INTERNAL_ERROR", "SparkUnsupportedOperationException")
"""What only Spark's optimizer makes executable."""


class Evaluator:
    """Runs calls over the edge values of all types, or of some. `spark` is a classic SparkSession."""

    def __init__(self, spark: Any, types: Iterable[str] = TYPES) -> None:
        self.spark = spark
        in_mode(spark, True)
        columns = [c for name in types for c in _columns(name)]
        rows = max(map(len, EDGES.values())) + 1
        one = " UNION ALL ".join(f"SELECT {', '.join(_cell(c, row) for c in columns)}" for row in range(rows))
        two = ", ".join(f"b.`{c}` AS `{c}{_SECOND}`" for c in columns)
        found = spark.sql(f"WITH v AS ({one}) SELECT a.*, {two} FROM v a CROSS JOIN v b")._jdf
        struct = spark._jvm.org.apache.spark.sql.types.DataType.fromJson(json.dumps(_schema(columns)))
        values = spark._jsparkSession.createDataFrame(found.collectAsList(), struct)
        self._evaluations = compiled(spark, "Evaluations")(*state(spark), values.queryExecution().analyzed())

    def answers(self, calls: list[str], ansi: bool) -> list[str]:
        """The outcome of each call."""
        in_mode(self.spark, ansi)
        return list(self._evaluations.outcomes("\n".join(calls)).split("\n"))


def _columns(name: str) -> list[str]:
    return [name] if TYPES[name] == VOID else [name, f"{name}_nn"]


def _cell(column: str, row: int) -> str:
    """The value of a column in a row; NULL ends the values of a nullable one."""
    name = column.removesuffix("_nn")
    values = EDGES[name] if column.endswith("_nn") else (*EDGES[name], "NULL")
    return f"CAST({values[row % len(values)]} AS {TYPES[name].sql}) AS `{column}`"


def _schema(columns: list[str]) -> dict[str, Any]:
    return {
        "type": "struct",
        "fields": [
            {
                "name": f"{column}{place}",
                "type": spelled(TYPES[column.removesuffix("_nn")]),
                "nullable": not column.endswith("_nn"),
                "metadata": {},
            }
            for place in ("", _SECOND)
            for column in columns
        ],
    }


def runs(ansi: bool) -> Iterator[Run]:
    """Each scalar function's accepted calls over columns and literals."""
    registry, conf = builtin(), Conf(ansi=ansi, time_type=True)
    for name in registry:
        function = registry.functions[name]
        scalar = function.category is Category.SCALAR and not takes_lambda(function) and name not in registry.internal
        if scalar and name.isidentifier() and name not in UNBOUNDED:
            for args in matrix(name, function):
                call = _bound(name, function, args, conf)
                if call is not None:
                    yield Run(name, _sql(name, args), may_raise(call, conf), call.nullable, call.evidence is not None)


def _bound(name: str, function: Signature, args: Args, conf: Conf) -> Call | None:
    try:
        return apply(function, [SPECIMENS[a].expr for a in args], conf, name if function.alias else None)
    except (Mismatch, Unknown):
        return None


def _sql(name: str, args: Args) -> str:
    """The call; its second, fourth, ... columns hold the values of the other axis."""
    placed = (f"{a}{_SECOND}" if at % 2 and a.removesuffix("_nn") in EDGES else a for at, a in enumerate(args))
    return f"`{name}`({', '.join(placed)})"


def contradictions(kept: Kept) -> dict[str, tuple[int, list[str]]]:
    """Of each function how many calls were run, and what their outcomes say against planproof."""
    found: dict[str, tuple[int, list[str]]] = {}
    for ansi, mode in ((True, "ansi"), (False, "legacy")):
        asked = list(runs(ansi))
        for run, outcome in zip(asked, kept.answers("edges", (r.sql for r in asked), ansi)):
            calls, texts = found.get(run.name, (0, []))
            texts += [f"{run.sql} [{mode}] {text}" for text in run.contradicted(outcome)]
            found[run.name] = calls + (not outcome.startswith("!")), texts
    return found
