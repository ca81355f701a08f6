"""Publishes of a Delta table beside a writer that is no Spark and inserts often, and a reader that never rests."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from delta_tables import ADDED, MERGED, folder, insert_from_outside, publish

from planproof import Contract

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS, LEAST = 30, 4
"""Publishes are made for so long, and so many of them at least."""
EACH = {"append": 0.25, "insert_overwrite": 5.0, "replace": 5.0}
"""Seconds between two inserts. Delta's own INSERT OVERWRITE fails at each insert that comes while it commits."""
OURS = 3
"""The rows of each publish: they bear its tag."""
KINDS: dict[str, dict[str, Any]] = {
    "append": ADDED,
    "insert_overwrite": {**ADDED, "incremental_strategy": "insert_overwrite"},
    "replace": {},
    "merge": MERGED,
}


class Seen:
    """What a reader and a writer met: numbers of reads and inserts, errors, and reads that held half a publish."""

    def __init__(self) -> None:
        self.reads, self.inserts = 0, 0
        self.errors: list[str] = []
        self.mixed: list[Any] = []


@contextmanager
def beside(*loops: Callable[[], None], errors: list[str]) -> Iterator[None]:
    """Each runs over and over in a thread of its own while the block does."""
    done = threading.Event()

    def run(loop: Callable[[], None]) -> None:
        while not done.is_set():
            try:
                loop()
            except Exception as error:
                errors.append(str(error)[:300])

    threads = [threading.Thread(target=run, args=(loop,)) for loop in loops]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()


@pytest.mark.conformance
@pytest.mark.parametrize("kind", KINDS)
def test_beside_a_writer_and_a_reader(delta: SparkSession, place: str, kind: str) -> None:
    """Every publish is made, and each reader sees whole publishes alone. Merges have no writer beside them."""
    name, seen = f"{place}.busy", Seen()
    delta.sql(f"create table {name} using delta as select id, 'tag0' as v from range({OURS})")
    at, reader, began = folder(delta, name), delta.newSession(), time.monotonic()

    def read() -> None:
        tags = reader.sql(f"select v, count(*) from {name} where v like 'tag%' group by v").collect()
        seen.reads += 1
        whole = all(row[1] == OURS for row in tags) and (kind == "append" or len(tags) == 1)
        seen.mixed += [] if whole else [list(map(tuple, tags))]

    def write() -> None:
        insert_from_outside(at, pa.table({"id": pa.array([1000 + seen.inserts], pa.int64()), "v": ["theirs"]}))
        seen.inserts += 1
        time.sleep(max(0.0, began + seen.inserts * EACH[kind] - time.monotonic()))

    outcomes: Counter[str] = Counter()
    given = Contract([("id", "bigint", False), ("v", "string", False)])
    with beside(read, *([write] if kind in EACH else []), errors=seen.errors):
        while time.monotonic() - began < SECONDS or sum(outcomes.values()) < LEAST:
            tag = f"tag{sum(outcomes.values()) + 1}"
            report = publish(delta, name, f"select id, '{tag}' as v from range({OURS})", contract=given, **KINDS[kind])
            outcomes[report.outcome] += 1
    print(f"{kind}: {dict(outcomes)}, {seen.inserts} inserts, {seen.reads} reads in {time.monotonic() - began:.0f} s")
    assert (seen.errors, seen.mixed) == ([], [])
    assert set(outcomes) == {"published"}
    assert seen.reads
    rows = Counter(row.v[:3] for row in delta.table(name).collect())
    assert rows["tag"] == (OURS * (1 + outcomes["published"]) if kind == "append" else OURS)
    assert kind != "append" or rows["the"] == seen.inserts
