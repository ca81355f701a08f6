"""Delta's tables where SQL is all that reaches Spark: what Delta's own statements tell of them.

Nothing here reads or writes a log by itself. A commit is one statement of Delta's, which the table's history names by
the mark that it was made under.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

from planproof.session.delta.protocol import LogState, is_delta_catalog
from planproof.session.protocol import Session, SparkFailure
from planproof.session.store import decode_uri
from planproof_engine import AnalysisError, PhysicalSchema, quote_parts, split_name

_CATALOG = "spark.sql.catalog.spark_catalog"
_DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_BY_PATH = "spark.sql.runSQLOnFiles"
_SAID = "spark.databricks.delta.commitInfo.userMetadata"
_MARK = "planproof:"
_NO_TABLE = (
    *("DELTA_MISSING_DELTA_TABLE", "DELTA_TABLE_ONLY_OPERATION", "DELTA_TABLE_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST"),
    *("TABLE_OR_VIEW_NOT_FOUND", "PATH_NOT_FOUND", "EXPECT_TABLE_NOT_VIEW", "expects a table"),
)
"""What is said of a folder, or a name, that is no Delta table. Spark 3.5 has no condition for a view."""
_CONFLICT = ("DELTA_CONCURRENT_", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED", "DELTA_MAX_COMMIT_RETRIES")
_CONFLICTS = re.compile(r"\b(Concurrent\w+|MetadataChanged|ProtocolChanged)Exception\b")
_COMMITTING = threading.Lock()
"""A mark is a setting, and the threads of a Connect client share one session."""
_ANALYZED = "== analyzed logical plan =="
_UNNAMED = r"(?<!\w)relation \["
"""In Spark's text of a plan, in lower case, files that were read without a table's name."""
_CHANGES = ("WRITE", "STREAMING UPDATE", "MERGE", "UPDATE", "DELETE")
"""What the history calls commits that change rows, beside those that replace them."""
_FEW = 20
"""Versions that are asked for at once: most often others have made fewer meanwhile."""


class Version(NamedTuple):
    """One line of a table's history. `metrics` are counts by Delta's names; `mark` is the publish that made it."""

    number: int
    operation: str
    parameters: str
    metrics: Mapping[str, Any]
    mark: str | None

    @property
    def replaces(self) -> bool:
        """Whether it puts other rows in the place of the table's: all of them, or those of a partition."""
        name = self.operation.upper()
        is_overwrite = name == "WRITE" and "overwrite" in self.parameters.lower()
        return is_overwrite or "REPLACE" in name or name in ("RESTORE", "TRUNCATE", "CLONE")

    @property
    def changes_rows(self) -> bool:
        return self.replaces or self.operation.upper() in _CHANGES

    @property
    def added(self) -> int:
        rows = str(self.metrics.get("numOutputRows", ""))
        is_append = self.operation.upper() in ("WRITE", "STREAMING UPDATE") and not self.replaces
        return int(rows) if is_append and rows.isdecimal() else 0


