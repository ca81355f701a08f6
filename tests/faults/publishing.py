"""The processes of the fault tests: one prepares tables, victims die while they publish, a rescuer recovers and tells.

Run as `python publishing.py HOME ROLE ...`. Hive's metastore (Derby) and the warehouse lie on disk below HOME. A victim
publishes every case at once, a thread each, so that one kill of one JVM hits all of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Rows = list[list[Any]]


@dataclass(frozen=True)
class Case:
    """`before` makes the table `{t}`, `model` is what is published then; `old` is None where nothing stood before.

    Of `unwritten` steps the journal says nothing: a publish that dies there leaves its lock alone. `quarantined` are
    the rows that go to the quarantine with the new ones.
    """

    before: tuple[str, ...]
    model: dict[str, Any]
    old: Rows | None
    new: Rows
    steps: tuple[str, ...]
    delta: bool = field(default=False)
    unwritten: tuple[str, ...] = ()
    quarantined: Rows = field(default_factory=list)


FIRST = "create table {t} using parquet as select 1 as id, 'a' as s"
PARTS = "create table {t} using parquet partitioned by (d) as select * from values (1, 'x'), (2, 'y') as v(id, d)"
WRITE = ("stage", "audit")
CHECKED: dict[str, Any] = {"contract": [("id", "int", False), ("s", "string", True)], "check": "id > 0"}
CASES = {
    "first": Case((), {"sql": "select 2 as id"}, None, [[2]], (*WRITE, "swap", "clean")),
    "placed": Case(
        (),
        {"sql": "select 2 as id", "options": {"location_root": "{home}/lake"}},
        None,
        [[2]],
        (*WRITE, "place", "swap"),
    ),
    "same": Case((FIRST,), {"sql": "select 2 as id, 'b' as s"}, [[1, "a"]], [[2, "b"]], (*WRITE, "swap")),
    "changed": Case((FIRST,), {"sql": "select 2L as id"}, [[1, "a"]], [[2]], (*WRITE, "away", "swap", "clean")),
    "parts": Case(
        (PARTS,),
        {"sql": "select * from values (3, 'x'), (4, 'z') as v(id, d)", "partition_by": ["d"]},
        [[1, "x"], [2, "y"]],
        [[3, "x"], [4, "z"]],
        (*WRITE, "away", "swap", "clean"),
    ),
    "bucketed": Case(
        (FIRST,),
        {"sql": "select 2 as id, 'b' as s", "options": {"clustered_by": "id", "buckets": 2}},
        [[1, "a"]],
        [[2, "b"]],
        (*WRITE, "away", "swap", "clean"),
    ),
    "append": Case(
        (FIRST,),
        {"sql": "select cast(id + 2 as int) as id, 'b' as s from range(0, 2, 1, 2)", "materialized": "incremental"},
        [[1, "a"]],
        [[1, "a"], [2, "b"], [3, "b"]],
        (*WRITE, "files", "clean"),
    ),
    "grown": Case(
        (FIRST,),
        {
            "sql": "select cast(id + 2 as int) as id, 'b' as s, 'n' as note from range(0, 2, 1, 2)",
            "materialized": "incremental",
            "options": {"on_schema_change": "append_new_columns"},
        },
        [[1, "a"]],
        [[1, "a", None], [2, "b", "n"], [3, "b", "n"]],
        (*WRITE, "files", "columns", "clean"),
    ),
    "overwritten": Case(
        (PARTS,),
        {
            "sql": "select * from values (3, 'x'), (4, 'z') as v(id, d)",
            "materialized": "incremental",
            "incremental_strategy": "insert_overwrite",
            "partition_by": ["d"],
        },
        [[1, "x"], [2, "y"]],
        [[2, "y"], [3, "x"], [4, "z"]],
        (*WRITE, "partitions", "clean"),
    ),
    "replaced": Case(
        (PARTS,),
        {
            "sql": "select 3 as id, 'z' as d",
            "materialized": "incremental",
            "incremental_strategy": "insert_overwrite",
        },
        [[1, "x"], [2, "y"]],
        [[3, "z"]],
        (*WRITE, "away", "swap", "clean"),
    ),
    "quarantined": Case(
        (FIRST,),
        {"sql": "select * from values (2, 'b'), (-1, 'c'), (null, 'd') as v(id, s)", **CHECKED},
        [[1, "a"]],
        [[2, "b"]],
        (*WRITE, "quarantine", "swap"),
        quarantined=[[-1, "c"], [None, "d"]],
    ),
    "quarantined_append": Case(
        (FIRST,),
        {
            "sql": "select * from values (2, 'b'), (-1, 'c') as v(id, s)",
            "materialized": "incremental",
            **CHECKED,
        },
        [[1, "a"]],
        [[1, "a"], [2, "b"]],
        (*WRITE, "quarantine", "files", "clean"),
        quarantined=[[-1, "c"]],
    ),
    "view": Case(
        ("create view {t} as select 1 as id",),
        {"sql": "select 2 as id", "materialized": "view"},
        [[1]],
        [[2]],
        ("swap",),
        unwritten=WRITE,
    ),
    "view_over": Case(
        (FIRST,),
        {"sql": "select 2 as id", "materialized": "view"},
        [[1, "a"]],
        [[2]],
        ("away", "swap", "clean"),
        unwritten=WRITE,
    ),
}
STEPS = tuple(dict.fromkeys(step for case in CASES.values() for step in (*case.unwritten, *case.steps)))


def session(home: Path) -> Any:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .enableHiveSupport()
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "768m")
        .config("spark.sql.warehouse.dir", f"{home}/warehouse")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home}")
        .config("spark.hadoop.javax.jdo.option.ConnectionURL", f"jdbc:derby:;databaseName={home}/metastore;create=true")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


def model(home: Path, case: Case, table: str) -> Any:
    from planproof import Contract, Model
    from planproof.settings import Settings

    given = dict(case.model)
    if "check" in given:
        checks = [{"kind": "check", "expression": given.pop("check")}]
        given["contract"] = Contract(given["contract"], checks)
        given["settings"] = Settings(on_violation="quarantine")
    options = {
        k: v.replace("{home}", str(home)) if isinstance(v, str) else v for k, v in given.get("options", {}).items()
    }
    return Model(table, **{**given, "options": options})


def prepare(home: Path, suffixes: list[str]) -> None:
    spark = session(home)
    for suffix in suffixes:
        for name, case in CASES.items():
            for statement in case.before:
                spark.sql(statement.replace("{t}", f"{name}_{suffix}"))


def read(spark: Any, table: str) -> Rows | None:
    if not spark.catalog.tableExists(table):
        return None
    return sorted(([*row] for row in spark.sql(f"select * from {table}").collect()), key=str)


def kill() -> None:
    """Python and its JVM, which shares the group of processes."""
    os.killpg(0, signal.SIGKILL)


def victim(home: Path, suffix: str, step: str) -> None:
    """Publishes every case; `step` is where all of them stand when the process dies, or empty: the parent kills it."""
    from planproof import Guard
    from planproof.publish.transaction.journal import Journal

    spark = session(home)
    guard = Guard(spark)
    dying = [name for name, case in CASES.items() if not step or step in (*case.unwritten, *case.steps)]
    arrived = threading.Barrier(len(dying), action=kill)

    def dies_after(plain: Callable[..., None]) -> Callable[..., None]:
        def stepping(self: Journal, name: str, **changes: Any) -> None:
            plain(self, name, **changes)
            if step and name == step:
                arrived.wait(180)

        return stepping

    Journal.step, Journal.note = dies_after(Journal.step), dies_after(Journal.note)  # type: ignore[method-assign]
    seen = (home / f"seen_{suffix}.jsonl").open("a", buffering=1)

    def reader() -> None:
        own = spark.newSession()
        while True:
            for name in CASES:
                try:
                    own.catalog.refreshTable(f"{name}_{suffix}")
                    found: Any = read(own, f"{name}_{suffix}")
                except Exception as error:
                    found = str(error).splitlines()[0][:200]
                seen.write(json.dumps([name, found]) + "\n")

    threading.Thread(target=reader, daemon=True).start()

    def publish(name: str) -> None:
        report = guard.publish(model(home, CASES[name], f"{name}_{suffix}"))
        print(json.dumps(["outcome", name, report.outcome, report.error]), flush=True)

    threads = [threading.Thread(target=publish, args=(name,)) for name in dying]
    print("go", flush=True)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("done", flush=True)


def without_metastore(home: Path, suffix: str) -> None:
    """Derby shuts down just before the target is touched; the process goes on, and what it reports is printed."""
    from planproof import Guard
    from planproof.publish.transaction.journal import Journal
    from planproof.report.run import run_report

    spark = session(home)
    guard = Guard(spark)
    plain = Journal.step

    def stepping(self: Journal, name: str, **changes: Any) -> None:
        plain(self, name, **changes)
        if name == "swap":
            # Derby answers a shutdown with an exception.
            with contextlib.suppress(Exception):
                spark._jvm.java.sql.DriverManager.getConnection("jdbc:derby:;shutdown=true")

    Journal.step = stepping  # type: ignore[method-assign]
    from datetime import datetime, timezone

    report = guard.publish(model(home, CASES["same"], f"same_{suffix}"))
    code = run_report("run", [report], datetime.now(timezone.utc)).exit_code()
    print(json.dumps([report.outcome, report.error, [f.code for f in report.findings], code]), flush=True)
    kill()


def rescue(home: Path, suffixes: list[str]) -> None:
    """Recovers, and prints what every table holds then and what was left."""
    from planproof import Guard

    spark = session(home)
    reports = [[r.model, r.outcome, r.error, [str(f) for f in r.findings]] for r in Guard(spark).recover()]
    rows = {f"{name}_{s}": read(spark, f"{name}_{s}") for s in suffixes for name in CASES}
    quarantines = {name: f"{name}__quarantine" for name in rows}
    quarantined = {
        name: sorted(([*row] for row in spark.sql(f"select id, s from {table}").collect()), key=str)
        for name, table in quarantines.items()
        if spark.catalog.tableExists(table)
    }
    tables = {row[1] for row in spark.sql("show tables").collect()} - {*rows, *quarantines.values()}
    root = home / "warehouse"
    state = [str(p) for folder in (root, home / "lake") for p in folder.glob(".planproof/*/*.json")]
    staged = [p.name for p in root.iterdir() if p.name.startswith("__planproof_")]
    print(
        json.dumps({"reports": reports, "rows": rows, "quarantine": quarantined, "left": [*tables, *state, *staged]}),
        flush=True,
    )


def main(home: str, role: str, *args: str) -> None:
    where = Path(home)
    if role == "prepare":
        prepare(where, list(args))
    elif role == "victim":
        victim(where, *args)
    elif role == "metastore":
        without_metastore(where, *args)
    else:
        rescue(where, list(args))


if __name__ == "__main__":
    main(*sys.argv[1:])
