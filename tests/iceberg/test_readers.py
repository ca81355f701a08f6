"""Other sessions read while tables are replaced: each read sees one state, the old or the new, and none fails."""

from __future__ import annotations

import threading
from typing import Any

from planproof import Contract, Guard, Model

PUBLISHES = 6


def test_a_reader_sees_the_old_table_or_the_new_one(iceberg: Any, place: str) -> None:
    name = f"{place}.t"
    contract = Contract([("id", "bigint", False), ("version", "int", False)])
    guard = Guard(iceberg)

    def publish(number: int) -> None:
        # Other partitions each time, so that schema and layout change with the rows.
        layout = {"partition_by": ["version"]} if number % 2 else {}
        rows = f"select id, {number} as version from range({100 + number})"
        report = guard.publish(Model(name, rows, contract=contract, file_format="iceberg", **layout))
        assert report.outcome == "published", report

    publish(0)
    reads: list[tuple[int, int, int]] = []
    errors: list[str] = []
    done = threading.Event()

    def read() -> None:
        other = iceberg.newSession()
        while not done.is_set():
            try:
                found = other.sql(f"select count(*), min(version), max(version) from {name}").first()
                reads.append((found[0], found[1], found[2]))
            except Exception as error:
                errors.append(str(error)[:300])

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(1, PUBLISHES + 1):
            publish(number)
    finally:
        done.set()
        reader.join()
    assert not errors
    assert reads
    assert [r for r in reads if r[1] != r[2] or r[0] != 100 + r[1]] == []
