"""Hooks and grants around a model: what is read from a manifest, and what runs in which order. No Spark."""

from __future__ import annotations

import pytest

from planproof.project import ProjectError, read_project, select_models
from planproof.project.run import list_remarks, run_project, select_runnable
from planproof.project.selection import select_nodes
from planproof.project.statements import Around, grant_statements, grants_of, hooks_of, list_dbt_only, list_never_run
from planproof.report.model import Report
from planproof.report.parts import describe_table
from planproof.session.protocol import SparkFailure
from planproof_engine.origin import AnalysisError


class Recorded:
    """A session that keeps the statements, and fails where a text says `broken`."""

    def __init__(self, grants=(), exists=True, outcome="published"):
        self.said, self.forgotten, self.grants, self.exists, self.outcome = [], [], grants, exists, outcome
        self.databases, self.refusal = {"`shop`"}, AnalysisError("SCHEMA_NOT_FOUND", "no such database")

    def rows(self, sql):
        self.said.append(sql)
        if "broken" in sql:
            raise AnalysisError("TABLE_OR_VIEW_NOT_FOUND", "there is no table")
        return list(self.grants) if sql.startswith("show grants") else []

    def database_location(self, name):
        if name not in self.databases:
            raise self.refusal

    def registered_table(self, name):
        return object() if self.exists else None

    def publish(self, model, full_refresh=False, tests=None):
        self.said.append(f"publish {model.name}")
        return Report(model.name, self.outcome, sql=model.sql)


def ran(manifest, recorded, **more):
    project = read_project(manifest)
    around = Around(recorded, recorded.forgotten.append)
    return run_project(project, select_runnable(select_models(project), fresh=True), recorded, around=around, **more)


HOOKED = {
    "pre-hook": [{"sql": "set a = 1;", "transaction": True}, {"sql": " ", "transaction": True}],
    "post-hook": "analyze table x compute statistics",
    "grants": {"select": ["ada", "b`ob"]},
}


def operation(name, when, sql, index):
    return {"resource_type": "operation", "name": name, "tags": [when], "raw_code": sql, "index": index}


def test_hooks_and_grants_stand_where_dbt_has_them(dbt_manifest):
    manifest = dbt_manifest({"mart": {"sql": "select 1 as id", "config": HOOKED}})
    manifest["nodes"] |= {
        "operation.shop.e": operation("e", "on-run-end", "drop view v", 0),
        "operation.shop.b": operation("b", "on-run-start", "create view v as select 2", 1),
        "operation.shop.a": operation("a", "on-run-start", "create database d", 0),
    }
    recorded = Recorded(exists=False)
    (report,) = ran(manifest, recorded)
    assert report.outcome == "published"
    assert recorded.said == [
        "create database d",
        "create view v as select 2",
        "set a = 1",
        "publish shop.mart",
        "grant select on `shop`.`mart` to `ada`",
        "grant select on `shop`.`mart` to `b``ob`",
        "analyze table x compute statistics",
        "drop view v",
    ]
    assert recorded.forgotten == [said for said in recorded.said if not said.startswith("publish")]


def test_a_database_that_is_not_there_is_made_first(dbt_manifest):
    manifest = dbt_manifest({"mart": {"sql": "select 1 as id"}, "other": {"sql": "select 2 as id"}})
    manifest["nodes"]["operation.shop.b"] = operation("b", "on-run-start", "set a = 1", 0)
    recorded = Recorded()
    recorded.databases = set()
    ran(manifest, recorded)
    assert recorded.said[:2] == ["create database if not exists `shop`", "set a = 1"]
    # Who may not look at it may still be one who writes to it.
    for refusal in (AnalysisError("INSUFFICIENT_PERMISSIONS", "not yours"), SparkFailure("access is denied")):
        recorded = Recorded()
        recorded.databases, recorded.refusal = set(), refusal
        ran(manifest, recorded)
        assert recorded.said == ["set a = 1", "publish shop.mart", "publish shop.other"]
    # Where a project says itself how it is made, only dbt does it.
    manifest["macros"] = {"macro.shop.own": {"name": "spark__create_schema", "package_name": "shop"}}
    recorded = Recorded()
    recorded.databases = set()
    ran(manifest, recorded)
    assert recorded.said == ["set a = 1", "publish shop.mart", "publish shop.other"]


