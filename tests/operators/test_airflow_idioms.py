"""What a user of Airflow takes for granted: mapping, templates, skips, secrets, rendered fields, a clean worker."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planproof.publish.transaction import lock, owner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEAD = """
from airflow.providers.common.compat.sdk import DAG, AirflowSkipException, Asset, task
from airflow_planproof import PlanproofDbtOperator, PlanproofRunOperator

again = {"retries": 3, "retry_delay": datetime.timedelta(0)}
place = {"project_dir": PROJECT, "profiles_dir": PROJECT, "env": {"SHOP_SCHEMA": SCHEMA}}
with DAG("tested", schedule=None, start_date=datetime.datetime(2026, 1, 1), default_args=again, params=PARAMS) as dag:
"""


@pytest.fixture
def tried(
    run_dag: Callable[..., Any], shop: Path, database: str, tmp_path: Path, monkeypatch: Any
) -> Callable[..., Any]:
    """Runs the tasks of `text` in a DAG on the shop, in an empty working directory that stays empty."""
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")

    def run(text: str, date: datetime | None = None, **names: Any) -> Any:
        ran = run_dag(HEAD + text, date=date, PROJECT=str(shop), SCHEMA=database, **{"PARAMS": {}, **names})
        assert list((tmp_path / "cwd").iterdir()) == []
        return ran

    return run


def outcomes(reports: Any) -> dict[str, str]:
    return {r["model"].rpartition(".")[2]: r["outcome"] for r in reports}


def rendered(task_id: str) -> list[dict[str, Any]]:
    """The rendered fields of the task's instances, in the order of their map indices."""
    from airflow.models.renderedtifields import RenderedTaskInstanceFields as Fields
    from airflow.settings import Session
    from sqlalchemy import select

    with Session() as db:
        found = select(Fields).where(Fields.task_id == task_id).order_by(Fields.map_index)
        return [row.rendered_fields for row in db.scalars(found)]


MAPPED = """
    PlanproofRunOperator.partial(task_id="models", **place).expand(select=["customers", "orders"])

    @task.planproof(table=SCHEMA + ".numbers_{{ ti.map_index }}", contract=[("n", "bigint", False)])
    def numbers(spark, count):
        if count == 0:
            raise AirflowSkipException("nothing to do")
        return spark.range(count).withColumnRenamed("id", "n")

    numbers.expand(count=[2, 0, 3])
"""


@pytest.mark.conformance
def test_mapped_tasks(tried: Callable[..., Any], spark: SparkSession, database: str) -> None:
    ran = tried(MAPPED)
    assert ran.state == "success", ran.failures
    assert ran.instances == {
        ("models", 0): "success",
        ("models", 1): "success",
        ("numbers", 0): "success",
        ("numbers", 1): "skipped",
        ("numbers", 2): "success",
    }
    assert spark.table(f"{database}.customers").count() == spark.table(f"{database}.orders").count() == 3
    assert [spark.table(f"{database}.numbers_{i}").count() for i in (0, 2)] == [2, 3]
    assert not spark.catalog.tableExists(f"{database}.numbers_1")


TEMPLATES = """
    PlanproofRunOperator(
        task_id="run", select="{{ params.select }}", vars={"join": "{{ params.join }}", "day": "{{ ds }}"},
        full_refresh="{{ params.fresh }}", **place,
    )
"""


@pytest.mark.conformance
def test_templates(tried: Callable[..., Any], shop: Path, spark: SparkSession, database: str) -> None:
    """A flag that a template made a text of is that flag; `{{ ds }}` reaches the model; a lambda is shown rewritten."""
    (shop / "models" / "days.sql").write_text("""
        {{ config(materialized='incremental', incremental_strategy='append') }}
        select '{{ var("day", "none") }}' as day, transform(array(1, 2), x -> x + length(concat(d, 'y'))) as long
        from (select id, cast(id as string) as d from range(3))
    """)
    params = {"select": "days", "join": "inner", "fresh": False}
    for rows in (3, 6):
        ran = tried(TEMPLATES, PARAMS=params)
        assert ran.states == {"run": "success"}, ran.failures
        assert spark.table(f"{database}.days").count() == rows
    assert {len(row.day) for row in spark.table(f"{database}.days").collect()} == {len("2026-01-01")}
    fields = rendered("run")[-1]
    assert f"-- {database}.days" in fields["compiled_sql"]
    assert "x + length(concat(d, 'y'))" in fields["compiled_sql"]
    assert fields["rewritten_sql"].count("concat(d, 'y')") == 1
    assert fields["rewritten_sql"] != fields["compiled_sql"]

    wrong = tried(TEMPLATES, PARAMS={**params, "fresh": "maybe"})
    assert (wrong.states, wrong.tries) == ({"run": "failed"}, {"run": 1})
    assert "full_refresh is 'maybe'; it takes true or false" in wrong.failures
    fresh = tried(TEMPLATES, PARAMS={**params, "fresh": "True"})
    assert fresh.states == {"run": "success"}, fresh.failures
    assert spark.table(f"{database}.days").count() == 3


DAILY = """
    PlanproofRunOperator(
        task_id="run", select="daily", vars={"day": "{{ ds }}", "rows": ROWS}, outlets=[Asset("x-shop://daily")],
        **place,
    )
"""


