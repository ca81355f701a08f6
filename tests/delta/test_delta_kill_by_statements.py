"""kill -9 of a Thrift client at each call of its publish: the server goes on, and the table is one of two."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from planproof import Guard
from planproof.session.thrift import ThriftSession

pytestmark = pytest.mark.faults
KINDS = ("replace", "append", "overwrite", "merge")
SECONDS = (0.05, 0.4)
"""After which a client is killed while the server carries its statement out."""
HOUR = 3700
SETTLES = 120
"""Seconds in which a server ends what a lost client asked for, at most."""
_numbers = itertools.count(1)
Rows = list[list[object]]


def change(kind: str, old: Rows, word: str) -> Rows:
    """The rows of a table that a client has changed."""
    ids = {"replace": range(3), "append": range(3, 5), "overwrite": range(3, 5), "merge": range(1, 6)}[kind]
    stay = {"append": old, "merge": [row for row in old if row[0] not in ids]}.get(kind, [])
    return sorted([*stay, *([n, word] for n in ids)], key=str)


class Clients:
    """Processes that publish over one server."""

    def __init__(self, server: str, session: ThriftSession) -> None:
        self.server, self.session = server, session

    def run(self, name: str, kind: str, word: str, *killed: object) -> tuple[Any, Any]:
        """What a client found, and what its publish did: None where it was killed."""
        command = [sys.executable, str(Path(__file__).with_name("client.py")), self.server, name, kind, word]
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
            time.sleep(2)
        raise AssertionError(f"{name} does not settle: {last}")

    def recover(self) -> list[str]:
        """What is left of clients' folders and notes after a recovery that comes an hour later."""
        home = Path(str(self.session.database_location("`shop`")).removeprefix("file:"))
        for note in home.glob(".planproof/staged/*"):
            os.utime(note, (note.stat().st_mtime - HOUR,) * 2)
        list(Guard(self.session).recover())
        left = [*home.glob("__planproof*"), *home.glob(".planproof/staged/*")]
        return sorted(str(path.relative_to(home)) for path in left)


@pytest.fixture(scope="module")
def clients(thrift: str) -> Iterator[Clients]:
    hive = pytest.importorskip("pyhive.hive")
    host, _, port = thrift.partition(":")
    session = ThriftSession(hive.connect(host, int(port)), lambda: hive.connect(host, int(port)))
    session.rows("create database if not exists shop")
    yield Clients(thrift, session)
    session.stop()


def sweep(clients: Clients, kind: str, name: str | None, moments: Iterable[tuple[int, float]]) -> int:
    """Kills a client at each moment, and runs it again; returns how many were killed. Without a name each client makes
    a table of its own."""
    killed = 0
    for number, (call, seconds) in enumerate(moments):
        at, word = name or f"shop.k{next(_numbers)}", f"w{number}"
        old, did = clients.run(at, kind, word, call, seconds)
        new, found = change(kind, old or [], word), clients.rows(at)
        assert found in (old and sorted(old, key=str), new), (call, found)
        if did is not None:
            assert (did["outcome"], found) == ("published", new), (call, did)
            if len(did["calls"]) < call:
                break
            continue  # It was over before its clock ran out.
        killed += 1
        again = clients.run(at, kind, word)[1]
        if "run the model again" in str(again["said"]):
            # The killed client's statement ran on in the server, and has ended while this one staged its rows.
            found = clients.rows(at)
            assert (again["outcome"], found) == ("failed", new), (call, again)
            again = clients.run(at, kind, word)[1]
        assert again["outcome"] == "published", (call, again)
        late = change(kind, new, word) if "PP603" in str(again["said"]) else None
        assert clients.rows(at) in (change(kind, found or [], word), late), (call, again)
        assert clients.recover() == [], call
    return killed


@pytest.mark.parametrize("kind", [*KINDS, "first"])
def test_a_client_that_is_killed_before_a_call_leaves_the_old_table_or_the_new_one(clients: Clients, kind: str) -> None:
    name = None if kind == "first" else f"shop.{kind}"
    if name is not None:
        assert clients.run(name, "replace", "old")[1]["outcome"] == "published"
    killed = sweep(clients, "replace" if kind == "first" else kind, name, ((call, 0) for call in itertools.count(1)))
    assert killed > 5


@pytest.mark.parametrize("kind", [*KINDS, "first"])
def test_a_client_that_is_killed_while_a_statement_runs_leaves_the_old_table_or_the_new_one(
    clients: Clients, kind: str
) -> None:
    name = None if kind == "first" else f"shop.{kind}_runs"
    kind = "replace" if kind == "first" else kind
    calls = clients.run(name or "shop.first_runs", "replace", "old")[1]["calls"]
    if name is not None:
        calls = clients.run(name, kind, "older")[1]["calls"]
    statements = [number for number, call in enumerate(calls, 1) if call == "statement"]
    assert len(statements) == 2, calls
    sweep(clients, kind, name, itertools.product(statements, SECONDS))
