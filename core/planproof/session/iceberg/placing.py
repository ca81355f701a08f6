"""How a change of an Iceberg table is put on top of what others have committed since, and taken away again.

No row is written anew: the data files that were written stay, and Iceberg's own appends, overwrites and replacements
name them once more, over the metadata of now. That is what bare statements do when a commit meets another one.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO, NamedTuple

from py4j.protocol import Py4JJavaError

from planproof.regular import open_regular
from planproof.session.failures import silence_pyspark
from planproof.session.iceberg.catalogs import Catalogs
from planproof.session.java import iterate
from planproof.session.protocol import Moved, SparkFailure
from planproof.session.store import local

_VERSION = re.compile(r"v(\d+)(?:\.[a-z0-9]+)?\.metadata\.json")
"""What a catalog of folders calls a table's state."""
_ISOLATION = "write.merge.isolation-level"


class Opened(NamedTuple):
    """A transaction, the table that SQL sees of it, and the state of the table on which it was opened."""

    transaction: Any
    table: Any
    base: Any
    operations: Any


class Added(NamedTuple):
    """What a statement has written: the files that it added, those that it took away, and how."""

    files: list[Any]
    removed: list[Any]
    by_partitions: bool

    @classmethod
    def of(cls, snapshot: Any, io: Any, kind: str) -> Added:
        """Raises `Moved` where the change deletes rows by files of their own, which name positions in others."""
        if any(True for _ in iterate(snapshot.addedDeleteFiles(io))):
            raise Moved("the change has delete files")
        removed = list(iterate(snapshot.removedDataFiles(io))) if kind == "merge" else []
        return cls(list(iterate(snapshot.addedDataFiles(io))), removed, replaces_partitions(snapshot))


def refuse_unlike(first: Opened, now: Any) -> None:
    """Raises `Moved` where more than rows has changed since the transaction was opened first."""
    base = first.base
    if base is None:
        raise Moved("somebody else has made the table")
    is_alike = (
        str(base.uuid()) == str(now.uuid())
        and bool(base.schema().sameSchema(now.schema()))
        and base.lastColumnId() == now.lastColumnId()
        and base.defaultSpecId() == now.defaultSpecId()
        and base.formatVersion() == now.formatVersion()
        and str(base.location()) == str(now.location())
    )
    if not is_alike:
        raise Moved("the table has been made again, or has other columns or partitions")


def apply_change(catalogs: Catalogs, first: Opened, opened: Opened, kind: str, added: Added | None) -> None:
    """Does in a transaction on the table of now what was done in the first one. `kind` is append, overwrite, merge or
    replace. Raises Iceberg's own failures where its rules forbid it."""
    operations, wanted = opened.table.operations(), first.transaction.currentMetadata()
    patched = _patch_metadata(catalogs, first.base, wanted, operations.current(), kind)
    if patched is not None:
        operations.commit(operations.current(), patched)
    if added is None:
        return
    update = _build_update(catalogs, first.base, opened.table, kind, added)
    for file in added.files:
        (update.appendFile if kind in ("append", "replace") else update.addFile)(file)
    with silence_pyspark():
        update.commit()


def _build_update(catalogs: Catalogs, base: Any, table: Any, kind: str, added: Added) -> Any:
    if kind in ("append", "replace"):
        return table.newAppend()
    if kind == "overwrite" and added.by_partitions:
        return table.newReplacePartitions()
    update = table.newOverwrite()
    always = catalogs.static("org.apache.iceberg.expressions.Expressions", "alwaysTrue")()
    if kind == "overwrite":
        return update.overwriteByRowFilter(always)
    # A merge: as Spark's own commit has it.
    for file in added.removed:
        update.deleteFile(file)
    if base.currentSnapshot() is not None:
        update.validateFromSnapshot(base.currentSnapshot().snapshotId())
    update.conflictDetectionFilter(always)
    update.validateNoConflictingDeletes()
    if str(table.properties().get(_ISOLATION) or "serializable").lower() == "serializable":
        update.validateNoConflictingData()
    return update


