"""What each version of Spark refuses, and how it calls that (tests/engine/cases/versions, asked by versions.py)."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from planproof_engine.analysis.context import Environment
from planproof_engine.analysis.script.setup import apply
from planproof_engine.api import plan
from planproof_engine.conf import SPARKS, Conf
from planproof_engine.origin import AnalysisError, Unknown

_SPEC = importlib.util.spec_from_file_location("golden_versions", Path(__file__).parent / "versions.py")
assert _SPEC is not None
assert _SPEC.loader is not None
golden = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(golden)
CASES = list(golden.cases())
UNKNOWN = "unknown"
KNOWN = json.loads((golden.CASES / "known_differences.json").read_text())


@cache
def environment(version: str, ansi: bool) -> Environment:
    relations = json.loads((golden.CASES / "relations.json").read_text())
    return apply(
        golden.statements("tables"), relations, replace(Conf.of(version), ansi=ansi, time_zone=golden.TIME_ZONE)
    )


def answer(query: str, version: str, ansi: bool) -> str:
    """The condition by which planproof refuses the query; empty where it does not."""
    try:
        plan(query, environment=replace(environment(version, ansi), text=query))
    except AnalysisError as error:
        return error.condition
    except Unknown:
        return UNKNOWN
    return ""


@pytest.mark.parametrize("version", SPARKS)
def test_each_version_refuses_what_its_spark_refuses(version: str) -> None:
    """Condition and all. What differs stands in known_differences.json: nothing may come to it."""
    answers = [(q, ansi, condition, answer(q, version, ansi)) for q, v, ansi, condition in CASES if v == version]
    differing = {q: [spark, ours] for q, _, spark, ours in answers if ours != spark}
    assert {q: found for q, found in differing.items() if KNOWN[version].get(q) != found} == {}


def test_an_older_spark_differs_from_the_newest_one() -> None:
    """Else the answers of one Spark stand for all."""
    refused = {v: {q for q, version, ansi, condition in CASES if version == v and ansi and condition} for v in SPARKS}
    assert all(older - newer for older, newer in pairwise(refused.values()))
