"""What a session can do with Delta's tables, as the rest of the project sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from planproof_engine import PhysicalSchema, record

Operation = Literal["append", "overwrite", "update"]
Action = Mapping[str, Any]
"""One line of a commit: `{"add": {...}}`, `{"metaData": {...}}`. https://github.com/delta-io/delta/blob/master/PROTOCOL.md"""


def is_delta_catalog(setting: str | None) -> bool:
    """Whether `spark.sql.catalog.spark_catalog` names Delta's own."""
    return (setting or "").startswith("org.apache.spark.sql.delta.")


@record(frozen=True, slots=True)
class LogState:
    """A table by one version of its log. `metadata` and `protocol` are the actions of those names; `location` is the
    table's folder, as Hadoop's Path takes it: nothing is encoded; `version` -1: no log lies there yet."""

    location: str
    version: int
    schema: PhysicalSchema
    metadata: Mapping[str, Any]
    protocol: Mapping[str, Any]

    @property
    def partition_by(self) -> tuple[str, ...]:
        return tuple(self.metadata.get("partitionColumns") or ())

    @property
    def properties(self) -> dict[str, str]:
        return dict(self.metadata.get("configuration") or {})

    def is_successor_of(self, base: LogState) -> bool:
        """Whether it is the table of an earlier state, not one that was made anew in its place."""
        return self.version >= base.version and self.metadata.get("id") == base.metadata.get("id")

    @property
    def features(self) -> frozenset[str]:
        """The table features that readers or writers have to know."""
        return frozenset((*self.protocol.get("readerFeatures", ()), *self.protocol.get("writerFeatures", ())))

    @property
    def feeds_changes(self) -> bool:
        """Whether writers say of each row what became of it (change data feed)."""
        return self.properties.get("delta.enableChangeDataFeed", "false").lower() == "true"

    @property
    def is_mapped(self) -> bool:
        """Whether files name columns otherwise than the table does."""
        return self.properties.get("delta.columnMapping.mode", "none") != "none"


@record(frozen=True, slots=True)
class NewVersion:
    """What is to be committed on top of a version of a log; the table's history calls it by its `operation`, or a MERGE
    where `merge` has the kinds of its clauses: of those for matched rows, for others of the source, and for others of
    the target. `counts` stand in the history by the names that Delta gives them.

    `added` are actions whose paths are relative to the table's folder; `removed` the paths of files that they replace,
    as their AddFile actions have them, None for all files of the base; `removals` their RemoveFile actions, where each
    of them is known. `overwrites`: the base's files of the partitions
    of `added` are replaced, too. `metadata` is the new one where it changes. `reads`: the change depends on what the
    base holds. `exact`: nobody may have committed since the base; else Delta's own rules decide. `replaces`: it is
    another table from now on. `since`: the version on which the publish began; a fence against it is a later one.
    """

    operation: Operation
    base: LogState
    since: int
    added: Sequence[Action]
    removed: Sequence[str] | None
    metadata: Mapping[str, Any] | None
    reads: bool
    exact: bool
    counts: Mapping[str, int]
    replaces: bool = False
    overwrites: bool = False
    removals: Sequence[Action] = ()
    merge: Sequence[Sequence[str]] | None = None


@record(frozen=True, slots=True)
class NewTable:
    """What a `CREATE TABLE .. AS` says of a table, as the statement and in its parts."""

    statement: str
    query: str
    partition_by: Sequence[str]
    options: Mapping[str, Any]
    properties: Mapping[str, Any]
    comment: str | None


class HeldWrite(Protocol):
    """Rows that Delta has written to a folder in a transaction that it has not committed: no log names them."""

    @property
    def state(self) -> LogState:
        """The table that they make of the folder."""

    @property
    def actions(self) -> str:
        """What the log of that table would say of them: a line for each action."""

    def open(self) -> None:
        """Commits: from here on the folder is a table that SQL reads. May be called again."""


class DeltaTables(Protocol):
    """The Delta tables of a session's own catalog. Names are dotted, and may hold backticks."""

    @property
    def is_there(self) -> bool:
        """Whether the session's own catalog is Delta's."""

    def state(self, location: str, version: int | None = None) -> LogState:
        """The table in a folder, as its log says now, or said at a version."""

    def place(self, name: str) -> str:
        """The folder in which a managed table of that name would lie."""

    def has_files_in(self, base: LogState, folder: str) -> bool:
        """Whether a version names a data file in a folder of the table's folder."""

    def files(self, base: LogState) -> Sequence[Action] | None:
        """The AddFile actions of a version, where they stand beside its commit, or are few; None where many would have
        to be gathered from the log, which takes Spark's jobs."""

    def is_read(self, name: str, location: str, execution: Any) -> bool:
        """Whether an analyzed query (`SparkPlanes.execution`) reads the table of that name, in that folder, also by way
        of views: True also where it is not certain."""

    def clone(self, location: str, base: LogState) -> None:
        """Makes a shallow clone of a table's version in a folder that has no log."""

    def create(self, location: str, table: NewTable) -> HeldWrite:
        """Writes a table's rows to a folder that has no log, as its statement would."""

    def insert(self, location: str, base: LogState, statement: str) -> HeldWrite | None:
        """Writes the rows of an `INSERT INTO` another folder's table, `base`, to a folder that has no log: with that
        table's casts, defaults and constraints. None, and nothing is written, where Spark plans no append of it."""

    def fence(self, location: str, mark: str) -> None:
        """Has the table in a folder refuse every commit of that `mark` from here on, by one that changes no row."""

    def commit(self, change: NewVersion, name: str, mark: str) -> int:
        """Commits, and returns the version; `mark` tells the commit from others. Raises `Moved` where others have
        committed what does not go with it; nothing was committed then."""

    def register(self, name: str, location: str, managed: bool) -> None:
        """Gives a folder with a log a name in the catalog."""

    def refresh(self, name: str) -> None:
        """Has the session see the table as it is now."""
