"""Counts for data tests over one column of Parquet files that this process reads: a small table needs no Spark job.

Only values that compare as their stored forms do: whole numbers, text, dates, booleans and decimals. Floating point
numbers have two zeros and many NaNs, and what a timestamp is depends on how it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from planproof.arrow.footers import FooterError, Undecodable, count_absent, metadata_of
from planproof.arrow.leaves import spark_type
from planproof.regular import open_regular
from planproof_engine.types import BOOLEAN, BYTE, DATE, INT, LONG, SHORT, STRING, DataType, Decimal

MOST_ROWS = 2_000_000
"""With more rows than these Spark counts faster than one thread here."""
_COMPARED = (BOOLEAN, BYTE, SHORT, INT, LONG, STRING, DATE)


def is_comparable(t: DataType) -> bool:
    """Whether values of a type are equal exactly where their stored forms are."""
    return t in _COMPARED or isinstance(t, Decimal)


def count_nulls(paths: Iterable[str], column: str) -> int | None:
    """The nulls of a top-level column, from the footers alone; None where they do not tell."""
    total = 0
    try:
        for path in paths:
            metadata = metadata_of(path)
            at = _position(metadata, column)
            if at is None:
                return None
            groups = map(metadata.row_group, range(metadata.num_row_groups))
            absent = count_absent(group.column(at) for group in groups if group.num_rows)
            if absent is None:
                return None
            total += absent
    except (FooterError, Undecodable):
        return None
    return total


def count_repeated(paths: Sequence[str], column: str, t: DataType) -> int | None:
    """How many values other than NULL stand more than once in a column of Spark's type `t`."""
    values = _read_values(paths, column, t)
    if values is None:
        return None
    counts = values.value_counts()
    return _count_true(pc.greater(counts.field("counts"), 1))


def count_unaccepted(paths: Sequence[str], column: str, accepted: Sequence[str]) -> int | None:
    """How many values of a text column are none of the accepted ones, each counted once."""
    values = _read_values(paths, column, STRING)
    if values is None:
        return None
    found = values.unique()
    return len(found) - _count_among(found, pa.array(accepted, found.type))


def count_without_match(
    paths: Sequence[str], column: str, others: Sequence[str], field: str, t: DataType
) -> int | None:
    """How many rows hold a value other than NULL that the field of other files, of the same type, does not."""
    values, known = _read_values(paths, column, t), _read_values(others, field, t)
    if values is None or known is None:
        return None
    return len(values) - _count_among(values, known.unique())


def count_refused(paths: Sequence[str], column: str, refused: Sequence[str]) -> int | None:
    """How many values of a text column are one of the refused ones, each counted once."""
    values = _read_values(paths, column, STRING)
    return None if values is None else _count_among(values.unique(), pa.array(refused, values.type))


def count_blank(paths: Sequence[str], column: str) -> int | None:
    """How many rows hold a text of nothing but spaces (Spark's `trim` takes these alone away)."""
    values = _read_values(paths, column, STRING)
    return None if values is None else _count_true(pc.equal(pc.utf8_trim(values, " "), ""))


def count_outside(paths: Sequence[str], column: str, t: DataType, least: str, most: str) -> int | None:
    """How many rows hold a number that is not in a range: bounds as `>=1` or `<9`, an empty text for none."""
    values = _read_values(paths, column, t) if t in _WHOLE else None
    if values is None:
        return None
    failing = 0
    bounds = [(bound.rstrip("-0123456789"), int(bound.lstrip("<>="))) for bound in (least, most) if bound]
    for sign, number in bounds:
        if abs(number) >= 1 << 63:
            return None
        # No number is in this range: the same row could be counted for both bounds.
        failing += len(values) - _count_true(_COMPARISONS[sign](pc.cast(values, pa.int64()), number))
    return None if failing and len(bounds) == 2 and bounds[0][1] >= bounds[1][1] else failing


def count_repeated_rows(paths: Sequence[str], columns: Sequence[str], types: Sequence[DataType]) -> int | None:
    """How many combinations of values stand on more than one row; here a null equals a null."""
    read = [_read_values(paths, column, t, nulls=True) for column, t in zip(columns, types)]
    if None in read:
        return None
    table = pa.table(read, names=[str(at) for at in range(len(read))])
    counts = table.group_by(table.column_names).aggregate([([], "count_all")]).column("count_all")
    return _count_true(pc.greater(counts, 1))


def count_distinct(paths: Sequence[str], column: str, t: DataType) -> int | None:
    """How many values other than NULL there are, each counted once."""
    values = _read_values(paths, column, t)
    return None if values is None else int(pc.count_distinct(values).as_py())


def count_rows(paths: Iterable[str]) -> int | None:
    """How many rows the footers count."""
    try:
        return sum(int(metadata_of(path).num_rows) for path in paths)
    except (FooterError, Undecodable):
        return None


_WHOLE = (BYTE, SHORT, INT, LONG)
_COMPARISONS = {">": pc.greater, ">=": pc.greater_equal, "<": pc.less, "<=": pc.less_equal}


def _count_true(flags: pa.ChunkedArray | pa.Array) -> int:
    return int(pc.sum(pc.cast(flags, pa.int64())).as_py() or 0)


def _count_among(values: pa.ChunkedArray | pa.Array, known: pa.Array) -> int:
    return _count_true(pc.is_in(values, value_set=known))


def _read_values(paths: Sequence[str], column: str, t: DataType, nulls: bool = False) -> pa.ChunkedArray | None:
    """The column's values, without nulls unless these count; None for another type, too many rows, or a file that
    cannot be read here."""
    if not is_comparable(t):
        return None
    chunks: list[pa.Array] = []
    try:
        metadata = [metadata_of(path) for path in paths]
        if sum(m.num_rows for m in metadata) > MOST_ROWS or any(_position(m, column) is None for m in metadata):
            return None
        for path in paths:
            with open_regular(path) as file:
                chunks += pq.ParquetFile(file).read(columns=[column]).column(0).chunks
    except (FooterError, Undecodable, pa.ArrowException, OSError):
        return None
    kinds = {chunk.type for chunk in chunks}
    if len(kinds) != 1 or spark_type(kind := kinds.pop()) != t:
        return None
    values = pa.chunked_array(chunks, kind)
    return values if nulls else values.drop_null()


def _position(metadata: pq.FileMetaData, column: str) -> int | None:
    """Where a top-level column of single values stands among the leaves; a dot in its name could be a path."""
    leaves = [metadata.schema.column(i) for i in range(metadata.num_columns)]
    at = [i for i, leaf in enumerate(leaves) if leaf.path == column and "." not in column]
    return at[0] if len(at) == 1 and not leaves[at[0]].max_repetition_level else None
