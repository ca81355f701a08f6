"""Batches that break their schema, and batches that do not."""

from __future__ import annotations

import pyarrow as pa
import pytest

from planproof.arrow.batches import find_faults

ITEMS = pa.list_(pa.field("item", pa.struct([pa.field("q", pa.int32(), nullable=False)])))
PRICES = pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False))


def batch(values: list, t: pa.DataType, nullable: bool = True) -> pa.RecordBatch:
    loose = pa.array(values, t)
    return pa.record_batch([loose], schema=pa.schema([pa.field("c", t, nullable=nullable)]))


@pytest.mark.parametrize(
    "healthy",
    [
        batch([1, 2], pa.int32(), nullable=False),
        batch([1, None], pa.int32()),
        # A null parent hides whatever stands below it.
        batch([[{"q": 1}, None], None, []], ITEMS),
        batch([[("a", 1)], None, []], PRICES),
        batch([None, {"q": 1}], pa.struct([pa.field("q", pa.int32(), nullable=False)])),
        batch([[1], [None, 2]], pa.list_(pa.int32())).slice(0, 1),
    ],
)
def test_healthy_batches(healthy):
    assert find_faults(healthy) == []
    assert find_faults(pa.Table.from_batches([healthy, healthy])) == []


@pytest.mark.parametrize(
    ("broken", "path", "nulls"),
    [
        (batch([1, None, None], pa.int32(), nullable=False), ("c",), 2),
        (batch([[{"q": None}], [{"q": 1}]], ITEMS), ("c", "element", "q"), 1),
        (batch([[("a", None)], [("b", 2)]], PRICES), ("c", "value"), 1),
        (batch([[1], [None, 2]], pa.list_(pa.field("item", pa.int32(), nullable=False))), ("c", "element"), 1),
    ],
)
def test_a_null_under_a_not_null_flag(broken, path, nulls):
    [fault] = find_faults(broken)
    assert (fault.path, fault.nulls) == (path, nulls)
    [fault] = find_faults(pa.Table.from_batches([broken, broken]))
    assert fault.nulls == 2 * nulls


def test_only_the_slice_is_read():
    nulls_outside = batch([[("a", None)], [("b", 2)]], PRICES).slice(1)
    assert find_faults(nulls_outside) == []


def test_broken_buffers():
    broken = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\x02\0\0\0"), pa.py_buffer(b"\xff\xff"))
    [fault] = find_faults(pa.record_batch([broken], names=["s"]))
    assert fault.path is None
    assert "UTF" in fault.message.upper()


def test_bytes_that_are_no_utf8_are_told_apart():
    text = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\x01\0\0\0"), pa.py_buffer(b"\xff"))
    [fault] = find_faults(pa.record_batch([text], names=["s"]))
    assert fault.text
    loose = pa.record_batch(
        [text, pa.array([None], "int8")], schema=pa.schema([("s", "string"), pa.field("n", "int8", False)])
    )
    assert [(f.text, f.nulls) for f in find_faults(loose)] == [(True, 0), (False, 1)]


def test_what_pyarrow_cannot_decode_is_no_damage(tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    from planproof.arrow.footers import Undecodable, read_row_groups

    def refused(self, number):
        raise pa.ArrowNotImplementedError("Nested data conversions not implemented for chunked array outputs")

    pq.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    monkeypatch.setattr(pq.ParquetFile, "read_row_group", refused)
    with pytest.raises(Undecodable, match=r"t\.parquet.*chunked"):
        list(read_row_groups([str(tmp_path / "t.parquet")]))


def test_dictionaries_of_anything_and_names_that_repeat():
    words = pa.array(["a", None, "a"]).dictionary_encode()
    batch = pa.RecordBatch.from_arrays([words, words], schema=pa.schema([pa.field("w", words.type, False)] * 2))
    assert [(f.path, f.nulls) for f in find_faults(batch)] == [(("w",), 2)]
    healthy = pa.table({"w": pa.array(["a", "b"]).dictionary_encode()})
    assert find_faults(healthy) == []
    assert find_faults(healthy.slice(0, 0)) == []


def test_a_damaged_file_leaves_the_batches_read_in_part(tmp_path):
    import pyarrow.parquet as pq

    from planproof.arrow.footers import read_footers
    from planproof.claims import batches

    paths = [str(tmp_path / f"{name}.parquet") for name in ("whole", "torn")]
    for path in paths:
        pq.write_table(pa.table({"a": list(range(10_000))}), path, compression="none", use_dictionary=False)
    footers = read_footers(paths)
    with open(paths[1], "r+b") as torn:
        torn.seek(4)
        torn.write(b"\xff" * 64)
    claim, found = batches.read(paths, "all", footers)
    assert claim is not None
    assert (claim.looked_at, [f.code for f in found]) == ("part", ["PP301"])
    assert batches.read(paths[:1], "all", footers[:1])[0].looked_at == "all"
