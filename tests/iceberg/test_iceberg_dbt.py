"""dbt's models on Iceberg through the plugin: no drop before a replacement, no row and no column before the audit."""

from __future__ import annotations

from typing import Any

_MODELS = """
    version: 2
    models:
      - name: orders
        config: {materialized: table, contract: {enforced: true}}
        columns:
          - {name: id, data_type: bigint, constraints: [{type: not_null}, {type: unique}]}
          - {name: amount, data_type: int}
      - name: merged
        config: {contract: {enforced: true}, on_schema_change: append_new_columns}
        columns:
          - {name: id, data_type: bigint, constraints: [{type: not_null}]}
          - {name: amount, data_type: int}
          - {name: extra, data_type: int}
    """
_ORDERS = "select id, cast(id as int) as amount from range(3)"
_MERGED = """
    {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
    {{ config(merge_update_columns=['amount']) }}
    select {ID} as id, cast(id as int) as amount, cast(null as int) as extra from range(3)
    """
_WIDER = """
    {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
    select {ID} as id, cast(id * 10 as int) as amount, 1 as extra from range(2, 5)
    """
_ADDED = "{{ config(materialized='incremental') }} select cast(1 as bigint) as id, cast(1 as int) as amount"


def _snapshots(dbt: Any, name: str) -> list[int]:
    return [r[0] for r in dbt.spark.sql(f"select snapshot_id from {dbt.place}.{name}.snapshots").collect()]


def test_a_project_through_its_life(dbt: Any) -> None:
    name = "orders"
    narrow = _MODELS.replace("          - {name: extra, data_type: int}\n", "")
    first = _MERGED.replace(", cast(null as int) as extra", "").replace("{ID}", "id")
    models = {"models/orders.sql": _ORDERS, "models/merged.sql": first, "models/added.sql": _ADDED}
    dbt.write({"models/schema.yml": narrow, **models})
    assert dbt.run("build").success, dbt.log[-3000:]
    assert {r["outcome"] for r in dbt.reports.values()} == {"published"}, dbt.reports
    assert [r["strategy"] for r in dbt.reports.values()] == ["replace"] * 3
    assert dbt.run("build").success, dbt.log[-3000:]
    assert {n: r["strategy"] for n, r in dbt.reports.items()} == {
        "orders": "replace",
        "merged": "change",
        "added": "change",
    }
    assert len(_snapshots(dbt, name)) == 2, "the table was replaced, not dropped"
    assert (len(dbt.rows("merged")), len(dbt.rows("added"))) == (3, 2)

    kept = {n: (_snapshots(dbt, n), dbt.state(n)) for n in ("orders", "merged")}
    broken = _WIDER.replace("{ID}", "if(id > 3, id, null)")
    dbt.write({"models/schema.yml": _MODELS, "models/merged.sql": broken})
    dbt.write({"models/orders.sql": "select if(id > 0, id, null) as id, cast(id as int) as amount from range(3)"})
    assert not dbt.run("build").success
    assert (dbt.statuses["orders"], dbt.statuses["merged"]) == ("error", "error")
    assert {n: (_snapshots(dbt, n), dbt.state(n)) for n in ("orders", "merged")} == kept, "no row, and no new column"

    dbt.write({"models/orders.sql": _ORDERS, "models/merged.sql": _WIDER.replace("{ID}", "id")})
    assert dbt.run("build").success, dbt.log[-3000:]
    assert dbt.rows("merged")[2:] == [(2, 20, 1), (3, 30, 1), (4, 40, 1)]

    before = _snapshots(dbt, "merged")
    assert dbt.run("build", "--full-refresh", "--select", "merged").success, dbt.log[-3000:]
    assert _snapshots(dbt, "merged")[: len(before)] == before, "a full refresh keeps the history"
    failing = "select cast(raise_error('no') as bigint) as id, 1 as amount, 1 as extra"
    dbt.write({"models/merged.sql": f"{{{{ config(materialized='incremental') }}}} {failing}"})
    assert not dbt.run("build", "--full-refresh", "--select", "merged").success
    assert dbt.exists("merged")
    assert len(dbt.rows("merged")) == 3


def test_data_tests_run_before_the_commit(dbt: Any) -> None:
    """`tests: before`: dbt's own tests over the staged rows, in the session's own catalog and in one beside it."""
    tested = """
        models:
          - name: tested
            config: {materialized: table, meta: {planproof: {tests: before}}}
            columns: [{name: id, data_tests: [unique, not_null]}]
        """
    dbt.write({"models/tested.yml": tested, "models/tested.sql": "select id from range(3)"})
    assert dbt.run("build", "--select", "tested").success, dbt.log[-3000:]
    found = {t["name"]: t["status"] for t in dbt.reports["tested"]["details"]["tests"]}
    assert found == {"unique_tested_id": "pass", "not_null_tested_id": "pass"}, dbt.reports["tested"]
    dbt.write({"models/tested.sql": "select id % 2 as id from range(3)"})
    assert not dbt.run("build", "--select", "tested").success
    assert (dbt.statuses["tested"], dbt.rows("tested")) == ("error", [(0,), (1,), (2,)])
