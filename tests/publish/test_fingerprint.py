"""What was proved of a relation is remembered by its fingerprint, whatever keeps its rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from planproof.publish.fingerprint import compute_fingerprint
from planproof.session.protocol import StoredTable
from planproof_engine.schema import PhysicalSchema


class Lake:
    """A session that has one Delta table, at a version of its log."""

    def __init__(self, version: int) -> None:
        self.version = version

    def delta(self) -> Any:
        state = SimpleNamespace(metadata={"id": "a"}, version=self.version)
        return SimpleNamespace(is_there=True, state=lambda location: state)


def test_a_delta_table_has_the_fingerprint_of_its_version() -> None:
    table = StoredTable("db.t", "table", PhysicalSchema(()), (), "delta", "/lake/t", True, {})
    found = [compute_fingerprint(Lake(version), "`db`.`t`", table) for version in (1, 1, 2)]  # type: ignore[arg-type]
    assert found[0] is not None
    assert found[0] == found[1] != found[2]
