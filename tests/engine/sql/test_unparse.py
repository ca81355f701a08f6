"""Unparsing: the text of a plan is planned to the plan's own schema, for every golden query in both ANSI modes."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planproof_engine.analysis.script.setup import apply
from planproof_engine.api import plan
from planproof_engine.conf import Conf
from planproof_engine.logical.nodes import Plan
from planproof_engine.origin import Unknown
from planproof_engine.sql.unparse import unparse

QUERIES = Path(__file__).parents[1] / "cases" / "queries"
SPEC = importlib.util.spec_from_file_location("golden_for_unparse", QUERIES.parents[1] / "analysis" / "golden.py")
assert SPEC is not None
assert SPEC.loader is not None
golden = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(golden)
RELATIONS = json.loads((QUERIES / "relations.json").read_text())
ENVIRONMENTS = {
    ansi: apply(golden.tables(), RELATIONS, Conf(ansi=ansi, time_zone=golden.TIME_ZONE)) for ansi in (True, False)
}


def planned(query: str, ansi: bool = True) -> Any:
    return plan(query, environment=replace(ENVIRONMENTS[ansi], text=query))


def written(query: str) -> str:
    return unparse(planned(query).root)


@pytest.mark.parametrize(
    "case",
    [c for c in golden.cases() if "schema" in c],
    ids=lambda c: f"{c['file']}-{'ansi' if c['ansi'] else 'legacy'}",
)
def test_the_text_of_a_plan_has_the_plan_s_schema(case: dict[str, Any]) -> None:
    made = planned(case["query"], case["ansi"])
    for readable in (False, True):
        text = unparse(made.root, readable=readable)
        assert planned(text, case["ansi"]).physical_schema == made.physical_schema, text


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("SELECT a FROM t GROUP BY a HAVING max(b) > 1", "HAVING (max("),
        ("SELECT a FROM t GROUP BY a QUALIFY row_number() OVER (ORDER BY a) > 1", "QUALIFY (row_number()"),
        ("SELECT a FROM t GROUP BY ROLLUP(a) ORDER BY grouping(a)", "ORDER BY grouping("),
        ("SELECT a FROM t GROUP BY ROLLUP(a, b + 1) HAVING `(b + 1)` > 1", "HAVING (`("),
        ("SELECT a FROM t ORDER BY b", "ORDER BY c"),
        ("SELECT a FROM t DISTRIBUTE BY 2", "ORDER BY CAST(2 AS INT)"),
        ("SELECT * EXCEPT (a, d, e) FROM u", "* EXCEPT (c0)"),
        ("SELECT 1 AS one", "SELECT 1 AS c"),
        ("SELECT TRANSFORM(a, b) USING 'cat' AS (x INT) FROM t", "USING 'cat' AS (c"),
        ("SELECT c NOT ILIKE ANY ('a', 'B') FROM t", "NOT LIKE ANY ('a', 'b')"),
        ("SELECT * FROM (SELECT a, c FROM t) PIVOT (count(a) FOR c IN ('x', 'y'))", "FOR k0 IN ('x' AS v0, 'y' AS v1)"),
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n", "RECURSIVE r"),
    ],
)
def test_clauses_keep_their_place(query: str, part: str) -> None:
    assert part in written(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT arrays_zip(arr, array(s.x)) AS z, transform(arr, x -> arrays_zip(array(x), arr)) AS y FROM t "
        "WHERE exists(arr, x -> arrays_zip(array(x), arr)[0].arr > 0)",
        "SELECT nvl(NULL, array('2')) AS r",
        "SELECT ' )' AS t FROM (SELECT * EXCEPT (c) FROM (SELECT ' )' AS c))",
        "SELECT a FROM t GROUP BY a IN (SELECT d FROM u), a ORDER BY a IN (SELECT d FROM u)",
        "SELECT (EXISTS (SELECT 1 FROM u)) <=> false AS e FROM t",
        "SELECT * FROM (SELECT a, a FROM t EXCEPT SELECT d, a FROM u)",
    ],
)
def test_names_flags_and_texts_survive(query: str) -> None:
    made = planned(query)
    assert planned(unparse(made.root)).physical_schema == made.physical_schema


def test_a_node_without_a_text_is_named() -> None:
    class Novel(Plan):
        output = planned("SELECT a FROM t").root.output

    with pytest.raises(Unknown, match="a text for Novel"):
        unparse(Novel())


def test_a_readable_text_names_columns_as_people_do() -> None:
    text = unparse(
        planned("SELECT a.a AS one, upper(b.c) AS shouted FROM t a JOIN t b ON a.a = b.a").root, readable=True
    )
    assert text.startswith("SELECT `one`, `shouted` FROM (SELECT a_")
    assert " AS one, upper(c_" in text
    for name in ("select", "odd name", "q", "v1", "c2"):
        query = f"SELECT `{name}` + 1 AS more FROM (SELECT a AS `{name}` FROM t)"
        assert planned(unparse(planned(query).root, readable=True)).schema.names == ("more",)
