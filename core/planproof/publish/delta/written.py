"""What every publish of a Delta table has: its rows stand in a Delta table of their own before it is committed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from planproof.publish.notes.publication import NotedPublication
from planproof.session.delta.protocol import LogState
from planproof_engine.schema import PhysicalSchema


class WrittenTable(NotedPublication):
    """`published` are the columns of the table that was written, once it is audited."""

    published: PhysicalSchema | None = None

    @abstractmethod
    def state(self) -> LogState:
        """The table that was written."""

    @abstractmethod
    def list_paths(self) -> Sequence[str]:
        """The data files that were written."""
