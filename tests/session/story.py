"""One guarded story on a Spark that this process did not have before: `python story.py connect|MASTER|HOST:PORT HOME`.

Prints one JSON object; tests/session/test_elsewhere.py reads it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from planproof import Contract, Function, Guard, Model, Report, Settings
from planproof.session import SparkFailure

ROWS = "select * from values (1, 'a', array(1D, 2D)), (2, 'b', null) as v(id, name, xs)"
COLUMNS = [("id", "int", False), ("name", "string", True), ("xs", "array<double>", True)]
CONF = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.ansi.enabled": "true",
}


def opened(where: str, home: Path) -> Any:
    if where.startswith("127.0.0.1:"):
        from pyhive import hive

        return hive.Connection("127.0.0.1", int(where.split(":")[1]), username="planproof")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("planproof-elsewhere")
    builder = builder.remote("local[2]") if where == "connect" else builder.master(where)
    for key, value in {**CONF, "spark.sql.warehouse.dir": str(home / "warehouse")}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def told(report: Report) -> dict[str, Any]:
    return {
        "outcome": report.outcome,
        "verdict": str(report.verdict.value),
        "error": report.error,
        "strategy": report.strategy,
        "rows": report.rows,
        "findings": [[f.verdict.value, f.code, f.plane, f.message, str(f.origin)] for f in report.findings],
        "planes": {p.plane: [p.status, p.reason] for p in report.planes},
        "trace": report.details.traceback,
    }


def story(spark: Any) -> dict[str, Any]:
    def rows(name: str) -> list[str]:
        return sorted(map(str, guard.session.rows(f"select * from {name}")))

    found: dict[str, Any] = {}
    double = Function(lambda x, y: __import__("pyarrow.compute").compute.multiply(x, y), "double")
    try:
        guard = Guard(spark, functions={"times": double})
    except SparkFailure as failure:
        guard, found["functions"] = Guard(spark), str(failure)
    contract = Contract(COLUMNS)
    found |= {"session": repr(guard.session), "conf": guard.session.conf.ansi}
    found["catalog"] = guard.session.rows("SET spark.sql.catalogImplementation")[0][1]
    guard.session.rows("create database d")

    def publish(name: str, sql: str, **more: Any) -> None:
        found[name] = told(guard.publish(Model("d.t", sql, **more)))
        found[name]["stored"] = rows("d.t")

    publish("first", ROWS, contract=contract)
    publish("second", ROWS.replace("'a'", "'c'"), contract=contract)
    publish("null", ROWS.replace("(2,", "(null,"), contract=contract)
    publish("rejected", "select 1 as id,\n  nmae from d.t", contract=contract)
    publish("command", "create table d.made as select 1 as id")
    publish("appended", "select 3 as id, 'x' as name, array(5D) as xs", materialized="incremental")
    tripled = "transform(xs, x -> times(x, id))" if "functions" not in found else "transform(xs, x -> x * id)"
    publish("python", f"select id, name, {tripled} as xs from d.t")
    publish("widened", "select bigint(id) as id, name from d.t")
    found["made"] = [name for _, name, _ in guard.session.rows("show tables in d")]
    found["view"] = told(guard.publish(Model("d.v", "select id from d.t", materialized="view")))
    partitioned = Model("d.p", "select id, name from d.t", partition_by=["name"])
    found["partitioned"] = told(guard.publish(partitioned))
    found["read"] = {"d.v": rows("d.v"), "d.p": rows("d.p")}
    quarantining = Settings(on_violation="quarantine")
    parted = "select * from values (1, 'a'), (null, 'b') as v(id, name)"
    promised = Contract([("id", "int", False), ("name", "string", True)])
    found["quarantined"] = told(guard.publish(Model("d.q", parted, contract=promised, settings=quarantining)))
    if found["quarantined"]["outcome"] == "published":
        found["quarantine"] = [rows("d.q"), sorted(map(str, guard.session.rows("select name from d.q__quarantine")))]
    found["audit"] = told(guard.audit("d.p", Contract([("id", "bigint", False), ("name", "string", True)])))
    found["recovered"] = [told(report) for report in guard.recover()]
    guard.session.rows("create temporary view temporary as select 1 as a")
    kinds = {name: guard.session.table(name) for name in ("d.t", "d.p", "d.v", "temporary", "d.nothing")}
    found["tables"] = {
        name: None if t is None else [t.kind, t.format, t.managed, list(t.partition_by)] for name, t in kinds.items()
    }
    with guard.session.change_settings({"spark.sql.ansi.enabled": "false"}):
        found["changed"] = guard.session.conf.ansi
    found["restored"] = guard.session.conf.ansi
    return found


if __name__ == "__main__":
    session = opened(sys.argv[1], Path(sys.argv[2]))
    try:
        print(json.dumps(story(session)))
    finally:
        session.close() if hasattr(session, "close") else session.stop()
