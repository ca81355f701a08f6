"""The Iceberg tables of a session's catalogs: what they are now, and how a change of one is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from pyspark.sql import SparkSession

from planproof.session import versions
from planproof.session.described import physical_schema
from planproof.session.failures import translate_errors
from planproof.session.iceberg.catalogs import SESSION_CATALOG, Catalogs
from planproof.session.iceberg.reading import CatalogTable, snapshot
from planproof.session.iceberg.transaction import IcebergTransaction
from planproof.session.java import items
from planproof.session.protocol import SparkFailure, SparkPlanes, StoredTable
from planproof.session.snapshots import Snapshot
from planproof_engine import AnalysisError, ColumnNames, quote_parts

_STAGED = "planproof_staged"
"""The catalog in whose names transactions stand: Iceberg's own, which holds nothing but what its cache is given."""
_STAGING = {
    "": "org.apache.iceberg.spark.SparkCatalog",
    ".catalog-impl": "org.apache.iceberg.inmemory.InMemoryCatalog",
    ".cache-enabled": "true",
    ".cache.expiration-interval-ms": "-1",
}
FENCE = "planproof-evicted"
"""The property of a table, or of a snapshot, that names the run that was kept out of it."""
_TRANSFORM = "org.apache.spark.sql.connector.expressions.Transform"
_OF_VIEWS = ("provider", "location", "format-version", "comment")
"""Properties by which Iceberg tells what stands in a view's own fields."""
_WAP = ("spark.wap.id", "spark.wap.branch")


