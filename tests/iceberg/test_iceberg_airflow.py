"""Airflow's operators on Iceberg's tables: a project's models, and a DataFrame that a function returns."""

from __future__ import annotations

import os
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("airflow")
MODELS = {
    "models/schema.yml": """
        models:
          - name: mart
            config: {contract: {enforced: true}}
            columns: [{name: id, data_type: bigint, constraints: [{type: not_null}]}]
        """,
    "models/mart.sql": "{{ config(materialized='table') }} "
    "select {{ 'nullif(id, 1)' if var('broken', false) else 'id' }} as id from range(2)",
}


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Airflow, which reads its configuration when it is imported."""
    os.environ.setdefault("AIRFLOW_HOME", str(tmp_path_factory.mktemp("airflow")))
    pytest.importorskip("airflow")


def test_a_project_is_published_and_stopped(dbt: Any) -> None:
    from airflow_planproof import PlanproofRunOperator

    dbt.write(MODELS)
    given = {"task_id": "run", "project_dir": str(dbt.root), "profiles_dir": str(dbt.root)}

    def run(**more: Any) -> list[tuple[str, str]]:
        dbt.spark.catalog.setCurrentCatalog(dbt.catalog)
        try:
            return [(r.outcome, r.said) for r in PlanproofRunOperator(**given, **more).reports({})]
        finally:
            dbt.spark.catalog.setCurrentCatalog("spark_catalog")

    assert run() == [("published", "proved")]
    assert [outcome for outcome, _ in run(vars={"broken": True})] == ["rejected"]
    assert dbt.rows("mart") == [(0,), (1,)]


def test_the_rows_of_a_function_are_published_and_stopped(iceberg: Any, lake: str) -> None:
    from airflow_planproof.decorators.guarded import PlanproofDecoratedOperator

    def publish(text: str) -> str:
        operator = PlanproofDecoratedOperator(
            task_id="made",
            python_callable=lambda spark: spark.sql(text),
            table=f"{lake}.made",
            contract=[("id", "bigint", False)],
            file_format="iceberg",
        )
        (report,) = operator.reports({"ti": None})
        return report.outcome

    assert publish("select id from range(3)") == "published"
    assert publish("select nullif(id, 1) as id from range(3)") == "rejected"
    assert sorted(iceberg.table(f"{lake}.made").collect()) == [(0,), (1,), (2,)]
