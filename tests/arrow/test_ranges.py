"""Ranges of stored columns from statistics alone: what a file does not tell is not guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from planproof.arrow.profiles import EMPTY, read_number_range


def _file(folder: Path, name: str, array: Any, column: str = "n", **options: Any) -> str:
    path = folder / f"{name}.parquet"
    pq.write_table(pa.table({column: array}), path, **options)
    return str(path)


def test_all_row_groups_and_files_count(tmp_path: Path) -> None:
    one = _file(tmp_path, "one", pa.array([5, None, -7, 90], pa.int64()), row_group_size=1)
    two = _file(tmp_path, "two", pa.array([2**40], pa.int64()))
    nulls = _file(tmp_path, "nulls", pa.array([None, None], pa.int32()))
    nothing = _file(tmp_path, "nothing", pa.array([], pa.int64()))
    assert read_number_range([one], "n") == (-7, 90)
    assert read_number_range([nulls, one, nothing], "n") == (-7, 90)
    assert read_number_range([one, two], "n") == (-7, 2**40)
    assert read_number_range([nulls, nothing], "n") == EMPTY
    assert read_number_range([], "n") == EMPTY


def test_what_a_file_does_not_tell_is_not_guessed(tmp_path: Path) -> None:
    good = _file(tmp_path, "good", pa.array([1], pa.int64()))
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and no more")
    others = {
        "no column": _file(tmp_path, "a", pa.array([1], pa.int64()), column="other"),
        "no statistics": _file(tmp_path, "b", pa.array([1], pa.int64()), write_statistics=False),
        "a text": _file(tmp_path, "c", pa.array(["1"])),
        "a decimal": _file(tmp_path, "d", pa.array([1], pa.decimal128(9, 2))),
        "a time": _file(tmp_path, "e", pa.array([1], pa.timestamp("us"))),
        "unsigned": _file(tmp_path, "f", pa.array([1], pa.uint32())),
        "a struct's field": _file(tmp_path, "g", pa.array([{"n": 1}])),
        "a list": _file(tmp_path, "h", pa.array([[1]])),
        "broken": str(broken),
        "away": str(tmp_path / "away.parquet"),
    }
    for what, path in others.items():
        assert read_number_range([good, path], "n") is None, what
    dotted = _file(tmp_path, "dotted", pa.array([{"b": 1}]), column="a")
    assert read_number_range([dotted], "a.b") is None
