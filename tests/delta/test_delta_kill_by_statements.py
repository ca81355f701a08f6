"""kill -9 of a Thrift client at each call of its publish: the server goes on, and the table is one of two."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planproof import Guard
from planproof.session.thrift import ThriftSession

pytestmark = pytest.mark.faults
OLD = [[0, "new"], [1, "new"], [2, "new"]]
ADDED = [[3, "added"], [4, "added"]]
NEW = {
    "replace": [[0, "replaced"], [1, "replaced"]],
    "append": [*OLD, *ADDED],
    "overwrite": ADDED,
    "merge": [[0, "new"], *([n, "merged"] for n in range(1, 6))],
}
SECONDS = (0, 0.05, 0.4)
"""After which a client is killed: before the call, and while the server is at it."""
SETTLES = 15
"""Seconds in which a server ends what a lost client asked for, at most."""
_numbers = itertools.count(1)


class Clients:
    """Processes that publish over one server."""

    def __init__(self, server: str, session: ThriftSession) -> None:
        self.server, self.session = server, session

    def run(self, name: str, kind: str, *killed: object) -> tuple[Any, Any]:
        """What a client found, and what its publish did: None where it was killed."""
        command = [sys.executable, str(Path(__file__).with_name("client.py")), self.server, name, kind]
        done = subprocess.run([*command, *map(str, killed)], capture_output=True, text=True, timeout=300)
        lines = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith(("FOUND", "DID")))
        assert "FOUND" in lines, done.stderr[-3000:]
        assert done.returncode == (-9 if killed else 0), done.stderr[-3000:]
        return json.loads(lines["FOUND"]), json.loads(lines["DID"]) if "DID" in lines else None

    def rows(self, name: str) -> Any:
        """Those that the table has once nothing of a lost client is under way any more."""
        until, last = time.monotonic() + SETTLES, object()
        while time.monotonic() < until:
            there = self.session.registered_table(name) is not None
            found = sorted(map(list, self.session.rows(f"select * from {name}")), key=str) if there else None
            if found == last:
                return found
            last = found
            time.sleep(1)
        raise AssertionError(f"{name} does not settle: {last}")

    def list_left(self) -> list[str]:
        home = Path(str(self.session.database_location("`shop`")).removeprefix("file:"))
        return sorted(str(path.relative_to(home)) for path in home.glob("__planproof*"))


@pytest.fixture(scope="module")
def clients(thrift: str) -> Iterator[Clients]:
    hive = pytest.importorskip("pyhive.hive")
    host, _, port = thrift.partition(":")
    session = ThriftSession(hive.connect(host, int(port)), lambda: hive.connect(host, int(port)))
    session.rows("create database if not exists shop")
    yield Clients(thrift, session)
    session.stop()


@pytest.mark.parametrize("seconds", SECONDS)
@pytest.mark.parametrize("kind", NEW)
def test_a_killed_change_leaves_the_old_table_or_the_new_one(clients: Clients, kind: str, seconds: float) -> None:
    new, call = sorted(NEW[kind], key=str), 0
    while True:
        name, call = f"shop.k{next(_numbers)}", call + 1
        assert clients.run(name, "new")[1]["outcome"] == "published"
        did = clients.run(name, kind, call, seconds)[1]
        if did is not None and did["calls"] < call:
            break  # It made no such call.
        found = clients.rows(name)
        assert found in (OLD, new), (call, found)
        assert did is None or found == new, (call, did)
        again = clients.run(name, kind)[1]
        assert again["outcome"] == "published", (call, again)
        twice = sorted([*new, *ADDED], key=str) if kind == "append" and found == new else new
        assert clients.rows(name) == twice, call
        clients.session.rows(f"drop table {name}")
    assert call > 10
    list(Guard(clients.session).recover())
    assert clients.list_left() == []


@pytest.mark.parametrize("seconds", SECONDS)
def test_a_killed_first_run_leaves_no_table_or_the_whole_one(clients: Clients, seconds: float) -> None:
    call = 0
    while True:
        name, call = f"shop.k{next(_numbers)}", call + 1
        did = clients.run(name, "new", call, seconds)[1]
        if did is not None and did["calls"] < call:
            break
        assert clients.rows(name) in (None, OLD), call
        again = clients.run(name, "new")[1]
        assert again["outcome"] == "published", (call, again)
        assert clients.rows(name) == OLD, call
    assert call > 10
    list(Guard(clients.session).recover())
    assert clients.list_left() == []
