"""The executor's loop, with a guard that only says what it was told to say; the real guard is tested on Spark."""

from __future__ import annotations

import threading

import pytest

from planproof.project import ProjectError, read_project, select_models
from planproof.project.run import find_refusals, run_project, select_runnable
from planproof.report.model import Report
from planproof.session.protocol import SparkFailure
from planproof_engine.finding import Finding, Verdict


class Told:
    """A publisher that stops the models named, and fails on others."""

    def __init__(self, stops=(), fails=()):
        self.stops, self.fails, self.seen = stops, fails, []

    def publish(self, model, full_refresh=False, tests=None):
        self.seen.append((model.name, model.settings.fail_on, full_refresh))
        if model.name in self.fails:
            raise SparkFailure("the cluster is gone", outside=True)
        if model.name in self.stops:
            finding = Finding(Verdict.VIOLATED, "PP505", "files", "id", message="3 nulls")
            return Report(model.name, "rejected", (finding,), sql=model.sql)
        return Report(model.name, "published", sql=model.sql, rows=1)


@pytest.fixture
def shop(dbt_manifest):
    meta = {"planproof": {"fail_on": "never"}}
    return read_project(
        dbt_manifest(
            {
                "a": {"sql": "select 1"},
                "b": {"sql": "select 1", "parents": ["a"], "config": {"materialized": "ephemeral"}},
                "c": {"sql": "select 1", "parents": ["b"]},
                "d": {"sql": "select 1", "parents": ["c"], "config": {"materialized": "view", "meta": meta}},
                "e": {"sql": "select 1", "config": {"materialized": "incremental"}},
            }
        )
    )


def outcomes(reports):
    return {report.model: report.outcome for report in reports}


def test_parents_go_first_and_ephemeral_models_are_part_of_their_children(shop):
    guard, begun, ended = Told(), [], []
    nodes = select_runnable(select_models(shop), fresh=True)
    reports = run_project(shop, nodes, guard, starting=lambda n: begun.append(n.name), finished=ended.append)
    assert begun == ["a", "c", "d", "e"]
    assert ended == reports
    assert set(outcomes(reports).values()) == {"published"}
    assert reports[2].details.fail_on == "never"


def test_below_a_stopped_model_nothing_runs(shop):
    guard = Told(stops=["shop.a"])
    reports = run_project(shop, select_runnable(select_models(shop), fresh=True), guard)
    assert outcomes(reports) == {"shop.a": "rejected", "shop.c": "skipped", "shop.d": "skipped", "shop.e": "published"}
    assert [name for name, _, _ in guard.seen] == ["shop.a", "shop.e"]
    assert reports[1].error == "its parent shop.a was not published"
    assert reports[2].error == "its parent shop.c was not published"
    assert reports[1].verdict is Verdict.UNPROVED


def test_a_model_that_cannot_run_is_failed_and_not_violated(shop):
    reports = run_project(shop, select_runnable(select_models(shop), fresh=True), Told(fails=["shop.c"]))
    assert outcomes(reports) == {"shop.a": "published", "shop.c": "failed", "shop.d": "skipped", "shop.e": "published"}
    assert (reports[1].error, reports[1].details.transient) == ("the cluster is gone", True)


def test_settings_and_full_refresh_reach_the_guard(shop):
    guard = Told()
    run_project(
        shop,
        select_runnable(select_models(shop, ["d"]), fresh=True),
        guard,
        overrides={"fail_on": "warning"},
        full_refresh=True,
    )
    assert guard.seen == [("shop.d", "warning", True)]


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("own", [True, False, None])
def test_a_model_s_own_full_refresh_wins_as_in_dbt(dbt_manifest, own, asked):
    """With `true` dbt compiles all rows each time, with `false` the new ones, whatever the command says."""
    given = {"materialized": "incremental"} if own is None else {"materialized": "incremental", "full_refresh": own}
    project, guard = read_project(dbt_manifest({"log": {"sql": "select 1 as id", "config": given}})), Told()
    run_project(project, select_runnable(project.models, fresh=True), guard, full_refresh=asked)
    assert [is_anew for *_, is_anew in guard.seen] == [asked if own is None else own]


