"""Footers of files that real Spark wrote, and of files that other writers wrote."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planproof.arrow.column_counts import count_nulls
from planproof.arrow.footers import FooterError, Undecodable, fold_footers, read_footer, read_footers, read_row_groups
from planproof_engine.types import (
    BINARY,
    BYTE,
    DATE,
    INT,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Array,
    Decimal,
    Struct,
    StructField,
    same_type,
)

EVERY_TYPE = """
select cast(1 as tinyint) i8, cast(1 as smallint) i16, 1 i32, 1L i64, 1.0f f, 1.0d d, 1.5 dec,
  cast(1 as decimal(38,10)) dec38, cast(1 as decimal(15,2)) dec15, 'x' s, x'00' b, true bo, date'2020-01-01' da,
  timestamp'2020-01-01 00:00:00' ts, timestamp_ntz'2020-01-01 00:00:00' ntz, array(1, null) a, array(1) an,
  map('k', 1) m, map('k', cast(null as int)) mn, named_struct('x', 1, 'y', cast(null as string)) st,
  array(named_struct('q', 1)) ast, array(array(1)) aa, map(1, array(named_struct('z', map('a', null)))) deep,
  cast(null as int) nul, cast(null as void) v, interval '1' day dt, interval '1-2' year to month ym,
  parse_json('{"a": 1}') va, 'x' collate UTF8_LCASE co
from range(2)
"""
LEGACY = """
select array(1, null) a, array(1) an, map('k', 1) m, map('k', null) mn, array(named_struct('q', 1)) ast,
  array(array(1)) aa, array(named_struct('array', 1)) asa, cast(1.5 as decimal(5,2)) d, cast(1 as decimal(12,2)) e
