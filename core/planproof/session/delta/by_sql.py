"""Delta's tables where SQL is all that reaches Spark: rows are staged by statements, and a commit is a file of the log.

Delta's own statements name no files, so that what they would commit had to be written twice. A log lies in files that
this machine shares with Spark, and a commit is one file that nobody has made yet: who makes it first, commits. Only
tables whose commits need no more than that are served (`refuse`).

No session uses this yet, tests alone do. To be mended first: a server that does not share its files is not noticed, a
fence breaks tables that `refuse` would name and places without a table, a managed table's first run may replace
another's and may come to be after its publish was told failed, and partition values in two spellings are taken for two.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from planproof.session.delta.log import DeltaLog, Kept, parse_commit
from planproof.session.delta.protocol import (
    FENCE,
    LOG,
    NOTED,
    PLAIN,
    Action,
    LogState,
    NewTable,
    NewVersion,
    is_delta_catalog,
)
from planproof.session.protocol import Moved, Session, SparkFailure
from planproof.session.store import Store, decode_uri, encode_uri, local
from planproof_engine.catalog import split_name
from planproof_engine.origin import AnalysisError
from planproof_engine.quoting import quote_literal, quote_parts

_LEGACY = {1: set(), 2: {"appendOnly", "invariants"}}
_LEGACY[3] = {*_LEGACY[2], "checkConstraints"}
_LEGACY[4] = {*_LEGACY[3], "changeDataFeed", "generatedColumns"}
"""Which features a writer's version stands for. https://github.com/delta-io/delta/blob/master/PROTOCOL.md"""
_SERVED = PLAIN | {"allowColumnDefaults"}
_NAMED = 7
"""The version of a writer that goes by the names of features."""
_EMPTY = "spark.databricks.delta.skipRecordingEmptyCommits"
_SAID = "spark.databricks.delta.commitInfo.userMetadata"
_INTERVAL = "delta.checkpointInterval"
_MANY = 5_000
"""Files that are named in one commit."""
_UNNAMED = "Relation ["
"""In Spark's text of a plan, files that were read without a table's name."""


class Opened:
    """`planproof.session.delta.protocol.HeldWrite` of rows that a statement has committed to a table of their own, from
    version `first` on."""

    def __init__(self, log: DeltaLog, first: int) -> None:
        self.state = log.replay().state(log.location)
        self.actions = "\n".join(log.read(version) or "" for version in range(first, self.state.version + 1))

    def open(self) -> None:
        """It is a table that SQL reads."""