@pytest.mark.conformance
def test_a_day_that_is_run_again_replaces_its_own_rows(
    tried: Callable[..., Any], shop: Path, spark: SparkSession, database: str
) -> None:
    """A backfill is a run per date, and a date that is run again, or cleared, is as if it had been run once."""
    (shop / "models" / "daily.sql").write_text("""
        {{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by=['day']) }}
        select id, '{{ var("day", "none") }}' as day from range({{ var('rows', 0) }})
    """)
    for day, rows in ((2, 3), (1, 2), (2, 4)):
        ran = tried(DAILY, date=datetime(2026, 1, day, tzinfo=timezone.utc), ROWS=rows)
        assert ran.states == {"run": "success"}, ran.failures
        assert len(ran.events) == 1
    found = spark.table(f"{database}.daily").groupBy("day").count().collect()
    assert {row.day: row["count"] for row in found} == {"2026-01-01": 2, "2026-01-02": 4}


LOCKED = """
    import os

    PlanproofRunOperator(task_id="run", select="customers", on_retry_callback=lambda _: os.remove(LOCKS[0]), **place)
    PlanproofDbtOperator(
        task_id="dbt", command="run", select="orders", on_retry_callback=lambda _: os.remove(LOCKS[1]), **place
    )
"""


def test_a_table_that_another_run_publishes_is_tried_again(
    tried: Callable[..., Any], spark: SparkSession, database: str
) -> None:
    """Two runs of a backfill that publish one table: the second is told who holds it, and Airflow retries it."""
    root = spark.catalog.getDatabase(database).locationUri.removeprefix("file:")
    files = [Path(lock.path(root, table, 1)) for table in ("customers", "orders")]
    owner.begin("night")
    try:
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(owner.Owner.here("night").form()))
        ran = tried(LOCKED, LOCKS=[str(file) for file in files])
    finally:
        owner.note_end("night")
    assert ran.states == {"run": "success", "dbt": "success"}, ran.failures
    assert ran.tries == {"run": 2, "dbt": 2}
    for table in ("customers", "orders"):
        assert f"{database}.{table} is being published by run night, process {os.getpid()} on" in ran.log
        assert spark.table(f"{database}.{table}").count() == 3
    assert "PlanproofRunFailed" in ran.log
    assert not ran.log.count("PlanproofViolation")


QUIET = """
    @task
    def place_of_today():
        return {"SHOP_SCHEMA": SCHEMA}

    PlanproofRunOperator(
        task_id="run", project_dir=PROJECT, profiles_dir=PROJECT, env=place_of_today(), vars={"join": "left"},
        do_xcom_push=False,
    )
"""


@pytest.mark.conformance
def test_without_xcom_the_message_is_all_there_is(tried: Callable[..., Any], shop: Path, spark: SparkSession) -> None:
    """The environment comes from another task; a hook of the project, which only dbt can render, is said in the log."""
    with (shop / "dbt_project.yml").open("a") as file:
        file.write("on-run-end: [\"{{ log('over') }}\"]\n")
    ran = tried(QUIET)
    assert ran.states == {"place_of_today": "success", "run": "failed"}, ran.failures
    assert ran.tries["run"] == 1
    # The link's address is pushed by Airflow 3 itself.
    assert set(ran.xcoms.get("run", ())) <= {"planproof_report_url"}
    assert "PP505 violated column order_id: promised NOT NULL" in ran.failures
    assert "report: " not in ran.failures
    assert "has Jinja, which only dbt renders; it is not run" in ran.log


SECRETS = """
    @task.planproof(
        table=SCHEMA + ".t", conn_id="cluster", spark_conf={"spark.hadoop.fs.s3a.secret.key": "hunter2-of-s3"},
        env={"WAREHOUSE_PASSWORD": "hunter2-of-env"}, contract=[("id", "bigint", False)],
    )
    def leaky(spark):
        text = "hunter2-of-s3 hunter2-of-env hunter2-of-connection"
        return spark.sql(f"select cast(raise_error('{text}') as bigint) as id from range(1)")

    leaky()
"""


def test_secrets_stay_secret(tried: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", "spark://ada:hunter2-of-connection@local%5B2%5D")
    ran = tried(SECRETS)
    assert ran.states == {"leaky": "failed"}, ran.failures
    said = (ran.failures, str(ran.xcoms), str(rendered("leaky")))
    assert "hunter2" not in "".join(said)
    assert "*** *** ***" in ran.failures
    assert "*** *** ***" in str(ran.xcoms["leaky"]["planproof_report"])


REFUSED = """
    PlanproofRunOperator(task_id="run", select="customers", **place)
    PlanproofDbtOperator(task_id="dbt", command="run-operation no_such --args '{a: 1}'", **place)
"""


def test_what_only_dbt_does_is_refused_with_the_list(
    tried: Callable[..., Any], shop: Path, spark: SparkSession, database: str
) -> None:
    before = "{{ config(post_hook=\"{{ log('over') }}\") }}\n"
    file = shop / "models" / "customers.sql"
    file.write_text(before + file.read_text())
    ran = tried(REFUSED)
    assert ran.states == {"run": "failed", "dbt": "failed"}, ran.failures
    assert ran.tries["run"] == 1
    assert "customers: only dbt does what it asks for: " in ran.failures
    assert not spark.catalog.tableExists(f"{database}.customers")
    assert "no_such" in ran.failures
