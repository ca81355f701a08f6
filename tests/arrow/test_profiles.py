"""What footers say of values, and what they leave unknown, each with its reason."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planproof.arrow.profiles import Extent, read_extents
from planproof.publish.audit.changes import format_bound, partition_extent
from planproof_engine.types import parse_type

DAY = datetime.date(2026, 11, 21)
AT = datetime.datetime(2026, 11, 21, 10, tzinfo=datetime.timezone.utc)
KNOWN = [
    (pa.array([1, None, 3], pa.int32()), Extent(1, 1, 3)),
    (pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-2.25")], pa.decimal128(12, 2)), None),
    (pa.array(["b", "a", "ä"]), Extent(0, "a", "ä")),
    (pa.array([DAY, None, None]), Extent(2, DAY, DAY)),
    (pa.array([AT, AT, AT], pa.timestamp("us", "UTC")), Extent(0, AT, AT)),
    (pa.array([True, False, None]), Extent(1, False, True)),
    (pa.array([None, None, None], pa.string()), Extent(3)),
    (pa.array([], pa.int32()), Extent(0)),
]


def span(tmp_path: Path, values: Any, **more: Any) -> Extent:
    file = tmp_path / "f.parquet"
    pq.write_table(pa.table({"C": values}), file, **more)
    rows, found = read_extents(str(file))
    assert rows == len(values)
    return found["c"]


@pytest.mark.parametrize(("values", "expected"), KNOWN, ids=[str(v.type) for v, _ in KNOWN])
@pytest.mark.parametrize("size", [1, 100])
def test_what_is_known(tmp_path: Path, values: Any, expected: Extent | None, size: int) -> None:
    found = span(tmp_path, values, row_group_size=size)
    held = [v for v in values.to_pylist() if v is not None]
    assert found == (expected or Extent(values.null_count, min(held), max(held)))


@pytest.mark.parametrize(
    ("values", "more", "why"),
    [
        (pa.array(["a", "b" * 64]), {}, "texts of 64 bytes or more may be cut"),
        (pa.array([float("nan"), float("nan")]), {}, "the file has no bounds of it"),
        (pa.array([b"a"]), {}, "binary values have no text"),
        (pa.array([1, 2]), {"write_statistics": False}, "the file has no bounds of it"),
        (pa.array([AT], pa.timestamp("us", "UTC")), {"use_deprecated_int96_timestamps": True}, "INT96 has no bounds"),
        (pa.array([[1]]), {}, "nested values have no bounds"),
        (pa.array([{"a": 1}]), {}, "nested values have no bounds"),
    ],
)
def test_what_is_not(tmp_path: Path, values: Any, more: dict[str, Any], why: str) -> None:
    found = span(tmp_path, values, **more)
    assert (found.unknown, found.low, found.high) == (why, None, None)


def test_files_together() -> None:
    assert Extent(1, 1, 3).join(Extent(2)) == Extent(3, 1, 3)
    assert Extent(1).join(Extent(0, "a", "b")) == Extent(1, "a", "b")
    assert Extent(None, 1, 2).join(Extent(1, 0, 5)) == Extent(None, 0, 5)
    assert Extent(1, 1, 2).join(Extent(1, unknown="why")) == Extent(2, unknown="why")
    assert Extent(0, 1, 2).join(Extent(0, "a", "b")).unknown == "files hold it in types that do not compare"
    assert format_bound(AT) == "2026-11-21 10:00:00 UTC"
    assert format_bound(decimal.Decimal("1.50")) == "1.50"


def test_a_dot_in_a_name_is_no_path(tmp_path: Path) -> None:
    inner = pa.struct([("b", pa.int64())])
    columns = {"a.b": [1, 2], "a": [3, 4], "s.t": pa.array([{"b": 1}, None], inner), "s": [5, 6]}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    rows, found = read_extents(str(tmp_path / "x.parquet"))
    assert rows == 2
    assert [(name, found[name].low, found[name].high) for name in ("a.b", "a", "s")] == [
        ("a.b", 1, 2),
        ("a", 3, 4),
        ("s", 5, 6),
    ]
    assert found["s.t"].unknown == "nested values have no bounds"


@pytest.mark.parametrize(
    ("kind", "text", "extent"),
    [
        ("int", "7", Extent(0, 7, 7)),
        ("string", "b", Extent(0, "b", "b")),
        ("date", "2026-11-21", Extent(0, DAY, DAY)),
        ("int", None, Extent(5)),
        ("int", "x", Extent(None, unknown="a partition's value is none of its type")),
        ("string", "", Extent(None, unknown="of partitions only whole numbers, dates and texts are read")),
        ("double", "10.0", Extent(None, unknown="of partitions only whole numbers, dates and texts are read")),
        ("timestamp", "2026-11-28", Extent(None, unknown="of partitions only whole numbers, dates and texts are read")),
    ],
)
def test_the_value_of_a_partition(kind: str, text: str | None, extent: Extent) -> None:
    assert partition_extent(parse_type(kind), text, 5) == extent
