"""The guard over Spark Connect, whose server runs in the tests' own Spark: this door's case in each run of the tests.

tests/session/test_elsewhere.py has the whole story, on a server in a process of its own.
"""

from __future__ import annotations

from typing import Any

import pytest

from planproof import Contract, Guard, Model

pytest.importorskip("grpc")
pytestmark = pytest.mark.needs_spark("4.0", "a Connect server in pip's package")


def test_a_model_is_published_and_a_bad_one_is_not(connect: Any, database: str) -> None:
    guard = Guard(connect)
    contract = Contract([("id", "int", False), ("name", "string", True)])
    name = f"{database}.t"
    first = guard.publish(Model(name, "select 1 as id, 'a' as name", contract=contract))
    assert (first.outcome, first.error) == ("published", None), first
    planes = {plane.plane: plane for plane in first.planes}
    assert planes["analyzed"].status == planes["files"].status == planes["catalog"].status == "read"
    assert planes["optimized"].status == "unreadable"
    assert "as text only" in planes["optimized"].reason
    bad = guard.publish(Model(name, "select nullif(id, 1) as id, name from " + name, contract=contract))
    assert (bad.outcome, [f.code for f in bad.findings if f.verdict == "violated"]) == ("rejected", ["PP505"]), bad
    assert [tuple(row) for row in connect.table(name).collect()] == [(1, "a")]
