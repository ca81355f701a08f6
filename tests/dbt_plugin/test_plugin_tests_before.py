"""`tests: before`: a model's data tests run over its staged rows, and the table stands as before where one fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("dbt.adapters.spark")

from dbt_planproof.states import ThisThread
from planproof_engine.catalog import RelationName
from planproof_engine.sql.heads import read_head

TABLE = """
    {{ config(materialized='KIND', file_format='parquet', meta={'planproof': {'tests': 'before'}}) }}
    select id, name, amount from VALUES as t(id, name, amount)
    -- depends_on: {{ ref('letters') }}
    """
GOOD, BAD = "values (1, 'a', 10), (2, 'b', 20), (3, 'c', 30)", "values (1, 'a', 10), (1, 'b', -20), (null, 'z', null)"

# What each model is tested with, as it stands below its column or its model in YAML. All fail over the bad rows.
COLUMN_TESTS = {
    "not_null": "not_null",
    "unique": "unique",
    "accepted_values": "accepted_values: {values: ['a', 'b', 'c']}",
    "relationships": "relationships: {to: ref('letters'), field: letter}",
    "where": "not_null: {config: {where: \"name <> 'a'\"}}",
    "limited": "not_null: {config: {limit: 1}}",
    "error_if": "unique: {config: {error_if: '>0'}}",
    "fail_calc": "not_null: {config: {fail_calc: 'coalesce(sum(coalesce(id, 2)), 0)', error_if: '> 1'}}",
    "custom": "positive",
    "stored": "unique: {config: {store_failures: true}}",
    "stored_as_view": "not_null: {config: {store_failures_as: view}}",
    "joined": "relationships: {to: \"source('outside', 'amounts')\", field: amount}",
}
OF_COLUMN = {"accepted_values": "name", "relationships": "name", "custom": "amount", "joined": "amount"}
SINGULAR = {
    "this_name": "select * from {{ ref('this_name') }} where amount < 0",
    "cte_of_its_name": "with cte_of_its_name as (select * from {{ ref('cte_of_its_name') }}) "
    "select * from cte_of_its_name where id is null",
    "quoted_name": "select q.* from `{{ ref('quoted_name').schema }}`.`QUOTED_name` q where id is null",
    "in_subquery": "select 1 where exists (select 1 from {{ ref('in_subquery') }} where amount < 0) -- the end",
    "counted_rows": "select count(distinct id) as n from {{ ref('counted_rows') }} having n <> 3",
    "asks_columns": "{% set found = adapter.get_columns_in_relation(ref('asks_columns')) %}"
    "select {{ found | map(attribute='name') | join(', ') }} from {{ ref('asks_columns') }} where id is null",
}
VIEWS = {"a_view": "select * from {{ ref('a_view') }} where id is null"}
# Two rows of the delta and one that stays.
DELTAS = {"a_delta": "select id from {{ ref('a_delta') }} group by id having count(*) > 2"}
OF_MODEL = {"of_model": "total_within: {column: amount, most: 100}"}
KINDS = [*COLUMN_TESTS, *SINGULAR, *VIEWS, *DELTAS, *OF_MODEL]
SOME = [
    "unique",
    "relationships",
    "limited",
    "custom",
    "stored",
    "this_name",
    "in_subquery",
    *VIEWS,
    *DELTAS,
    *OF_MODEL,
]
each = pytest.mark.parametrize(
    "kinds", [pytest.param(SOME, id="some"), pytest.param(KINDS, id="all", marks=pytest.mark.conformance)]
)


def yaml() -> str:
    lines = ["models:"]
    for name, test in COLUMN_TESTS.items():
        column = OF_COLUMN.get(name, "id")
        lines += [f"  - name: {name}", f"    columns: [{{name: {column}, data_tests: [{{{test}}}]}}]"]
    lines += [f"  - name: {name}\n    data_tests: [{{{test}}}]" for name, test in OF_MODEL.items()]
    text = "\n".join(lines).replace("[{not_null}]", "[not_null]").replace("[{unique}]", "[unique]")
    return text.replace("[{positive}]", "[positive]")


FILES = {
    "models/letters.sql": "{{ config(materialized='table', file_format='parquet') }} "
    "select letter from values ('a'), ('b'), ('c') as t(letter)",
    "macros/positive.sql": "{% test positive(model, column_name) %} select * from {{ model }} "
    "where not ({{ column_name }} > 0) {% endtest %}",
    "macros/total_within.sql": "{% test total_within(model, column, most) %} select sum({{ column }}) as total from "
    "{{ model }} having not sum({{ column }}) between 1 and {{ most }} {% endtest %}",
    "models/kinds.yml": yaml(),
    **{
        f"models/{name}.sql": TABLE.replace(
            "KIND", "view" if name in VIEWS else "incremental" if name in DELTAS else "table"
        ).replace("VALUES", f"{{% if var('bad', false) %}} {BAD} {{% else %}} {GOOD} {{% endif %}}")
        for name in KINDS
    },
    **{f"tests/test_{name}.sql": text for name, text in {**SINGULAR, **VIEWS, **DELTAS}.items()},
    "models/sources.yml": """
        sources:
          - {name: outside, schema: "{{ target.schema }}", tables: [{name: amounts}]}
        """,
}


@pytest.fixture(scope="module")
def project(dbt: Any) -> Iterator[Any]:
    dbt.spark.sql(f"create table {dbt.schema}.amounts using parquet as select * from values (10), (20), (30) t(amount)")
    dbt.write(FILES)
    yield dbt
    dbt.spark.sql(f"drop database if exists {dbt.schema}_dbt_test__audit cascade")


def test_a_test_that_needs_models_which_come_later_is_left_to_dbt() -> None:
    from dbt_planproof.trials import Trials

    def node(name: str, *parents: str, materialized: str = "table") -> Any:
        config = SimpleNamespace(materialized=materialized)
        return SimpleNamespace(name=name, config=config, depends_on=SimpleNamespace(nodes=list(parents)))

    text = node("text", "beside", materialized="ephemeral")
    nodes = {"own": node("own"), "above": node("above", "own"), "beside": node("beside"), "text": text}
    adapter: Any = None
    trials = Trials(adapter, ThisThread())
    trials.begin(SimpleNamespace(nodes=nodes), {"own", "above", "beside"})
    said = {other: trials._why_more(node("a_test", "own", other), "own") for other in nodes}
    assert said == {
        "own": None,
        "above": "it reads above, which is built from this model",
        "beside": "it reads beside, which is not built yet",
        "text": "it reads beside, which is not built yet",
    }
    trials.is_built("beside")
    assert trials._why_more(node("a_test", "own", "text"), "own") is None


def test_the_log_does_not_say_that_dbt_runs_a_test_which_a_later_publish_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test of two models waits for the second one, and runs before that one is published."""
    from dbt_planproof import trials
    from planproof.publish.data_tests.trial import DataTest

    told: list[str] = []
    nothing: Any = None
    known = trials.Trials(nothing, ThisThread())
    waiting = DataTest("a_test", "").report_not_run("it reads beside, which is not built yet")
    monkeypatch.setattr(trials.log, "info", told.append)
    monkeypatch.setattr(known, "_collect_tests", lambda: {"model.shop.own": [nothing]})
    monkeypatch.setattr(known, "_begin", lambda *args: waiting)
    staged: Any = SimpleNamespace(target=RelationName(("db", "own")), count_together=lambda questions: {})
    assert known.run_before(trials.TestsBefore(known, "model.shop.own"), staged) == [waiting]
    assert told == [
        "planproof: a_test does not run over the staged rows of own: it reads beside, which is not built yet"
    ]


