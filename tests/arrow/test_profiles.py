"""What footers say of values, and what they leave unknown, each with its reason."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planproof.arrow.profiles import Span, spans
from planproof.publish.audit.changes import text_of

DAY = datetime.date(2026, 11, 21)
AT = datetime.datetime(2026, 11, 21, 10, tzinfo=datetime.timezone.utc)
KNOWN = [
    (pa.array([1, None, 3], pa.int32()), Span(1, 1, 3)),
    (pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-2.25")], pa.decimal128(12, 2)), None),
    (pa.array(["b", "a", "ä"]), Span(0, "a", "ä")),
    (pa.array([DAY, None, None]), Span(2, DAY, DAY)),
    (pa.array([AT, AT, AT], pa.timestamp("us", "UTC")), Span(0, AT, AT)),
    (pa.array([True, False, None]), Span(1, False, True)),
    (pa.array([None, None, None], pa.string()), Span(3)),
    (pa.array([], pa.int32()), Span(0)),
]


def span(tmp_path: Path, values: Any, **more: Any) -> Span:
    file = tmp_path / "f.parquet"
    pq.write_table(pa.table({"C": values}), file, **more)
    rows, found = spans(str(file))
    assert rows == len(values)
    return found["c"]


@pytest.mark.parametrize(("values", "expected"), KNOWN, ids=[str(v.type) for v, _ in KNOWN])
@pytest.mark.parametrize("size", [1, 100])
def test_what_is_known(tmp_path: Path, values: Any, expected: Span | None, size: int) -> None:
    found = span(tmp_path, values, row_group_size=size)
    held = [v for v in values.to_pylist() if v is not None]
    assert found == (expected or Span(values.null_count, min(held), max(held)))


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
    assert Span(1, 1, 3).joined(Span(2)) == Span(3, 1, 3)
    assert Span(1).joined(Span(0, "a", "b")) == Span(1, "a", "b")
    assert Span(None, 1, 2).joined(Span(1, 0, 5)) == Span(None, 0, 5)
    assert Span(1, 1, 2).joined(Span(1, unknown="why")) == Span(2, unknown="why")
    assert Span(0, 1, 2).joined(Span(0, "a", "b")).unknown == "files hold it in types that do not compare"
    assert text_of(AT) == "2026-11-21 10:00:00 UTC"
    assert text_of(decimal.Decimal("1.50")) == "1.50"
