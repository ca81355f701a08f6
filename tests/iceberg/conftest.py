"""A Spark session that has Iceberg: what `make test-iceberg` runs, in an environment of its own (.ci/iceberg).

Catalogs: `spark_catalog`, Iceberg's SparkSessionCatalog over the embedded Hive metastore, which shows other tables too;
`lake_hive`, Iceberg alone over the same metastore; `lake_hadoop`, folders; `lake_jdbc`, a database in sqlite's file;
`lake_rest`, a REST server before another such database.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from projects import Dbt, project_files
from rest_catalog import Server, served

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RUNTIME = "iceberg-spark-runtime-*.jar"
CATALOGS = ("spark_catalog", "lake_hive", "lake_hadoop", "lake_jdbc", "lake_rest")
NO_DRIVER = "no JDBC driver for sqlite: .ci/iceberg says why"
_ICEBERG = "org.apache.iceberg.spark.SparkCatalog"
# What JdbcCatalog makes itself where it may; then it keeps asking for them, and other sessions meet SQLITE_BUSY.
_SQLITE = """
create table if not exists iceberg_tables (
  catalog_name text not null, table_namespace text not null, table_name text not null, metadata_location text,
  previous_metadata_location text, iceberg_type text, primary key (catalog_name, table_namespace, table_name));
create table if not exists iceberg_namespace_properties (
  catalog_name text not null, namespace text not null, property_key text, property_value text,
  primary key (catalog_name, namespace, property_key));
"""
_numbers = itertools.count(1)
_prepared: set[str] = set()
"""The Spark applications whose metastore has the tables of locks."""


def _runtime() -> Path | None:
    """Iceberg's jar for this Spark, as .ci/iceberg puts it beside this Python, or where ICEBERG_JARS says that it lies;
    None in an environment without it."""
    return next(Path(os.environ.get("ICEBERG_JARS", Path(sys.prefix) / "iceberg")).glob(RUNTIME), None)


def _sqlite() -> tuple[list[Path], Path] | None:
    """Debian's JDBC driver for sqlite and the folder of its library, as .ci/iceberg unpacks them beside this Python."""
    home = Path(sys.prefix) / "sqlite"
    jars = sorted(home.glob("usr/share/java/xerial-sqlite-jdbc.jar"))
    library = next(home.glob("usr/lib/*/jni/libsqlitejdbc.so"), None)
    return (jars, library.parent) if jars and library is not None else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    ours = [item for item in items if here in item.path.parents]
    if _runtime() is None:
        why = "Iceberg's runtime is not in this environment: make test-iceberg"
        for item in ours:
            item.add_marker(pytest.mark.skip(reason=why))


def _settings(catalogs: dict[str, str], home: Path) -> dict[str, str]:
    """Spark's settings for Iceberg with these catalogs, and where there is a driver `lake_jdbc` below `home`."""
    jar = _runtime()
    assert jar is not None, "tests without the runtime are skipped"
    settings = {
        "spark.jars": str(jar),
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        # Iceberg changes a column's type in Hive's list too, and Hive refuses it otherwise.
        "spark.hadoop.hive.metastore.disallow.incompatible.col.type.changes": "false",
        # Hive's locks take connections from a pool of their own, BoneCP's unless told; Spark 4 does not bring that.
        "spark.hadoop.datanucleus.connectionPoolingType": "dbcp",
    }
    catalogs = {**catalogs, "lake_hadoop": _ICEBERG, "lake_hadoop.type": "hadoop"}
    catalogs["lake_hadoop.warehouse"] = (home / "lake_hadoop").as_uri()
    driver = _sqlite()
    if driver is not None:
        jars, library = driver
        database = home / "lake_jdbc.db"
        with sqlite3.connect(database) as connection:
            connection.executescript(_SQLITE)
        catalogs |= {
            "lake_jdbc": _ICEBERG,
            "lake_jdbc.type": "jdbc",
            "lake_jdbc.uri": f"jdbc:sqlite:{database}",
            "lake_jdbc.warehouse": (home / "lake_jdbc").as_uri(),
            "lake_jdbc.jdbc.init-catalog-tables": "false",
            "lake_jdbc.jdbc.schema-version": "V1",
        }
        # DriverManager looks for drivers on the class path only.
        settings["spark.driver.extraClassPath"] = os.pathsep.join(map(str, jars))
        settings["spark.driver.extraLibraryPath"] = str(library)
    return settings | {f"spark.sql.catalog.{key}": value for key, value in catalogs.items()}


