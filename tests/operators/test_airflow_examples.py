"""The example DAGs as they are, on the demo's data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "dags_examples"


@pytest.fixture
def examples(demo_home: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment that the example DAGs read and, being in one process here, set."""
    monkeypatch.setenv("PLANPROOF_DEMO_SCHEMA", database)
    monkeypatch.setenv("PLANPROOF_DEMO_PROJECT", str(EXAMPLES / "project"))
    monkeypatch.setenv("DBT_TARGET_PATH", str(demo_home / "target"))
    monkeypatch.setenv("DBT_LOG_PATH", str(demo_home / "logs"))
    monkeypatch.syspath_prepend(str(EXAMPLES))


@pytest.mark.conformance
@pytest.mark.usefixtures("examples")
def test_the_shop_is_checked_run_and_audited(
    run_dag: Callable[..., Any], spark: SparkSession, database: str, demo_home: Path
) -> None:
    """Both DAGs on a healthy project; then the change that breaks a contract, found by the run."""
    shop = run_dag(EXAMPLES / "planproof_shop.py", "planproof_shop", conf={"scale": 0.01})
    assert shop.states == dict.fromkeys(("prepare", "check", "run", "audit"), "success"), shop.failures
    assert {r["outcome"] for r in shop.xcoms["run"]["return_value"]["reports"]} == {"published"}
    assert [uri.rstrip("/") for uri in shop.events] == ["x-planproof://shop/marts"]
    assert {r["verdict"] for r in shop.xcoms["audit"]["return_value"]["reports"]} == {"proved"}

    audit = run_dag(EXAMPLES / "planproof_audit.py", "planproof_audit")
    assert audit.states == {"marts": "success", "nations": "success"}, audit.failures
    (nations,) = audit.xcoms["nations"]["return_value"]["reports"]
    assert (nations["verdict"], nations["rows"]) == ("proved", 25)

    rows = sorted(spark.table(f"{database}.customer_activity").collect())
    change = {"scale": 0.01, "customer_join": "left", "select": "customer_activity"}
    broken = run_dag(EXAMPLES / "planproof_shop.py", "planproof_shop", conf=change)
    assert broken.states["run"] == "failed"
    assert broken.states["audit"] == "upstream_failed"
    assert broken.tries["run"] == 1
    assert broken.events == []
    assert "models/marts/customer_activity.sql" in broken.failures
    assert sorted(spark.table(f"{database}.customer_activity").collect()) == rows


@pytest.mark.conformance
@pytest.mark.usefixtures("examples")
def test_python_makes_a_table_of_the_shops(run_dag: Callable[..., Any], spark: SparkSession) -> None:
    shop = run_dag(EXAMPLES / "planproof_shop.py", "planproof_shop", conf={"scale": 0.01})
    assert shop.state == "success", shop.failures
    segments = run_dag(EXAMPLES / "planproof_segments.py", "planproof_segments")
    assert segments.states == dict.fromkeys(("customers", "segment_sizes", "tests"), "success"), segments.failures
    assert [extra["rows"] for extra in segments.extras.values()] == [5]
