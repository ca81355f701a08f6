"""A Spark session that has Delta Lake: what `make test-delta` runs, in an environment of its own (.ci/delta).

Tables stand in the session's own catalog, Delta's over the embedded Hive metastore: dbt-spark names no other.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from projects import Dbt, project_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count(1)


def jars() -> list[Path]:
    """Delta's jars as .ci/delta puts them beside this Python, or where DELTA_JARS says that they lie; none in an
    environment without them."""
    return sorted(Path(os.environ.get("DELTA_JARS", Path(sys.prefix) / "jars")).glob("delta-*.jar"))


def delta_settings() -> dict[str, str]:
    return {
        "spark.jars": ",".join(map(str, jars())),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "2",
        # VACUUM lists files in 10,000 tasks otherwise.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    }


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    if not jars():
        for item in (item for item in items if here in item.path.parents):
            item.add_marker(pytest.mark.skip(reason="Delta's jars are not in this environment: make test-delta"))


@pytest.fixture(scope="session")
def spark_settings() -> dict[str, str]:
    return delta_settings()


@pytest.fixture(scope="session")
def thrift_settings() -> Callable[[Path], dict[str, str]]:
    def settings(home: Path) -> dict[str, str]:
        found = delta_settings()
        # A connection that is lost closes the loader of `spark.jars`: classes that nobody used before are gone then.
        return {**found, "spark.driver.extraClassPath": found.pop("spark.jars").replace(",", os.pathsep)}

    return settings


@pytest.fixture(scope="module")
def delta(spark: SparkSession) -> SparkSession:
    """The run's Spark session, where it was started with Delta."""
    if "delta" not in (spark.conf.get("spark.sql.catalog.spark_catalog", "") or ""):
        pytest.skip("this run's Spark was started for other tests: run tests/delta alone, as make test-delta does")
    return spark


@pytest.fixture
def place(delta: SparkSession) -> Iterator[str]:
    """A database made for this test, dropped with its tables after it."""
    name = f"d{next(_numbers)}_{os.getpid()}"
    delta.sql(f"create database {name}")
    yield name
    delta.catalog.setCurrentDatabase("default")
    delta.sql(f"drop database if exists {name} cascade")


@pytest.fixture(scope="module")
def dbt(delta: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dbt]:
    """An empty dbt project whose models, seeds and snapshots are Delta tables."""
    project = Dbt(tmp_path_factory.mktemp("project"), delta)
    files = project_files(project.schema, "method: session, host: NA")
    formats = "".join(f"    {kind}: {{+file_format: delta}}\n" for kind in ("models", "seeds", "snapshots"))
    project.write({**files, "dbt_project.yml": files["dbt_project.yml"].rstrip(" ") + formats})
    yield project
    delta.catalog.setCurrentDatabase("default")
    delta.sql(f"drop database if exists {project.schema} cascade")
