"""What else dbt builds on Iceberg: schema changes, microbatches, models that become another kind, and what is dbt's."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal
from typing import Any

import pytest

SEED = "id,name\n1,a\n2,b\n"
SNAPSHOT = """
    {% snapshot kept %}
    {{ config(strategy='check', unique_key='id', check_cols='all', file_format='iceberg') }}
    select id, '{{ var("n") }}' as n from range(2)
    {% endsnapshot %}
    """
SYNCED = """
    {{ config(materialized='incremental', on_schema_change='sync_all_columns') }}
    select cast({{ var('n') }} as int) as id, 'a' as s
    {%- if var('n') == 2 %}, 1.5 as more{% elif var('n') == 1 %}, 1 as old{% endif %}
    """
EVENTS = """
    {{ config(materialized='table', event_time='at') }}
    select id, timestamp'2026-01-01 00:00:00' + make_interval(0, 0, 0, cast(id as int)) as at, {{ var('n') }} as n
    from range(3)
    """
BATCHED = """
    {{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at', begin='2026-01-01') }}
    {{ config(batch_size='day', partition_by=['day'], lookback=0) }}
    select *, cast(at as date) as day from {{ ref('events') }}
    """
PARTED = """
    models:
      - name: parted
        config: {contract: {enforced: true}, meta: {planproof: {on_violation: quarantine}}}
        columns:
          - {name: id, data_type: bigint, constraints: [{type: not_null}]}
    """


def test_schema_changes_microbatches_seeds_and_snapshots(dbt: Any) -> None:
    def build(n: int, *more: str) -> Any:
        return dbt.run("build", "--vars", json.dumps({"n": n}), *more)

    dbt.write(
        {
            "seeds/numbers.csv": SEED,
            "snapshots/kept.sql": SNAPSHOT,
            "models/synced.sql": SYNCED,
            "models/events.sql": EVENTS,
            "models/batched.sql": BATCHED,
        }
    )
    batches = ("--event-time-start", "2026-01-01", "--event-time-end", "2026-01-04")
    assert build(0, *batches).success, dbt.log[-3000:]
    published = {name for name, r in dbt.reports.items() if r["outcome"] == "published"}
    assert published == {"synced", "events", "batched", "numbers", "kept"}
    assert (dbt.rows("numbers"), dbt.reports["batched"]["strategy"]) == ([(1, "a"), (2, "b")], "change")

    build(2, *batches)
    # dbt-spark takes Iceberg's tables in the session's own catalog for Hive's, and by itself adds to no snapshot there.
    assert dbt.statuses == dict.fromkeys(("synced", "events", "batched", "numbers", "kept"), "success")
    assert len(dbt.rows("kept")) == 4
    assert [(row[0], row[2]) for row in dbt.rows("batched")] == [(0, 2), (1, 2), (2, 2)]
    assert dbt.rows("synced") == [(0, "a", None), (2, "a", Decimal("1.5"))]

    before = dbt.state("synced")
    build(3, *batches)
    assert "does not support dropping columns" in dbt.results["synced"]["message"]
    assert dbt.state("synced") == before


@pytest.mark.parametrize(
    ("first", "second"), [("view", "iceberg"), ("iceberg", "view"), ("parquet", "iceberg"), ("iceberg", "parquet")]
)
def test_a_model_that_becomes_another_kind(dbt: Any, first: str, second: str) -> None:
    if dbt.catalog != "spark_catalog":
        pytest.skip("other catalogs hold Iceberg tables alone")
    name = f"was_{first}_is_{second}"

    def run(kind: str, column: str) -> Any:
        how = "materialized='view'" if kind == "view" else f"materialized='table', file_format='{kind}'"
        dbt.write({f"models/{name}.sql": f"{{{{ config({how}) }}}} select {column} as id from range(3)"})
        return dbt.run("run", "--select", name)

    assert run(first, "id").success, dbt.log[-3000:]
    before = dbt.state(name)
    if second != "view":  # A view computes nothing when it is made.
        assert not run(second, "if(id > 1, cast(raise_error('no') as bigint), id)").success
        assert dbt.state(name) == before
    if "parquet" in (first, second):
        assert not run(second, "id + 1").success
        assert "drop" in dbt.results[name]["message"].lower(), "the message says what to do"
        assert dbt.state(name) == before
        return
    for added in (1, 2):
        assert run(second, f"id + {added}").success, dbt.log[-3000:]
        assert dbt.rows(name) == [(added,), (added + 1,), (added + 2,)]


def test_bad_rows_are_quarantined(dbt: Any) -> None:
    head = "{{ config(materialized='incremental', on_schema_change='fail') }}"
    parted = f"{head} select if(id < 2, id, null) as id from range(4)"
    dbt.write({"models/parted.sql": parted, "models/parted.yml": PARTED})
    for times in (1, 2):
        assert dbt.run("run", "--select", "parted").success, dbt.log[-3000:]
        assert dbt.reports["parted"]["strategy"] == ("replace" if times == 1 else "change")
        assert dbt.rows("parted") == sorted([(0,), (1,)] * times)
        assert [row[:2] for row in dbt.rows("parted__quarantine")] == [(None, ["not_null(id)"])] * 2 * times


def test_a_clone_is_refused_before_anything_changes(dbt: Any) -> None:
    """dbt-spark clones Delta's tables alone, and says so before it drops what stands there."""
    dbt.write({"models/cloned.sql": "{{ config(materialized='table') }} select id from range(3)"})
    assert dbt.run("run", "--select", "cloned").success, dbt.log[-3000:]
    shutil.copytree(dbt.root / "target", dbt.root / "kept")
    before = dbt.state("cloned")
    assert not dbt.run("clone", "--state", str(dbt.root / "kept"), "--select", "cloned", "--full-refresh").success
    assert "requires file_format be set to 'delta'" in dbt.results["cloned"]["message"]
    assert dbt.state("cloned") == before
