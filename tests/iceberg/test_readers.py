"""Other sessions read while tables are published: each read sees one state, the old or the new, and none fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from planproof import Contract, Guard, Model

PUBLISHES = 6
MANY = 30
LATER = {"materialized": "incremental"}
Read = tuple[Any, ...]


@contextmanager
def reader(spark: Any, query: str) -> Iterator[list[Read]]:
    """What a session that reads all the while has found so far. Fails at the end where a read did."""
    reads: list[Read] = []
    errors: list[str] = []
    done = threading.Event()

    def read() -> None:
        other = spark.newSession()
        while not done.is_set():
            try:
                reads.append(tuple(other.sql(query).first()))
            except Exception as error:
                errors.append(str(error)[:300])

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield reads
    finally:
        done.set()
        thread.join()
    assert errors == []
    assert reads


def publish(guard: Guard, name: str, sql: str, **more: Any) -> None:
    report = guard.publish(Model(name, sql, file_format="iceberg", **more))
    assert report.outcome == "published", report


def replace(guard: Guard, name: str, number: int) -> None:
    # Other partitions each time, so that schema and layout change with the rows.
    layout = {"partition_by": ["version"]} if number % 2 else {}
    contract = Contract([("id", "bigint", False), ("version", "int", False)])
    publish(guard, name, f"select id, {number} as version from range({100 + number})", contract=contract, **layout)


def append(guard: Guard, name: str, number: int) -> None:
    publish(guard, name, f"select id, {number} as version from range(10)", **LATER)


def grow(guard: Guard, name: str, number: int) -> None:
    columns = "".join(f", {n} as c{n}" for n in range(1, number + 1))
    publish(
        guard, name, f"select id{columns} from range(10)", options={"on_schema_change": "append_new_columns"}, **LATER
    )


def overwrite(guard: Guard, name: str, number: int) -> None:
    # The first one fills every partition, each later one replaces one.
    part = "id % 3" if number == 0 else str(number % 3)
    rows = f"select id, {number} as version, cast({part} as int) as part from range({30 if number == 0 else 10})"
    publish(guard, name, rows, partition_by=["part"], incremental_strategy="insert_overwrite", **LATER)


def merge(guard: Guard, name: str, number: int) -> None:
    rows = f"select id, {number} as version from range(20)"
    publish(guard, name, rows, incremental_strategy="merge", options={"unique_key": "id"}, **LATER)


VERSIONS = "select count(*), min(version), max(version) from {t}"
KINDS: dict[str, tuple[Callable[[Guard, str, int], None], str, Callable[..., bool]]] = {
    "replace": (replace, VERSIONS, lambda rows, low, high: low == high and rows == 100 + low),
    "append": (append, VERSIONS, lambda rows, low, high: rows == 10 * (high + 1)),
    # A row of the first publish has as many nulls as columns came after it.
    "grow": (
        grow,
        "select count(*), size(max_by(all, size(all))) from (select array(*) as all from {t})",
        lambda rows, columns: rows == 10 * columns,
    ),
    "overwrite": (
        overwrite,
        "select count(*), min(rows), max(rows), max(high - low) from "
        "(select count(*) rows, min(version) low, max(version) high from {t} group by part)",
        lambda parts, fewest, most, apart: (parts, fewest, most, apart) == (3, 10, 10, 0),
    ),
    "merge": (merge, VERSIONS, lambda rows, low, high: low == high and rows == 20),
}


def play(spark: Any, place: str, kind: str, publishes: int) -> None:
    step, query, is_whole = KINDS[kind]
    name, guard = f"{place}.t", Guard(spark)
    step(guard, name, 0)
    with reader(spark, query.replace("{t}", name)) as reads:
        for number in range(1, publishes + 1):
            step(guard, name, number)
    assert [read for read in reads if not is_whole(*read)] == []
    print(f"{kind} in {place}: {publishes} publishes, {len(reads)} reads, 0 errors, 0 mixed")


def test_a_reader_sees_the_old_table_or_the_new_one(iceberg: Any, place: str) -> None:
    play(iceberg, place, "replace", PUBLISHES)


@pytest.mark.conformance
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_reader_beside_many_publishes(iceberg: Any, place: str, kind: str) -> None:
    play(iceberg, place, kind, MANY)
