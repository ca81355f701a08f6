"""The claim of our own logical plan."""

from __future__ import annotations

from typing import Protocol

from planproof_engine.claim import Claim
from planproof_engine.schema import PhysicalSchema


class Planned(Protocol):
    """A plan, or a rewritten one: anything that knows its physical schema."""

    @property
    def physical_schema(self) -> PhysicalSchema: ...


def read(plan: Planned, plane: str = "logical") -> Claim:
    """The physical schema of a plan; `plane` is `rewritten` for what the optimizer made of it."""
    return Claim(plane, plan.physical_schema)
