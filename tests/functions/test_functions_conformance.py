"""The whole sweep against real Spark: no function differs but those that are listed, and those do differ."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import texts
from sweep import KNOWN, Spark, compared, compared_texts, selected


def _known() -> set[str]:
    lines = KNOWN.read_text().splitlines() if KNOWN.exists() else []
    return {line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()}


@pytest.mark.conformance
@pytest.mark.parametrize("module", [module for module, _ in selected()])
def test_family(spark: Any, module: str) -> None:
    spark.conf.set("spark.sql.timeType.enabled", "true")
    asked = Spark(spark)
    [(_, lines)] = selected(family=[module])
    differing = {name: found for name, _, found in compared(asked, lines) if found}
    unexpected = [str(d) for name, found in differing.items() if name not in _known() for d in found]
    assert not unexpected, "\n".join(unexpected[:30])
    healed = {name for name, _ in lines} & _known() - differing.keys()
    assert not healed, f"listed in {KNOWN.name}, but they no longer differ: {sorted(healed)}"


@pytest.mark.conformance
@pytest.mark.parametrize("group", texts.TEXTS)
def test_texts(spark: Any, group: str) -> None:
    spark.conf.set("spark.sql.timeType.enabled", "true")
    total, differences = compared_texts(Spark(spark), group)
    assert total
    assert not differences, "\n".join(str(d) for d in differences[:30])
