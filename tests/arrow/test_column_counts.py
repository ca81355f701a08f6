"""What a test counts in a column of files, against Python's own count; what cannot be told is not guessed."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planproof.arrow import column_counts
from planproof.arrow.leaves import spark_type
from planproof_engine.types import INT, LONG, STRING

DAY = datetime.date(2026, 1, 1)


def files(folder: Path, *parts: Any, name: str = "c", **how: Any) -> list[str]:
    paths = []
    for number, part in enumerate(parts):
        paths.append(str(folder / f"{name}{number}.parquet"))
        pq.write_table(pa.table({name: part}), paths[-1], **how)
    return paths


@pytest.mark.parametrize(
    ("kind", "values", "more"),
    [
        (pa.int32(), [1, None, 2], [2, 3, None]),
        (pa.int64(), [1, 1, 1], [1]),
        (pa.string(), ["a", "b"], ["b ", "B", ""]),
        (pa.bool_(), [True, False], [None]),
        (pa.date32(), [DAY], [DAY, None]),
        (pa.decimal128(9, 2), [Decimal("1.10")], [Decimal("1.10"), Decimal("1.11")]),
    ],
)
def test_counts_are_those_of_the_values(tmp_path: Path, kind: pa.DataType, values: list[Any], more: list[Any]) -> None:
    paths, t = files(tmp_path, pa.array(values, kind), pa.array(more, kind)), spark_type(kind)
    there = [v for v in [*values, *more] if v is not None]
    assert column_counts.count_nulls(paths, "c") == len([*values, *more]) - len(there)
    assert column_counts.count_repeated(paths, "c", t) == sum(there.count(v) > 1 for v in set(there))
    others = files(tmp_path, pa.array(values, kind), name="d")
    assert column_counts.count_without_match(paths, "c", others, "d", t) == sum(v not in values for v in there)
    if kind == pa.string():
        assert column_counts.count_unaccepted(paths, "c", ["a", "b"]) == len(set(there) - {"a", "b"})


def test_a_table_without_rows_has_no_failures(tmp_path: Path) -> None:
    paths = files(tmp_path, pa.array([], pa.int64()))
    assert column_counts.count_nulls(paths, "c") == column_counts.count_repeated(paths, "c", LONG) == 0


@pytest.mark.parametrize("kind", [pa.float64(), pa.timestamp("us"), pa.binary(), pa.uint32(), pa.list_(pa.int32())])
def test_types_that_do_not_compare_as_stored_are_left_to_spark(tmp_path: Path, kind: pa.DataType) -> None:
    paths = files(tmp_path, pa.array([None], kind))
    assert column_counts.count_repeated(paths, "c", spark_type(kind)) is None


def test_what_cannot_be_told_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = files(tmp_path, pa.array([1, 2], pa.int32()))
    assert column_counts.count_repeated(paths, "c", LONG) is None
    assert column_counts.count_nulls(paths, "other") is column_counts.count_repeated(paths, "other", INT) is None
    assert column_counts.count_unaccepted(paths, "c", ["1"]) is None
    assert column_counts.count_nulls([*paths, str(tmp_path / "gone.parquet")], "c") is None
    mixed = [*paths, *files(tmp_path / "..", pa.array([2**40], pa.int64()), name="c")]
    assert column_counts.count_repeated(mixed, "c", INT) is None
    bare = files(tmp_path, pa.array(["x", None]), name="s", write_statistics=False)
    assert column_counts.count_nulls(bare, "s") is None
    assert column_counts.count_repeated(bare, "s", STRING) == 0
    monkeypatch.setattr(column_counts, "MOST_ROWS", 1)
    assert column_counts.count_repeated(paths, "c", INT) is None
    assert column_counts.count_nulls(paths, "c") == 0
