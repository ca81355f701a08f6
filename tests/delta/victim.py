"""A process that publishes a Delta table and kills itself at a step of it; the next one looks at what is left.

`victim.py HOME KIND STEP`: KIND is new, placed (a first run with a location_root), replace, append, overwrite, merge,
or recover, which publishes nothing; without STEP the publish comes to its end. It prints a JSON line with the rows and
versions as it found them, and what the report of its own publish says.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from planproof import Contract, Guard, Model, Report
from planproof.publish.delta.publication import DeltaPublication
from planproof.session.delta.tables import Delta

ADDED = {"materialized": "incremental", "incremental_strategy": "append"}
MERGED = {"materialized": "incremental", "incremental_strategy": "merge", "options": {"unique_key": "id"}}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "new": ("select id, 'new' as v from range(3)", {}),
    "placed": ("select id, 'new' as v from range(3)", {"options": {"location_root": "~/lake"}}),
    "replace": ("select id, 'replaced' as v from range(2)", {}),
    "append": ("select id, 'added' as v from range(3, 5)", ADDED),
    "overwrite": ("select id, 'added' as v from range(3, 5)", {**ADDED, "incremental_strategy": "insert_overwrite"}),
    "merge": ("select id, 'merged' as v from range(1, 6)", MERGED),
}


def session(home: Path) -> SparkSession:
    jars = ",".join(map(str, (Path(sys.prefix) / "jars").glob("delta-*.jar")))
    settings = {
        "spark.jars": jars,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "768m",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": (home / "warehouse").as_uri(),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:{home / 'metastore'};create=true",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={home} -Xss8m",
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    found = builder.enableHiveSupport().getOrCreate()
    found.sparkContext.setLogLevel("FATAL")
    return found


def kill_at(step: str) -> None:
    """Before a step of a publish, or for `committed` between the log's commit and what follows it."""

    def die(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    begins, notes, commit = DeltaPublication.step, DeltaPublication.note, Delta.commit

    def stepped(self: DeltaPublication, name: str, **changes: Any) -> None:
        if name == step:
            die()
        begins(self, name, **changes)

    def noted(self: DeltaPublication, name: str, **changes: Any) -> None:
        if name == step:
            die()
        notes(self, name, **changes)

    def committed(self: Delta, *given: Any) -> int:
        found = commit(self, *given)
        if step == "committed":
            die()
        return found

    DeltaPublication.step, DeltaPublication.note = stepped, noted  # type: ignore[method-assign]
    Delta.commit = committed  # type: ignore[method-assign]
    if step == "close":
        DeltaPublication.close = die  # type: ignore[method-assign, assignment]


def main(home: Path, kind: str, step: str | None) -> None:
    spark, name = session(home), "victims.orders"
    spark.sql("create database if not exists victims")
    there = spark.catalog.tableExists(name)
    rows = sorted((tuple(r) for r in spark.table(name).collect()), key=str) if there else None
    history = len(spark.sql(f"describe history {name}").collect()) if there else 0
    print("FOUND", json.dumps({"rows": rows, "versions": history}), flush=True)
    if kind == "new" and there:
        spark.sql(f"drop table {name}")
    if step is not None:
        kill_at(step)
    reports = Guard(spark).recover() if kind == "recover" else [published(spark, name, kind, home)]
    left = [str(path) for where in ("planproof_*/_delta_log", ".planproof/*/*") for path in home.rglob(where)]
    did = {"outcomes": [r.outcome for r in reports], "errors": [r.error for r in reports], "left": left}
    print("DID", json.dumps(did), flush=True)


def published(spark: SparkSession, name: str, kind: str, home: Path) -> Report:
    sql, given = KINDS[kind]
    contract = Contract([("id", "bigint", False), ("v", "string", False)])
    given = json.loads(json.dumps(given).replace("~", home.as_uri()))
    return Guard(spark).publish(Model(name, sql, file_format="delta", contract=contract, **given))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None)
