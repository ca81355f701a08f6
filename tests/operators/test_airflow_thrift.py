"""An audit and a sensor over a Thrift server, by a connection of Airflow's type `hiveserver2`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.conformance]

DAG = """
from airflow.providers.common.compat.sdk import DAG
from airflow_planproof import PlanproofAuditOperator, PlanproofContractSensor

again = {"retries": 3, "retry_delay": datetime.timedelta(0)}
with DAG("tested", schedule=None, start_date=START, default_args=again) as dag:
    here = {"tables": "default.people", "conn_id": "server"}
    PlanproofContractSensor(task_id="wait", contract=[("id", "bigint", False), ("name", "string", True)], **here)
    PlanproofAuditOperator(task_id="audit", contract=[("id", "bigint", True), ("name", "string", False)], **here)
    PlanproofAuditOperator(task_id="lost", conn_id="nobody", tables="t", contract=[("id", "int", True)], retries=1)
"""


def test_what_a_thrift_server_stores_is_audited(
    thrift: str, run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import datetime

    from pyhive import hive

    monkeypatch.setenv("AIRFLOW_CONN_SERVER", f"hiveserver2://{thrift}")
    monkeypatch.setenv("AIRFLOW_CONN_NOBODY", "hiveserver2://127.0.0.1:1")
    host, _, port = thrift.partition(":")
    rows = "select * from values (1L, 'ada'), (2L, cast(null as string)) as t(id, name)"
    hive.connect(host, int(port)).cursor().execute(f"create table people using parquet as {rows}")
    ran = run_dag(DAG, START=datetime.datetime(2026, 1, 1))
    assert ran.states == {"wait": "success", "audit": "failed", "lost": "failed"}, ran.failures
    assert ran.tries == {"wait": 1, "audit": 1, "lost": 2}
    (report,) = ran.xcoms["wait"]["return_value"]["reports"]
    assert (report["verdict"], report["rows"]) == ("proved", 2)
    assert "PP505 violated column name: promised NOT NULL, found 1 null" in ran.failures
    assert "the Thrift server 127.0.0.1:1 cannot be reached" in ran.log
