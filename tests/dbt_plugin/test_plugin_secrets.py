"""`dbt build` with secrets in the profile, the environment and Spark's settings: neither dbt's log nor any file of the
project tells one."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("dbt.adapters.spark")

pytestmark = pytest.mark.hive

SECRET = "hunter2-which-nobody-may-see"
PROFILE = """
    shop:
      target: dev
      outputs:
        dev:
          type: spark
          method: session
          host: NA
          schema: {schema}
          user: "{{{{ env_var('DBT_SECRET') }}}}"
          token: "{{{{ env_var('DBT_SECRET') }}}}"
          server_side_parameters:
            spark.hadoop.fs.s3a.secret.key: "{{{{ env_var('DBT_SECRET') }}}}"
    """
MODELS = {
    "models/fine.sql": "{{ config(materialized='table', file_format='parquet') }} select 1 as id",
    "models/rejected.sql": "{{ config(materialized='table', file_format='parquet') }} select nothing as id",
    "models/failing.sql": "{{ config(materialized='table', file_format='parquet') }} select assert_true(id > 1) as id "
    "from {{ ref('fine') }}",
    "models/models.yml": """
        models:
          - name: fine
            config: {contract: {enforced: true}}
            columns: [{name: id, data_type: int, constraints: [{type: not_null}]}]
        """,
}


def test_no_log_and_no_file_tells_a_secret(dbt: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBT_SECRET", SECRET)
    monkeypatch.setenv("PLANPROOF_DEBUG", "1")
    dbt.write({"profiles.yml": PROFILE.format(schema=dbt.schema), **MODELS})
    dbt.spark.conf.set("spark.hadoop.fs.s3a.secret.key", SECRET)
    try:
        assert not dbt.run("build", "--debug", "--log-level-file", "debug").success
    finally:
        dbt.spark.conf.unset("spark.hadoop.fs.s3a.secret.key")
    assert (dbt.statuses["fine"], dbt.statuses["rejected"], dbt.statuses["failing"]) == ("success", "error", "error")
    assert len(dbt.log) > 1000
    files = [path for path in dbt.root.rglob("*") if path.is_file()]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
