"""Both texts of an incremental model, where what the later run alone prints stands in the project's macros."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planproof.project.both_texts import find_both_texts
from planproof.project.cache import Cache
from planproof.project.check import check_project
from planproof.project.manifest import read_project

SOURCES = {"raw.events": {"id": "bigint", "day": "date"}}
MACROS = {
    "mark": """{% macro mark(col, floor="date'1900-01-01'") -%}
        (select coalesce(max({{ col }}), {{ floor }}) from {{ this }})
    {%- endmacro %}""",
    "back": """{% macro back(col, days=none) -%}
        {{ col }} >= date_sub({{ mark(col) }}, {{ days or 3 }}){% if days is none %} and true{% endif %}
    {%- endmacro %}""",
    "asks": "{% macro asks() %}{{ run_query('select 1') }}{% endmacro %}",
    "beyond": "{% macro beyond() %}{{ return('1 = 1') }}{% endmacro %}",
}
MARK = "(select coalesce(max(day), date'1900-01-01') from shop.m)"
SELECTS = "select id, day from {{ source('raw', 'events') }}"
FIRST = "select id, day from raw.events"


def find(dbt_manifest: Any, template: str, compiled: str, **keys: Any) -> list[str] | None:
    form = {"sql": compiled, "raw_code": template, "config": {"materialized": "incremental"}, **keys}
    inlined = {"sql": f"select * from ({FIRST})", "config": {"materialized": "ephemeral"}, "alias": "named"}
    manifest = dbt_manifest({"m": {"parents": ["raw.events"], **form}, "inlined": inlined}, sources=SOURCES)
    called = {"depends_on": {"macros": ["macro.shop.mark"]}}
    manifest["macros"] = {f"macro.shop.{name}": {"macro_sql": text} for name, text in MACROS.items()}
    manifest["macros"]["macro.shop.back"] |= called
    project = read_project(manifest)
    found = find_both_texts(project, project.nodes["model.shop.m"])
    return None if found is None else [" ".join(text.split()) for text in found]


@pytest.mark.parametrize(
    ("called", "printed"),
    [
        ("day > {{ mark('day') }}", f"day > {MARK}"),
        ("day > {{ shop.mark(col='day') }} and id > 0", f"day > {MARK} and id > 0"),
        ("{{ back('day') }}", f"day >= date_sub({MARK}, 3) and true"),
        ("{{ back('day', 7) }}", f"day >= date_sub({MARK}, 7)"),
        ("day in (select day from {{ source('raw', 'events') }} where day > {{ mark('day') }})", None),
    ],
)
def test_a_macro_that_the_later_run_alone_calls(dbt_manifest: Any, called: str, printed: str | None) -> None:
    """dbt lists a macro with a model where the run that it compiles has called it."""
    printed = printed or f"day in (select day from raw.events where day > {MARK})"
    template = f"{SELECTS} {{% if is_incremental() %}}where {called}{{% endif %}}"
    both = [FIRST, f"{FIRST} where {printed}"]
    assert [find(dbt_manifest, template, text) for text in both] == [both, both]


@pytest.mark.parametrize("called", ["{{ asks() }}", "{{ beyond() }}", "{{ back(day) }}", "{{ mark('day') | lower }}"])
def test_what_a_macro_prints_is_not_guessed(dbt_manifest: Any, called: str) -> None:
    template = f"{SELECTS} {{% if is_incremental() %}}where {called}{{% endif %}}"
    assert find(dbt_manifest, template, FIRST) is None


@pytest.mark.parametrize(
    "silent", ["{% for one in var('more', []) %}, {{ one }}{% endfor %}", "{% if target.name == 'x' %}, 1{% endif %}"]
)
def test_what_prints_nothing_is_known_to(dbt_manifest: Any, silent: str) -> None:
    read = f"select id, day{silent} from {{{{ source('raw', 'events') }}}}"
    template = f"{read}{{% if is_incremental() %}} where id > 7{{% endif %}}"
    both = [FIRST, f"{FIRST} where id > 7"]
    assert [find(dbt_manifest, template, text) for text in both] == [both, both]


@pytest.mark.parametrize(
    ("listed", "said", "printed"),
    [
        ("{% set ids = [1, 2] %}{% for one in ids %}", "id = {{ one }}", ["id = 1", "id = 2"]),
        ("{% for one, day in [(1, 'a'), (2, 'b')] %}", "day = '{{ day }}'", ["day = 'a'", "day = 'b'"]),
        ("{% for one in [('a', 1), ('b', 2)] %}", "id < {{ one[1] }} + {{ loop.index }}", ["id < 1 + 1", "id < 2 + 2"]),
        ("{% for one in ('day', 'id') %}", "{{ mark(one) }} > 0", [f"{MARK} > 0", f"{MARK.replace('day', 'id')} > 0"]),
    ],
)
def test_a_loop_over_a_list_that_stands_there(dbt_manifest: Any, listed: str, said: str, printed: list[str]) -> None:
    """Each side of a union has its filter."""
    template = f"{listed}{SELECTS} {{% if is_incremental() %}}where {said} {{% endif %}}"
    template += "{% if not loop.last %}union all {% endif %}{% endfor %}"
    both = [f"{FIRST} union all {FIRST}", " union all ".join(f"{FIRST} where {one}" for one in printed)]
    assert [find(dbt_manifest, template, text) for text in both] == [both, both]


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ("{% for one in var('ids') %}", "id = {{ one }}"),
        ("{% for one in [1, 2] if one > 1 %}", "id = {{ one }}"),
        ("{% for one in [1, 2] %}", "id = {{ loop.cycle(1, 2) }}"),
        ("{% for one in [1] %}", "{% for two in [1, 2] %}id = {{ two }}{% endfor %}"),
        ("{% set ids = [1] %}{% do ids.append(2) %}{% for one in ids %}", "id = {{ one }}"),
        ("{% set ids = [1] %}{% set none = ids.append(2) %}{% for one in ids %}", "id = {{ one }}"),
        ("{% set a = 'id' %}{% set ids = [a] %}{% set a = 'x' %}{% for one in ids %}", "day = {{ one }}"),
        ("{% set a = 'id' %}{% for one in [a] %}{% set a = 'x' %}", "day = {{ one }}"),
    ],
)
def test_a_loop_that_the_template_alone_does_not_tell(dbt_manifest: Any, listed: str, said: str) -> None:
    template = f"{listed}{SELECTS} {{% if is_incremental() %}}where {said}{{% endif %}}{{% endfor %}}"
    assert find(dbt_manifest, template, FIRST) is None


def test_the_cte_of_an_ephemeral_model_has_a_name(dbt_manifest: Any) -> None:
    """By the name alone it is told which of the two texts dbt wrote."""
    added = "\nwhere id > 7\n"
    when = f"{{% if is_incremental() %}}{added}{{% endif %}}"
    template = f"select id, day from {{{{ ref('inlined') }}}}\n{when}\ngroup by all"
    cte = f" __dbt__cte__named as (\n{FIRST}\n)"
    keys = {"parents": ["inlined"], "extra_ctes": [{"id": "model.shop.inlined", "sql": cte}]}
    first = f"with {cte} select id, day from __dbt__cte__named\n\ngroup by all"
    both = [first, first.replace("named\n", f"named\n{added}")]
    wanted = [" ".join(text.split()) for text in both]
    assert [find(dbt_manifest, template, text, **keys) for text in both] == [wanted, wanted]


def test_what_a_kept_report_depends_on(dbt_manifest: Any, tmp_path: Path) -> None:
    """A macro that the other text calls, a test of a key, and whether a parent reads anything."""
    calendar = "select explode(sequence(date'2020-01-01', date'2030-01-01')) as day"
    joined = "select e.id, c.day from raw.events e join shop.calendar c on c.day = e.day"
    template = joined.replace("raw.events", "{{ source('raw', 'events') }}").replace(
        "shop.calendar", "{{ ref('calendar') }}"
    )
    added = "{% if is_incremental() %}where e.day >= {{ mark('e.day') }}{% endif %}"
    config = {"materialized": "incremental", "incremental_strategy": "merge", "unique_key": "id"}
    models = {
        "calendar": {"sql": calendar},
        "m": {
            "sql": joined,
            "raw_code": f"{template} {added}",
            "config": config,
            "parents": ["raw.events", "calendar"],
        },
    }
    macros = {"macro.shop.mark": {"macro_sql": "{% macro mark(col) %}(select max(day) from {{ this }}){% endmacro %}"}}

    def find_codes() -> set[str]:
        found = []
        for cache in (Cache(tmp_path / "cache.sqlite"), None):
            project = read_project({**dbt_manifest(models, sources=SOURCES), "macros": macros})
            found.append(
                {f.code for r in check_project(project, cache=cache) for f in r.findings if f.code.startswith("PP14")}
            )
        assert found[0] == found[1]
        return found[0]

    assert find_codes() == find_codes() == {"PP142"}
    floor = "coalesce(max(day), date'1900-01-01')"
    macros["macro.shop.mark"]["macro_sql"] = (
        f"{{% macro mark(c) %}}(select {floor} from {{{{ this }}}}){{% endmacro %}}"
    )
    assert find_codes() == set()
    models["calendar"] = {"sql": f"{calendar} from raw.events limit 1", "parents": ["raw.events"]}
    assert find_codes() == {"PP144"}
