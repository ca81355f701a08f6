"""`planproof run`, `audit` and `recover`, on a project whose models are Iceberg tables."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner

from planproof.cli.group import cli

SCHEMA = """
    models:
      - name: mart
        config: {contract: {enforced: true}}
        columns:
          - {name: id, data_type: bigint, constraints: [{type: not_null}]}
          - {name: total, data_type: int, constraints: [{type: not_null}]}
    """
MODELS = {
    "models/schema.yml": SCHEMA,
    "models/mart.sql": "{{ config(materialized='table') }}"
    "select id, {{ 'nullif(10, 10)' if var('broken', false) else '10' }} as total from range(2)",
    "models/merged.sql": """
        {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
        select id, total {% if is_incremental() %}+ 1{% endif %} as total from {{ ref('mart') }}
        """,
}


def test_a_project_is_run_broken_audited_and_recovered(dbt: Any) -> None:
    dbt.write(MODELS)

    def invoke(*args: str) -> Any:
        dbt.spark.catalog.setCurrentCatalog(dbt.catalog)
        try:
            return CliRunner().invoke(cli, [args[0], "--project-dir", str(dbt.root), *args[1:]])
        finally:
            dbt.spark.catalog.setCurrentCatalog("spark_catalog")

    for _ in range(2):
        healthy = invoke("run")
        assert healthy.exit_code == 0, healthy.output
        assert "2 models · 2 published" in healthy.stdout
    assert (dbt.rows("mart"), dbt.rows("merged")) == ([(0, 10), (1, 10)], [(0, 11), (1, 11)])
    broken = invoke("run", "--vars", "{broken: true}")
    assert broken.exit_code == 1, broken.output
    assert dbt.rows("mart") == [(0, 10), (1, 10)]
    assert dbt.run("compile").success
    audited = invoke("audit", "mart")
    assert audited.exit_code == 0, audited.output
    recovered = invoke("recover")
    assert recovered.exit_code == 0, recovered.output
    assert "nothing to recover" in recovered.stdout
