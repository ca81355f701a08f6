"""Between which whole numbers a stored column's values lie, from the statistics in Parquet footers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planproof.arrow.footers import FooterError, Undecodable, metadata_of
from planproof.arrow.leaves import leaf_type, logical_form
from planproof_engine.types import is_integral

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