class DeltaStatements:
    """The Delta tables of one session's own catalog."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def find_obstacle(self) -> str | None:
        """Why no Delta table of this session is published, None where they are."""
        if not is_delta_catalog(self._session.setting(_CATALOG)):
            return f"the session's own catalog is not Delta's: set {_CATALOG} to {_DELTA_CATALOG}"
        if str(self._session.setting(_BY_PATH)).lower() == "false":
            return f"the session sets {_BY_PATH} to false, so that no table is read by its folder: set it to true"
        return None

    def state(self, location: str) -> LogState:
        """The table in a folder as it is now, or was a moment ago; version -1 where there is none."""
        relation = quote_parts(("delta", location))
        # In this order the version may be older than what is told of the table, and never newer.
        number, detail = self.find_version(location), self._describe(relation)
        if number < 0 or detail is None:
            return LogState(location, -1, PhysicalSchema(()), {}, {})
        planes = self._session.analyze(f"SELECT * FROM {relation}")
        _, id, _, _, _, _, _, partition_by, clustered_by, _, _, properties, reader, writer, features, *_ = detail
        metadata = {
            "id": id,
            "partitionColumns": _parse(partition_by, list),
            "configuration": self._read_properties(relation, properties),
        }
        clustering = ["clustering"] if _parse(clustered_by, list) else []
        protocol = {
            "minReaderVersion": reader,
            "minWriterVersion": writer,
            "writerFeatures": [*_parse(features, list), *clustering],
        }
        return LogState(location, number, planes.declared or planes.analyzed, metadata, protocol)

    def find_version(self, location: str) -> int:
        """The number of the table's newest version; -1 for no table."""
        said = self._list_versions(location, 1)
        return said[0].number if said else -1

    def find_id(self, relation: str) -> str | None:
        """The id that a Delta table, as SQL names it, got when it was made or replaced last; None for no such table."""
        detail = self._describe(relation)
        return None if detail is None or str(detail[0]).lower() != "delta" else str(detail[1])

    def history(self, location: str, since: int) -> list[Version]:
        """The versions after one, the oldest first, as far as the table still tells of them."""
        said = self._list_versions(location, _FEW)
        if len(said) == _FEW and said[-1].number > since + 1:
            said = self._list_versions(location, said[0].number - max(since, -1))
        return [version for version in reversed(said) if version.number > since]

    def find_commit(self, location: str, since: int, mark: str) -> Version | None:
        """The version that was made under a mark, after another one; None for none.

        Raises `SparkFailure` where the history does not tell any more.
        """
        said = self.history(location, since)
        found = next((version for version in said if version.mark == mark), None)
        if found is None and said and said[0].number > max(since, -1) + 1:
            raise SparkFailure(f"the history of {location} does not go back to version {since + 1}", outside=True)
        return found

    def find_mark(self, location: str, mark: str) -> Version | None:
        """The version that was made under a mark, among all that the table still tells of; None for none."""
        return next((version for version in self.history(location, -1) if version.mark == mark), None)

    def place(self, name: str) -> str:
        """The folder in which a managed table of that name would lie. Raises `SparkFailure`."""
        *database, own = split_name(name)
        found = self._session.database_location(quote_parts(database or self._session.namespace[-1:]))
        if found is None:
            raise SparkFailure(f"the database of {name} has no location")
        return f"{decode_uri(found).rstrip('/')}/{own.lower()}"

    def is_read(self, name: str, location: str, sql: str) -> bool:
        """Whether a query reads the table of that name, in that folder, also by way of views: True also where it is
        not certain."""
        try:
            rows = self._session.rows(f"EXPLAIN EXTENDED {sql}")
        except AnalysisError:
            return True
        # Before that, names are not resolved.
        text = "\n".join(str(row[0]) for row in rows).replace("`", "").lower().partition(_ANALYZED)[2]
        own = re.escape(".".join(split_name(name)[-2:]).lower())
        return location.lower() in text or re.search(rf"{_UNNAMED}|(?<!\w){own}(?!\w)", text) is not None

    def take_turns(self) -> AbstractContextManager[object]:
        """Within it no other thread of a session that threads share sets a mark."""
        return nullcontext() if self._session.capabilities.kind == "thrift" else _COMMITTING

    @contextmanager
    def mark(self, mark: str) -> Iterator[None]:
        """What this session commits within the block is the mark's in the history. It is done in turns."""
        given = self._session.setting(_SAID)
        with self._session.change_settings({_SAID: f"{_MARK}{mark} {given}" if given else _MARK + mark}):
            yield

    def _read_properties(self, relation: str, said: Any) -> dict[str, str]:
        """The Thrift server writes a map as a text that is JSON only where no value holds a quote."""
        if not isinstance(said, str):
            return dict(said or {})
        try:
            return dict(_parse(said, dict))
        except SparkFailure:
            return {str(key): str(value) for key, value, *_ in self._session.rows(f"SHOW TBLPROPERTIES {relation}")}

    def _list_versions(self, location: str, most: int) -> list[Version]:
        """The newest versions, the newest first; none for no table."""
        try:
            rows = self._session.rows(f"DESCRIBE HISTORY {quote_parts(('delta', location))} LIMIT {most}")
        except (AnalysisError, SparkFailure) as error:
            if _is_missing(error):
                return []
            raise
        return sorted(map(_read_version, rows), reverse=True)

    def _describe(self, relation: str) -> tuple[Any, ...] | None:
        try:
            return self._session.rows(f"DESCRIBE DETAIL {relation}")[0]
        except (AnalysisError, SparkFailure) as error:
            if _is_missing(error):
                return None
            raise


def is_conflict(error: Exception) -> bool:
    """Whether Delta refused a commit for what others have committed meanwhile."""
    said = f"{getattr(error, 'condition', None) or ''} {error}"
    return any(condition in said for condition in _CONFLICT) or _CONFLICTS.search(said) is not None


def _is_missing(error: Exception) -> bool:
    said = f"{getattr(error, 'condition', None) or ''} {error}"
    return any(condition in said for condition in _NO_TABLE)


def _read_version(row: tuple[Any, ...]) -> Version:
    number, _, _, _, operation, parameters, _, _, _, _, _, _, metrics, said, *_ = row
    own = str(said or "").partition(" ")[0]
    mark = own.removeprefix(_MARK) if own.startswith(_MARK) else None
    return Version(int(number), str(operation), str(parameters or ""), _parse(metrics, dict), mark)


def _parse(value: Any, kind: type[list[Any] | dict[Any, Any]]) -> Any:
    """An array or a map, which the Thrift server writes as a text. Raises `SparkFailure` for a text that is none."""
    if not isinstance(value, str):
        return kind(value or ())
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, kind):
        raise SparkFailure(f"what Delta says of a table cannot be read: {value:.200}")
    return found
