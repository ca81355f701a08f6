"""dbt over tables that take MERGE, bare and guarded, in a process of its own: its session's catalog is `RowLevel`.

Run as `python builds.py HOME CLASSES`. Prints a line of JSON for each command: what dbt said of each node, and what
each relation holds then, once bare and once guarded.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

SWAPPED = """{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
select id, {% if var('nulls', false) %}if(id = 3, null, name) as{% endif %} name from {{ ref('now') }}"""
FILES = {
    "dbt_project.yml": """
name: shop
version: "1.0"
profile: shop
flags: {send_anonymous_usage_stats: false, use_colors: false}
models: {+file_format: iceberg, +persist_docs: {relation: true, columns: true}}
seeds: {+file_format: iceberg}
snapshots: {+file_format: iceberg, +unique_key: id}
""",
    "profiles.yml": """
shop:
  target: dev
  outputs:
    dev: {type: spark, schema: SCHEMA, threads: 2, method: session, host: NA}
    other: {type: spark, schema: SCHEMA_other, threads: 2, method: session, host: NA}
""",
    "seeds/raw.csv": "id,name\n1,a\n2,b\n",
    "models/now.sql": """{{ config(materialized='view') }}
select * from values {% if var('round', 1) == 1 %} (1, 'a', date'2024-01-01'), (2, 'b', date'2024-01-01')
{% else %} (2, 'B', date'2024-02-01'), (3, 'c', date'2024-02-01') {% endif %} as t(id, name, at)""",
    "models/whole.sql": """{{ config(materialized='table') }}
select id, name{% if var('broken', false) %}, 1 as more{% endif %} from {{ ref('now') }}""",
    "models/merged.sql": """{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id',
  on_schema_change='append_new_columns') }}
select {% if var('broken', false) %}string(id) as{% endif %} id, {% if var('nulls', false) %}if(id = 3, null, name) as
{% endif %} name{% if var('round', 1) > 2 %}, 'n' as note{% endif %} from {{ ref('now') }}""",
    "models/some.sql": """{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id',
  merge_update_columns=['at']) }}
select id, {% if var('nulls', false) %}if(id = 2, null, name) as{% endif %} name, at from {{ ref('now') }}""",
    "models/swapped.sql": SWAPPED,
    "models/peeked.sql": SWAPPED,
    "models/hooked.sql": """{{ config(materialized='incremental', incremental_strategy='append',
  pre_hook="{% if is_incremental() %} delete from {{ this }} where id > 1 {% else %} select 1 {% endif %}") }}
select id, {% if var('nulls', false) %}if(id = 3, null, name) as{% endif %} name from {{ ref('now') }}""",
    # What projects write for themselves where they miss delete and insert: two statements.
    "macros/swap.sql": """
{% macro get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates=none) %}
{% if target.identifier not in ('swapped', 'peeked') %}
{{ spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) }}
{% else %}
{% do run_query('delete from ' ~ target ~ ' where id in (select id from ' ~ source ~ ')') %}
{% if target.identifier == 'peeked' %}{% do run_query('select count(*) from ' ~ target) %}{% endif %}
{% set names = adapter.get_columns_in_relation(target) | map(attribute='name') | join(', ') %}
insert into {{ target }} ({{ names }}) (select {{ names }} from {{ source }})
{% endif %}
{% endmacro %}""",
    "models/synced.sql": """{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id',
  on_schema_change='sync_all_columns') }}
select id, name{% if var('round', 1) > 1 %}, 'n' as note{% endif %} from {{ ref('now') }}""",
    "models/appended.sql": """{{ config(materialized='incremental', on_schema_change='append_new_columns') }}
select id{% if var('round', 1) > 1 %}, 'n' as note{% endif %} from {{ ref('now') }}""",
    "models/below.sql": """{{ config(materialized='table', file_format='parquet') }}
select id, name from {{ ref('merged') }}""",
    "models/cloned.sql": "{{ config(materialized='table', file_format='delta') }} select id from {{ ref('now') }}",
    "models/models.yml": """
models:
  - name: whole
    description: "it's whole"
    config: {contract: {enforced: true}}
    columns:
      - {name: id, data_type: int, description: key, constraints: [{type: not_null}]}
      - {name: name, data_type: string}
  - name: merged
    config: {contract: {enforced: true}}
    columns:
      - {name: id, data_type: int, data_tests: [unique]}
      - {name: name, data_type: string, constraints: [{type: not_null}, {type: check, expression: "length(name) < 9"}]}
  - name: swapped
    config: {contract: {enforced: true}, on_schema_change: append_new_columns}
    columns: &named
      - {name: id, data_type: int}
      - {name: name, data_type: string, constraints: [{type: not_null}]}
  - name: peeked
    config: {contract: {enforced: true}, on_schema_change: append_new_columns}
    columns: *named
  - name: hooked
    config: {contract: {enforced: true}, on_schema_change: append_new_columns}
    columns: *named
  - name: some
    config: {contract: {enforced: true}, on_schema_change: append_new_columns}
    columns:
      - {name: id, data_type: int}
      - {name: name, data_type: string, constraints: [{type: not_null}]}
      - {name: at, data_type: date}
