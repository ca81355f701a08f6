"""Parquet footers: the schema as Spark's types, rows, and what the statistics say about nulls.

A column may stand in a file's path (`day=2024-01-02/`) and in the file too. Readers of a partitioned directory take the
path's value, whatever the file holds; here both are compared.
"""

from __future__ import annotations

import datetime
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from planproof.arrow.leaves import add_variants, is_list, leaf_type, logical_form, refine_type, stored_type
from planproof.regular import open_regular
from planproof_engine import ColumnNames, PhysicalField, PhysicalSchema, evolve
from planproof_engine.claim import Path
from planproof_engine.types import Array, DataType, Map, Struct, StructField, TypeSyntaxError, from_json

_NULL = "__HIVE_DEFAULT_PARTITION__"
_SHOWN = 40
_CUT = 64
"""Bytes to which the Rust writer (delta-rs, Polars, DataFusion) cuts the least and the greatest text in statistics."""


@dataclass(frozen=True, slots=True)
class InPath:
    """`agrees` is None where the file's statistics do not tell; `stored` shows what the file holds."""

    column: str
    value: str
    agrees: bool | None
    stored: str


def compare_path(path: str, columns: Sequence[str], chunks: Callable[[str], Sequence[Any] | None]) -> Iterator[InPath]:
    """What a file holds of the columns that its path names. `chunks` gives a column's chunks by name, over all row
    groups; None for a nested one."""
    known = ColumnNames(columns)
    for part in path.split("/")[:-1]:
        key, equals, text = part.partition("=")
        if equals and unquote(key) in known:
            name = known.find_spelling(unquote(key))
            held = chunks(name)
            agrees, stored = (None, "nothing") if held is None else _compare_values(unquote(text), held)
            yield InPath(name, unquote(text), agrees, stored)


def _compare_values(text: str, chunks: Sequence[Any]) -> tuple[bool | None, str]:
    """Whether every value is the path's, and what the values are."""
    nulls, rows, lows, highs = 0, 0, [], []
    for chunk in filter(lambda c: c.num_values, chunks):
        statistics = chunk.statistics if chunk.is_stats_set else None
        if statistics is None or not statistics.has_null_count:
            return None, "values without statistics"
        nulls, rows = nulls + statistics.null_count, rows + chunk.num_values
        if statistics.has_min_max:
            lows.append(statistics.min)
            highs.append(statistics.max)
        elif statistics.null_count < chunk.num_values:
            return None, "values without statistics"
    if not rows:
        return True, "nothing"
    if not lows:
        return text == _NULL or None, "nulls"
    low, high = min(lows), max(highs)
    shown = _format_value(low) if low == high else f"{_format_value(low)} to {_format_value(high)}"
    if _is_cut(low, text) and _is_cut(high, text):
        return None, shown
    if low != high or nulls or text == _NULL:
        return False, f"{shown} and nulls" if nulls else shown
    return _is_equal(low, text), shown


def _is_cut(value: Any, text: str) -> bool:
    """Whether this may be the beginning of a longer text: of the greatest one, a writer counts the last byte up."""
    given = value.encode() if isinstance(value, str) else value
    return (
        isinstance(given, bytes) and len(given) == _CUT < len(text.encode()) and text.encode()[: _CUT - 1] == given[:-1]
    )


def _is_equal(value: Any, text: str) -> bool | None:
    """None for a kind of values that a path spells by settings of the session."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, bool):
        return str(value).lower() == text.lower()
    if isinstance(value, str):
        return value == text
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value.isoformat() == text
    if isinstance(value, (int, Decimal)):
        try:
            return Decimal(text) == value
        except InvalidOperation:
            return False
    return None


def _format_value(value: Any) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


_SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"
"""The last bytes of a file whose footer is encrypted."""
_KEYS = (b"keyMaterialType", b"PKMT1")
"""What Parquet's key tools write into a plain footer over encrypted columns. pyarrow ends the process (it does not
raise) when it is asked for such a column."""
_ASSUMED = 64 * 1024
"""Bytes at a file's end that are read at once: most footers are shorter."""
_ICEBERG_SCHEMA = b"iceberg.schema"
_SPARK_VERSION = b"org.apache.spark.version"
_PAGE_BY_PAGE = {"buffer_size": 64 * 1024, "pre_buffer": False}
"""How a file is opened when only the beginnings of row groups are wanted. Otherwise pyarrow reads whole column
chunks."""


