"""What a publish is about to change, by the footers of the stored and of the staged files: no row is read.

Spark runs no job for it. Footers of a table with many files are not read, and the report says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache
from typing import Any

from planproof.arrow.footers import Undecodable
from planproof.arrow.isolated import CannotRead, run_isolated_or_here
from planproof.arrow.profiles import Extent, read_all_extents
from planproof.judge.draft import Effect
from planproof.publish.materialize.materialization import Job
from planproof.publish.notes import NotedPublication
from planproof.publish.transaction import JournaledPublication
from planproof.publish.transaction.partition import PartitionLocation, list_names, parse_values, partitions_of
from planproof.report.details import TableChange, TableVersion, Values
from planproof.session import Session, SparkFailure, StoredTable, local
from planproof.session.snapshots import DataFile, Unlisted
from planproof_engine import AnalysisError, ByColumn, PhysicalSchema, evolve, fold_name
from planproof_engine.types import DATE, DataType, String, is_integral

LOCAL, REMOTE = 200, 32
"""The most files of one version whose footers are read: on this machine, and on a file system that only Spark
reaches."""
AT_ONCE = 8
"""How many footers are fetched from there at once."""


@dataclass
class Seen:
    """The files of one version. `columns` by names in lower case; `keys` are the values of partition columns. A file
    without a column holds NULL there, as readers see it, or what the column is `filled` with."""

    filled: frozenset[str] = frozenset()

    rows: int = 0
    columns: dict[str, Extent] = field(default_factory=dict)
    keys: dict[str, set[Any]] = field(default_factory=dict)

    def add(self, rows: int, found: Mapping[str, Extent], wanted: Sequence[str]) -> None:
        self.rows += rows
        for name in wanted:
            lacking = (
                Extent(None, unknown="older files hold the column's default") if name in self.filled else Extent(rows)
            )
            new = found.get(name, lacking) if rows else Extent(0)
            known = self.columns.get(name)
            self.columns[name] = new if known is None else known.join(new)


_FAILURES = (Unlisted, Undecodable, CannotRead, SparkFailure, AnalysisError, OSError, ValueError)
Listing = Callable[[], Sequence[DataFile]]


def change(job: Job, publication: JournaledPublication) -> TableChange:
    """The target before and after this publish. What cannot be read is said; nothing is raised for it."""
    target = job.target if job.target is not None and job.target.kind == "table" else None
    stored = None if target is None else cache(lambda: _list_stored(job, target))
    try:
        where, schema = _locate_staged(job, publication)
        added = _list_files(job.session, where)
    except _FAILURES as error:
        return _compare(job, target, PhysicalSchema(()), stored, _raise(error))
    # A table forgets the flags. Where its schema stays, staged files are described without lengths.
    stays = target is not None and publication.unregistered is not None
    will = target.schema if target is not None and stays else schema.as_nullable()

    def after() -> Sequence[DataFile]:
        if stored is None or job.draft.effect is Effect.REPLACES:
            return added
        gone = {_parse(part) for part in where} if job.draft.effect is Effect.REPLACES_PARTITIONS else set()
        return [*(file for file in stored() if file.partition not in gone), *added]

    return _compare(job, target, will, stored, after)


def change_of_log(job: Job, publication: NotedPublication) -> TableChange:
    """As `change`, of a table whose log lists its files."""
    return _compare(
        job,
        job.target if job.target is not None and job.target.kind == "table" else None,
        publication.schema(),
        lambda: publication.list_before(LOCAL),
        lambda: publication.list_after(LOCAL),
    )


def _compare(
    job: Job, target: StoredTable | None, will: PhysicalSchema, before: Listing | None, after: Listing
) -> TableChange:
    footers = _Footers(job.session)
    filled = frozenset(map(fold_name, target.filled)) if target is not None else frozenset()
    old = None if target is None or before is None else _describe_version(footers, target.schema, before, filled)
    new = _describe_version(footers, will, after, filled)
    if new.unread is not None and job.draft.effect is Effect.REPLACES:
        new = evolve(new, rows=job.draft.rows)
    return TableChange(old, new)


def _raise(error: Exception) -> Listing:
    def fail() -> Sequence[DataFile]:
        raise error

    return fail


def _locate_staged(job: Job, publication: JournaledPublication) -> tuple[list[PartitionLocation], PhysicalSchema]:
    """Where the staged files lie, and their columns."""
    entry = publication.entry
    if publication.unregistered is not None:
        return [PartitionLocation("", entry.stage_location)], publication.unregistered
    staging = publication.stored(entry.staging)
    if staging is None:
        raise Unlisted("the staged table cannot be described")
    _refuse_untracked(staging)
    return partitions_of(job.session, entry.staging, staging), staging.schema


def _list_stored(job: Job, table: StoredTable) -> Sequence[DataFile]:
    """The files of the table that was published before."""
    if not table.is_plain_parquet:
        raise Unlisted(f"it is stored as {table.format}")
    _refuse_untracked(table)
    target = job.names.target.quoted
    # Names are listed at little cost, places are not.
    number = len(list_names(job.session, target)) if table.partition_by else 0
    if number > LOCAL:
        raise Unlisted(f"{number:,} partitions; at most {LOCAL} are looked at for this")
    return _list_files(job.session, partitions_of(job.session, target, table))


def _refuse_untracked(table: StoredTable) -> None:
    if table.partition_by and not table.tracked:
        raise Unlisted("the catalog does not hold its partitions")


def _list_files(session: Session, where: Iterable[PartitionLocation]) -> list[DataFile]:
    return [DataFile(path, _parse(part)) for part in where for path in session.files(part.local)]


def _parse(part: PartitionLocation) -> tuple[tuple[str, str | None], ...]:
    return tuple(parse_values(part.partition)) if part.partition else ()


class _Footers:
    """The footers of one publish's files, each read once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[str, tuple[int, Mapping[str, Extent]]] = {}

    def read(self, schema: PhysicalSchema, files: Sequence[DataFile], filled: frozenset[str]) -> Seen:
        paths = [file.path for file in files if file.path not in self._known]
        if paths:
            self._fetch(paths)
        seen, types = Seen(filled), ByColumn((f.name, f.type) for f in schema)
        for file in files:
            rows, columns = self._known[file.path]
            keys = {fold_name(n): partition_extent(types.get(fold_name(n)), text, rows) for n, text in file.partition}
            for name, extent in keys.items() if rows else ():
                seen.keys.setdefault(name, set()).add(extent.low)
            seen.add(rows, {**columns, **keys}, [*types])
        return seen

    def _fetch(self, paths: Sequence[str]) -> None:
        session = self._session
        here = [local(path) for path in paths]
        remote = None in here
        bound = REMOTE if remote else LOCAL
        if session.conf.case_sensitive:
            raise Unlisted("names differ by case in this session")
        if len(paths) > bound:
            raise Unlisted(f"{len(paths):,} files; at most {bound} are looked at for this")
        tails = _fetch_footers(session, paths) if remote else None
        found = run_isolated_or_here(read_all_extents, paths if remote else here, tails)
        self._known.update(zip(paths, found))


