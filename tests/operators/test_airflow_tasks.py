"""The dbt operator, the sensor, the decorator and other interpreters, in real DAGs on real Spark."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEAD = """
from airflow.providers.common.compat.sdk import DAG, Asset, task
from airflow_planproof import PlanproofAuditOperator, PlanproofContractSensor, PlanproofDbtOperator

again = {"retries": 3, "retry_delay": datetime.timedelta(0)}
with DAG("tested", schedule=None, start_date=datetime.datetime(2026, 1, 1), default_args=again) as dag:
"""

DBT = f"""{HEAD}
    PlanproofDbtOperator(
        task_id="dbt", project_dir=PROJECT, profiles_dir=PROJECT, env={{"SHOP_SCHEMA": SCHEMA}},
        outlets=[Asset("x-shop://all"), Asset(f"x-shop://host/{{SCHEMA}}/customers")], **GIVEN,
    )
"""


def outcomes(report: dict[str, Any]) -> dict[str, str]:
    return {r["model"].rpartition(".")[2]: r["outcome"] for r in report["reports"]}


def test_dbt_builds_under_the_guard(
    run_dag: Callable[..., Any], shop: Path, database: str, spark: SparkSession
) -> None:
    given = {"PROJECT": str(shop), "SCHEMA": database}
    green = run_dag(DBT, GIVEN={}, **given)
    assert green.states == {"dbt": "success"}, green.failures
    assert set(outcomes(green.xcoms["dbt"]["return_value"]).values()) == {"published"}
    assert len(green.events) == 2
    rows = sorted(spark.table(f"{database}.customer_orders").collect())

    red = run_dag(DBT, GIVEN={"vars": {"join": "left"}, "command": ["run", "--fail-fast"]}, **given)
    assert red.states == {"dbt": "failed"}, red.failures
    assert red.tries == {"dbt": 1}
    assert outcomes(red.xcoms["dbt"]["planproof_report"])["customer_orders"] == "rejected"
    assert "PP505 violated column order_id: promised NOT NULL" in red.log
    assert red.events == []
    assert sorted(spark.table(f"{database}.customer_orders").collect()) == rows

    never = run_dag(DBT, GIVEN={"vars": {"join": "left"}, "command": "run", "fail_on": "never"}, **given)
    assert (never.states, never.tries) == ({"dbt": "failed"}, {"dbt": 1}), never.failures
    assert "PlanproofViolation" in never.failures

    wrong = run_dag(DBT, GIVEN={"command": "build --no-such-option"}, **given)
    assert (wrong.states, wrong.tries) == ({"dbt": "failed"}, {"dbt": 1})
    assert "PlanproofCannotRun" in wrong.failures
    assert "no-such-option" in wrong.failures


ENDLESS = "select sum(hash(a.id, b.id)) as total from range(3000000) as a cross join range(3000000) as b"


@pytest.mark.conformance
def test_a_timeout_reaches_the_spark_job_that_dbt_runs(
    run_dag: Callable[..., Any], shop: Path, database: str, spark: SparkSession
) -> None:
    (shop / "models" / "endless.sql").write_text(ENDLESS)
    given = {"select": "endless", "retries": 0, "execution_timeout": timedelta(seconds=12)}
    ran = run_dag(DBT, PROJECT=str(shop), SCHEMA=database, GIVEN=given)
    assert ran.states == {"dbt": "failed"}, ran.failures
    assert "dbt was cancelled" in ran.log
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    assert not spark.catalog.tableExists(f"{database}.endless")


def test_dbt_of_another_environment_must_have_planproof(
    run_dag: Callable[..., Any], shop: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "bin"
    elsewhere.mkdir()
    (elsewhere / "python").write_text("#!/bin/sh\nexit 1\n")
    (elsewhere / "dbt").write_text("#!/bin/sh\necho would have published; exit 0\n")
    for file in elsewhere.iterdir():
        file.chmod(0o755)
    ran = run_dag(DBT, PROJECT=str(shop), SCHEMA="none", GIVEN={"dbt_executable_path": str(elsewhere / "dbt")})
    assert (ran.states, ran.tries) == ({"dbt": "failed"}, {"dbt": 1})
    assert "planproof is not installed in its environment" in ran.failures
    assert "would have published" not in ran.log


SENSOR = f"""{HEAD}
    kept = [("id", "int", False), ("name", "string", NULLABLE)]
    PlanproofContractSensor(
        task_id="wait", tables=TABLE, contract=kept, poke_interval=0.2, timeout=TIMEOUT, mode=MODE, **GIVEN
    )
