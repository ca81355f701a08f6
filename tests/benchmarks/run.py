"""What planproof costs and what its rewriting saves, measured on this machine.

    python tests/benchmarks/run.py [--rows 1000000] [--repeat 3]

Three tables: the offline plan of a query, a guarded publish beside a bare CREATE TABLE AS, a rewriting beside the text
as written. Each number is the median of `repeat` runs after one that is not counted. Spark runs with ANSI off, as under
dbt-spark. Trust ratios, not seconds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import planproof
from planproof import Catalog, Conf, Contract, Guard, Model

ITEMS = "array<struct<sku:string,qty:int,price:double>>"
SOURCES = {
    "orders": [("id", "bigint", False), ("customer", "string", True), ("day", "date", True), ("items", ITEMS, True)],
    "customers": [("name", "string", False), ("country", "string", True)],
}
QUERIES = {
    "filter": "select id, day from orders where customer is not null and day > date'2024-01-01'",
    "join, group": """
        select c.country, count(*) as n, max(o.day) as latest
        from orders o left join customers c on o.customer = c.name group by c.country""",
    "lambdas": """
        select id, transform(items, i -> i.price * i.qty) as amounts,
            aggregate(items, cast(0 as double), (a, i) -> a + i.price) as total,
            exists(items, i -> i.sku = customer) as own
        from orders""",
}
# `total` of each row is invariant in the lambda's body: as written, Spark adds it up once per element.
SHARES = """
select id, transform(xs, x -> x / aggregate(xs, cast(0 as double), (a, y) -> a + y)) as shares
from bench.numbers"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    console = Console()
    console.print(offline(given.repeat))
    with tempfile.TemporaryDirectory() as home, console.status("Spark starts") as status:
        spark = session(Path(home))
        try:
            status.update("writing data")
            spark.sql("create database bench")
            numbers(spark, given.rows)
            status.update("publishing")
            console.print(publishing(spark, given.repeat))
            status.update("rewriting")
            console.print(rewriting(spark, given.repeat))
        finally:
            spark.stop()
    return 0


def offline(repeat: int) -> Table:
    """Milliseconds of `planproof.plan`, without Spark."""
    table = titled("Offline plan of a query", "query", "ms")
    for name, sql in QUERIES.items():
        seconds = median(lambda sql=sql: planproof.plan(sql, Catalog(SOURCES), conf=Conf()), max(repeat, 20))
        table.add_row(name, f"{seconds * 1000:.2f}")
    return table


def publishing(spark: Any, repeat: int) -> Table:
    """The same query as CREATE TABLE AS, and through the guard with a contract that holds."""
    sql = "select id, id * 2 as doubled, concat('k', id) as k, xs from bench.numbers"
    contract = Contract([("id", "bigint", False), ("doubled", "bigint", False), ("k", "string", False)])
    columns = [(f.name, f.type, f.nullable) for f in contract.schema]
    contract = Contract([*columns, ("xs", "array<double>", True)])
    guard = Guard(spark)
    names = iter(range(10_000))

    def bare() -> None:
        spark.sql(f"create table bench.bare_{next(names)} using parquet as {sql}")

    def guarded() -> None:
        report = guard.publish(Model(f"bench.guarded_{next(names)}", sql, contract=contract))
        if report.outcome != "published":
            raise SystemExit(report.to_text())

    return compared("A publish of the same rows", [("CREATE TABLE AS", bare), ("guarded", guarded)], repeat)


def rewriting(spark: Any, repeat: int) -> Table:
    """The text as written and as rewritten, over the same rows, into Spark's no-op sink."""
    catalog = Catalog({"bench.numbers": [("id", "bigint", True), ("xs", "array<double>", True)]})
    found = planproof.optimize(planproof.plan(SHARES, catalog, conf=Conf(ansi=False)))
    if not found.rules:
        raise SystemExit("no rule fired: there is nothing to compare")

    def run(sql: str) -> Callable[[], Any]:
        return lambda: spark.sql(sql).write.format("noop").mode("overwrite").save()

    ways = [("as written", run(SHARES)), (", ".join(found.rules), run(found.sql))]
    return compared("An invariant aggregate in a lambda", ways, repeat)


def compared(title: str, ways: Iterable[tuple[str, Callable[[], Any]]], repeat: int) -> Table:
    table = titled(title, "way", "seconds", "ratio")
    first = None
    for name, work in ways:
        seconds = median(work, repeat)
        first = first or seconds
        table.add_row(name, f"{seconds:.2f}", f"{seconds / first:.2f}")
    return table


def titled(title: str, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left", min_width=50)
    table.add_column(first, ratio=1)
    for other in others:
        table.add_column(other, justify="right")
    return table


def median(work: Callable[[], Any], repeat: int) -> float:
    """Seconds; the first run warms up and is not counted."""
    work()
    taken = []
    for _ in range(repeat):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def numbers(spark: Any, rows: int) -> None:
    spark.sql(
        f"create table bench.numbers using parquet as "
        f"select id, transform(sequence(1, 20), i -> cast((id * i) % 97 as double)) as xs from range({rows})"
    )


def session(home: Path) -> Any:
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master("local[2]")
        .config("spark.log.level", "ERROR")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.ansi.enabled", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", (home / "warehouse").as_uri())
        .config("spark.sql.catalogImplementation", "in-memory")
        .getOrCreate()
    )


if __name__ == "__main__":
    sys.exit(main())