def test_what_was_found_counts_for_the_rows_that_it_was_found_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook, or somebody else, may write to the table between its publish and the test's turn."""
    from dbt_planproof import trials

    nothing: Any = None
    for stands, said in (("as published", "pass"), ("as a hook left it", None), (None, None)):
        known = trials.Trials(nothing, ThisThread())
        known.answers["test.a"] = trials.Answer("pass", "counted", (), "as published")
        monkeypatch.setattr(trials, "_read_state", lambda *args, state=stands: state)
        monkeypatch.setattr(known, "_find_question", lambda test: None)
        assert known.answer(SimpleNamespace(unique_id="test.a"), nothing) == said


def test_a_test_that_queries_its_table_while_dbt_compiles_it_does_not_run_before() -> None:
    from dbt_planproof.trials import Trials
    from planproof.publish.data_tests.trial import NotRun

    nothing: Any = None
    trials = Trials(nothing, ThisThread())
    trials.here.staged = SimpleNamespace(target=RelationName(("s", "t")))
    trials.refuse_query(read_head("select max(id) from s.u"))
    with pytest.raises(NotRun, match="it queries the table while dbt compiles it"):
        trials.refuse_query(read_head("select max(id) from s.T"))
    trials.here.staged = None
    trials.refuse_query(read_head("select max(id) from s.t"))


