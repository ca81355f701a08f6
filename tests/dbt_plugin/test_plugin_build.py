"""`dbt build` with planproof installed and nothing changed in the project: real dbt, real Spark, the real guard.

The tests of this module run in order on one project: each goes on from the tables that the one before published.
"""

from __future__ import annotations

import json
from importlib import metadata
from typing import Any

import pytest
from quick import keep_quick

pytest.importorskip("dbt.adapters.spark")

pytestmark = pytest.mark.hive

# `var('broken')` names the models that break their promise in this run, and `var('batch')` the incrementals' delta.
BROKEN = ("broken_null", "broken_type", "broken_twice", "broken_missing", "broken_view")

FILES = {
    "seeds/people.csv": """
        id,name,team
        1,Ada,red
        2,Ben,blue
        3,Cy,red
        """,
    "macros/made.sql": """
        {% macro make_function() %}
        {{ SQL_FUNCTION }}
        {% endmacro %}
        {% macro breaks(name) %}{{ return(name in var('broken', [])) }}{% endmacro %}
        """,
    "models/ephemeral_people.sql": """
        {{ config(materialized='ephemeral') }}
        select id, name, team from {{ ref('people') }}
        """,
    "models/hooked.sql": """
        {{ config(materialized='table', pre_hook="create or replace temporary view hooked_source as select 7L as id",
                  post_hook="alter table {{ this }} set tblproperties ('after' = 'hook')") }}
        select id from hooked_source
        """,
    "models/with_function.sql": """
        {{ config(materialized='table') }}
        -- The first line is a comment; a semicolon ends the query.
        select id, TWICE as double_id from {{ ref('ephemeral_people') }};
        """,
    "models/contracted.sql": """
        {{ config(materialized='table', file_format='parquet', partition_by=['team'],
                  tblproperties={'team.owner': 'Ada'}, persist_docs={'relation': true, 'columns': true}) }}
        select name, id, team from {{ ref('people') }} where id is not null
        """,
    "models/described.sql": """
        {{ config(materialized='view', persist_docs={'relation': true, 'columns': true}) }}
        select id, name from {{ ref('contracted') }} where id is not null
        """,
    "models/appended.sql": """
        {{ config(materialized='incremental', file_format='parquet', incremental_strategy='append',
                  on_schema_change='append_new_columns') }}
        select id,
          {% if var('batch', 'good') == 'null' %} nullif(name, 'Ada') {% else %} name {% endif %} as name
          {% if var('batch', 'good') == 'wide' %}, team {% endif %}
        from {{ ref('people') }}
        {% if is_incremental() %}where id <= 1{% endif %}
        """,
    "models/overwritten.sql": """
        {{ config(materialized='incremental', file_format='parquet', incremental_strategy='insert_overwrite',
                  partition_by='team') }}
        select id, {% if var('batch', 'good') == 'type' %} name {% else %} id * 10 {% endif %} as score, team
        from {{ ref('people') }}
        {% if is_incremental() %}where team = 'blue'{% endif %}
        """,
    "models/broken_null.sql": """
        {{ config(materialized='table', file_format='parquet') }}
        select p.id,
        {% if breaks('broken_null') %}
          o.name
        {% else %}
          p.name
        {% endif %}
        from {{ ref('people') }} p
        left join (select * from {{ ref('people') }} where id < 3) o on p.id = o.id
        """,
    "models/broken_type.sql": """
        {{ config(materialized='table', file_format='parquet') }}
        select
        {% if breaks('broken_type') %}
          cast(id as string) as id
        {% else %}
          id
        {% endif %}
        from {{ ref('people') }}
        """,
    "models/broken_twice.sql": """
        {{ config(materialized='table', file_format='parquet') }}
        select id, name
        {% if breaks('broken_twice') %}
          , team as name
        {% endif %}
        from {{ ref('people') }}
        """,
    "models/broken_missing.sql": """
        {{ config(materialized='table', file_format='parquet') }}
        select id
        {% if not breaks('broken_missing') %}
          , name
        {% endif %}
        from {{ ref('people') }}
        """,
    "models/broken_view.sql": """
        {{ config(materialized='view') }}
        select
        {% if breaks('broken_view') %}
          id as name
        {% else %}
          name
        {% endif %}
        from {{ ref('people') }}
        """,
    "models/child.sql": "/* a view */ select * from {{ ref('broken_null') }} ; -- 'the end'",
    "models/models.yml": """
        models:
          - name: contracted
            description: People of a team; the author's words
            config: {contract: {enforced: true}}
            columns:
              - {name: id, data_type: bigint, description: the number, constraints: [{type: not_null}]}
              - {name: name, data_type: string, data_tests: [not_null]}
              - {name: team, data_type: string}
          - name: described
            config: {contract: {enforced: true}}
            description: A view
            columns:
              - {name: id, data_type: bigint, description: the number, constraints: [{type: not_null}]}
              - {name: name, data_type: string}
          - name: appended
            config: {contract: {enforced: true}}
            columns:
              - {name: id, data_type: bigint}
              - {name: name, data_type: string, constraints: [{type: not_null}]}
          - name: overwritten
            config: {contract: {enforced: true}, on_schema_change: append_new_columns}
            columns:
              - {name: id, data_type: bigint}
              - {name: score, data_type: bigint}
              - {name: team, data_type: string}
          - name: broken_null
            config: {contract: {enforced: true}}
            columns:
              - {name: id, data_type: bigint}
              - {name: name, data_type: string, constraints: [{type: not_null}]}
          - name: broken_type
            config: {contract: {enforced: true}}
            columns: [{name: id, data_type: bigint}]
          - name: broken_missing
            config: {contract: {enforced: true}}
            columns: [{name: id, data_type: bigint}, {name: name, data_type: string}]
          - name: broken_view
            config: {contract: {enforced: true}}
            columns: [{name: name, data_type: string}]
        unit_tests:
          - name: contracted_keeps_known_ids
            model: contracted
            given:
              - input: ref('people')
                rows: [{id: 1, name: Ada, team: red}, {id: null, name: Nobody, team: red}]
            expect:
              rows: [{id: 1, name: Ada, team: red}]
        """,
    "dbt_project.yml": """
        name: shop
        version: "1.0"
        profile: shop
        on-run-start: ["{{ make_function() }}"]
        flags: {send_anonymous_usage_stats: false, use_colors: false}
        """,
}
# Spark has functions in SQL since 4.0.
FUNCTION = "create or replace function {{ target.schema }}.twice(x bigint) returns bigint return x * 2"
HAS_FUNCTIONS = not metadata.version("pyspark").startswith("3.")
for _name, _old, _new in (
    ("macros/made.sql", "{{ SQL_FUNCTION }}", FUNCTION if HAS_FUNCTIONS else "select 1"),
    ("models/with_function.sql", "TWICE", "{{ target.schema }}.twice(id)" if HAS_FUNCTIONS else "id * 2"),
):
    FILES[_name] = FILES[_name].replace(_old, _new)
