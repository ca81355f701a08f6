"""Iceberg tables where SQL is all that reaches them: a change is written to a branch, which main is moved to.

`fast_forward` is refused where main is no ancestor of the branch, so that no other writer's rows are lost. A branch has
rows of its own and no schema. So a new table, other columns, partitions or properties cannot come with the rows.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from planproof.session.described import parse_lines
from planproof.session.protocol import Moved, Session, SparkFailure, SparkPlanes, StoredTable
from planproof.session.snapshots import DataFile, Unlisted
from planproof_engine import AnalysisError, PhysicalSchema, evolve, quote_parts, split_name

PREFIX = "planproof_"
"""What the names of branches begin with."""
_ICEBERG = re.compile(r"spark\.sql\.catalog\.(\w+)=.*iceberg", re.I)
"""A setting that names one of Iceberg's catalogs."""
_NO_LIST = "this session does not tell which files hold its rows"
_NO_SCHEMA = "a branch of an Iceberg table has no columns and properties of its own"


def _quote_text(text: str) -> str:
    """A string of SQL, whatever the session makes of backslashes: names of tables and branches have none."""
    if any(c in text for c in "'\\\n"):
        raise SparkFailure(f"{text!r} cannot be named in a call of a procedure")
    return f"'{text}'"


def iceberg_table(session: Session, name: str) -> StoredTable | None:
    """The Iceberg table of that name by Spark's own descriptions; None for anything else."""
    relation = quote_parts(split_name(name))
    try:
        lines = session.rows(f"DESCRIBE TABLE EXTENDED {relation}")
        if not any((str(line[0]), str(line[1]).lower()) == ("Provider", "iceberg") for line in lines):
            return None
        properties = {str(key): str(value) for key, value, *_ in session.rows(f"SHOW TBLPROPERTIES {relation}")}
    except AnalysisError:
        return None
    schema = session.analyze(f"SELECT * FROM {relation}").analyzed
    found = parse_lines(name, lines, schema, properties)
    return evolve(found, partition_by=tuple(_read_partitions(lines)) or found.partition_by)


def _read_partitions(lines: Sequence[Sequence[Any]]) -> list[str]:
    """Transforms of columns, which Spark lists under a heading of their own.

    >>> _read_partitions([("a", "int", ""), ("# Partitioning", "", ""), ("Part 0", "days(at)", ""), ("", "", "")])
    ['days(at)']
    """
    heads = [str(line[0]) for line in lines]
    if "# Partitioning" not in heads:
        return []
    start = heads.index("# Partitioning") + 1
    return [str(line[1]) for line in lines[start:] if str(line[0]).startswith("Part ")]


