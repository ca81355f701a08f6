"""An open change of one Iceberg table, which plain SQL writes to and reads.

Iceberg's own calls open it. Its table is put into Iceberg's cache of tables under a name of its own, and SQL takes that
name as any other. Nothing of the table changes until the commit, which compares and swaps: it is refused where the
table is not the one that was opened. `Transaction.commitTransaction` would not do. It reads the table anew, and drops
what others have written, or what SQL has written to the transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from planproof.origin import AnalysisError
from planproof.schema import PhysicalSchema
from planproof.session.failures import quiet, translated
from planproof.session.iceberg.reading import fields
from planproof.session.java import each
from planproof.session.protocol import Moved, SparkFailure, SparkPlanes
from planproof.session.schemas import physical_schema

_MOVED = ("CommitFailedException", "AlreadyExistsException", "NoSuchTableException", "ValidationException")
"""What a catalog says of a table that is not the one that was opened."""
_BY_PATH = "$DefaultLocationProvider@"
"""Iceberg's way to place files without hashes in their paths, or rules of the user's own."""
_DATA_PATH = "write.data.path"


class Java(NamedTuple):
    """What a transaction needs of the JVM: classes and their static methods, by the classes' whole names, private
    fields of its operations, and maps of texts."""

    named: Callable[[str], Any]
    static: Callable[[str, str], Any]
    hidden: Callable[[Any, str], Any]
    texts: Callable[[Any], dict[str, str]]

    def form(self, of: str, value: Any) -> Any:
        """What Iceberg writes of a value as JSON: a Schema, a SortOrder, a Snapshot."""
        return json.loads(str(self.static(f"org.apache.iceberg.{of}Parser", "toJson")(value)))

    def converted(self, schema: Any) -> Any:
        """A schema of Iceberg's as one of Spark's, and the reverse."""
        return self.static("org.apache.iceberg.spark.SparkSchemaUtil", "convert")(schema)


class IcebergTransaction:
    """An open change of one table; `planproof.session.protocol.Transaction`."""

    alters = True
    branch: str | None = None

    def __init__(
        self,
        staged: str,
        transaction: Any,
        table: Any,
        java: Java,
        forget: Callable[[], None],
        refresh: Callable[[], None],
    ) -> None:
        self.staged, self._transaction, self._table = staged, transaction, table
        self._java, self._forget, self._refresh = java, forget, refresh
        # Each question to the JVM costs a call or ten: what this object alone changes is remembered.
        self._schema: PhysicalSchema | None = None
        self._properties: dict[str, str] | None = None
        self._written: list[Own] = []
        with translated():
            self._base: Any = transaction.startMetadata()
            self._operations: Any = transaction.underlyingOps()

    @property
    def is_new(self) -> bool:
        return self._base is None

    @property
    def base(self) -> str | None:
        with translated():
            return None if self._base is None else str(self._base.metadataFileLocation())

    def schema(self) -> PhysicalSchema:
        if self._schema is None:
            with translated():
                self._schema = physical_schema(str(self._java.converted(self._table.schema()).json()))
        return self._schema

    def add_columns(self, planes: SparkPlanes, names: Sequence[str]) -> None:
        with translated():
            form = json.loads(str(planes.execution.analyzed().schema().asNullable().json()))
            form["fields"] = [field for field in form["fields"] if field["name"] in names]
            read = self._java.static("org.apache.spark.sql.types.DataType", "fromJson")
            added = self._java.converted(read(json.dumps(form)))
            self._table.updateSchema().unionByNameWith(added).commit()
        self._schema = None

    def require(self, names: Sequence[str], required: bool = True) -> None:
        with translated():
            change = self._table.updateSchema()
            if required:
                # Iceberg would have it asked for by hand: it does not know that the rows hold no null.
                change.allowIncompatibleChanges()
            for name in names:
                (change.requireColumn if required else change.makeColumnOptional)(name)
            change.commit()
        self._schema = None

    def counted(self, names: Sequence[str]) -> list[str]:
        if not names or (self.told("write.format.default") or "").lower() == "avro":
            return []
        with translated():
            modes = self._java.static("org.apache.iceberg.MetricsConfig", "forTable")(self._table)
            return [name for name in names if str(modes.columnMode(name)) != "none"]

    def identifying(self) -> list[str]:
        with translated():
            form = self._java.form("Schema", self._table.schema())
        numbers = form.get("identifier-field-ids", ())
        return sorted({path[0] for path, number, _ in fields(form) if number in numbers})

    def told(self, key: str) -> str | None:
        if self._properties is None:
            with translated():
                self._properties = self._java.texts(self._table.properties())
        return self._properties.get(key)

    def set_property(self, key: str, value: str | None) -> None:
        with translated():
            change = self._table.updateProperties()
            (change.remove(key) if value is None else change.set(key, value)).commit()
        self._properties = None

    def keep_comments(self) -> None:
        """Columns keep the comments that columns of the same names have now: a replacement would lose them."""
        if self._base is None:
            return
        with translated():
            before = self._java.form("Schema", self._base.schema())["fields"]
            comments = {f["name"]: f["doc"] for f in before if f.get("doc")}
            if not comments:
                return
            now = self._java.form("Schema", self._table.schema())["fields"]
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
        with translated():
            order = self._base.sortOrder()
            if order.isUnsorted():
                return
            # A replacement keeps the id of a column that keeps its name.
            form = self._java.form("SortOrder", order)
            kept = {field["source-id"] for field in form["fields"]}
            schema, operations = self._table.schema(), self._table.operations()
            if all(schema.findField(number) is not None for number in kept):
                current = operations.current()
                with suppress(Py4JJavaError, PySparkException):  # A transform that does not take the column's new type.
                    read = self._java.static("org.apache.iceberg.SortOrderParser", "fromJson")
                    operations.commit(current, current.replaceSortOrder(read(schema, json.dumps(form))))

    @property
    def location(self) -> str:
        with translated():
            return str(self._table.location())

    def set_apart(self, name: str) -> str | None:
        with translated():
            operations = self._table.operations()
            places = operations.locationProvider()
            if _BY_PATH not in str(places.toString()):
                return None
            folder = str(places.newDataLocation(name))
            metadata = self._transaction.currentMetadata()
            properties = self._java.named("java.util.HashMap")(metadata.properties())
            properties.put(_DATA_PATH, folder)
            # Only where files go is asked of these operations: no property of the table changes.
            apart = self._operations.temp(metadata.replaceProperties(properties))
            self._java.hidden(operations, "tempOps").set(operations, apart)
            return folder if str(operations.locationProvider().newDataLocation("x")) == f"{folder}/x" else None

    def manifests(self) -> list[str]:
        with translated():
            return [location for own in self._own() for location in own.manifests(self._io)]

    def on_branch(self) -> None:
        """A transaction has none."""

    def files(self) -> list[str]:
        with translated():
            return sorted(str(f.path()) for own in self._own() for f in each(own.java.addedDataFiles(self._io)))

    def rows(self) -> int:
        with translated():
            return sum(own.rows for own in self._own())

    def deletes(self) -> bool:
        with translated():
            return any(True for own in self._own() for _ in each(own.java.addedDeleteFiles(self._io)))

    def commit(self) -> None:
        try:
            with quiet():
                self._operations.commit(self._base, self._transaction.currentMetadata())
        except Py4JJavaError as error:
            java = error.java_exception
            if str(java.getClass().getSimpleName()) in _MOVED:
                self._renew()
                raise Moved(str(java.getMessage())) from error
            with translated():
                raise
        self._renew()

    def _renew(self) -> None:
        """Has this session see the table as it is now. What was committed, or refused, stays so where that fails."""
        with suppress(SparkFailure, AnalysisError):
            self._refresh()

    def is_committed(self) -> bool:
        own = self._own()
        if not own:
            return False
        with translated():
            now = self._operations.refresh()
            return now is not None and now.snapshot(own[0].number) is not None

    def discard(self) -> None:
        with translated():
            for own in self._own():
                for location in own.locations(self._io):
                    with suppress(Py4JJavaError), quiet():
                        self._io.deleteFile(location)

    def close(self) -> None:
        self._forget()

    @cached_property
    def _io(self) -> Any:
        """How files of this table are read and deleted."""
        return self._table.io()

    def _own(self) -> list[Own]:
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
            found.append(Own.of(snapshot, number, self._java.form("Snapshot", snapshot)))
        self._written = found
        return found


class Own(NamedTuple):
    """A snapshot that the transaction has made."""

    java: Any
    number: int
    rows: int
    listed: str | None
    """Where the list of its manifests lies; the first version of the format can do without one."""

    @classmethod
    def of(cls, java: Any, number: int, form: Mapping[str, Any]) -> Own:
        rows = form.get("summary", {}).get("added-records", 0)
        return cls(java, number, int(rows), form.get("manifest-list"))

    def manifests(self, io: Any) -> Iterator[str]:
        """The files of metadata that it wrote."""
        yield from [str(m.path()) for m in each(self.java.allManifests(io)) if m.snapshotId() == self.number]
        if self.listed is not None:
            yield self.listed

    def locations(self, io: Any) -> Iterator[str]:
        """Every file that it wrote, those that name others last."""
        for of in (self.java.addedDataFiles, self.java.addedDeleteFiles):
            yield from [str(file.path()) for file in each(of(io))]
        yield from self.manifests(io)
