"""What another session reads while a table is published again and again: measured by a reader in a loop.

The reader is a session of its own: it shares the metastore with the publisher, and nothing that it has cached. One kind
of reader refreshes the table before each read, the other one never does. The figures of docs/guarantees.md are what
`pytest -m conformance -s tests/publish/test_readers.py` prints.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from planproof import Guard, Model

PARTS = {"partition_by": ["d"]}
DELTA = {"materialized": "incremental"}
OVERWRITE = {**DELTA, **PARTS, "incremental_strategy": "insert_overwrite"}
ROWS = "select {i} as id, d from values ('x'), ('y') as t(d)"


@dataclass
class Reader:
    """What one reader saw: sets of ids, and the first line of each error."""

    refreshes: bool
    seen: list[tuple[int, ...]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def once(self, own: Any, name: str) -> None:
        try:
            if self.refreshes:
                own.catalog.refreshTable(name)
            rows = own.sql(f"select id from {name}").collect()
        except Exception as error:
            self.errors.append(str(error).splitlines()[0][:100])
        else:
            self.seen.append(tuple(sorted({row.id for row in rows})))


@contextmanager
def reading(spark: Any, name: str) -> Iterator[tuple[Reader, Reader]]:
    readers, done = (Reader(True), Reader(False)), threading.Event()

    def loop(reader: Reader) -> None:
        own = spark.newSession()
        while not done.is_set():
            reader.once(own, name)

    threads = [threading.Thread(target=loop, args=(reader,)) for reader in readers]
    for thread in threads:
        thread.start()
    try:
        yield readers
    finally:
        done.set()
        for thread in threads:
            thread.join()


def publish(spark: Any, name: str, number: int, **more: Any) -> tuple[Reader, Reader]:
    """`number` publishes beside two readers; prints what it measured."""
    sql = more.pop("sql", ROWS)
    # A delta's table is there before; a view is one from the start.
    first = {k: v for k, v in more.items() if v != "incremental" and k != "incremental_strategy"}
    guard = Guard(spark)
    for i in (0, 1):
        assert guard.publish(Model(name, sql.replace("{i}", str(i)), **first)).outcome == "published"
    began = time.monotonic()
    with reading(spark, name) as readers:
        for i in range(2, number + 2):
            report = guard.publish(Model(name, sql.replace("{i}", str(i)), **more))
            assert report.outcome == "published", report.error
    each = (time.monotonic() - began) / number
    for reader in readers:
        kind = "refreshing" if reader.refreshes else "never refreshing"
        counts = f"{len(reader.seen)} reads, {len(reader.errors)} errors"
        print(f"{report.strategy:<10} {kind:<16} {counts}, {each:.2f} s a publish; {sorted(set(reader.errors))[:2]}")
    return readers


def assert_whole(reader: Reader, number: int) -> None:
    """There were reads, each showed exactly one version, and versions came in order."""
    assert reader.seen
    assert all(len(ids) == 1 for ids in reader.seen)
    assert [ids[0] for ids in reader.seen] == sorted(ids[0] for ids in reader.seen)
    assert all(1 <= ids[0] < number + 2 for ids in reader.seen)


@pytest.mark.parametrize("number", [3, pytest.param(50, marks=pytest.mark.conformance)])
def test_the_same_schema_has_no_gap(spark: Any, database: str, number: int) -> None:
    readers = publish(spark, f"{database}.t", number)
    for reader in readers:
        assert reader.errors == []
        assert_whole(reader, number)
    assert set(readers[1].seen) == {readers[1].seen[0]}, "without a refresh the old rows stay"


@pytest.mark.conformance
def test_a_view_has_no_gap(spark: Any, database: str) -> None:
    refreshing, other = publish(spark, f"{database}.t", 30, materialized="view")
    for reader in (refreshing, other):
        assert reader.errors == []
        assert_whole(reader, 30)


@pytest.mark.conformance
def test_a_partitioned_table_has_a_gap_and_never_mixed_rows(spark: Any, database: str) -> None:
    refreshing, other = publish(spark, f"{database}.t", 20, **PARTS)
    assert_whole(refreshing, 20)
    assert_whole(other, 20)
    assert len(refreshing.errors) < len(refreshing.seen)


@pytest.mark.conformance
def test_appended_rows_arrive_and_none_is_lost(spark: Any, database: str) -> None:
    refreshing, other = publish(spark, f"{database}.t", 30, **DELTA)
    for reader in (refreshing, other):
        assert reader.errors == []
    lengths = [len(ids) for ids in refreshing.seen]
    assert lengths
    assert lengths == sorted(lengths)


@pytest.mark.conformance
def test_partitions_are_replaced_one_by_one(spark: Any, database: str) -> None:
    refreshing, _ = publish(spark, f"{database}.t", 20, **OVERWRITE)
    assert refreshing.seen
    assert all(len(ids) <= 2 for ids in refreshing.seen)
    assert len(refreshing.errors) <= len(refreshing.seen)
