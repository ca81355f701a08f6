"""Whether a table that is made anew gets another place than it has."""

from __future__ import annotations

import pytest

from planproof.publish.transaction.places import is_moved
from planproof.session.protocol import StoredTable
from planproof_engine.schema import PhysicalSchema


def table(location: str, managed: bool = False) -> StoredTable:
    return StoredTable("t", "table", PhysicalSchema(()), (), "parquet", location, managed, {})


@pytest.mark.parametrize(
    "root",
    [
        None,
        "relative/lake",
        "/lake",
        "/lake/",
        "//lake.internal:8020/lake",
        "/spare/..//lake",
        "hdfs:/lake",
        "hdfs:///lake",
        "hdfs://lake.internal:8020/lake",
    ],
)
def test_a_table_below_its_root_stays(root: str | None) -> None:
    assert not is_moved(table("hdfs://lake.internal:8020/lake/t"), root)
    assert not is_moved(table("hdfs://lake.internal:8020/lake/__planproof/t/v0-1"), root)


@pytest.mark.parametrize("root", ["/lake/deeper", "/", "/lake of others", "s3a://lake/lake", "hdfs://other:8020/lake"])
def test_a_table_elsewhere_moves(root: str) -> None:
    assert is_moved(table("hdfs://lake.internal:8020/lake/t"), root)


def test_a_root_may_be_a_bucket() -> None:
    assert not is_moved(table("s3a://lake/t"), "s3a://lake")
    assert is_moved(table("s3a://lake/t"), "s3a://sea")
    assert not is_moved(table("file:/tmp/a%20b/t"), "file:///tmp/a b")


def test_a_managed_table_goes_to_a_root() -> None:
    assert is_moved(table("/lake/t", managed=True), "/lake")
    assert not is_moved(table("/lake/t", managed=True), None)
    assert not is_moved(None, "/lake")