class FooterError(ValueError):
    """A file whose footer cannot be read; the message names the file."""


class Undecodable(Exception):
    """Raised for what pyarrow cannot read here (a codec, an encrypted file). The file may be sound; the message names
    it."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf column of one file.

    `absent` counts the places without a value over all row groups: nulls, and for a nested leaf also the nulls and
    empty lists of its parents. None where a row group has no statistics. `unit` is a timestamp's: `milliseconds`,
    `microseconds`, `nanoseconds`, or None.
    """

    path: Path
    physical: str
    absent: int | None
    unit: str | None = None
    codec: str = ""


@dataclass(frozen=True, slots=True)
class Footer:
    """One file's footer, or (`files` > 1) those of several files that say the same but for their counts.

    `schema` has Spark's types; a field is NOT NULL where the file says REQUIRED. `nulls` holds only exact counts, and a
    count at a nested path counts nulls inside parents that are there. `path` is the first file's.
    `described` names the columns as Spark wrote them beside the file's own schema (`row.metadata`). `in_path` are the
    columns that stand in the file's path too.
    """

    path: str
    schema: PhysicalSchema
    rows: int
    row_groups: int
    nulls: Mapping[Path, int]
    leaves: tuple[Leaf, ...]
    created_by: str
    spark: str | None = None
    bytes: int | None = None
    files: int = 1
    described: tuple[str, ...] | None = None
    in_path: tuple[InPath, ...] = ()

    @property
    def name(self) -> str:
        """The file's name, for messages."""
        return os.path.basename(self.path)

    @property
    def has_statistics(self) -> bool:
        """True where every row group counts the absent values of every leaf."""
        return all(leaf.absent is not None for leaf in self.leaves)

    @property
    def codecs(self) -> tuple[str, ...]:
        return tuple(sorted({leaf.codec for leaf in self.leaves if leaf.codec}))


@dataclass(slots=True)
class _Node:
    """A place in the file's tree above or at a leaf; `repeated` where a list or map stands above it."""

    path: Path
    nullable: bool
    repeated: bool


@dataclass(slots=True)
class _Tree:
    """The walk over one file's columns: Arrow's structure, Parquet's leaves."""

    metadata: Any
    at: int = 0
    leaves: list[Leaf] = field(default_factory=list)
    chains: list[tuple[_Node, ...]] = field(default_factory=list)

    def add_field(self, f: pa.Field, name: str, above: tuple[_Node, ...], repeated: bool) -> DataType:
        path = (*above[-1].path, name) if above else (name,)
        chain = (*above, _Node(path, f.nullable, repeated))
        t = stored_type(f.type)
        if is_list(t):
            return Array(self.add_field(t.value_field, "element", chain, True), t.value_field.nullable)
        if pa.types.is_map(t):
            key = self.add_field(t.key_field, "key", chain, True)
            return Map(key, self.add_field(t.item_field, "value", chain, True), t.item_field.nullable)
        if pa.types.is_struct(t):
            fields = [t.field(i) for i in range(t.num_fields)]
            return Struct(
                tuple(StructField(c.name, self.add_field(c, c.name, chain, repeated), c.nullable) for c in fields)
            )
        return self.add_leaf(chain)

    def chunks(self, name: str) -> list[Any] | None:
        """The chunks of a top-level leaf; None for a nested column."""
        at = next((i for i, leaf in enumerate(self.leaves) if leaf.path == (name,)), None)
        groups = range(self.metadata.num_row_groups)
        return None if at is None else [self.metadata.row_group(g).column(at) for g in groups]

    def add_leaf(self, chain: tuple[_Node, ...]) -> DataType:
        column = self.metadata.schema.column(self.at)
        form = logical_form(column.logical_type)
        chunks = [self.metadata.row_group(g).column(self.at) for g in range(self.metadata.num_row_groups)]
        unit = form.get("timeUnit") if form["Type"] == "Timestamp" else None
        codec = chunks[0].compression if chunks else ""
        self.leaves.append(Leaf(chain[-1].path, column.physical_type, count_absent(chunks), unit, codec))
        self.chains.append(chain)
        self.at += 1
        return leaf_type(column.physical_type, form)


def count_absent(chunks: Iterable[Any]) -> int | None:
    """The absent values of a leaf's chunks; None where one does not say how many, or says less than none."""
    total = 0
    for chunk in chunks:
        statistics = chunk.statistics if chunk.is_stats_set else None
        if statistics is None or not statistics.has_null_count or statistics.null_count < 0:
            return None
        total += statistics.null_count
    return total


