"""Random queries that mix clauses and functions, and such as dbt compiles: planproof's answers are Spark's."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

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
