"""A dbt project in a directory of its own, on a Spark session of this process, and dbt itself in this process."""

from __future__ import annotations

import itertools
import json
import os
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMBER = """
    {{{{ config(materialized='table', file_format='parquet', meta={{'planproof': {settings}}}) }}}}
    select {value} as id
    """
"""A table of one column, with planproof's settings as a text."""

_numbers = itertools.count(1)


def fresh_name() -> str:
    """A database's name that this run has not used yet."""
    return f"p{next(_numbers)}_{os.getpid()}"


class Dbt:
    """A dbt project with its own database. `run("build")` gives dbt's result; `results` reads run_results.json."""

    def __init__(self, root: Path, spark: SparkSession) -> None:
        self.root, self.spark = root, spark
        self.schema = fresh_name()
        spark.sql(f"create database {self.place}")

    @property
    def place(self) -> str:
        """The database of the project's tables, as the session names it."""
        return self.schema

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text).lstrip("\n"), "utf-8")

    def run(self, *args: str, guarded: bool = True) -> Any:
        from dbt.cli.main import dbtRunner

        before = os.environ.get("PLANPROOF")
        os.environ["PLANPROOF"] = "on" if guarded else "off"
        try:
            where = ["--project-dir", str(self.root), "--profiles-dir", str(self.root)]
            return dbtRunner().invoke([*args, *where])
        finally:
            if before is None:
                del os.environ["PLANPROOF"]
            else:
                os.environ["PLANPROOF"] = before

    @property
    def results(self) -> dict[str, Any]:
        """Each node's result by its name."""
        form = json.loads((self.root / "target/run_results.json").read_text("utf-8"))
        return {r["unique_id"].split(".")[2]: r for r in form["results"]}

    @property
    def statuses(self) -> dict[str, str]:
        return {name: result["status"] for name, result in self.results.items()}

    @property
    def reports(self) -> dict[str, dict[str, Any]]:
        """planproof's report of each model by the last part of its name."""
        form = json.loads((self.root / "target/planproof/report.json").read_text("utf-8"))
        return {r["model"].split(".")[-1]: r for r in form["reports"]}

    @property
    def log(self) -> str:
        return (self.root / "logs/dbt.log").read_text("utf-8")

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        """The rows of a relation of the project, sorted."""
        self.spark.catalog.refreshTable(f"{self.place}.{name}")
        return sorted((tuple(r) for r in self.spark.table(f"{self.place}.{name}").collect()), key=str)

    def state(self, name: str) -> tuple[str, list[str]]:
        """Columns and rows of a relation of the project."""
        self.spark.catalog.refreshTable(f"{self.place}.{name}")
        found = self.spark.table(f"{self.place}.{name}")
        return found.schema.simpleString(), sorted(map(str, found.collect()))

    def exists(self, name: str) -> bool:
        return self.spark.catalog.tableExists(f"{self.place}.{name}")


PROJECT = """
    name: shop
    version: "1.0"
    profile: shop
    flags: {send_anonymous_usage_stats: false, use_colors: false}
    """
PROFILE = """
    shop:
      target: dev
      outputs:
        dev:
          {type: spark, schema: SCHEMA, threads: THREADS, WAY,
           server_side_parameters: {spark.sql.shuffle.partitions: "2"}}
    """


def project_files(schema: str, way: str, threads: int = 2) -> dict[str, str]:
    """The project `shop` and its profile, whose target reaches Spark by the keys in `way`."""
    profile = PROFILE.replace("SCHEMA", schema).replace("THREADS", str(threads)).replace("WAY", way)
    return {"dbt_project.yml": PROJECT, "profiles.yml": profile}


def publish_once(dbt: Dbt, settings: str = "{}") -> None:
    """Publishes a table `number` that holds 1, and then writes a model that would give 2."""
    dbt.write({"models/number.sql": NUMBER.format(settings=settings, value=1)})
    assert dbt.run("run", "--select", "number").success, dbt.results
    dbt.write({"models/number.sql": NUMBER.format(settings=settings, value=2)})


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
