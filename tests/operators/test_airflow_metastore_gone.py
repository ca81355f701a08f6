"""A metastore that fails in the middle of the run operator: no table is harmed, and the task may be tried again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from outages import LASTING, sweep, write

RUN = """
from airflow.providers.common.compat.sdk import DAG
from airflow_planproof import PlanproofRunOperator

with DAG("tested", schedule=None, start_date=datetime.datetime(2026, 1, 1)) as dag:
    PlanproofRunOperator(task_id="run", project_dir=PROJECT, profiles_dir=PROJECT, threads=1)
"""


@pytest.mark.conformance
@pytest.mark.parametrize(("how", "length", "every"), [("gone", 1, 12), ("absent", 1, 12), ("gone", LASTING, 40)])
def test_a_call_fails(
    run_dag: Callable[..., Any],
    tmp_path: Path,
    spark: Any,
    database: str,
    metastore: Any,
    how: str,
    length: int,
    every: int,
) -> None:
    root = write(tmp_path, database)

    def ran() -> bool:
        found = run_dag("import datetime\n" + RUN, PROJECT=str(root))
        if found.states != {"run": "success"}:
            # Airflow tries it again: what lies outside of the models is no violation of theirs.
            assert "PlanproofViolation" not in found.log, found.failures
            assert "PlanproofCannotRun" not in found.log, found.log[-3000:]
        return bool(found.states == {"run": "success"})

    for _ in range(2):
        assert ran()
    swept = sweep(metastore, spark, database, ran, how, length, every, every // 2)
    asked = f"{len(swept.calls)} of {swept.kinds} kinds of {swept.asked} calls"
    print(f"operator, {how} {length}: {asked}: {swept.failed} runs failed, {swept.healthy} did not")
    assert swept.failed
