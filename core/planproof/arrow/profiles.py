"""What footers say of the values of top-level columns: nulls, the least and the greatest value, and why one is unknown.

Bounds are those of Parquet's statistics. A text of `CUT` bytes or more may have been cut by its writer, and counts as
unknown; NaN is outside of every bound, and a bound that is NaN is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from planproof.arrow.footers import FooterError, Undecodable, metadata_of
from planproof.arrow.leaves import leaf_type, logical_form
from planproof_engine import fold_name
from planproof_engine.types import is_integral

CUT = 64
"""Bytes from which on writers cut texts in statistics (parquet-rs; others do where they are told to)."""


@dataclass(frozen=True, slots=True)
class Extent:
    """A column's values in some rows: None for what is not known; `unknown` says why the bounds are not, where there
    are values that have some."""

    nulls: int | None
    low: Any = None
    high: Any = None
    unknown: str | None = None

    def join(self, other: Extent) -> Extent:
        """The values of both."""
        nulls = None if self.nulls is None or other.nulls is None else self.nulls + other.nulls
        unknown = self.unknown or other.unknown
        if unknown:
            return Extent(nulls, unknown=unknown)
        if self.low is None or other.low is None:
            known = other if self.low is None else self
            return Extent(nulls, known.low, known.high)
        try:
            return Extent(nulls, min(self.low, other.low), max(self.high, other.high))
        except TypeError:
            return Extent(nulls, unknown="files hold it in types that do not compare")


def read_all_extents(
    paths: Sequence[str], tails: Sequence[bytes] | None = None
) -> list[tuple[int, Mapping[str, Extent]]]:
    """`read_extents` of several files, by what was fetched of their ends where pyarrow cannot open them."""
    return list(map(read_extents, paths, tails) if tails is not None else map(read_extents, paths))


def read_extents(path: str, tail: bytes | None = None) -> tuple[int, Mapping[str, Extent]]:
    """The rows of one file, and its top-level columns by name in lower case. Raises `FooterError`, `Undecodable`."""
    metadata = metadata_of(path, tail)
    found: dict[str, Extent] = {}
    for at in range(metadata.num_columns):
        leaf = metadata.schema.column(at)
        if leaf.path == leaf.name and not leaf.max_repetition_level:
            found[fold_name(str(leaf.name))] = _leaf_extent(metadata, at, leaf)
    if len(found) < metadata.num_columns:
        for name in _list_columns(metadata, path):
            found.setdefault(fold_name(name), Extent(None, unknown="nested values have no bounds"))
    return metadata.num_rows, found


def _list_columns(metadata: Any, path: str) -> list[str]:
    """The top-level columns: a dot may stand in a name, so that the path of an inner leaf does not tell."""
    try:
        return list(metadata.schema.to_arrow_schema().names)
    except pa.ArrowException as error:
        raise Undecodable(f"{path}: {error}") from error


def _leaf_extent(metadata: Any, at: int, leaf: Any) -> Extent:
    found = Extent(0)
    for group in (metadata.row_group(number) for number in range(metadata.num_row_groups)):
        if group.num_rows:
            found = found.join(_chunk_extent(group.column(at), group.num_rows, leaf))
    return found


def _chunk_extent(chunk: Any, rows: int, leaf: Any) -> Extent:
    statistics = chunk.statistics if chunk.is_stats_set else None
    if leaf.max_definition_level == 0:
        nulls: int | None = 0
    else:
        nulls = statistics.null_count if statistics is not None and statistics.has_null_count else None
    if nulls == rows:
        return Extent(nulls)
    if leaf.physical_type == "INT96":
        return Extent(nulls, unknown="INT96 has no bounds")
    if statistics is None or not statistics.has_min_max:
        return Extent(nulls, unknown="the file has no bounds of it")
    if logical_form(leaf.logical_type)["Type"] in ("None", "Undefined") and "BYTE_ARRAY" in leaf.physical_type:
        return Extent(nulls, unknown="binary values have no text")
    return _read_bounds(nulls, statistics)


def _read_bounds(nulls: int | None, statistics: Any) -> Extent:
    try:
        low, high = statistics.min, statistics.max
    except (ValueError, NotImplementedError, OverflowError) as error:  # A date beyond Python's years, for one.
        return Extent(nulls, unknown=f"its bounds cannot be read: {error}")
    if any(isinstance(bound, float) and math.isnan(bound) for bound in (low, high)):
        return Extent(nulls, unknown="NaN stands in its bounds")
    if any(isinstance(bound, str) and len(bound.encode()) >= CUT for bound in (low, high)):
        return Extent(nulls, unknown=f"texts of {CUT} bytes or more may be cut")
    if isinstance(low, (bytes, bytearray)) or isinstance(high, (bytes, bytearray)):
        return Extent(nulls, unknown="binary values have no text")
    return Extent(nulls, low, high)


EMPTY = (0, -1)
"""The range of a column without a value."""


def read_number_range(paths: Iterable[str], column: str) -> tuple[int, int] | None:
    """The least and the greatest value of a top-level column over all files; `EMPTY` where it has none.

    None where a file does not tell: no such column, another type, no statistics, no readable footer.
    """
    found = EMPTY
    for path in paths:
        try:
            within = _read_range(metadata_of(path), column)
        except (FooterError, Undecodable):
            return None
        if within is None:
            return None
        found = _join_ranges(found, within)
    return found


def _read_range(metadata: Any, column: str) -> tuple[int, int] | None:
    at = _position(metadata, column)
    if at is None:
        return None
    found = EMPTY
    for group in (metadata.row_group(number) for number in range(metadata.num_row_groups)):
        statistics = group.column(at).statistics if group.num_rows and group.column(at).is_stats_set else None
        if statistics is not None and statistics.has_min_max:
            found = _join_ranges(found, (int(statistics.min), int(statistics.max)))
        elif group.num_rows and not _is_all_null(statistics, group.num_rows):
            return None
    return found


def _is_all_null(statistics: Any, rows: int) -> bool:
    return statistics is not None and statistics.has_null_count and statistics.null_count == rows


def _position(metadata: Any, column: str) -> int | None:
    """Where the column stands among the leaves; a dot in its name could be a path."""
    leaves = [metadata.schema.column(i) for i in range(metadata.num_columns)]
    at = [i for i, leaf in enumerate(leaves) if leaf.path == column and "." not in column]
    if len(at) != 1 or leaves[at[0]].max_repetition_level:
        return None
    form = logical_form(leaves[at[0]].logical_type)
    is_signed = form["Type"] != "Int" or form["isSigned"]
    return at[0] if is_signed and is_integral(leaf_type(leaves[at[0]].physical_type, form)) else None


def _join_ranges(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    if EMPTY in (one, other):
        return one if other == EMPTY else other
    return min(one[0], other[0]), max(one[1], other[1])