@pytest.fixture(scope="session")
def rest_server(spark_dir: Path) -> Iterator[Server | None]:
    """A server of a REST catalog; None in an environment that has none, or no database for it."""
    jars, driver = Path(sys.prefix) / "rest", _sqlite()
    if not jars.is_dir() or driver is None:
        yield None
        return
    with served(jars, driver, spark_dir / "lake_rest.db", spark_dir / "lake_rest") as server:
        yield server


@pytest.fixture(scope="session")
def spark_settings(spark_dir: Path, rest_server: Server | None) -> dict[str, str]:
    catalogs = {
        "spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog",
        "spark_catalog.type": "hive",
        "lake_hive": _ICEBERG,
        "lake_hive.type": "hive",
    }
    if rest_server is not None:
        catalogs |= {"lake_rest": _ICEBERG, "lake_rest.type": "rest", "lake_rest.uri": rest_server.uri}
    return _settings(catalogs, spark_dir)


@pytest.fixture(scope="session")
def thrift_settings() -> Callable[[Path], dict[str, str]]:
    catalogs = {"spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog", "spark_catalog.type": "hive"}

    def settings(home: Path) -> dict[str, str]:
        found = _settings(catalogs, home)
        # A connection that is lost closes the loader of `spark.jars`: classes that nobody used before are gone then.
        found["spark.hadoop.iceberg.engine.hive.lock-enabled"] = "false"  # Its metastore has no tables of locks.
        own = [found.pop("spark.jars"), *filter(None, [found.get("spark.driver.extraClassPath")])]
        return {**found, "spark.driver.extraClassPath": os.pathsep.join(own)}

    return settings


@pytest.fixture
def lake_settings() -> Callable[[Path], dict[str, str]]:
    """The settings of a Spark of its own, whose catalogs lie in the folder that is given."""
    if _sqlite() is None:
        pytest.skip(NO_DRIVER)

    def settings(home: Path) -> dict[str, str]:
        quiet = {
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "768m",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": (home / "warehouse").as_uri(),
        }
        return quiet | _settings({}, home)

    return settings


@pytest.fixture
def lakes_of_a_server(lake_settings: Callable[[Path], dict[str, str]], tmp_path: Path) -> Iterator[dict[str, str]]:
    """`lake_settings` of the test's own folder, and a REST catalog whose server outlives whoever is killed."""
    settings, jars, driver = lake_settings(tmp_path), Path(sys.prefix) / "rest", _sqlite()
    if not jars.is_dir() or driver is None:
        yield settings
        return
    with served(jars, driver, tmp_path / "lake_rest.db", tmp_path / "lake_rest") as server:
        catalog = {"lake_rest": _ICEBERG, "lake_rest.type": "rest", "lake_rest.uri": server.uri}
        yield settings | {f"spark.sql.catalog.{key}": value for key, value in catalog.items()}


@pytest.fixture(scope="module")
def iceberg(spark: SparkSession) -> SparkSession:
    """The run's Spark session, ready for Iceberg's Hive catalogs."""
    if "iceberg" not in spark.conf.get("spark.sql.catalog.spark_catalog", ""):
        pytest.skip("this run's Spark was started for other tests: run tests/iceberg alone, as make test-iceberg does")
    if spark.sparkContext.applicationId in _prepared:
        return spark
    _prepared.add(spark.sparkContext.applicationId)
    # HiveCatalog takes Hive's locks; without their tables it fails with "already exists".
    jvm = spark._jvm
    hive = jvm.org.apache.hadoop.hive.conf.HiveConf()
    hive.addResource(spark._jsparkSession.sessionState().newHadoopConf())
    spark.sql("show databases").collect()
    jvm.org.apache.hadoop.hive.metastore.txn.TxnDbUtil.prepDb(hive)
    return spark


@pytest.fixture(params=CATALOGS)
def catalog(request: pytest.FixtureRequest, iceberg: SparkSession) -> str:
    """Each catalog of `CATALOGS`, by its name."""
    name: str = request.param
    if iceberg.conf.get(f"spark.sql.catalog.{name}", None) is None:
        pytest.skip(NO_DRIVER)
    return name


