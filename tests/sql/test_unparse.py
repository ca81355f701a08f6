"""Unparsing: the text of a plan is planned to the plan's own schema, for every golden query."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planproof.analysis.setup import apply
from planproof.api import plan
from planproof.conf import Conf
from planproof.origin import Unknown
from planproof.sql.unparse import unparse

QUERIES = Path(__file__).parents[1] / "cases" / "queries"
SPEC = importlib.util.spec_from_file_location("golden_for_unparse", QUERIES.parents[1] / "analysis" / "golden.py")
assert SPEC is not None
assert SPEC.loader is not None
golden = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(golden)
ENVIRONMENT = apply(golden.tables(), json.loads((QUERIES / "relations.json").read_text()), Conf())

DIFFERS = {
    "clauses": "an ORDER BY position outside the list and a window in HAVING have no text of their own",
    "nested": "grouping() without its grouping sets has no text of its own",
    "refusals": "a query at the edge of what Spark accepts loses that edge",
    "routines": "the text of a SQL function's body loses that its parameters may be null",
    "sources": "an ORDER BY position outside the list has no text of its own",
}


def writable(case: dict[str, Any]) -> bool:
    return "schema" in case and case["ansi"] and "RECURSIVE" not in case["query"]


def test_a_recursive_cte_has_no_text_yet() -> None:
    sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n"
    with pytest.raises(Unknown, match="recursive CTE"):
        unparse(plan(sql, environment=replace(ENVIRONMENT, text=sql)).root)


@pytest.mark.parametrize("case", [c for c in golden.cases() if writable(c)], ids=lambda c: c["file"])
def test_the_text_of_a_plan_has_the_plan_s_schema(case: dict[str, Any], request: pytest.FixtureRequest) -> None:
    if case["file"] in DIFFERS:
        request.applymarker(pytest.mark.xfail(reason=DIFFERS[case["file"]]))
    made = plan(case["query"], environment=replace(ENVIRONMENT, text=case["query"]))
    try:
        text = unparse(made.root)
    except Unknown as gap:
        pytest.skip(f"{gap}: such a query is run as it is written")
    again = plan(text, environment=replace(ENVIRONMENT, text=text))
    assert again.physical_schema == made.physical_schema, text
