"""Evidence of non-null: each rule where it holds, and where it must not. An unsound one would harm a table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planproof import Catalog, Conf
from planproof_engine.api import plan

CATALOG = Catalog(
    {
        "t": [
            ("n", "int", False),
            ("x", "int", True),
            ("y", "int", True),
            ("d", "decimal(10,2)", True),
            ("f", "double", True),
            ("s", "string", True),
            ("v", "variant", True),
            ("xs", "array<int>", True),
        ],
        "u": [("x", "int", True), ("z", "int", True)],
    }
)


def known(query: str, ansi: bool = True) -> list[bool]:
    """Which output columns hold no null for a known reason."""
    return [field.evidence is not None for field in plan(query, CATALOG, Conf(ansi=ansi)).schema]


HOLDS = {
    "a flag": "SELECT n FROM t",
    "an item at a sure place": "SELECT array(1, 2)[n], element_at(array(1, 2), n) FROM t",
    "a comparison": "SELECT x FROM t WHERE x > 1",
    "through strict functions": "SELECT x FROM t WHERE abs(x + 1) > y",
    "IS NOT NULL": "SELECT x FROM t WHERE x IS NOT NULL",
    "NOT of IS NULL": "SELECT x FROM t WHERE NOT (x IS NULL)",
    "NOT of what is null for null": "SELECT s FROM t WHERE s NOT ILIKE 'a%'",
    "a conjunction": "SELECT x, y FROM t WHERE x > 1 AND y IS NOT NULL",
    "both sides of OR": "SELECT x FROM t WHERE x > 1 OR x < y",
    "BETWEEN": "SELECT x FROM t WHERE x BETWEEN 1 AND 2",
    "IN": "SELECT x FROM t WHERE x IN (1, 2)",
    "NOT IN a list": "SELECT x FROM t WHERE x NOT IN (1, 2)",
    "IN a query": "SELECT x FROM t WHERE x IN (SELECT z FROM u)",
    "arithmetic": "SELECT x + 1 FROM t WHERE x > 1",
    "a decimal sum under ANSI": "SELECT d + d FROM t WHERE d > 1",
    "coalesce": "SELECT coalesce(y, x) FROM t WHERE x > 1",
    "CASE": "SELECT CASE WHEN y > 1 THEN x ELSE 0 END FROM t WHERE x > 1",
    "a guarded CASE": "SELECT CASE WHEN x IS NOT NULL THEN x + 1 ELSE 0 END FROM t",
    "an IF": "SELECT IF(x IS NULL, 0, x) FROM t",
    "a CASE guarded by an alias": "SELECT c FROM (SELECT x AS k, CASE WHEN k > 1 THEN k ELSE 0 END AS c FROM t)",
    "an alias that is the guard": "SELECT c FROM (SELECT x > 1 AS k, CASE WHEN k THEN NOT k ELSE true END AS c FROM t)",
    "an IF over an alias": "SELECT c FROM (SELECT x AS k, IF(k IS NULL, 0, k) AS c FROM t)",
    "a cast under ANSI": "SELECT CAST(s AS INT) FROM t WHERE s <> ''",
    "an inner join's keys": "SELECT t.x, u.x FROM t JOIN u ON t.x = u.x",
    "a left join keeps its left": "SELECT q.x FROM (SELECT x FROM t WHERE x > 1) q LEFT JOIN u ON q.x = u.x",
    "a right join keeps its right": "SELECT q.x FROM u RIGHT JOIN (SELECT x FROM t WHERE x > 1) q ON q.x = u.x",
    "a semi join's keys": "SELECT t.x FROM t LEFT SEMI JOIN u ON t.x = u.x",
    "USING": "SELECT x FROM t JOIN u USING (x)",
    "a left USING": "SELECT x FROM (SELECT x FROM t WHERE x > 1) LEFT JOIN u USING (x)",
    "a full USING of sure keys": "SELECT x FROM (SELECT x FROM t WHERE x > 1) FULL JOIN (SELECT 1 AS x) USING (x)",
    "UNION of sure columns": "SELECT x FROM t WHERE x > 1 UNION ALL SELECT n FROM t",
    "either side of INTERSECT": "SELECT x FROM t INTERSECT SELECT n FROM t",
    "the left of EXCEPT": "SELECT n FROM t EXCEPT SELECT x FROM t",
    "a group's key": "SELECT x, max(y) IS NULL FROM t WHERE x > 1 GROUP BY x",
    "an aggregate of a group": "SELECT max(n), min(n), first(n), sum(n), avg(n) FROM t GROUP BY x",
    "count": "SELECT count(x), count(*) FROM t",
    "a computed aggregate": "SELECT max(n) + 1 FROM t GROUP BY x",
    "sets that are never empty": "SELECT max(n) FROM t GROUP BY GROUPING SETS ((x), (x, y))",
    "a key in every set": "SELECT n FROM t GROUP BY GROUPING SETS ((n), (n, y))",
    "HAVING": "SELECT max(x) AS m FROM t GROUP BY y HAVING max(x) > 1",
    "a window over sure values": "SELECT max(n) OVER (), sum(n) OVER (ORDER BY x), ntile(2) OVER (ORDER BY x) FROM t",
    "lag with a sure default": "SELECT lag(n, 1, n) OVER (ORDER BY x) FROM t",
    "QUALIFY": "SELECT x FROM t QUALIFY row_number() OVER (ORDER BY y) = 1 AND x > 1",
    "EXISTS": "SELECT EXISTS (SELECT 1 FROM u) FROM t",
    "a CTE": "WITH c AS (SELECT x FROM t WHERE x > 1) SELECT x FROM c",
    "a lateral view keeps its input": "SELECT n FROM t LATERAL VIEW OUTER explode(xs) AS e",
    "a lateral alias": "SELECT n AS k, k + 1 FROM t",
    "DISTINCT, ORDER BY and LIMIT": "SELECT DISTINCT x FROM t WHERE x > 1 ORDER BY x LIMIT 5",
    "pipes": "FROM t |> WHERE x > 1 |> SELECT x",
}

MUST_NOT = {
    "NOT of what is no null for null": "SELECT x FROM t WHERE NOT isnan(x + 0.5D)",
    "an item at a place that may be null": "SELECT array(1, 2)[x], element_at(array(1, 2), x) FROM t",
    "what is made of such an item": "SELECT y + 1 FROM (SELECT array(1, 2)[x] AS y FROM t)",
    "an item of a sure array at such a place": "SELECT xs[x] FROM t WHERE xs IS NOT NULL",
    "a nullable column": "SELECT x FROM t",
    "one side of OR": "SELECT x FROM t WHERE x > 1 OR y > 1",
    "IS NULL": "SELECT x FROM t WHERE x IS NULL",
    "null-safe equality": "SELECT x FROM t WHERE x <=> y",
    "NOT IN a query": "SELECT x FROM t WHERE x NOT IN (SELECT z FROM u)",
    "behind coalesce": "SELECT x FROM t WHERE coalesce(x, 1) > 0",
    "behind nanvl": "SELECT f FROM t WHERE nanvl(1.0D, f) > 0",
    "another column": "SELECT y FROM t WHERE x > 1",
    "CASE without ELSE": "SELECT CASE WHEN y > 1 THEN n END FROM t",
    "a CASE guarded by another column": "SELECT CASE WHEN y IS NOT NULL THEN x ELSE 0 END FROM t",
    "an IF the wrong way round": "SELECT IF(x IS NULL, x, 0) FROM t",
    "a CASE guarded by another alias": "SELECT c FROM (SELECT y AS k, CASE WHEN k > 1 THEN x ELSE 0 END AS c FROM t)",
    "try_cast": "SELECT try_cast(s AS INT) FROM t WHERE s <> ''",
    "a variant's null": "SELECT CAST(v AS INT) FROM t WHERE v IS NOT NULL",
    "NaN as a decimal": "SELECT CAST(f AS DECIMAL(10,2)) FROM t WHERE f > 0",
    "a malformed interval": "SELECT CAST(s AS INTERVAL) FROM t WHERE s <> ''",
    "division": "SELECT try_divide(n, n) FROM t",
    "an outer join's other side": "SELECT q.x FROM u LEFT JOIN (SELECT x FROM t WHERE x > 1) q ON q.x = u.x",
    "a left join's key": "SELECT t.x, u.x FROM t LEFT JOIN u ON t.x = u.x",
    "both sides of a full join": "SELECT t.n, u.x FROM t FULL JOIN u ON t.n = u.x",
    "an anti join's keys": "SELECT t.x FROM t LEFT ANTI JOIN u ON t.x = u.x",
    "a full USING of one sure key": "SELECT x FROM (SELECT x FROM t WHERE x > 1) FULL JOIN u USING (x)",
    "the hidden key of a left USING": "SELECT q.x FROM u LEFT JOIN (SELECT n AS x FROM t) q USING (x)",
    "UNION with a nullable column": "SELECT x FROM t WHERE x > 1 UNION ALL SELECT x FROM u",
    "the right of EXCEPT": "SELECT x FROM t EXCEPT SELECT n FROM t",
    "a scalar subquery": "SELECT (SELECT n FROM t LIMIT 1)",
    "an aggregation of nothing": "SELECT max(n), sum(n), first(n) FROM t",
    "a filtered aggregate": "SELECT max(n) FILTER (WHERE x > 1) FROM t GROUP BY y",
    "an aggregate of nulls": "SELECT max(x) FROM t GROUP BY n",
    "a deviation of one value": "SELECT stddev(n) FROM t GROUP BY x",
    "the grand total's key": "SELECT x, x + 1 FROM t WHERE x > 1 GROUP BY ROLLUP(x)",
    "the grand total's aggregate": "SELECT max(n) FROM t GROUP BY ROLLUP(x)",
    "a key that some set leaves out": "SELECT n, n + 1 FROM t GROUP BY GROUPING SETS ((x), (x, n))",
    "a window over the grand total": "SELECT lag(n, 1, 0) OVER (ORDER BY 1) FROM t GROUP BY CUBE(n)",
    "HAVING over another column": "SELECT max(x) AS m FROM t GROUP BY y HAVING max(y) > 1",
    "a frame that may be empty": "SELECT max(n) OVER (ORDER BY x ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) FROM t",
    "lag": "SELECT lag(n) OVER (ORDER BY x) FROM t",
    "a filtered window": "SELECT max(n) FILTER (WHERE x > 1) OVER () FROM t",
    "what an outer lateral view makes": "SELECT e FROM t LATERAL VIEW OUTER explode(array(1)) AS e",
    "a recursive CTE": "WITH RECURSIVE r(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM r WHERE k < 3) SELECT k FROM r",
    "a left lateral join": "SELECT q.k FROM t LEFT JOIN LATERAL (SELECT n AS k FROM t WHERE n > 1) q ON true",
}

LEGACY_MUST_NOT = {
    "a cast": "SELECT CAST(s AS INT) FROM t WHERE s <> ''",
    "a decimal that may overflow": "SELECT d + d, d * d FROM t WHERE d > 1",
    "a decimal sum": "SELECT sum(d), avg(d) FROM t WHERE d > 1 GROUP BY x",
    "division by zero": "SELECT n / n, n % n FROM t",
}


@pytest.mark.parametrize("query", HOLDS.values(), ids=HOLDS.keys())
def test_evidence_holds(query: str) -> None:
    assert all(known(query)), known(query)


@pytest.mark.parametrize("query", MUST_NOT.values(), ids=MUST_NOT.keys())
def test_there_is_no_evidence(query: str) -> None:
    assert not any(known(query)), known(query)


@pytest.mark.parametrize("query", LEGACY_MUST_NOT.values(), ids=LEGACY_MUST_NOT.keys())
def test_there_is_no_evidence_where_an_overflow_is_null(query: str) -> None:
    assert not any(known(query, ansi=False)), known(query, ansi=False)


@pytest.mark.parametrize("spark", ["3.5", "4.0"])
def test_a_flag_that_a_null_array_makes_untrue_is_no_evidence(spark: str) -> None:
    conf = replace(Conf.of(spark), ansi=True)
    (picked,) = plan("SELECT split(s, ',')[n] FROM t", CATALOG, conf).schema
    assert (picked.nullable, picked.evidence) == (False, None)
    (sure,) = plan("SELECT split(s, ',')[n] FROM t WHERE s IS NOT NULL", CATALOG, conf).schema
    assert sure.evidence is not None
