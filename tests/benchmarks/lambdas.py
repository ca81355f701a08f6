"""Queries with lambdas over nested Parquet: stock Spark beside planproof's rewriting, in one run.

    python tests/benchmarks/lambdas.py [--rows 1000000] [--pairs 5] [--home DIRECTORY] [--only NAME] [--json FILE]
        [--markdown FILE] [--quick] [--tried] [--queries FILE] [--planning] [--cpu]

Each query runs as written and as rewritten, by turns, each time after its files were dropped from the operating
system's cache. The figure is the median of the pairs' ratios (above 1: rewritten is faster). Rows are compared, bytes
are those that Spark's process reads from files. Where no rule fires, the text must be the same, byte for byte. Planning is the time
of `plan` and `optimize`, without Spark. Trust ratios, not seconds; on a busy machine those of `--cpu`. Run by a Python that
finds another pyspark, it measures that Spark, under its own defaults.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from lambda_candidates import CANDIDATES
from lambda_data import TABLES, write
from rich.console import Console
from rich.table import Table

import planproof
import planproof.session
from planproof import Catalog, Conf
from planproof_engine.api import Rewriting

QUERIES = {
    # TPC-H orders with nested line items
    "revenue": "select orderkey, aggregate(items, 0D, (a, i) -> a + i.discount * i.tax) as r from orders",
    "total tax": "select orderkey, aggregate(items, 0D, (a, i) -> a + i.tax) as r from orders",
    "late items": "select orderkey, size(filter(items, i -> i.receiptdate > i.commitdate)) as late from orders",
    "any returned": "select orderkey from orders where exists(items, i -> i.returnflag = 'R')",
    "all shipped": "select status, count(*) as n from orders where forall(items, i -> i.linestatus = 'F') group by status",
    "items per status": "select status, sum(size(items)) as n from orders group by status",
    "tax by day": """select orderdate, sum(aggregate(items, 0D, (a, i) -> a + i.tax)) as r
        from orders group by orderdate""",
    "big orders in a CTE": """with big as (select orderkey, items from orders where size(items) > 3)
        select orderkey, aggregate(items, 0L, (a, i) -> a + i.partkey) as r from big""",
    "by nation": """select c.nation, sum(aggregate(o.items, 0L, (a, i) -> a + i.quantity)) as n
        from orders o join customers c on o.custkey = c.custkey group by c.nation""",
    "struct accumulator": """select orderkey, aggregate(items, named_struct('s', 0D, 'n', 0L),
        (a, i) -> named_struct('s', a.s + i.tax, 'n', a.n + i.suppkey), a -> a.s / (a.n + 1)) as r from orders""",
    "nested field": "select orderkey from orders where exists(items, i -> i.address.city = '7B')",
    "pairs of items": "select orderkey, exists(items, i -> exists(items, j -> j.suppkey = i.suppkey + 1)) as r from orders",
    "a supplier twice": """select orderkey, exists(items, i -> exists(items, j -> j.suppkey = i.suppkey
        and j.linenumber != i.linenumber)) as r from orders""",
    "mean tax": "select orderkey, aggregate(items, 0D, (a, i) -> a + i.tax) / nullif(size(items), 0) as r from orders",
    "return-heavy customers": """select custkey, max(size(filter(items, i -> i.returnflag = 'R'))) as n from orders
        group by custkey having max(size(filter(items, i -> i.returnflag = 'R'))) >= 3""",
    "an item by its place": """select orderkey, items[cast(orderkey % size(items) as int)].price as p,
        size(items) as n from orders where size(items) > 0""",
    "parts above the mean": """select orderkey, transform(filter(items, i ->
        i.quantity > aggregate(items, 0L, (a, j) -> a + j.quantity) / size(items)), i -> i.partkey) as r from orders""",
    # wide structs
    "largest reading": """select id, aggregate(device.readings, 0D, (a, r) -> greatest(a, r.value)) as top
        from devices""",
    "alarms": "select device.model, sum(size(filter(device.readings, r -> r.value > 990D))) as n from devices group by 1",
    "readings": "select device.model, max(size(device.readings)) as n from devices group by device.model",
    "two of 24 fields": """select id, aggregate(device.readings, 0L, (a, r) -> a + r.n1 % 7 + r.n2 % 5) as r
        from devices""",
    # events with maps
    "map of structs": "select id, aggregate(map_values(attrs), 0D, (a, v) -> a + v.score) as r from events",
    "map entries": "select id, size(map_filter(attrs, (k, v) -> v.score > 50D)) as n from events",
    "values of a filtered map": """select id, aggregate(map_values(map_filter(attrs, (k, v) -> v.score > 50D)), 0D,
        (a, v) -> a + v.score) as r from events""",
    "any high score": "select count(*) as n from events where exists(map_values(attrs), v -> v.score > 99D)",
    # invariants
    "shares": "select id, transform(xs, x -> x / aggregate(xs, 0D, (a, y) -> a + y)) as r from events",
    "above the mean": """select id, filter(xs, x -> x > aggregate(xs, 0D, (a, y) -> a + y) / size(xs)) as r from events""",
    "items above the order's mean": """select orderkey, filter(items.quantity, q ->
        q > aggregate(items.quantity, 0, (a, y) -> a + y) / size(items.quantity)) as r from orders""",
    "shares of the order": """select orderkey, transform(items, i ->
        i.quantity / aggregate(items, 0L, (a, j) -> a + j.quantity)) as r from orders""",
    "lookup": """select id, transform(words, w -> map_from_entries(transform(xs, (x, i) -> struct(hex(i), x)))[w]) as r
        from events where id < 40000""",
    "prefix of each word": "select id, transform(words, w -> concat(upper(reverse(name)), w)) as r from events",
    "larger ones, where many": """select id, transform(xs, x ->
        if(size(filter(xs, y -> y > x)) > 3, size(filter(xs, y -> y > x)), 0)) as r from events where id < 100000""",
    # first elements, membership
    "first three": "select id, filter(xs, (x, i) -> i < 3) as r from events",
    "first three, shouted": "select id, slice(transform(words, w -> upper(reverse(w))), 1, 3) as r from events",
    "any above": "select id, size(filter(xs, x -> x > 50D)) > 0 as r from events",
    "any shouted": "select id, exists(transform(words, w -> upper(w)), w -> w like '1%') as r from events",
    "a word is a key": "select id, exists(words, w -> exists(map_keys(props), k -> k = w)) as r from events",
    "has the quantity": "select orderkey from orders where exists(items.quantity, q -> q = 7)",
    # kept elements under a name of their own
    "open items in a CTE": """with o as (select custkey, filter(items, i -> i.linestatus = 'O') as open from orders)
        select custkey, sum(size(open)) as n, max(aggregate(open, 0D, (a, i) -> a + i.tax)) as tax from o group by custkey""",
    "returned items, exploded": """select i.partkey, count(*) as n from orders
        lateral view explode(filter(items, i -> i.returnflag = 'R')) t as i group by i.partkey""",
    # no rule should fire
    "project two fields": "select orderkey, transform(items, i -> i.partkey + i.suppkey) as r from orders",
    "whole items": "select orderkey, filter(items, i -> i.quantity > 25) as r from orders",
    "items and a sum": "select items, aggregate(items, 0D, (a, i) -> a + i.tax) as r from orders",
    "first match": "select orderkey, filter(items, i -> i.returnflag = 'R')[0].partkey as r from orders where orderkey < 0",
    "one element": "select orderkey, items[0].partkey as r from orders",
    "explode": "select i.partkey, count(*) as n from orders lateral view explode(items) t as i group by i.partkey",
    "has the word": "select id, exists(words, w -> w = '1F') as r from events",
    "plain transform": "select id, transform(xs, x -> x * 2) as r from events",
    "distance to the largest": "select id, transform(xs, x -> array_max(xs) - x) as r from events",
    "plain aggregate": "select id, aggregate(xs, 0D, (a, x) -> a + x) as r from events",
    "map lookup": "select id, props['k3'] as r from events",
    "each element raised": "select id, transform(words, w -> upper(w)) as r from events",
    "no lambda": "select status, sum(total) as r from orders group by status",
}
Clock = Callable[[], float]
UNFIRED = tuple(QUERIES)[tuple(QUERIES).index("project two fields") :]


@dataclass(frozen=True, slots=True)
class Result:
    """One query's figures: seconds and bytes as medians, `ratio` as the median over the pairs."""

    name: str
    rules: tuple[str, ...]
    planning_ms: float
    seconds: tuple[float, float] = (0.0, 0.0)
    bytes: tuple[float, float] = (0, 0)
    ratio: float = 1.0
    same_rows: bool = True


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="of orders and events; 2 GB of files for a million")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--home", type=Path, help="where the Parquet files are, or are to stay")
    parser.add_argument("--only", action="append", help="a query's name")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path, help="where the table of docs/rewriting.md is to be written")
    parser.add_argument("--quick", action="store_true", help="less data, three pairs")
    parser.add_argument("--queries", type=Path, help="other queries over the same tables, in the form of longer.sql")
    parser.add_argument("--tried", action="store_true", help="the hand-written rewritings that are no rules")
    parser.add_argument("--planning", action="store_true", help="how long planning takes alone, without Spark")
    parser.add_argument("--cpu", action="store_true", help="the processor time of Spark's process, not the clock's")
    given = parser.parse_args()
    if given.quick:
        given.rows, given.pairs = 60_000, 3
    if given.queries:
        QUERIES.clear()
        QUERIES.update(read(given.queries))
    names = given.only or list(CANDIDATES if given.tried else QUERIES)
    if given.planning:
        return planning(names)
    with tempfile.TemporaryDirectory() as temporary, running(Path(temporary)) as spark:
        home = given.home or Path(temporary)
        write(spark, home, given.rows)
        catalog = Catalog(
            {t: [(f.name, f.dataType.simpleString(), True) for f in spark.table(t).schema] for t in TABLES}
        )
        # Before any query: Spark goes on compiling for a while after each.
        conf = planproof.session.open(spark).conf
        plans = {} if given.tried else {name: planned(catalog, name, conf) for name in names}
        clock: Clock = partial(processor_seconds, spark) if given.cpu else time.perf_counter
        results = []
        for name in names:
            if given.tried:
                found = compared(spark, Result(name, ("by hand",), 0.0), CANDIDATES[name], home, given.pairs, clock)
            else:
                found = measured(spark, *plans[name], name, home, given.pairs, clock)
            print(f"{name:28} {found.ratio:6.2f}  {found.planning_ms:5.2f} ms  {', '.join(found.rules)}", flush=True)
            results.append(found)
    if given.json:
        given.json.write_text(json.dumps([asdict(r) for r in results], indent=1))
    if given.markdown:
        given.markdown.write_text(markdown(results))
    return report(results)


