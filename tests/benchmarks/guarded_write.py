"""What a guarded publish costs beside a bare CREATE TABLE AS of the same rows: CPU, wall clock and Spark jobs.

    python tests/benchmarks/guarded_write.py [--rows 5000000] [--pairs 20] [--seconds 600] [--files 10000]

The two take turns, in pairs; the figure is the ratio of CPU seconds of this process and its children (the JVM is one),
with a bootstrap interval over the pairs. Between pairs, outside of the figures, replaced versions are deleted and the
disk is given time to write. Afterwards the footers of so many files are read, on the driver and as a job.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

COLUMNS = 12


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=600, help="no pair begins later than that")
    parser.add_argument("--files", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        spark = _session(Path(home))
        try:
            found = {
                **_writes(spark, given.rows, given.pairs, given.seconds),
                **_footers(spark, Path(home), given.files),
            }
        finally:
            spark.stop()
    print(json.dumps(found, indent=1))


def _session(home: Path) -> Any:
    from pyspark.sql import SparkSession

    # Workers need planproof to read footers; Spark's own default is the `python3` on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.warehouse.dir", (home / "warehouse").as_uri())
    builder = builder.config("spark.sql.ansi.enabled", "false").config("spark.driver.memory", "1g")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _writes(spark: Any, rows: int, pairs: int, seconds: float) -> dict[str, Any]:
    from planproof import Contract, Guard, Model

    sql = f"select {', '.join(_column(i) for i in range(COLUMNS))} from range({rows})"
    fields = spark.sql(sql).schema
    contract = Contract([(f.name, f.dataType.simpleString(), True) for f in fields])
    guard = Guard(spark)

    def bare() -> None:
        spark.sql("drop table if exists bare")
        spark.sql(f"create table bare using parquet as {sql}")

    def guarded() -> None:
        report = guard.publish(Model("default.guarded", sql, contract=contract))
        assert report.outcome == "published", report.findings

    jobs = {}
    for work in (bare, guarded):
        work()
        jobs[work.__name__] = _jobs(spark, work)
    measured: list[tuple[tuple[float, float], tuple[float, float]]] = []
    started = time.perf_counter()
    for number in range(pairs):
        if time.perf_counter() - started > seconds:
            break
        order = (bare, guarded) if number % 2 == 0 else (guarded, bare)
        _settle(spark)
        costs = {work.__name__: cost(work) for work in order}
        measured.append((costs["bare"], costs["guarded"]))
    cpu = [g[0] / b[0] for b, g in measured]
    wall = [g[1] / b[1] for b, g in measured]
    return {
        "rows": rows,
        "columns": COLUMNS,
        "pairs": len(measured),
        "jobs": jobs,
        "cpu_ratio": interval(cpu),
        "wall_ratio": interval(wall),
        "footers_of_one_publish_seconds": _own_footers(spark),
        "bare_cpu_seconds": round(statistics.median(b[0] for b, _ in measured), 2),
    }


def _settle(spark: Any) -> None:
    """Removes the versions of the guarded table that were replaced, which stay for readers for a while, and writes what
    waits for the disk."""
    import planproof.session
    from planproof.publish.transaction.names import PREFIX
    from planproof.session.store import local

    table = planproof.session.open(spark).table("default.guarded")
    assert table is not None
    assert table.location is not None
    current = Path(local(table.location) or "")
    assert PREFIX in current.parts
    for version in current.parent.iterdir():
        if version != current:
            shutil.rmtree(version)
    os.sync()


def _own_footers(spark: Any) -> float:
    """What the driver spends on the footers of one publish."""
    import planproof.session
    from planproof.claims import files

    session = planproof.session.open(spark)
    table = session.table("default.guarded")
    assert table is not None
    assert table.location is not None
    started = time.perf_counter()
    files.read(session.files(session.local_path(table.location) or table.location), session)
    return round(time.perf_counter() - started, 4)


def _column(i: int) -> str:
    forms = ("id + {i}", "cast(id % 1000 as int) + {i}", "cast(id as string)", "cast(id as double) / 7")
    return f"{forms[i % 4].format(i=i)} as c{i}"


def _jobs(spark: Any, work: Callable[[], None]) -> int:
    """How many Spark jobs a piece of work starts."""
    tag = f"jobs-{time.monotonic_ns()}"
    spark.sparkContext.setJobGroup(tag, tag)
    work()
    found = len(spark.sparkContext.statusTracker().getJobIdsForGroup(tag))
    spark.sparkContext.setJobGroup("other", "other")
    return found


def cost(work: Callable[[], None]) -> tuple[float, float]:
    """(CPU seconds of this process and the JVM, wall-clock seconds)."""
    cpu, wall = _cpu(), time.perf_counter()
    work()
    return _cpu() - cpu, time.perf_counter() - wall


def _cpu() -> float:
    ticks = os.sysconf("SC_CLK_TCK")
    return sum(_ticks(pid) for pid in _family(os.getpid())) / ticks


def _family(root: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += parents.get(pid, [])
    return found


def _ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def interval(ratios: list[float]) -> dict[str, float]:
    """The median, and the bootstrap's 95 % interval of it."""
    rng = random.Random(7)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(2000))
    return {
        "median": round(statistics.median(ratios), 4),
        "low": round(medians[49], 4),
        "high": round(medians[1949], 4),
    }


def _footers(spark: Any, home: Path, count: int) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    import planproof.session
    from planproof.arrow.footers import fold_footers, read_footer
    from planproof.claims import files

    folder = home / "many"
    folder.mkdir()
    pq.write_table(pa.table({f"c{i}": pa.array(range(5)) for i in range(COLUMNS)}), folder / "0.parquet")
    content = (folder / "0.parquet").read_bytes()
    for i in range(1, count):
        (folder / f"{i}.parquet").write_bytes(content)
    paths = [str(folder / f"{i}.parquet") for i in range(count)]
    found = {}
    for name, work in (
        ("driver", lambda: fold_footers(map(read_footer, paths))),
        ("job", lambda: files.read(paths, planproof.session.open(spark))),
    ):
        started = time.perf_counter()
        work()
        found[f"{count} footers, {name}"] = round(time.perf_counter() - started, 2)
    return found


if __name__ == "__main__":
    main()
