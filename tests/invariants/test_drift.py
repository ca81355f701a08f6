"""Older files against a table as it is now: each clash once, and what Spark reads without loss."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planproof.arrow.footers import fold_footers, read_footer
from planproof.invariants import drift, file_schemas, registered
from planproof_engine.schema import PhysicalField, PhysicalSchema
from planproof_engine.types import parse_type

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
    ({"s": pa.nulls(1)}, ("s", "string", True), "s", "string", "void"),
    ({"t": pa.array([1], pa.time64("us"))}, ("t", "int", True), "t", "int", "time(6)"),
    ({"t": pa.array([1], pa.time64("us"))}, ("t", "string", True), "t", "string", "time(6)"),
]


@pytest.mark.parametrize(("columns", "field", "path", "promised", "found"), CLASHES)
def test_a_clash_names_the_place_and_both_sides(
    stored: Any, columns: Any, field: Any, path: str, promised: str, found: str | None
) -> None:
    [finding] = drift.check(now(field), stored(**columns))
    assert (finding.verdict.value, finding.code, finding.plane) == ("violated", "PP402", "files")
    assert (finding.field, finding.promised) == (path, promised)
    assert found in (None, finding.found)


def test_a_column_under_another_name_is_missing_and_the_file_s_own_is_not_read(stored: Any) -> None:
    files = stored(other=pa.array([1]))
    missing, unread = drift.check(now(("id", "int", False)), files)
    assert (missing.verdict.value, missing.field, missing.promised, missing.found) == (
        *("violated", "id"),
        *("int NOT NULL", "missing"),
    )
    assert (unread.verdict.value, unread.field, unread.found) == ("warning", "other", "bigint")
    assert [f.verdict.value for f in drift.check(now(("id", "int", True)), files)] == ["warning", "warning"]


READABLE = [
    ({"id": pa.array([1], pa.int32())}, ("id", "bigint", True), True),
    ({"d": pa.array([1], pa.decimal128(8, 2))}, ("d", "decimal(12,2)", True), True),
    ({"d": pa.array([1], pa.int32())}, ("d", "decimal(12,2)", True), True),
    ({"s": pa.array([b"x"], pa.binary())}, ("s", "string", True), True),
    ({"s": pa.array(["x"])}, ("s", "binary", True), True),
    ({"id": pa.nulls(1)}, ("id", "int", True), True),
    ({"t": pa.array([1], pa.time64("us"))}, ("t", "bigint", True), True),
    ({"t": pa.array([1], pa.time32("ms"))}, ("t", "int", True), True),
    ({"id": pa.nulls(1)}, ("id", "bigint", True), True),
    ({"ID": pa.array([1], pa.int32())}, ("id", "int", True), True),
    ({"id": pa.array([1], pa.int32()), "extra": pa.array([1])}, ("id", "int", True), True),
    ({"s": pa.array([{"a": 1, "extra": 2}])}, ("s", "struct<a:bigint>", True), True),
    ({"s": pa.array([{"b": 1, "A": 2}])}, ("s", "struct<a:bigint,b:bigint>", True), False),
    ({"c": pa.array(["x"])}, ("c", "varchar(3)", True), False),
    ({"at": pa.array([NOON], pa.timestamp("us", "UTC"))}, ("at", "timestamp", True), False),
]


@pytest.mark.parametrize(("columns", "field", "warns"), READABLE)
def test_what_spark_reads_is_a_warning_at_most(stored: Any, columns: Any, field: Any, warns: bool) -> None:
    found = drift.check(now(field), stored(**columns))
    assert [f.verdict.value for f in found] == (["warning"] if warns else [])


def test_names_that_differ_in_case_are_refused_where_case_is_ignored(stored: Any) -> None:
    footers = stored(ID=pa.array([1], pa.int32()), id=pa.array([2], pa.int32()))
    [finding] = drift.check(now(("id", "int", True)), footers)
    assert (finding.verdict.value, finding.field, finding.found) == ("violated", "id", "ID, id")
    assert drift.check(now(("other", "int", True)), footers)[0].verdict.value == "warning"
    assert [f.verdict.value for f in drift.check(now(("id", "int", True)), footers, (), True)] == []


def test_int96_is_a_timestamp_with_a_zone(tmp_path: Any) -> None:
    table = pa.table({"at": pa.array([NOON], pa.timestamp("ns"))})
    pq.write_table(table, tmp_path / "old.parquet", use_deprecated_int96_timestamps=True)
    footers = [read_footer(str(tmp_path / "old.parquet"))]
    assert drift.check(now(("at", "timestamp", True)), footers) == []
    [finding] = drift.check(now(("at", "timestamp_ntz", True)), footers)
    assert (finding.verdict.value, finding.found) == ("violated", "timestamp")


def test_files_without_rows_are_not_looked_at(stored: Any) -> None:
    assert drift.check(now(("id", "int", True)), stored(id=pa.array([], pa.string()))) == []


DAY = datetime.date(2024, 1, 2)


@pytest.mark.parametrize(
    ("folder", "held", "verdict", "found"),
    [
        ("p=2024-01-02", pa.array([DAY, DAY]), None, None),
        ("p=2024-01-01", pa.array([DAY, DAY]), "violated", "2024-01-02"),
        ("P=a%2Fb", pa.array(["a/b"]), None, None),
        ("p=eu", pa.array(["EU"]), "violated", "EU"),
        ("p=eu", pa.array(["eu", None]), "violated", "eu and nulls"),
        ("p=eu", pa.array(["de", "eu"]), "violated", "de to eu"),
        ("p=01", pa.array([1]), None, None),
        ("p=2", pa.array([1]), "violated", "1"),
        ("p=true", pa.array([True]), None, None),
        ("p=__HIVE_DEFAULT_PARTITION__", pa.array([None], pa.string()), None, None),
        ("p=__HIVE_DEFAULT_PARTITION__", pa.array(["x"]), "violated", "x"),
        ("p=x", pa.array([None], pa.string()), "warning", "nulls"),
        ("p=2024-01-01 12%3A00%3A00", pa.array([NOON]), "warning", "2024-01-01 12:00:00"),
        ("p=x", pa.array([[1]]), "warning", "nothing"),
        ("other=1", pa.array(["x"]), None, None),
        ("p=x", pa.array([], pa.string()), None, None),
        (f"p={'x' * 70}", pa.array(["x" * 70]), None, None),
        (f"p={'x' * 70}", pa.array(["x" * 64, "x" * 63 + "y"]), "warning", f"{'x' * 40}... to {'x' * 40}..."),
        (f"p={'x' * 70}", pa.array(["z" * 64]), "violated", f"{'z' * 40}..."),
    ],
)
def test_a_paths_value_against_the_files(tmp_path: Any, folder: str, held: Any, verdict: str, found: str) -> None:
    (tmp_path / folder).mkdir()
    pq.write_table(pa.table({"p": held}), tmp_path / folder / "a.parquet")
    footers = [read_footer(str(tmp_path / folder / "a.parquet"))]
    findings = drift.check_paths(footers, ["p"])
    assert [(f.verdict.value, f.field, f.found) for f in findings] == ([(verdict, "p", found)] if verdict else [])
    assert drift.check_paths(footers, []) == []


def test_files_that_say_the_same_of_their_paths_are_one_finding(tmp_path: Any) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"p={name}").mkdir()
        pq.write_table(pa.table({"p": ["a"]}), tmp_path / f"p={name}" / "x.parquet")
    read = fold_footers(read_footer(str(tmp_path / f"p={name}" / "x.parquet")) for name in ("a", "b", "c"))
    assert [footer.files for footer in read] == [1, 2]
    [finding] = drift.check_paths(read, ["p"])
    assert (finding.promised, finding.found) == ("b", "a")
    assert "1 more file" in finding.message


@pytest.mark.parametrize("partition_by", [(), ("D",), ("d",)])
def test_columns_that_differ_by_their_case_alone_are_two(stored: Any, partition_by: tuple[str, ...]) -> None:
    """A case-sensitive session makes such tables, and partitions them by one of the two."""
    columns = {"d": pa.array([1], pa.int32()), "D": pa.array(["x"])}
    table = now(("d", "int", True), ("D", "string", True))
    footers = stored(**{name: values for name, values in columns.items() if name not in partition_by})
    last = sorted(table, key=lambda f: f.name in partition_by)
    assert file_schemas.check(table, footers, partition_by) == []
    assert file_schemas.check(None, footers) == []
    assert drift.check(table, footers, partition_by, case_sensitive=True) == []
    assert registered.check(PhysicalSchema(tuple(last)), table, partition_by) == []


def test_a_partition_column_is_known_whatever_its_case(stored: Any) -> None:
    table, footers = now(("id", "int", True), ("D", "string", True)), stored(id=pa.array([1], pa.int32()))
    assert file_schemas.check(table, footers, ("d",)) == drift.check(table, footers, ("d",)) == []
    assert registered.check(table, footers[0].schema, ("d",)) == []
