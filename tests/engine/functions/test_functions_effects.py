"""What `raises` says holds over edge values, in both ANSI modes, and no flag that says not null hides a null."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from asked import Kept
from edges import EDGES, Evaluator, contradictions

KNOWN = Path(__file__).parent / "known_effects.txt"


def _known() -> set[str]:
    """Calls of which Spark itself breaks its word, each with what it does after `#`."""
    lines = KNOWN.read_text().splitlines()
    return {line.split("  #")[0].strip() for line in lines if not line.startswith("#")}


@pytest.mark.conformance
def test_edge_values(spark: Any) -> None:
    kept = Kept(spark.version, EDGES, cache(lambda: Evaluator(spark)))
    found = {name: texts for name, (_, texts) in contradictions(kept).items() if texts}
    unexpected = [text for name, texts in found.items() if name not in _known() for text in texts]
    assert not unexpected, "\n".join(unexpected[:40])
    assert not _known() - found.keys(), f"listed in {KNOWN.name}, but healed"
