"""dbt 2's own program compiles a project, offline; planproof checks, compares, freezes and runs what it left."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from planproof.project.check import check_project
from planproof.project.diff import compare_projects
from planproof.project.freeze import find_drift, freeze_relations, render_form
from planproof.project.manifest import read_project
from planproof.project.request import Request
from planproof.project.sources import read_frozen

DBT2 = os.environ.get("DBT2")
pytestmark = pytest.mark.skipif(DBT2 is None, reason="`make test-dbt2` names dbt 2's program")

FILES = {
    "dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\nmodel-paths: [models]\n"
    "seeds: {shop: {codes: {+delimiter: ';', +column_types: {id: int}}}}\n",
    "profiles.yml": "shop:\n  target: dev\n  outputs:\n    dev: {type: spark, method: thrift, host: localhost, "
    "port: 10000, schema: SCHEMA, user: me}\n",
    "models/schema.yml": """
version: 2
sources:
  - name: raw
    schema: SCHEMA
    tables: [{name: orders}]
seeds:
  - name: codes
    config: {meta: {planproof: {tests: before}}}
    columns: [{name: id, data_tests: [unique]}]
models:
  - name: mart
    config: {contract: {enforced: true}}
    columns:
      - {name: id, data_type: bigint, constraints: [{type: not_null}]}
      - {name: name, data_type: string}
""",
    "models/stg.sql": "{{ config(materialized='view') }}\nselect id, name from {{ source('raw', 'orders') }} "
    "where id is not null\n",
    "models/mart.sql": "{{ config(materialized='table') }}\nselect id, upper(name) as name from {{ ref('stg') }}\n",
    "seeds/codes.csv": "id;word;since\n1;one;2026-01-02\n2;;\n",
    "models/listed.sql": "{{ config(materialized='table') }}\nselect id, word, since from {{ ref('codes') }}\n",
    "models/grown.sql": "{{ config(materialized='incremental') }}\nselect id from {{ ref('stg') }}\n"
    "{% if is_incremental() %}where id > (select max(id) from {{ this }}){% endif %}\n",
}


@pytest.fixture
def compiled(tmp_path: Path, database: str) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text.replace("SCHEMA", database))
    compile_by_dbt2(tmp_path)
    return tmp_path


def compile_by_dbt2(project: Path) -> None:
    """Without a connection it leaves incremental models without a text, and ends with an error."""
    command = [str(DBT2), "compile", "--no-introspect", "--project-dir", str(project), "--profiles-dir", str(project)]
    env = {**os.environ, "DBT_ALLOW_EXPERIMENTAL_ADAPTERS": "true"}
    subprocess.run(command, cwd=project, env=env, capture_output=True, timeout=120, check=False)
    assert (project / "target/manifest.json").exists()


def test_what_dbt_2_compiled_is_frozen_checked_run_and_compared(
    compiled: Path, session: Any, spark: Any, database: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    spark.sql(f"create table {database}.orders (id bigint, name string) using parquet")
    spark.sql(f"insert into {database}.orders values (1, 'a'), (2, 'b'), (null, 'c')")
    project = read_project(compiled)
    assert project.dbt_version.startswith("2.")
    file = compiled / "planproof_sources.json"
    file.write_text(render_form(freeze_relations(project, session)[0]))
    noted: list[str] = []
    reports = {r.details.name: r for r in check_project(project, on_remark=noted.append)}
    verdicts = {name: r.verdict.value for name, r in reports.items()}
    assert verdicts == {"stg": "proved", "mart": "proved", "listed": "unproved"}, "the seed was not loaded yet"
    assert noted[0].startswith("1 model is not compiled and was not judged: model.shop.grown")
    assert reports["stg"].details.file == "models/stg.sql"

    manifest = str(compiled / "target/manifest.json")
    run = Request("run", project_dir=str(compiled), manifest=manifest, select=("stg", "mart"))
    assert [(r.details.name, r.outcome) for r in run.reports(session)] == [("stg", "published"), ("mart", "published")]
    assert [tuple(row) for row in spark.table(f"{database}.mart").orderBy("id").collect()] == [(1, "A"), (2, "B")]

    older = tmp_path_factory.mktemp("older") / "manifest.json"
    shutil.copy(manifest, older)
    mart = compiled / "models/mart.sql"
    mart.write_text(mart.read_text().replace("upper(name) as name", "cast(null as string) as name"))
    stg = compiled / "models/stg.sql"
    stg.write_text(stg.read_text().replace("select id, name", "select cast(id as int) as id, name"))
    compile_by_dbt2(compiled)
    found = compare_projects(read_project(older), read_project(compiled), frozen=file)
    assert ("stg", "id", "type narrowed") in {(c.relation.rpartition(".")[2], c.column, c.what) for c in found.changes}

    spark.sql(f"drop table {database}.orders")
    spark.sql(f"create table {database}.orders (id bigint) using parquet")
    [gone] = find_drift(read_project(compiled), session, read_frozen(project, file)).changes
    assert (gone.column, gone.what) == ("name", "column removed")
    assert gone.reaches == (f"{database}.stg.name",)


def test_a_seed_and_what_reads_it_are_published_and_a_broken_test_stops_both(
    compiled: Path, session: Any, spark: Any, database: str
) -> None:
    manifest = str(compiled / "target/manifest.json")
    run = Request("run", project_dir=str(compiled), manifest=manifest, select=("codes+",))
    assert [(r.details.name, r.outcome) for r in run.reports(session)] == [
        ("codes", "published"),
        ("listed", "published"),
    ]
    listed = spark.table(f"{database}.listed")
    assert listed.dtypes == [("id", "int"), ("word", "string"), ("since", "date")]
    assert [(row.id, row.word, str(row.since)) for row in listed.orderBy("id").collect()] == [
        (1, "one", "2026-01-02"),
        (2, None, "None"),
    ]
    (compiled / "seeds/codes.csv").write_text("id;word;since\n1;one;\n1;again;\n")
    codes, reader = run.reports(session)
    assert (codes.outcome, reader.outcome) == ("rejected", "skipped")
    assert spark.table(f"{database}.codes").count() == 2
    assert {finding.code for finding in codes.findings if finding.verdict.value == "violated"} == {"PP513"}
