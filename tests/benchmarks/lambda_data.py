"""Nested data for the lambda benchmark, made by Spark from row numbers alone: the same on every machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_ITEM = """named_struct(
    'linenumber', cast(i as int),
    'partkey', pmod(xxhash64(id, i), 20000L),
    'suppkey', pmod(xxhash64(i, id), 1000L),
    'quantity', cast(pmod(xxhash64(id, i, 1), 50L) + 1 as int),
    'price', cast(pmod(xxhash64(id, i, 2), 9000000L) / 100 as decimal(12,2)),
    'discount', cast(pmod(id + i, 11) / 100 as double),
    'tax', cast(pmod(id * i, 9) / 100 as double),
    'returnflag', substr('ANR', cast(pmod(xxhash64(id, i, 3), 3L) + 1 as int), 1),
    'linestatus', if(pmod(xxhash64(id, i, 4), 2L) = 0, 'O', 'F'),
    'shipdate', date_add(date'1995-01-01', cast(pmod(xxhash64(id, i, 5), 2500L) as int)),
    'commitdate', date_add(date'1995-01-01', cast(pmod(xxhash64(id, i, 6), 2500L) as int)),
    'receiptdate', date_add(date'1995-01-01', cast(pmod(xxhash64(id, i, 7), 2500L) as int)),
    'shipmode', element_at(array('AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL'), cast(pmod(xxhash64(id, i, 9), 5L) + 1 as int)),
    'address', named_struct('city', hex(pmod(xxhash64(id, i, 11), 500L)), 'street', hex(xxhash64(id, i, 12))),
    'comment', concat_ws(' ', hex(xxhash64(id, i, 10)), hex(xxhash64(id, i, 13)))
)"""
_READING = "named_struct({})".format(
    ", ".join(
        ["'kind', hex(pmod(xxhash64(id, i, 1), 40L))", "'value', cast(pmod(xxhash64(id, i, 2), 1000L) as double)"]
        + [f"'n{n}', xxhash64(id, i, {n})" for n in range(10)]
        + [f"'s{n}', hex(xxhash64(i, id, {n}))" for n in range(12)]
    )
)
TABLES = {
    "orders": f"""
        select id as orderkey, pmod(xxhash64(id), 20000L) as custkey, if(pmod(id, 2) = 0, 'O', 'F') as status,
            cast(pmod(xxhash64(id, 1), 40000000L) / 100 as decimal(12,2)) as total,
            date_add(date'1995-01-01', cast(pmod(xxhash64(id, 5), 2400L) as int)) as orderdate,
            transform(sequence(1, cast(pmod(xxhash64(id, 9), 7L) + 1 as int)), i -> {_ITEM}) as items
        from range(0, {{rows}}, 1, 4)""",
    "customers": """
        select id as custkey, concat('customer ', id) as name, hex(pmod(xxhash64(id), 25L)) as nation
        from range(0, 20000, 1, 2)""",
    "devices": f"""
        select id, named_struct('model', hex(pmod(id, 90)), 'readings',
            transform(sequence(1, 8), i -> {_READING})) as device
        from range(0, {{rows}} div 2, 1, 4)""",
    "events": """
        select id, concat('user ', hex(xxhash64(id))) as name,
            map_from_arrays(transform(sequence(1, 8), i -> concat('k', i)),
                transform(sequence(1, 8), i -> named_struct('score', cast(pmod(xxhash64(id, i), 100L) as double),
                    'hits', i * id, 'page', hex(xxhash64(id, i)), 'agent', hex(xxhash64(id, i, 2)),
                    'referrer', hex(xxhash64(id, i, 3)), 'session', hex(xxhash64(id, i, 4))))) as attrs,
            map_from_arrays(transform(sequence(1, 8), i -> concat('k', i)),
                transform(sequence(1, 8), i -> hex(pmod(xxhash64(id, i), 100L)))) as props,
            transform(sequence(1, 20), i -> cast(pmod(xxhash64(id, i), 100L) + 1 as double)) as xs,
            transform(sequence(1, 20), i -> hex(pmod(xxhash64(id, i), 1000L))) as words
        from range(0, {rows}, 1, 4)""",
}


def write(spark: Any, home: Path, rows: int) -> None:
    """Writes each table as Parquet below `home` and shows it under its name."""
    for name, query in TABLES.items():
        path = (home / name).as_uri()
        if not (home / name / "_SUCCESS").exists():
            spark.sql(query.format(rows=rows)).write.parquet(path)
        spark.read.parquet(path).createOrReplaceTempView(name)