def test_what_a_relation_grants_beyond_its_config_is_revoked(dbt_manifest):
    """As dbt-spark reads SHOW GRANTS: without OWN, tables alone, case aside."""
    present = [
        ("ADA", "SELECT", "TABLE", "shop.mart"),
        ("eve", "MODIFY", "TABLE", "shop.mart"),
        ("root", "OWN", "TABLE", "shop.mart"),
        ("eve", "USAGE", "SCHEMA", "shop"),
    ]
    recorded = Recorded(present)
    ran(dbt_manifest({"mart": {"sql": "select 1 as id", "config": {"grants": {"select": ["ada", "bob"]}}}}), recorded)
    assert recorded.said == [
        "publish shop.mart",
        "show grants on `shop`.`mart`",
        "revoke MODIFY on `shop`.`mart` from `eve`",
        "grant select on `shop`.`mart` to `bob`",
    ]
    assert grant_statements("s.t", {"select": ["a"]}, {"SELECT": ["A"]}) == []


def test_a_pre_hook_that_fails_stops_its_model_and_those_below(dbt_manifest):
    recorded = Recorded()
    models = {
        "mart": {"sql": "select 1 as id", "config": {"pre-hook": "select * from broken", "post-hook": "set b = 1"}},
        "child": {"sql": "select 1 as id", "parents": ["mart"]},
    }
    mart, child = sorted(ran(dbt_manifest(models), recorded), key=lambda r: r.model, reverse=True)
    assert recorded.said == ["select * from broken"]
    assert mart.outcome == "failed"
    assert mart.error == (
        "the pre-hook failed: [TABLE_OR_VIEW_NOT_FOUND] there is no table; it is: select * from broken; "
        "nothing was published"
    )
    assert (child.outcome, child.error) == ("skipped", "its parent shop.mart was not published")


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        ("delete from shop.mart", "the table is as a hook left it before (pre-hook `delete from shop.mart`)"),
        ("select max(id) from shop.mart", "the target is as it was"),
        ("delete from shop.other", "the target is as it was"),
    ],
)
def test_a_pre_hook_that_may_have_changed_the_table_is_told_of_a_model_that_was_stopped(dbt_manifest, hook, said):
    models = {"mart": {"sql": "select 1 as id", "config": {"pre-hook": hook}}}
    (report,) = ran(dbt_manifest(models), Recorded(outcome="rejected"))
    assert said in describe_table(report)


@pytest.mark.parametrize(
    ("hooks", "said"),
    [
        (("delete from shop.mart", "select * from broken"), "the table is as a hook left it before (pre-hook `delete"),
        (("insert into shop.mart select * from broken",), "the table is as a hook left it before (pre-hook `insert"),
        (("select * from broken", "delete from shop.mart"), "the target is as it was"),
    ],
)
def test_what_hooks_did_before_one_failed_is_told(dbt_manifest, hooks, said):
    """Those that never ran did nothing."""
    models = {"mart": {"sql": "select 1 as id", "config": {"pre-hook": list(hooks)}}}
    (report,) = ran(dbt_manifest(models), Recorded())
    assert report.outcome == "failed"
    assert report.error.endswith("; nothing was published")
    assert said in describe_table(report)


