"""Every model of a Cosmos DAG through the guard."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from airflow_planproof.cosmos import FULL, IN_AN_IMAGE, GuardedInPart, bring_home, check_environment, guarded
from airflow_planproof.errors import PlanproofCannotRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

cosmos = pytest.importorskip("cosmos")
DEMO = Path(__file__).parents[2] / "dags_examples" / "project"

DAG = """
from datetime import timedelta
from cosmos import DbtDag, ExecutionConfig, ProfileConfig, ProjectConfig, RenderConfig
from cosmos.constants import ExecutionMode, InvocationMode, LoadMode, TestBehavior
from airflow_planproof import guarded

dag = DbtDag(
    dag_id="tested",
    schedule=None,
    start_date=datetime.datetime(2026, 1, 1),
    default_args={"retries": 2, "retry_delay": timedelta(0)},
    project_config=ProjectConfig(PROJECT, manifest_path=PROJECT + "/target/manifest.json", dbt_vars=VARS),
    profile_config=ProfileConfig(
        profile_name=PROFILE, target_name=TARGET, profiles_yml_filepath=PROJECT + "/profiles.yml"
    ),
    execution_config=ExecutionConfig(
        execution_mode=ExecutionMode(MODE),
        invocation_mode=InvocationMode.SUBPROCESS if MODE == "virtualenv" else InvocationMode.DBT_RUNNER,
    ),
    render_config=RenderConfig(load_method=LoadMode.DBT_MANIFEST, test_behavior=TestBehavior.NONE),
    operator_args=guarded(
        {"append_env": True, "install_deps": False, **ARGS}, execution_mode=MODE
    ),
)
# `dag.test()` runs one task at a time, and a watcher that came before its producer would wait for ever.
for task in dag.tasks:
    if task.trigger_rule == "always":
        task.trigger_rule = "all_done"
"""


@pytest.fixture
def tried(
    run_dag: Callable[..., Any], shop: Path, database: str, session: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Runs the shop as a Cosmos DAG in the execution mode `mode`; `vars` are dbt's."""
    from dbt_planproof.compiler import compile_project

    monkeypatch.setenv("SHOP_SCHEMA", database)
    with session.preserve_settings():
        compile_project(shop, shop)

    def run(mode: str, **variables: str) -> Any:
        with session.preserve_settings():
            return run_dag(DAG, PROJECT=str(shop), PROFILE="shop", TARGET="test", VARS=variables, MODE=mode, ARGS={})

    return run


BROKEN = {
    "customers": "success",
    "orders": "success",
    "customer_orders": "failed",
    "customer_totals": "upstream_failed",
}


def models(states: dict[str, Any]) -> dict[str, Any]:
    return {task.removesuffix("_run").rpartition(".")[2]: state for task, state in states.items()}


def test_a_broken_model_fails_without_a_retry_and_its_children_do_not_run(
    tried: Callable[..., Any], database: str, spark: SparkSession
) -> None:
    ran = tried("local", join="left")
    assert models(ran.states) == BROKEN, ran.failures
    assert ran.tries["customer_orders_run"] == 1
    assert "PP505 violated column order_id: promised NOT NULL" in ran.failures
    (report,) = ran.xcoms["customer_orders_run"]["planproof_report"]["reports"]
    assert report["outcome"] == "rejected"
    assert ran.xcoms["customers_run"]["planproof_report"]["verdict"] == "proved"
    assert not spark.catalog.tableExists(f"{database}.customer_orders")


