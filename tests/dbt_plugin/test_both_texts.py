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
    "by_macros": """
        {{ config(materialized='incremental') }}
        select id, at from {{ ref('events') }} where {{ new_rows('at') }} and {{ shop.new_rows('id', least=0) }}
        {%- if execute and not is_incremental() %} and true {% elif is_incremental() %} and id is not null {% endif %}
        """,
    "of_an_ephemeral_model": """
        {{ config(materialized='incremental') }}
        with e as (select * from {{ ref('inlined') }})
        select id, at from e {% if is_incremental() %} where at > (select max(at) from {{ this }}) {% endif %}
        """,
}
MACROS = """
    {% macro cents(name) %}({{ name }} * 100){% endmacro %}
    {% macro new_rows(name, least="timestamp'1900-01-01'") -%}
        {%- if is_incremental() -%} {{ name }} > {{ reached(name, least) }} {%- else -%} true {%- endif -%}
    {%- endmacro %}
    {% macro reached(name, least) %}(select coalesce(max({{ name }}), {{ least }}) from {{ this }}){% endmacro %}
    {% macro from_start(days) %}{% if days %}at > {{ since() }}{% else %}true{% endif %}{% endmacro %}
    {% macro since() %}{{ return("'2024-01-01'" if is_incremental() else "'2020-01-01'") }}{% endmacro %}
    """
UNKNOWN = {
    "asking": "{% if is_incremental() and target.name == 'x' %} select 1 as id {% else %} select 2 as id {% endif %}",
    "by_a_flag": """
        {% set days = 3 if is_incremental() else 0 %} select {% if days > 0 %} 1 {% else %} 2 {% endif %} as id
        {% if is_incremental() %} where true {% endif %}
        """,
    "by_a_macro_of_more": "select 1 as id, current_date() as at having {{ from_start(3) }}",
    "by_a_macro_that_returns": "select 1 as id {% if is_incremental() %} where {{ since() }} > '2021' {% endif %}",
    "beside_a_macro": "select {{ since() }} as at {% if is_incremental() %} where true {% endif %}",
}


def found(dbt: Any) -> dict[str, BothTexts | None]:
    assert dbt.run("compile").success
    project = read_project(dbt.root)
    return {node.name: find_both_texts(project, node) for node in project.models}


def compiled(dbt: Any) -> dict[str, str]:
    return {node.name: node.sql.strip() for node in read_project(dbt.root).models}


def test_both_texts_are_those_that_dbt_compiles(dbt: Any) -> None:
    unknown = {name: "{{ config(materialized='incremental') }}" + text for name, text in UNKNOWN.items()}
    dbt.write({f"models/{name}.sql": text for name, text in {**MODELS, **unknown}.items()})
    dbt.write({"models/events.sql": "select 1 as id, timestamp'2024-01-01' as at", "macros/macros.sql": MACROS})
    dbt.write({"models/inlined.sql": "{{ config(materialized='ephemeral') }} select * from {{ ref('events') }}"})
    before, first = found(dbt), compiled(dbt)
    assert dbt.run("run").success
    after, later = found(dbt), compiled(dbt)
    for name in MODELS:
        assert first[name] != later[name], name
        assert spaced(before[name]) == spaced(after[name]) == spaced((first[name], later[name])), name
    assert {before[name] for name in (*UNKNOWN, "events")} | {after[name] for name in UNKNOWN} == {None}


def spaced(texts: tuple[str, str] | None) -> list[str]:
    """The texts with one blank for each space: between an ephemeral model's CTE and what follows may stand others."""
    return [" ".join(text.split()) for text in texts or ()]
