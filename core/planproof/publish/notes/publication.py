"""A publish under way of which a note tells: what all of them share, whatever their format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from planproof.judge.draft import Effect
from planproof.publish.notes.note import QuarantinedFiles
from planproof.publish.notes.notebook import Notebook
from planproof.publish.transaction import Ending, Evicted
from planproof.publish.undoing import tell_of_undoing
from planproof.session import Moved, SparkFailure, SparkPlanes
from planproof.session.snapshots import DataFile
from planproof_engine import Finding, PhysicalSchema, Verdict


@dataclass
class Stage:
    """`materialization.Standing`. `staging` is the quoted name under which SQL reads the whole table as it will be."""

    model: str
    target: str
    staging: str
    strategy: str
    effect: Effect
    step: str = "begin"


class BadRowsCommit(Protocol):
    """Rows of the quarantine, which are committed just before this table, or not at all."""

    noted: QuarantinedFiles

    def count(self) -> int:
        """How many were written."""

    def commit(self) -> None:
        """Raises `Moved`, and `SparkFailure`."""

    def take_back(self) -> None:
        """Removes them, committed or not; may be called again. Raises `SparkFailure`."""

    def close(self) -> None: ...


class NotedPublication(ABC):
    """`materialization.Publication` of a table that knows by itself what was committed to it. `planes` are those of the
    plan that wrote, where Spark tells it; `watched`: every row that Python gave was looked at as it was written.
    `replaced`: the rows that others added while this was staged, and that it has replaced."""

    can_be_kept = False
    next_step = "once its catalog answers, the table's history tells whether it was committed"

    def __init__(self, entry: Stage, notebook: Notebook) -> None:
        self.entry, self.notebook = entry, notebook
        self.planes: SparkPlanes | None = None
        self.watched = False
        self.bad_rows: BadRowsCommit | None = None
        self.replaced = 0
        self._is_discarded = False

    @property
    @abstractmethod
    def base(self) -> object:
        """The table's state that this publish began on; equal states are the same."""

    @property
    @abstractmethod
    def is_on_top(self) -> bool:
        """Once it is committed: whether others have changed the table since it was looked at, or may have."""

    @property
    def is_stale(self) -> bool:
        """As `materialization.Publication` has it: most formats commit nothing then."""
        return False

    @abstractmethod
    def count(self) -> int:
        """How many rows were written."""

    @abstractmethod
    def schema(self) -> PhysicalSchema:
        """The columns of the table as it will be."""

    @abstractmethod
    def new_rows(self) -> str:
        """The rows of the files that were written, and no others, for a FROM clause."""

    def rows_after(self) -> str:
        """All rows that the table will hold, for a FROM clause."""
        return self.entry.staging

    @abstractmethod
    def list_before(self, most: int) -> Sequence[DataFile]:
        """The files of the table as the publish found it, at most so many. Raises `Unlisted`, and `SparkFailure`."""

    @abstractmethod
    def list_after(self, most: int) -> Sequence[DataFile]:
        """The files of the table as it will be. Raises as `list_before`."""

    @abstractmethod
    def note(self, name: str, **changes: Any) -> None: ...

    @abstractmethod
    def commit(self) -> None:
        """Raises `Moved`, and `SparkFailure`."""

    @abstractmethod
    def settle(self) -> Ending:
        """Finds out from the table what became of a commit whose answer was lost."""

    def discard(self) -> None:
        if not self._is_discarded:
            self.delete_staged()
            self._is_discarded = True

    def delete_staged(self) -> None:
        """Removes what was staged, the bad rows too."""
        self.take_back()
        self.notebook.sweep()

    def close(self) -> None:
        self.notebook.end()
        if self.bad_rows is not None:
            self.bad_rows.close()

    def tell_of_others(self) -> Iterator[Finding]:
        """What became of others' rows, and of the publish's own."""
        yield from self._tell_of_replaced()
        undoing = self.find_undoing()
        if undoing is not None:
            yield tell_of_undoing(self.entry.model, undoing)

    def _tell_of_replaced(self) -> list[Finding]:
        if not self.replaced:
            return []
        rows = f"{self.replaced:,} row{'' if self.replaced == 1 else 's'}"
        message = (
            f"another writer added {rows} to {self.entry.model} while its new rows were staged: the publish "
            "replaced them, as the bare statement would. An older version of the table holds them"
        )
        return [Finding(Verdict.WARNING, "PP621", "catalog", found=rows, message=message)]

    @abstractmethod
    def find_undoing(self) -> str | None:
        """What others have made of the table right after the commit, where that took back or replaced rows of it; an
        empty text where they dropped the table, or made it anew."""

    @abstractmethod
    def is_alone(self) -> bool:
        """Whether nobody else has written since the publish began on the table, as far as that can be told."""

    def step(self, name: str, **changes: Any) -> None:
        self.entry.step = name

    def keep(self) -> None:
        """Nothing outlives a publish that is not committed."""
        self.discard()

    def stop_if_evicted(self) -> None:
        """Raises `Evicted` where a recovery has taken the table over. What was written is this publish's own to
        delete."""
        if self.entry.step != "evicted" and self.notebook.is_evicted():
            self.step("evicted")
            self.discard()
            self.close()
            raise Evicted(self.entry.model)

    def stop_if_seen_evicted(self) -> None:
        """As `stop_if_evicted`, of a publish that has failed: what a recovery took from it made it fail. Where nobody
        can tell, the failure stands as it is."""
        with suppress(SparkFailure):
            self.stop_if_evicted()

    def publish_bad_rows(self) -> None:
        """The bad rows become visible. From here on the target's commit decides whether they stay."""
        assert self.bad_rows is not None, "they were written"
        self.step("quarantine")
        if not self.notebook.write(step="quarantine"):
            self.stop_if_evicted()
            raise SparkFailure(f"{self.notebook.location} cannot be written; no row was quarantined", outside=True)
        try:
            self.bad_rows.commit()
        except Moved:
            self.stop_if_evicted()
            raise

    def take_back(self) -> None:
        """Takes back the bad rows of a publish that is not committed. Where that fails, the note stays for a
        recovery."""
        if self.bad_rows is None:
            return
        try:
            self.bad_rows.take_back()
        except BaseException:
            self.notebook.end()
            raise
