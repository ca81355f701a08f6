"""What `raises` says holds over edge values, in both ANSI modes, and no flag that says not null hides a null."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import edges


@pytest.mark.conformance
@pytest.mark.parametrize("ansi", [True, False])
def test_edge_values(spark: Any, ansi: bool) -> None:
    spark.conf.set("spark.sql.timeType.enabled", "true")
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    spark.sql(edges.view_sql())
    asked = list(edges.calls(ansi))
    assert len(asked) > 200
    found = [text for at in range(0, len(asked), 16) for text in edges.broken(spark, asked[at : at + 16], ansi)]
    spark.sql(f"DROP VIEW {edges.VIEW}")
    assert not found, "\n".join(found)
