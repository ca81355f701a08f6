"""Columns that Spark offers beside a table's own: what a catalog cannot tell is not known, never rejected."""

from __future__ import annotations

import pytest

import planproof
from planproof import AnalysisError, Catalog, Unknown

CATALOG = Catalog({"shop.events": [("id", "bigint", True)]})


@pytest.mark.parametrize("item", ["_metadata", "_metadata.file_name", "e._METADATA.file_path", "_metadata.*"])
def test_the_metadata_of_files_is_unknown(item: str) -> None:
    with pytest.raises(Unknown, match="hidden column _metadata"):
        planproof.plan(f"SELECT id, {item} FROM shop.events AS e", CATALOG)


def test_without_a_table_there_is_none() -> None:
    with pytest.raises(AnalysisError) as caught:
        planproof.plan("SELECT _metadata.file_name", CATALOG)
    assert caught.value.condition.startswith("UNRESOLVED_COLUMN")
