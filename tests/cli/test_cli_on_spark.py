"""`planproof run`, `audit` and `recover` with real dbt and real Spark."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof.project.location import OWN_TARGET
from planproof.report.run import RunReport
from planproof_engine.finding import Verdict

pytestmark = pytest.mark.hive

SCHEMA = """
models:
  - name: stg
    config: {persist_docs: {relation: true, columns: true}}
    description: What came in
    columns:
      - {name: total, description: "Ada's total"}
  - name: mart
    config: {contract: {enforced: true}, persist_docs: {columns: true}}
    columns:
      - {name: id, data_type: bigint, constraints: [{type: not_null}], description: dbt gives it to no Parquet table}
      - {name: total, data_type: int, constraints: [{type: not_null}]}
"""
MODELS = {
    "stg.sql": "{{ config(materialized='view') }}\nselect * from values (1L, 10), (2L, 20) as t(id, total)\n",
    "mart.sql": "\n{{ config(materialized='table') }}\n"
    "select\n  id,\n  {{ 'nullif(total, 20)' if var('broken', false) else 'total' }} as total\nfrom {{ ref('stg') }}\n",
    "child.sql": "{{ config(materialized='table') }}\nselect sum(total) as s from {{ ref('mart') }}\n",
    "log.sql": "{{ config(materialized='incremental') }}\nselect id from {{ ref('mart') }}\n"
    "{% if is_incremental() %}where id > (select max(id) from {{ this }}){% endif %}\n",
}


@pytest.fixture
def project(tmp_path, spark, database):
    pytest.importorskip("dbt.adapters.spark")
    (tmp_path / "dbt_project.yml").write_text(
        "name: shop\nversion: '1.0'\nprofile: shop\nflags: {send_anonymous_usage_stats: false}\n"
    )
    target = {"type": "spark", "method": "session", "host": "NA", "schema": database, "threads": 1}
    profiles = {"shop": {"target": "dev", "outputs": {"dev": target}}}
    (tmp_path / "profiles.yml").write_text(json.dumps(profiles))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "schema.yml").write_text(SCHEMA)
    for name, text in MODELS.items():
        (tmp_path / "models" / name).write_text(text)
    return tmp_path


def invoke(project, *args):
    return CliRunner().invoke(cli, [args[0], "--project-dir", str(project), *args[1:]])


def test_a_project_is_run_broken_audited_and_run_from_an_older_compile(project, spark, database):
    (project / "target" / "planproof" / "dbt").mkdir(parents=True)
    (project / "target" / "manifest.json").write_text("the whole project's")
    healthy = invoke(project, "run")
    assert (project / "target" / "manifest.json").read_text() == "the whole project's"
    assert healthy.exit_code == 0, healthy.output
    assert "4 models · 4 published" in healthy.stdout
    assert spark.table(f"{database}.log").count() == 2
    comments = {c.name: c.description for c in spark.catalog.listColumns(f"{database}.stg")}
    assert comments == {"id": None, "total": "Ada's total"}
    manifest = str(shutil.copy(project / "target" / OWN_TARGET / "manifest.json", project / "older.json"))

    broken = invoke(project, "run", "--vars", "{broken: true}", "--json", "--html", str(project / "out.html"))
    assert broken.exit_code == 1, broken.output
    report = RunReport.from_json(broken.stdout)
    assert report == RunReport.from_json((project / "target" / "planproof" / "report.json").read_text())
    assert {r.details.name: (bool(r.planes), r.details.plan is not None) for r in report.reports} == {
        **dict.fromkeys(("child", "log", "stg"), (False, False)),
        "mart": (True, False),
    }, "the record says of a healthy model what it found, and --verbose says what was read"
    outcomes = {r.details.name: r.outcome for r in report.reports}
    assert outcomes == {"stg": "published", "mart": "rejected", "child": "skipped", "log": "skipped"}
    assert "with its 2 rows" in (project / "out.html").read_text()
    assert [tuple(row) for row in spark.table(f"{database}.mart").orderBy("id").collect()] == [(1, 10), (2, 20)]

    again = invoke(project, "run", "--select", "log")
    assert again.exit_code == 0, again.output
    assert spark.table(f"{database}.log").count() == 2

    shutil.copy(manifest, project / "target" / "manifest.json")
    audit = invoke(project, "audit", "mart")
    assert audit.exit_code == 0, audit.output
    assert "2 rows" in audit.stdout
    spark.sql(f"insert into {database}.mart values (3, null)")
    assert invoke(project, "audit").exit_code == 1
    nothing = invoke(project, "audit", "--select", "state:modified", "--state", str(project / "target"))
    assert (nothing.exit_code, nothing.stdout.startswith("nothing to audit")) == (0, True), nothing.output

    refused = invoke(project, "run", "--manifest", manifest)
    assert refused.exit_code == 2
    assert "log: incremental" in refused.stderr
    older = invoke(project, "run", "--manifest", manifest, "--select", "stg")
    assert older.exit_code == 0, older.output

    recovered = invoke(project, "recover")
    assert recovered.exit_code == 0, recovered.output
    assert "nothing to recover" in recovered.stdout
    assert f"target dev of {project}/profiles.yml: looked in " in recovered.stdout
    assert f"{database}.db" in recovered.stdout


def test_a_database_that_is_not_there_is_made_as_dbt_makes_it(project, spark, database):
    (project / "models" / "stg.sql").write_text(
        "{{ config(schema='new', materialized='table') }} select 1L id, 2 total"
    )
    try:
        ran = invoke(project, "run", "--select", "stg")
        assert ran.exit_code == 0, ran.output
        assert spark.table(f"{database}_new.stg").collect() == [(1, 2)]
    finally:
        spark.sql(f"drop database if exists {database}_new cascade")


def test_a_path_is_audited_against_an_inline_contract(project, spark, tmp_path):
    spark.sql("select 1L as id, cast(null as string) as note").write.parquet(str(tmp_path / "files"))
    (tmp_path / "c.yml").write_text("columns: [{name: id, type: bigint, nullable: false}, {name: note, type: string}]")
    found = invoke(project, "audit", str(tmp_path / "files"), "--contract", str(tmp_path / "c.yml"))
    assert found.exit_code == 0, found.output
    (tmp_path / "c.yml").write_text("columns: [{name: id, type: int}, {name: note, type: string, nullable: false}]")
    broken = invoke(project, "audit", str(tmp_path / "files"), "--contract", str(tmp_path / "c.yml"), "--json")
    assert broken.exit_code == 1
    report = RunReport.from_json(broken.stdout).reports[0]
    assert {(f.code, f.field) for f in report.findings if f.verdict.value == "violated"} == {
        ("PP504", "id"),
        ("PP505", "note"),
    }


def test_a_project_that_dbt_cannot_compile(project):
    (project / "models" / "bad.sql").write_text("select * from {{ ref('nobody') }}")
    found = invoke(project, "run")
    assert found.exit_code == 2
    assert "depends on a node named 'nobody'" in found.stderr
    assert "internal error" not in found.stderr


def test_python_functions_of_a_module_stand_in_lambdas(project, spark, database):
    (project / "project_udfs.py").write_text(
        "import pyarrow.compute as pc\nfrom planproof import Function\n\n\n"
        "def discounted(price, rate):\n    return pc.multiply(price, pc.subtract(1.0, rate))\n\n\n"
        "FUNCTIONS = {'discounted': Function(discounted, 'double')}\n"
    )
    models = project / "models"
    for name in MODELS:
        (models / name).unlink()
    (models / "schema.yml").write_text(
        "models:\n  - name: prices\n    config: {contract: {enforced: true}}\n    columns:\n"
        "      - {name: id, data_type: bigint}\n      - {name: paid, data_type: array<double>}\n"
    )
    query = "select transform(array(10D, 20D), p -> discounted(p, 0.5D)) as paid, 1L as id"
    (models / "prices.sql").write_text(f"{{{{ config(materialized='table') }}}}\n{query}\n")
    found = invoke(project, "run", "--functions", "project_udfs:FUNCTIONS")
    assert found.exit_code == 0, found.output
    assert [tuple(row) for row in spark.table(f"{database}.prices").collect()] == [(1, [5.0, 10.0])]
    for given, said in {
        "project_udfs": "is not module:name",
        "no_such:X": "cannot import",
        "json:X": "has no X",
    }.items():
        refused = invoke(project, "run", "--functions", given)
        assert (refused.exit_code, said in refused.output) == (2, True), refused.output


def test_a_compile_that_is_older_than_its_files_is_seen(project):
    from dbt_planproof.compiler import compile_project

    (project / "macros").mkdir()
    macro = "\n{% macro doubled(x) -%}\n  {{ x }} * 2\n{%- endmacro %}\n"
    (project / "macros" / "arithmetic.sql").write_text(macro)
    (project / "models" / "child.sql").write_text("select sum({{ doubled('total') }}) as s from {{ ref('stg') }}")
    compile_project(project, project)

    def check(*args):
        done = invoke(project, "check", "--json", *args)
        reports = {r.details.name: r for r in RunReport.from_json(done.stdout).reports}
        said = {name: [f.message for f in r.findings if f.code == "PP112"] for name, r in reports.items()}
        return done.exit_code, reports, {name: messages[0] for name, messages in said.items() if messages}

    code, reports, stale = check()
    assert (code, stale) == (0, {})
    assert "PP505" in {f.code for f in reports["mart"].findings}

    # What lies in the way of a line's end is no change; another text is, and those that read it are told.
    (project / "models" / "stg.sql").write_bytes(MODELS["stg.sql"].replace("\n", "\r\n").encode() + b"\n\n")
    assert check()[2] == {}
    (project / "models" / "stg.sql").write_text(MODELS["stg.sql"].replace("(2L, 20)", "('x', null)"))
    code, reports, stale = check()
    assert code == 0
    assert stale["stg"] == "models/stg.sql changed since dbt compiled it"
    assert stale["mart"].startswith("it reads ")
    assert "models/stg.sql changed" in stale["mart"]
    assert {report.verdict.value for report in reports.values()} == {"unproved"}

    (project / "models" / "stg.sql").write_text(MODELS["stg.sql"])
    (project / "macros" / "arithmetic.sql").write_text(macro.replace("* 2", "* 3"))
    assert list(check()[2]) == ["child"]
    (project / "macros" / "arithmetic.sql").write_text(macro)
    later = (project / "models" / "schema.yml").stat().st_mtime + 3600
    for change, said in {
        "total, data_type: int": "(the type of `total`)",
        "constraints: [{type: not_null}]}": "(the constraints of `total`)",
        "- {name: id, data_type: bigint, constraints: [{type: not_null}], d": "(column `it`)",
        "{contract: {enforced: true}, persist": "(its contract)",
    }.items():
        text = SCHEMA
        assert change in text
        other = change.replace("int", "long").replace("not_null", "unique").replace("true", "false").replace("id", "it")
        (project / "models" / "schema.yml").write_text(text.replace(change, other))
        os.utime(project / "models" / "schema.yml", (later, later))
        assert said in check()[2]["mart"]

    # --compile sees the files as they are, and leaves the manifest of the whole project alone.
    (project / "models" / "schema.yml").write_text(SCHEMA.replace("total, data_type: int", "total, data_type: string"))
    before = (project / "target" / "manifest.json").read_bytes()
    code, reports, stale = check("--compile")
    assert (code, stale) == (1, {})
    assert {f.code for f in reports["mart"].of(Verdict.VIOLATED)} == {"PP504"}
    assert (project / "target" / "manifest.json").read_bytes() == before


def test_hooks_and_grants_run_where_dbt_runs_them(project, spark, database):
    """A model reads what its pre-hook makes; what fails behind a publish fails the model, with its new table in place.
    Spark alone knows no grants: what it says of them is the model's error, as it is dbt's."""
    models = project / "models"
    for name in [*MODELS, "schema.yml"]:
        (models / name).unlink()
    with (project / "dbt_project.yml").open("a") as file:
        file.write(
            f"on-run-start: create table {database}.ran (id int) using parquet\n"
            f"on-run-end: ['drop table {database}.ran', '{{{{ log(1) }}}}']\n"
        )
    texts = {
        "hooked": "{{ config(materialized='table',\n"
        "  pre_hook='create or replace temporary view fed as select 7L as id',\n"
        f"  post_hook='create table {database}.seen using parquet as select * from {database}.hooked') }}}}\n"
        "select id from fed",
        "late": "{{ config(materialized='table', post_hook='select * from nowhere') }}\nselect 2 as id",
        "below": "{{ config(materialized='view') }}\nselect id from {{ ref('late') }}",
        "early": "{{ config(materialized='table', pre_hook='select * from nowhere') }}\nselect 3 as id",
        "granted": "{{ config(materialized='table', grants={'select': ['ada']}) }}\nselect 4 as id",
    }
    for name, text in texts.items():
        (models / f"{name}.sql").write_text(text)
    found = invoke(project, "run", "--json", "--threads", "2")
    assert found.exit_code == 2, found.output
    report = RunReport.from_json(found.stdout)
    outcomes = {r.details.name: (r.outcome, bool(r.details.published)) for r in report.reports}
    assert outcomes == {
        "hooked": ("published", False),
        "late": ("failed", True),
        "below": ("skipped", False),
        "early": ("failed", False),
        "granted": ("failed", True),
    }
    errors = {r.details.name: r.error for r in report.reports}
    assert "the post-hook failed: [TABLE_OR_VIEW_NOT_FOUND]" in errors["late"]
    assert "a grant failed: " in errors["granted"]
    assert f"grant select on `{database}`.`granted` to `ada`" in errors["granted"]
    assert report.remarks == ("on-run-end `{{ log(1) }}` has Jinja, which only dbt renders; it is not run",)
    assert [tuple(row) for row in spark.table(f"{database}.seen").collect()] == [(7,)]
    tables = {table.name for table in spark.catalog.listTables(database) if not table.isTemporary}
    spark.catalog.dropTempView("fed")
    assert tables == {"hooked", "seen", "late", "granted"}


@pytest.fixture
def compiled_by_dbt_2(project, database, dbt_manifest, monkeypatch):
    """What dbt 2 leaves of the project, with compiled texts in files, where dbt 1 is not installed.

    Called with what the incremental model's branch printed; returns the project's folder.
    """
    monkeypatch.setitem(sys.modules, "dbt.cli.main", None)
    raw = {name.partition(".")[0]: text.strip() for name, text in MODELS.items()}
    kinds = {"stg": "view", "mart": "table", "child": "table", "log": "incremental"}
    parents = {"stg": [], "mart": ["stg"], "child": ["mart"], "log": ["mart"]}

    def write(printed: str) -> Path:
        compiled = {
            "stg": "select * from values (1L, 10), (2L, 20) as t(id, total)",
            "mart": f"select\n  id,\n  total as total\nfrom {database}.stg",
            "child": f"select sum(total) as s from {database}.mart",
            "log": f"select id from {database}.mart\n{printed}",
        }
        models = {}
        for name, text in compiled.items():
            path = project / "target" / "compiled" / "shop" / "models" / f"{name}.sql"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"\n{text}\n")
            models[name] = {
                "sql": "--placeholder--",
                "raw_code": raw[name],
                "schema": database,
                "relation_name": f"{database}.{name}",
                "compiled_path": f"target/compiled/shop/models/{name}.sql",
                "parents": parents[name],
                "config": {"materialized": kinds[name]},
            }
        constraint = {"constraints": [{"type": "not_null"}]}
        models["mart"] |= {"contract": True, "columns": {"id": {"data_type": "bigint", **constraint}}}
        models["mart"]["columns"]["total"] = {"data_type": "int", **constraint}
        manifest = dbt_manifest(models)
        manifest["metadata"] |= {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v20.json",
            "dbt_version": "2.0.4",
            "generated_at": "2026-11-20T10:00:00Z",
        }
        (project / "target" / "manifest.json").write_text(json.dumps(manifest))
        return project

    return write


def test_a_project_compiled_by_dbt_2_is_run_without_dbt(compiled_by_dbt_2, spark, database):
    """The text for no table makes it; run once more it would add every row again. The text for a table adds the new."""
    project = compiled_by_dbt_2("")
    first = invoke(project, "run", "--json")
    assert first.exit_code == 0, first.output
    report = RunReport.from_json(first.stdout)
    assert {r.details.name: r.outcome for r in report.reports} == dict.fromkeys(
        ("stg", "mart", "child", "log"), "published"
    )
    assert report.remarks[0] == "what dbt 2.0.4 compiled before (2026-11-20T10:00:00Z) is run as it is"
    twice = invoke(project, "run")
    assert twice.exit_code == 2
    assert "log: incremental: it was compiled without its table, which is there now" in twice.stderr
    asked = invoke(project, "run", "--full-refresh")
    assert asked.exit_code == 2
    assert "change what dbt compiles; dbt is not installed here" in asked.stderr

    project = compiled_by_dbt_2(f"where id > (select max(id) from {database}.log)")
    again = invoke(project, "run", "--select", "log")
    assert again.exit_code == 0, again.output
    assert spark.table(f"{database}.log").count() == 2
    spark.sql(f"drop table {database}.log")
    missing = invoke(project, "run", "--select", "log")
    assert missing.exit_code == 2
    assert "log: incremental: it was compiled for a table that is not there" in missing.stderr


@pytest.mark.conformance
def test_an_incremental_model_beside_what_a_full_refresh_makes(project, spark, database):
    assert invoke(project, "run").exit_code == 0
    (project / "models" / "stg.sql").write_text(MODELS["stg.sql"].replace("(2L, 20)", "(2L, 20), (0L, 5)"))
    assert invoke(project, "run").exit_code == 0
    assert spark.table(f"{database}.log").count() == 2  # The late row is below the watermark.
    found = invoke(project, "diff", "--full-refresh", "log", "--key", "id")
    assert found.exit_code == 0, found.output
    assert "1 rows added, 0 removed, 0 changed, by id" in found.stdout
    assert spark.table(f"{database}.log").count() == 2
    unknown = invoke(project, "diff", "--full-refresh", "log")
    assert (unknown.exit_code, "give --key COLUMNS" in unknown.stderr) == (2, True)
    (project / "target").mkdir(exist_ok=True)
    manifest = json.loads((project / "target" / OWN_TARGET / "manifest.json").read_text())
    manifest["nodes"]["model.shop.log"]["config"]["unique_key"] = "id"
    (project / "target" / "manifest.json").write_text(json.dumps(manifest))
    found = invoke(project, "diff", "--full-refresh", "log")
    assert "1 rows added, 0 removed, 0 changed, by id" in found.stdout


@pytest.mark.conformance
def test_staged_rows_beside_the_published_ones(project, spark, database):
    assert invoke(project, "run", "--select", "+mart").exit_code == 0
    staged = ("diff", "--staged", "mart", "--key", "id")
    (project / "models" / "stg.sql").write_text(MODELS["stg.sql"].replace("(2L, 20)", "(2L, 21), (3L, 30)"))
    assert invoke(project, "run", "--select", "stg").exit_code == 0
    found = invoke(project, *staged)
    assert found.exit_code == 0, found.output
    assert f"{database}.mart: 2 -> 3 rows; id: max 2 -> 3; total: max 20 -> 30" in found.stdout
    assert "1 rows added, 0 removed, 1 changed, by id\n  total: 1 changed\n    id=2: 20 -> 21\n" in found.stdout
    assert "Nothing was published." in found.stdout
    assert spark.table(f"{database}.mart").count() == 2
    broken = invoke(project, *staged, "--vars", "{broken: true}")
    assert broken.exit_code == 0, broken.output  # 20 stands in no row any more.
    wrong = invoke(project, "diff", "--staged", "mart")
    assert (wrong.exit_code, "--staged takes --key" in wrong.stderr) == (2, True)
    wrong = invoke(project, "diff", "old.json", "--key", "id")
    assert wrong.exit_code == 2
    form = json.loads(invoke(project, *staged, "--json").stdout)
    assert form["reports"][0]["details"]["comparison"]["added"] == 1
