"""Delta tables that tests publish by the guard, and what they then look at."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from planproof import Contract, Guard, Model
from planproof.contract import Constraint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from planproof.report.model import Report


def contract(*, null: bool = False, keys: bool = False) -> Contract:
    given = [Constraint("unique", ("id",))] if keys else []
    return Contract([("id", "bigint", null), ("v", "string", True)], given)


def rows(spark: SparkSession, name: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.table(name).collect()), key=str)


def versions(spark: SparkSession, name: str) -> list[int]:
    return [row.version for row in spark.sql(f"describe history {name}").collect()]


def folder(spark: SparkSession, name: str) -> Path:
    return Path(spark.sql(f"describe detail {name}").collect()[0].location.removeprefix("file:"))


def list_left(at: Path) -> list[str]:
    """Staged tables that nobody has put away, and notes of them."""
    return [str(path) for pattern in ("*/planproof_*/_delta_log", ".planproof/*/*") for path in at.parent.glob(pattern)]


def insert_from_outside(at: Path, rows: pa.Table) -> int:
    """Adds rows to the table in a folder as another engine does, without Spark; the version that holds them.

    A commit is a file of its own that must not be there yet
    (https://github.com/delta-io/delta/blob/master/PROTOCOL.md#delta-log-entries)."""
    name = f"part-{uuid.uuid4()}.parquet"
    pq.write_table(rows, at / name)
    form = {"path": name, "partitionValues": {}, "modificationTime": 1, "dataChange": True}
    staged = at / f".{name}.json"
    staged.write_text(json.dumps({"add": {**form, "size": (at / name).stat().st_size}}) + "\n")
    try:
        while True:
            version = 1 + max(int(path.stem) for path in (at / "_delta_log").glob("*.json") if path.stem.isdigit())
            try:
                os.link(staged, at / "_delta_log" / f"{version:020}.json")
            except FileExistsError:
                continue
            return version
    finally:
        staged.unlink()


def publish(spark: SparkSession, name: str, sql: str, full_refresh: bool = False, **more: Any) -> Report:
    given = {"contract": contract(), **more}
    return Guard(spark).publish(Model(name, sql, file_format="delta", **given), full_refresh=full_refresh)


GOOD = "select id, cast(id as string) as v from range(3)"
BAD = "select if(id = 1, null, id) as id, cast(id as string) as v from range(3)"
ADDED = {"materialized": "incremental", "incremental_strategy": "append"}
MERGED = {"materialized": "incremental", "incremental_strategy": "merge", "options": {"unique_key": "id"}}
