"""The processes of the kill tests: one makes tables, victims die while they publish, a rescuer recovers and tells.

Run as `python victims.py HOME ROLE ...`; HOME/settings.json are Spark's settings, whose catalogs lie below HOME.
A victim publishes every case in every catalog at once, a thread each, so that one kill of one JVM hits all of them.
A `branched` one does so over a Thrift server, which lives on: HOME/server.json has its host and port.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Rows = list[list[Any]]
STEPS = ("begin", "writing", "audit", "commit", "committed")
"""Where victims die: the note is written, and no row; the first data file is there; all are; what was audited is about
to be committed; it has just been."""


ON_BRANCH = ("begin", "audit", "commit", "forwarded", "committed")
"""Where those die that write to a branch: the branch is there, and no row; all rows are; main is about to be moved; it
has just been, and the branch stands; it is gone, and the note is there."""


@dataclass(frozen=True)
class Case:
    """`before` makes the table `{t}`, `model` is what is published then; `old` is None where nothing stood before."""

    before: tuple[str, ...]
    model: dict[str, Any]
    old: Rows | None
    new: Rows


FIRST = "create table {t} using iceberg as select 1L as id, 'a' as s"
PARTS = "create table {t} using iceberg partitioned by (d) as select * from values (1, 'x'), (2, 'y') as v(id, d)"
DELTA = {"materialized": "incremental"}
CASES = {
    "first": Case((), {"sql": "select 2L as id"}, None, [[2]]),
    "same": Case((FIRST,), {"sql": "select 2L as id, 'b' as s"}, [[1, "a"]], [[2, "b"]]),
    "changed": Case((FIRST,), {"sql": "select 2 as id, 1 as n", "partition_by": ["n"]}, [[1, "a"]], [[2, 1]]),
    "append": Case((FIRST,), {"sql": "select 2L as id, 'b' as s", **DELTA}, [[1, "a"]], [[1, "a"], [2, "b"]]),
    "grown": Case(
        (FIRST,),
        {"sql": "select 2L as id, 'b' as s, 1 as n", "options": {"on_schema_change": "append_new_columns"}, **DELTA},
        [[1, "a"]],
        [[1, "a", None], [2, "b", 1]],
    ),
    "overwrite": Case(
        (PARTS,),
        {
            "sql": "select 3 as id, 'x' as d",
            "incremental_strategy": "insert_overwrite",
            "partition_by": ["d"],
            **DELTA,
        },
        [[1, "x"], [2, "y"]],
        [[2, "y"], [3, "x"]],
    ),
    "merge": Case(
        (FIRST,),
        {
            "sql": "select id, 'b' as s from range(1, 3)",
            "incremental_strategy": "merge",
            "options": {"unique_key": "id"},
            **DELTA,
        },
        [[1, "a"]],
        [[1, "b"], [2, "b"]],
    ),
}


def session(home: Path) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for key, value in json.loads((home / "settings.json").read_text()).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def tables(spark: Any, step: str) -> dict[str, Case]:
    """The tables of one victim by their whole names."""
    places = sorted(k.split(".")[3] for k, v in spark.sparkContext.getConf().getAll() if v.endswith(".SparkCatalog"))
    return {f"{place}.shop.{name}_{step}": case for place in places for name, case in CASES.items()}


def prepare(home: Path) -> None:
    spark = session(home)
    for step in STEPS:
        for table, case in tables(spark, step).items():
            spark.sql(f"create database if not exists {table.rpartition('.')[0]}")
            for statement in case.before:
                spark.sql(statement.replace("{t}", table))


def model(case: Case, table: str) -> Any:
    from planproof import Model

    return Model(table, file_format="iceberg", **case.model)


def kill() -> None:
    """Python and its JVM, which shares the group of processes."""
    os.killpg(0, signal.SIGKILL)


def victim(home: Path, step: str) -> None:
    """Publishes every case, and dies when all of them stand at the step."""
    from planproof import Guard
    from planproof.publish.iceberg.publication import IcebergPublication
    from planproof.session.iceberg import IcebergTransaction

    spark = session(home)
    guard, dying = Guard(spark), tables(spark, step)
    if step == "writing":
        threading.Thread(target=_kill_at_a_file, args=(home,), daemon=True).start()
    arrived = threading.Barrier(len(dying), action=kill)

    def dies(plain: Callable[..., Any], after: bool, named: str | None = None) -> Callable[..., Any]:
        def dying(self: Any, *given: Any, **more: Any) -> Any:
            found = plain(self, *given, **more) if after else None
            if named is None or given[:1] == (named,):
                arrived.wait(180)
            return found

        return dying

    where, name, *how = {
        "begin": (IcebergPublication, "set_apart", True),
        "writing": (IcebergPublication, "close", True),
        "audit": (IcebergPublication, "note", True, "audit"),
        "commit": (IcebergTransaction, "commit", False),
        "committed": (IcebergTransaction, "commit", True),
    }[step]
    setattr(where, name, dies(getattr(where, name), *how))  # type: ignore[arg-type]

    def publish(table: str, case: Case) -> None:
        report = guard.publish(model(case, table))
        print(json.dumps([table, report.outcome, report.error]), flush=True)

    threads = [threading.Thread(target=publish, args=given) for given in dying.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _kill_at_a_file(home: Path) -> None:
    while not any(home.rglob("planproof_*/**/*.parquet")):
        time.sleep(0.002)
    kill()


BRANCHED = ("same", "append", "overwrite", "merge")


def connected(home: Path) -> Any:
    from pyhive import hive

    from planproof.session.thrift import ThriftSession

    host, port = json.loads((home / "server.json").read_text())
    return ThriftSession(hive.connect(host, port))


def branched(home: Path, step: str) -> None:
    """As `victim`, over the Thrift server: every case whose columns stay, a connection each."""
    from planproof import Guard
    from planproof.publish.iceberg.publication import IcebergPublication
    from planproof.publish.notes.notebook import Notebook
    from planproof.session.branches import BranchChange

    arrived = threading.Barrier(len(BRANCHED), action=kill)
    where, name, is_after, named = {
        "begin": (BranchChange, "place_files", True, None),
        "audit": (IcebergPublication, "note", True, "audit"),
        "commit": (BranchChange, "commit", False, None),
        "forwarded": (BranchChange, "_drop", False, None),
        "committed": (Notebook, "delete", False, None),
    }[step]
    plain = getattr(where, name)

    def dies(self: Any, *given: Any, **more: Any) -> Any:
        found = plain(self, *given, **more) if is_after else None
        if named is None or given[:1] == (named,):
            arrived.wait(180)
        return found

    setattr(where, name, dies)

    def publish(case: str) -> None:
        report = Guard(connected(home)).publish(model(CASES[case], f"lake_hadoop.kill.{case}_{step}"))
        print(json.dumps([case, report.outcome, report.error]), flush=True)

    threads = [threading.Thread(target=publish, args=(case,)) for case in BRANCHED]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def read(spark: Any, table: str) -> Rows | None:
    if not spark.catalog.tableExists(table):
        return None
    return sorted(([*row] for row in spark.sql(f"select * from {table}").collect()), key=str)


def unnamed(spark: Any, root: Path, table: str) -> list[str]:
    """The files and empty folders of a table's folder that none of its snapshots and metadata files needs."""
    found = next((p for p in root.rglob(table.rpartition(".")[2]) if p.is_dir()), None)
    if found is None:
        return []
    if not spark.catalog.tableExists(table):
        return [str(found)]
    known: set[str] = set()
    for column, of in (("file_path", "all_files"), ("path", "all_manifests"), ("manifest_list", "snapshots")):
        known |= {r[0].removeprefix("file:") for r in spark.sql(f"select {column} from {table}.{of}").collect()}
    files = [str(p) for p in found.rglob("*") if p.is_file() and not p.name.startswith(".")]
    return [f for f in files if f not in known and "metadata.json" not in f and "version-hint" not in f]


def rescue(home: Path) -> None:
    """Prints what every table holds, recovers, and prints what was said, what is left, and what a next run does."""
    from planproof import Guard

    spark = session(home)
    every = {table: case for step in STEPS for table, case in tables(spark, step).items()}
    before = {table: read(spark, table) for table in every}
    guard = Guard(spark)
    said = [[r.model, r.outcome, [f.code for f in r.findings], r.error] for r in guard.recover()]
    forced = [[r.model, r.outcome, [f.code for f in r.findings], r.error] for r in guard.recover(force=True)]
    after = {table: read(spark, table) for table in every}
    left = {table: unnamed(spark, home / table.split(".")[0], table) for table in every}
    notes = [str(p) for p in home.rglob(".planproof/staged/*.json")]
    again = {table: guard.publish(model(case, table)).outcome for table, case in every.items()}
    found = {"before": before, "said": said, "forced": forced, "after": after, "left": left, "again": again}
    print(json.dumps({**found, "notes": notes}), flush=True)


if __name__ == "__main__":
    {"prepare": prepare, "victim": victim, "branched": branched, "rescue": rescue}[sys.argv[2]](
        Path(sys.argv[1]), *sys.argv[3:]
    )
