"""What a publish has staged, as audits, limits, samples, data tests and quarantine ask for it.

Each format has its own (`Format.staged`). Nothing else needs to know how a format stages.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from planproof.judge.draft import Effect
from planproof.publish.data_tests.decided import Stored
from planproof_engine import PhysicalSchema, drop_terminators


class Tested(NamedTuple):
    """The rows that the target is to hold, as a `relation` of the session. `later` stands for them once they have been
    rejected, in a query that a person runs; None for nothing. `files` are all of them; None where they are not all
    staged, or no file on this machine holds them."""

    relation: str
    later: str | None = None
    files: Stored | None = None


def as_subquery(sql: str) -> str:
    """A query as it stands in FROM."""
    return f"(\n{drop_terminators(sql)}\n)"


class StagedWrite(Protocol):
    """New rows that are written, and that no reader of the target sees. Relations are as they stand in a FROM clause;
    for a view its query stands for them."""

    @property
    def effect(self) -> Effect:
        """What the publish does to the target's rows."""

    def schema(self) -> PhysicalSchema:
        """The columns of the staged rows, as they are stored."""

    def new_rows(self) -> str:
        """The rows that were staged, and no others."""

    def rows_after(self) -> str:
        """All rows that the target will hold."""

    def new_rows_later(self) -> str | None:
        """What stands for `new_rows` once they have been rejected, in a query that a person runs; None for nothing."""

    def rows_after_later(self) -> str | None:
        """The same for `rows_after`."""

    def tested(self) -> AbstractContextManager[Tested]:
        """The rows that data tests are asked about, for the length of a block."""
