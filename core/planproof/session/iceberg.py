"""Iceberg's tables in a classic session: looked at, and changed by one transaction that plain SQL writes to and reads.

A transaction is opened by Iceberg's own calls, its table is put into Iceberg's cache of tables under a name of its own,
and that name stands in SQL as any other. Nothing of the table changes until the commit, which compares and swaps: it
is refused where the table is not the one that was opened. `Transaction.commitTransaction` would not do: it reads the
table anew, and drops what others, or what SQL has written to the transaction.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from planproof.catalog import split_name
from planproof.origin import AnalysisError
from planproof.quoting import quoted
from planproof.schema import PhysicalSchema
from planproof.session import versions
from planproof.session.failures import quiet, translated
from planproof.session.java import items
from planproof.session.protocol import Moved, SparkFailure, SparkPlanes, StoredTable
from planproof.session.schemas import physical_schema

_STAGED = "planproof_staged"
"""The catalog in whose names transactions stand; it holds nothing else."""
_SESSION_CATALOG = "spark_catalog"
_CATALOG = "org.apache.iceberg.spark.source.HasIcebergCatalog"
_TABLE = "org.apache.iceberg.spark.source.SparkTable"
_CACHE = "org.apache.iceberg.spark.SparkTableCache"
_DATA_TYPE = "org.apache.spark.sql.types.DataType"
_WAP = ("spark.wap.id", "spark.wap.branch")
_MOVED = ("CommitFailedException", "AlreadyExistsException", "NoSuchTableException", "ValidationException")
"""What a catalog says of a table that is not the one that was opened."""


class Iceberg:
    """The Iceberg catalogs of one session; `planproof.session.protocol.Transactional`."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._java: Any = spark._jsparkSession
        self._jvm: Any = spark._jvm

    def complete(self, name: str) -> tuple[str, ...]:
        """Catalog, namespace and table of a name, as the session resolves it."""
        parts = split_name(name)
        with translated():
            catalogs = self._catalogs()
            if len(parts) > 1 and bool(catalogs.isCatalogRegistered(parts[0])):
                return parts
            current = str(catalogs.currentCatalog().name())
            if len(parts) > 2 and current == _SESSION_CATALOG:
                return parts  # It has no namespaces in others: the first part was meant as a catalog.
            return (current, *parts) if len(parts) > 1 else (current, *map(str, catalogs.currentNamespace()), *parts)

    @property
    def is_there(self) -> bool:
        """Whether Iceberg's runtime is on this session's class path."""
        return self._interface is not None

    def holds(self, name: str) -> bool:
        """Whether the name lies in a catalog that makes Iceberg tables."""
        interface = self._interface
        if interface is None:
            return False
        with suppress(SparkFailure, AnalysisError):
            return bool(interface.isInstance(self._catalog(self.complete(name)[0])))
        return False

    def table(self, name: str) -> StoredTable | None:
        """The Iceberg table of that name, as it is now; None for anything else."""
        if not self.holds(name):
            return None
        parts = self.complete(name)
        catalog, identifier = self._catalog(parts[0]), self._identifier(parts)
        try:
            found = self._fresh(catalog, identifier)
        except AnalysisError:
            return None
        except SparkFailure:
            # The catalog may have in its cache what somebody else has dropped since; an outage fails once more.
            with translated():
                catalog.invalidateTable(identifier)
            try:
                found = self._fresh(catalog, identifier)
            except AnalysisError:
                return None
        with translated():
            return None if found is None else _stored(name, found)

    def _fresh(self, catalog: Any, identifier: Any) -> Any | None:
        """Spark's view of an Iceberg table as it is now; None for another kind of table."""
        with translated():
            found = catalog.loadTable(identifier)
            if not self._loaded.isInstance(found):
                return None
            # The catalog may have it from its cache, as it was a while ago.
            found.table().refresh()
            return found

    def refusal(self) -> str | None:
        """Why no transaction may be opened in this session; None where one may."""
        set_by = [key for key in _WAP if key in versions.given_settings(self._spark)]
        if not set_by:
            return None
        return f"the session sets {set_by[0]}, which leads every write to another branch or stage; unset it"

    def replace(
        self,
        name: str,
        planes: SparkPlanes,
        partition_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
    ) -> IcebergTransaction:
        """Opens the table's replacement by one of an analyzed query's columns, empty as yet; a table that is not there
        is made. Partitions are columns or Iceberg's transforms, `days(at)`. Among the properties may stand `location`
        and `comment`. Raises `SparkFailure`."""
        parts = self.complete(name)
        catalog, identifier = self._catalog(parts[0]), self._identifier(parts)
        old = self.table(name)
        with translated():
            schema = planes.execution.analyzed().schema()
            if catalog.useNullableQuerySchema():
                schema = schema.asNullable()
            if old is not None:
                schema = self._described(schema, catalog.loadTable(identifier).schema())
            given = {"provider": "iceberg", **(properties or {})}
            transforms = self._transforms(partition_by, list(schema.fieldNames()))
            staged = catalog.stageCreateOrReplace(identifier, schema, transforms, given).table()
        return self._opened(parts, staged)

    def change(self, name: str) -> IcebergTransaction:
        """Opens a change of the table as it is now. Raises `SparkFailure`."""
        parts = self.complete(name)
        with translated():
            catalog, identifier = self._catalog(parts[0]), self._identifier(parts)
            catalog.invalidateTable(identifier)
            table = catalog.loadTable(identifier).table()
            table.refresh()
            staged = table.newTransaction().table()
        return self._opened(parts, staged)

    def _opened(self, parts: tuple[str, ...], staged: Any) -> IcebergTransaction:
        with translated():
            operations = staged.operations()
            # Catalogs that cache hand out a transaction of their own around Iceberg's, which alone knows its base.
            outer = operations.getClass().getDeclaredField("this$0")
            outer.setAccessible(True)
            transaction = outer.get(operations)
            key = uuid.uuid4().hex
            table = self._class("org.apache.iceberg.BaseTable")(operations, quoted(parts))
            self._staged_catalog()
            self._cache.add(key, table)

        def forget() -> None:
            with translated():
                self._cache.remove(key)

        def refresh() -> None:
            with translated():
                self._catalog(parts[0]).invalidateTable(self._identifier(parts))
                self._java.catalog().refreshTable(quoted(parts))

        schemas = _Schemas(self._class("org.apache.iceberg.spark.SparkSchemaUtil"), self._class(_DATA_TYPE))
        return IcebergTransaction(quoted((_STAGED, key)), transaction, table, schemas, forget, refresh)

    # --- the JVM's side ---------------------------------------------------------------------------------------------

    @cached_property
    def _interface(self) -> Any | None:
        return versions.class_named(self._jvm, _CATALOG)

    @cached_property
    def _loaded(self) -> Any:
        return versions.class_named(self._jvm, _TABLE)

    def _catalogs(self) -> Any:
        """Spark's register of catalogs. It reads which there are, and what the session's own one is, from the thread's
        active session: dbt's threads have none."""
        versions.session_class(SparkSession, self._jvm).setActiveSession(self._java)
        return self._java.sessionState().catalogManager()

    @cached_property
    def _cache(self) -> Any:
        """py4j takes Spark's `get(String)` for the static `get()`."""
        new = self._spark.sparkContext._gateway.new_array
        method = versions.class_named(self._jvm, _CACHE).getMethod("get", new(self._jvm.java.lang.Class, 0))  # type: ignore[union-attr]
        return method.invoke(None, new(self._jvm.java.lang.Object, 0))

    def _class(self, name: str) -> Any:
        return getattr(self._jvm, name)

    def _catalog(self, name: str) -> Any:
        with translated():
            return self._catalogs().catalog(name)

    def _staged_catalog(self) -> None:
        """Makes the staging names' catalog known to this session: a catalog is loaded at its first use, and stays."""
        catalogs, key = self._catalogs(), f"spark.sql.catalog.{_STAGED}"
        if not catalogs.isCatalogRegistered(_STAGED):
            self._spark.conf.set(key, "org.apache.iceberg.spark.SparkCachedTableCatalog")
            try:
                catalogs.catalog(_STAGED)
            finally:
                self._spark.conf.unset(key)

    def _identifier(self, parts: Sequence[str]) -> Any:
        namespace = self._array(self._jvm.java.lang.String, parts[1:-1])
        return self._class("org.apache.spark.sql.connector.catalog.Identifier").of(namespace, parts[-1])

    def _array(self, kind: Any, values: Sequence[Any]) -> Any:
        made = self._spark.sparkContext._gateway.new_array(kind, len(values))
        for at, value in enumerate(values):
            made[at] = value
        return made

    def _transforms(self, partition_by: Sequence[str], columns: Sequence[str]) -> Any:
        """Spark's own parser reads them; the statement around them is never run."""
        kind = self._class("org.apache.spark.sql.connector.expressions.Transform")
        if not partition_by:
            return self._array(kind, ())
        known = {name.lower() for name in columns}
        texts = [quoted((text,)) if text.strip("`").lower() in known else text for text in map(str.strip, partition_by)]
        statement = f"CREATE TABLE t USING iceberg PARTITIONED BY ({', '.join(texts)}) AS SELECT 1"
        parsed = self._java.sessionState().sqlParser().parsePlan(statement)
        return self._array(kind, items(parsed.partitioning()))

    def _described(self, schema: Any, old: Any) -> Any:
        """The schema with the comments that columns of the same names have now: a replacement would lose them."""
        form, before = json.loads(str(schema.json())), json.loads(str(old.json()))
        comments = {f["name"]: f["metadata"]["comment"] for f in before["fields"] if "comment" in f["metadata"]}
        changed = False
        for field in form["fields"]:
            if field["name"] in comments and "comment" not in field["metadata"]:
                field["metadata"]["comment"] = comments[field["name"]]
                changed = True
        return self._class(_DATA_TYPE).fromJson(json.dumps(form)) if changed else schema


