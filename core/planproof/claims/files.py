"""The claim of Parquet files: one schema, and facts over all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from planproof.arrow.footers import Footer, Undecodable, folded, read_footer, read_footers
from planproof.arrow.isolated import CannotRead, NoProcess, isolated
from planproof_engine.claim import Claim, Facts, Path
from planproof_engine.schema import PhysicalSchema

AS_A_JOB = 4000
"""With at least so many files, Spark's workers read the footers."""
AT_ONCE = 8
"""Footers that are fetched at once from a file system that only Spark reaches."""

_Reader = Callable[[Sequence[str], "Sequence[bytes] | None"], Iterable[Footer]]
"""Reads the footers of files, by what was fetched of their ends where they are not on this machine."""


def read(paths: Sequence[str], session: Any = None, others: bool = False) -> tuple[Claim, list[Footer]]:
    """The claim of the files at `paths` together, and their footers, folded: one for all files that say the same.

    The schema is that of the first file with rows: whether the others agree is an invariant, not a claim. With a
    `session`, files that are not on this machine are read through Spark's own client, and many as a Spark job. What
    `others` wrote is read in a process that a damaged footer may end. Raises `FooterError` and `Undecodable`.
    """
    footers = folded(_footers(paths, session, _read_isolated if others else _here))
    first = next((f for f in footers if f.rows), footers[0] if footers else None)
    count = sum(f.files for f in footers)
    what = f"the footer of {'the one file' if count == 1 else f'each of {count} files'}"
    return Claim("files", first.schema if first else PhysicalSchema(), facts(footers), what=what), footers


def _footers(paths: Sequence[str], session: Any, read: _Reader) -> Iterable[Footer]:
    if session is not None and any(session.local_path(path) is None for path in paths):
        return _fetched(paths, session, read)
    if session is not None and len(paths) >= AS_A_JOB:
        found: list[Footer] | None = session.spread(_chunk, paths)
        if found is not None:
            return found
    return read(paths, None)


def _here(paths: Sequence[str], tails: Sequence[bytes] | None) -> Iterable[Footer]:
    return map(read_footer, paths, tails) if tails is not None else map(read_footer, paths)


def _read_isolated(paths: Sequence[str], tails: Sequence[bytes] | None) -> Iterable[Footer]:
    """The same in a process of its own. Where that ends, it reads them by halves, so that the message names one."""
    try:
        return isolated(_read, paths, tails)
    except NoProcess:
        return _here(paths, tails)
    except CannotRead as error:
        if len(paths) == 1:
            raise Undecodable(f"{paths[0]}: no footer that pyarrow reads: {error}") from error
    half = len(paths) // 2
    parts = [(paths[at], tails[at] if tails is not None else None) for at in (slice(half), slice(half, None))]
    return [footer for part in parts for footer in _read_isolated(*part)]


def _read(paths: Sequence[str], tails: Sequence[bytes] | None) -> list[Footer]:
    return folded(_here(paths, tails))


def _fetched(paths: Sequence[str], session: Any, read: _Reader) -> Iterator[Footer]:
    """Reads footers through Spark's own client, several at once: a distant store answers late."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for start in range(0, len(paths), AT_ONCE * 32):
            part = paths[start : start + AT_ONCE * 32]
            yield from read(part, list(pool.map(session.footer, part)))


def _chunk(paths: Iterable[str]) -> list[Footer]:
    """What a worker does with its share of the files."""
    return folded(read_footers(paths))


def facts(footers: Sequence[Footer]) -> Facts:
    """Rows and exact null counts over all files; a place that one file with rows does not count is not known."""
    filled = [f for f in footers if f.rows]
    count = sum(f.files for f in footers)
    source = f"the footers of {count} file{'' if count == 1 else 's'}"
    if not filled:
        nulls: dict[Path, int] = {path: 0 for f in footers for path in f.nulls}
        return Facts(0, nulls, count, source)
    shared = set(filled[0].nulls).intersection(*(f.nulls for f in filled[1:]))
    nulls = {path: sum(f.nulls[path] for f in filled) for path in sorted(shared)}
    return Facts(sum(f.rows for f in filled), nulls, count, source)
