"""A dbt project on the run's Spark session, made in a temporary directory, and dbt itself in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from projects import Dbt, fresh_name, project_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ThriftDbt(Dbt):
    """The same on a Thrift server, which is asked through a connection of its own."""

    def __init__(self, root: Path, connection: Any) -> None:
        self.root, self.connection = root, connection
        self.schema = fresh_name()
        self.ask(f"create database {self.schema}")

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        cursor = self.connection.cursor()
        try:
            cursor.execute(sql)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        except TypeError:
            return []  # Spark 3.5 announces a result for statements that have none.
        finally:
            cursor.close()

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        return sorted(self.ask(f"select * from {self.schema}.{name}"), key=str)

    def state(self, name: str) -> tuple[str, list[str]]:
        self.ask(f"refresh table {self.schema}.{name}")
        return str(self.ask(f"describe {self.schema}.{name}")), sorted(map(str, self.rows(name)))

    def exists(self, name: str) -> bool:
        return (name,) in [row[1:2] for row in self.ask(f"show tables in {self.schema}")]


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