class DeltaBySql:
    """The Delta tables of one session's own catalog; `planproof.session.delta.protocol.DeltaTables`."""

    def __init__(self, session: Session, store: Store) -> None:
        self._session, self._store = session, store
        self._kept: Kept = {}

    @cached_property
    def is_there(self) -> bool:
        return is_delta_catalog(self._session.setting("spark.sql.catalog.spark_catalog"))

    def refuse(self, base: LogState) -> str | None:
        missing = sorted(base.features - _SERVED)
        version = int(base.protocol.get("minWriterVersion", 1))
        if missing:
            return f"table features: {', '.join(missing)}"
        if version not in _LEGACY and version != _NAMED:
            return f"writers of version {version}"
        return "mapped columns" if base.is_mapped else None

    def state(self, location: str, version: int | None = None) -> LogState:
        return self._log(location).replay(version).state(location)

    def place(self, name: str) -> str:
        *database, own = split_name(name)
        found = self._session.database_location(quote_parts(database or self._session.namespace[-1:]))
        if found is None:
            raise SparkFailure(f"the database of {name} has no location")
        return f"{decode_uri(found).rstrip('/')}/{own.lower()}"

    def has_files_in(self, base: LogState, folder: str) -> bool:
        files = self._log(base.location).replay(base.version, with_files=True).files or {}
        return any(path.startswith(f"{folder}/") for path, _ in files)

    def files(self, base: LogState) -> list[Action] | None:
        found = self._log(base.location).replay(base.version).files
        return None if found is None else list(found.values())

    def is_read(self, name: str, location: str, execution: Any, sql: str) -> bool:
        try:
            rows = self._session.rows(f"EXPLAIN EXTENDED {sql}")
        except AnalysisError:
            return True
        text = "\n".join(str(row[0]) for row in rows).replace("`", "").lower()
        return any(said.lower() in text for said in (".".join(split_name(name)[-2:]), location, _UNNAMED))

    def clone(self, location: str, base: LogState) -> None:
        files = self._log(base.location).replay(base.version, with_files=True).files or {}
        if len(files) > _MANY:
            source, own = (quote_parts(("delta", place)) for place in (base.location, location))
            self._session.rows(f"CREATE TABLE {own} SHALLOW CLONE {source} VERSION AS OF {base.version}")
            return
        # What CLONE does, without its checkpoint.
        root = encode_uri(f"file:{local(base.location)}").rstrip("/")
        adds = [{"add": {**form, "path": _locate(form["path"], root), "dataChange": False}} for form in files.values()]
        self._begin(location, base, adds)

    def _begin(self, location: str, base: LogState, files: Sequence[Action]) -> None:
        """Makes a table like the base, of an id of its own."""
        metadata = {"metaData": {**base.metadata, "id": str(uuid.uuid4())}}
        info = _make_info("Manual Update", {}, -1, True, {}, {})
        text = _write_lines([info, {"protocol": dict(base.protocol)}, metadata, *files])
        if not self._store.create(self._log(location).place(0), text):
            raise SparkFailure(f"{location} is a table already", outside=True)

    def create(self, location: str, table: NewTable) -> Opened:
        # Without a log of its own Delta takes the folder for a partition of the table that it lies in.
        self._store.create(f"{location}/{LOG}/{NOTED}", "")
        self._session.rows(table.write_statement(quote_parts(("delta", location))))
        return Opened(self._log(location), first=0)

    def insert(self, location: str, base: LogState, name: str, statement: Callable[[str], str]) -> Opened:
        self._begin(location, base, ())
        try:
            self._session.rows(statement(quote_parts(("delta", location))))
        except (SparkFailure, AnalysisError):
            self._store.delete(self._log(location).place(0))  # What the table forbids is staged in a clone.
            raise
        return Opened(self._log(location), first=1)

    def register(self, name: str, location: str, managed: bool) -> None:
        if not managed:
            relation = quote_parts(split_name(name))
            self._session.rows(f"CREATE TABLE {relation} USING delta LOCATION {quote_literal(location)}")

    def refresh(self, name: str) -> None:
        self._session.rows(f"REFRESH TABLE {quote_parts(split_name(name))}")

    # --- commits ----------------------------------------------------------------------------------------------------

    def fence(self, location: str, mark: str) -> None:
        log, now = self._log(location), int(time.time() * 1000)
        actions = [{"txn": {"appId": FENCE + mark, "version": 1, "lastUpdated": now}}]
        while True:
            version = log.newest() + 1
            info = _make_info("Manual Update", {}, version - 1, True, {}, {})
            if self._store.create(log.place(version), _write_lines([info, *actions])):
                return

    def commit(self, change: NewVersion, name: str, mark: str) -> int:
        log = self._log(change.base.location)
        if change.base.version < 0 and change.managed:
            return self._write_again(change, name, mark)
        try:
            text = self._write_commit(log, change, mark)
            return self._append(log, change, text, mark)
        except (ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
            raise SparkFailure(f"the log of {log.location} is damaged: {error!r:.200}") from error

    def _append(self, log: DeltaLog, change: NewVersion, text: str, mark: str) -> int:
        version, has_waited = change.base.version + 1, False
        interval = change.base.properties.get(_INTERVAL, "10")
        while True:
            newest = log.newest()
            if newest < change.base.version or (newest >= version and log.read(version) is None):
                raise Moved(f"version {version - 1} is not in the log of {log.location} any more")
            if not has_waited and version and interval.isdecimal() and version % max(1, int(interval)) == 0:
                has_waited = True
                self._write_checkpoint(log)
            if self._store.create(log.place(version), text):
                break
            theirs = log.read(version)
            if theirs is None or not _goes_with(change, parse_commit(theirs), mark):
                raise Moved(f"others have committed version {version} of {log.location}")
            version += 1
        if version and not log.has(version - 1):  # Dropped, or made anew, at this moment.
            self._store.delete(log.place(version))
            raise Moved(f"version {version - 1} is not in the log of {log.location} any more")
        # Not every store that Spark writes by looks whether a file is there: the last one stays.
        if log.read(version) != text:
            raise Moved(f"others have committed version {version} of {log.location}")
        return version

    def _write_checkpoint(self, log: DeltaLog) -> None:
        """Delta writes a checkpoint with each commit of its own whose version is a multiple of a number: an empty one
        takes that place. What it is good for is speed alone."""
        with suppress(SparkFailure, AnalysisError), self._session.change_settings({_EMPTY: "false"}):
            self._session.rows(f"DELETE FROM {quote_parts(('delta', log.location))} WHERE false")

    def _write_commit(self, log: DeltaLog, change: NewVersion, mark: str) -> str:
        base = log.replay(change.base.version, with_files=_needs_files(change))
        if change.base.version >= 0 and base.metadata["id"] != change.base.metadata.get("id"):
            raise Moved(f"version {change.base.version} of {log.location} is another table's")
        if FENCE + mark in base.transactions and change.base.version > change.since:
            raise Moved(f"{log.location} refuses the commits of {mark}: a recovery has taken it over")
        removed = _list_removed(change, list((base.files or {}).values()))
        made = [] if change.metadata is None else self._list_new_terms(log, change, mark)
        is_blind = change.operation == "append" and not change.reads
        metrics = {**change.counts, **(_count_removed(removed) if change.operation == "overwrite" else {})}
        info = _make_info(*_describe(change), change.base.version, is_blind, metrics, {"planproof": mark})
        return _write_lines([info, *made, *change.added, *removed])

    def _list_new_terms(self, log: DeltaLog, change: NewVersion, mark: str) -> list[Action]:
        """What a commit says of the table itself. Raises `SparkFailure` where readers or writers would need more than
        for the one that stands there."""
        staged = self.state(f"{log.location.rstrip('/')}/{mark}")
        reason = self.refuse(staged)
        if reason is not None:
            raise SparkFailure(f"the new table has {reason}, which is committed by the JVM of a classic session alone")
        metadata = {"metaData": dict(change.metadata or {})}
        if change.base.version < 0:
            return [{"protocol": dict(staged.protocol)}, metadata]
        if not _list_features(staged) <= _list_features(change.base):
            raise SparkFailure(
                "the change needs another protocol of the table than it has, and planproof upgrades none: say the "
                "table's properties by ALTER TABLE first"
            )
        return [metadata]

    def _write_again(self, change: NewVersion, name: str, mark: str) -> int:
        """A managed table gets its name by a statement that makes it: its staged rows are written once more."""
        location, said = change.base.location, change.metadata or {}
        staged, log = f"{location.rstrip('/')}/{mark}", self._log(location)
        if log.newest() >= 0 or self._session.registered_table(name) is not None:
            raise Moved(f"others have made {name} meanwhile")
        query = f"SELECT * FROM {quote_parts(('delta', staged))}"
        properties, columns = said.get("configuration") or {}, said.get("partitionColumns") or ()
        table = NewTable(query, columns, {}, properties, said.get("description"))
        with self._session.change_settings({_SAID: f"planproof:{mark}"}):
            self._session.rows(table.write_statement(quote_parts(split_name(name))))
        with suppress(SparkFailure):  # VACUUM deletes what no version names.
            self._store.delete(staged)
        return 0

    def _log(self, location: str) -> DeltaLog:
        return DeltaLog(self._session, self._store, location, self._kept)


def _locate(path: str, root: str) -> str:
    """A file's path in a log, from another folder on: a URI.

    >>> _locate("p=a%20b/x.parquet", "file:/my%20lake/t"), _locate("file:/y.parquet", "file:/t")
    ('file:/my%20lake/t/p=a%20b/x.parquet', 'file:/y.parquet')
    """
    return path if re.match("[A-Za-z][A-Za-z0-9+.-]*:|/", path) else f"{root}/{path}"


def _list_features(state: LogState) -> set[str]:
    version = int(state.protocol.get("minWriterVersion", 1))
    return {*state.features, *_LEGACY.get(version, ())}


def _needs_files(change: NewVersion) -> bool:
    """Whether the files of the base have to be known one by one."""
    if change.base.version < 0:
        return False
    return change.overwrites or change.removed is None or len(change.removals) != len(change.removed)


def _list_removed(change: NewVersion, files: Sequence[Mapping[str, Any]]) -> list[Action]:
    """The actions that take files away. Raises `SparkFailure`."""
    if not _needs_files(change):
        return list(change.removals)
    if change.overwrites:
        own = [action["add"]["partitionValues"] for action in change.added if "add" in action]
        chosen = [form for form in files if form["partitionValues"] in own]
    elif change.removed is None:
        chosen = list(files)
    else:
        wanted = set(change.removed)
        chosen = [form for form in files if form["path"] in wanted]
        if len(chosen) != len(wanted):
            raise SparkFailure("files that were replaced are not those of the table's version")
    now = int(time.time() * 1000)
    kept = ("path", "partitionValues", "size", "tags", "deletionVector")
    said = {"deletionTimestamp": now, "dataChange": True, "extendedFileMetadata": True}
    return [{"remove": {**{key: form[key] for key in kept if key in form}, **said}} for form in chosen]


def _count_removed(removed: Sequence[Action]) -> dict[str, int]:
    """By the names that Delta's overwrites give them in the history."""
    return {
        "numRemovedFiles": len(removed),
        "numRemovedBytes": sum(int(action["remove"].get("size") or 0) for action in removed),
    }


def _goes_with(change: NewVersion, theirs: Sequence[Action], mark: str) -> bool:
    """Whether a change can follow on what others have committed since it was made: rules that are as strict as Delta's,
    or stricter. A commit of nothing stands in nobody's way."""
    kinds = {kind for action in theirs for kind in action} - {"commitInfo"}
    if not kinds:
        return True
    if change.exact or not kinds <= {"add", "remove", "cdc", "txn"}:
        return False
    if any(action["txn"]["appId"] == FENCE + mark for action in theirs if "txn" in action):
        return False
    files = [form for action in theirs for kind, form in action.items() if kind in ("add", "remove")]
    if change.overwrites:
        own = [action["add"]["partitionValues"] for action in change.added if "add" in action]
        return all("partitionValues" in form and form["partitionValues"] not in own for form in files)
    is_blind = not (change.reads or change.removed is None or change.removed)
    return is_blind or not files


def _describe(change: NewVersion) -> tuple[str, dict[str, Any]]:
    """What the history calls a change, and what it says of it."""
    if change.merge is not None:
        names = ("matchedPredicates", "notMatchedPredicates", "notMatchedBySourcePredicates")
        clauses = (_write_json([{"actionType": kind} for kind in kinds]) for kinds in change.merge)
        return "MERGE", dict(zip(names, clauses))
    if change.operation == "update":
        return "Manual Update", {}
    columns = _write_json(list((change.metadata or {}).get("partitionColumns", ())))
    return "WRITE", {"mode": change.operation.capitalize(), "partitionBy": columns}


def _make_info(
    operation: str,
    parameters: Mapping[str, Any],
    version: int,
    is_blind: bool,
    metrics: Mapping[str, int],
    tags: Mapping[str, str],
) -> Action:
    """The line that tells where a commit comes from; `version` is the one that was read."""
    said = {
        "timestamp": int(time.time() * 1000),
        "operation": operation,
        "operationParameters": parameters,
        **({"readVersion": version} if version >= 0 else {}),
        "isolationLevel": "Serializable",
        "isBlindAppend": is_blind,
        "operationMetrics": {name: str(number) for name, number in metrics.items()},
        "engineInfo": "planproof",
        "txnId": str(uuid.uuid4()),
        "tags": tags,
    }
    return {"commitInfo": said}


def _write_lines(actions: Sequence[Action]) -> str:
    return "".join(_write_json(action) + "\n" for action in actions)


def _write_json(value: Any) -> str:
    """As Delta writes it."""
    return json.dumps(value, separators=(",", ":"))
