"""A Python function in a lambda, lowered by planproof, against what Spark leaves one to write: explode, call, collect.

    python tests/benchmarks/python_in_lambdas.py [--rows 300000] [--elements 10] [--repeat 5] [--kind arrow]
        [--prices N]

All run the same function over the same Parquet table, as an Arrow function, as one of pandas Series (where pandas is
installed) and as a plain one; runs alternate, and the medians are compared. `explode` is the shortest way to write it,
and gives other rows: no empty lists, elements in any order. `same rows` keeps both. Its rows are compared with the
lambda's. `scan` reads the same columns and calls nothing. Prices differ, or there are only N of them: a plain function
is called once for arguments that repeat within a batch.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def score(price: Any, rate: Any) -> Any:
    """Discounted price; a few Arrow kernels."""
    import pyarrow.compute as pc

    return pc.round(pc.multiply(price, pc.subtract(1.0, rate)), 2)


def score_series(price: Any, rate: Any) -> Any:
    """The same for pandas Series."""
    return (price * (1.0 - rate)).round(2)


def score_one(price: Any, rate: Any) -> Any:
    """The same for one element."""
    return None if price is None or rate is None else round(price * (1.0 - rate), 2)


FUNCTIONS = {"arrow": score, "pandas": score_series, "python": score_one}
SCAN = "select id, rate, items.price from numbers"
LAMBDA = "select id, transform(items, i -> score(i.price, rate)) as y from numbers"
EXPLODED = """
select id, collect_list(v) as y from
  (select id, score(item.price, rate) as v from (select id, rate, explode(items) as item from numbers)) group by id"""
SAME_ROWS = """
select id, transform(array_sort(collect_list(if(at is null, null, struct(at, v)))), s -> s.v) as y from
  (select id, at, score(item.price, rate) as v from
    (select id, rate, posexplode_outer(items) as (at, item) from numbers)) group by id"""
DATA = """
select id, pmod(id, 7) / 100D as rate, repeat(uuid(), 4) as note,
  transform(slice(sequence(1, {elements}), 1, if(id % 50 = 0, 0, {elements})),
    n -> named_struct('price', {price}, 'sku', string(n))) as items
from range({rows})"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--elements", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--kind", action="append", choices=sorted(FUNCTIONS))
    parser.add_argument("--prices", type=int, help="how many different prices there are")
    given = parser.parse_args()
    price = f"pmod(xxhash64(id, n), {given.prices}) * 1.25D" if given.prices else "double(n * 1.25 + id)"
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as home:
        from planproof.session import open_embedded

        session: Any = open_embedded(
            {"spark.master": "local[2]", "spark.sql.warehouse.dir": str(Path(home) / "warehouse")}
        )
        try:
            session.spark.sparkContext.setLogLevel("ERROR")
            data = DATA.format(rows=given.rows, elements=given.elements, price=price)
            session.spark.sql(data).write.saveAsTable("numbers")
            for kind in given.kind or FUNCTIONS:
                if kind != "pandas" or importlib.util.find_spec("pandas"):
                    measure(session, kind, given)
        finally:
            session.stop()
    return 0


def measure(session: Any, kind: str, given: argparse.Namespace) -> None:
    from planproof import Function, Guard, plan
    from planproof.publish.functions import feed_rows

    spark = session.spark
    guard = Guard(session, functions={"score": Function(FUNCTIONS[kind], "double", kind=kind)})
    catalog = guard.memory.catalog()
    logical = plan(LAMBDA, catalog, conf=session.conf, registry=guard.functions.registry)
    found = guard.functions.lower(logical, catalog)
    assert found is not None
    texts = {"lambda": found[1].sql, "explode": EXPLODED, "same rows": SAME_ROWS, "scan": SCAN}
    seconds: dict[str, list[float]] = {name: [] for name in texts}
    for turn in range(given.repeat + 1):
        for name, text in texts.items():
            with feed_rows(session, found[1] if name == "lambda" else None):
                started = time.perf_counter()
                spark.sql(text).write.format("noop").mode("overwrite").save()
                if turn:
                    seconds[name].append(time.perf_counter() - started)
    same = spark.sql(f"select count(*) from ({texts['lambda']}) a join ({SAME_ROWS}) b on a.id = b.id and a.y = b.y")
    (rows,) = same.collect()
    median = {name: statistics.median(taken) for name, taken in seconds.items()}
    for name, taken in seconds.items():
        ratio = median[name] / median["lambda"]
        print(f"{kind:6} {name:9} median {median[name]:.2f} s ({ratio:.1f}x) of {', '.join(f'{s:.2f}' for s in taken)}")
    print(f"{kind:6} rows      {rows[0]} of {given.rows} are the same")


if __name__ == "__main__":
    raise SystemExit(main())
