"""The contract matrix of tests/dbt_plugin on Iceberg tables, in the session's own catalog and in one beside it."""

from __future__ import annotations

from typing import Any

import pytest
from contract_matrix import KINDS, play


@pytest.mark.conformance
@pytest.mark.parametrize("kind", KINDS)
def test_every_bad_model_in_every_materialization(dbt: Any, kind: str) -> None:
    if kind == "view" and dbt.catalog != "spark_catalog":
        pytest.skip("the guard publishes views to the session's own catalog only")
    play(dbt, (kind,), file_format="iceberg")
