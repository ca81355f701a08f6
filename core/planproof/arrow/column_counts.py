"""What a data test counts in one column of Parquet files, read here: a small table needs no job for that.

Only values that compare as their stored forms do: whole numbers, text, dates, booleans and decimals. Floating point
numbers have two zeros and many NaNs, and what a timestamp is depends on how it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from planproof.arrow.footers import FooterError, Undecodable, metadata_of
from planproof.arrow.types import spark_type
from planproof.types import BOOLEAN, BYTE, DATE, INT, LONG, SHORT, STRING, DataType, Decimal

MOST_ROWS = 2_000_000
"""Beyond so many rows Spark counts faster than one thread here does."""
_COMPARED = (BOOLEAN, BYTE, SHORT, INT, LONG, STRING, DATE)


def nulls(paths: Iterable[str], column: str) -> int | None:
    """The nulls of a top-level column, from the footers alone; None where they do not tell."""
    total = 0
    try:
        for path in paths:
            metadata = metadata_of(path)
            at = _position(metadata, column)
            if at is None:
                return None
            for group in (metadata.row_group(number) for number in range(metadata.num_row_groups)):
                statistics = group.column(at).statistics if group.column(at).is_stats_set else None
                if group.num_rows and (statistics is None or not statistics.has_null_count):
                    return None
                total += statistics.null_count if statistics is not None else 0
    except (FooterError, Undecodable):
        return None
    return total


def repeated(paths: Sequence[str], column: str, t: DataType) -> int | None:
    """How many values other than NULL stand more than once in a column of Spark's type `t`."""
    values = _values(paths, column, t)
    if values is None:
        return None
    counts = values.value_counts()
    return int(pc.sum(pc.cast(pc.greater(counts.field("counts"), 1), pa.int64())).as_py() or 0)


def beside(paths: Sequence[str], column: str, accepted: Sequence[str]) -> int | None:
    """How many values of a text column are none of the accepted ones, each counted once."""
    values = _values(paths, column, STRING)
    if values is None:
        return None
    found = values.unique()
    return len(found) - _among(found, pa.array(accepted, found.type))


def without_match(paths: Sequence[str], column: str, others: Sequence[str], field: str, t: DataType) -> int | None:
    """How many rows hold a value other than NULL that the field of other files, of the same type, does not."""
    values, known = _values(paths, column, t), _values(others, field, t)
    if values is None or known is None:
        return None
    return len(values) - _among(values, known.unique())


def _among(values: pa.ChunkedArray | pa.Array, known: pa.Array) -> int:
    return int(pc.sum(pc.cast(pc.is_in(values, value_set=known), pa.int64())).as_py() or 0)


def _values(paths: Sequence[str], column: str, t: DataType) -> pa.ChunkedArray | None:
    """The column's values without nulls; None for another type, too many rows, or a file that cannot be read here."""
    if t not in _COMPARED and not isinstance(t, Decimal):
        return None
    chunks: list[pa.Array] = []
    try:
        metadata = [metadata_of(path) for path in paths]
        if sum(m.num_rows for m in metadata) > MOST_ROWS or any(_position(m, column) is None for m in metadata):
            return None
        for path in paths:
            chunks += pq.ParquetFile(path).read(columns=[column]).column(0).chunks
    except (FooterError, Undecodable, pa.ArrowException, OSError):
        return None
    kinds = {chunk.type for chunk in chunks}
    if len(kinds) != 1 or spark_type(kind := kinds.pop()) != t:
        return None
    return pa.chunked_array(chunks, kind).drop_null()


def _position(metadata: pq.FileMetaData, column: str) -> int | None:
    """Where a top-level column of single values stands among the leaves; a dot in its name could be a path."""
    leaves = [metadata.schema.column(i) for i in range(metadata.num_columns)]
    at = [i for i, leaf in enumerate(leaves) if leaf.path == column and "." not in column]
    return at[0] if len(at) == 1 and not leaves[at[0]].max_repetition_level else None