@pytest.mark.parametrize("config", [{"post-hook": "select * from broken"}, {"grants": {"broken": ["ada"]}}])
def test_what_fails_after_a_publish_fails_the_model_and_is_told_so(dbt_manifest, config):
    recorded = Recorded(exists=False)
    models = {
        "mart": {"sql": "select 1 as id", "config": config},
        "child": {"sql": "select 1 as id", "parents": ["mart"]},
    }
    mart, child = sorted(ran(dbt_manifest(models), recorded), key=lambda r: r.model, reverse=True)
    assert (mart.outcome, mart.details.published) == ("failed", True)
    assert mart.error.startswith("it was published, and then ")
    assert describe_table(mart) == "It was published; a later step failed."
    assert child.error == "its parent shop.mart failed after it was published"


def test_on_run_hooks_that_fail(dbt_manifest):
    """Before the models: nothing runs. After them: the models' reports stay, and the run has failed."""
    manifest = dbt_manifest({"mart": {"sql": "select 1 as id"}})
    manifest["nodes"]["operation.shop.a"] = operation("a", "on-run-start", "broken", 0)
    recorded = Recorded()
    with pytest.raises(SparkFailure, match="the on-run-start failed"):
        ran(manifest, recorded)
    assert recorded.said == ["broken"]
    manifest["nodes"]["operation.shop.a"]["tags"] = ["on-run-end"]
    ended = []
    mart, end = ran(manifest, Recorded(), finished=ended.append)
    assert [(r.model, r.outcome) for r in (mart, end)] == [("shop.mart", "published"), ("on-run-end", "failed")]
    assert ended == [mart, end]


def test_what_only_dbt_can_do_is_refused_and_what_dbt_spark_never_does_is_remarked(dbt_manifest):
    assert list_dbt_only({"pre-hook": "alter table {{ this }} x", "grants": {"select; drop": ["a"]}}) == [
        "pre-hook `alter table {{ this }} x` has Jinja",
        "grants 'select; drop', no privilege",
    ]
    outside = {"post-hook": [{"sql": "vacuum {{ this }}", "transaction": False}], "sql_header": "set x = 1;"}
    assert list_dbt_only(outside) == []
    assert [said.partition(":")[0] for said in list_never_run(outside)] == [
        "post-hook `vacuum {{ this }}`",
        "sql_header",
    ]
    assert [hook.runs for hook in hooks_of(outside)] == [False]
    assert grants_of({"grants": {"select": "ada", "modify": None}}) == {"select": ["ada"], "modify": []}

    models = {
        "a": {"sql": "select 1", "config": outside},
        "b": {"sql": "select 1", "config": {"materialized": "ephemeral"}},
    }
    manifest = dbt_manifest(models)
    manifest["nodes"]["operation.shop.x"] = operation("x", "on-run-start", "{{ log('hi') }}", 0)
    project = read_project(manifest)
    nodes = select_models(project)
    said = list_remarks(project, nodes, select_runnable(nodes, fresh=True))
    assert said[0] == "on-run-start `{{ log('hi') }}` has Jinja, which only dbt renders; it is not run"
    assert [text.partition(":")[0] for text in said[1:]] == ["a", "a", "b is ephemeral"]
    recorded = Recorded()
    ran(manifest, recorded)
    assert recorded.said == ["publish shop.a"]


def test_selected_seeds_and_snapshots_are_said_to_be_left_to_dbt(dbt_manifest):
    manifest = dbt_manifest({"a": {"sql": "select 1"}, "s": {"sql": "select 1"}}, seeds={"codes": {}, "zips": {}})
    manifest["nodes"]["snapshot.shop.s"] = manifest["nodes"].pop("model.shop.s") | {"resource_type": "snapshot"}
    project = read_project(manifest)

    def left(*select):
        nodes = select_nodes(project, select)
        return list_remarks(project, nodes, [node for node in nodes if node.kind == "model"])

    where = "left to dbt (`dbt seed`, `dbt snapshot`), and read as they stand:"
    assert left() == [f"{where} seed codes, seed zips, snapshot s"]
    assert left("a", "zips") == [f"{where} seed zips"]
    assert left("a") == []
    with pytest.raises(ProjectError, match="--select zips selects no model, but the seed zips; the"):
        select_nodes(project, ["zips"])
