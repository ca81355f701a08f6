"""What every publish of a Delta table has: its rows stand in a Delta table of their own before it is committed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from planproof.contract import Model
from planproof.publish.notes import NotedFormat, NotedPublication
from planproof.publish.transaction import Names
from planproof.session import Session, StoredTable
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
    def is_committed(self) -> bool:
        """Raises `SparkFailure` where nobody can tell."""

    @abstractmethod
    def refuse_another(self) -> None:
        """Raises a transient `Refused` where the table that this began on was dropped, renamed or made anew."""

    @abstractmethod
    def list_paths(self) -> Sequence[str]:
        """The data files that were written."""


W = TypeVar("W", bound=WrittenTable)


class LoggedFormat(NotedFormat[W]):
    """What all Delta tables share of `publish.protocol.Format`: all but materializations and quarantine."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def names(self, model: Model, run: str, attempt: int) -> Names:
        return Names.of(model.name, self._session.namespace, run, attempt)

    def target(self, names: Names) -> StoredTable | None:
        return self._session.registered_table(names.target.quoted)

    def refuse_changed(self, publication: W) -> None:
        """Of the same table, what was staged on another version is not committed (`Moved`)."""
        publication.refuse_another()

    def is_published(self, publication: W) -> bool:
        """Where bad rows were set apart, whoever was evicted has taken them back."""
        return publication.bad_rows is None and publication.is_committed()

    def find_late_rows(self, publication: W) -> str:
        return "there" if publication.is_committed() else ""

    def is_exchanged(self, publication: W) -> bool:
        return not publication.is_committed()
