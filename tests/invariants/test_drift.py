"""Older files against a table as it is now: each clash once, and what Spark reads without loss."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planproof.arrow.footers import read_footer
from planproof.invariants import drift
from planproof.schema import PhysicalField, PhysicalSchema
from planproof.types import parse_type

NOON = datetime.datetime(2024, 1, 1, 12)


@pytest.fixture
def stored(tmp_path: Any) -> Any:
    def write(**columns: Any) -> Any:
        pq.write_table(pa.table(columns), tmp_path / "old.parquet")
        return [read_footer(str(tmp_path / "old.parquet"))]

    return write


def now(*fields: tuple[str, str, bool]) -> PhysicalSchema:
    return PhysicalSchema(tuple(PhysicalField(name, parse_type(t), null) for name, t, null in fields))


CLASHES = [
    ({"id": pa.array([1], pa.int64())}, ("id", "int", True), "id", "int", "bigint"),
    ({"id": pa.array(["1"])}, ("id", "int", True), "id", "int", "string"),
    ({"at": pa.array([NOON], pa.timestamp("us", "UTC"))}, ("at", "timestamp_ntz", True), "at", "timestamp_ntz", None),
    ({"d": pa.array([1], pa.decimal128(12, 4))}, ("d", "decimal(12,2)", True), "d", "decimal(12,2)", "decimal(12,4)"),
    ({"s": pa.array([{"q": "x"}])}, ("s", "struct<q:int>", True), "s.q", "int", "string"),
    ({"xs": pa.array([[1]], pa.list_(pa.int64()))}, ("xs", "array<int>", True), "xs.element", "int", "bigint"),
    ({"other": pa.array([1])}, ("id", "int", False), "id", "int NOT NULL", "missing"),
]


@pytest.mark.parametrize(("columns", "field", "path", "promised", "found"), CLASHES)
def test_a_clash_names_the_place_and_both_sides(
    stored: Any, columns: Any, field: Any, path: str, promised: str, found: str | None
) -> None:
    [finding] = drift.check(now(field), stored(**columns))
    assert (finding.verdict.value, finding.code, finding.plane) == ("violated", "PP402", "files")
    assert (finding.field, finding.promised) == (path, promised)
    assert found in (None, finding.found)


READABLE = [
    ({"id": pa.array([1], pa.int32())}, ("id", "bigint", True), True),
    ({"d": pa.array([1], pa.decimal128(8, 2))}, ("d", "decimal(12,2)", True), True),
    ({"d": pa.array([1], pa.int32())}, ("d", "decimal(12,2)", True), True),
    ({"s": pa.array([b"x"], pa.binary())}, ("s", "string", True), True),
    ({"ID": pa.array([1], pa.int32())}, ("id", "int", True), True),
    ({"other": pa.array([1])}, ("id", "int", True), True),
    ({"id": pa.array([1], pa.int32()), "extra": pa.array([1])}, ("id", "int", True), False),
    ({"s": pa.array([{"b": 1, "A": 2}])}, ("s", "struct<a:bigint,b:bigint>", True), False),
    ({"c": pa.array(["x"])}, ("c", "varchar(3)", True), False),
    ({"at": pa.array([NOON], pa.timestamp("us", "UTC"))}, ("at", "timestamp", True), False),
]


@pytest.mark.parametrize(("columns", "field", "warns"), READABLE)
def test_what_spark_reads_is_a_warning_at_most(stored: Any, columns: Any, field: Any, warns: bool) -> None:
    found = drift.check(now(field), stored(**columns))
    assert [f.verdict.value for f in found] == (["warning"] if warns else [])


def test_int96_is_a_timestamp_with_a_zone(tmp_path: Any) -> None:
    table = pa.table({"at": pa.array([NOON], pa.timestamp("ns"))})
    pq.write_table(table, tmp_path / "old.parquet", use_deprecated_int96_timestamps=True)
    footers = [read_footer(str(tmp_path / "old.parquet"))]
    assert drift.check(now(("at", "timestamp", True)), footers) == []
    [finding] = drift.check(now(("at", "timestamp_ntz", True)), footers)
    assert (finding.verdict.value, finding.found) == ("violated", "timestamp")


def test_a_partition_column_in_a_file_is_said_and_files_without_rows_are_not(stored: Any) -> None:
    [finding] = drift.check(now(("id", "int", True)), stored(id=pa.array([1], pa.int32()), p=pa.array(["x"])), ("p",))
    assert (finding.verdict.value, finding.field) == ("warning", "p")
    assert drift.check(now(("id", "int", True)), stored(id=pa.array([], pa.string()))) == []
