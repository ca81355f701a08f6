"""The offline check of a text for which a template looked into the warehouse, which was empty."""

from __future__ import annotations

import pytest
from offline_reports import ID, ORDERS, VIEW, found

from planproof.project import ProjectError, read_project
from planproof.project.explained import explain_model
from planproof.project.infer import infer_project
from planproof_engine.finding import Verdict

PIVOT = """select id
{% for column in adapter.get_columns_in_relation(ref('stg')) %}
, sum(case when {{ column.name }} is null then 0 else 1 end) as {{ column.name }}_set
{% endfor %}
from {{ ref('stg') }}
group by id"""
MODELS = {
    "stg": {"sql": "select id, tags from raw.orders", "parents": ["raw.orders"], "config": VIEW},
    # As dbt prints it where `stg` is not built yet.
    "pivot": {"sql": "select id, first_value(status) over (order by id) as s from shop.stg", "parents": ["stg"]},
    "child": {"sql": "select id, tags_set from shop.printed", "parents": ["printed"]},
    "other": {"sql": "select id, nothing from shop.stg", "parents": ["stg"]},
    "printed": {
        "sql": "select id from shop.stg group by id",
        "parents": ["stg"],
        "contract": True,
        "columns": {"id": ID, "tags_set": "bigint"},
    },
}
ASKS = {
    "in the template": ("{{ config(materialized='table') }}" + PIVOT, None, True),
    "in a macro": ("{{ shop.pivoted() }}", "{% macro pivoted() %}" + PIVOT + "{% endmacro %}", True),
    "by a query": ("{% set found = run_query('select 1') %}", None, True),
    "by a statement": ("{% call statement('s') %} select k from t {% endcall %}", None, True),
    "a sum": ("{{ shop.days() }}", "{% macro days() %}{% call statement('s') %}select 1{% endcall %}", False),
    "nothing": ("select id from {{ ref('stg') }}", "{% macro of_no_use() %}{{ adapter.quote('x') }}", False),
    "in words alone": ("-- run_query() was here\nselect id from {{ ref('stg') }}", None, False),
}


def asking(template, macro):
    def change(manifest):
        for name in ("pivot", "printed"):
            node = manifest["nodes"][f"model.shop.{name}"]
            node["raw_code"] = template
            node["depends_on"]["macros"] = ["macro.shop.m"] if macro else []
        if macro:
            macros = ["macro.dbt.run_query"]
            manifest["macros"] = {"macro.shop.m": {"macro_sql": macro, "depends_on": {"macros": macros}}}

    return change


@pytest.mark.parametrize(("template", "macro", "asks"), ASKS.values(), ids=ASKS)
def test_what_a_later_compile_may_print_is_not_held_against_the_model(check, template, macro, asks):
    reports = check(MODELS, change=asking(template, macro))
    verdict = Verdict.UNPROVED if asks else Verdict.VIOLATED
    assert {name: reports[name].verdict for name in ("pivot", "printed", "child")} == dict.fromkeys(
        ("pivot", "printed", "child"), verdict
    )
    # What a model of a plain template lacks is known.
    assert reports["other"].verdict is Verdict.VIOLATED
    assert found(reports["pivot"]) == [("PP111" if asks else "PP110", None)]
    (finding,) = reports["pivot"].findings
    assert ("which prints what dbt finds" in finding.message) is asks
    assert finding.next_step.startswith("Build what the model reads and compile again") is asks


def test_infer_and_explain_say_what_check_says(dbt_manifest):
    manifest = dbt_manifest(MODELS, ORDERS)
    asking(PIVOT, None)(manifest)
    project = read_project(manifest)
    left = {i.node.name: i.reason for i in infer_project(project) if i.reason}
    assert left["pivot"].startswith("its schema is not known offline: A column, variable, or function parameter")
    assert left["other"].startswith("Spark would reject it: ")
    with pytest.raises(ProjectError, match=r"its schema is not known offline: .*get_columns_in_relation"):
        explain_model(project, project.find_by_relation("pivot"))
    with pytest.raises(ProjectError, match="Spark would reject it"):
        explain_model(project, project.find_by_relation("other"))
