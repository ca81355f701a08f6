"""Each condition of each rule is needed: where it is dropped, the equality generator finds a difference."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import generator
import pytest
import rows
from conditions import CONDITIONS, Condition

from planproof_engine.optimizer.rules import RULES

MUTANTS = [(rule, condition) for rule in RULES for condition in CONDITIONS[rule.__name__]]
TRIES, EXPRESSIONS = 40, 500


@pytest.mark.conformance
@pytest.mark.parametrize(("rule", "condition"), MUTANTS, ids=[f"{r.__name__}-{c.test}" for r, c in MUTANTS])
def test_a_rule_without_its_condition_is_found_out(
    rule: Any, condition: Condition, spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the expressions that the generator makes, those are asked that the rule rewrites otherwise without it."""
    module = sys.modules[condition.module or rule.__module__]

    @contextmanager
    def mutated() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, condition.test, lambda *args: condition.dropped)
            yield

    rows.load(spark, str(tmp_path / "rows"))
    tally = generator.Tally()
    for seed in range(TRIES):
        tally.add(generator.search(spark, seed, EXPRESSIONS, until=1, mutated=mutated))
        if tally.differences:
            break
    with capsys.disabled():
        print(f"\n{rule.__name__}, {condition.says!r}: {tally.made} expressions, {tally.pairs} of them rewritten")
    assert tally.differences, f"without {condition.says!r} nothing differs in {tally.made} expressions"
