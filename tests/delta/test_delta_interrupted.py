"""Ctrl-C, or Airflow's timeout, while Delta commits in the JVM: Python is interrupted, and the JVM goes on."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from delta_tables import ADDED, GOOD, publish, rows

from planproof import Guard
from planproof.session.delta.tables import Delta

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS = 4


class Interrupted:
    """A transaction of Delta's whose caller is interrupted; the commit comes later."""

    def __init__(self, tables: Delta, real: Any) -> None:
        self.tables, self.real = tables, real
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
        raise KeyboardInterrupt


@pytest.mark.parametrize("given", [ADDED, {}], ids=["append", "replace"])
def test_a_commit_whose_caller_was_interrupted_is_refused(
    given: dict[str, Any], delta: SparkSession, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, opened = f"{place}.t", list[Interrupted]()
    assert publish(delta, name, GOOD).outcome == "published"
    held, plain = rows(delta, name), Delta._open_transaction

    def open_transaction(self: Delta, *of: Any) -> Any:
        if opened:
            return plain(self, *of)
        opened.append(Interrupted(self, plain(self, *of)))
        return opened[0]

    monkeypatch.setattr(Delta, "_open_transaction", open_transaction)
    with pytest.raises(KeyboardInterrupt):
        publish(delta, name, "select 7L as id, 'late' as v", **given)
    thread = opened[0].thread
    assert thread is not None
    thread.join()
    assert rows(delta, name) == held, opened[0].said
    assert list(Guard(delta).recover()) == []
    assert publish(delta, name, "select 8L as id, 'next' as v", **ADDED).outcome == "published"
    assert rows(delta, name) == [*held, (8, "next")], opened[0].said
