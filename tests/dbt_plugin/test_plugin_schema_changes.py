"""`on_schema_change` under the gate: dbt's ALTERs wait until the delta is audited; a failed run changes no schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("dbt.adapters.spark")

MODEL = """
    {{{{ config(materialized='incremental', file_format='parquet', {config}) }}}}
    {{% if is_incremental() %}} {{{{ var('delta') }}}} {{% else %}} {first} {{% endif %}}
    """
FIRST = "select 1L as id, named_struct('a', 1) as s, 'x' as d"
DELTAS = {
    "added": "select 2L as id, named_struct('a', 2) as s, 'y' as d, 'n' as note, array(named_struct('k', 1)) as deep",
    "dropped": "select 2L as id, 'y' as d",
    "retyped": "select '2' as id, named_struct('a', 2) as s, 'y' as d, 'n' as note",
    "nested": "select 2L as id, named_struct('a', 2, 'b', 3) as s, 'y' as d, 'n' as note",
    "same": "select 2L as id, named_struct('a', 2) as s, 'y' as d",
}
MODES = ("ignore", "fail", "append_new_columns", "sync_all_columns")
WAYS = {
    "append": "incremental_strategy='append'",
    "partitions": "incremental_strategy='insert_overwrite', partition_by='d'",
    "overwrite": "incremental_strategy='insert_overwrite'",
}
STORED = [("id", "bigint"), ("s", "struct<a:int>"), ("d", "string")]
GROWN = [*STORED[:2], ("note", "string"), ("deep", "array<struct<k:int>>")]


def columns(dbt: Any, name: str) -> list[tuple[str, str]]:
    dbt.spark.catalog.refreshTable(f"{dbt.schema}.{name}")
    return [(f.name, f.dataType.simpleString()) for f in dbt.spark.table(f"{dbt.schema}.{name}").schema]


def delta(sql: str) -> tuple[str, str]:
    return "--vars", json.dumps({"delta": sql})


@pytest.fixture(
    scope="module",
    params=["append", *(pytest.param(way, marks=pytest.mark.conformance) for way in ("partitions", "overwrite"))],
)
def models(dbt: Any, request: pytest.FixtureRequest) -> list[str]:
    """A model for every mode of one way, each with one row."""
    names = []
    for mode in MODES:
        names.append(f"{request.param}_{mode}")
        text = MODEL.format(config=f"{WAYS[request.param]}, on_schema_change='{mode}'", first=FIRST)
        dbt.write({f"models/{names[-1]}.sql": text})
    assert dbt.run("run", "--select", *names, *delta(DELTAS["same"])).success, dbt.results
    return names


@pytest.mark.parametrize(
    "change", ["nested", *(pytest.param(change, marks=pytest.mark.conformance) for change in ("dropped", "retyped"))]
)
def test_a_change_that_spark_cannot_make_applies_nothing(dbt: Any, models: list[str], change: str) -> None:
    before = {name: (columns(dbt, name), dbt.rows(name)) for name in models}
    dbt.run("run", "--select", *models, *delta(DELTAS[change]))
    for name in models:
        if dbt.statuses[name] == "error":
            assert (columns(dbt, name), dbt.rows(name)) == before[name], name
        if "sync" in name or "fail" in name:
            assert dbt.statuses[name] == "error", name
        if "sync" in name and change != "dropped":
            assert "PP606" in dbt.results[name]["message"]
            assert "No schema change was applied" in dbt.results[name]["message"]
    wanted = {n for n in models if "_ignore" in n and change == "nested"}
    assert not [n for n in wanted if dbt.statuses[n] == "success" and columns(dbt, n) != STORED]


def test_a_broken_delta_applies_no_schema_change(dbt: Any, models: list[str]) -> None:
    before = {name: columns(dbt, name) for name in models}
    failing = DELTAS["added"].replace("2L as id", "cast(raise_error('no') as bigint) as id")
    dbt.run("run", "--select", *models, *delta(failing))
    assert set(dbt.statuses.values()) == {"error"}
    assert {name: columns(dbt, name) for name in models} == before


def test_new_columns_arrive_with_the_rows_where_they_may(dbt: Any, models: list[str]) -> None:
    dbt.run("run", "--select", *models, *delta(DELTAS["added"]))
    for name in models:
        way, mode = name.split("_", 1)
        assert dbt.statuses[name] == ("error" if mode == "fail" else "success"), dbt.results[name]["message"]
        grown = {"append": [*STORED, *GROWN[2:]], "overwrite": [*STORED, *GROWN[2:]], "partitions": [*GROWN, STORED[2]]}
        expected = grown[way] if mode in ("append_new_columns", "sync_all_columns") else STORED
        assert columns(dbt, name) == expected, name
        found = [r for r in dbt.rows(name) if r[0] == 2]
        if mode != "fail":
            assert len(found) == 1, name
            assert ("n" in found[0]) == (expected != STORED), name
            assert len(dbt.rows(name)) == (1 if way == "overwrite" else 2), name
    assert "gets the column note string, after the audit" in dbt.log


def test_once_grown_the_next_delta_is_an_ordinary_one(dbt: Any, models: list[str]) -> None:
    grown = [n for n in models if "columns" in n]
    assert grown
    assert dbt.run("run", "--select", *grown, *delta(DELTAS["added"])).success, dbt.results
    assert all("PP607" not in str(dbt.reports[n]["findings"]) for n in grown)


@pytest.mark.conformance
def test_an_audit_that_fails_leaves_the_schema(dbt: Any) -> None:
    """The new column is promised NOT NULL and holds a null: found after the delta was staged."""
    dbt.write(
        {
            "models/promised.sql": MODEL.format(
                config="on_schema_change='append_new_columns'", first="select 1L as id"
            ),
            "models/promised.yml": """
                models:
                  - name: promised
                    config: {contract: {enforced: "{{ var('grown', false) }}"}}
                    columns:
                      - {name: id, data_type: bigint}
                      - {name: note, data_type: string, constraints: [{type: not_null}]}
                """,
        }
    )
    assert dbt.run("run", "--select", "promised", *delta("select 1")).success, dbt.results
    given = {"grown": True, "delta": "select id, if(id = 1, null, 'n') as note from range(3)"}
    assert not dbt.run("run", "--select", "promised", "--vars", json.dumps(given)).success
    assert "PP505" in dbt.results["promised"]["message"]
    assert columns(dbt, "promised") == [("id", "bigint")]
    given["delta"] = "select id, 'n' as note from range(3)"
    assert dbt.run("run", "--select", "promised", "--vars", json.dumps(given)).success, dbt.results
    assert columns(dbt, "promised") == [("id", "bigint"), ("note", "string")]
    assert dbt.rows("promised") == [(0, "n"), (1, "n"), (1, None), (2, "n")]


@pytest.mark.conformance
def test_overwriting_without_partitions_replaces_all_of_them_as_dbt_does(dbt: Any) -> None:
    """STATIC is Spark's default: the whole table goes, whatever partitions the delta holds."""
    for guarded, name in ((False, "plain"), (True, "gated")):
        rows = "select * from values (1, 'a'), (2, 'b') as v(id, d)"
        dbt.spark.sql("set spark.sql.sources.partitionOverwriteMode = STATIC")
        dbt.spark.sql(f"create table {dbt.schema}.{name} using parquet partitioned by (d) as {rows}")
        text = MODEL.format(config="incremental_strategy='insert_overwrite'", first="select 0 as id, 'z' as d")
        dbt.write({f"models/{name}.sql": text})
        sql = "select 3 as id, 'b' as d"
        assert dbt.run("run", "--select", name, *delta(sql), guarded=guarded).success, dbt.results
        assert dbt.rows(name) == [(3, "b")]
    assert dbt.spark.catalog.getTable(f"{dbt.schema}.gated").tableType == "MANAGED"
    dbt.spark.sql("set spark.sql.sources.partitionOverwriteMode = DYNAMIC")
    assert dbt.run("run", "--select", "gated", *delta("select 4 as id, 'c' as d")).success, dbt.results
    assert dbt.rows("gated") == [(3, "b"), (4, "c")]
