"""The claim of the catalog: the relation as it is registered."""

from __future__ import annotations

from planproof.session.protocol import Session
from planproof_engine.claim import Claim


def read(session: Session, name: str) -> Claim | None:
    """The registered schema of a dotted name, or None where nothing is registered."""
    table = session.table(name)
    return None if table is None else Claim("catalog", table.schema)
