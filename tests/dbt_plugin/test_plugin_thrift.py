"""`dbt build` over Thrift: guarded where the server and this machine share files, and left to dbt where they do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dbt.adapters.spark")

from dbt_planproof.reach import _measure_distance
from planproof.session.protocol import SparkFailure
from planproof.session.store import LocalStore
from planproof_engine.origin import AnalysisError

MODELS = {
    "models/t.sql": """
        {{ config(materialized='table', file_format='parquet') }}
        select 1 as id, '{{ var('n') }}' as n, {{ var('bad') }} as b
        """,
    "models/i.sql": """
        {{ config(materialized='incremental', file_format='parquet', on_schema_change='append_new_columns') }}
        select {{ var('n') }} as id {% if is_incremental() %}, 'x' as more {% endif %}
        """,
    "models/p.sql": """
        {{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by='d',
                  file_format='parquet') }}
        select {{ var('n') }} as id, 'x' as d
        """,
    "models/v.sql": "{{ config(materialized='view') }} select id from {{ ref('t') }}",
    "models/models.yml": """
        models:
          - name: t
            config: {contract: {enforced: true}}
            columns:
              - {name: id, data_type: int, constraints: [{type: not_null}]}
              - {name: n, data_type: string}
              - {name: b, data_type: int, constraints: [{type: not_null}]}
        """,
}


class Server:
    """A session whose Spark writes to a disk of its own, or, where `shared`, to this one."""

    def __init__(self, error: Exception | None = None, shared: bool = False, store: Any = None) -> None:
        self.error, self.shared, self.store = error, shared, store

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        if self.error is not None:
            raise self.error
        _, folder, _, nonce, _ = sql.split("'")
        if self.shared:
            Path(folder).mkdir()
            Path(folder, "part-0.txt").write_text(f"{nonce}\n")
        return []


class Readable(LocalStore):
    """The files of a server that runs as another user."""

    def move(self, source: str, target: str) -> None:
        raise SparkFailure(f"cannot move {source}: Permission denied")


def test_a_server_whose_files_cannot_be_moved_from_here_is_told_apart(tmp_path: Path) -> None:
    def told(server: Any, root: str = str(tmp_path)) -> str:
        return str(_measure_distance(server, root))

    assert told(Server(shared=True)) == "None"
    assert "do not share" in told(Server())
    assert "there is no such path" in told(Server(AnalysisError("PATH_NOT_FOUND", "there is no such path")))
    assert list(tmp_path.iterdir()) == []
    assert "Permission denied" in told(Server(shared=True, store=Readable()))
    assert "only where Spark's driver is in dbt's process" in told(Server(), "s3://bucket/shop")


@pytest.mark.conformance
def test_models_are_staged_audited_and_published(thrift_dbt: Any) -> None:
    dbt = thrift_dbt
    dbt.write(MODELS)

    def build(n: int, bad: str) -> Any:
        return dbt.run("build", "--vars", json.dumps({"n": n, "bad": bad}))

    assert build(1, "7").success, dbt.results
    assert {name: r["strategy"] for name, r in dbt.reports.items()} == {
        "t": "rename",
        "i": "rename",
        "p": "rename",
        "v": "view",
    }
    assert build(2, "8").success, dbt.results
    strategies = {name: r["strategy"] for name, r in dbt.reports.items()}
    assert strategies == {"t": "location", "i": "append", "p": "partitions", "v": "view"}
    assert [dbt.rows(name) for name in "tipv"] == [[(1, "2", 8)], [(1, None), (2, "x")], [(2, "x")], [(1,)]]
    before = {name: dbt.state(name) for name in "tv"}
    assert not build(3, "if(id = 1, null, 1)").success
    assert (dbt.statuses["t"], dbt.statuses["v"]) == ("error", "skipped")
    assert "PP50" in dbt.results["t"]["message"]
    assert {name: dbt.state(name) for name in "tv"} == before
    assert [row[1] for row in dbt.ask(f"show tables in {dbt.schema}")] == ["i", "p", "t", "v"]


TESTED = {
    "models/tested.sql": """
        {{ config(materialized='table', file_format='parquet', meta={'planproof': {'tests': 'before'}}) }}
        select * from values (1, 'a'), ({{ var('id') }}, 'b') as v(id, s)
        """,
    "models/tested_view.sql": """
        {{ config(materialized='view', meta={'planproof': {'tests': 'before'}}) }}
        select id, s from {{ ref('tested') }} where id > 0
        """,
    "models/tested.yml": """
        models:
          - name: tested
            columns:
              - {name: id, data_tests: [unique, not_null]}
              - {name: s, data_tests: [{accepted_values: {values: [a, b]}}]}
          - name: tested_view
            columns: [{name: id, data_tests: [unique, {relationships: {to: ref('tested'), field: id}}]}]
        """,
}


@pytest.mark.conformance
def test_data_tests_run_before_the_publish(thrift_dbt: Any) -> None:
    dbt = thrift_dbt
    dbt.write(TESTED)

    def build(number: int) -> Any:
        return dbt.run(
            "build", "--select", "tested tested_view", "--vars", json.dumps({"n": 1, "bad": "1", "id": number})
        )

    assert build(2).success, dbt.results
    tests = {name: (r["status"], r["failures"], r["message"]) for name, r in dbt.results.items() if "_" in name}
    del tests["tested_view"]
    assert {found[:2] for found in tests.values()} == {("pass", 0)}
    assert all(message.startswith("pass (") for *_, message in tests.values()), tests
    before = dbt.state("tested")
    assert not build(1).success
    assert (dbt.statuses["tested"], dbt.statuses["tested_view"]) == ("error", "skipped")
    assert "unique_tested_id" in dbt.results["tested"]["message"]
    assert dbt.state("tested") == before


@pytest.mark.conformance
def test_a_place_that_is_out_of_reach_is_left_to_dbt(thrift_dbt: Any) -> None:
    thrift_dbt.write(
        {"models/far.sql": "{{ config(materialized='table', location_root='s3a://nowhere/shop') }} select 1 as id"}
    )
    thrift_dbt.run("run", "--select", "far")
    assert "planproof does not guard far: its files lie at s3a://nowhere/shop" in thrift_dbt.log
