"""The other text of an incremental model, made of the one that dbt compiled, is what dbt compiles in the other run."""

from __future__ import annotations

from typing import Any

from planproof.project.both_texts import BothTexts, find_both_texts
from planproof.project.manifest import read_project

MODELS = {
    "plain": """
        {{ config(materialized='incremental') }}

        -- {{ this }} is filled by days
        select id, at from {{ ref('events') }}
        {% if is_incremental() %}
        where at > (select coalesce(max(at), timestamp'1900-01-01') from {{ this }})
        {% endif %}
        """,
    "with_macros": """
        {{- config(materialized='incremental', incremental_strategy='append') -}}
        {%- set days = 3 -%}
        {# a comment #}
        with e as (
            select {{ cents('id') }} as cents, id, at, '{{ var("shop", "here") }}' as shop from {{ ref('events') }}
        )
        select *, '{{ target.name }}' as target from e
        {%- if is_incremental() %}
        where id > {{ days }} and at > (select max(at) from {{ this }})
        {%- else %}
        where id > 0
        {%- endif -%}
        """,
    "looping": """
        {{ config(materialized='incremental') }}
        select at{% for n in [1, 2] %}, id + {{ n }} as n{{ n }}{% endfor %} from {{ ref('events') }}
        {% if not is_incremental() %} where true {% else %} where at > (select max(at) from {{ this }}) {% endif %}
        """,
    "by_names": """
        {{ config(materialized='incremental') }}
        {% set reached %}(select coalesce(max(at), timestamp'1900-01-01') from {{ this }}){% endset %}
        {% set where = 'where at > ' ~ reached %}
        select id, at from {{ ref('events') }} {{ where if is_incremental() else 'where true' }}
        and id > {{ 1 if is_incremental() else 0 }}
        """,
    "by_a_variable": """
        {{ config(materialized='incremental') }}
        select id, at from {{ ref('events') }}
        {% if is_incremental() and var('by_delta', true) %} where at > (select max(at) from {{ this }}) {% endif %}
        """,
}
ASKING = """
    {{ config(materialized='incremental') }}
    {% if is_incremental() and target.name == 'x' %} select 1 as id {% else %} select 2 as id {% endif %}
    """


def found(dbt: Any) -> dict[str, BothTexts | None]:
    assert dbt.run("compile").success
    project = read_project(dbt.root)
    return {node.name: find_both_texts(project, node) for node in project.models}


def compiled(dbt: Any) -> dict[str, str]:
    return {node.name: node.sql.strip() for node in read_project(dbt.root).models}


def test_both_texts_are_those_that_dbt_compiles(dbt: Any) -> None:
    dbt.write({f"models/{name}.sql": text for name, text in {**MODELS, "asking": ASKING}.items()})
    dbt.write({"models/events.sql": "select 1 as id, timestamp'2024-01-01' as at"})
    dbt.write({"macros/cents.sql": "{% macro cents(name) %}({{ name }} * 100){% endmacro %}"})
    before, first = found(dbt), compiled(dbt)
    assert dbt.run("run").success
    after, later = found(dbt), compiled(dbt)
    for name in MODELS:
        assert first[name] != later[name], name
        assert before[name] == after[name] == BothTexts(first[name], later[name]), name
    assert before["asking"] is after["asking"] is before["events"] is None
