"""Models that break a contract, in each materialization, each with a healthy twin that must not trip anything."""

from __future__ import annotations

from typing import Any

import pytest
from contract_matrix import KINDS, play

pytest.importorskip("dbt.adapters.spark")

pytestmark = pytest.mark.hive


def test_bad_models_harm_nothing_and_their_healthy_twins_pass(dbt: Any) -> None:
    play(dbt, None)


@pytest.mark.conformance
@pytest.mark.parametrize("kind", KINDS)
def test_every_bad_model_in_every_materialization(dbt: Any, kind: str) -> None:
    play(dbt, (kind,))


@pytest.mark.conformance
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_over_thrift(thrift_dbt: Any, kind: str) -> None:
    play(thrift_dbt, (kind,), code="ansi")