def test_an_older_compile_is_good_for_tables_and_views_only(shop):
    with pytest.raises(ProjectError) as caught:
        select_runnable(select_models(shop), fresh=False)
    assert "e: incremental: its compiled SQL is good only for the warehouse" in str(caught.value)
    assert 'compile them with dbt just before the run, or leave them to `dbt build`: --exclude "e"' in str(caught.value)
    assert [n.name for n in select_runnable(select_models(shop, [], ["e"]), fresh=False)] == ["a", "c", "d"]


def test_what_dbt_alone_can_run_is_refused_by_name_before_anything_runs(dbt_manifest):
    project = read_project(
        dbt_manifest(
            {
                "hooked": {"sql": "select 1", "config": {"post-hook": "analyze table {{ this }}"}},
                "snake": {"language": "python", "sql": "x"},
                "bare": {},
                "fine": {"sql": "select 1"},
            }
        )
    )
    assert [(node.name, reason) for node, reason in find_refusals(project.models, fresh=True)] == [
        ("bare", "not compiled"),
        ("hooked", "only dbt does what it asks for: post-hook `analyze table {{ this }}` has Jinja"),
        ("snake", "a Python model"),
    ]
    with pytest.raises(ProjectError, match=r"nothing was run:\n  bare: not compiled\n  hooked: .*\n  snake"):
        select_runnable(project.models, fresh=True)


def test_ephemeral_models_alone_are_nothing_to_run(shop):
    with pytest.raises(ProjectError, match="only ephemeral models are selected"):
        select_runnable(select_models(shop, ["b"]), fresh=True)


def test_independent_models_run_beside_each_other_and_parents_first(dbt_manifest):
    """`left` and `right` meet at a barrier: one after the other they would never pass it."""
    project = read_project(
        dbt_manifest(
            {
                "top": {"sql": "select 1"},
                "left": {"sql": "select 1", "parents": ["top"]},
                "right": {"sql": "select 1", "parents": ["top"]},
                "end": {"sql": "select 1", "parents": ["left", "right"]},
            }
        )
    )
    barrier, threads, ended = threading.Barrier(2, timeout=20), {}, []

    class Meeting(Told):
        def publish(self, model, full_refresh=False, tests=None):
            if model.name in ("shop.left", "shop.right"):
                barrier.wait()
            return super().publish(model, full_refresh)

    guard = Meeting(stops=["shop.right"])
    nodes = select_runnable(select_models(project), fresh=True)
    reports = run_project(
        project,
        nodes,
        guard,
        threads=2,
        starting=lambda node: threads.setdefault(node.name, threading.get_ident()),
        finished=lambda report: ended.append(threading.get_ident()),
    )
    assert [report.model for report in reports] == [node.relation for node in nodes]
    assert outcomes(reports)["shop.end"] == "skipped"
    assert guard.seen[0][0] == "shop.top"
    assert threads["left"] != threads["right"]
    assert set(ended) == {threading.get_ident()}


@pytest.mark.parametrize("threads", [1, 3])
def test_where_finished_raises_no_further_model_is_begun(shop, threads):
    guard = Told()

    def cancelled(report):
        raise KeyboardInterrupt

    nodes = select_runnable(select_models(shop, ["a", "c", "d"]), fresh=True)
    with pytest.raises(KeyboardInterrupt):
        run_project(shop, nodes, guard, threads=threads, finished=cancelled)
    assert [name for name, _, _ in guard.seen] == ["shop.a"]


def test_what_dbt_alone_would_do_is_listed(dbt_manifest):
    config = {"post-hook": [{"sql": "grant select on {{ this }} to y"}, {"sql": "analyze table x"}]}
    manifest = dbt_manifest({"a": {"sql": "select 1 as id", "config": config}})
    with pytest.raises(
        ProjectError, match=r"a: only dbt does .*: post-hook `grant select on {{ this }} to y` has Jinja"
    ):
        select_runnable(select_models(read_project(manifest)), fresh=True)
