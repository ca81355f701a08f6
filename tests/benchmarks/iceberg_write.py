"""What a guarded publish costs on Iceberg beside the bare statement that writes the same rows: wall clock and CPU.

    .venv-iceberg-3.5/bin/python tests/benchmarks/iceberg_write.py [--rows 2000000] [--pairs 9] [--only merge]

Ten columns, one promised NOT NULL, in a Hadoop catalog: `create or replace`, `insert`, `merge` of a tenth of the rows,
and twenty tables of ten rows. The two take turns, in pairs; a figure is the median of the pairs' ratios, with a
bootstrap's 95 % interval. What tables hold before an insert and a merge is put back outside of the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from guarded_write import cost, interval

_FORMS = ("id + {i}", "cast(id % 1000 as int) + {i}", "cast(id as string)", "cast(id as double) / 7")
COLUMNS = [f"{_FORMS[i % 4].format(i=i)} as c{i}" for i in range(9)]
Pair = tuple[Callable[[], None], Callable[[], None], Callable[[], None]]
"""The bare way, the guarded one, and what puts both tables back."""


def main() -> None:
    measure(__doc__ or "", _session, "iceberg", "lake.shop")


def measure(doc: str, session: Callable[[Path], Any], using: str, place: str) -> None:
    """Prints the figures of a format's tables, which are made in the database `place`."""
    parser = argparse.ArgumentParser(description=doc.split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--small", type=int, default=20)
    parser.add_argument("--only", default="", help="what the name of a measured statement holds")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        spark = session(Path(home))
        try:
            for name, pair in works(spark, given.rows, given.small, using, place).items():
                if not given.only or given.only in name:
                    print(json.dumps({name: _measured(pair, given.pairs)}), flush=True)
        finally:
            spark.stop()


def _session(home: Path) -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    jar = next(map(str, (Path(sys.prefix) / "iceberg").glob("iceberg-spark-runtime-*.jar")), None)
    if jar is None:
        sys.exit("Iceberg's runtime is not in this environment: .ci/iceberg 3.5 makes .venv-iceberg-3.5, which has it")
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.jars", jar)
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.driver.memory", "1500m").config("spark.sql.shuffle.partitions", "2")
    builder = builder.config(
        "spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    )
    builder = builder.config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
    builder = builder.config("spark.sql.catalog.lake.type", "hadoop")
    spark = builder.config("spark.sql.catalog.lake.warehouse", (home / "lake").as_uri()).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.sql("create database lake.shop")
    return spark


def _query(first: int, last: int) -> str:
    return f"select id, {', '.join(COLUMNS)} from range({first}, {last})"


def works(spark: Any, rows: int, small: int, using: str, place: str) -> dict[str, Pair]:
    from planproof import Contract, Guard, Model

    guard, fields = Guard(spark), spark.sql(_query(0, 1)).schema
    contract = Contract([(f.name, f.dataType.simpleString(), f.name != "id") for f in fields])

    def publish(table: str, sql: str, **more: Any) -> None:
        report = guard.publish(Model(f"{place}.{table}", sql, contract=contract, file_format=using, **more))
        assert report.outcome == "published", report.findings

    def bare(table: str, sql: str) -> None:
        spark.sql(f"create or replace table {place}.{table} using {using} as {sql}")

    def both() -> None:
        for table in ("bare", "guarded"):
            bare(table, _query(0, rows))

    added, delta = _query(rows, 2 * rows), _query(rows - rows // 20, rows + rows // 20)
    later = {"materialized": "incremental"}
    on = "on s.id = t.id when matched then update set * when not matched then insert *"

    def many(one: Callable[[str, str], None], kind: str) -> None:
        for i in range(small):
            one(f"{kind}_{i}", _query(0, 10))

    return {
        "create or replace": (
            lambda: bare("bare", _query(0, rows)),
            lambda: publish("guarded", _query(0, rows)),
            lambda: None,
        ),
        "insert": (
            lambda: spark.sql(f"insert into {place}.bare {added}"),
            lambda: publish("guarded", added, **later),
            both,
        ),
        "merge": (
            lambda: spark.sql(f"merge into {place}.bare t using ({delta}) s {on}"),
            lambda: publish("guarded", delta, incremental_strategy="merge", options={"unique_key": "id"}, **later),
            both,
        ),
        f"{small} small tables": (lambda: many(bare, "bare"), lambda: many(publish, "guarded"), lambda: None),
    }


def _measured(pair: Pair, pairs: int) -> dict[str, Any]:
    bare, guarded, put_back = pair
    for work in (bare, guarded, bare, guarded):  # Both are compiled, and have their tables.
        put_back()
        work()
    costs: list[tuple[tuple[float, float], tuple[float, float]]] = []
    for number in range(pairs):
        put_back()
        os.sync()
        order = (bare, guarded) if number % 2 == 0 else (guarded, bare)
        found = {work: cost(work) for work in order}
        costs.append((found[bare], found[guarded]))
    return {
        "cpu_ratio": interval([g[0] / b[0] for b, g in costs]),
        "wall_ratio": interval([g[1] / b[1] for b, g in costs]),
        "bare_seconds": round(statistics.median(b[1] for b, _ in costs), 2),
        "guarded_seconds": round(statistics.median(g[1] for _, g in costs), 2),
    }


if __name__ == "__main__":
    main()