""",
    "snapshots/kept.yml": """
snapshots:
  - {name: by_time, relation: ref('now'), config: {strategy: timestamp, updated_at: at}}
  - {name: by_check, relation: ref('now'), config: {strategy: check, check_cols: [name]}}
  - {name: gone, relation: ref('now'), config: {strategy: timestamp, updated_at: at, hard_deletes: invalidate}}
""",
    # Delta's own grammar; what dbt does around it is the same.
    "macros/clone.sql": """{% macro spark__create_or_replace_clone(this_relation, defer_relation) %}
create or replace table {{ this_relation }} using delta as select * from {{ defer_relation }}
{% endmacro %}""",
}
CLONE = ("clone", "--state", "state", "--target", "other", "--select", "cloned")
COMMANDS = {
    "seeded": ("seed",),
    "first": ("build",),
    "second": ("build", "--vars", "{round: 2}"),
    "again": ("build", "--vars", "{round: 2}"),
    "gone": ("snapshot", "--vars", "{round: 1}"),
    "types": ("run", "--vars", "{round: 2, broken: true}"),
    "nulls": ("run", "--vars", "{round: 2, nulls: true}"),
    "whole": ("build", "--full-refresh"),
    "cloned": CLONE,
    "cloned again": (*CLONE, "--full-refresh"),
}


def session(home: Path, classes: str) -> Any:
    from pyspark.sql import SparkSession

    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        # A machine that sleeps, or stops it for a while, loses nothing.
        "spark.network.timeout": "3600s",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.driver.extraClassPath": classes,
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={home}",
        "spark.sql.catalog.spark_catalog": "RowLevel",
        "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:rows;create=true",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
    }
    builder = SparkSession.builder.enableHiveSupport()
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def ran(root: Path, way: str, command: tuple[str, ...]) -> dict[str, Any]:
    """What dbt says of each node: its status and its message."""
    from dbt.cli.main import dbtRunner

    os.environ["PLANPROOF"] = "on" if way == "guarded" else "off"
    if "state" in command and not (root / "state").exists():
        shutil.copytree(root / "target", root / "state")
    given = [str(root / word) if word == "state" else word for word in command]
    result = dbtRunner().invoke([*given, "--quiet", "--project-dir", str(root), "--profiles-dir", str(root)])
    if result.exception is not None:
        raise result.exception
    return {r.node.name: [str(r.status), str(r.message)] for r in result.result.results}


def held(spark: Any, schema: str) -> dict[str, Any]:
    """Columns, comments, format and rows of each relation, but for the times at which dbt ran."""
    found = {}
    for name in [row.tableName for row in spark.sql(f"show tables in {schema}").collect() if not row.isTemporary]:
        spark.catalog.refreshTable(f"{schema}.{name}")
        frame = spark.table(f"{schema}.{name}")
        lines = [tuple(r) for r in spark.sql(f"describe table extended {schema}.{name}").collect()]
        about = [r for r in lines if r[0] in ("Type", "Provider", "Comment")]
        rows = [
            {k: v is None if k.startswith("dbt_") else str(v) for k, v in row.asDict().items()}
            for row in frame.collect()
        ]
        found[name] = [lines[: len(frame.columns)], about, sorted(rows, key=str)]
    return found


def main(home: str, classes: str) -> None:
    where = Path(home)
    spark = session(where, classes)
    for way in ("bare", "guarded"):
        for schema in (way, f"{way}_other"):
            spark.sql(f"create database {schema}")
        for name, text in FILES.items():
            path = where / way / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("SCHEMA", way), "utf-8")
    for name, command in COMMANDS.items():
        for way in ("bare", "guarded"):
            nodes = ran(where / way, way, command)
            relations = {**held(spark, way), **{f"other.{k}": v for k, v in held(spark, f"{way}_other").items()}}
            record = where / way / "target/planproof/report.json"
            reports = json.loads(record.read_text("utf-8"))["reports"] if record.exists() else []
            record.unlink(missing_ok=True)
            outcomes = [[r["model"].split(".")[-1], r["outcome"], r["verdict"]] for r in reports]
            print("ROWS " + json.dumps([name, way, nodes, relations, outcomes], default=str), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
