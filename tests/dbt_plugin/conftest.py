"""A dbt project on the run's Spark session, made in a temporary directory, and dbt itself in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from projects import Dbt, ThriftDbt, project_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def dbt(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dbt]:
    """An empty project: tests write models to it. Its profile is `method: session`, two threads."""
    root = tmp_path_factory.mktemp("project")
    project = Dbt(root, spark)
    project.write(project_files(project.schema, "method: session, host: NA"))
    yield project
    spark.catalog.setCurrentDatabase("default")
    spark.sql(f"drop database if exists {project.schema} cascade")


@pytest.fixture(scope="module")
def thrift_dbt(thrift: str, tmp_path_factory: pytest.TempPathFactory) -> ThriftDbt:
    """An empty project whose profile is `method: thrift`, two threads."""
    from pyhive import hive

    host, port = thrift.split(":")
    project = ThriftDbt(tmp_path_factory.mktemp("project"), hive.connect(host, int(port)))
    way = f"method: thrift, host: {host}, port: {port}, user: dbt, poll_interval: 0"
    project.write(project_files(project.schema, way))
    return project