PEOPLE = [(1, "Ada"), (2, "Ben"), (3, "Cy")]
GATED = {
    "hooked", "with_function", "contracted", "described", "appended", "overwritten", "child", *BROKEN
}  # fmt: skip


def with_vars(**values: Any) -> tuple[str, str]:
    return "--vars", json.dumps(values)


def properties(dbt: Any, name: str) -> dict[str, str]:
    return {r[0]: r[1] for r in dbt.spark.sql(f"show tblproperties {dbt.schema}.{name}").collect()}


def described(dbt: Any, name: str) -> dict[str, tuple[str, str]]:
    rows = dbt.spark.sql(f"describe table extended {dbt.schema}.{name}").collect()
    found: dict[str, tuple[str, str]] = {}
    for row in rows:
        found.setdefault(row[0], (row[1], row[2]))
    return found


def test_a_healthy_project_is_published_whole(dbt: Any) -> None:
    dbt.write(FILES)
    result = dbt.run("build")
    assert result.success, dbt.results
    assert set(dbt.statuses.values()) == {"success", "pass"}
    assert set(dbt.reports) == GATED
    assert {r["outcome"] for r in dbt.reports.values()} == {"published"}
    assert dbt.rows("hooked") == [(7,)]
    assert dbt.rows("with_function") == [(1, 2), (2, 4), (3, 6)]
    assert dbt.rows("contracted") == [(1, "Ada", "red"), (2, "Ben", "blue"), (3, "Cy", "red")]
    assert dbt.rows("appended") == PEOPLE
    assert dbt.rows("child") == PEOPLE


def test_what_dbt_asks_of_a_table_is_kept(dbt: Any) -> None:
    assert properties(dbt, "contracted")["team.owner"] == "Ada"
    assert properties(dbt, "hooked")["after"] == "hook"
    table, view = described(dbt, "contracted"), described(dbt, "described")
    assert table["Provider"][0] == "parquet"
    assert table["Comment"][0] == "People of a team; the author's words"
    assert table["# Partition Information"] is not None
    assert view["Comment"][0] == "A view"
    assert view["id"] == ("bigint", "the number")
    partitions = {r[0] for r in dbt.spark.sql(f"show partitions {dbt.schema}.contracted").collect()}
    assert partitions == {"team=red", "team=blue"}


