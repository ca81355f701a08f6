"""An open change of one Iceberg table, which plain SQL writes to and reads.

Iceberg's own calls open it. Its table is put into Iceberg's cache of tables under a name of its own, and SQL takes that
name as any other. Nothing of the table changes until the commit, which compares and swaps: it is refused where the
table is not the one that was opened. `Transaction.commitTransaction` would not do. It reads the table anew, and drops
what others have written, or what SQL has written to the transaction.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from planproof.session.described import physical_schema
from planproof.session.failures import silence_pyspark, translate_errors
from planproof.session.files import footer_of
from planproof.session.iceberg import history, placing
from planproof.session.iceberg.catalogs import Catalogs
from planproof.session.iceberg.history import Own, describe_files, list_files, refuse_other_spelling
from planproof.session.iceberg.placing import Added, Opened
from planproof.session.iceberg.reading import IMPORTED, CatalogTable, list_fields
from planproof.session.protocol import Moved, SparkFailure, SparkPlanes
from planproof.session.snapshots import DataFile, Unlisted
from planproof.session.store import local
from planproof_engine import AnalysisError, PhysicalSchema

_MOVED = ("CommitFailedException", "AlreadyExistsException", "NoSuchTableException", "ValidationException")
"""What a catalog says of a table that is not the one that was opened."""
_BY_PATH = "$DefaultLocationProvider@"
"""Iceberg's way to place files without hashes in their paths, or rules of the user's own."""
_DATA_PATH = "write.data.path"


class IcebergTransaction:
    """An open change of one table; `planproof.session.protocol.Transaction`."""

    alters = True
    branch: str | None = None
    _taken: int | None = None
    """The rows that the change took away when it was written."""

    def __init__(self, staged: str, catalogs: Catalogs, target: CatalogTable, opened: Opened, replaces: bool) -> None:
        self.staged, self._catalogs, self._target, self._replaces = staged, catalogs, target, replaces
        self._set_opened(opened)
        self._first = opened

    def _set_opened(self, opened: Opened) -> None:
        """Each question to the JVM costs a call or ten: what this object alone changes is remembered."""
        self._transaction, self._table = opened.transaction, opened.table
        self._base, self._operations = opened.base, opened.operations
        self._schema: PhysicalSchema | None = None
        self._properties: dict[str, str] | None = None
        self._written: list[Own] = []

    @property
    def is_new(self) -> bool:
        return self._base is None

    @property
    def base(self) -> str | None:
        with translate_errors():
            return None if self._base is None else str(self._base.metadataFileLocation())

    def schema(self) -> PhysicalSchema:
        if self._schema is None:
            with translate_errors():
                self._schema = physical_schema(str(self._catalogs.convert_schema(self._table.schema()).json()))
        return self._schema

    def add_columns(self, planes: SparkPlanes, names: Sequence[str]) -> None:
        with translate_errors():
            form = json.loads(str(planes.execution.analyzed().schema().asNullable().json()))
            form["fields"] = [field for field in form["fields"] if field["name"] in names]
            read = self._catalogs.static("org.apache.spark.sql.types.DataType", "fromJson")
            added = self._catalogs.convert_schema(read(json.dumps(form)))
            self._table.updateSchema().unionByNameWith(added).commit()
        self._schema = None

    def require(self, names: Sequence[str], required: bool = True) -> None:
        with translate_errors():
            change = self._table.updateSchema()
            if required:
                # Iceberg would have it asked for by hand: it does not know that the rows hold no null.
                change.allowIncompatibleChanges()
            for name in names:
                (change.requireColumn if required else change.makeColumnOptional)(name)
            change.commit()
        self._schema = None

    def select_counted(self, names: Sequence[str]) -> list[str]:
        if not names or (self.read_property("write.format.default") or "").lower() == "avro":
            return []
        with translate_errors():
            modes = self._catalogs.static("org.apache.iceberg.MetricsConfig", "forTable")(self._table)
            return [name for name in names if str(modes.columnMode(name)) != "none"]

    def identifier_columns(self) -> list[str]:
        with translate_errors():
            form = self._catalogs.form("Schema", self._table.schema())
        numbers = form.get("identifier-field-ids", ())
        return sorted({path[0] for path, number, _ in list_fields(form) if number in numbers})

    def read_property(self, key: str) -> str | None:
        if self._properties is None:
            with translate_errors():
                self._properties = self._catalogs.texts(self._table.properties())
        return self._properties.get(key)

    def set_property(self, key: str, value: str | None) -> None:
        with translate_errors():
            change = self._table.updateProperties()
            (change.remove(key) if value is None else change.set(key, value)).commit()
        self._properties = None

    def keep_comments(self) -> None:
        """Columns keep the comments that columns of the same names have now: a replacement would lose them."""
        if self._base is None:
            return
        with translate_errors():
            before = self._catalogs.form("Schema", self._base.schema())["fields"]
            comments = {f["name"]: f["doc"] for f in before if f.get("doc")}
            if not comments:
                return
            now = self._catalogs.form("Schema", self._table.schema())["fields"]
            names = [f["name"] for f in now if f["name"] in comments and not f.get("doc")]
            change = self._table.updateSchema()
            for name in names:
                change.updateColumnDoc(name, comments[name])
            if names:
                change.commit()

    def keep_order(self) -> None:
        """Rows are written in the order that the old table asks for, where its columns are still there: a replacement
        would lose it."""
        if self._base is None:
            return
        with translate_errors():
            order = self._base.sortOrder()
            if order.isUnsorted():
                return
            # A replacement keeps the id of a column that keeps its name.
            form = self._catalogs.form("SortOrder", order)
            kept = {field["source-id"] for field in form["fields"]}
            schema, operations = self._table.schema(), self._table.operations()
            if all(schema.findField(number) is not None for number in kept):
                current = operations.current()
                with suppress(Py4JJavaError, PySparkException):  # A transform that does not take the column's new type.
                    read = self._catalogs.static("org.apache.iceberg.SortOrderParser", "fromJson")
                    operations.commit(current, current.replaceSortOrder(read(schema, json.dumps(form))))

    @property
    def created(self) -> str:
        with translate_errors():
            return str(self._transaction.currentMetadata().uuid())

    @property
    def location(self) -> str:
        with translate_errors():
            return str(self._table.location())

    def place_files(self, name: str) -> str | None:
        with translate_errors():
            operations = self._table.operations()
            places = operations.locationProvider()
            if _BY_PATH not in str(places.toString()):
                return None
            folder = str(places.newDataLocation(name))
            metadata = self._transaction.currentMetadata()
            properties = self._catalogs.java_class("java.util.HashMap")(metadata.properties())
            properties.put(_DATA_PATH, folder)
            # Only where files go is asked of these operations: no property of the table changes.
            apart = self._operations.temp(metadata.replaceProperties(properties))
            self._catalogs.hidden(operations, "tempOps").set(operations, apart)
            return folder if str(operations.locationProvider().newDataLocation("x")) == f"{folder}/x" else None

    def manifests(self) -> list[str]:
        with translate_errors():
            return [location for own in self._own_snapshots() for location in own.manifests]

    def branch_snapshot(self) -> None:
        """A transaction has none."""

    def files(self) -> list[str]:
        with translate_errors():
            return sorted(path for own in self._own_snapshots() for path, _ in own.data)

    def list_before(self, most: int) -> list[DataFile]:
        if self._base is None:
            raise Unlisted("it is not there any more")
        self._refuse_unlike_files()
        with translate_errors():
            return self._list_files(self._base.currentSnapshot(), most)

    def list_after(self, most: int) -> list[DataFile]:
        self._refuse_unlike_files()
        if self._replaces:
            return describe_files(self.files())
        with translate_errors():
            return self._list_files(self._table.currentSnapshot(), most)

    def _list_files(self, snapshot: Any, most: int) -> list[DataFile]:
        has_defaults = int(self._transaction.currentMetadata().formatVersion()) > 2
        return list_files(self._catalogs, self._table, snapshot, most, has_defaults)

    def _refuse_unlike_files(self) -> None:
        refuse_other_spelling(self.schema().names)
        if self.read_property(IMPORTED) is not None:
            raise Unlisted("it took over files that others had written")

    def footer(self, path: str) -> bytes:
        def read(start: int, stop: int) -> bytes:
            stream = file.newStream()
            try:
                stream.seek(start)
                return bytes(
                    self._catalogs.static("org.apache.commons.io.IOUtils", "toByteArray")(stream, stop - start)
                )
            finally:
                stream.close()

        with translate_errors():
            file = self._io.newInputFile(path)
            return footer_of(read, int(file.getLength()))

    def rows(self) -> int:
        with translate_errors():
            return sum(own.rows for own in self._own_snapshots())

    def commit(self) -> None:
        self._verify()
        try:
            with silence_pyspark():
                self._operations.commit(self._base, self._transaction.currentMetadata())
        except Py4JJavaError as error:
            java = error.java_exception
            if str(java.getClass().getSimpleName()) in _MOVED:
                self._renew()
                raise Moved(str(java.getMessage())) from error
            with translate_errors():
                raise
        self._verify_committed()
        self._renew()

    def _verify(self) -> None:
        """Looks once more at what the commit takes for granted: the table is the one that was opened, which some
        catalogs do not ask, and nobody has deleted what was written. Raises `Moved`."""
        with translate_errors():
            if not self._swaps and not placing.is_last_state(self._catalogs, self._table, self._base):
                raise Moved("the table is not the one that was opened")
        self._refuse_lost()

    def _refuse_lost(self) -> None:
        if self.is_lost():
            raise Moved("somebody has deleted files that were written for the change")

    def is_lost(self) -> bool:
        try:
            with silence_pyspark():
                files = [named for own in self._own_snapshots() for named in own.files]
        except Py4JJavaError as error:
            if placing.is_missing(error):
                return True
            raise
        with translate_errors():
            return not all(self._is_there(path, size) for path, size in files)

    def _is_there(self, path: str, size: int | None) -> bool:
        at = local(path)
        if at is not None:
            with suppress(OSError):
                return os.path.getsize(at) == size or size is None
            return False
        try:
            with silence_pyspark():
                return int(self._io.newInputFile(path).getLength()) == size or size is None
        except Py4JJavaError as error:
            if placing.is_missing(error):
                return False
            raise

    def _verify_committed(self) -> None:
        """The catalog has answered. Where the table does not have the change all the same, or cannot be read with it,
        it is put back as it was. Raises `Moved`."""
        with translate_errors():
            ours = self._transaction.currentMetadata()
            # Where the catalog has compared, its answer says that the table has the change.
            has_it = self._swaps or placing.has_followed(self._catalogs, self._table, self._base, ours)
            if (has_it and not self.is_lost()) or self._is_expired():
                return
            if self._swaps or (has_it and self._base is not None):
                self._put_back()
            else:
                placing.delete_state(self._catalogs, self._table, self._base, ours)
        self._renew()
        raise Moved("the table was dropped, made again or changed by others at the moment of the commit")

    def _is_in(self, metadata: Any) -> bool:
        own = self._own_snapshots()
        return not own or metadata.snapshot(own[0].number) is not None

    def _put_back(self) -> None:
        """After a commit of files that somebody has deleted: the state before it is committed again."""
        table, own = self._target.load(), self._own_snapshots()
        if table is None:
            return
        operations, base = table.operations(), self._base
        now = operations.current()
        current = now.currentSnapshot()
        if current is None or not own or int(current.snapshotId()) != own[0].number:
            if not self._is_in(now):
                return  # Others have replaced it already.
            raise SparkFailure("files of the change were deleted while it was committed, and others have written since")
        if base is None:
            self._target.drop()
        elif self._target.is_sent_as_changes(operations):
            operations.commit(now, placing.restore_state(self._catalogs, now, base, own[0].java))
        else:
            operations.commit(now, base)

    @property
    def _swaps(self) -> bool:
        """Whether the catalog itself compares what it replaces; a folder's versions are numbers, which come again."""
        return self._target.is_compared(self._operations)

    def rebase(self, how: str) -> int:
        with translate_errors():
            table = self._target.load()
            if table is None:
                raise Moved("the table is not there any more")
            self._refuse_lost()
            first, kind = self._first, "replace" if self._replaces else how
            own = self._own_snapshots()
            if len(own) > 1:
                raise Moved("the change has several snapshots")
            added = Added.of(own[0].java, self._io, kind) if own else None
            opened = self._target.open(table)
            before = opened.base
            placing.refuse_unlike(first, opened.base)
            try:
                placing.apply_change(self._catalogs, first, opened, kind, added)
            except Py4JJavaError as error:
                java = error.java_exception
                if str(java.getClass().getSimpleName()) in _MOVED:
                    raise Moved(str(java.getMessage())) from error
                raise
            old = [location for one in own for location in one.manifests]
            replaced = self._count_deleted_rows()
            self._set_opened(opened)
            self._target.stage(opened.table)
            for location in old:
                with suppress(Py4JJavaError), silence_pyspark():
                    self._io.deleteFile(location)
            if kind == "replace":
                return placing.count_rows_between(self._catalogs, first.base, before)
            if self._taken is None:
                self._taken = replaced
            return max(self._count_deleted_rows() - self._taken, 0) if kind == "overwrite" else 0

    def has_rows_of_others(self) -> bool:
        with translate_errors():
            now, own = self._target.current_metadata(), self._own_snapshots()
            by_partitions = own and not self._replaces and placing.replaces_partitions(own[0].java)
            among = history.list_partitions(own[0].java, self._io) if by_partitions else None
            return now is not None and history.has_added_rows(self._catalogs, self._io, self._first.base, now, among)

    def _count_deleted_rows(self) -> int:
        own = self._own_snapshots()
        return own[0].deleted if own else 0

    @property
    def is_gone(self) -> bool:
        return not self.is_new and self._target.load() is None

    def _renew(self) -> None:
        """Has this session see the table as it is now. What was committed, or refused, stays so where that fails."""
        with suppress(SparkFailure, AnalysisError):
            self._target.refresh()

    def is_exchanged(self) -> bool:
        with translate_errors():
            now = self._target.current_metadata()
            return now is not None and now.uuid() != self._transaction.currentMetadata().uuid()

    def is_committed(self) -> bool:
        if not self._own_snapshots():
            return False
        with translate_errors():
            now = self._target.current_metadata()
            return now is not None and (self._is_in(now) or self._is_expired())

    def _is_expired(self) -> bool:
        table = self._target.load()
        own = {path for one in self._own_snapshots() for path, _ in (*one.data, *one.deletes)}
        ours = self._transaction.currentMetadata()
        return table is not None and history.is_expired(self._catalogs, own, self._base, ours, table)

    def is_alone(self) -> bool:
        with translate_errors():
            now, ours = self._target.current_metadata(), self._transaction.currentMetadata()
            is_first = now is not None and self._base is self._first.base
            return is_first and history.is_same_snapshot(now, ours)

    def find_undoing(self) -> str | None:
        with translate_errors():
            now, ours = self._target.current_metadata(), self._transaction.currentMetadata()
            has_changed = self._replaces or any(own.rows or own.deleted for own in self._own_snapshots())
            if not has_changed:
                return None
            if now is None or now.uuid() != ours.uuid():
                return ""
            own = {path for one in self._own_snapshots() for path, _ in one.data}
            return history.find_undoing(self._catalogs, self._io, own, ours, self._base, now)

    def discard(self) -> None:
        with translate_errors():
            locations = self._list_locations()
            for location in locations:
                with suppress(Py4JJavaError), silence_pyspark():
                    self._io.deleteFile(location)

    def _list_locations(self) -> list[str]:
        """Every file that was written, as far as somebody has not deleted what names them."""
        try:
            with silence_pyspark():
                return [path for own in self._own_snapshots() for path, _ in own.files]
        except Py4JJavaError as error:
            if not placing.is_missing(error):
                raise
            return []

    def close(self) -> None:
        self._target.forget()

    @cached_property
    def _io(self) -> Any:
        """How files of this table are read and deleted."""
        return self._table.io()

    def _own_snapshots(self) -> list[Own]:
        """The snapshots that the base does not have, the newest first. There is one statement that writes, or none."""
        if self._written:
            return self._written
        snapshots = self._transaction.currentMetadata().snapshots()
        found = []
        for at in range(snapshots.size() - 1, -1, -1):
            snapshot = snapshots.get(at)
            number = int(snapshot.snapshotId())
            if self._base is not None and self._base.snapshot(number) is not None:
                break
            found.append(Own(snapshot, number, self._catalogs.form("Snapshot", snapshot), self._io))
        self._written = found
        return found
