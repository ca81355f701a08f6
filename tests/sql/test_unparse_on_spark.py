"""Unparsing on real Spark: the analyzer gives the text of a plan the names, types and flags of the query itself."""

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
from planproof.sql.unparse import unparse

pytestmark = pytest.mark.conformance
QUERIES = Path(__file__).parents[1] / "cases" / "queries"
SPEC = importlib.util.spec_from_file_location("golden_for_spark", QUERIES.parents[1] / "analysis" / "golden.py")
assert SPEC is not None
assert SPEC.loader is not None
golden = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(golden)


def test_spark_analyzes_the_texts_to_the_queries_own_schemas(spark: Any) -> None:
    env = apply(golden.tables(), json.loads((QUERIES / "relations.json").read_text()), Conf())
    spark.conf.set("spark.sql.ansi.enabled", "true")
    for statement in golden.tables():
        spark.sql(statement.replace("CREATE TEMPORARY", "CREATE OR REPLACE TEMPORARY"))
    wrong = []
    for case in golden.cases():
        if "schema" not in case or not case["ansi"] or "RECURSIVE" in case["query"]:
            continue
        text = unparse(plan(case["query"], environment=replace(env, text=case["query"])).root)
        found = [
            {"name": f.name, "type": golden._without_metadata(json.loads(f.dataType.json())), "nullable": f.nullable}
            for f in spark.sql(text).schema
        ]
        if found != [{k: f[k] for k in ("name", "type", "nullable")} for f in case["schema"]]:
            wrong.append((case["query"], text))
    for table in ("customers", "orders"):
        spark.sql(f"DROP TABLE IF EXISTS {table}")
    assert wrong == []