def _patch_metadata(catalogs: Catalogs, base: Any, wanted: Any, now: Any, kind: str) -> Any | None:
    """The state of now with the columns and properties that the change gives the table; None where it gives none."""
    before, after, held = (catalogs.texts(metadata.properties()) for metadata in (base, wanted, now))
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    removed = before.keys() - after.keys()
    properties = catalogs.java_class("java.util.HashMap")()
    for key, value in changed.items() if kind == "replace" else ({**held, **changed}).items():
        if key not in removed:
            properties.put(key, value)
    if kind == "replace":
        given = (wanted.schema(), wanted.spec(), wanted.sortOrder(), wanted.location(), properties)
        patched = now.buildReplacement(*given)
        if not patched.schema().sameSchema(wanted.schema()) or not patched.spec().equals(wanted.spec()):
            raise Moved("the table has numbered its columns or partitions otherwise since")
        for key in removed & held.keys():
            left = catalogs.java_class("java.util.HashMap")(patched.properties())
            left.remove(key)
            patched = patched.replaceProperties(left)
        return patched
    is_same = bool(base.schema().sameSchema(wanted.schema()))
    if is_same and not changed and not removed:
        return None
    patched = now if is_same else now.updateSchema(wanted.schema())
    return patched.replaceProperties(properties) if changed or removed else patched


def restore_state(catalogs: Catalogs, now: Any, before: Any, ours: Any) -> Any:
    """The state of now with the rows, columns and properties of an earlier one, and without our snapshot. The log by
    which a moment is found begins anew: Iceberg leaves no gap in it."""
    properties, held = catalogs.texts(before.properties()), catalogs.texts(now.properties())
    given, removed = catalogs.java_class("java.util.HashMap")(), catalogs.java_class("java.util.HashSet")()
    for key, value in properties.items():
        given.put(key, value)
    for key in held.keys() - properties.keys():
        removed.add(key)
    build = catalogs.static("org.apache.iceberg.TableMetadata", "buildFrom")(now)
    build.setCurrentSchema(before.currentSchemaId())
    build.setDefaultPartitionSpec(before.defaultSpecId())
    build.setDefaultSortOrder(before.defaultSortOrderId())
    build.setLocation(before.location())
    build.setProperties(given)
    build.removeProperties(removed)
    if before.currentSnapshot() is None:
        build.removeRef("main")
    else:
        build.setBranchSnapshot(before.currentSnapshot().snapshotId(), "main")
    lost = catalogs.java_class("java.util.ArrayList")()
    lost.add(ours)
    build.removeSnapshots(lost)
    return build.build()


def replaces_partitions(snapshot: Any) -> bool:
    """Whether a snapshot overwrites the partitions that it writes to, and not all of the table."""
    return str(snapshot.summary().get("replace-partitions")) == "true"


def list_added(catalogs: Catalogs, base: Any, now: Any) -> Iterator[tuple[Any, int]]:
    """The snapshots of others on the way back from a state to an earlier one, with how many rows each has added; what
    only moved rows to other files added none."""
    snapshot = now.currentSnapshot()
    while snapshot is not None and base.snapshot(snapshot.snapshotId()) is None:
        form = catalogs.form("Snapshot", snapshot)
        summary, above = form.get("summary", {}), form.get("parent-snapshot-id")
        yield snapshot, 0 if summary.get("operation") == "replace" else int(summary.get("added-records", 0))
        snapshot = None if above is None else now.snapshot(above)


def count_rows_between(catalogs: Catalogs, base: Any, now: Any) -> int:
    """How many rows others have added on the way from one state to a later one."""
    return sum(rows for _, rows in list_added(catalogs, base, now))


def is_missing(error: Py4JJavaError) -> bool:
    """Whether a call has failed for want of a file."""
    cause = error.java_exception
    while cause is not None:
        if str(cause.getClass().getSimpleName()) in ("NotFoundException", "FileNotFoundException"):
            return True
        cause = cause.getCause()
    return False


# --- catalogs of folders --------------------------------------------------------------------------------------------
# A state is a file with a number, and whoever makes the file of the next number has committed. Of a table that was
# dropped, or whose old states are deleted, a number is free again: such a commit is found out, and taken away.


class _State(NamedTuple):
    """What tells one state from others of its number."""

    table: str
    snapshot: int | None
    snapshots: frozenset[int]


