"""Random queries that mix clauses and functions, and such as dbt compiles: planproof's answers are Spark's."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planproof import Conf

HERE = Path(__file__).parent
COUNTS = {"random_grammar": 2000, "random_models": 500}
SEEDS = {True: 101, False: 102}
HARMFUL = ("wrong", "unsound", "mistaken")


def _loaded(name: str) -> Any:
    sys.path.insert(0, str(HERE))
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("written", ["random_grammar", "random_models"])
def test_the_same_seed_writes_the_same_queries(written: str) -> None:
    write = _loaded(written).queries
    assert write(50, 3) == write(50, 3)
    assert write(50, 3) != write(50, 4)


def test_what_random_queries_led_to_stays_mended() -> None:
    asks = _loaded("random_on_spark")
    cases = asks.golden_cases()
    assert {case["spark"] for case in cases} == {"3.5", "4.0", "4.3"}
    differing = []
    for case in cases:
        conf = replace(Conf.of(case["spark"]), ansi=case["ansi"], time_zone=asks.TIME_ZONE)
        fields = [tuple(field) for field in case["fields"]] if "fields" in case else None
        kind = asks.compare(asks.derived(case["query"], conf), asks.Answer(fields, case.get("refused", "")))
        if kind not in ("exact", "refused"):
            differing.append((kind, case["spark"], case["ansi"], case["query"]))
    assert differing == []


@pytest.mark.conformance
@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "legacy"])
@pytest.mark.parametrize("written", ["random_grammar", "random_models"])
def test_random_queries_are_planned_as_spark_plans_them(spark: Any, written: str, ansi: bool) -> None:
    """As `.venv-spark-3.5.9/bin/python -m pytest -m conformance tests/engine/versions` asks another Spark."""
    sweep = _loaded("random_on_spark").sweep
    found, misses = sweep(spark, COUNTS[written], SEEDS[ansi], ansi, _loaded(written).queries)
    assert [miss for miss in misses if miss["kind"] in HARMFUL] == []
    planned = found["exact"] + found["unknown"] + found["looser"] + found["other relation"]
    assert planned > COUNTS[written] / 5, found
    assert found["exact"] >= 0.998 * planned, found
    refused = found["refused"] + found["other condition"] + found["other subcondition"] + found["not refused"]
    assert refused > COUNTS[written] / 10, found
    assert refused - found["not refused"] >= 0.99 * refused, found
    assert found["refused"] + found["other subcondition"] >= 0.97 * refused, found
