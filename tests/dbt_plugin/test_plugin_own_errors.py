"""What the gate does with an error of planproof's own: nothing is published, unless the project wants that."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from projects import publish_once

pytest.importorskip("dbt.adapters.spark")

pytestmark = pytest.mark.hive


class Broken:
    """A guard with a defect: what it raises is nobody's contract."""

    def __init__(self, spark: Any) -> None:
        self.memory = SimpleNamespace(forget=lambda statement: None)

    def check(self, model: Any, **more: Any) -> Any:
        raise ZeroDivisionError("a defect")

    publish = check


@pytest.fixture
def defect(monkeypatch: pytest.MonkeyPatch) -> None:
    import dbt_planproof.questions

    monkeypatch.setattr(dbt_planproof.questions, "make_guard", Broken)


def test_an_error_of_our_own_publishes_nothing(dbt: Any, request: pytest.FixtureRequest) -> None:
    publish_once(dbt)
    request.getfixturevalue("defect")
    assert not dbt.run("run", "--select", "number").success
    message = dbt.results["number"]["message"]
    assert message.count("internal error in planproof: ZeroDivisionError: a defect") == 1
    assert "on_internal_error: pass" in message
    assert "Traceback" in dbt.log
    assert dbt.rows("number") == [(1,)]


def test_an_error_of_our_own_may_be_passed(dbt: Any, request: pytest.FixtureRequest) -> None:
    publish_once(dbt, "{'on_internal_error': 'pass'}")
    request.getfixturevalue("defect")
    assert dbt.run("run", "--select", "number").success, dbt.results
    assert "dbt runs this model as if planproof were absent" in dbt.log
    assert dbt.rows("number") == [(2,)]


def test_an_error_of_our_own_before_the_model_runs_may_be_passed(dbt: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import dbt_planproof.admission

    def broken(*given: Any, **named: Any) -> Any:
        raise ZeroDivisionError("a defect")

    for settings, ends in (("{'on_internal_error': 'pass'}", True), ("{}", False)):
        publish_once(dbt, settings)
        with monkeypatch.context() as patch:
            patch.setattr(dbt_planproof.admission, "model_of", broken)
            assert dbt.run("run", "--select", "number").success is ends
        assert dbt.rows("number") == [(2 if ends else 1,)]
    assert "internal error in planproof: ZeroDivisionError: a defect" in dbt.results["number"]["message"]


def test_a_delta_whose_publish_began_is_never_run_a_second_time() -> None:
    from dbt_planproof.questions import _may_pass
    from planproof.contract import Model
    from planproof.report.details import Details
    from planproof.report.model import Report
    from planproof.settings import Settings

    settings = Settings(on_internal_error="pass")
    delta = Model("s.t", "select 1", materialized="incremental", settings=settings)
    assert _may_pass(Report("s.t", "failed"), delta)
    assert not _may_pass(Report("s.t", "failed", strategy="append"), delta)
    table = Model("s.t", "select 1", settings=settings)
    assert _may_pass(Report("s.t", "failed", strategy="rename"), table)
    assert not _may_pass(Report("s.t", "failed"), Model("s.t", "select 1"))
    half_way = Report("s.t", "failed", strategy="rename", details=Details(unsettled=True))
    assert not _may_pass(half_way, table), "recover would put the old files in the place of dbt's table"