def read_footers(paths: Iterable[str]) -> list[Footer]:
    """The footers of local Parquet files, in the order given. Raises `FooterError` and `Undecodable`."""
    return [read_footer(path) for path in paths]


def fold_footers(footers: Iterable[Footer]) -> list[Footer]:
    """Footers that say the same become one with the sum of their counts, so that memory stays flat over many files."""
    groups: dict[Any, Footer] = {}
    for footer in footers:
        units = tuple((leaf.unit, leaf.codec, leaf.absent is None) for leaf in footer.leaves)
        paths = tuple((p.column, p.agrees) for p in footer.in_path)
        key = footer.schema, frozenset(footer.nulls), footer.rows > 0, units, footer.created_by, footer.described, paths
        known = groups.get(key)
        groups[key] = footer if known is None else _merge_footers(known, footer)
    return list(groups.values())


def _merge_footers(a: Footer, b: Footer) -> Footer:
    leaves = tuple(
        one if one.absent is None or two.absent is None else evolve(one, absent=one.absent + two.absent)
        for one, two in zip(a.leaves, b.leaves)
    )
    return evolve(
        a,
        rows=a.rows + b.rows,
        row_groups=a.row_groups + b.row_groups,
        nulls={path: a.nulls[path] + b.nulls[path] for path in a.nulls},
        leaves=leaves,
        bytes=None if a.bytes is None or b.bytes is None else a.bytes + b.bytes,
        files=a.files + b.files,
    )


def read_footer(path: str, tail: bytes | None = None) -> Footer:
    """The footer of one file; nothing else of it is read. `tail`: its last bytes, where pyarrow cannot open the file,
    from the footer's start on. Raises `FooterError`, and `Undecodable` where the footer is encrypted."""
    return footer_of(path, metadata_of(path, tail))


def footer_of(path: str, metadata: Any) -> Footer:
    """What pyarrow's `FileMetaData` of a file says. Raises `FooterError`, and `Undecodable` for a type too deep."""
    try:
        return _footer_of(path, metadata)
    except (pa.ArrowException, ValueError) as error:  # A name that is no text shows when it is asked for.
        raise FooterError(f"{path}: no readable Parquet footer: {error}") from error
    except RecursionError as error:
        raise Undecodable(f"{path}: a column of too many levels") from error


def _footer_of(path: str, metadata: Any) -> Footer:
    arrow = metadata.schema.to_arrow_schema()
    tree = _Tree(metadata)
    stated, of_iceberg = (
        _read_spark_types(metadata.metadata or {}),
        _read_iceberg_types(metadata.metadata or {}, len(arrow)),
    )
    fields = []
    for f, form in zip(arrow, of_iceberg):
        found = add_variants(tree.add_field(f, f.name, (), False), form)
        known = stated.get(f.name)
        fields.append(PhysicalField(f.name, refine_type(found, known) if known is not None else found, f.nullable))
    created_by = metadata.created_by or ""
    version = (metadata.metadata or {}).get(_SPARK_VERSION)
    return Footer(
        path,
        PhysicalSchema(tuple(fields)),
        metadata.num_rows,
        metadata.num_row_groups,
        _count_nulls(tree, created_by.startswith("parquet-mr")),
        tuple(tree.leaves),
        created_by,
        version.decode() if version else None,
        os.path.getsize(path) if os.path.isfile(path) else None,
        described=tuple(stated) or None,
        in_path=tuple(compare_path(path, [f.name for f in fields], tree.chunks)) if "=" in path else (),
    )


def metadata_of(path: str, tail: bytes | None = None) -> Any:
    """pyarrow's `FileMetaData`, of a file whose columns pyarrow can be asked for. Raises as `read_footer` does."""
    try:
        tail = _read_ending(path) if tail is None else tail
        if tail[-4:] == _ENCRYPTED or any(mark in tail for mark in _KEYS):
            raise Undecodable(f"{path}: it is encrypted")
        return pq.read_metadata(io.BytesIO(_MAGIC + tail))
    except FooterError:
        raise
    except MemoryError as error:
        raise Undecodable(f"{path}: pyarrow cannot hold its footer here: {error}") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FooterError(f"{path}: no readable Parquet footer: {error}") from error


