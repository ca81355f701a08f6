"""A classic SparkSession, read over py4j."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from planproof.session import described, versions
from planproof.session.absence import NOT_THERE, list_tables, verify_absence
from planproof.session.delta.protocol import DeltaTables, LogState
from planproof.session.delta.tables import Delta
from planproof.session.failures import explain_unplanned, translate_errors
from planproof.session.files import list_data_files
from planproof.session.frames import FrameSession
from planproof.session.hadoop_store import HadoopFiles
from planproof.session.iceberg import Iceberg
from planproof.session.iceberg.catalogs import is_catalog
from planproof.session.java import items, option_text, text_map
from planproof.session.metastore import find_hive, identify_metastore
from planproof.session.protocol import (
    Capabilities,
    Entries,
    Place,
    SparkFailure,
    SparkPlanes,
    StoredTable,
    Transactional,
    Written,
)
from planproof.session.snapshots import LOG_FORMATS
from planproof.session.store import decode_uri
from planproof.session.watched import entries, has_python_source, watch_query
from planproof.session.write_plans import FileWriter, find_write_plans
from planproof_engine import AnalysisError, Conf, PhysicalSchema, evolve, quote_parts, split_name

_REMEMBERED = 1000
"""How many catalog entries a session remembers; each is an object in the JVM."""
_COMMAND = "org.apache.spark.sql.catalyst.plans.logical.Command"
_SCRIPT = "org.apache.spark.sql.catalyst.plans.logical.CompoundBody"
_PYTHON_NODES = ("LogicalRDD", "MapInArrow", "MapInPandas", "FlatMapGroupsIn", "FlatMapCoGroupsIn", "PythonDataSource")
_LOCATION = re.compile(r"^\tLocation: (.*)$", re.M)
_COUNTED = "spark.databricks.delta.lastCommitVersionInSession "
"""A setting that Delta itself changes with each commit."""
_METADATA = re.compile(r'"metadata":(\{.?)')


class ClassicSession(FrameSession):
    """planproof's Session over a classic SparkSession; see `planproof.session.protocol.Session`."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._java: Any = spark._jsparkSession
        self._jvm: Any = spark._jvm
        self._conf: tuple[str, Conf] | None = None
        self._classes: dict[str, Any] = {}
        self._identifiers: dict[str, Any] = {}
        self._tables: dict[tuple[str, bool], tuple[Any, StoredTable]] = {}

    def __repr__(self) -> str:
        return f"ClassicSession(Spark {self.spark.version})"

    @cached_property
    def _state(self) -> Any:
        """Spark's own holder of the session's parser, catalog and settings; one for the session's whole life."""
        return self._java.sessionState()

    @cached_property
    def _catalog(self) -> Any:
        return self._state.catalog()

    @property
    def _manager(self) -> Any:
        """Spark's register of catalogs. It takes the list of catalogs from the thread's active session, and dbt's
        threads have none: this session is made the active one first."""
        self._activate(self._java)
        return self._registered_catalogs

    @cached_property
    def _registered_catalogs(self) -> Any:
        return self._state.catalogManager()

    @cached_property
    def _parser(self) -> Any:
        return self._state.sqlParser()

    @cached_property
    def _settings(self) -> Any:
        return self._state.conf()

    @cached_property
    def _activate(self) -> Any:
        return versions.session_class(SparkSession, self._jvm).setActiveSession

    @cached_property
    def _skip(self) -> Any:
        return getattr(self._jvm, "org.apache.spark.sql.execution.CommandExecutionMode").SKIP()

    @cached_property
    def _python_udf(self) -> Any:
        return getattr(self._jvm, "org.apache.spark.sql.catalyst.trees.TreePattern").PYTHON_UDF()

    @cached_property
    def _compares(self) -> bool:
        return described.COMPARED in versions.settings_in_force(self.spark, (described.COMPARED,))

    @cached_property
    def _iceberg(self) -> Iceberg:
        return Iceberg(self.spark)

    def transactions(self) -> Transactional:
        return self._iceberg

    @cached_property
    def _delta(self) -> Delta:
        return Delta(self.spark)

    def delta(self) -> DeltaTables:
        return self._delta

    @cached_property
    def _hadoop_files(self) -> HadoopFiles:
        return HadoopFiles(self._jvm, self._state)

    @cached_property
    def _writer(self) -> FileWriter:
        return FileWriter(self.spark)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities("classic")

    @property
    def conf(self) -> Conf:
        # Forty settings are forty calls: they are asked for again only where something was set or unset since.
        with translate_errors():
            said = str(self._settings.getAllConfs().mkString("\n")).split("\n")
            given = "\n".join(line for line in said if not line.startswith(_COUNTED))
        if self._conf is None or self._conf[0] != given:
            self._conf = given, super().conf
        return self._conf[1]

    @property
    def namespace(self) -> tuple[str, ...]:
        with translate_errors():
            current = str(self._manager.currentCatalog().name())
            if current == "spark_catalog":
                return current, str(self._catalog.getCurrentDatabase())
            return (current, *map(str, self._manager.currentNamespace()))

    @cached_property
    def catalog_id(self) -> str | None:
        with translate_errors():
            return identify_metastore(self.spark)

    def analyze(self, sql: str) -> SparkPlanes:
        with self._doubt_absence(), translate_errors(sql, analysing=True):
            execution = self._analyze(sql)
            analyzed = execution.analyzed()
            form = analyzed.schema().json()
            python_fed = self._is_python_fed(analyzed)
            is_asked = python_fed and not self._compares
            by_place = is_asked and described.BY_PLACE.search(str(analyzed.toString())) is not None
        schema, declared = described.physical_schema(form), described.declared_schema(form)
        bare = set(_METADATA.findall(form)) <= {"{}"}
        return SparkPlanes(schema, None, None, declared, python_fed, None, by_place, execution, bare)

    def add_plans(self, planes: SparkPlanes) -> SparkPlanes:
        optimized = executed = None
        with explain_unplanned() as unplanned:
            optimized = described.physical_schema(planes.execution.optimizedPlan().schema().json())
            executed = described.physical_schema(planes.execution.executedPlan().schema().json())
        return evolve(planes, optimized=optimized, executed=executed, unplanned=unplanned.reason)

    def write_files(self, planes: SparkPlanes, location: str) -> SparkPlanes | None:
        if planes.execution is None:
            return None
        with translate_errors():
            ran = self._writer.write(planes.execution.analyzed(), location)
        if ran is None:
            return None
        found = find_write_plans(ran)
        if found is None or found.optimized is None:
            return self.add_plans(planes)
        return evolve(planes, optimized=found.optimized, executed=found.executed)

    def _analyze(self, sql: str) -> Any:
        """A QueryExecution that was analyzed and will run no command, whatever the text says."""
        self._activate(self._java)
        plan = self._parser.parsePlan(sql)
        self._refuse(plan, _SCRIPT)
        execution = self._state.executePlan(plan, self._skip)
        execution.assertAnalyzed()
        self._refuse(execution.analyzed(), _COMMAND)
        return execution

    def _refuse(self, plan: Any, kind: str) -> None:
        if self._is_kind(plan, kind):
            raise AnalysisError("NOT_A_QUERY", f"a model must be a query, and this is a {plan.nodeName()} statement")

    def _is_kind(self, plan: Any, kind: str) -> bool:
        if kind not in self._classes:
            self._classes[kind] = versions.find_class(self._jvm, kind)
        known = self._classes[kind]
        return known is not None and bool(known.isInstance(plan))

    def _is_python_fed(self, analyzed: Any) -> bool:
        if analyzed.containsPattern(self._python_udf):
            return True
        text = analyzed.toString()
        return any(node in text for node in _PYTHON_NODES) or ("RelationV2" in text and has_python_source(analyzed))

    @contextmanager
    def entries(self, sql: str) -> Iterator[Entries]:
        with self._doubt_absence(), translate_errors(sql, analysing=True):
            analyzed = self._analyze(sql).analyzed()
        with entries(self.spark, analyzed) as found:
            yield found

    @contextmanager
    def watch(self, sql: str) -> Iterator[str | None]:
        with self._doubt_absence(), translate_errors(sql, analysing=True):
            analyzed = self._analyze(sql).analyzed()
        with watch_query(self.spark, sql, analyzed) as text:
            yield text

    def write(self, sql: str) -> Written | None:
        with self._doubt_absence(), translate_errors(sql):
            ran = self._java.sql(sql).queryExecution()
        return find_write_plans(ran)

    def table(self, name: str) -> StoredTable | None:
        return self._table(name, True)

    def registered_table(self, name: str) -> StoredTable | None:
        return self._table(name, False)

    def _table(self, name: str, seen: bool) -> StoredTable | None:
        try:
            found = self._iceberg.table(name) if self._iceberg.is_there else None
            if found is not None and not self._is_hidden(split_name(name)):
                return found
            view = self._iceberg.view(name) if self._iceberg.is_there else None
            if view is not None and not self._is_hidden(split_name(name)):
                return evolve(view, schema=(self._seen_schema(name) if seen else None) or view.schema)
            with translate_errors():
                if self._is_in_session_catalog(split_name(name)):
                    return self._catalog_table(name, seen)
                return self.describe(name, self._query_schema(name))
        except AnalysisError as error:
            verify_absence(error, name, self._run, lambda: self.conf.case_sensitive, self._list_tables)
            return None

    def _list_tables(self, within: list[str], pattern: str | None) -> list[str]:
        if not self._is_in_session_catalog((*within, "")):
            return list_tables(self._run, within, pattern)
        with translate_errors():
            database = within[-1] if within else self._catalog.getCurrentDatabase()
            return [str(t.table()) for t in items(self._catalog.listTables(database, pattern or "*", False))]

    def _is_hidden(self, parts: tuple[str, ...]) -> bool:
        """Whether a temporary view of this session stands in front of a table of that name."""
        with translate_errors():
            return len(parts) == 1 and bool(self._catalog.isTempView(self._identifier(quote_parts(parts))))

    def _run(self, sql: str) -> list[tuple[Any, ...]]:
        # What FrameSession does, with half as many calls of the JVM: every statement pays for each of them.
        with translate_errors(sql):
            frame = self._java.sql(sql)
            return [tuple(row) for row in DataFrame(frame, self.spark).collect()] if frame.schema().length() else []

    def _is_in_session_catalog(self, parts: tuple[str, ...]) -> bool:
        if len(parts) > 2 or (len(parts) == 2 and is_catalog(self._manager, parts[0])):
            return parts[0].lower() == "spark_catalog"
        return str(self._manager.currentCatalog().name()) == "spark_catalog"

    def metastore(self, name: str) -> PhysicalSchema | None:
        if not self._is_in_session_catalog(split_name(name)):
            return None
        with translate_errors():
            hive = find_hive(self.spark)
            if hive is None:
                return None
            table = self._catalog.getTableMetadata(self._identifier(name)).identifier()
            return described.declared_schema(hive.getTable(table.database().get(), table.table()).schema().json())

    def database_location(self, name: str) -> str | None:
        parts = split_name(name)
        if len(parts) > 1 or not self._is_in_session_catalog((*parts, "")):
            return super().database_location(name)
        with translate_errors():
            return str(self._catalog.getDatabaseMetadata(parts[0]).locationUri().toString())

    def places(self, database: str) -> Mapping[str, Place]:
        if not self._is_in_session_catalog((database, "")):
            return {}
        with translate_errors():
            # A thousand tables cost one call of the metastore, not one each.
            found = self._catalog.getTablesByName(self._catalog.listTables(database, "*", False)).toIndexedSeq()
            return {str(entry.identifier().table()): _place(entry) for entry in items(found)}

    def _catalog_table(self, name: str, seen: bool) -> StoredTable:
        """A relation of the session catalog: a V1 table, a view or a temporary view. With `seen` a view has the schema
        that a query of it sees now.

        Where the catalog's entry equals the one that was read last time, nothing of the relation changed: what was read
        then is returned.
        """
        identifier, known = self._identifier(name), self._tables.get((name, seen))
        # pyspark asks a hundred questions about the exception that a missing relation raises.
        if known is None and not self._catalog.tableExists(identifier) and not self._catalog.isTempView(identifier):
            raise AnalysisError(NOT_THERE[0], f"The table or view {name} cannot be found.")
        entry = self._catalog.getTempViewOrPermanentTableMetadata(identifier)
        if known is not None and bool(entry.equals(known[0])):
            return known[1]
        found = self._read_entry(name, identifier, entry, seen)
        if len(self._tables) >= _REMEMBERED:
            self._tables.clear()
        # What a view shows depends on other relations; partitions on a setting.
        if found.kind == "table" and found.format == "parquet" and not found.partition_by:
            self._tables[name, True] = self._tables[name, False] = entry, found
        elif found.kind == "view" and not seen:
            self._tables[name, False] = entry, found
        return found

    def _read_entry(self, name: str, identifier: Any, entry: Any, seen: bool) -> StoredTable:
        kind = str(entry.tableType().name())
        temporary = kind == "VIEW" and bool(self._catalog.isTempView(identifier))
        provider = option_text(entry.provider())
        is_table = kind in ("MANAGED", "EXTERNAL")
        form = str(entry.schema().json())
        registered = described.declared_schema(form)
        location = option_text(entry.storage().locationUri()) if is_table else None
        log = self._find_log(provider, location)
        if log is not None:
            schema = log.schema
        elif is_table and str(provider).lower() == "parquet":
            # Files are read as nullable throughout (DataSource.resolveRelation), whatever the catalog remembers.
            schema = registered.as_nullable()
        else:
            schema = (self._seen_schema(name) if seen or is_table else None) or registered
        partition_by = log.partition_by if log else tuple(map(str, items(entry.partitionColumnNames())))
        return StoredTable(
            name,
            "table" if is_table else "temporary view" if temporary else "view",
            schema,
            partition_by,
            provider.lower() if is_table and provider else None,
            location,
            kind == "MANAGED",
            log.properties if log else text_map(entry.properties()),
            option_text(entry.comment()),
            bool(entry.bucketSpec().isDefined()),
            log is not None
            or not partition_by
            or bool(entry.tracksPartitionsInCatalog() and self._settings.manageFilesourcePartitions()),
            None if is_table else option_text(entry.viewText()),
            str(entry.createTime()),
            described.filled_columns(form),
            is_table and described.has_options(text_map(entry.storage().properties())),
        )

    def _find_log(self, provider: str | None, location: str | None) -> LogState | None:
        """Of a Delta table the catalog says where it lies, and its log what it is."""
        if str(provider).lower() != "delta" or location is None or not self._delta.is_there:
            return None
        return self._delta.state(decode_uri(location))

    def _seen_schema(self, name: str) -> PhysicalSchema | None:
        """The schema that a query of the relation sees; None for a view whose own sources are gone."""
        try:
            with translate_errors():
                return self._query_schema(name)
        except (AnalysisError, SparkFailure):
            return None

    def _query_schema(self, name: str) -> PhysicalSchema:
        frame = self._java.table(quote_parts(split_name(name)))
        return described.declared_schema(frame.queryExecution().analyzed().schema().json())

    def partitions(
        self, name: str, among: Sequence[Mapping[str, str]] | None = None
    ) -> Sequence[tuple[str, str]] | None:
        if not self._is_in_session_catalog(split_name(name)):
            return None
        with translate_errors():
            catalog, identifier = self._catalog, self._identifier(name)
            columns = catalog.getTableMetadata(identifier).partitionSchema()
            spelt = getattr(self._jvm, "org.apache.spark.sql.execution.datasources.PartitioningUtils").getPathFragment
            if among is None:
                found = items(catalog.listPartitions(identifier, getattr(self._jvm, "scala.Option").empty()))
            else:
                found = [p for spec in among for p in self._find_partition(identifier, spec)]
            try:
                return [(str(spelt(p.spec(), columns)), str(p.location().toString())) for p in found]
            except PySparkException:  # A directory whose value does not have its column's type: it reads as null.
                return [(self._spell_partition(p.spec(), columns), str(p.location().toString())) for p in found]

    def _spell_partition(self, spec: Any, columns: Any) -> str:
        parts = getattr(self._jvm, "org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils")
        names = list(columns.fieldNames())
        return "/".join(str(parts.getPartitionPathString(name, spec.apply(name))) for name in names)

    def _find_partition(self, identifier: Any, spec: Mapping[str, str]) -> Iterator[Any]:
        """The one partition with these values, if it exists: Spark's listing would take them for a pattern."""
        values = getattr(self._jvm, "org.apache.spark.api.python.PythonUtils").toScalaMap(dict(spec))
        try:
            yield self._catalog.getPartition(identifier, values)
        except AnalysisException as error:
            if versions.condition(error) != "PARTITIONS_NOT_FOUND":
                raise

    def partition_locations(self, name: str) -> Sequence[str] | None:
        if not self._is_in_session_catalog(split_name(name)):
            return None
        with translate_errors():
            found = self._catalog.listPartitions(self._identifier(name), getattr(self._jvm, "scala.Option").empty())
            # One call gives the texts of all partitions. A call for each part of thousands of them would take seconds.
            locations = _LOCATION.findall(str(found.mkString("\n")))
            return locations if len(locations) == found.size() else None

    def forget_size(self, name: str) -> None:
        with translate_errors():
            self._catalog.alterTableStats(self._identifier(name), getattr(self._jvm, "scala.Option").empty())

    def _identifier(self, name: str) -> Any:
        known = self._identifiers.get(name)
        if known is None:
            known = self._parser.parseTableIdentifier(quote_parts(split_name(name)[-2:]))
            if len(self._identifiers) >= _REMEMBERED:
                self._identifiers.clear()
            self._identifiers[name] = known
        return known

    def files(self, location: str) -> Sequence[str]:
        path = self.local_path(location)
        if path is not None:
            return list_data_files(path)
        try:
            return self._hadoop_files.list_files(location)
        except SparkFailure as failure:
            raise SparkFailure(f"cannot list {location}: {failure}", failure.condition, failure.outside) from failure

    def footer(self, path: str) -> bytes:
        return self._hadoop_files.footer(path)

    def spread(self, function: Callable[[Iterable[str]], list[Any]], paths: Sequence[str]) -> list[Any] | None:
        context = self.spark.sparkContext
        shares = context.parallelize(list(paths), max(1, min(len(paths) // 500, context.defaultParallelism * 4)))
        try:
            with translate_errors():
                return list(shares.mapPartitions(function).collect())
        except SparkFailure:
            return None

    def ship(self, path: str) -> None:
        with translate_errors():
            self.spark.sparkContext.addPyFile(path)

    def tag(self, tag: str) -> None:
        with translate_errors():
            self.spark.sparkContext.addJobTag(tag)

    def cancel(self, tag: str) -> None:
        # The session's own `interruptTag` would reach the calling thread's jobs only.
        with translate_errors():
            self.spark.sparkContext.cancelJobsWithTag(tag)


def _place(entry: Any) -> Place:
    if str(entry.tableType().name()) == "VIEW":
        return Place(None, False)
    is_partitioned = int(entry.partitionColumnNames().size()) > 0 and option_text(entry.provider()) not in LOG_FORMATS
    return Place(option_text(entry.storage().locationUri()), is_partitioned)
