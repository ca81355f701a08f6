"""The states of a node: what may follow what, and that the table of transitions is whole."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("dbt")

from dbt_planproof.deletes import goes_by
from dbt_planproof.states import OPEN, TRANSITIONS, Event, Run, State
from planproof_engine.sql.heads import read_head


def run(reason: str | None = None, **config: Any) -> Run:
    model: Any = SimpleNamespace(contract=config.pop("contract", None))
    return Run(model, {"config": config}, ("s", "t"), "select 1 as id", reason)


def test_every_state_has_its_row_and_every_event_is_led_to_somewhere() -> None:
    assert set(TRANSITIONS) == set(State)
    assert {event for events in TRANSITIONS.values() for event in events} == set(Event)
    assert set(State) == {State.WAITING, State.DBTS} | {to for events in TRANSITIONS.values() for to in events.values()}


def test_what_was_published_stopped_or_passed_is_over() -> None:
    assert set(State) - OPEN == {State.PUBLISHED, State.PASSED, State.STOPPED}
    for ended in set(State) - OPEN:
        for event in Event:
            found = run()
            found.state = ended
            with pytest.raises(KeyError):
                found.to(event)


def test_a_delta_is_published_once() -> None:
    found = run()
    assert found.state is State.WAITING
    found.to(Event.DELTA_MADE)
    found.to(Event.PUBLISHED)
    assert not found.is_open
    with pytest.raises(KeyError):
        found.to(Event.PUBLISHED)


def test_what_dbt_writes_itself_can_only_be_stopped() -> None:
    found = run("its file format is delta")
    assert found.state is State.DBTS
    assert found.is_dbts
    for event in set(Event) - {Event.STOPPED}:
        with pytest.raises(KeyError):
            found.to(event)
    found.to(Event.STOPPED)
    assert not found.is_open


def test_rows_that_dbt_wrote_leave_a_node_open_to_its_audit() -> None:
    found = run()
    found.to(Event.ROWS_WRITTEN)
    assert found.is_open
    assert not found.is_dbts


@pytest.mark.parametrize(
    ("contract", "config", "state", "judged"),
    [
        (object(), {}, State.PUBLISHED, True),
        (None, {}, State.PUBLISHED, False),
        (object(), {"file_format": "parquet"}, State.PUBLISHED, False),
        (object(), {}, State.WAITING, False),
    ],
)
def test_terms_are_withheld_from_dbt_only_where_they_were_judged(
    contract: Any, config: dict[str, Any], state: State, judged: bool
) -> None:
    found = run(contract=contract, **config)
    found.state = state
    assert found.was_judged is judged


@pytest.mark.parametrize(
    ("delete", "sql", "waits"),
    [
        ("delete from s.t where id = 1", "create or replace temporary view t__dbt_tmp as select 2 as id", True),
        (
            "delete from s.t where id in (select id from t__dbt_tmp)",
            "create or replace temporary view t__dbt_tmp as select 2 as id",
            False,
        ),
        ("delete from s.t where id = 1", "describe s.t", True),
        ("delete from s.t where id = 1", "select count(*) from s.t", False),
    ],
)
def test_a_delete_waits_while_nothing_reads_its_rows_or_changes_what_it_does(
    delete: str, sql: str, waits: bool
) -> None:
    found = run()
    found.held.append((delete, read_head(delete)))
    assert goes_by(found, read_head(sql), sql) is waits
