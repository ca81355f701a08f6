"""What a publish has staged, as audits, limits, samples, data tests and quarantine ask for it.

Each format has its own (`Format.staged`). Nothing else needs to know how a format stages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from planproof.judge.draft import Effect
from planproof.publish.data_tests.decided import Stored
from planproof_engine import PhysicalSchema, drop_terminators, quote_name


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


def unite_rows(
    before: str, staged: str, old: Sequence[str], new: Iterable[tuple[str, str]], replaced: Sequence[str]
) -> str:
    """The rows of `before` and the staged ones, for a FROM clause. `old` are the columns of both, `new` those that the
    staged rows alone have, with their types. Of partitions (`replaced`: their columns) that were staged, no old row
    stays."""
    shared, added = [quote_name(c) for c in old], [(quote_name(c), kind) for c, kind in new]
    filled = ", ".join([*shared, *(f"CAST(NULL AS {kind}) AS {name}" for name, kind in added)])
    kept = f"SELECT {filled} FROM {before}"
    if replaced:
        same = " AND ".join(f"old.{quote_name(c)} <=> new.{quote_name(c)}" for c in replaced)
        kept += f" AS old LEFT ANTI JOIN {staged} AS new ON {same}"
    return f"({kept} UNION ALL SELECT {', '.join([*shared, *(name for name, _ in added)])} FROM {staged})"


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
