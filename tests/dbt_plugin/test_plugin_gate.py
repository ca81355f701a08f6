"""What the gate does with settings, with threads, and with an error of planproof's own."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("dbt.adapters.spark")
pytest.importorskip("planproof.guard")

MODEL = """
    {{{{ config(materialized='table', file_format='parquet', meta={{'planproof': {settings}}}) }}}}
    select {value} as id
    """


class Broken:
    """A guard with a defect: what it raises is nobody's contract."""

    def __init__(self, spark: Any) -> None:
        pass

    def check(self, model: Any) -> Any:
        raise ZeroDivisionError("a defect")

    publish = check


@pytest.fixture
def defect(monkeypatch: pytest.MonkeyPatch) -> None:
    import dbt_planproof.gate

    monkeypatch.setattr(dbt_planproof.gate, "make_guard", Broken)


def publish_once(dbt: Any, settings: str = "{}") -> None:
    dbt.write({"models/number.sql": MODEL.format(settings=settings, value=1)})
    assert dbt.run("run", "--select", "number").success, dbt.results
    dbt.write({"models/number.sql": MODEL.format(settings=settings, value=2)})


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


def test_a_delta_whose_publish_began_is_never_run_a_second_time() -> None:
    from dbt_planproof.gate import _may_pass
    from planproof.contract import Model
    from planproof.report.model import Report
    from planproof.settings import Settings

    settings = Settings(on_internal_error="pass")
    delta = Model("s.t", "select 1", materialized="incremental", settings=settings)
    assert _may_pass(Report("s.t", "failed"), delta)
    assert not _may_pass(Report("s.t", "failed", strategy="append"), delta)
    table = Model("s.t", "select 1", settings=settings)
    assert _may_pass(Report("s.t", "failed", strategy="rename"), table)
    assert not _may_pass(Report("s.t", "failed"), Model("s.t", "select 1"))


def test_an_unknown_setting_fails_its_model_with_a_suggestion(dbt: Any) -> None:
    dbt.write({"models/number.sql": MODEL.format(settings="{'fail_onn': 'never'}", value=3)})
    assert not dbt.run("run", "--select", "number").success
    assert "unknown key 'fail_onn'; did you mean 'fail_on'?" in dbt.results["number"]["message"]


def test_fail_on_never_publishes_and_still_reports(dbt: Any) -> None:
    yaml = """
        models:
          - name: promised
            config: {contract: {enforced: true}}
            columns: [{name: id, data_type: bigint, constraints: [{type: not_null}]}]
        """
    model = """
        {{{{ config(materialized='table', file_format='parquet', meta={{'planproof': {{'fail_on': '{}'}}}}) }}}}
        select if(id = 3, null, id) as id from range(5)
        """
    dbt.write({"models/promised.sql": model.format("violated"), "models/promised.yml": yaml})
    assert not dbt.run("run", "--select", "promised").success
    assert not dbt.exists("promised")
    dbt.write({"models/promised.sql": model.format("never")})
    assert dbt.run("run", "--select", "promised").success, dbt.results
    assert dbt.reports["promised"]["verdict"] == "violated"
    assert len(dbt.rows("promised")) == 5


def test_threads_do_not_mix_their_models(dbt: Any) -> None:
    files = {}
    for i in range(8):
        files[f"models/many_{i}.sql"] = MODEL.format(settings="{}", value=f"'{i}'" if i % 2 else f"{i}L")
    columns = "{name: id, data_type: bigint}"
    models = [f"{{name: many_{i}, config: {{contract: {{enforced: true}}}}, columns: [{columns}]}}" for i in range(8)]
    files["models/many.yml"] = f"models: [{', '.join(models)}]"
    dbt.write(files)
    assert not dbt.run("run", "--select", "many_*", "--threads", "2").success
    assert dbt.statuses == {f"many_{i}": "error" if i % 2 else "success" for i in range(8)}
    for i in range(8):
        found = dbt.reports[f"many_{i}"]
        assert found["outcome"] == ("rejected" if i % 2 else "published")
        assert f"many_{i}" in found["model"]
        assert str(i) in found["sql"]