def _read_ending(path: str) -> bytes:
    """The file's bytes from its footer's start on. Raises `OSError`, and `FooterError` for what ends otherwise."""
    with open_regular(path) as file:
        size = file.seek(0, os.SEEK_END)
        start = max(0, size - _ASSUMED)
        file.seek(start)
        end = file.read()
        length = int.from_bytes(end[-8:-4], "little") + 8
        if end[-4:] not in (_MAGIC, _ENCRYPTED) or length > size:
            raise FooterError(f"{path}: no readable Parquet footer: it does not end as a Parquet file does")
        if length > len(end):
            file.seek(size - length)
            end = file.read()
    return end[-length:]


def _read_spark_types(metadata: Mapping[bytes, bytes]) -> Mapping[str, DataType]:
    """The types by column name that Spark wrote beside the file's own schema; empty where there are none."""
    text = metadata.get(_SPARK_SCHEMA)
    return {} if text is None else _parse_spark_types(text)


@lru_cache(maxsize=64)
def _parse_spark_types(text: bytes) -> Mapping[str, DataType]:
    """All files of one write say the same."""
    try:
        struct = from_json(text.decode())
    except (ValueError, KeyError, TypeSyntaxError):
        return {}
    return {f.name: f.type for f in struct.fields} if isinstance(struct, Struct) else {}


def _read_iceberg_types(metadata: Mapping[bytes, bytes], columns: int) -> Sequence[Any]:
    """The types by position that Iceberg wrote beside the file's own schema, in its JSON; None where there are none."""
    try:
        forms = [field["type"] for field in json.loads(metadata.get(_ICEBERG_SCHEMA) or "{}").get("fields", ())]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        forms = []
    return forms if len(forms) == columns else [None] * columns


def _count_nulls(tree: _Tree, counts_parents: bool) -> dict[Path, int]:
    """Exact null counts per path.

    A REQUIRED place has none. A leaf without absent values proves that nothing above it is null either, where the
    writer counts absent parents (parquet-mr does; others are believed for top-level leaves only). A leaf's own count
    is exact where nothing above it is repeated or can be null.
    """
    nulls: dict[Path, int] = {}
    for chain, leaf in zip(tree.chains, tree.leaves):
        nulls.update({node.path: 0 for node in chain if not node.nullable})
        if leaf.absent == 0 and (counts_parents or len(chain) == 1):
            nulls.update({node.path: 0 for node in chain})
    for chain, leaf in zip(tree.chains, tree.leaves):
        exact = not chain[-1].repeated and all(nulls.get(node.path) == 0 for node in chain[:-1])
        believed = counts_parents or len(chain) == 1
        if leaf.absent is not None and exact and believed and chain[-1].nullable:
            nulls[leaf.path] = leaf.absent
    return nulls


def read_row_groups(
    paths: Iterable[str], limit: int | None = None, rows: int | None = None
) -> Iterator[tuple[str, int, Any]]:
    """Every row group of the files as a pyarrow Table, with its file and number.

    With a `limit`: the first and the last of each file, at most `limit` in all. With `rows`: not more of each, so that
    only their pages are decoded. Raises `FooterError` for a damaged file, and `Undecodable` for one that pyarrow cannot
    hold (a codec, nested text beyond 2 GB, memory).
    """
    given = 0
    for path in paths:
        try:
            with (
                open_regular(path) as opened,
                pq.ParquetFile(opened, **({} if rows is None else _PAGE_BY_PAGE)) as file,
            ):
                count = file.num_row_groups
                wanted = range(count) if limit is None else sorted({0, count - 1} & set(range(count)))
                for number in wanted:
                    if limit is not None and given >= limit:
                        return
                    given += 1
                    yield (
                        path,
                        number,
                        file.read_row_group(number) if rows is None else _read_beginning(file, number, rows),
                    )
        except (NotImplementedError, MemoryError) as error:
            raise Undecodable(f"{path}: pyarrow cannot decode it here: {error}") from error
        except (pa.ArrowException, OSError, ValueError) as error:
            if "crypt" in str(error).lower():
                raise Undecodable(f"{path}: its columns are encrypted") from error
            raise FooterError(f"{path}: cannot be decoded: {error}") from error


def _read_beginning(file: pq.ParquetFile, number: int, rows: int) -> pa.Table:
    found = next(file.iter_batches(rows, row_groups=[number], use_threads=False), None)
    return file.read_row_group(number) if found is None else pa.Table.from_batches([found])
