"""The whole sweep against real Spark: no function differs but those that are listed, and those do differ."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import texts
from asked import Kept, Spark, view_schema
from sweep import KNOWN, compared, compared_texts, known, selected


@pytest.fixture(scope="module")
def kept(spark: Any) -> Kept:
    return Kept(spark.version, view_schema(), cache(lambda: Spark(spark)))


@pytest.mark.conformance
@pytest.mark.parametrize("module", [module for module, _ in selected()])
def test_family(kept: Kept, module: str) -> None:
    [(_, lines)] = selected(family=[module])
    differing = {found.name: found.differences for found in compared(kept, module, lines) if found.differences}
    unexpected = [str(d) for name, found in differing.items() if name not in known() for d in found]
    assert not unexpected, "\n".join(unexpected[:30])
    healed = {name for name, _ in lines} & known() - differing.keys()
    assert not healed, f"listed in {KNOWN.name}, but they no longer differ: {sorted(healed)}"


@pytest.mark.conformance
@pytest.mark.parametrize("group", texts.TEXTS)
def test_texts(kept: Kept, group: str) -> None:
    found = compared_texts(kept, group)
    assert found.calls
    unexpected = [str(d) for d in found.differences if d.call not in known()]
    assert not unexpected, "\n".join(unexpected[:30])
    healed = known().intersection(texts.TEXTS[group]()) - {d.call for d in found.differences}
    assert not healed, f"listed in {KNOWN.name}, but they no longer differ: {sorted(healed)}"