class Branches:
    """What a session without its JVM can do with Iceberg's tables; see `planproof.session.protocol.Transactional`, of
    which this is the part that changes rows."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def complete(self, name: str) -> tuple[str, ...]:
        parts, namespace = split_name(name), self._session.namespace
        if len(parts) > 2:
            return tuple(parts)
        return (namespace[0], *parts) if len(parts) > 1 else (*namespace, *parts)

    def table(self, name: str) -> StoredTable | None:
        return iceberg_table(self._session, name)

    def namespace_location(self, database: Sequence[str]) -> str | None:
        found = None
        with suppress(SparkFailure, AnalysisError):
            found = self._session.database_location(quote_parts(database))
        path = None if found is None else self._session.local_path(found)
        # A folder of the server's own machine is not this one's.
        return found if path is None or os.path.isdir(path) else None

    def namespace_locations(self) -> list[str]:
        """The locations of all namespaces of the server's Iceberg catalogs, the session's own catalog left out."""
        catalogs = [
            found[1] for key, value, *_ in self._session.rows("SET") if (found := _ICEBERG.match(f"{key}={value}"))
        ]
        places: list[str] = []
        for catalog in sorted({*catalogs} - {"spark_catalog"}):
            with suppress(SparkFailure, AnalysisError):  # A catalog that does not answer keeps no note from the others.
                namespaces = self._list_namespaces((catalog,))
                places += [at for one in namespaces if (at := self.namespace_location(one)) is not None]
        return places

    def _list_namespaces(self, within: tuple[str, ...]) -> list[tuple[str, ...]]:
        listed = self._session.rows(f"SHOW NAMESPACES IN {quote_parts(within)}")
        here = [(within[0], *split_name(str(name))) for name, *_ in listed]
        return [*here, *(below for one in here for below in self._list_namespaces(one))]

    def refusal(self) -> str | None:
        for key in ("spark.wap.id", "spark.wap.branch"):
            if self._session.setting(key) is not None:
                return f"the session sets {key}, which leads every write to another branch or stage; unset it"
        return None

    def drop(self, name: str, branch: str) -> None:
        """Removes a branch that a publish has made, if it is there: main cannot be moved to it any more."""
        if not branch.startswith(PREFIX):
            raise SparkFailure(f"{branch} is no branch of a publish")
        self._session.rows(
            f"ALTER TABLE {quote_parts(self.complete(name))} DROP BRANCH IF EXISTS {quote_parts((branch,))}"
        )

    def has_snapshot(self, name: str, snapshot: int) -> bool:
        """Whether a snapshot is, or was, the table's own."""
        history = _metadata_table(self.complete(name), "history")
        return bool(self._session.rows(f"SELECT 1 FROM {history} WHERE snapshot_id = {int(snapshot)} LIMIT 1"))

    def list_branches(self, name: str) -> list[str]:
        """The branches that publishes have made and not removed."""
        found = self._session.rows(
            f"SELECT name FROM {_metadata_table(self.complete(name), 'refs')} WHERE type = 'BRANCH'"
        )
        return sorted(str(branch) for (branch,) in found if str(branch).startswith(PREFIX))

    def change(self, name: str) -> BranchChange:
        """Opens a change of the rows of a table as it is now. Raises `SparkFailure`."""
        parts = self.complete(name)
        table = self.table(quote_parts(parts))
        if table is None:
            raise SparkFailure(f"{name} is no Iceberg table any more", outside=True)
        return BranchChange(self._session, self, parts, table)