@pytest.mark.parametrize(
    ("config", "macro", "is_counted"),
    [
        ({}, "elsewhere", True),
        ({"store_failures": True}, "elsewhere", False),
        ({"sql_header": "set a = 1;"}, "elsewhere", False),
        ({"limit": 1}, "elsewhere", False),
        ({}, "get_test_sql", False),
    ],
)
def test_what_dbt_does_more_than_count_is_left_to_dbt(config: dict[str, Any], macro: str, is_counted: bool) -> None:
    from dbt_planproof.trials import Trials

    given = {"fail_calc": "count(*)", "warn_if": "!= 0", "error_if": "!= 0", "store_failures": False, **config}
    own = SimpleNamespace(store_failures=given["store_failures"], to_dict=lambda: given, get=given.get)
    test = SimpleNamespace(config=own, compiled_code="select id\nfrom shop.orders\nwhere id is null")
    nothing: Any = None
    trials = Trials(nothing, ThisThread())
    macros = {"macro.shop.one": SimpleNamespace(name=macro, package_name="shop")}
    trials.begin(SimpleNamespace(nodes={}, macros=macros), ())
    assert (trials._find_question(test) is not None) is is_counted


def found_by(dbt: Any) -> dict[str, tuple[Any, ...]]:
    """Status, failures and message of each test of the last run, by its name."""
    form = json.loads((dbt.root / "target/run_results.json").read_text("utf-8"))
    results = [r for r in form["results"] if r["unique_id"].startswith("test.")]
    return {
        r["unique_id"].split(".")[2]: (r["status"], r["failures"], r["adapter_response"], r["message"]) for r in results
    }


@each
def test_what_passes_before_is_reported_by_the_tests_own_nodes(project: Any, kinds: list[str]) -> None:
    assert project.run("build", "--select", "letters", *kinds).success, project.results
    found, reports = found_by(project), project.reports
    assert project.run("test", "--select", "letters", *kinds, guarded=False).success, project.results
    bare = found_by(project)
    assert {name: result[:3] for name, result in found.items()} == {name: result[:3] for name, result in bare.items()}
    ran = {name for name, (*_, message) in found.items() if message is None}
    assert {name for name in ran if "stored_as_view" not in name} == set()
    assert all(m.startswith(("pass (counted", "pass (proved")) for *_, m in found.values() if m is not None)
    grounds = {name.split("_")[0]: message for name, (*_, message) in found.items()}
    assert "accepted_values" not in kinds or grounds["accepted"].startswith("pass (counted: values of "), grounds
    assert grounds["positive"] == "pass (counted over the staged rows, before they were published)"
    assert all(reports[name]["details"]["tests"][0]["status"] == "pass" for name in kinds)


@each
def test_a_failing_test_of_each_kind_leaves_the_table_as_it_was(project: Any, kinds: list[str]) -> None:
    assert len(KINDS) >= 20
    before = {name: project.state(name) for name in kinds}
    assert not project.run("build", "--select", "letters", *kinds, "--vars", "{bad: true}").success
    assert {name: project.state(name) for name in kinds} == before
    assert {name: project.statuses[name] for name in kinds} == dict.fromkeys(kinds, "error")
    assert {status for status, *_ in found_by(project).values()} == {"skipped"}
    for name in kinds:
        (found,) = [f for f in project.reports[name]["findings"] if f["code"] == "PP513"]
        assert found["verdict"] == "violated"
        assert "failures: " in found["found"]
        said = project.results[name]["message"]
        assert ("models/kinds.yml" if name in {*COLUMN_TESTS, *OF_MODEL} else f"tests/test_{name}.sql") in said


