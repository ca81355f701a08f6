"""A function whose null argument is taken to make its result null must do so: filters prove columns by it.

`WHERE f(a, b) > 0` proves that neither a nor b is null only where `Function.null_intolerant` tells the truth.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planproof_engine.expr.function import Category
from planproof_engine.functions.registry import builtin


def _load(name: str) -> Any:
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


specimens = _load("specimens")
cases = _load("cases")

VALUES = {
    "int": "1",
    "string": "'1'",
    "double": "1.5D",
    "bigint": "1L",
    "dec": "CAST(1.5 AS DECIMAL(10,2))",
    "boolean": "true",
    "date": "DATE'2024-02-29'",
    "ts": "TIMESTAMP'2024-02-29 12:00:00'",
    "ntz": "TIMESTAMP_NTZ'2024-02-29 12:00:00'",
    "binary": "X'31'",
    "tinyint": "1Y",
    "smallint": "1S",
    "float": "1.5F",
    "dec_whole": "CAST(1 AS DECIMAL(5,0))",
    "dec_big": "CAST(1 AS DECIMAL(38,18))",
    "lcase": "'1' COLLATE UTF8_LCASE",
    "time": "TIME'12:00:00'",
    "interval": "make_interval(0, 1)",
    "ym": "INTERVAL '1-1' YEAR TO MONTH",
    "dt": "INTERVAL '1 1:01:01' DAY TO SECOND",
    "variant": "parse_json('1')",
    "ints": "array(1, 2)",
    "ints_full": "array(1, 2)",
    "strings": "array('1', '2')",
    "dates": "array(DATE'2024-02-29')",
    "binaries": "array(X'31')",
    "matrix": "array(array(1))",
    "matrix_full": "array(array(1L))",
    "structs": "array(named_struct('a', 1, 'b', '1'))",
    "map": "map('1', 1)",
    "map_full": "map(1, '1')",
    "struct": "named_struct('a', 1, 'b', '1')",
    "struct_loose": "named_struct('a', 1L, 'B', '1')",
}


def calls() -> Iterator[tuple[str, str]]:
    """Each call with one argument NULL and the others not: the function's name and the call in SQL."""
    registry = builtin()
    for name in registry:
        function = registry.find(name)
        if not function.null_intolerant or function.category is not Category.SCALAR or name in registry.internal:
            continue
        for count in cases.counts(function):
            args = cases.base(name, function, count)
            for at in range(count):
                key = args[at].removesuffix("_nn")
                null = key if key in VALUES else "NULL"
                yield name, cases.call_sql(name, function, (*args[:at], null, *args[at + 1 :]))


@pytest.fixture(scope="module")
def row(spark: Any) -> str:
    """A view of one row: `x_nn` holds a value, `x` is null."""
    spark.conf.set("spark.sql.timeType.enabled", "true")
    columns = [f"{v} AS `{k}_nn`" for k, v in VALUES.items()]
    columns += [f"IF(rand() < 2, NULL, {v}) AS `{k}`" for k, v in VALUES.items()]
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW one_row AS SELECT {', '.join(columns)}")
    return "one_row"


def answers(spark: Any, row: str, asked: list[tuple[str, str]]) -> Iterator[tuple[str, bool]]:
    """Whether each call is null; calls that fail have no row, and are left out."""
    try:
        found = spark.sql(f"SELECT {', '.join(f'({sql}) IS NULL' for _, sql in asked)} FROM {row}").collect()[0]
        yield from ((sql, bool(found[i])) for i, (_, sql) in enumerate(asked))
    except Exception:  # Whatever one call fails by, the others are asked without it.
        if len(asked) == 1:
            return
        half = len(asked) // 2
        yield from answers(spark, row, asked[:half])
        yield from answers(spark, row, asked[half:])


@pytest.mark.conformance
def test_a_null_argument_makes_the_result_of_a_strict_function_null(spark: Any, row: str) -> None:
    asked = list(calls())
    answered = dict(a for i in range(0, len(asked), 32) for a in answers(spark, row, asked[i : i + 32]))
    assert len(answered) > len(asked) / 2
    assert [sql for sql, null in answered.items() if not null] == []
