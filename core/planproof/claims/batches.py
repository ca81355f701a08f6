"""Arrow batches: row groups of files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planproof.arrow.footers import Footer, FooterError, Undecodable, read_row_groups
from planproof.arrow.isolated import CannotRead, run_isolated_or_here
from planproof.arrow.leaves import physical_schema
from planproof.invariants.batches import check
from planproof.report import format_count
from planproof_engine import Finding, Verdict
from planproof_engine.claim import ALL, PART, SAMPLE, Claim

MOST = 2
"""At most so many row groups make a sample."""
ROWS = 8192
"""So many rows of each row group make a sample: to decode a whole row group of a large write costs a fifth of writing
it."""


def read(paths: Sequence[str], mode: str, footers: Sequence[Footer]) -> tuple[Claim | None, list[Finding]]:
    """The claim of the batches that Parquet files decode to, and I2 over them; no claim where none could be decoded.

    `sample` decodes the beginnings of the first and the last row group of each file, at most `MOST` of them; `all`
    decodes everything. `footers` are the files' footers, which say how many row groups and rows there are. A damaged
    file is a violation, unless it ends the process that reads it. Raises `Undecodable`.
    """
    try:
        return run_isolated_or_here(_read, paths, mode, footers)
    except CannotRead as error:
        raise Undecodable(f"a file of {format_count(len(paths), 'file')} cannot be decoded: {error}") from error


def _read(paths: Sequence[str], mode: str, footers: Sequence[Footer]) -> tuple[Claim | None, list[Finding]]:
    found: list[Finding] = []
    damaged = False
    first: Any = None
    seen: list[tuple[str, int]] = []
    try:
        for path, number, table in read_row_groups(paths, *((None, None) if mode == "all" else (MOST, ROWS))):
            found += check(table, f"{path}, row group {number}")
            first = table if first is None else first
            seen.append((path, table.num_rows))
    except FooterError as error:
        damaged = True
        found.append(Finding(Verdict.VIOLATED, "PP301", "batches", message=str(error)))
    if first is None:
        return None, found
    everything = not damaged and sum(rows for _, rows in seen) == sum(f.rows for f in footers)
    what = _describe_sample(seen, footers)
    looked_at = PART if damaged else ALL if everything else SAMPLE
    return Claim("batches", physical_schema(first.schema), looked_at=looked_at, what=what), found


def _describe_sample(seen: Sequence[tuple[str, int]], footers: Sequence[Footer]) -> str:
    """
    >>> from planproof_engine.schema import PhysicalSchema
    >>> _describe_sample([("a", 8192), ("a", 5)], [Footer("a", PhysicalSchema(), 20000, 3, {}, (), "", files=2)])
    '8,197 of 20,000 rows, in 2 of 3 row groups and 1 of 2 files'
    """
    rows, groups, files = sum(n for _, n in seen), len(seen), len({path for path, _ in seen})
    of = sum(f.rows for f in footers), sum(f.row_groups for f in footers), sum(f.files for f in footers)
    of_groups, of_files = format_count(of[1], "row group"), format_count(of[2], "file")
    return f"{rows:,} of {of[0]:,} rows, in {groups} of {of_groups} and {files} of {of_files}"
