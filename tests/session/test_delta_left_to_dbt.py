"""No session that has SQL alone reaches Delta's tables: such models are refused, or left to dbt, by name."""

from __future__ import annotations

import pytest

from planproof import Model
from planproof.publish.delta import DeltaLake
from planproof.publish.transaction.names import Refused
from planproof.session.connect import ConnectSession
from planproof.session.sql_only import SqlOnlySession
from planproof.session.thrift import ThriftSession


@pytest.mark.parametrize("kind", [ThriftSession, ConnectSession])
def test_delta_is_refused_by_name(kind: type[SqlOnlySession]) -> None:
    session = object.__new__(kind)
    assert session.delta() is None
    with pytest.raises(Refused, match="written in the JVM of a classic session"):
        DeltaLake.over(session, Model("t", "select 1", file_format="delta"))  # type: ignore[arg-type]