"""


def test_the_sensor_waits_for_a_table_and_fails_on_a_broken_one(
    run_dag: Callable[..., Any], spark: SparkSession, database: str
) -> None:
    given = {"TABLE": f"{database}.people", "MODE": "poke", "TIMEOUT": 2, "NULLABLE": True, "GIVEN": {"retries": 0}}
    missing = run_dag(SENSOR, **given)
    assert missing.states == {"wait": "failed"}, missing.failures
    assert "AirflowSensorTimeout" in missing.failures
    assert f"waiting for: {database}.people" in missing.log

    spark.sql(f"create table {database}.people using parquet as select 1 as id, cast(null as string) as name")
    there = run_dag(SENSOR, **given)
    assert there.states == {"wait": "success"}, there.failures
    assert there.xcoms["wait"]["return_value"]["verdict"] == "proved"
    rescheduled = run_dag(SENSOR, **{**given, "MODE": "reschedule"})
    assert rescheduled.states == {"wait": "success"}, rescheduled.failures

    broken = run_dag(SENSOR, **{**given, "NULLABLE": False, "GIVEN": {}})
    assert (broken.states, broken.tries) == ({"wait": "failed"}, {"wait": 1})
    assert "PP505 violated column name" in broken.failures

    waits = run_dag(SENSOR, **{**given, "NULLABLE": False, "GIVEN": {"wait_on_violation": True, "retries": 0}})
    assert waits.states == {"wait": "failed"}, waits.failures
    assert "AirflowSensorTimeout" in waits.failures
    soft = run_dag(SENSOR, **{**given, "NULLABLE": False, "GIVEN": {"soft_fail": True}})
    assert soft.states == {"wait": "skipped"}, soft.failures


DECORATED = f"""{HEAD}
    @task.planproof(
        table=SCHEMA + ".people", contract=[("id", "bigint", False), ("name", "string", False)],
        outlets=[Asset(f"x-shop://host/{{SCHEMA}}/people")],
    )
    def people(spark, first, ti=None):
        assert ti.task_id == "people"
        if first == "nothing":
            return None
        if first == "twice":
            return spark.sql("select 1L as id, 'ada' as name, 'bob' as name")
        return spark.createDataFrame([(1, first), (2, "bob")], "id bigint, name string")

    people(first=FIRST)
"""


def test_a_function_is_published_when_its_contract_holds(
    run_dag: Callable[..., Any], spark: SparkSession, database: str
) -> None:
    green = run_dag(DECORATED, SCHEMA=database, FIRST="ada")
    assert green.states == {"people": "success"}, green.failures
    rows = sorted(spark.table(f"{database}.people").collect())
    assert rows == [(1, "ada"), (2, "bob")]
    (extra,) = green.extras.values()
    assert (extra["model"], extra["rows"], extra["verdict"]) == (f"{database}.people", 2, "proved")

    red = run_dag(DECORATED, SCHEMA=database, FIRST=None)
    assert (red.states, red.tries) == ({"people": "failed"}, {"people": 1}), red.failures
    assert "PP505 violated column name" in red.failures
    assert red.events == []
    assert sorted(spark.table(f"{database}.people").collect()) == rows
    assert not [t.name for t in spark.catalog.listTables() if t.isTemporary and t.name.startswith("planproof_")]

    nothing = run_dag(DECORATED, SCHEMA=database, FIRST="nothing")
    assert (nothing.states, nothing.tries) == ({"people": "failed"}, {"people": 1})
    assert "people returned NoneType" in nothing.failures
    twice = run_dag(DECORATED, SCHEMA=database, FIRST="twice")
    assert (twice.states, twice.tries) == ({"people": "failed"}, {"people": 1})
    assert "name" in twice.failures
    assert sorted(spark.table(f"{database}.people").collect()) == rows


DRIFT = f"""{HEAD}
    kept = {{"columns": [{{"name": "id", "type": "int", "nullable": False}}]}}
    PlanproofAuditOperator(task_id="file", tables=TABLE, contract=kept, enforce=["types", "nullability"], state=STATE)
    PlanproofAuditOperator(task_id="xcom", tables=TABLE, contract=kept, enforce=["types", "nullability"])