KINDS_OF_NODES = {
    "seeds/colors.csv": "color\nred\n",
    "models/text.sql": "{{ config(materialized='ephemeral') }} select color from {{ ref('colors') }}",
    "models/off.sql": "{{ config(enabled=false) }} select 1 as id",
    "models/painted.sql": "{{ config(materialized='table', file_format='parquet', "
    "meta={'planproof': {'tests': 'before'}}) }} select color, id from {{ ref('colors') }} "
    "cross join (select 1 as id) -- depends_on: {{ ref('text') }}",
    "models/repainted.sql": "{{ config(materialized='view') }} select * from {{ ref('painted') }}",
    "snapshots/kept.sql": "{% snapshot kept %} {{ config(strategy='check', unique_key='color', check_cols='all', "
    "target_schema=target.schema, file_format='iceberg') }} select * from {{ ref('painted') }} {% endsnapshot %}",
    "analyses/looked.sql": "select * from {{ ref('painted') }}",
    "tests/singular.sql": "select p.* from {{ ref('painted') }} p join {{ ref('repainted') }} using (color) "
    "where p.color is null",
    "models/painted.yml": """
        models:
          - name: painted
            columns:
              - name: color
                data_tests: [not_null, {relationships: {to: ref('colors'), field: color}},
                             {relationships: {to: "source('outside', 'amounts')", field: amount,
                                              config: {enabled: false}}}]
        seeds: [{name: colors, columns: [{name: color, data_tests: [unique]}]}]
        exposures: [{name: board, type: dashboard, owner: {name: Ada}, depends_on: [ref('painted')]}]
        unit_tests:
          - {name: it_paints, model: repainted, given: [{input: ref('painted'), rows: [{color: red, id: 1}]}],
             expect: {rows: [{color: red, id: 1}]}}
        """,
}


def test_every_kind_of_node_may_be_among_a_tests_ancestors(project: Any) -> None:
    """A seed's `depends_on` are macros alone: what dbt's own classes have is asked of dbt's own objects."""
    from dbt_planproof.dbts import parents_of
    from dbt_planproof.trials import Trials

    project.write(KINDS_OF_NODES)
    manifest = project.run("parse").result
    adapter: Any = None
    trials = Trials(adapter, ThisThread())
    trials.begin(manifest, set(manifest.nodes))
    kinds = {node.resource_type.value for node in manifest.nodes.values()}
    assert kinds >= {"seed", "model", "snapshot", "analysis", "test"}
    others = (manifest.sources, manifest.exposures, manifest.unit_tests, manifest.macros)
    disabled = {key: found[0] for key, found in manifest.disabled.items()}
    for key in [*manifest.nodes, *(key for nodes in others for key in nodes), *disabled, "model.other.missing"]:
        assert key not in trials._find_ancestors(key)
        assert isinstance(trials._find_relations([key]), tuple)
    own = "model.shop.painted".replace("shop", next(iter(manifest.nodes)).split(".")[1])
    reasons = {node.name: trials._why_more(node, own) for node in trials._collect_tests()[own]}
    assert reasons["singular"] == "it reads repainted, which is built from this model"
    assert all(parents_of(node) == [] for node in (*manifest.sources.values(), None))
    assert {"not_null_painted_color", "singular"} <= set(reasons)


def test_a_test_against_a_seed_runs_before_the_publish(project: Any) -> None:
    project.write(KINDS_OF_NODES)
    names = ("colors", "painted")
    result = project.run("build", "--select", *names, "--vars", "{bad: false}", "--exclude", "singular")
    assert {str(status) for status in project.statuses.values()} <= {"success", "pass"}, result.exception
    tests = {t["name"].split("_painted")[0]: t["status"] for t in project.reports["painted"]["details"]["tests"]}
    assert tests["not_null"] == tests["relationships"] == "pass"


def test_an_error_of_planproofs_own_leaves_the_test_to_dbt(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dbt_planproof import trials

    def broken(node: Any) -> Any:
        raise AttributeError("no such part")

    broken.__code__ = broken.__code__.replace(co_filename=trials.__file__)
    project.write(KINDS_OF_NODES)
    monkeypatch.setattr(trials, "parents_of", broken)
    project.run("build", "--select", "painted", "--exclude", "singular")
    assert {str(status) for status in project.statuses.values()} <= {"success", "pass"}
    report = project.reports["painted"]
    [told] = [f for f in report["findings"] if f["code"] == "PP901"]
    assert (report["outcome"], told["verdict"]) == ("published", "warning")
    assert "AttributeError: no such part (at dbt_planproof.trials:" in told["message"]
    assert "dbt runs them after it" in told["message"]