class BranchChange:
    """A branch that is to become main; `planproof.session.protocol.Transaction`."""

    alters = False
    is_new = False

    def __init__(self, session: Session, tables: Branches, parts: tuple[str, ...], table: StoredTable) -> None:
        self._session, self._tables, self._parts, self._stored = session, tables, parts, table
        self._branch = f"{PREFIX}{uuid.uuid4().hex}"
        self._table = quote_parts(parts)
        self._base = self._start = self._head("main")
        self._written: int | None = None
        self.staged = quote_parts((*parts, f"branch_{self._branch}"))

    def _head(self, ref: str) -> int | None:
        sql = f"SELECT snapshot_id FROM {_metadata_table(self._parts, 'refs')} WHERE name = {_quote_text(ref)}"
        rows = self._session.rows(sql)
        return int(rows[0][0]) if rows else None

    @property
    def base(self) -> str | None:
        return None if self._base is None else str(self._base)

    @property
    def created(self) -> None:
        return None

    @property
    def branch(self) -> str:
        return self._branch

    @property
    def location(self) -> str:
        return self._stored.location or ""

    def schema(self) -> PhysicalSchema:
        return self._stored.schema

    def place_files(self, name: str) -> None:
        """Makes the branch. Files lie among the table's others."""
        self._session.rows(f"ALTER TABLE {self._table} CREATE BRANCH {quote_parts((self._branch,))}")
        if self._base is None:  # Of a table without rows Iceberg makes the branch a snapshot.
            self._start = self._head(self._branch)

    def branch_snapshot(self) -> int | None:
        if self._written is None:
            head = self._head(self._branch)
            self._written = None if head == self._start else head
        return self._written

    def manifests(self) -> Sequence[str]:
        return ()

    def add_columns(self, planes: SparkPlanes, names: Sequence[str]) -> None:
        raise SparkFailure(_NO_SCHEMA)

    def require(self, names: Sequence[str], required: bool = True) -> None:
        raise SparkFailure(_NO_SCHEMA)

    def select_counted(self, names: Sequence[str]) -> Sequence[str]:
        return ()

    def identifier_columns(self) -> Sequence[str]:
        """No column is made nullable here."""
        return ()

    def read_property(self, key: str) -> str | None:
        return self._stored.properties.get(key)

    def set_property(self, key: str, value: str | None) -> None:
        raise SparkFailure(_NO_SCHEMA)

    @cached_property
    def _added(self) -> list[tuple[str, int, int]]:
        """The files that the one statement has added: path, what it holds (0 for rows), and how many."""
        head = self.branch_snapshot()
        if head is None:
            return []
        # Of a table with partitions Iceberg 1.10 does not read the `entries` of another snapshot than the current one.
        sql = (
            "SELECT DISTINCT data_file.file_path, data_file.content, data_file.record_count "
            f"FROM {_metadata_table(self._parts, 'all_entries')} WHERE status = 1 AND snapshot_id = {head}"
        )
        return sorted((str(path), int(content), int(rows)) for path, content, rows in self._session.rows(sql))

    def files(self) -> list[str]:
        return [path for path, content, _ in self._added if content == 0]

    def list_before(self, most: int) -> Sequence[DataFile]:
        raise Unlisted(_NO_LIST)

    def list_after(self, most: int) -> Sequence[DataFile]:
        raise Unlisted(_NO_LIST)

    def footer(self, path: str) -> bytes:
        raise SparkFailure(f"{path}: this session hands over SQL and no bytes of files")

    def rows(self) -> int:
        return sum(rows for _, content, rows in self._added if content == 0)

    def commit(self) -> None:
        if self._head("main") != self._base:
            raise Moved(f"{self._table} has another snapshot than the one that was read")
        catalog, table = quote_parts(self._parts[:1]), _quote_text(quote_parts(self._parts[1:]))
        try:
            branch = _quote_text(self._branch)
            self._session.rows(
                f"CALL {catalog}.system.fast_forward(table => {table}, branch => 'main', to => {branch})"
            )
        except (SparkFailure, AnalysisError) as error:
            if "fast-forward" in str(error).lower():
                raise Moved(str(error)) from error
            raise
        with suppress(SparkFailure, AnalysisError):  # It is named by the next publish.
            self._drop()
        with suppress(SparkFailure, AnalysisError):
            self._session.rows(f"REFRESH TABLE {self._table}")

    def rebase(self, how: str) -> int:
        raise Moved(f"{self._table} was changed, and a branch cannot be moved")

    def has_rows_of_others(self) -> bool:
        """Nobody asks: this route does not tell whether a query reads its own table."""
        return False

    def is_lost(self) -> bool:
        """The table names them by then."""
        return False

    @property
    def is_gone(self) -> bool:
        return self._tables.table(self._table) is None

    def is_exchanged(self) -> bool:
        return False

    def is_committed(self) -> bool:
        """Where the answer was lost, the server may still be at it: without the branch it cannot be."""
        written = self.branch_snapshot()
        self._drop()
        return written is not None and self._tables.has_snapshot(self._table, written)

    def is_alone(self) -> bool:
        return self.branch_snapshot() is not None and self._head("main") == self.branch_snapshot()

    def find_undoing(self) -> str | None:
        written, head = self.branch_snapshot(), self._head("main")
        if written is None or head == written:
            return None
        history, snapshots = (_metadata_table(self._parts, what) for what in ("history", "snapshots"))
        known = self._session.rows(f"SELECT is_current_ancestor FROM {history} WHERE snapshot_id = {written}")
        if known and not any(row[0] for row in known):
            return str(head)  # Somebody went back to an older one.
        at = f"(SELECT committed_at FROM {snapshots} WHERE snapshot_id = {written})"
        later = {row[0] for row in self._session.rows(f"SELECT operation FROM {snapshots} WHERE committed_at > {at}")}
        if "replace" in later or later <= {"append"}:
            return None  # Files that were only moved cannot be told from these.
        files = ", ".join(map(_quote_text, self.files()))
        left = self._session.rows(f"SELECT count(*) FROM {self._table} WHERE _file IN ({files})") if files else [(0,)]
        return str(head) if int(left[0][0]) < self.rows() else None

    def discard(self) -> None:
        """The files go with the snapshot, when Iceberg expires it."""
        self._drop()

    def _drop(self) -> None:
        self._tables.drop(self._table, self._branch)

    def close(self) -> None:
        """The name went with the branch."""


def _metadata_table(parts: Sequence[str], what: str) -> str:
    """One of the tables of a table's metadata."""
    return quote_parts((*parts, what))