def read(path: Path) -> dict[str, str]:
    """The queries of a file by name: behind a title, names and queries, each on one line, by turns."""
    lines = path.read_text().splitlines()[1:]
    return {name.removeprefix("-- "): sql for name, sql in zip(lines[::2], lines[1::2])}


def planning(names: list[str]) -> int:
    """Prints how long each query's planning takes where no Spark runs beside it."""
    made = {table: planproof.plan(query.format(rows=1)).physical_schema for table, query in TABLES.items()}
    # Of files, everything may be null.
    catalog = Catalog({table: [(f.name, f.type.simple, True) for f in schema] for table, schema in made.items()})
    for name in names:
        planned(catalog, name)
    took = {name: planned(catalog, name)[1] for name in names}
    for name in sorted(names, key=took.__getitem__):
        print(f"{name:48} {took[name]:5.2f} ms")
    over = sum(ms > 5 for ms in took.values())
    print(f"{len(names)} queries: median {statistics.median(took.values()):.1f} ms, {over} over 5 ms")
    return 0


def planned(catalog: Catalog, name: str, conf: Conf | None = None) -> tuple[Rewriting, float]:
    """The query's rewriting, and the milliseconds that it takes."""
    times = []
    for _ in range(11):
        began = time.perf_counter()
        found = planproof.optimize(planproof.plan(QUERIES[name], catalog, conf=conf or Conf()))
        times.append(1000 * (time.perf_counter() - began))
    return found, statistics.median(times)