class LakeDbt(Dbt):
    """A dbt project in a catalog that need not be the session's own: dbt-spark names no catalog, it takes the current
    one."""

    def __init__(self, root: Path, spark: SparkSession, catalog: str) -> None:
        self.catalog = catalog
        super().__init__(root, spark)

    @property
    def place(self) -> str:
        return f"{self.catalog}.{self.schema}"

    def run(self, *args: str, guarded: bool = True) -> Any:
        self.spark.catalog.setCurrentCatalog(self.catalog)
        try:
            return super().run(*args, guarded=guarded)
        finally:
            self.spark.catalog.setCurrentCatalog("spark_catalog")


def made(spark: SparkSession, catalog: str) -> str:
    """A fresh database of a catalog, by its whole name."""
    name = f"{catalog}.i{next(_numbers)}_{os.getpid()}"
    spark.sql(f"create database {name}")
    return name


def unmade(spark: SparkSession, database: str) -> None:
    """Drops a database with its tables and views; Iceberg's catalogs know no CASCADE."""
    for row in spark.sql(f"show views in {database}").collect():
        spark.sql(f"drop view if exists {database}.`{row['viewName']}`")
    for row in spark.sql(f"show tables in {database}").collect():
        spark.sql(f"drop table if exists {database}.`{row['tableName']}` purge")
    spark.sql(f"drop database if exists {database}")


@pytest.fixture
def place(iceberg: SparkSession, catalog: str) -> Iterator[str]:
    """A database made for this test in each catalog in turn, by its whole name, dropped with its tables after it."""
    name = made(iceberg, catalog)
    yield name
    unmade(iceberg, name)


@pytest.fixture
def lake(iceberg: SparkSession) -> Iterator[str]:
    """The same in the Hadoop catalog alone, for what does not depend on the catalog."""
    name = made(iceberg, "lake_hadoop")
    yield name
    unmade(iceberg, name)


@pytest.fixture
def lake_rest(iceberg: SparkSession, rest_server: Server | None) -> Iterator[str]:
    """The same in the REST catalog alone."""
    if rest_server is None:
        pytest.skip(NO_DRIVER)
    name = made(iceberg, "lake_rest")
    yield name
    unmade(iceberg, name)


@pytest.fixture(params=("lake_hadoop", "lake_jdbc", "lake_rest"))
def place_by_either(request: pytest.FixtureRequest, iceberg: SparkSession) -> Iterator[str]:
    """The same in a catalog of folders, whose states have numbers, and in one that compares what it replaces."""
    if iceberg.conf.get(f"spark.sql.catalog.{request.param}", None) is None:
        pytest.skip(NO_DRIVER)
    name = made(iceberg, request.param)
    yield name
    unmade(iceberg, name)


@pytest.fixture(params=("spark_catalog", "lake_hive", "lake_jdbc", "lake_rest"))
def place_of_views(request: pytest.FixtureRequest, iceberg: SparkSession) -> Iterator[str]:
    """The same in each catalog that keeps views."""
    if iceberg.conf.get(f"spark.sql.catalog.{request.param}", None) is None:
        pytest.skip(NO_DRIVER)
    name = made(iceberg, request.param)
    yield name
    unmade(iceberg, name)


@pytest.fixture(scope="module", params=("spark_catalog", "lake_jdbc"))
def dbt(request: pytest.FixtureRequest, iceberg: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> LakeDbt:
    """An empty dbt project whose models, seeds and snapshots are Iceberg tables, in a catalog that is the current one
    while dbt runs."""
    catalog: str = request.param
    if iceberg.conf.get(f"spark.sql.catalog.{catalog}", None) is None:
        pytest.skip(NO_DRIVER)
    project = LakeDbt(tmp_path_factory.mktemp("project"), iceberg, catalog)
    files = project_files(project.schema, "method: session, host: NA")
    formats = "".join(f"    {kind}: {{+file_format: iceberg}}\n" for kind in ("models", "seeds", "snapshots"))
    project.write({**files, "dbt_project.yml": files["dbt_project.yml"].rstrip(" ") + formats})
    return project