def test_broken_models_fail_with_the_old_tables_in_place(dbt: Any) -> None:
    result = dbt.run("build", *with_vars(broken=BROKEN))
    assert not result.success
    assert result.exception is None
    failed = {name for name, status in dbt.statuses.items() if status == "error"}
    assert failed == set(BROKEN)
    assert dbt.statuses["child"] == "skipped"
    assert dbt.rows("broken_null") == PEOPLE
    assert dbt.rows("broken_type") == [(1,), (2,), (3,)]
    assert dbt.rows("broken_twice") == PEOPLE
    assert dbt.rows("broken_missing") == PEOPLE
    assert dbt.rows("broken_view") == [("Ada",), ("Ben",), ("Cy",)]
    assert dbt.rows("child") == PEOPLE


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("broken_null", ("PP505", "name", "NOT NULL", "models/broken_null.sql:4:")),
        ("broken_type", ("PP504", "id", "bigint", "string", "models/broken_type.sql:4:")),
        ("broken_twice", ("PP102", "name")),
        ("broken_missing", ("PP501", "name", "string")),
        ("broken_view", ("PP504", "name", "string", "bigint", "models/broken_view.sql:4:")),
    ],
)
def test_the_message_says_what_is_broken_and_where(dbt: Any, name: str, words: tuple[str, ...]) -> None:
    message = dbt.results[name]["message"]
    for word in ("planproof stopped", "Nothing was published", "next (", "report.json", *words):
        assert word in message
    assert len(message.splitlines()) <= 24
    assert message.splitlines()[1].strip() in dbt.log
    assert dbt.reports[name]["verdict"] == "violated"
    assert dbt.reports[name]["outcome"] == "rejected"


def test_a_retry_publishes_what_was_corrected(dbt: Any) -> None:
    result = dbt.run("retry", *with_vars(broken=[]))
    assert result.success, dbt.results
    assert set(dbt.reports) == {*BROKEN, "child"}


def test_a_good_delta_is_added_once(dbt: Any) -> None:
    before = dbt.rows("appended")
    assert dbt.run("run", "--select", "appended", "overwritten").success, dbt.results
    assert dbt.rows("appended") == sorted([*before, (1, "Ada")])
    assert dbt.rows("overwritten") == [(1, 10, "red"), (2, 20, "blue"), (3, 30, "red")]


@pytest.mark.parametrize(
    ("batch", "name", "code"),
    keep_quick(
        [("null", "appended", "PP505"), ("wide", "appended", "PP502"), ("type", "overwritten", "PP504")],
        ("null", "appended", "PP505"),
        ("type", "overwritten", "PP504"),
    ),
)
def test_a_bad_delta_is_not_added(dbt: Any, batch: str, name: str, code: str) -> None:
    before, columns = dbt.rows(name), described(dbt, name)
    assert not dbt.run("run", "--select", name, *with_vars(batch=batch)).success
    assert code in dbt.results[name]["message"]
    assert dbt.rows(name) == before
    assert described(dbt, name).keys() == columns.keys()


@pytest.mark.conformance
def test_a_full_refresh_replaces_an_incremental(dbt: Any) -> None:
    assert dbt.run("run", "--select", "appended", "overwritten", "--full-refresh").success, dbt.results
    assert dbt.rows("appended") == PEOPLE
    assert not dbt.run("run", "--select", "appended", "--full-refresh", *with_vars(batch="null")).success
    assert dbt.rows("appended") == PEOPLE


@pytest.mark.conformance
def test_a_view_becomes_a_table_and_a_view_again(dbt: Any) -> None:
    text = (
        "{{{{ config(materialized='{}', file_format='parquet') }}}}\nselect id, name from {{{{ ref('contracted') }}}}\n"
    )
    for kind in ("table", "view"):
        dbt.write({"models/described.sql": text.format(kind)})
        assert dbt.run("run", "--select", "described").success, dbt.results
        assert dbt.rows("described") == PEOPLE
        assert described(dbt, "described")["Type"][0] == {"table": "MANAGED", "view": "VIEW"}[kind]
    assert dbt.run("run", "--select", "described").success, dbt.results


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command.split(), id=command.split()[0], marks=marks)
        for command, marks in (
            ("compile", ()),
            ("test", ()),
            ("show --select contracted", pytest.mark.conformance),
            ("docs generate", pytest.mark.conformance),
            ("clone --state target --select contracted", pytest.mark.conformance),
        )
    ],
)
def test_other_commands_are_left_alone(dbt: Any, command: list[str]) -> None:
    (dbt.root / "target/planproof/report.json").unlink(missing_ok=True)
    assert dbt.run(*command).success
    assert not (dbt.root / "target/planproof/report.json").exists()


@pytest.mark.conformance
def test_without_planproof_the_same_model_loses_its_table(dbt: Any) -> None:
    assert not dbt.run("run", "--select", "broken_type", *with_vars(broken=BROKEN)).success
    assert dbt.rows("broken_type") == [(1,), (2,), (3,)]
    assert not dbt.run("run", "--select", "broken_type", *with_vars(broken=BROKEN), guarded=False).success
    assert not dbt.exists("broken_type")


def test_the_exit_code_is_1(dbt: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dbt.cli.main import cli

    monkeypatch.setenv("PLANPROOF", "on")
    where = ["--project-dir", str(dbt.root), "--profiles-dir", str(dbt.root)]
    with pytest.raises(SystemExit) as left:
        cli(["run", "--select", "broken_null", *with_vars(broken=BROKEN), *where])
    assert left.value.code == 1
