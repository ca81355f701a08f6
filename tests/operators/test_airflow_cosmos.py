"""Every model of a Cosmos DAG through the guard."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_planproof.cosmos import FULL, IN_AN_IMAGE, GuardedInPart, guarded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

cosmos = pytest.importorskip("cosmos")

DAG = """
from datetime import timedelta
from cosmos import DbtDag, ExecutionConfig, ProfileConfig, ProjectConfig, RenderConfig
from cosmos.constants import ExecutionMode, InvocationMode, LoadMode, TestBehavior
from airflow_planproof import guarded

dag = DbtDag(
    dag_id="tested",
    schedule=None,
    start_date=datetime.datetime(2026, 1, 1),
    default_args={"retries": 3, "retry_delay": timedelta(0)},
    project_config=ProjectConfig(PROJECT, manifest_path=PROJECT + "/target/manifest.json", dbt_vars=VARS),
    profile_config=ProfileConfig(
        profile_name="shop", target_name="test", profiles_yml_filepath=PROJECT + "/profiles.yml"
    ),
    execution_config=ExecutionConfig(execution_mode=ExecutionMode.LOCAL, invocation_mode=InvocationMode.DBT_RUNNER),
    render_config=RenderConfig(load_method=LoadMode.DBT_MANIFEST, test_behavior=TestBehavior.NONE),
    operator_args=guarded({"env": {"SHOP_SCHEMA": SCHEMA}, "append_env": True, "install_deps": False}),
)
"""


def test_a_broken_model_fails_without_a_retry_and_its_children_do_not_run(
    run_dag: Callable[..., Any],
    shop: Path,
    database: str,
    spark: SparkSession,
    session: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dbt_planproof.invoke import compile_project

    monkeypatch.setenv("SHOP_SCHEMA", database)
    with session.unchanged():
        compile_project(shop, shop)
    with session.unchanged():
        ran = run_dag(DAG, PROJECT=str(shop), SCHEMA=database, VARS={"join": "left"})
    short = {task.removesuffix("_run").rpartition(".")[2]: state for task, state in ran.states.items()}
    assert short == {
        "customers": "success",
        "orders": "success",
        "customer_orders": "failed",
        "customer_totals": "upstream_failed",
    }, ran.failures
    assert ran.tries["customer_orders_run"] == 1
    assert "PP505 violated column order_id: promised NOT NULL" in ran.failures
    (report,) = ran.xcoms["customer_orders_run"]["planproof_report"]["reports"]
    assert report["outcome"] == "rejected"
    assert ran.xcoms["customers_run"]["planproof_report"]["verdict"] == "proved"
    assert not spark.catalog.tableExists(f"{database}.customer_orders")


def test_what_the_user_gave_stays() -> None:
    def own(*_: Any, **__: Any) -> None: ...

    args = guarded({"install_deps": True, "callback": own, "interceptors": [own]})
    assert args["install_deps"] is True
    assert args["callback"][0] is own
    assert args["interceptors"][0] is own
    assert (len(args["callback"]), len(args["interceptors"])) == (2, 2)


def test_every_mode_of_cosmos_is_spoken_for() -> None:
    known = {mode.value for mode in cosmos.ExecutionMode}
    assert known == {*FULL, *IN_AN_IMAGE, "airflow_async"}


def test_limits_are_said_at_parse_time() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        guarded({}, execution_mode=cosmos.ExecutionMode.LOCAL)
    with pytest.warns(GuardedInPart, match="only where planproof is installed in the image"):
        assert guarded({"image": "dbt"}, execution_mode=cosmos.ExecutionMode.KUBERNETES) == {"image": "dbt"}
    with pytest.warns(GuardedInPart, match="follows dbt's status"):
        guarded({}, execution_mode="watcher")
    with pytest.raises(ValueError, match="guards nothing in the execution mode 'airflow_async'"):
        guarded({}, execution_mode=cosmos.ExecutionMode.AIRFLOW_ASYNC)
    with pytest.raises(ValueError, match="add 'planproof' to py_requirements"):
        guarded({"py_requirements": ["dbt-spark"]}, execution_mode="virtualenv")
    with pytest.raises(ValueError, match="switch planproof off"):
        guarded({"env": {"PLANPROOF": "off"}})
