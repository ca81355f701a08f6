"""A union that swaps columns is a warning; one whose names agree, or differ altogether, is none."""

from __future__ import annotations

import pytest

from planproof_engine.api import plan
from planproof_engine.catalog import Catalog

SOURCES = {"t": [("a", "int", True), ("b", "int", True), ("c", "string", True)]}


def codes(sql: str) -> list[str]:
    return [f.code for f in plan(sql, Catalog(SOURCES)).findings]


def test_swapped_columns_are_named() -> None:
    found = plan("SELECT a, b FROM t UNION ALL SELECT b, a FROM t", Catalog(SOURCES)).findings
    assert [(f.code, f.verdict.value) for f in found] == [("PP120", "warning")]
    assert found[0].message == "the union matches columns by position and puts b under a, a under b"


@pytest.mark.parametrize("kind", ["INTERSECT", "EXCEPT", "UNION"])
def test_every_set_operation_is_looked_at_also_below_the_root(kind: str) -> None:
    assert codes(f"SELECT count(*) FROM (SELECT a, b FROM t {kind} SELECT b, a FROM t) AS s") == ["PP120"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, b FROM t UNION ALL SELECT a, b FROM t",
        "SELECT a, b FROM t UNION ALL SELECT A, B FROM t",
        "SELECT a, b FROM t UNION ALL SELECT a AS x, b AS y FROM t",
        "SELECT a, b FROM t UNION ALL SELECT a AS b, 1 AS other FROM t",
        "SELECT a, b FROM t UNION ALL SELECT 1, 2",
    ],
)
def test_healthy_set_operations_are_not_warned_about(sql: str) -> None:
    assert codes(sql) == []
