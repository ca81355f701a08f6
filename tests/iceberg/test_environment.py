"""What the environment holds: each catalog makes, reads and drops Iceberg's tables."""

from __future__ import annotations

from typing import Any


def test_a_catalog_keeps_snapshots(iceberg: Any, place: str) -> None:
    iceberg.sql(f"create table {place}.t (id bigint not null, name string) using iceberg")
    iceberg.sql(f"insert into {place}.t values (1, 'a')")
    iceberg.sql(f"insert into {place}.t values (2, 'b')")
    (first, second) = [
        r[0] for r in iceberg.sql(f"select snapshot_id from {place}.t.snapshots order by committed_at").collect()
    ]
    assert iceberg.table(f"{place}.t").count() == 2
    assert [tuple(r) for r in iceberg.sql(f"select * from {place}.t version as of {first}").collect()] == [(1, "a")]
    assert first != second
