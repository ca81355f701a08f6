"""Queries that were written for no rule, and what each Spark answers: a refusal's condition, or names, types and flags.

`tests/engine/cases/versions/written.jsonl` has for each query, with ANSI on, the answer of 4.3 and of each older
version that answers otherwise than the next one; `legacy` has the same with ANSI off, where that differs. The tables
are in `written.ddl`; an answer is `spark.sql(query).schema`, or the condition of its error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from planproof_engine.analysis.context import Environment
from planproof_engine.analysis.script.setup import apply
from planproof_engine.api import plan
from planproof_engine.conf import SPARKS, Conf
from planproof_engine.origin import AnalysisError

CASES = Path(__file__).parents[1] / "cases" / "versions"


@cache
def environment(version: str, ansi: bool) -> Environment:
    statements = [s.strip() for s in (CASES / "written.ddl").read_text().split(";\n") if s.strip()]
    conf = replace(Conf.of(version), ansi=ansi, time_zone="America/Los_Angeles")
    return apply(statements, {}, conf)


def answer(query: str, version: str, ansi: bool) -> str:
    try:
        schema = plan(query, environment=replace(environment(version, ansi), text=query)).schema
    except AnalysisError as error:
        return error.condition
    return ", ".join(f"{f.name} {f.type.simple}{'' if f.nullable else ' NOT NULL'}" for f in schema)


def expected(version: str) -> Iterator[tuple[str, bool, str]]:
    for line in (CASES / "written.jsonl").read_text().splitlines():
        case = json.loads(line)
        for ansi in (True, False):
            given = case["ansi"] if ansi else case.get("legacy", {})
            if version in given:
                yield case["query"], ansi, given[version]


@pytest.mark.parametrize("version", SPARKS)
def test_each_version_answers_as_its_spark(version: str) -> None:
    asked = list(expected(version))
    assert asked
    differing = {(q, ansi): [spark, ours] for q, ansi, spark in asked if (ours := answer(q, version, ansi)) != spark}
    assert differing == {}
