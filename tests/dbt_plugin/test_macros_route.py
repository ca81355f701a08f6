"""The second route: the macro package alone, without the plugin. One line per materialization opts a project in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dbt.adapters.spark")

pytestmark = pytest.mark.hive

PACKAGE = Path(__file__).parents[2] / "macros"
OPT_IN = "\n".join(
    f"{{% materialization {kind}, adapter='spark', supported_languages=['sql', 'python'] %}}"
    f"{{{{ return(planproof.materialization_{kind}_spark()) }}}}{{% endmaterialization %}}"
    for kind in ("table", "view", "incremental")
)
BODY = """
    {{{{ config(materialized='{kind}', file_format='parquet' {more}) }}}}
    select id, {{% if var('bad', '') == 'null' %}} if(id = 1, null, name) {{% else %}} name {{% endif %}} as name
    {{% if var('bad', '') == 'wide' %}}, 1 as note {{% endif %}}
    from values ({{{{ var('n', 0) }}}}, 'a'), (1, 'b') as t(id, name)
    """
FILES = {
    "macros/opt_in.sql": OPT_IN,
    "models/as_table.sql": BODY.format(kind="table", more=", partition_by='name'"),
    "models/as_view.sql": BODY.format(kind="view", more=""),
    "models/as_delta.sql": BODY.format(kind="incremental", more=", on_schema_change='append_new_columns'"),
    "models/free.sql": BODY.format(kind="incremental", more=", on_schema_change='append_new_columns'"),
    "models/models.yml": """
        models:
        {%- for name in names %}
          - name: {{ name }}
            config: {contract: {enforced: true}}
            constraints: [{type: check, columns: [id], expression: "id < 100", name: small}]
            columns:
              - {name: id, data_type: int, constraints: [{type: not_null}]}
              - {name: name, data_type: string, constraints: [{type: not_null}]}
        {%- endfor %}
        """,
}
NAMES = ("as_table", "as_view", "as_delta")


@pytest.fixture(scope="module")
def project(dbt: Any) -> Any:
    from jinja2 import Template

    yml = Template(FILES["models/models.yml"]).render(names=NAMES)
    packages = {"packages.yml": f"packages: [{{local: {PACKAGE}}}]"}
    dbt.write({**FILES, "models/models.yml": yml, **packages})
    assert dbt.run("deps").success
    assert run(dbt).success, dbt.results
    return dbt


def run(dbt: Any, *select: str, **given: Any) -> Any:
    chosen = ("--select", *select) if select else ()
    return dbt.run("run", *chosen, "--vars", json.dumps(given), guarded=False)


def tables(dbt: Any) -> set[str]:
    return {row[1] for row in dbt.spark.sql(f"show tables in {dbt.schema}").collect()}


def test_healthy_models_are_published_and_nothing_is_left(project: Any) -> None:
    for name in (*NAMES, "free"):
        assert project.rows(name) == [(0, "a"), (1, "b")]
    assert tables(project) == {*NAMES, "free"}
    assert "_new: its contract holds; planes read: contract, catalog" in project.log
    assert "not readable from macros: logical" in project.log


def test_broken_models_leave_what_stood_there(project: Any) -> None:
    before = {name: project.rows(name) for name in NAMES}
    for given, words in (
        ({"bad": "null"}, "name: not_null, promised 0 nulls, found 1 nulls"),
        ({"n": 100}, "id < 100"),
    ):
        assert not run(project, *NAMES, **given).success
        for name in NAMES:
            assert project.statuses[name] == "error"
            assert words in project.results[name]["message"]
            assert "nothing was published" in project.results[name]["message"]
        assert {name: project.rows(name) for name in NAMES} == before
        assert tables(project) == {*NAMES, "free"}


@pytest.mark.conformance
def test_a_column_is_added_with_the_rows(project: Any) -> None:
    assert run(project, "free", bad="wide").success, project.results
    assert project.rows("free") == [(0, "a", 1), (0, "a", None), (1, "b", 1), (1, "b", None)]
    assert run(project, "as_delta", "as_table", n=5).success, project.results
    assert len(project.rows("as_delta")) == 4
    assert project.rows("as_table") == [(1, "b"), (5, "a")]


@pytest.mark.conformance
def test_the_audit_runs_at_the_end_or_after_a_model(project: Any) -> None:
    text = (project.root / "dbt_project.yml").read_text()
    project.write({"dbt_project.yml": text + '\non-run-end: ["{{ planproof.planproof_audit(results) }}"]\n'})
    project.write(
        {
            "models/spoiled.sql": """
                {{ config(materialized='table', post_hook=[
                     "{{ planproof.planproof_audit() }}", "insert into {{ this }} values (null)"]) }}
                select 1 as id
                """,
            "models/spoiled.yml": """
                models:
                  - name: spoiled
                    config: {contract: {enforced: true}}
                    columns: [{name: id, data_type: int, constraints: [{type: not_null}]}]
                """,
        }
    )
    assert run(project, "as_table").success
    assert not run(project, "spoiled").success
    assert "planproof_audit: 1 broken term(s)" in project.log
    assert ".spoiled.id: not_null, promised 0 nulls, found 1 nulls" in project.log


@pytest.mark.conformance
def test_columns_that_are_only_described_need_not_be_all(project: Any) -> None:
    """Nothing says that `columns:` is complete then; a foreign key's parent is found by its ref."""
    project.write(
        {
            "models/described.sql": "select {{ var('n', 1) }} as id, 'x' as note, 2 as more",
            "models/described.yml": """
                models:
                  - name: described
                    data_tests: [planproof.planproof_contract]
                    constraints: [{type: foreign_key, columns: [id], to: "ref('as_table')", to_columns: [id]}]
                    columns: [{name: id, data_type: int}, {name: note, description: "it's one"}]
                """,
        }
    )
    assert run(project, "as_table", "described").success, project.results
    found = project.run("test", "--select", "described", guarded=False)
    assert found.success, project.results
    assert run(project, "described", n=77).success
    assert not project.run("test", "--select", "described", guarded=False).success
    [result] = [r for name, r in project.results.items() if "contract_described" in name]
    assert result["failures"] == 1


@pytest.mark.conformance
def test_a_view_in_a_tables_place_costs_no_table_where_its_query_is_wrong(project: Any) -> None:
    text = "{{{{ config(materialized='{}', file_format='parquet') }}}} select {} as id"
    for kind, query, ends in (("table", "1", True), ("view", "no_such_column", False), ("view", "2", True)):
        project.write({"models/turned.sql": text.format(kind, query)})
        assert run(project, "turned").success is ends
        assert project.rows("turned") == [(2,) if (kind, ends) == ("view", True) else (1,)]
    assert not [name for name in tables(project) if "__planproof" in name]


def test_a_view_that_reads_the_table_in_whose_place_it_comes_costs_no_table(project: Any) -> None:
    table = "{{ config(materialized='table', file_format='parquet') }} select 1 as id"
    through = "{{ config(materialized='view') }} select * from {{ this.schema }}.%s"
    project.write({"models/itself.sql": table})
    assert run(project, "itself").success
    project.spark.sql(f"create view {project.schema}.between as select * from {project.schema}.itself")
    for source in ("itself", "between"):
        project.write({"models/itself.sql": through % source})
        assert not run(project, "itself").success
        assert "the view that is to take its place reads it" in project.results["itself"]["message"]
        assert project.rows("itself") == [(1,)]
    project.spark.sql(f"drop view {project.schema}.between")
    assert not [name for name in tables(project) if "__planproof" in name]
