"""What the gate does with an error of planproof's own: nothing is published, unless the project wants that."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from projects import publish_once
from quick import keep_quick

from planproof_engine.catalog import RelationName

pytest.importorskip("dbt.adapters.spark")


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


@pytest.mark.conformance
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


QUERY = "select 1 as id"


APPENDED = """
    {{ config(materialized='incremental', incremental_strategy='append', file_format='parquet',
              meta={'planproof': {'on_internal_error': SETTING}}) }}
    select 2 as id
    """


AFTER = ("questions.relocate", "questions.list_changes", "trials.Trials.keep_answers")


@pytest.mark.parametrize("setting", ["pass", "fail"])
@pytest.mark.parametrize("part", keep_quick(AFTER, "trials.Trials.keep_answers"))
def test_a_defect_after_a_publish_neither_fails_the_node_nor_adds_its_rows_again(
    dbt: Any, part: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, _, name = part.rpartition(".")
    table = f"added_{name}_{setting}"
    dbt.write({f"models/{table}.sql": APPENDED.replace("SETTING", f"'{setting}'")})
    dbt.spark.sql(f"create table {dbt.place}.{table} using parquet as select 1 as id")
    broken_part(monkeypatch, name, owner, spares=lambda given: getattr(given[0], "outcome", "") == "checked")
    assert dbt.run("run", "--select", table).success, dbt.results
    assert dbt.rows(table) == [(1,), (2,)]
    assert dbt.reports[table]["outcome"] == "published"
    assert f"{table} was published, and then" in dbt.log


WRITTEN = {
    "models/written.sql": "{{ config(materialized='table', file_format='orc') }} select 1 as id",
    "models/written.yml": """
        models:
          - name: written
            config: {contract: {enforced: true}}
            columns: [{name: id, data_type: int, constraints: [{type: not_null}]}]
        """,
}


def test_an_audit_that_nobody_could_make_is_said(dbt: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody has dropped the table that dbt had just written."""
    from dbt_planproof.questions import Questions

    audit = Questions.audit

    def late(self: Any, ended_well: bool) -> None:
        dbt.spark.sql(f"drop table {dbt.place}.written")
        audit(self, ended_well)

    dbt.write(WRITTEN)
    monkeypatch.setattr(Questions, "audit", late)
    assert dbt.run("run", "--select", "written").success, dbt.results
    said = "written was not audited after dbt wrote it: "
    assert said in dbt.log
    assert said in (dbt.root / "target/planproof/report.json").read_text("utf-8")


def gate_in(phase: Any, on_internal_error: str, ran: list[Any]) -> Any:
    """A gate whose node, which waits for a drop, is in the phase; `ran` gets what dbt does itself."""
    from dbt_planproof.gate import Gate
    from dbt_planproof.states import GuardedNode, NodeState
    from planproof.contract import Contract, Model
    from planproof.settings import Settings

    config = SimpleNamespace(project_name="shop", credentials=SimpleNamespace(method="session"))
    gate = Gate(SimpleNamespace(config=config, drop_now=ran.append, execute_now=ran.append))
    settings = Settings(on_internal_error=on_internal_error)
    model = Model("s.t", QUERY, contract=Contract([("id", "int", False)]), settings=settings)
    node = GuardedNode(
        model, {"name": "t", "resource_type": "model", "config": {}, "columns": {}}, RelationName(("s", "t")), QUERY
    )
    gate.here.state = NodeState(node, phase, put_off=("a drop",)) if phase is not None else None
    return gate


def broken_part(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    owner: str = "gate",
    spares: Callable[[tuple[Any, ...]], bool] = lambda given: False,
) -> None:
    from dbt_planproof import gate

    place = f"dbt_planproof.{owner}.{name}"
    plain = pkgutil.resolve_name(place)

    def broken(*given: Any, **named: Any) -> Any:
        if spares(given):
            return plain(*given, **named)
        raise KeyError("no such part")

    # The error comes out of a file of planproof's.
    broken.__code__ = broken.__code__.replace(co_filename=gate.__file__)
    monkeypatch.setattr(place, broken)


def phases() -> list[Any]:
    from dbt_planproof.states import Phase

    return [None, *Phase]


@pytest.mark.parametrize("phase", phases(), ids=str)
@pytest.mark.parametrize("on_internal_error", ["fail", "pass"])
def test_a_defect_of_the_gate_stops_or_leaves_a_node_in_every_phase(
    phase: Any, on_internal_error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that has ended, and one that is not guarded, are not stopped in any case."""
    from dbt_planproof import log
    from dbt_planproof.questions import Stopped
    from dbt_planproof.states import OPEN, Phase

    said: list[str] = []
    monkeypatch.setattr(log, "warn", said.append)
    broken_part(monkeypatch, "decide")
    ran: list[Any] = []
    gate = gate_in(phase, on_internal_error, ran)
    sql = f"create table s.t using parquet as {QUERY}"
    if phase in OPEN and on_internal_error == "fail":
        with pytest.raises(Stopped, match=r"stopped t: internal error in planproof: KeyError.* \(at dbt_planproof"):
            gate.execute(sql)
        assert (ran, gate.here.state.phase) == ([], Phase.STOPPED)
        assert gate.execute(sql) is None, "dbt's hooks after it are dbt's own"
        return
    assert gate.execute(sql) is None, "dbt runs the statement"
    assert "KeyError: 'no such part' (at dbt_planproof.gate:" in said[0]
    assert "dbt goes on as if planproof were absent" in said[0]
    if phase in OPEN:
        assert (ran, gate.here.state.phase) == (["a drop"], Phase.PASSED), "what was put off is done first"


@pytest.mark.parametrize(
    ("part", "ask"),
    [
        ("has_promised_columns", lambda gate: gate.check_contract(QUERY)),
        (
            "is_columns_query",
            lambda gate: gate.find_columns(f"select * from ( {QUERY} ) as __dbt_sbq where false limit 0"),
        ),
    ],
)
def test_so_does_one_where_dbt_asks_for_columns(part: str, ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dbt_planproof.questions import Stopped
    from dbt_planproof.states import Phase

    broken_part(monkeypatch, part)
    with pytest.raises(Stopped, match="on_internal_error: pass"):
        ask(gate_in(Phase.GUARDED, "fail", []))
    gate = gate_in(Phase.GUARDED, "pass", [])
    assert ask(gate) is None
    assert gate.here.state.phase is Phase.PASSED


def test_what_is_no_defect_of_planproofs_is_said_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from dbt_planproof import gate as module
    from dbt_planproof.states import Phase

    def away(*given: Any) -> Any:
        raise ConnectionError("the driver is gone")

    monkeypatch.setattr(module, "decide", away)
    with pytest.raises(ConnectionError):
        gate_in(Phase.GUARDED, "pass", []).execute("select 1")
