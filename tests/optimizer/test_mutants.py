"""Each condition of each rule is needed: where it is dropped, the equality generator finds a difference."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from planproof.optimizer.condition import Condition
from planproof.optimizer.rules import RULES

sys.path.insert(0, str(Path(__file__).parent))
import generator

MUTANTS = [(rule, condition) for rule in RULES for condition in sys.modules[rule.__module__].CONDITIONS]
TRIES = 40


@pytest.mark.conformance
@pytest.mark.parametrize(("rule", "condition"), MUTANTS, ids=[f"{r.__name__}-{c.test}" for r, c in MUTANTS])
def test_a_rule_without_its_condition_is_found_out(
    rule: Any, condition: Condition, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator.load(spark, str(tmp_path / "rows"))
    monkeypatch.setattr(sys.modules[rule.__module__], condition.test, lambda *args: condition.dropped)
    found: list[tuple[str, str, str]] = []
    for seed in range(TRIES):
        found = generator.search(spark, seed=seed, count=100, until=1).differences
        if found:
            break
    assert found, f"without {condition.says!r} nothing differs in {TRIES * 200} pairs"
