"""The columns on which the footers of several files agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planproof.arrow.isolated import GIB, CannotRead, run_isolated
from planproof_engine.records import record
from planproof_engine.types import DataType

if TYPE_CHECKING:
    from planproof.arrow.footers import Footer

_SECONDS = 60
_BYTES = 2 * GIB
MOST_COLUMNS = 20_000
"""Of one file: each costs some 50 microseconds here, and more where it is planned with."""


@record(frozen=True, slots=True)
class Columns:
    """What the footers of several files say together: the columns of them all, the rows, and which columns hold no null
    in any of these."""

    columns: tuple[tuple[str, DataType], ...]
    rows: int
    without_null: frozenset[str]


def agreed_columns(paths: Sequence[str]) -> Columns | None:
    """The columns of local Parquet files; None where the files do not agree. Raises `CannotRead`, also where pyarrow is
    not installed."""
    return run_isolated(_read_agreed, paths, seconds=_SECONDS, size=_BYTES)


def _read_agreed(paths: Sequence[str]) -> Columns | None:
    try:
        from planproof.arrow.footers import FooterError, Undecodable
    except ImportError as error:
        raise CannotRead(str(error)) from error
    try:
        footers = [_bounded_footer(path) for path in paths]
    except (FooterError, Undecodable) as error:
        raise CannotRead(str(error)) from error
    if not footers or any(footer.schema != footers[0].schema for footer in footers):
        return None
    columns = tuple((f.name, f.type) for f in footers[0].schema.as_nullable())
    without_null = frozenset(name for name, _ in columns if all(footer.nulls.get((name,)) == 0 for footer in footers))
    return Columns(columns, sum(footer.rows for footer in footers), without_null)


def _bounded_footer(path: str) -> Footer:
    from planproof.arrow.footers import footer_of, metadata_of

    metadata = metadata_of(path)
    if metadata.num_columns > MOST_COLUMNS:
        raise CannotRead(f"{path} has {metadata.num_columns:,} columns; at most {MOST_COLUMNS:,} are read")
    return footer_of(path, metadata)
