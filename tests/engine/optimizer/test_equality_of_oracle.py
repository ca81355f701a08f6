"""Lambda queries of the oracle sample (ORACLE, a directory), as they are and rewritten, on real Spark."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from answers import answer

from planproof_engine.analysis.script.setup import apply
from planproof_engine.api import Rewriting, optimize, plan
from planproof_engine.conf import Conf
from planproof_engine.origin import AnalysisError, Unknown

ORACLE = Path(os.environ.get("ORACLE", "")) / "queries.jsonl.gz"


def lambdas() -> list[dict[str, Any]]:
    if not os.environ.get("ORACLE") or not ORACLE.exists():
        return []
    with gzip.open(ORACLE, "rt", encoding="utf-8") as lines:
        return [case for case in map(json.loads, lines) if "->" in case["query"]]


def rewriting(case: dict[str, Any]) -> Rewriting | None:
    try:
        env = apply(case["setup"], case["relations"], Conf(ansi=case["ansi"]))
        return optimize(plan(case["query"], environment=replace(env, text=case["query"])))
    except (AnalysisError, Unknown):
        return None


@pytest.mark.conformance
@pytest.mark.skipif(not lambdas(), reason="no ORACLE")
def test_rewritten_queries_give_the_same_answer(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    cases = lambdas()
    found = [(case, rewritten) for case in cases if (rewritten := rewriting(case)) is not None]
    fired = [(case, rewritten) for case, rewritten in found if rewritten.rules]
    assert [rewritten.dropped for _, rewritten in found if rewritten.dropped] == []
    different, ran = [], 0
    for number, (case, rewritten) in enumerate(fired):
        session, name = spark.newSession(), f"equality_{os.getpid()}_{number}"
        session.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
        session.conf.set("spark.sql.ansi.enabled", str(case["ansi"]).lower())
        session.sql(f"CREATE DATABASE {name}")
        session.sql(f"USE {name}")
        try:
            for statement in case["setup"]:
                session.sql(statement)
            before, after = answer(session, case["query"]), answer(session, rewritten.sql)
            ran += not isinstance(before, str)
            if before != after:
                different.append((case["query"], rewritten.sql, before, after))
        finally:
            session.sql(f"DROP DATABASE {name} CASCADE")
    with capsys.disabled():
        print(f"\n{len(cases)} lambda queries, {len(found)} bind, {len(fired)} rewritten, {ran} with rows alike")
    assert different == []
    assert ran == len(fired)
