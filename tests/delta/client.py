"""A client of a Thrift server that publishes a Delta table and kills itself at one of its calls.

`client.py SERVER TABLE KIND WORD [CALL [SECONDS]]`: its rows hold the word. Without CALL the publish comes to its end.
It kills itself before that call, or so many seconds after a statement has begun, while the server goes on with it. It
prints what it found, its calls, and its report.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import Any

from pyhive import hive

from planproof import Contract, Guard, Model
from planproof.publish.notes.notebook import Notebook
from planproof.session.store import LocalStore
from planproof.session.thrift import ThriftSession

ADDED = {"materialized": "incremental", "incremental_strategy": "append"}
MERGED = {"materialized": "incremental", "incremental_strategy": "merge", "options": {"unique_key": "id"}}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "replace": ("select id, '{}' as v from range(3)", {}),
    "append": ("select id, '{}' as v from range(3, 5)", ADDED),
    "overwrite": ("select id, '{}' as v from range(3, 5)", {**ADDED, "incremental_strategy": "insert_overwrite"}),
    "merge": ("select id, '{}' as v from range(1, 6)", MERGED),
}
PLACES = ((ThriftSession, "_run"), (Notebook, "write"), (Notebook, "delete"), (LocalStore, "delete"))
"""What a publish calls of Spark and of the disk that others see."""
CHANGES = ("create table", "create or replace table", "insert", "merge", "alter", "delete", "drop table")
"""How a statement begins that others see: the rest are no moments of their own."""


class Calls:
    """Counts them, and ends the process at one."""

    def __init__(self, last: int | None, seconds: float) -> None:
        self.made: list[str] = []
        self._last, self._seconds = last, seconds
        for owner, name in PLACES:
            setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, call: Any) -> Any:
        def counted(*given: Any, **more: Any) -> Any:
            is_statement = isinstance(given[0], ThriftSession)
            if is_statement and not given[1].lower().startswith(CHANGES):
                return call(*given, **more)
            self.made.append("statement" if is_statement else call.__qualname__)
            if len(self.made) == self._last:
                if not self._seconds:
                    os.kill(os.getpid(), signal.SIGKILL)
                threading.Timer(self._seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()
            return call(*given, **more)

        return counted


def main(server: str, name: str, kind: str, word: str, last: int | None, seconds: float) -> None:
    host, _, port = server.partition(":")
    session = ThriftSession(hive.connect(host, int(port)), lambda: hive.connect(host, int(port)))
    there = session.registered_table(name) is not None
    print("FOUND", json.dumps(session.rows(f"select * from {name} order by id, v") if there else None), flush=True)
    sql, given = KINDS[kind]
    contract = Contract([("id", "bigint", False), ("v", "string", False)])
    calls = Calls(last, seconds)
    report = Guard(session).publish(Model(name, sql.format(word), file_format="delta", contract=contract, **given))
    said = [str(report.error), *(f"{finding.code}: {finding.message}" for finding in report.findings)]
    print("DID", json.dumps({"outcome": report.outcome, "calls": calls.made, "said": said}), flush=True)
    if last is not None:  # A statement that was over before its clock ran out: nothing was killed.
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    given = sys.argv[5:]
    main(*sys.argv[1:5], int(given[0]) if given else None, float(given[1]) if given[1:] else 0)
