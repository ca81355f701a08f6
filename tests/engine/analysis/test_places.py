"""Where each output column is written: right, or not said."""

from __future__ import annotations

import pytest

import planproof
from planproof import Catalog

CATALOG = Catalog({"t": [("id", "int", True), ("xs", "array<int>", True), ("s", "struct<a:int,b:int>", True)]})


def written(sql: str) -> list[str | None]:
    """The text at the place of each output column, up to the end of its line."""
    plan = planproof.plan(sql, CATALOG)
    assert len(plan.origins) == len(plan.schema)
    return [o and sql.split("\n")[o.line - 1][o.column - 1 :].rstrip(",") for o in plan.origins]


@pytest.mark.parametrize(
    ("sql", "places"),
    [
        ("SELECT id,\nid + 1 AS b\nFROM t", ["id", "id + 1 AS b"]),
        ("SELECT *,\nid AS b\nFROM t", ["*", "*", "*", "id AS b"]),
        # A generator gives several columns, and so does a star over a table.
        (
            "SELECT posexplode(xs),\n*,\nid AS b\nFROM t",
            ["posexplode(xs)", "posexplode(xs)", "*", "*", "*", "id AS b"],
        ),
        ("SELECT id AS a,\ns.*,\nid AS b\nFROM t", ["id AS a", "s.*", "s.*", "id AS b"]),
        ("SELECT * EXCEPT (id),\nid AS b\nFROM t", ["* EXCEPT (id)", "* EXCEPT (id)", "id AS b"]),
        # What a star takes from a CTE or subquery is written there.
        ("WITH x AS (\nSELECT id,\n1 AS one\nFROM t)\nSELECT *\nFROM x", ["id", "1 AS one"]),
        ("SELECT *,\n2 AS two\nFROM (\nSELECT id\nFROM t) x", ["id", "2 AS two"]),
        (
            "WITH x AS (SELECT 1 AS a), y AS (\nSELECT *,\n2 AS b\nFROM x)\nSELECT y.*\nFROM y",
            ["1 AS a), y AS (", "2 AS b"],
        ),
        ("SELECT * FROM (\nSELECT id AS a\nFROM t UNION ALL SELECT\n1 AS b)", ["id AS a"]),
        # An inner CTE hides an outer one; each sees those before it alone.
        (
            "WITH x AS (\nSELECT 1 AS a), y AS (WITH x AS (\nSELECT 2 AS b)\nSELECT * FROM x)\nSELECT * FROM y",
            ["2 AS b)"],
        ),
        ("WITH t AS (\nSELECT 1 AS a, * FROM t)\nSELECT * FROM t", ["1 AS a, * FROM t)", *["* FROM t)"] * 3]),
        ("WITH x AS (SELECT id FROM t)\nSELECT * FROM x CROSS JOIN x AS y", ["* FROM x CROSS JOIN x AS y"] * 2),
        ("WITH x AS (SELECT id FROM t)\nSELECT * FROM default.t", ["* FROM default.t"] * 3),
        ("VALUES (1, 2)", [None, None]),
    ],
)
def test_each_column_stands_where_it_is_written(sql: str, places: list[str | None]) -> None:
    assert written(sql) == places