def is_last_state(catalogs: Catalogs, table: Any, base: Any | None) -> bool:
    """Whether a state is the table's last one. None: there is no table."""
    found, number = dict(_list_states(table)), _state_number(base)
    return max(found, default=0) == number and (base is None or _is_state(catalogs, table, found[number], base))


def has_followed(catalogs: Catalogs, table: Any, base: Any | None, ours: Any) -> bool:
    """Whether our state, which was committed, comes after the one that it replaces, and the table has it."""
    found, number = dict(_list_states(table)), _state_number(base)
    last = max(found, default=0)
    if last <= number:
        return False
    state, snapshot = _read_state(catalogs, table, found[last]), ours.currentSnapshot()
    has_it = snapshot is None or int(snapshot.snapshotId()) in state.snapshots
    if state.table != str(ours.uuid()) or not has_it:
        return False
    # Others that came after it may have deleted older states.
    return last > number + 1 or base is None or (number in found and _is_state(catalogs, table, found[number], base))


def delete_state(catalogs: Catalogs, table: Any, base: Any | None, ours: Any) -> None:
    """Deletes our state's file, and the hint that names it. What others have left is the table then."""
    io, location = table.io(), dict(_list_states(table)).get(_state_number(base) + 1)
    if location is None or not _is_state(catalogs, table, location, ours):
        return
    io.deleteFile(location)
    with suppress(Py4JJavaError), silence_pyspark():  # It is a hint: without it the folder is listed.
        io.deleteFile(f"{location.rpartition('/')[0]}/version-hint.text")


def _list_states(table: Any) -> Iterator[tuple[int, str]]:
    """The states that lie in a table's folder, each by its number."""
    folder = f"{str(table.location()).rstrip('/')}/metadata"
    at = local(folder)
    if at is not None:
        with suppress(OSError):
            named = ((name, _VERSION.fullmatch(name)) for name in os.listdir(at))
            yield from ((int(found[1]), f"{folder}/{name}") for name, found in named if found)
        return
    try:
        with silence_pyspark():
            files = list(iterate(table.io().listPrefix(folder)))
    except Py4JJavaError:  # The folder is gone.
        return
    for location in (str(file.location()) for file in files):
        found = _VERSION.fullmatch(location.rpartition("/")[2])
        if found is not None:
            yield int(found[1]), location


def _state_number(metadata: Any | None) -> int:
    if metadata is None:
        return 0
    found = _VERSION.fullmatch(str(metadata.metadataFileLocation() or "").rpartition("/")[2])
    return int(found[1]) if found else 0


_DAMAGED = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What Python makes of a file that is no state: Iceberg, which is asked then, says what it is."""


def _read_state(catalogs: Catalogs, table: Any, location: str) -> _State:
    """A state by its file. Of this machine's files Python reads what is asked, which spares the JVM ten calls."""
    at = local(location)
    if at is not None and not at.endswith(".gz.metadata.json"):
        with suppress(*_DAMAGED), _open_state(at) as file:
            form = json.load(file)
            numbers = frozenset(int(s["snapshot-id"]) for s in form.get("snapshots", ()))
            return _State(str(form["table-uuid"]), _snapshot_number(form.get("current-snapshot-id")), numbers)
    metadata = catalogs.static("org.apache.iceberg.TableMetadataParser", "read")(table.io().newInputFile(location))
    numbers = frozenset(int(s.snapshotId()) for s in iterate(metadata.snapshots()))
    current = metadata.currentSnapshot()
    return _State(str(metadata.uuid()), None if current is None else int(current.snapshotId()), numbers)


def _open_state(path: str) -> BinaryIO:
    """Raises `SparkFailure` for a pipe or a device in its place, for which Iceberg would wait."""
    try:
        return open_regular(path)
    except PermissionError as error:
        raise SparkFailure(f"cannot read {path}: {error}") from error


def _snapshot_number(number: Any) -> int | None:
    return None if number in (None, -1) else int(number)


def _is_state(catalogs: Catalogs, table: Any, location: str, metadata: Any) -> bool:
    """Whether a file holds a state: that table, with those rows."""
    state, snapshot = _read_state(catalogs, table, location), metadata.currentSnapshot()
    number = None if snapshot is None else int(snapshot.snapshotId())
    return (state.table, state.snapshot) == (str(metadata.uuid()), number)
