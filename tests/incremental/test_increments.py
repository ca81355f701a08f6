"""Is an incremental model what a full refresh would be? Forty models that are compiled either way (`models.yml`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import Environment

from planproof.project.check import check_project
from planproof.project.manifest import read_project
from planproof_engine.finding import CODES as CODES_OF_ALL
from planproof_engine.finding import Finding

MODELS = yaml.safe_load((Path(__file__).parent / "models.yml").read_text("utf-8"))
REVIEWED = yaml.safe_load((Path(__file__).parent / "reviewed.yml").read_text("utf-8"))
HELD_OUT = yaml.safe_load((Path(__file__).parent / "held_out.yml").read_text("utf-8"))
PROMISED = yaml.safe_load((Path(__file__).parent / "promised.yml").read_text("utf-8"))
CODES = ("PP140", "PP141", "PP142", "PP143", "PP144")
EVENTS = {
    "id": "bigint",
    "user_id": "string",
    "amount": "double",
    "at": "timestamp",
    "day": "date",
    "loaded_at": "timestamp",
}
SOURCES = {"raw.events": EVENTS, "raw.items": {"id": "bigint", "event_id": "bigint", "qty": "int"}}
NAMES = {"code": "string", "name": "string"}
SEEDS = {"countries": {"columns": NAMES, "config": {"column_types": NAMES}}}
SHORT = {
    "{delta}": "{% if is_incremental() %}",
    "{end}": "{% endif %}",
    "<e>": "{{ source('raw','events') }}",
    "<m>": "(select coalesce(max(loaded_at), timestamp'1970-01-01') from {{ this }})",
}
DAYS = "select explode(sequence(date'2020-01-01', date'2030-01-01')) as day"
CALENDAR = {"sql": f"select day, weekofyear(day) as week from ({DAYS})"}
USERS = {"user_id": "string", "country": "string", "plan": "string", "event_id": "bigint"}


def template(form: dict[str, Any]) -> str:
    sql = str(form["sql"])
    for short, long in SHORT.items():
        sql = sql.replace(short, long)
    return sql


def rendered(text: str, name: str, later: bool) -> str:
    """What dbt prints of the template."""
    return (
        Environment()
        .from_string(text)
        .render(
            source=lambda schema, table: f"{schema}.{table}",
            ref=lambda other: f"shop.{other}",
            this=f"shop.{name}",
            is_incremental=lambda: later,
            config=lambda **_: "",
            var=lambda name, default: default,
            my_macro=lambda *_: "1 = 1",
        )
    )


def node(name: str, form: dict[str, Any], later: bool) -> dict[str, Any]:
    config = {"materialized": "incremental", "incremental_strategy": form.get("strategy", "append")}
    config |= {"unique_key": form["key"]} if "key" in form else {}
    config |= {"partition_by": form["partition_by"]} if "partition_by" in form else {}
    config |= {key: form[key] for key in ("event_time", "batch_size") if key in form}
    config |= {"incremental_predicates": form["predicates"]} if "predicates" in form else {}
    config |= {"pre-hook": form["pre_hook"]} if "pre_hook" in form else {}
    config |= {"meta": {"planproof": {"append_only": form["append_only"]}}} if "append_only" in form else {}
    text = template(form)
    compiled = rendered(text, name, later)
    parents = [*SOURCES, *(other for other in ("countries", "users", "calendar") if other in text)]
    return {"sql": compiled, "raw_code": text, "config": config, "parents": parents}


@pytest.fixture
def judged(dbt_manifest: Any) -> Any:
    def judge(models: dict[str, dict[str, Any]], later: bool, **tests: Any) -> dict[str, list[Finding]]:
        sql = "select user_id, '' as country, '' as plan, id as event_id from raw.events"
        users = {"sql": sql, "columns": USERS, "contract": True, "parents": ["raw.events"]}
        nodes = {
            "users": users,
            "calendar": CALENDAR,
            **{name: node(name, form, later) for name, form in models.items()},
        }
        manifest = dbt_manifest(nodes, sources=SOURCES, seeds=SEEDS, **tests)
        reports = check_project(read_project(manifest))
        unread = [(r.model, str(f)) for r in reports for f in r.findings if f.code in ("PP110", "PP111")]
        assert unread == []
        return {r.model.removeprefix("shop."): [f for f in r.findings if f.code in (*CODES, "PP145")] for r in reports}

    return judge


@pytest.mark.parametrize("later", [False, True])
def test_nothing_is_said_against_a_model_that_is_right(judged: Any, later: bool) -> None:
    found = judged(MODELS["right"], later)
    assert len(MODELS["right"]) == 20
    assert {name: list(map(str, said)) for name, said in found.items() if any(f.code != "PP145" for f in said)} == {}
    proved = {name for name, said in found.items() for f in said if (f.code, f.verdict.value) == ("PP145", "proved")}
    assert proved == {name for name, form in MODELS["right"].items() if form.get("proved")}


@pytest.mark.parametrize("later", [False, True])
def test_a_model_that_is_wrong_is_found(judged: Any, later: bool) -> None:
    found = judged(MODELS["wrong"], later)
    assert len(MODELS["wrong"]) == 20
    wrong = {
        name: list(map(str, found[name]))
        for name, form in MODELS["wrong"].items()
        if form["code"] not in {f.code for f in found[name]} or any(f.verdict.value != "warning" for f in found[name])
    }
    assert wrong == {}


@pytest.mark.parametrize("later", [False, True])
def test_models_that_a_reader_wrote(judged: Any, later: bool) -> None:
    alarms = {
        name: list(map(str, said))
        for name, said in judged(REVIEWED["right"], later).items()
        if any(f.code != "PP145" for f in said) or any(f.verdict.value != "proved" for f in said)
    }
    assert alarms == {}
    found = judged(REVIEWED["wrong"], later)
    missed = {
        name: list(map(str, found[name]))
        for name, form in REVIEWED["wrong"].items()
        if form["code"] not in {f.code for f in found[name]}
    }
    assert missed == {}
    declared = {name: {**form, "append_only": "loaded_at"} for name, form in REVIEWED["unproved"].items()}
    said = {
        name: [(f.code, f.verdict.value) for f in found]
        for name, found in judged(declared, later).items()
        if name in declared
    }
    assert said == {name: [("PP145", "unproved")] for name in declared}


def make_unique_tests() -> dict[str, Any]:
    tested = {"model.shop.users": "user_id", "source.shop.raw.events": "id"}
    return {
        f"test.shop.{column}": {
            "resource_type": "test",
            "name": column,
            "test_metadata": {"name": "unique"},
            "column_name": column,
            "depends_on": {"nodes": [parent]},
        }
        for parent, column in tested.items()
    }


@pytest.mark.parametrize("later", [False, True])
def test_what_a_tested_key_tells_apart(judged: Any, later: bool) -> None:
    """The group of such a key is one row of its source; a row of another source may share it with others."""
    tests = make_unique_tests()
    found = judged(REVIEWED["keyed_right"], later, **tests)
    assert {name: list(map(str, said)) for name, said in found.items() if said} == {}
    found = judged(REVIEWED["keyed_wrong"], later, **tests)
    codes = {name: form["code"] for name, form in REVIEWED["keyed_wrong"].items()}
    assert [name for name, code in codes.items() if code not in {f.code for f in found[name]}] == []


@pytest.mark.parametrize("later", [False, True])
def test_models_that_were_written_after_the_rules(judged: Any, later: bool) -> None:
    alarms = {name: list(map(str, said)) for name, said in judged(HELD_OUT["right"], later).items() if said}
    assert alarms == {}
    found = judged(HELD_OUT["wrong"], later)
    missed = [name for name, form in HELD_OUT["wrong"].items() if form["code"] not in {f.code for f in found[name]}]
    assert missed == [name for name, form in HELD_OUT["wrong"].items() if form.get("unseen")]


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("scope", ["", "keyed_"])
def test_the_right_ones_of_each_category_that_the_page_names(judged: Any, scope: str, later: bool) -> None:
    right = PROMISED[f"{scope}right"]
    found = judged(right, later, **(make_unique_tests() if scope else {}))
    alarms = {name: list(map(str, said)) for name, said in found.items() if any(f.code != "PP145" for f in said)}
    assert alarms == {}
    proved = {name for name, said in found.items() if any(f.verdict.value == "proved" for f in said)}
    assert proved == {name for name, form in right.items() if form.get("proved")}


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("scope", ["", "keyed_"])
def test_the_wrong_ones_of_each_category_that_the_page_names(judged: Any, scope: str, later: bool) -> None:
    wrong = PROMISED[f"{scope}wrong"]
    found = judged(wrong, later, **(make_unique_tests() if scope else {}))
    missed = {n: list(map(str, found[n])) for n, form in wrong.items() if form["code"] not in codes_of(found[n])}
    assert missed == {}


def codes_of(found: list[Finding]) -> set[str]:
    return {finding.code for finding in found}


def test_columns_that_are_made_of_each_other_are_looked_at_once(judged: Any) -> None:
    """Forty doublings took more than a model may cost, and the model lost its verdict."""
    chain = ", ".join(f"c{i} as (select a + a as a, at from c{i - 1})" for i in range(1, 40))
    filtered = "select a, at from c39 {delta} where at > (select max(at) from {{ this }}) {end}"
    sql = f"with c0 as (select id as a, at from <e>), {chain} {filtered}"
    said = judged({"doubling": {"sql": sql, "strategy": "insert_overwrite", "partition_by": ["a"]}}, True)["doubling"]
    assert "PP140" in {f.code for f in said}


def test_the_filter_is_quoted_as_it_is_typed(judged: Any) -> None:
    bound = "day >\n  (select max(day) from {{ this }})"
    sql = f"select id, day from {{{{ source('raw', 'events') }}}}\n{{delta}} where {bound} {{end}}"
    said, *_ = judged({"typed": {"sql": sql}}, True)["typed"]
    assert "only rows with `day > (select max(day) from shop.typed)`: if the table is empty" in said.message
    assert "no run ever adds a row" in said.message
    for code in ("PP142", "PP143"):
        assert "on Parquet by insert_overwrite" in CODES_OF_ALL[code].next_step


@pytest.mark.parametrize("scope", ["", "  demo:\n  "])
def test_a_variable_is_what_the_project_sets(dbt_manifest: Any, tmp_path: Path, scope: str) -> None:
    """By the template's default the filter would stand in each later run, and the model would be proved."""
    test = "is_incremental() and var('by_delta', true)"
    sql = f"select id, loaded_at from <e> {{% if {test} %}} where loaded_at > <m> {{% endif %}}"
    nodes = {"switched_off": node("switched_off", {"sql": sql, "append_only": "loaded_at"}, later=False)}
    project = replace(read_project(dbt_manifest(nodes, sources=SOURCES)), directory=tmp_path)
    said = {}
    for value in ("true", "false"):
        (tmp_path / "dbt_project.yml").write_text(
            f"name: {project.name}\nvars:\n{scope.replace('demo', project.name)}  by_delta: {value}\n"
        )
        reports = check_project(replace(project))  # As a command reads it anew.
        said[value] = [f.verdict.value for r in reports for f in r.findings if f.code == "PP145"]
    assert said == {"true": ["proved"], "false": []}
    (tmp_path / "dbt_project.yml").write_text(f"name: {project.name}\n")
    other = {key: replace(n, raw={**n.raw, "package_name": "bought"}) for key, n in project.nodes.items()}
    reports = check_project(replace(project, nodes=other))
    # The package may set it in its own file, which no manifest names.
    assert [f for r in reports for f in r.findings if f.code == "PP145" and f.verdict.value == "proved"] == []


def test_sources_that_share_a_name_are_told_apart(dbt_manifest: Any) -> None:
    filtered = "{delta} where id > (select max(id) from {{ this }}) {end}"
    eu, us = (f"select id from {{{{ source('{schema}','sales') }}}}" for schema in ("eu", "us"))
    sql = f"{eu} {filtered} union all {us}"
    made = {**node("united", {"sql": sql}, later=True), "parents": ["eu.sales", "us.sales"]}
    manifest = dbt_manifest({"united": made}, sources={"eu.sales": {"id": "bigint"}, "us.sales": {"id": "bigint"}})
    assert "PP143" in {f.code for r in check_project(read_project(manifest)) for f in r.findings}
