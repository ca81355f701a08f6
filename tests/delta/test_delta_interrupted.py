"""Ctrl-C, or Airflow's timeout, while Delta commits in the JVM: Python is interrupted, and the JVM goes on."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from delta_tables import ADDED, BAD, GOOD, publish, rows, versions

from planproof import Guard, Settings
from planproof.publish.transaction import owner
from planproof.session.delta.tables import Delta

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS = 4


class Killed(BaseException):
    """What no publish catches."""


class Interrupted:
    """A transaction of Delta's whose caller is interrupted; the commit comes later."""

    def __init__(self, tables: Delta, real: Any, raised: type[BaseException] = KeyboardInterrupt) -> None:
        self.tables, self.real, self.raised = tables, real, raised
        self.said: list[str] = []
        self.thread: threading.Thread | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def commit(self, *given: Any) -> int:
        def commit() -> None:
            self.tables._activate(self.tables._java)
            time.sleep(SECONDS)
            try:
                self.said.append(str(self.real.commit(*given)))
            except Exception as error:
                self.said.append(str(error))

        self.thread = threading.Thread(target=commit)
        self.thread.start()
        raise self.raised


def interrupt_first(patch: pytest.MonkeyPatch, raised: type[BaseException]) -> list[Interrupted]:
    """The first transaction from now on is interrupted."""
    opened, plain = list[Interrupted](), Delta._open_transaction

    def open_transaction(self: Delta, *of: Any) -> Any:
        if opened:
            return plain(self, *of)
        opened.append(Interrupted(self, plain(self, *of), raised))
        return opened[0]

    patch.setattr(Delta, "_open_transaction", open_transaction)
    return opened


@pytest.mark.parametrize("given", [ADDED, {}], ids=["append", "replace"])
def test_a_commit_whose_caller_was_interrupted_is_refused(
    given: dict[str, Any], delta: SparkSession, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{place}.t"
    assert publish(delta, name, GOOD).outcome == "published"
    held, opened = rows(delta, name), interrupt_first(monkeypatch, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        publish(delta, name, "select 7L as id, 'late' as v", **given)
    thread = opened[0].thread
    assert thread is not None
    thread.join()
    assert rows(delta, name) == held, opened[0].said
    assert list(Guard(delta).recover()) == []
    assert publish(delta, name, "select 8L as id, 'next' as v", **ADDED).outcome == "published"
    assert rows(delta, name) == [*held, (8, "next")], opened[0].said


@pytest.mark.parametrize("raised", [KeyboardInterrupt, Killed], ids=["interrupted", "killed"])
def test_bad_rows_whose_commit_comes_late_are_refused(
    raised: type[BaseException], delta: SparkSession, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was published, and so nothing is quarantined; the target's log has no commit of that."""
    name, settings = f"{place}.t", Settings(on_violation="quarantine")
    for _ in range(2):
        assert publish(delta, name, BAD, settings=settings, **ADDED).outcome == "published"
    held, before, aside = rows(delta, name), versions(delta, name), f"{name}__quarantine"
    assert delta.table(aside).count() == 2
    with monkeypatch.context() as patch:
        opened = interrupt_first(patch, raised)
        with pytest.raises(raised):
            publish(delta, name, BAD, settings=settings, **ADDED)
    if raised is Killed:
        owner._running.clear()
        assert {report.outcome for report in Guard(delta).recover()} == {"rejected"}
    thread = opened[0].thread
    assert thread is not None
    thread.join()
    assert (rows(delta, name), versions(delta, name)) == (held, before)
    delta.sql(f"refresh table {aside}")
    assert delta.table(aside).count() == 2, opened[0].said
