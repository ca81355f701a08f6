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
from planproof.judge.effect import Effect
from planproof.publish.materialize.materialization import Job
from planproof.publish.transaction.partition import PartitionLocation, list_names, parse_values, partitions_of
from planproof.publish.transaction.publication import JournaledPublication
from planproof.report.changes import TableChange, TableVersion, Values
from planproof.session.protocol import Session, SparkFailure, StoredTable
from planproof_engine.origin import AnalysisError
from planproof_engine.schema import ByColumn, PhysicalSchema, fold_name
from planproof_engine.types import DATE, DataType, is_integral

LOCAL, REMOTE = 200, 32
"""The most files of one version whose footers are read: on this machine, and on a file system that only Spark
reaches."""
AT_ONCE = 8
"""How many footers are fetched from there at once."""


@dataclass
class Seen:
    """The files of one version. `columns` by names in lower case; `keys` are the values of partition columns."""

    rows: int = 0
    columns: dict[str, Extent] = field(default_factory=dict)
    keys: dict[str, set[Any]] = field(default_factory=dict)

    def add(self, rows: int, found: Mapping[str, Extent], wanted: Sequence[str]) -> None:
        self.rows += rows
        for name in wanted:
            # A file without the column holds NULL there, as readers see it.
            new = found.get(name, Extent(rows)) if rows else Extent(0)
            known = self.columns.get(name)
            self.columns[name] = new if known is None else known.join(new)

    def join(self, other: Seen) -> Seen:
        """Both together, read for the same columns."""
        columns = {name: extent.join(other.columns.get(name, Extent(0))) for name, extent in self.columns.items()}
        keys = {name: self.keys.get(name, set()) | other.keys.get(name, set()) for name in self.keys | other.keys}
        return Seen(self.rows + other.rows, {**other.columns, **columns}, keys)


class Unread(Exception):
    """Why a version's footers are not read."""


_FAILURES = (Unread, Undecodable, CannotRead, SparkFailure, AnalysisError, OSError, ValueError)


def change(job: Job, publication: JournaledPublication) -> TableChange:
    """The target before and after this publish. What cannot be read is said; nothing is raised for it."""
    target = job.target if job.target is not None and job.target.kind == "table" else None
    try:
        where, schema = _locate_staged(job, publication)
        # A table forgets the flags. Where its schema stays, staged files are described without lengths.
        stays = target is not None and publication.unregistered is not None
        will = target.schema if target is not None and stays else schema.as_nullable()
        added = _read(job.session, will, where)
    except _FAILURES as error:
        before = (
            None
            if target is None
            else _new_version(target.schema, lambda: _read_replaced_files(job, target, target.schema))
        )
        rows = job.draft.rows if job.draft.effect is Effect.REPLACES else None
        return TableChange(before, TableVersion(rows, unread=str(error)))
    if target is None:
        return TableChange(None, _describe_version(will, added))
    stored = cache(lambda: _read_replaced_files(job, target, will))
    before = _new_version(target.schema, stored)
    if job.draft.effect is Effect.ADDS:
        return TableChange(before, _new_version(will, lambda: stored().join(added)))
    if job.draft.effect is Effect.REPLACES_PARTITIONS:
        replaced = {part.partition for part in where}
        return TableChange(
            before, _new_version(will, lambda: _read_replaced_files(job, target, will, replaced).join(added))
        )
    return TableChange(before, _describe_version(will, added))


def _locate_staged(job: Job, publication: JournaledPublication) -> tuple[list[PartitionLocation], PhysicalSchema]:
    """Where the staged files lie, and their columns."""
    entry = publication.entry
    if publication.unregistered is not None:
        return [PartitionLocation("", entry.stage_location)], publication.unregistered
    staging = publication.stored(entry.staging)
    if staging is None:
        raise Unread("the staged table cannot be described")
    _refuse_untracked(staging)
    return partitions_of(job.session, entry.staging, staging), staging.schema


def _read_replaced_files(job: Job, table: StoredTable, wanted: PhysicalSchema, replaced: Iterable[str] = ()) -> Seen:
    """The files of the table that was published before, but those in partitions that are replaced."""
    if not table.is_plain_parquet:
        raise Unread(f"it is stored as {table.format}")
    _refuse_untracked(table)
    target, gone = job.names.target.quoted, set(replaced)
    # Names are listed at little cost, places are not.
    number = len(list_names(job.session, target)) if table.partition_by else 0
    if number > LOCAL:
        raise Unread(f"{number:,} partitions; at most {LOCAL} are looked at for this")
    where = [p for p in partitions_of(job.session, target, table) if p.partition not in gone]
    return _read(job.session, PhysicalSchema((*wanted, *(f for f in table.schema if f not in wanted.fields))), where)


def _refuse_untracked(table: StoredTable) -> None:
    if table.partition_by and not table.tracked:
        raise Unread("the catalog does not hold its partitions")


def _read(session: Session, schema: PhysicalSchema, where: Iterable[PartitionLocation]) -> Seen:
    found = [(path, part) for part in where for path in session.files(part.local)]
    paths = [path for path, _ in found]
    remote = any(session.local_path(path) is None for path in paths)
    bound = REMOTE if remote else LOCAL
    if session.conf.case_sensitive:
        raise Unread("names differ by case in this session")
    if len(paths) > bound:
        raise Unread(f"{len(paths):,} files; at most {bound} are looked at for this")
    seen, types = Seen(), ByColumn((f.name, f.type) for f in schema)
    tails = _fetch_footers(session, paths) if remote else None
    for (_, part), (rows, columns) in zip(found, run_isolated_or_here(read_all_extents, paths, tails)):
        inner = parse_values(part.partition) if part.partition else []
        keys = {fold_name(name): _partition_extent(types.get(name), text, rows) for name, text in inner}
        for name, extent in keys.items() if rows else ():
            seen.keys.setdefault(name, set()).add(extent.low)
        seen.add(rows, {**columns, **keys}, [*types])
    return seen


def _fetch_footers(session: Session, paths: Sequence[str]) -> list[bytes]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(session.footer, paths))


def _new_version(schema: PhysicalSchema, made: Callable[[], Seen]) -> TableVersion:
    try:
        return _describe_version(schema, made())
    except _FAILURES as error:
        return TableVersion(None, unread=str(error))


def _describe_version(schema: PhysicalSchema, seen: Seen) -> TableVersion:
    return TableVersion(seen.rows, tuple(_describe_values(f.name, f.type, seen) for f in schema))


def _partition_extent(kind: DataType | None, text: str | None, rows: int) -> Extent:
    """A partition's value for all rows of a file."""
    if text is None:
        return Extent(rows)
    try:
        value: Any = text
        if kind == DATE:
            value = date.fromisoformat(text)
        elif kind is not None and is_integral(kind):
            value = int(text)
    except ValueError:
        return Extent(0, unknown="a partition's value is none of its type")
    return Extent(0, value, value)


def _describe_values(name: str, kind: DataType, seen: Seen) -> Values:
    extent = seen.columns.get(fold_name(name), Extent(0))
    distinct = _count_distinct(extent, seen.keys.get(fold_name(name)))
    if extent.unknown or extent.low is None:
        return Values(name, kind.simple, extent.nulls, distinct=distinct, unknown=extent.unknown)
    return Values(name, kind.simple, extent.nulls, format_bound(extent.low), format_bound(extent.high), distinct)


def _count_distinct(extent: Extent, keys: set[Any] | None) -> int | None:
    """How many values that are not null: of partition columns, and where there is one value at most."""
    if keys is not None:
        return len(keys - {None})
    if extent.unknown:
        return None
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
