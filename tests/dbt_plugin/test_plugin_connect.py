"""`dbt build` by `method: session` on a Spark Connect server: guarded where the server and this machine share files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("dbt.adapters.spark")
pytest.importorskip("grpc")

FILES = {
    "dbt_project.yml": """
        name: shop
        version: "1.0"
        profile: shop
        flags: {send_anonymous_usage_stats: false, use_colors: false}
        """,
    "profiles.yml": """
        shop:
          target: dev
          outputs:
            dev: {type: spark, method: session, host: NA, schema: shop, threads: 2, server_side_parameters: {
                spark.remote: "local[2]", spark.ui.enabled: "false", spark.sql.shuffle.partitions: "2"}}
        """,
    "models/t.sql": "{{ config(materialized='table') }} select 1 as id, {{ var('n') }} as n",
    "models/i.sql": """
        {{ config(materialized='incremental', file_format='parquet') }} select n from {{ ref('t') }}
        """,
    "models/v.sql": "{{ config(materialized='view') }} select * from {{ ref('t') }}",
    "models/models.yml": """
        models:
          - name: t
            config: {contract: {enforced: true}}
            columns:
              - {name: id, data_type: int}
              - {name: n, data_type: int, constraints: [{type: not_null}]}
        """,
}


def dbt(project: Path, *args: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PLANPROOF": "on", "DBT_PROFILES_DIR": str(project)}
    command = [str(Path(sys.executable).with_name("dbt")), *args]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.conformance
@pytest.mark.needs_spark("4.0", "a Connect server in pip's package")
def test_a_build_on_a_connect_server_is_guarded(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text).lstrip("\n"), "utf-8")

    good = dbt(tmp_path, "build", "--vars", "n: 1")
    assert good.returncode == 0, good.stdout[-2000:]
    again = dbt(tmp_path, "build", "--vars", "n: 2")
    assert again.returncode == 0, again.stdout[-2000:]
    reports = json.loads((tmp_path / "target/planproof/report.json").read_text("utf-8"))["reports"]
    assert {r["model"]: (r["outcome"], r["strategy"]) for r in reports} == {
        "shop.t": ("published", "location"),
        "shop.i": ("published", "append"),
        "shop.v": ("published", "view"),
    }

    bad = dbt(tmp_path, "build", "--vars", "n: if(rand() < 2, null, 3)")
    assert bad.returncode == 1
    assert "planproof stopped t: 1 violation" in bad.stdout
    shown = dbt(
        tmp_path, "-q", "show", "--output", "json", "--inline", "select n from shop.i union all select n from shop.t"
    )
    assert sorted(row["n"] for row in json.loads(shown.stdout)["show"]) == [1, 2, 2]
