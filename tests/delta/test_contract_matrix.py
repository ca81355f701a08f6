"""The contract matrix of tests/dbt_plugin on Delta's tables."""

from __future__ import annotations

from typing import Any

import pytest
from contract_matrix import play


@pytest.mark.conformance
@pytest.mark.parametrize("kind", ["table", "incremental"])
def test_every_bad_model_in_every_materialization(dbt: Any, kind: str) -> None:
    play(dbt, (kind,), file_format="delta")


@pytest.mark.conformance
def test_the_quick_cases(dbt: Any) -> None:
    play(dbt, None, file_format="delta")
