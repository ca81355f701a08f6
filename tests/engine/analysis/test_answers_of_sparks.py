"""What five Sparks answer: the columns of a query, or the condition by which they refuse it. Answers of Spark 3.5.9,
4.0.5 and 4.3.0, and where these differ of 4.1.4 and 4.2.1. ANSI is on. tests/engine/versions/answers.py asks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from planproof_engine import AnalysisError, plan
from planproof_engine.analysis.script.setup import apply
from planproof_engine.conf import SPARKS, Conf
from planproof_engine.records import evolve

_TOLD = json.loads((Path(__file__).parents[1] / "cases" / "answers_of_sparks.json").read_text("utf-8"))
ANSWERS: dict[str, str | dict[str, str]] = _TOLD["answers"]
ASKED = ("3.5", "4.0", "4.3")
"""Of whom each answer is that names no version."""
OVER = {
    spark: apply([*_TOLD["setup"], *(_TOLD["setup_since_4.0"] if spark != "3.5" else ())], {}, conf)
    for spark in SPARKS
    for conf in [replace(Conf.of(spark), ansi=True)]
}


def answer(sql: str, spark: str) -> str:
    """The columns, or the condition of the error that is told."""
    try:
        fields = plan(sql, environment=evolve(OVER[spark], text=sql)).schema.fields
    except AnalysisError as error:
        return error.condition
    return ", ".join(f"{f.name}: {f.type.simple}{'' if f.nullable else ' NOT NULL'}" for f in fields)


@pytest.mark.parametrize("sql", ANSWERS)
def test_the_answer_is_that_of_spark(sql: str) -> None:
    told = ANSWERS[sql]
    expected = told if isinstance(told, dict) else dict.fromkeys(ASKED, told)
    assert {spark: answer(sql, spark) for spark in expected} == expected
