"""What people do with dbt, once bare and once guarded: the outcome, the relations and their rows are the same."""

from __future__ import annotations

import importlib
import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.conformance
PROJECT = """
    name: shop
    version: "1.0"
    profile: shop
    flags: {send_anonymous_usage_stats: false, use_colors: false}
    models:
      +file_format: parquet
      +persist_docs: {relation: true, columns: true}
    seeds:
      +file_format: parquet
    on-run-end: ["select 1"]
    """
PROFILE = """
    shop:
      target: dev
      outputs:
        dev: {type: spark, schema: SCHEMA, threads: 4, method: session, host: NA}
        other: {type: spark, schema: SCHEMA_other, threads: 1, method: session, host: NA}
    """
FILES = {
    "seeds/raw.csv": "id,name,at\n1,a,2024-01-01\n2,b,2024-01-02\n3,c,2024-01-03\n",
    "models/sources.yml": """
        sources:
          - name: raw
            schema: "{{ target.schema }}"
            tables:
              - name: raw
                config:
                  loaded_at_field: "cast(at as timestamp)"
                  freshness: {error_after: {count: 1, period: day}}
        """,
    "models/first.sql": """
        {{ config(materialized='table') }} select id, name, cast(at as date) as at from {{ ref('raw') }}
        """,
    "models/passing.sql": """
        {{ config(materialized='ephemeral') }} select id + 1 as id, name, at from {{ ref('first') }}
        """,
    "models/shown.sql": "{{ config(materialized='view') }} select id, name from {{ ref('passing') }} -- end",
    "models/parts.sql": """
        {{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by=['d']) }}
        select id, name, cast(at as string) as d from {{ ref('first') }}
        {% if is_incremental() %} where id > 1 {% endif %}
        """,
    "models/grows.sql": """
        {{ config(materialized='incremental', on_schema_change='append_new_columns') }}
        select id, name {% if is_incremental() %}, 'n' as note{% endif %} from {{ ref('first') }}
        """,
    "models/batched.sql": """
        {{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at', begin='2024-01-01',
           batch_size='year', lookback=1, partition_by=['at']) }}
        select id, name, at from {{ ref('first') }}
        """,
    "models/merged.sql": """
        {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
        select id, name from {{ ref('first') }}
        """,
    "models/hooked.sql": """
        {{ config(materialized='table', pre_hook="create or replace temporary view before_it as select 7 as id",
           post_hook="alter table {{ this }} set tblproperties ('by' = 'hook')", tags=['t']) }}
        select id from before_it
        """,
    "models/granted.sql": "{{ config(materialized='table', grants={'select': ['ada']}) }} select 1 as id",
    "models/fails.sql": """
        {{ config(materialized='table') }}
        select {% if var('broken', false) %} no_such_column {% else %} id {% endif %} from {{ ref('first') }}
        """,
    "models/after.sql": "{{ config(materialized='table') }} select * from {{ ref('fails') }}",
    "models/py.py": "def model(dbt, session):\n    dbt.config(materialized='table')\n    return dbt.ref('first')\n",
    "snapshots/kept.yml": """
        snapshots:
          - name: kept
            relation: ref('first')
            config: {strategy: timestamp, unique_key: id, updated_at: at, file_format: parquet}
        """,
    "models/models.yml": """
        models:
          - name: first
            description: "the first; it's 'quoted'"
            config: {contract: {enforced: true}, event_time: at}
            columns:
              - {name: id, data_type: bigint, description: the key, data_tests: [unique, not_null]}
              - {name: name, data_type: string, data_tests: [{accepted_values: {arguments: {values: [a, b, c]}}}]}
              - {name: at, data_type: date}
          - name: shown
            description: what is shown
            columns: [{name: id, description: one more}]
          - name: fails
            columns: [{name: id, data_tests: [not_null]}]
        unit_tests:
          - name: one_more
            model: shown
            given: [{input: ref('passing'), rows: [{id: 1, name: x}]}]
            expect: {rows: [{id: 1, name: x}]}
        """,
    "tests/none.sql": "select * from {{ ref('first') }} where id is null",
    "macros/operation.sql": "{% macro operation() %}{% do run_query('select 1') %}{% endmacro %}",
}
NEIGHBOUR = """
from dbt.plugins import dbtPlugin

started = []


class Neighbour(dbtPlugin):
    def initialize(self):
        started.append(self.project_name)


plugins = [Neighbour]
"""
COMMANDS = (
    ("deps",),
    ("debug",),
    ("parse",),
    ("list",),
    ("seed",),
    ("build", "--exclude", "py"),
    ("run", "--exclude", "py"),
    ("build", "--exclude", "py", "--vars", "{broken: true}"),
    ("retry",),
    ("run", "--full-refresh", "--exclude", "py", "merged"),
    ("run", "--empty", "--exclude", "py", "merged"),
    ("run", "--sample", "900 days", "--exclude", "py", "merged"),
    ("run", "--exclude", "py", "merged"),
    ("run", "--select", "batched", "--event-time-start", "2024-01-01", "--event-time-end", "2025-01-01"),
    ("run", "--select", "py"),
    ("snapshot",),
    ("snapshot",),
    ("test",),
    ("test", "--store-failures"),
    ("compile",),
    ("show", "--select", "first"),
    ("show", "--inline", "select * from {{ ref('first') }}", "--limit", "2"),
    ("source", "freshness"),
    ("docs", "generate"),
    ("run-operation", "operation"),
    ("build", "--select", "state:modified+", "--state", "kept_state"),
    ("clone", "--state", "kept_state", "--target", "other"),
    ("run", "--select", "after", "--defer", "--state", "kept_state", "--target", "other"),
    ("build", "--select", "after", "--defer", "--favor-state", "--state", "kept_state", "--target", "other"),
    ("run", "--select", "tag:t", "--threads", "1", "--no-partial-parse"),
    ("seed", "--full-refresh"),
)


