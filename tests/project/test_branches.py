"""Which branch of is_incremental() a compiled text holds. No Spark."""

from __future__ import annotations

import pytest

from planproof.project import ProjectError, read_project, select_models
from planproof.project.branches import Branch, find_branch
from planproof.project.run import Older, select_runnable

FILTER = "where at > (select max(at) from {{ this }})"
PLAIN = "select * from {{ ref('stg') }}\n{% if is_incremental() %}\n" + FILTER + "\n{% endif %}"
ONE_LINE = "select * from {{ ref('stg') }} {% if is_incremental() %}" + FILTER + "{% endif %}"
OTHERWISE = (
    "select * from {{ ref('stg') }} {%- if not is_incremental() %} where at > '2020' {% else %} "
    + FILTER
    + " {% endif %}"
)
NEW = "select * from shop.stg\n\nwhere at > (select max(at) from shop.log)\n"


@pytest.mark.parametrize(
    ("template", "compiled", "branch"),
    [
        (PLAIN, NEW, Branch.NEW_ROWS),
        (PLAIN, "select * from shop.stg\n", Branch.ALL_ROWS),
        (f"{{{{ config(a=1) }}}}\n{PLAIN}", "\n\nselect * from shop.stg\n\n\n", Branch.ALL_ROWS),
        (f"{{{{ config(a=1) }}}}\n{PLAIN}", NEW, Branch.NEW_ROWS),
        (ONE_LINE, "select * from shop.stg where at > (select max(at) from shop.log)", Branch.NEW_ROWS),
        (ONE_LINE, "select * from shop.stg ", Branch.ALL_ROWS),
        (OTHERWISE, "select * from shop.stg where at > '2020' ", Branch.ALL_ROWS),
        (OTHERWISE, "select * from shop.stg where at > (select max(at) from shop.log) ", Branch.NEW_ROWS),
        ("select * from {{ ref('stg') }} -- this is_incremental()", "select * from shop.stg -- x", Branch.EITHER),
        # Another condition beside it, a text that neither reading writes, and what was asked of the warehouse.
        ("select 1 {% if is_incremental() and var('x') %}where a{% endif %}", "select 1 where a", Branch.UNKNOWN),
        (PLAIN, "select * from elsewhere.stg join t", Branch.UNKNOWN),
        ("{% set m = run_query('x') %}" + PLAIN, NEW, Branch.UNKNOWN),
        ("select 1 as id, '{{ this }}' as me", "select 1 as id, 'shop.log' as me", Branch.UNKNOWN),
        ("{{ adapter.get_relation(1) }}", "x", Branch.UNKNOWN),
        ("{{ first() }}" + ONE_LINE, "select * from shop.stg ", Branch.ALL_ROWS),
        (ONE_LINE + "{{ last() }}", "select * from shop.stg where at > (select max(at) from shop.log)", Branch.UNKNOWN),
    ],
)
def test_the_branch_of_a_text(dbt_manifest, template, compiled, branch):
    log = {"sql": compiled, "raw_code": template, "parents": ["stg"], "config": {"materialized": "incremental"}}
    project = read_project(dbt_manifest({"stg": {"sql": "select 1"}, "log": log}))
    assert find_branch(project, project.find_by_relation("log")) is branch


@pytest.mark.parametrize(
    ("macro", "branch"),
    [
        ("{% macro cents(c) %}{{ c }} / 100{% endmacro %}", Branch.NEW_ROWS),
        ("{% macro cents(c) %}{{ adapter.dispatch('cents', 'shop')(c) }}{% endmacro %}", Branch.NEW_ROWS),
        ("{% macro cents(c) %}{% if is_incremental() %}{{ c }}{% endif %}{% endmacro %}", Branch.UNKNOWN),
        ("{% macro cents(c) %}{{ run_query(c) }}{% endmacro %}", Branch.UNKNOWN),
        (None, Branch.UNKNOWN),
    ],
)
def test_macros_that_ask_make_it_unknown(dbt_manifest, macro, branch):
    template = "select {{ cents('a') }} as a from {{ ref('stg') }}\n{% if is_incremental() %}" + FILTER + "{% endif %}"
    compiled = "select a / 100 as a from shop.stg\nwhere at > (select max(at) from shop.log)"
    log = {"sql": compiled, "raw_code": template, "config": {"materialized": "incremental"}}
    manifest = dbt_manifest({"stg": {"sql": "select 1"}, "log": log})
    called = ["macro.shop.cents", "macro.dbt.is_incremental"]
    manifest["nodes"]["model.shop.log"]["depends_on"] = {"nodes": ["model.shop.stg"], "macros": called}
    manifest["macros"] = {"macro.shop.cents": {"macro_sql": macro, "depends_on": {"macros": []}}} if macro else {}
    project = read_project(manifest)
    assert find_branch(project, project.find_by_relation("log")) is branch


@pytest.mark.parametrize(
    ("compiled", "stands", "said"),
    [
        (NEW, True, None),
        ("select * from shop.stg\n", False, None),
        (NEW, False, "log: incremental: it was compiled for a table that is not there; compile it again"),
        ("select * from shop.stg\n", True, "log: incremental: it was compiled without its table, which is there now"),
    ],
)
def test_a_text_that_is_wrong_for_what_stands_is_refused(dbt_manifest, compiled, stands, said):
    log = {"sql": compiled, "raw_code": PLAIN, "parents": ["stg"], "config": {"materialized": "incremental"}}
    project = read_project(dbt_manifest({"stg": {"sql": "select 1"}, "log": log}))
    older = Older(project, lambda node: stands)
    if said is None:
        assert [n.name for n in select_runnable(select_models(project), fresh=False, older=older)] == ["stg", "log"]
        return
    with pytest.raises(ProjectError) as caught:
        select_runnable(select_models(project), fresh=False, older=older)
    assert said in str(caught.value)
    assert 'compile them with dbt just before the run, or leave them to `dbt build`: --exclude "log"' in str(
        caught.value
    )