class _Schemas(NamedTuple):
    """Iceberg's conversions of schemas, and Spark's class of types, which reads them as JSON."""

    conversions: Any
    types: Any


class IcebergTransaction:
    """An open change of one table; `planproof.session.protocol.Transaction`."""

    def __init__(
        self,
        staged: str,
        transaction: Any,
        table: Any,
        schemas: _Schemas,
        forget: Callable[[], None],
        refresh: Callable[[], None],
    ) -> None:
        self.staged, self._transaction, self._table = staged, transaction, table
        self._schemas, self._forget, self._refresh = schemas, forget, refresh
        with translated():
            self._base: Any = transaction.startMetadata()
            self._operations: Any = transaction.underlyingOps()

    @property
    def is_new(self) -> bool:
        return self._base is None

    def schema(self) -> PhysicalSchema:
        with translated():
            return physical_schema(self._schemas.conversions.convert(self._table.schema()).json())

    def add_columns(self, planes: SparkPlanes, names: Sequence[str]) -> None:
        with translated():
            form = json.loads(str(planes.execution.analyzed().schema().asNullable().json()))
            form["fields"] = [field for field in form["fields"] if field["name"] in names]
            added = self._schemas.conversions.convert(self._schemas.types.fromJson(json.dumps(form)))
            self._table.updateSchema().unionByNameWith(added).commit()

    def files(self) -> list[str]:
        with translated():
            io = self._table.io()
            return sorted(str(f.path()) for s in self._own() for f in s.addedDataFiles(io))

    def deletes(self) -> bool:
        with translated():
            io = self._table.io()
            return any(True for s in self._own() for _ in s.addedDeleteFiles(io))

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
        own = [s.snapshotId() for s in self._own()]
        if not own:
            return False
        with translated():
            now = self._operations.refresh()
            return now is not None and now.snapshot(own[0]) is not None

    def discard(self) -> None:
        with translated():
            io = self._table.io()
            for snapshot in self._own():
                for location in _locations(snapshot, io):
                    with suppress(Py4JJavaError), quiet():
                        io.deleteFile(location)

    def close(self) -> None:
        self._forget()

    def _own(self) -> list[Any]:
        """The snapshots that the base does not have, the newest first."""
        snapshots = self._transaction.currentMetadata().snapshots()
        found = []
        for at in range(snapshots.size() - 1, -1, -1):
            snapshot = snapshots.get(at)
            if self._base is not None and self._base.snapshot(snapshot.snapshotId()) is not None:
                break
            found.append(snapshot)
        return found


def _locations(snapshot: Any, io: Any) -> Iterator[str]:
    """Every file that a snapshot wrote, those that name others last."""
    for of in (snapshot.addedDataFiles, snapshot.addedDeleteFiles):
        yield from [str(file.path()) for file in of(io)]
    number = snapshot.snapshotId()
    yield from [str(m.path()) for m in snapshot.allManifests(io) if m.snapshotId() == number]
    yield str(snapshot.manifestListLocation())


def _stored(name: str, table: Any) -> StoredTable:
    properties = {str(k): str(v) for k, v in dict(table.properties()).items()}
    return StoredTable(
        name,
        "table",
        physical_schema(table.schema().json()),
        tuple(_column(transform) for transform in table.partitioning()),
        "iceberg",
        str(table.table().location()),
        True,
        properties,
        properties.get("comment"),
    )


def _column(transform: Any) -> str:
    """A partition as a model names it: a column, or a transform of one.

    >>> class Days: toString = lambda self: "days(at)"
    >>> _column(Days())
    'days(at)'
    """
    text = str(transform.toString())
    return text.removeprefix("identity(")[:-1] if text.startswith("identity(") else text
