"""The demo project under `dbt build`, the plugin installed and nothing changed in the project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def build(project: Path, *args: str, **variables: str) -> dict[str, str]:
    """Each node's status by name."""
    from dbt.cli.main import dbtRunner

    result = dbtRunner().invoke(
        ["--quiet", "build", "--project-dir", str(project), "--vars", json.dumps(variables), *args]
    )
    assert result.exception is None, result.exception
    return {r.node.name: str(r.status) for r in result.result.results}


@pytest.mark.conformance
def test_a_broken_change_leaves_the_published_rows(spark: SparkSession, schema: str, project: Path) -> None:
    """Healthy, broken, healthy again, with all data tests; incremental models run for a second time in between."""
    healthy = build(project)
    assert set(healthy.values()) <= {"success", "pass"}, healthy
    table = f"{schema}.customer_activity"
    rows = sorted(spark.table(table).collect())
    shipments = spark.table(f"{schema}.shipments").count()
    assert len(rows) == 1000

    some = ("--exclude-resource-type", "test", "--select", "customer_activity", "shipments", "segment_sales")
    broken = build(project, *some, customer_join="left")
    assert {name for name, status in broken.items() if status != "success"} == {"customer_activity"}
    assert broken["customer_activity"] == "error"
    assert sorted(spark.table(table).collect()) == rows
    assert spark.table(f"{schema}.shipments").count() == shipments

    results = json.loads((project / "target/run_results.json").read_text())["results"]
    (message,) = (r["message"] for r in results if r["unique_id"].endswith(".customer_activity"))
    assert "order_count" in message
    assert "models/marts/customer_activity.sql" in message

    assert build(project, "--select", "customer_activity")["customer_activity"] == "success"
    assert sorted(spark.table(table).collect()) == rows
