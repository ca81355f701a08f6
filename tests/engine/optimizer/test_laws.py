"""What cannot fail on real Spark, over extremes."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from planproof_engine.api import optimize, plan
from planproof_engine.catalog import Catalog
from planproof_engine.conf import Conf
from planproof_engine.expr import Alias
from planproof_engine.optimizer.laws import may_raise

VALUES = {
    "s": ("string", "'', 'é', '1', repeat('x', 70000)"),
    "b": ("boolean", "true, false"),
    "i": ("int", "0, -2147483648, 2147483647"),
    "l": ("bigint", "0L, -9223372036854775808L, 9223372036854775807L"),
    "f": ("float", "float('NaN'), float('-Infinity'), 0F, -0F, float('3.4028235E38')"),
    "d": ("double", "double('NaN'), double('Infinity'), 0D, -0D, 1.7976931348623157E308D, 4.9E-324D"),
    "n": ("decimal(38,10)", "0BD, 9999999999999999999999999999.9999999999BD, -0.0000000001BD"),
    "t": ("timestamp", "timestamp_micros(-9223372036854775807L - 1), timestamp_micros(9223372036854775807L)"),
    "y": ("date", "date'0001-01-01', date_add(date'1970-01-01', -2147483648), date_add(date'1970-01-01', 2147483647)"),
    "z": ("timestamp_ntz", "timestamp_ntz'0001-01-01 00:00:00', timestamp_ntz'9999-12-31 23:59:59.999999'"),
}
TOTAL = (
    *("CAST(s AS BINARY)", "sha2(s, 256)", "md5(s)"),
    *(f"CAST(b AS {t})" for t in ("TINYINT", "BIGINT", "FLOAT", "DOUBLE")),
    *(f"CAST({c} AS {t})" for c in "ilfdn" for t in ("BOOLEAN", "DOUBLE")),
    *(f"CAST({c} AS FLOAT)" for c in "ilfdn"),
    *("TRY_CAST(y AS TIMESTAMP)", "TRY_CAST(y AS TIMESTAMP_NTZ)"),
    *("CAST(t AS DATE)", "CAST(z AS DATE)"),
    *("d * n", "d + l", "round(d, 2)", "round(f, -2)", "bround(d, 400)", "round(d, -400)"),
)
PARTIAL = ("CAST(s AS INT)", "CAST(d AS INT)", "CAST(l AS INT)", "CAST(n AS DECIMAL(10,2))", "CAST(b AS DECIMAL(1,1))")
OVERFLOWING = (
    *("CAST(y AS TIMESTAMP)", "CAST(y AS TIMESTAMP_NTZ)", "date_format(y, 'yyyy')"),
    *("CAST(t AS TIMESTAMP_NTZ)", "CAST(CAST(t AS TIMESTAMP_NTZ) AS TIMESTAMP)"),
)
"""What fails for years far off, with ANSI off as well; in UTC times keep their value without their zone."""
CATALOG = Catalog({"v": [(name, kind, True) for name, (kind, _) in VALUES.items()]})


def raising(expression: str, conf: Conf) -> bool:
    (item,) = plan(f"SELECT {expression} AS r FROM v", CATALOG, conf=conf).root.expressions
    assert isinstance(item, Alias)
    return may_raise(item.child, conf)


@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize("expression", OVERFLOWING)
def test_dates_and_times_may_overflow_in_both_modes(expression: str, ansi: bool) -> None:
    assert raising(expression, Conf(ansi=ansi))


@pytest.mark.parametrize("expression", [*TOTAL, *PARTIAL])
def test_what_may_raise_is_told_from_what_cannot(expression: str) -> None:
    assert raising(expression, Conf(ansi=True)) is (expression in PARTIAL)


def test_what_cannot_raise_does_not(spark: Any, ansi: Any) -> None:
    columns = ", ".join(f"get(array({values}), at) AS {name}" for name, (_, values) in VALUES.items())
    items = ", ".join(f"CAST({e} AS STRING) AS r{n}" for n, e in enumerate(TOTAL))
    for on in (True, False):
        ansi(on)
        rows = spark.sql(
            f"SELECT {items} FROM (SELECT {columns} FROM (SELECT explode(sequence(0, 6)) AS at))"
        ).collect()
        assert len(rows) == 7
        assert [n for n in range(len(TOTAL)) if all(row[n] is None for row in rows)] == []


def test_dates_and_times_overflow(spark: Any, ansi: Any) -> None:
    columns = ", ".join(f"get(array({VALUES[name][1]}), at) AS {name}" for name in "ty")
    for on, expression in itertools.product((True, False), OVERFLOWING):
        ansi(on)
        with pytest.raises(Exception, match="overflow"):
            spark.sql(f"SELECT CAST({expression} AS STRING) FROM (SELECT {columns} FROM range(3) AS r(at))").collect()


@pytest.mark.parametrize(
    ("rule", "sql"),
    [
        ("hoist_invariants", "transform(xs, x -> x + length(upper(string(k))))"),
        ("exists_to_contains", "exists(xs, x -> x = k)"),
        ("exists_to_contains", "transform(xs, y -> exists(xs, x -> x = k))"),
        ("filter_to_slice", "filter(xs, (x, i) -> i < k)"),
        ("exists_to_overlap", "exists(xs, x -> exists(array(k, 7), y -> y = x))"),
    ],
)
def test_a_column_that_may_fail_below_is_computed_in_no_more_cases(rule: str, sql: str) -> None:
    """Spark computes `k` where it is read: in the lambda, and so not for an empty array."""
    catalog = Catalog({"t": [("id", "bigint", False), ("small", "int", False), ("xs", "array<int>", True)]})
    query = f"SELECT {sql} AS r FROM (SELECT xs, {{}} AS k FROM t) AS below"

    def find_rules(made_of: str, ansi: bool = True) -> tuple[str, ...]:
        return optimize(plan(query.format(made_of), catalog, conf=Conf(ansi=ansi))).rules

    assert find_rules("cast(id AS int)") == ()
    assert rule in find_rules("cast(id AS int)", ansi=False)
    assert rule in find_rules("small")
    read_anyway = query.replace(" AS r", " AS r, if(size(xs) > 0, k, 0) AS once")
    assert optimize(plan(read_anyway.format("cast(id AS int)"), catalog, conf=Conf(ansi=True))).rules == ()
