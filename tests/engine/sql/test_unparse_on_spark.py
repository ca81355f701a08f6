"""Unparsing on real Spark: the analyzer gives the text of a plan the names, types and flags of the query itself."""

from __future__ import annotations

import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planproof_engine.analysis.script.setup import apply
from planproof_engine.api import plan
from planproof_engine.conf import Conf
from planproof_engine.sql.unparse import unparse

pytestmark = pytest.mark.conformance
QUERIES = Path(__file__).parents[1] / "cases" / "queries"
SPEC = importlib.util.spec_from_file_location("golden_for_spark", QUERIES.parents[1] / "analysis" / "golden.py")
assert SPEC is not None
assert SPEC.loader is not None
golden = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(golden)


def fields(answer: dict[str, Any]) -> Any:
    """Spark's answer without relations, which a text does not keep; its condition where it refused."""
    return answer.get("error") or [{k: f[k] for k in ("name", "type", "nullable")} for f in answer["schema"]]


@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "legacy"])
def test_spark_analyzes_the_texts_to_the_queries_own_schemas(spark: Any, database: str, ansi: bool) -> None:
    env = apply(
        golden.tables(),
        json.loads((QUERIES / "relations.json").read_text()),
        Conf(ansi=ansi, time_zone=golden.TIME_ZONE),
    )
    texts = {}
    for case in golden.cases():
        if "schema" in case and case["ansi"] == ansi:
            found = unparse(plan(case["query"], environment=replace(env, text=case["query"])).root)
            texts[case["query"]] = (found.replace("`spark_catalog`.`default`", f"`{database}`"), fields(case))
    spark.catalog.setCurrentDatabase(database)
    for statement in golden.tables():
        spark.sql(re.sub(r"^(CREATE(?= TEMP)|DECLARE) ", r"\1 OR REPLACE ", statement))
    answers = {q: fields(golden._answer(spark, text, ansi)) for q, (text, _) in texts.items()}
    wrong = [(q, text, answers[q]) for q, (text, expected) in texts.items() if answers[q] != expected]
    assert wrong == []