def measured(spark: Any, found: Rewriting, planning: float, name: str, home: Path, pairs: int, clock: Clock) -> Result:
    sql = QUERIES[name]
    if not found.rules:
        if found.sql != sql:
            raise SystemExit(f"{name}: no rule fired, and the text changed")
        return Result(name, (), planning)
    return compared(spark, Result(name, found.rules, planning), (sql, found.sql), home, pairs, clock)


def compared(spark: Any, result: Result, texts: tuple[str, str], home: Path, pairs: int, clock: Clock) -> Result:
    """The result with what two texts took and read, by turns."""
    same = rows(spark, texts[0]) == rows(spark, texts[1])
    for text in texts:
        run(spark, text, home, clock)
    taken: list[tuple[tuple[float, int], ...]] = [
        tuple(run(spark, t, home, clock) for t in texts) for _ in range(pairs)
    ]
    seconds, read = (tuple(statistics.median(pair[i][at] for pair in taken) for i in (0, 1)) for at in (0, 1))
    ratio = statistics.median(pair[0][0] / pair[1][0] for pair in taken)
    return replace(result, seconds=seconds, bytes=read, ratio=ratio, same_rows=same)


def rows(spark: Any, sql: str) -> Any:
    """The number of rows and the sum of their hashes."""
    frame = spark.sql(sql)
    columns = ", ".join(f"`{c}`" for c in frame.columns)
    frame.createOrReplaceTempView("answer")
    text = f"select count(*), sum(cast(xxhash64(to_json(struct({columns}))) as decimal(38,0))) from answer"
    return spark.sql(text).collect()


