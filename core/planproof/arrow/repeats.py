"""Rows of arguments that repeat: a deterministic plain Python function is called once for each different row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from planproof.arrow.values import is_plain

_PART, _LEAST, _NEW = 16, 64, 0.9
"""One row in `_PART` is tried first, `_LEAST` at least: looking for repeats costs as much as a short function. Where
nine in ten of these are new, about a third of all rows is."""


def find_distinct(arrays: Sequence[Any]) -> tuple[list[Any], Any] | None:
    """The arrays without the rows that repeat, and for each row its place in them; None where most rows do not.

    Values are equal here where their bits are: -0.0 and 0.0 differ, and no NaN equals another one.
    """
    rows = len(arrays[0]) if arrays else 0
    if not rows or not all(is_plain(a.type) for a in arrays):
        return None
    tried = max(rows // _PART, min(rows, _LEAST))
    if _encode_rows([a.slice(0, tried) for a in arrays])[1] > _NEW * tried:
        return None
    codes, count = _encode_rows(arrays)
    seen = pc.cumulative_max(codes)
    later = pc.add(pc.indices_nonzero(pc.not_equal(seen.slice(1), seen.slice(0, rows - 1))), pa.scalar(1, pa.uint64()))
    firsts = pa.concat_arrays([pa.array([0], later.type), later])
    # A code is the number of rows that came before with another one, so that the first of each is the greatest so far.
    return ([a.take(firsts) for a in arrays], codes) if len(firsts) == count else None


def _encode_rows(arrays: Sequence[Any]) -> tuple[Any, int]:
    """A number per row, equal for equal rows and counted up as they appear, and how many there are."""
    codes, count = _encode_column(arrays[0])
    for array in arrays[1:]:
        other, width = _encode_column(array)
        both = pc.add(pc.multiply(codes.cast(pa.int64()), pa.scalar(width, pa.int64())), other.cast(pa.int64()))
        codes, count = _encode_column(both)
    return codes, count


def _encode_column(array: Any) -> tuple[Any, int]:
    if pa.types.is_floating(array.type):
        array = array.view(pa.int64() if array.type == pa.float64() else pa.int32())
    found = array.dictionary_encode(null_encoding="encode")
    return found.indices, len(found.dictionary)