@pytest.mark.conformance
def test_the_demo_project(
    run_dag: Callable[..., Any],
    demo_home: Path,
    database: str,
    spark: SparkSession,
    example_project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The demo's change breaks `customer_activity`; its child, added here, does not run, and everything else does."""
    from dbt_planproof.compiler import compile_project

    project = example_project
    (project / "models" / "marts" / "active.sql").write_text("select * from {{ ref('customer_activity') }}")
    monkeypatch.setenv("PLANPROOF_DEMO_SCHEMA", database)
    compile_project(project, project)
    given = {"PROJECT": str(project), "PROFILE": "tpch_shop", "TARGET": "local", "MODE": "local", "ARGS": {}}
    ran = run_dag(DAG, VARS={"customer_join": "left"}, **given)
    states = models(ran.states)
    assert (states.pop("customer_activity"), states.pop("active")) == ("failed", "upstream_failed"), ran.failures
    assert len(states) > 10
    assert set(states.values()) == {"success"}, states
    assert set(ran.tries.values()) == {0, 1}
    assert "models/marts/customer_activity.sql" in ran.failures
    assert not spark.catalog.tableExists(f"{database}.customer_activity")
    assert spark.catalog.tableExists(f"{database}.nation_revenue")


@pytest.mark.conformance
def test_a_watched_producer_fails_without_a_retry(
    tried: Callable[..., Any], database: str, spark: SparkSession
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuardedInPart)
        ran = tried("watcher", join="left")
    states = models(ran.states)
    assert states.pop("dbt_producer_watcher") == "failed", ran.failures
    assert states == BROKEN
    # The model's own task follows dbt at its first try, and runs the model by itself, under the guard, at its second.
    assert ran.tries["dbt_producer_watcher"] == 1
    assert ran.tries["customer_orders_run"] == 2
    for task in ("dbt_producer_watcher", "customer_orders_run"):
        assert ran.xcoms[task]["planproof_report"]["verdict"] == "violated"
    assert not spark.catalog.tableExists(f"{database}.customer_orders")


@pytest.mark.conformance
def test_a_virtual_environment_of_its_own(
    run_dag: Callable[..., Any], shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cosmos installs dbt and planproof there, from PyPI and from this tree; the tests' environment lends Spark."""
    from importlib.metadata import version

    from dbt.cli.main import dbtRunner

    monkeypatch.setenv("SHOP_SCHEMA", "default")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    profiles = yaml.safe_load((shop / "profiles.yml").read_text())
    profiles["shop"]["outputs"]["test"]["server_side_parameters"] = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": (tmp_path / "warehouse").as_uri(),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={tmp_path}/metastore;create=true",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={tmp_path}",
    }
    (shop / "profiles.yml").write_text(yaml.safe_dump(profiles))
    assert dbtRunner().invoke(["parse", "--project-dir", str(shop), "--profiles-dir", str(shop)]).success
    args = {
        "py_requirements": [f"planproof @ {DEMO.parents[1].as_uri()}", f"dbt-core=={version('dbt-core')}"],
        "pip_install_options": ["--no-deps"],
        "virtualenv_dir": str(tmp_path / "environment"),
        "env": {"PYTHONPATH": str(Path(yaml.__file__).parents[1])},
    }
    given = {"PROJECT": str(shop), "PROFILE": "shop", "TARGET": "test", "MODE": "virtualenv", "ARGS": args}
    ran = run_dag(DAG, VARS={"join": "left"}, **given)
    assert models(ran.states) == BROKEN, ran.failures
    assert ran.tries["customer_orders_run"] == 1
    assert "PP505 violated column order_id: promised NOT NULL" in ran.failures
    assert list((tmp_path / "environment").glob("lib/python3*/site-packages/planproof"))


@pytest.mark.parametrize("mode", FULL)
def test_each_task_gets_the_guard(shop: Path, airflow_home: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    """In the modes whose dbt runs on the worker: every task that Cosmos makes of the project. No Spark."""
    from cosmos.constants import ExecutionMode, LoadMode
    from dbt.cli.main import dbtRunner

    monkeypatch.setenv("SHOP_SCHEMA", "shop")
    place = ["--project-dir", str(shop), "--profiles-dir", str(shop)]
    assert dbtRunner().invoke(["parse", *place]).success
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuardedInPart)
        args = guarded({"py_requirements": ["planproof"]} if mode == "virtualenv" else {}, execution_mode=mode)
    dag = cosmos.DbtDag(
        dag_id="parsed",
        project_config=cosmos.ProjectConfig(str(shop), manifest_path=str(shop / "target" / "manifest.json")),
        profile_config=cosmos.ProfileConfig("shop", "test", profiles_yml_filepath=str(shop / "profiles.yml")),
        execution_config=cosmos.ExecutionConfig(execution_mode=ExecutionMode(mode)),
        render_config=cosmos.RenderConfig(load_method=LoadMode.DBT_MANIFEST),
        operator_args=args,
    )
    tasks = [task for task in dag.tasks if hasattr(task, "callback")]
    assert len(tasks) >= 4
    assert all(task.callback == args["callback"] and check_environment in task.interceptors for task in tasks)


def test_an_unguarded_run_is_refused_or_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from datetime import datetime, timezone

    from cosmos.operators.virtualenv import DbtRunVirtualenvOperator

    profile = cosmos.ProfileConfig("shop", "test", profiles_yml_filepath=str(tmp_path / "profiles.yml"))
    given = {"task_id": "run", "project_dir": str(tmp_path), "profile_config": profile}
    task = DbtRunVirtualenvOperator(py_requirements=["dbt-spark"], **given)
    with pytest.raises(PlanproofCannotRun, match="add 'planproof' to py_requirements"):
        check_environment({}, task)
    check_environment({}, DbtRunVirtualenvOperator(py_requirements=["dbt-spark", "planproof==0.1"], **given))
    ti = SimpleNamespace(start_date=datetime.now(timezone.utc))
    with caplog.at_level("WARNING"):
        bring_home()(str(tmp_path), context={"ti": ti, "task": task})
    assert "dbt left no report" in caplog.text


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
    with pytest.warns(GuardedInPart, match="tried once more"):
        guarded({}, execution_mode="watcher")
    with pytest.raises(ValueError, match="guards nothing in the execution mode 'airflow_async'"):
        guarded({}, execution_mode=cosmos.ExecutionMode.AIRFLOW_ASYNC)
    with pytest.raises(ValueError, match="add 'planproof' to py_requirements"):
        guarded({"py_requirements": ["dbt-spark"]}, execution_mode="virtualenv")
    with pytest.raises(ValueError, match="switch planproof off"):
        guarded({"env": {"PLANPROOF": "off"}})