"""


def written(spark, sql: str, folder: Path) -> list[str]:
    spark.sql(sql).coalesce(1).write.parquet(str(folder))
    return sorted(str(f) for f in folder.glob("*.parquet"))


@pytest.mark.parametrize(
    ("sql", "settings"),
    [
        (EVERY_TYPE, {}),
        (EVERY_TYPE, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}),
        (EVERY_TYPE, {"spark.sql.parquet.compression.codec": "zstd"}),
        (LEGACY, {"spark.sql.parquet.writeLegacyFormat": "true"}),
    ],
)
def test_the_schema_is_what_spark_planned_and_what_spark_reads(spark, session, tmp_path, sql, settings):
    with session.change_settings(settings):
        files = written(spark, sql, tmp_path / "t")
        planned = session.planes(sql).optimized
    footer = read_footers(files)[0]
    assert [str(f) for f in footer.schema] == [str(f) for f in planned]
    assert footer.schema == planned
    seen = session.planes(f"select * from parquet.`{tmp_path / 't'}`").analyzed
    assert all(same_type(f.type, s.type) for f, s in zip(footer.schema, seen, strict=True))
    assert footer.has_statistics
    assert footer.spark == spark.version
    assert footer.rows == (2 if sql == EVERY_TYPE else 1)


def test_times_of_every_precision(spark, session, tmp_path):
    with session.change_settings({"spark.sql.timeType.enabled": "true"}):
        sql = "select cast('12:34:56' as time(9)) t9, cast('12:34:56' as time(6)) t6, cast('12:34:56' as time(0)) t0"
        [file] = written(spark, sql, tmp_path / "t")
        assert read_footer(file).schema == session.planes(sql).optimized


def test_millis_are_told(spark, session, tmp_path):
    with session.change_settings({"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"}):
        [file] = written(spark, "select timestamp'2020-01-01 00:00:00' ts", tmp_path / "t")
    footer = read_footer(file)
    assert footer.schema[0].type == TIMESTAMP
    assert footer.leaves[0].unit == "milliseconds"


def test_null_counts_are_exact_or_absent(spark, tmp_path):
    [file] = written(
        spark,
        """select if(id = 0, null, id) as top,
             if(id < 2, null, timestamp'2020-01-01 00:00:00') as ts,
             if(id = 1, null, named_struct('x', id, 'y', if(id = 2, null, id))) as st,
             named_struct('x', if(id = 1, null, id)) as sure,
             if(id = 0, array(), array(named_struct('q', id))) as items,
             if(id = 99, null, array(if(id = 99, null, id))) as full,
             if(id = 99, null, map('k', id)) as m
           from range(4)""",
        tmp_path / "t",
    )
    footer = read_footer(file)
    nulls = footer.nulls
    assert nulls["top",] == 1
    assert nulls["ts",] == 2
    # `st` is null once: the counts of its leaves mix that null with their own, and decide nothing.
    assert not {("st",), ("st", "y")} & nulls.keys()
    assert nulls["sure",] == 0
    assert nulls["sure", "x"] == 1
    # An empty list looks like a null to the leaf below it; the element and its field are REQUIRED in the file.
    assert ("items",) in nulls
    assert nulls["items",] == 0
    absent = {leaf.path: leaf.absent for leaf in footer.leaves}
    assert absent["items", "element", "q"] == 1
    # Every place of these is filled, which proves all the levels above.
    for path in [("full",), ("full", "element"), ("m",), ("m", "value")]:
        assert nulls[path] == 0


def test_a_null_list_among_empty_ones_is_not_called_zero(spark, tmp_path):
    [file] = written(spark, "select if(id = 0, null, array(id)) as xs from range(2)", tmp_path / "t")
    assert ("xs",) not in read_footer(file).nulls


def test_other_writers_are_believed_for_top_level_leaves_only(tmp_path):
    table = pa.table({"a": [1, None], "xs": [[1], [2]]})
    pq.write_table(table, tmp_path / "x.parquet")
    footer = read_footer(str(tmp_path / "x.parquet"))
    assert footer.nulls == {("a",): 1}
    assert not footer.created_by.startswith("parquet-mr")


def test_no_statistics_no_counts(tmp_path):
    pq.write_table(pa.table({"a": [1, None]}), tmp_path / "x.parquet", write_statistics=False)
    footer = read_footer(str(tmp_path / "x.parquet"))
    assert footer.nulls == {}
    assert not footer.has_statistics


def test_a_count_below_zero_counts_nothing(tmp_path):
    """Beside another row group's nulls it made them none: NOT NULL was proved."""
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1, None, 3, 4]}), file, row_group_size=2, store_schema=False)
    # The null count, in Thrift's compact form, before the greatest value.
    file.write_bytes(file.read_bytes().replace(b"\x16\x00\x28", b"\x16\x01\x28"))
    chunks = [pq.read_metadata(file).row_group(at).column(0) for at in range(2)]
    assert [chunk.statistics.null_count for chunk in chunks] == [1, -1]
    assert read_footer(str(file)).nulls == {}
    assert count_nulls([str(file)], "a") is None


def test_types_of_other_writers(tmp_path, session):
    schema = pa.schema(
        [
            ("u8", pa.uint8()),
            ("u16", pa.uint16()),
            ("u32", pa.uint32()),
            ("i8", pa.int8()),
            ("ms", pa.timestamp("ms", tz="UTC")),
            ("us", pa.timestamp("us")),
            ("d", pa.date32()),
            ("dec", pa.decimal128(12, 2)),
            ("bin", pa.large_binary()),
            ("s", pa.large_string()),
            ("dict", pa.dictionary(pa.int32(), pa.string())),
            pa.field("xs", pa.large_list(pa.field("item", pa.int64(), nullable=False)), nullable=False),
            pa.field("st", pa.struct([pa.field("a", pa.int16(), nullable=False)])),
        ]
    )
    pq.write_table(schema.empty_table(), tmp_path / "x.parquet")
    found = read_footer(str(tmp_path / "x.parquet")).schema
    assert [f.type for f in found] == [
        SHORT,
        INT,
        LONG,
        BYTE,
        TIMESTAMP,
        TIMESTAMP_NTZ,
        DATE,
        Decimal(12, 2),
        BINARY,
        STRING,
        STRING,
        Array(LONG, False),
        Struct((StructField("a", SHORT, False),)),
    ]
    seen = session.planes(f"select * from parquet.`{tmp_path}`").analyzed
    assert all(same_type(f.type, s.type) for f, s in zip(found, seen, strict=True))