"""


def test_an_audit_tells_what_changed_since_the_last_one(
    run_dag: Callable[..., Any], spark: SparkSession, database: str, tmp_path: Path
) -> None:
    table, state = f"{database}.t", tmp_path / "state" / "seen.json"
    spark.sql(f"create table {table} using parquet as select 1 as id, 'x' as gone")
    first = run_dag(DRIFT, TABLE=table, STATE=str(state))
    assert set(first.states.values()) == {"success"}, first.failures
    assert "drift" not in first.xcoms["file"]["return_value"]["reports"][0]["details"]
    assert json.loads(state.read_text())[table]["rows"] == 1
    spark.sql(f"drop table {table}")
    spark.sql(f"create table {table} using parquet as select 1 as id, 2L as came union all select 2, 3L")
    second = run_dag(DRIFT, TABLE=table, STATE=str(state))
    assert set(second.states.values()) == {"success"}, second.failures
    for way in ("file", "xcom"):
        (report,) = second.xcoms[way]["return_value"]["reports"]
        drift = report["details"]["drift"]
        assert drift == {"came": {"came": "bigint"}, "went": {"gone": "string"}, "changed": {}, "rows": [1, 2]}, way
    assert f"{table}: column gone string went" in second.log


SEEN = f"""{HEAD}
    @task
    def look(ti=None):
        from airflow_planproof.drift import Last
        from planproof.report.model import PlaneReading, Report

        last = Last(ti, None)
        seen = last.read()
        stored = PlaneReading("catalog", "read", None, (("id", "int", True),))
        last.write([Report("t", "audited", planes=(stored,), rows=ROWS)])
        return seen

    look()
"""


def test_the_last_audit_is_the_one_before_however_many_there_were(run_dag: Callable[..., Any]) -> None:
    seen = []
    for rows in (1, 2, 3):
        ran = run_dag(SEEN, ROWS=rows)
        assert ran.states == {"look": "success"}, ran.failures
        seen.append(ran.xcoms["look"]["return_value"])
    assert seen == [{}, {"t": {"columns": [["id", "int"]], "rows": 1}}, {"t": {"columns": [["id", "int"]], "rows": 2}}]


PIPED = f"""{HEAD}
    PlanproofAuditOperator(
        task_id="files", paths=PATH, contract=[("id", "bigint", NULLABLE)], python=PYTHON,
        spark_conf={{"spark.ui.enabled": False, "spark.master": "local[1]"}},
    )
"""


@pytest.mark.conformance
def test_another_interpreter_does_the_work(run_dag: Callable[..., Any], spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    spark.sql("select cast(null as bigint) as id").write.parquet(path)
    given = {"PATH": path, "PYTHON": sys.executable}
    green = run_dag(PIPED, NULLABLE=True, **given)
    assert green.states == {"files": "success"}, green.failures
    assert green.xcoms["files"]["return_value"]["reports"][0]["rows"] == 1
    none = run_dag(PIPED, NULLABLE=True, PATH=path, PYTHON="/no/such/python")
    assert (none.states, none.tries) == ({"files": "failed"}, {"files": 1})
    assert "/no/such/python cannot be started" in none.failures


def test_wrong_arguments_are_said_at_parse_time(airflow_home: Path) -> None:
    from airflow_planproof import PlanproofContractSensor, PlanproofRunOperator

    with pytest.raises(ValueError, match="leave out python"):
        PlanproofContractSensor(task_id="t", tables="a", contract=[("id", "int", True)], python="p")
    with pytest.raises(ValueError, match="threads is 0"):
        PlanproofRunOperator(task_id="t", project_dir=".", threads=0)
