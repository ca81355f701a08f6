"""dbt build over Thrift with Delta's tables: models, views, snapshots and seeds."""

from __future__ import annotations

import json
from pathlib import Path

from projects import ThriftDbt, project_files

_PROJECT = {
    "models/orders.sql": """
        {{ config(materialized='table', contract={'enforced': true}) }}
        select {{ var('id') }} as id, cast(id as int) as amount from range(3)
        """,
    "models/added.sql": """
        {{ config(materialized='incremental', incremental_strategy='append', on_schema_change='append_new_columns') }}
        select cast({{ var('n') }} as int) as n {% if var('n') > 1 %}, 'x' as more {% endif %}
        """,
    "models/merged.sql": """
        {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
        select id, amount * {{ var('n') }} as amount from {{ ref('orders') }}
        """,
    "models/seen.sql": "{{ config(materialized='view') }} select count(*) as n from {{ ref('orders') }}",
    "models/schema.yml": """
        models:
          - name: orders
            columns:
              - {name: id, data_type: bigint, constraints: [{type: not_null}]}
              - {name: amount, data_type: int}
        """,
    "snapshots/kept.sql": """
        {% snapshot kept %}
        {{ config(unique_key='id', strategy='check', check_cols=['amount'], target_schema=schema) }}
        select id, amount from {{ ref('merged') }}
        {% endsnapshot %}
        """,
    "seeds/rates.csv": "code,rate\na,1\nb,2\n",
}


def test_dbt_build(thrift: str, tmp_path: Path) -> None:
    from pyhive import hive

    host, port = thrift.split(":")
    dbt = ThriftDbt(tmp_path / "project", hive.connect(host, int(port)))
    files = project_files(dbt.schema, f"method: thrift, host: {host}, port: {port}, user: dbt, poll_interval: 0")
    formats = "".join(f"    {kind}: {{+file_format: delta}}\n" for kind in ("models", "seeds", "snapshots"))
    dbt.write({**files, "dbt_project.yml": files["dbt_project.yml"].rstrip(" ") + formats, **_PROJECT})

    def build(n: int, id: str = "id") -> bool:
        return bool(dbt.run("build", "--vars", json.dumps({"n": n, "id": id})).success)

    names = ("orders", "added", "merged", "seen", "kept", "rates")
    for n in (1, 2):
        assert build(n), dbt.log[-3000:]
        assert {name: r["outcome"] for name, r in dbt.reports.items()} == dict.fromkeys(names, "published")
    assert (dbt.rows("added"), dbt.rows("merged")) == ([(1, None), (2, "x")], [(0, 0), (1, 2), (2, 4)])
    assert (len(dbt.rows("kept")), dbt.rows("rates"), dbt.rows("seen")) == (5, [("a", 1), ("b", 2)], [(3,)])
    assert not build(3, "if(id = 1, null, id)")
    assert (dbt.statuses["orders"], dbt.statuses["merged"]) == ("error", "skipped")
    assert dbt.rows("orders") == [(0, 0), (1, 1), (2, 2)]
