"""dbt's models on Delta through the plugin: no version of a table before the audit, whatever dbt does around it."""

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
    """
_ORDERS = "select {ID} as id, cast(id as int) as amount from range(3)"
_MERGED = """
    {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
    {{ config(merge_update_columns=['amount']) }}
    select {ID} as id, cast(id * {N} as int) as amount from range({FROM}, 3 + {FROM})
    """
_SEEN = "{{ config(materialized='view') }} select count(*) as n from {{ ref('orders') }}"
_SNAPSHOT = """
    {% snapshot kept %}
    {{ config(unique_key='id', strategy='check', check_cols=['amount'], target_schema=schema) }}
    select id, amount from {{ ref('orders') }}
    {% endsnapshot %}
    """


def _merged(id: str = "id", n: int = 1, start: int = 0) -> str:
    return _MERGED.replace("{ID}", id).replace("{N}", str(n)).replace("{FROM}", str(start))


def _versions(dbt: Any, name: str) -> int:
    return len(dbt.spark.sql(f"describe history {dbt.place}.{name}").collect())


def test_a_project_through_its_life(dbt: Any) -> None:
    dbt.write({"models/schema.yml": _MODELS, "models/orders.sql": _ORDERS.replace("{ID}", "id")})
    dbt.write({"models/merged.sql": _merged(), "models/seen.sql": _SEEN, "snapshots/kept.sql": _SNAPSHOT})
    dbt.write({"seeds/rates.csv": "code,rate\na,1\nb,2\n"})
    assert dbt.run("build").success, dbt.log[-3000:]
    assert {n: r["outcome"] for n, r in dbt.reports.items()} == dict.fromkeys(
        ("orders", "merged", "seen", "kept", "rates"), "published"
    )
    assert (_versions(dbt, "orders"), dbt.rows("rates")) == (1, [("a", 1), ("b", 2)])

    dbt.write({"models/orders.sql": _ORDERS.replace("{ID}", "if(id = 1, null, id)")})
    dbt.write({"models/merged.sql": _merged("if(id = 4, null, id)", 10, 2), "seeds/rates.csv": "code,rate\nc,3\n"})
    assert not dbt.run("build").success
    assert (dbt.statuses["orders"], dbt.statuses["merged"]) == ("error", "error")
    assert (_versions(dbt, "orders"), _versions(dbt, "merged"), len(dbt.rows("merged"))) == (1, 1, 3)
    assert dbt.rows("rates") == [("c", 3)]

    dbt.write({"models/orders.sql": _ORDERS.replace("{ID}", "id + 1"), "models/merged.sql": _merged("id", 10, 2)})
    assert dbt.run("build").success, dbt.log[-3000:]
    assert dbt.rows("merged") == [(0, 0), (1, 1), (2, 20), (3, 30), (4, 40)]
    assert [r["strategy"] for n, r in sorted(dbt.reports.items()) if n in ("kept", "merged")] == ["change", "change"]
    assert len(dbt.rows("kept")) == 6, "three rows of before, three of now"
    warned = [f["code"] for f in dbt.reports["kept"]["findings"] if f["verdict"] == "warning"]
    assert warned == [], "dbt gives its own columns in another order than it has stored them, and MERGE goes by name"
    assert dbt.run("build", "--full-refresh", "--select", "merged").success, dbt.log[-3000:]
    assert (len(dbt.rows("merged")), _versions(dbt, "merged")) == (3, 3)


def test_a_check_that_is_null_is_broken_before_dbt_adds_it_to_the_table(dbt: Any) -> None:
    """Delta refuses `add constraint` over such a row, when bare dbt has replaced the table by it."""
    form = """
        version: 2
        models:
          - name: priced
            config: {materialized: table, contract: {enforced: true}}
            constraints: [{type: check, name: positive, expression: "price > 0"}]
            columns: [{name: id, data_type: bigint}, {name: price, data_type: int}]
        """
    dbt.write({"models/priced.yml": form, "models/priced.sql": "select 1L as id, 2 as price"})
    assert dbt.run("run", "--select", "priced").success, dbt.log[-3000:]
    dbt.write({"models/priced.sql": "select id, cast(null as int) as price from range(2)"})
    assert not dbt.run("run", "--select", "priced").success
    assert dbt.rows("priced") == [(1, 2)]
    assert "PP507" in str(dbt.results["priced"]["message"])
    assert "2 rows fail the check (Delta takes a CHECK that is null for broken)" in dbt.log
    kept = [row.key for row in dbt.spark.sql(f"show tblproperties {dbt.place}.priced").collect()]
    assert "delta.constraints.positive" in kept


def test_each_batch_of_the_first_build_of_a_microbatch_is_guarded(dbt: Any) -> None:
    """dbt's own cache does not say that the table which the first batch made is Delta's."""
    daily = """
        {{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at', batch_size='day',
                  begin='2024-01-01', partition_by='day', contract={'enforced': true}, on_schema_change='fail') }}
        select {ID} as id, at, date(at) as day from {{ ref('events') }}
        """
    events = """
        {{ config(materialized='table', event_time='at') }}
        select * from values (1, timestamp'2024-01-01 05:00:00'), (2, timestamp'2024-01-02 05:00:00'),
          (3, timestamp'2024-01-03 05:00:00') as t(id, at)
        """
    schema = """
        version: 2
        models:
          - name: daily
            columns:
              - {name: id, data_type: int, constraints: [{type: not_null}]}
              - {name: at, data_type: timestamp}
              - {name: day, data_type: date}
        """
    dbt.write({"models/events.sql": events, "models/schema.yml": schema})
    dbt.write({"models/daily.sql": daily.replace("{ID}", "if(id = 3, null, id)")})
    window = ("--event-time-start", "2024-01-01", "--event-time-end", "2024-01-04")
    dbt.run("run", "--select", "events", "daily", *window)
    assert [row[0] for row in dbt.rows("daily")] == [1, 2], dbt.log[-3000:]
    assert "planproof stopped daily" in dbt.log
    dbt.write({"models/daily.sql": daily.replace("{ID}", "id")})
    assert dbt.run("run", "--select", "events", "daily", *window).success, dbt.log[-3000:]
    assert [row[0] for row in dbt.rows("daily")] == [1, 2, 3]
    assert "does not guard" not in dbt.log