def test_what_spark_cannot_read_equals_no_type_of_spark(tmp_path):
    pq.write_table(pa.table({"t": pa.array([], pa.time32("ms"))}), tmp_path / "x.parquet")
    assert read_footer(str(tmp_path / "x.parquet")).schema[0].type.simple == "parquet INT32 Time milliseconds"


def test_a_writers_statement_that_the_structure_contradicts_is_not_believed(tmp_path):
    stated = '{"type":"struct","fields":[{"name":"a","type":"string","nullable":true,"metadata":{}}]}'
    table = pa.table({"a": pa.array([1], pa.int64())}).replace_schema_metadata(
        {"org.apache.spark.sql.parquet.row.metadata": stated}
    )
    pq.write_table(table, tmp_path / "x.parquet")
    assert read_footer(str(tmp_path / "x.parquet")).schema[0].type == LONG


def test_a_file_that_is_no_parquet(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"not parquet at all")
    with pytest.raises(FooterError, match=r"x\.parquet: no readable Parquet footer"):
        read_footer(str(tmp_path / "x.parquet"))
    with pytest.raises(FooterError, match=r"missing\.parquet"):
        read_footer(str(tmp_path / "missing.parquet"))


def test_row_groups_first_and_last_or_all(tmp_path):
    for name in "ab":
        pq.write_table(pa.table({"a": range(10)}), tmp_path / f"{name}.parquet", row_group_size=2)
    paths = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    assert [(Path(p).name, n) for p, n, _ in read_row_groups(paths, limit=3)] == [
        ("a.parquet", 0),
        ("a.parquet", 4),
        ("b.parquet", 0),
    ]
    assert sum(t.num_rows for _, _, t in read_row_groups(paths)) == 20


def test_footers_that_say_the_same_are_folded(tmp_path):
    paths = []
    for i, values in enumerate(([1, None], [2, 3], [None, None])):
        paths.append(str(tmp_path / f"{i}.parquet"))
        pq.write_table(pa.table({"a": pa.array(values, pa.int64())}), paths[-1])
    pq.write_table(pa.table({"a": pa.array(["x"])}), tmp_path / "other.parquet")
    [same, other] = fold_footers([read_footer(p) for p in [*paths, str(tmp_path / "other.parquet")]])
    assert (same.files, same.rows, same.nulls, same.path) == (3, 6, {("a",): 3}, paths[0])
    assert (other.files, other.rows) == (1, 1)


def test_a_footer_is_read_from_a_files_last_bytes(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": pa.array([1, 2, 3])}), path)
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little") + 8
    whole = read_footer(str(path))
    assert read_footer(str(path), content[-length:]) == whole
    with pytest.raises(FooterError):
        read_footer("hdfs://h/a.parquet", content[-20:])


def test_an_encrypted_file_is_unreadable_and_not_damaged(tmp_path):
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Kms(encryption.KmsClient):
        def __init__(self, config):
            super().__init__()

        def wrap_key(self, key_bytes, master_key_identifier):
            return key_bytes.hex()

        def unwrap_key(self, wrapped_key, master_key_identifier):
            return bytes.fromhex(wrapped_key.decode() if isinstance(wrapped_key, bytes) else wrapped_key)

    factory = encryption.CryptoFactory(Kms)
    table = pa.table({"a": pa.array([1, 2])})
    for plaintext_footer in (True, False):
        config = encryption.EncryptionConfiguration(
            footer_key="f", column_keys={"c": ["a"]}, plaintext_footer=plaintext_footer
        )
        properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), config)
        path = str(tmp_path / f"{plaintext_footer}.parquet")
        with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
            writer.write_table(table)
        with pytest.raises(Undecodable, match="encrypted"):
            read_footer(path)
        with pytest.raises(Undecodable, match="encrypted"):
            list(read_row_groups([path]))