class Iceberg:
    """The Iceberg catalogs of one session; `planproof.session.protocol.Transactional`."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._catalogs = Catalogs(spark)

    @property
    def is_there(self) -> bool:
        """Whether Iceberg's runtime is on this session's class path."""
        return self._catalogs.is_there

    def complete(self, name: str) -> tuple[str, ...]:
        return self._catalogs.complete(name)

    def is_in_catalog(self, name: str) -> bool:
        return self._parts(name) is not None

    def _parts(self, name: str) -> tuple[str, ...] | None:
        """The whole name of what lies in a catalog that makes Iceberg tables; None for any other name."""
        if not self.is_there:
            return None
        with suppress(SparkFailure, AnalysisError):
            parts = self.complete(name)
            return parts if self._catalogs.is_iceberg(parts[0]) else None
        return None

    def table(self, name: str) -> StoredTable | None:
        parts = self._parts(name)
        found = None if parts is None else self._catalogs.load(parts)
        if found is None:
            return None
        with translate_errors():
            return _stored_table(name, found, self._catalogs.texts(found.properties()))

    def resolve_view(self, name: str) -> tuple[str, ...] | None:
        parts = self._parts(name)
        is_one = parts is not None and parts[0] != SESSION_CATALOG and self._catalogs.has_views(parts[0])
        return parts if is_one else None

    def view(self, name: str) -> StoredTable | None:
        """The Iceberg view of that name, in another catalog than the session's own; None for anything else. Its schema
        is the one that it was made with."""
        parts = self.resolve_view(name)
        found = None if parts is None else self._catalogs.view(parts)
        if found is None:
            return None
        with translate_errors():
            properties = self._catalogs.texts(found.properties())
            text, schema = str(found.query()), physical_schema(found.schema().json())
        own = {key: value for key, value in properties.items() if key not in _OF_VIEWS}
        own["table_type"] = "ICEBERG-VIEW"  # As Hive has it.
        return StoredTable(name, "view", schema, (), None, None, False, own, properties.get("comment"), text=text)

    def snapshot(self, name: str, at: str | None = None, counted: bool = True) -> Snapshot | None:
        return snapshot(self._catalogs, name, at, counted) if self.is_in_catalog(name) else None

    def has_files_in(self, name: str, folder: str | None, others: Sequence[str]) -> bool | None:
        if self.table(name) is None:
            return None
        parts, is_ours = self.complete(name), {"all_manifests": "path", "snapshots": "manifest_list"}
        with translate_errors():
            tables = {what: self._spark.table(quote_parts((*parts, what))) for what in ("all_files", *is_ours)}
            found = [tables[what].where(tables[what][column].isin(list(others))) for what, column in is_ours.items()]
            if folder is not None:
                # The folder's own name is one publish's alone; above it, files may be spelled otherwise: file:/, file:///.
                files, own = tables["all_files"], folder.rstrip("/").rpartition("/")[2]
                found.append(files.where(files["file_path"].contains(f"/{own}/")))
            return any(frame.limit(1).count() for frame in found)

    def namespace_location(self, database: Sequence[str]) -> str | None:
        with translate_errors():
            namespace = self._catalogs.namespace(database)
            found = self._catalogs.catalog(database[0]).loadNamespaceMetadata(namespace).get("location")
        return None if found is None else str(found)

    def namespace_locations(self) -> list[str]:
        keys = [key.split(".") for key in versions.given_settings(self._spark) if key.startswith("spark.sql.catalog.")]
        names = sorted({key[3] for key in keys if len(key) == 4} - {SESSION_CATALOG, _STAGED})
        found: list[str] = []
        for name in (name for name in names if self._catalogs.is_iceberg(name)):
            with suppress(SparkFailure, AnalysisError):  # A catalog that does not answer keeps no note from the others.
                found += [
                    p for n in self._catalogs.namespaces(name) if (p := self.namespace_location((name, *n))) is not None
                ]
        return found

    def refusal(self) -> str | None:
        with translate_errors():
            set_by = [key for key in _WAP if bool(self._conf.contains(key))]
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
        """Partitions are columns or Iceberg's transforms, `days(at)`; among the properties may stand `location` and
        `comment`."""
        parts = self.complete(name)
        catalog, identifier = self._catalogs.catalog(parts[0]), self._catalogs.identifier(parts)
        with translate_errors():
            schema = planes.execution.analyzed().schema()
            if self._catalogs.has_nullable_columns(parts[0]):
                schema = schema.asNullable()
            given = {"provider": "iceberg", **(properties or {})}
            transforms = self._parse_transforms(partition_by, schema)
            staged = catalog.stageCreateOrReplace(identifier, schema, transforms, given).table()
            # A query that reads the table itself must not see it older than the commit takes it to be.
            catalog.invalidateTable(identifier)
        opened = self._open_transaction(parts, staged, True)
        opened.keep_comments()
        opened.keep_order()
        return opened

    def change(self, name: str) -> IcebergTransaction:
        parts = self.complete(name)
        with translate_errors():
            catalog, identifier = self._catalogs.catalog(parts[0]), self._catalogs.identifier(parts)
            catalog.invalidateTable(identifier)
            table = catalog.loadTable(identifier).table()
            table.refresh()
            staged = table.newTransaction().table()
        return self._open_transaction(parts, staged, False)

    def _open_transaction(self, parts: tuple[str, ...], staged: Any, replaces: bool) -> IcebergTransaction:
        with translate_errors():
            target = CatalogTable(self._catalogs, parts, self._cache, self._is_cached)
            opened = target.describe_staged(staged)
            if replaces:
                opened = target.open_compared(opened)
            target.stage(opened.table)
        return IcebergTransaction(quote_parts((_STAGED, target.key)), self._catalogs, target, opened, replaces)

    def fence(self, name: str, run: str) -> None:
        """Commits the property that names the run. A REST server compares rows and columns, and carries out a commit
        of rows beside one of a property: there it is an append of no rows that names the run."""
        with translate_errors():
            target = CatalogTable(self._catalogs, self.complete(name), self._cache, self._is_cached)
            table = target.load()
            if table is not None:
                is_sent = target.is_sent_as_changes(table.operations())
                update = table.newFastAppend() if is_sent else table.updateProperties()
                update.set(FENCE, run).commit()

    def is_read(self, name: str, planes: SparkPlanes) -> bool:
        with translate_errors():
            text = str(planes.execution.analyzed().toString()).replace("`", "").lower()
        return ".".join(self.complete(name)[1:]).lower() in text

    # --- the JVM's side ---------------------------------------------------------------------------------------------

    @cached_property
    def _cache(self) -> Any:
        """The cache of the staging names' catalog. It holds what is behind a name for as long as somebody else does."""
        catalogs, plugins = self._catalogs, self._catalogs.register()
        if not plugins.isCatalogRegistered(_STAGED):
            # A catalog is loaded at its first use, and stays.
            given = {f"spark.sql.catalog.{_STAGED}{key}": value for key, value in _STAGING.items()}
            for key, value in given.items():
                self._spark.conf.set(key, value)
            try:
                plugins.catalog(_STAGED)
            finally:
                for key in given:
                    self._spark.conf.unset(key)
        cached = plugins.catalog(_STAGED).icebergCatalog()
        return catalogs.hidden(cached, "tableCache").get(cached)

    @cached_property
    def _conf(self) -> Any:
        """The session's settings; one object for its whole life."""
        return self._catalogs.java.conf()

    @cached_property
    def _no_transforms(self) -> Any:
        return self._catalogs.array(self._catalogs.java_class(_TRANSFORM), ())

    @cached_property
    def _cached_data(self) -> Any:
        """What Spark holds of CACHE TABLE and the like."""
        return self._catalogs.java.sharedState().cacheManager()

    def _is_cached(self) -> bool:
        return not self._cached_data.isEmpty()

    def _parse_transforms(self, partition_by: Sequence[str], schema: Any) -> Any:
        """Spark's own parser reads them; the statement around them is never run."""
        if not partition_by:
            return self._no_transforms
        known = ColumnNames(map(str, schema.fieldNames()))
        texts = [quote_parts((text,)) if text.strip("`") in known else text for text in map(str.strip, partition_by)]
        statement = f"CREATE TABLE t USING iceberg PARTITIONED BY ({', '.join(texts)}) AS SELECT 1"
        parsed = self._catalogs.java.sessionState().sqlParser().parsePlan(statement)
        return self._catalogs.array(self._catalogs.java_class(_TRANSFORM), items(parsed.partitioning()))


def _stored_table(name: str, table: Any, properties: dict[str, str]) -> StoredTable:
    return StoredTable(
        name,
        "table",
        physical_schema(str(table.schema().json())),
        tuple(_format_partition(transform) for transform in table.partitioning()),
        "iceberg",
        properties.get("location"),
        True,
        properties,
        properties.get("comment"),
        created=str(table.table().operations().current().uuid()),
    )


def _format_partition(transform: Any) -> str:
    """A partition as a model names it: a column, or a transform of one.

    >>> class Days: toString = lambda self: "days(at)"
    >>> _format_partition(Days())
    'days(at)'
    """
    text = str(transform.toString())
    return text.removeprefix("identity(")[:-1] if text.startswith("identity(") else text