def run(spark: Any, sql: str, home: Path, clock: Clock) -> tuple[float, int]:
    """Seconds of one run into the no-op sink, over files that no cache holds, and the bytes that it read."""
    evict(home)
    before = bytes_read(spark)
    began = clock()
    spark.sql(sql).write.format("noop").mode("overwrite").save()
    return clock() - began, bytes_read(spark) - before


def processor_seconds(spark: Any) -> float:
    """What Spark's process has computed so far, its compiler and its collector included, as Linux counts it."""
    ticks = (
        Path(f"/proc/{spark._jvm.java.lang.ProcessHandle.current().pid()}/stat").read_text().rpartition(")")[2].split()
    )
    return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")


def bytes_read(spark: Any) -> int:
    """What Spark's process has asked of files so far, as Linux counts it; 0 elsewhere.

    Spark's own counters miss it: Parquet reads its ranges in threads of their own.
    """
    counted = Path(f"/proc/{spark._jvm.java.lang.ProcessHandle.current().pid()}/io")
    return int(counted.read_text().split()[1]) if counted.exists() else 0


def evict(home: Path) -> None:
    """Drops the files from the operating system's cache, where it can."""
    if not hasattr(os, "posix_fadvise"):
        return
    for path in home.glob("*/*.parquet"):
        descriptor = os.open(path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def markdown(results: list[Result]) -> str:
    """The rewritten queries as a table, those that gain most first."""
    head = "| query | ratio | MB read | MB read, rewritten | rules |\n|---|---|---|---|---|\n"
    fired = sorted((r for r in results if r.rules), key=lambda r: -r.ratio)
    lines = (
        f"| {r.name} | {r.ratio:.1f} | {r.bytes[0] / 1e6:.0f} | {r.bytes[1] / 1e6:.0f} | "
        f"{', '.join(f'`{rule}`' for rule in r.rules)} |\n"
        for r in fired
    )
    return head + "".join(lines)


def report(results: list[Result]) -> int:
    """Prints the table and the summary. 1 where rows differ or a query that was to stay was rewritten."""
    table = Table(title="Stock Spark beside planproof", title_justify="left")
    for column in ("query", "stock s", "planproof s", "ratio", "MB stock", "MB planproof", "planning ms", "rules"):
        table.add_column(column, justify="left" if column in ("query", "rules") else "right")
    for r in results:
        megabytes = [f"{b / 1e6:.1f}" if r.rules else "" for b in r.bytes]
        seconds = [f"{s:.2f}" if r.rules else "" for s in r.seconds]
        ratio = f"{r.ratio:.2f}" if r.rules else "same text"
        table.add_row(r.name, *seconds, ratio, *megabytes, f"{r.planning_ms:.1f}", ", ".join(r.rules))
    Console(width=160).print(table)
    fired = [r for r in results if r.rules]
    if fired:
        mean = math.exp(statistics.fmean(math.log(r.ratio) for r in fired))
        print(
            f"{len(fired)} of {len(results)} rewritten: geometric mean {mean:.2f}, least {min(r.ratio for r in fired):.2f}"
        )
    print(f"planning: at most {max(r.planning_ms for r in results):.1f} ms")
    wrong = [r.name for r in results if not r.same_rows] + [r.name for r in fired if r.name in UNFIRED]
    if wrong:
        print(f"wrong: {', '.join(wrong)}")
    return 1 if wrong else 0


@contextmanager
def running(home: Path) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.log.level", "ERROR")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", (home / "warehouse").as_uri())
        .getOrCreate()
    )
    try:
        yield spark
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(main())