@pytest.fixture
def both(spark: Any, dbt: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    made = []
    for way in ("bare", "guarded"):
        project = type(dbt)(tmp_path_factory.mktemp(way), spark)
        spark.sql(f"create database {project.schema}_other")
        profile = PROFILE.replace("SCHEMA", project.schema)
        project.write({"dbt_project.yml": PROJECT, "profiles.yml": profile, **FILES})
        made.append(project)
    yield made[0], made[1]
    for project in made:
        for schema in (project.schema, f"{project.schema}_other"):
            spark.sql(f"drop database if exists {schema} cascade")


def told(result: Any, project: Any) -> Any:
    """What dbt's caller gets to know, without the names that differ."""
    nodes = getattr(result.result, "results", None) or []
    found = [
        (str(getattr(n.node, "unique_id", "")), str(n.status), _plain(str(n.message or ""), project))
        for n in nodes
        if hasattr(n, "status") and hasattr(n, "node")
    ]
    return result.success, type(result.exception).__name__, sorted(found)


def _plain(message: str, project: Any) -> str:
    first = message.replace(project.schema, "SCHEMA").replace(str(project.root), "ROOT").splitlines()[:1]
    return re.sub(r"[0-9a-f-]{36}|\d\d:\d\d:\d\d|[0-9.]+s|planproof stopped.*", "", first[0]) if first else ""


def stored(spark: Any, project: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for schema in (project.schema, f"{project.schema}_other"):
        spark.catalog.setCurrentDatabase("default")
        for row in spark.sql(f"show tables in {schema}").collect():
            if row.isTemporary:
                continue
            name = f"{schema}.{row.tableName}"
            spark.catalog.refreshTable(name)
            frame = spark.table(name)
            lines = [tuple(r) for r in spark.sql(f"describe table extended {name}").collect()]
            about = {r[0]: r[1] for r in lines if r[0] in ("Type", "Provider", "Comment", "Num Buckets")}
            columns = [(r[0], r[1], r[2]) for r in lines[: len(frame.columns)]]
            properties = {
                r[0]: r[1]
                for r in spark.sql(f"show tblproperties {name}").collect()
                if not r[0].startswith(("view.", "transient", "spark.", "totalSize", "num", "raw", "last_mod"))
            }
            rows = sorted(str(tuple(r)) for r in frame.collect())
            found[name.replace(project.schema, "SCHEMA")] = (about, columns, properties, rows)
    return found


def test_nothing_differs_but_what_is_stopped(
    both: tuple[Any, Any], spark: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dbt_neighbour.py").write_text(NEIGHBOUR, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    bare, guarded = both
    for command in COMMANDS:
        answers = []
        for project in both:
            if "kept_state" in command and not (project.root / "kept_state").exists():
                shutil.copytree(project.root / "target", project.root / "kept_state")
            given = [str(project.root / word) if word == "kept_state" else word for word in command]
            answers.append(told(project.run(*given, guarded=project is guarded), project))
        assert answers[0] == answers[1], command
        left, right = stored(spark, bare), stored(spark, guarded)
        if "SCHEMA.fails" not in left:
            # dbt has dropped it before its query failed.
            right.pop("SCHEMA.fails", None)
        assert left == right, command
    assert importlib.import_module("dbt_neighbour").started
