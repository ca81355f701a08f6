"""Iceberg's catalogs of one session: how a name resolves in them, and what stands there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from pyspark.sql import SparkSession

from planproof.session import versions
from planproof.session.failures import translate_errors
from planproof.session.protocol import SparkFailure
from planproof.session.statics import Statics
from planproof_engine import AnalysisError, split_name

SESSION_CATALOG = "spark_catalog"
_CATALOG = "org.apache.iceberg.spark.source.HasIcebergCatalog"
_REMEMBERED = 1000
"""Names of tables that are held, each an object in the JVM."""
_TABLE = "org.apache.iceberg.spark.source.SparkTable"


def is_catalog(register: Any, name: str) -> bool:
    """Whether Spark's register of catalogs has one of that name."""
    try:
        with translate_errors():
            return bool(register.isCatalogRegistered(name))
    except AnalysisError:  # Spark looks the name up as a part of a setting's, and some cannot be one.
        return False


class Catalogs(Statics):
    """Spark's register of catalogs, seen by what of them makes Iceberg tables."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark._jvm)
        self.spark = spark
        self.java: Any = spark._jsparkSession
        # A catalog that a session has loaded stays; each look at one costs calls.
        self._plugins: dict[str, Any] = {}
        self._held: dict[str, bool] = {}
        self._fields: dict[str, Any] = {}
        self._nullable: dict[str, bool] = {}
        self._identifiers: dict[tuple[str, ...], Any] = {}
        self._namespaces: dict[tuple[str, ...], Any] = {}

    @property
    def is_there(self) -> bool:
        """Whether Iceberg's runtime is on this session's class path."""
        return self._interface is not None

    def complete(self, name: str) -> tuple[str, ...]:
        """Catalog, namespace and table of a name, as the session resolves it."""
        parts = split_name(name)
        if len(parts) > 1 and parts[0] in self._plugins:  # A catalog that was loaded stays registered.
            return parts
        with translate_errors():
            catalogs = self.register()
            if len(parts) > 1 and is_catalog(catalogs, parts[0]):
                return parts
            current = str(catalogs.currentCatalog().name())
            if len(parts) > 2 and current == SESSION_CATALOG:
                return parts  # It has no namespaces in others: the first part was meant as a catalog.
            return (current, *parts) if len(parts) > 1 else (current, *map(str, catalogs.currentNamespace()), *parts)

    def is_iceberg(self, catalog: str) -> bool:
        interface = self._interface
        if interface is None:
            return False
        if catalog not in self._held:
            with suppress(SparkFailure, AnalysisError):
                self._held[catalog] = bool(interface.isInstance(self.catalog(catalog)))
        return self._held.get(catalog, False)

    def load(self, parts: Sequence[str]) -> Any | None:
        """Spark's view of an Iceberg table as it is now; None for any other relation. Raises `SparkFailure`."""
        if not self.is_iceberg(parts[0]):
            return None
        catalog, identifier = self.catalog(parts[0]), self.identifier(parts)
        with suppress(AnalysisError):
            return self._load_fresh(catalog, identifier)
        return None

    def has_views(self, catalog: str) -> bool:
        """Whether a catalog that makes Iceberg tables keeps views, too: folders and older databases do not."""
        if not self.is_iceberg(catalog):
            return False
        with translate_errors():
            plugin = self.catalog(catalog)
            return self.hidden(plugin, "asViewCatalog").get(plugin) is not None

    def view(self, parts: Sequence[str]) -> Any | None:
        """Spark's form of an Iceberg view; None for any other relation. Raises `SparkFailure`."""
        with suppress(AnalysisError), translate_errors():
            return self.catalog(parts[0]).loadView(self.identifier(parts))
        return None

    def _load_fresh(self, catalog: Any, identifier: Any) -> Any | None:
        with translate_errors():
            # Its cache may have the table as it was a while ago, and a refresh in a catalog of folders compares numbers
            # of versions: one that was made anew has the same ones.
            catalog.invalidateTable(identifier)
            found = catalog.loadTable(identifier)
            return found if self._loaded.isInstance(found) else None

    def register(self) -> Any:
        """Spark's own. It reads which catalogs there are, and what the session's own one is, from the thread's active
        session: dbt's threads have none."""
        self._activate(self.java)
        return self._manager

    def catalog(self, name: str) -> Any:
        with translate_errors():
            register = self.register()
            if name not in self._plugins:
                self._plugins[name] = register.catalog(name)
            return self._plugins[name]

    def namespaces(self, catalog: str) -> list[tuple[str, ...]]:
        """All namespaces of a catalog, those within others after these."""
        with translate_errors():
            listed = self.catalog(catalog).listNamespaces
            found = [tuple(map(str, one)) for one in listed()]
            for namespace in found:  # It grows as it is read.
                found += [
                    tuple(map(str, one)) for one in listed(self.array(self.java_class("java.lang.String"), namespace))
                ]
        return found

    def identifier(self, parts: Sequence[str]) -> Any:
        key = tuple(parts[1:])
        if key not in self._identifiers:
            if len(self._identifiers) >= _REMEMBERED:
                self._identifiers.clear()
            of = self.static("org.apache.spark.sql.connector.catalog.Identifier", "of")
            self._identifiers[key] = of(self.namespace(parts[:-1]), parts[-1])
        return self._identifiers[key]

    def namespace(self, database: Sequence[str]) -> Any:
        """Spark's form of a namespace, which the catalog's name stands before."""
        key = tuple(database[1:])
        if key not in self._namespaces:
            if len(self._namespaces) >= _REMEMBERED:
                self._namespaces.clear()
            self._namespaces[key] = self.array(self.java_class("java.lang.String"), key)
        return self._namespaces[key]

    def has_nullable_columns(self, catalog: str) -> bool:
        """Whether the columns of a table that a catalog makes of a query are nullable, all of them."""
        if catalog not in self._nullable:
            self._nullable[catalog] = bool(self.catalog(catalog).useNullableQuerySchema())
        return self._nullable[catalog]

    def array(self, kind: Any, values: Sequence[Any]) -> Any:
        made = self.spark.sparkContext._gateway.new_array(kind, len(values))
        for at, value in enumerate(values):
            made[at] = value
        return made

    def texts(self, mapping: Any) -> dict[str, str]:
        """A map of texts by one call, not two for each entry."""
        found: dict[str, str] = json.loads(str(self._json.writeValueAsString(mapping)))
        return found

    def hidden(self, holder: Any, name: str) -> Any:
        """A private field, by a name of its own, of one of Iceberg's classes, of which `holder` is one."""
        if name not in self._fields:
            found = holder.getClass().getDeclaredField(name)
            found.setAccessible(True)
            self._fields[name] = found
        return self._fields[name]

    def form(self, of: str, value: Any) -> Any:
        """What Iceberg writes of a value as JSON: a Schema, a SortOrder, a Snapshot."""
        return json.loads(str(self.static(f"org.apache.iceberg.{of}Parser", "toJson")(value)))

    def convert_schema(self, schema: Any) -> Any:
        """A schema of Iceberg's as one of Spark's, and the reverse."""
        return self.static("org.apache.iceberg.spark.SparkSchemaUtil", "convert")(schema)

    @cached_property
    def _json(self) -> Any:
        return self.java_class("com.fasterxml.jackson.databind.ObjectMapper")()

    @cached_property
    def _activate(self) -> Any:
        return versions.session_class(SparkSession, self.jvm).setActiveSession

    @cached_property
    def _manager(self) -> Any:
        return self.java.sessionState().catalogManager()

    @cached_property
    def _interface(self) -> Any | None:
        return versions.find_class(self.jvm, _CATALOG)

    @cached_property
    def _loaded(self) -> Any:
        return versions.find_class(self.jvm, _TABLE)
