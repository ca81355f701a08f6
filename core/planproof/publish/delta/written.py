"""What every publish of a Delta table has: its rows stand in a Delta table of their own before it is committed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from planproof.publish.notes.publication import NotedPublication
from planproof.session.delta.protocol import LogState
from planproof_engine import PhysicalSchema

_MAPPED = "the table maps its columns, and its files name them otherwise; what the contract promises is counted"
_FED = "the table keeps a feed of its changes, whose column stands in its files too; what is promised is counted"


class WrittenTable(NotedPublication):
    """`published` are the columns of the table that was written, once it is audited."""

    published: PhysicalSchema | None = None

    @abstractmethod
    def state(self) -> LogState:
        """The table that was written."""

    @property
    def partition_by(self) -> Sequence[str]:
        """The columns by which the target will be partitioned."""
        return self.state().partition_by

    @property
    def unread(self) -> str | None:
        """Why its files do not tell what is promised; None where they do."""
        state = self.state()
        return _MAPPED if state.is_mapped else _FED if state.feeds_changes else None

    @abstractmethod
    def list_paths(self) -> Sequence[str]:
        """The data files that were written."""
