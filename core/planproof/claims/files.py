"""The claim of Parquet files: one schema, and facts over all rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from planproof.arrow.footers import Footer, Undecodable, fold_footers, read_footer, read_footers
from planproof.arrow.isolated import CannotRead, run_isolated_or_here
from planproof.report import format_count
from planproof_engine import PhysicalSchema
from planproof_engine.claim import Claim, Facts, Path

AS_A_JOB = 4000
"""With at least so many files, Spark's workers read the footers."""
AT_ONCE = 8
"""Footers that are fetched at once from a file system that only Spark reaches."""


def read(paths: Sequence[str], session: Any = None) -> tuple[Claim, list[Footer]]:
    """The claim of the files at `paths` together, and their footers, folded: one for all files that say the same.

    The schema is that of the first file with rows: whether the others agree is an invariant, not a claim. With a
    `session`, files that are not on this machine are read through Spark's own client, and many as a Spark job; the
    others in a process that a damaged footer may end. Raises `FooterError` and `Undecodable`.
    """
    footers = fold_footers(_footers(paths, session))
    first = next((f for f in footers if f.rows), footers[0] if footers else None)
    count = sum(f.files for f in footers)
    what = f"the footer of {'the one file' if count == 1 else f'each of {count} files'}"
    return Claim("files", first.schema if first else PhysicalSchema(), facts(footers), what=what), footers


def _footers(paths: Sequence[str], session: Any) -> Iterable[Footer]:
    if session is not None and any(session.local_path(path) is None for path in paths):
        return _fetch_footers(paths, session)
    if session is not None and len(paths) >= AS_A_JOB:
        found: list[Footer] | None = session.spread(_read_share, paths)
        if found is not None:
            return found
    return _read_isolated(paths, None)


def _read_isolated(paths: Sequence[str], tails: Sequence[bytes] | None) -> Iterable[Footer]:
    """Reads the footers of files, by what was fetched of their ends where they are not on this machine. Where a file
    ends the process that reads it, they are read by halves, so that the message names one."""
    try:
        return run_isolated_or_here(_read_folded, paths, tails)
    except CannotRead as error:
        if len(paths) == 1:
            raise Undecodable(f"{paths[0]}: no footer that pyarrow reads: {error}") from error
    half = len(paths) // 2
    parts = [(paths[at], tails[at] if tails is not None else None) for at in (slice(half), slice(half, None))]
    return [footer for part in parts for footer in _read_isolated(*part)]


def _read_folded(paths: Sequence[str], tails: Sequence[bytes] | None) -> list[Footer]:
    return fold_footers(map(read_footer, paths, tails) if tails is not None else map(read_footer, paths))


def _fetch_footers(paths: Sequence[str], session: Any) -> Iterator[Footer]:
    """Reads footers through Spark's own client, several at once: a distant store answers late."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for start in range(0, len(paths), AT_ONCE * 32):
            part = paths[start : start + AT_ONCE * 32]
            yield from _read_isolated(part, list(pool.map(session.footer, part)))


def _read_share(paths: Iterable[str]) -> list[Footer]:
    """What a worker does with its share of the files."""
    return fold_footers(read_footers(paths))


def facts(footers: Sequence[Footer]) -> Facts:
    """Rows and exact null counts over all files; a place that one file with rows does not count is not known."""
    filled = [f for f in footers if f.rows]
    count = sum(f.files for f in footers)
    source = f"the footers of {format_count(count, 'file')}"
    if not filled:
        nulls: dict[Path, int] = {path: 0 for f in footers for path in f.nulls}
        return Facts(0, nulls, count, source)
    shared = set(filled[0].nulls).intersection(*(f.nulls for f in filled[1:]))
    nulls = {path: sum(f.nulls[path] for f in filled) for path in sorted(shared)}
    return Facts(sum(f.rows for f in filled), nulls, count, source)