def _fetch_footers(session: Session, paths: Sequence[str]) -> list[bytes]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(session.footer, paths))


def _describe_version(
    footers: _Footers, schema: PhysicalSchema, files: Listing, filled: frozenset[str]
) -> TableVersion:
    try:
        seen = footers.read(schema, files(), filled)
    except _FAILURES as error:
        return TableVersion(None, unread=str(error))
    return TableVersion(seen.rows, tuple(_describe_values(f.name, f.type, seen) for f in schema))


def partition_extent(kind: DataType | None, text: str | None, rows: int) -> Extent:
    """A partition's value for all rows of a file. Values of other types are spelt in several ways."""
    if text is None:
        return Extent(rows)
    try:
        if isinstance(kind, String) and text:
            return Extent(0, text, text)
        if kind == DATE:
            day = date.fromisoformat(text)
            return Extent(0, day, day)
        if kind is not None and is_integral(kind):
            return Extent(0, int(text), int(text))
    except ValueError:
        return Extent(None, unknown="a partition's value is none of its type")
    return Extent(None, unknown="of partitions only whole numbers, dates and texts are read")


def _describe_values(name: str, kind: DataType, seen: Seen) -> Values:
    extent = seen.columns.get(fold_name(name), Extent(0))
    distinct = _count_distinct(extent, seen.keys.get(fold_name(name)))
    if extent.unknown or extent.low is None:
        return Values(name, kind.simple, extent.nulls, distinct=distinct, unknown=extent.unknown)
    return Values(name, kind.simple, extent.nulls, format_bound(extent.low), format_bound(extent.high), distinct)


def _count_distinct(extent: Extent, keys: set[Any] | None) -> int | None:
    """How many values that are not null: of partition columns, and where there is one value at most."""
    if extent.unknown:
        return None
    if keys is not None:
        return len(keys - {None})
    return 0 if extent.low is None else 1 if extent.low == extent.high else None


def format_bound(value: Any) -> str:
    """A bound as people read it.

    >>> format_bound(True), format_bound(1.5), format_bound(date(2026, 11, 21))
    ('true', '1.5', '2026-11-21')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime) and value.tzinfo is not None:
        return f"{value.replace(tzinfo=None)} UTC"
    return str(value)
