"""How to leave planproof: every table's files move to where they would lie without it, and its folders are deleted.

A table that was published by its location lies in `__planproof/<table>/<version>`. Its home is the table's own folder
beside it. The files move there by one rename, and then the catalog is told by one call. A note is written before and
deleted at the end, so that a run that was killed is finished by the next one: no file is deleted before the catalog
knows its new place.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from planproof.catalog import split_name
from planproof.origin import AnalysisError
from planproof.publish.transaction import journal, lock
from planproof.publish.transaction.names import PREFIX, STATE, join, literal, mark_of, parent, slug, within
from planproof.publish.transaction.partition import partitions_of, spec
from planproof.publish.transaction.publication import data_root, database_root
from planproof.quoting import quoted
from planproof.report.model import Finding, Report, Verdict
from planproof.session.protocol import Session, SparkFailure, StoredTable
from planproof.session.store import Store, decoded


@dataclass(frozen=True, slots=True)
class Departure:
    """One table that moves: its name in backticks, the version directory it leaves, and its home."""

    table: str
    version: str
    home: str


def leave(session: Session, store: Store, roots: Iterable[str], force: bool = False) -> list[Report]:
    """Moves every table of the session's catalog home, and deletes planproof's folders in `roots` (the databases'
    locations) and beside the tables. One report per table that moved or could not, and one per folder that was left.

    Call it after `recover`, while nobody publishes: a table that is being published is left, and says so. Old versions
    of a table that this catalog does not know may be another metastore's: only `force` deletes them.
    """
    known = list(dict.fromkeys(roots))
    reports, beside = [], dict.fromkeys(known)
    for root in known:
        for name in _noted(store, root):
            note = _read(store, join(root, STATE, "leaving", name))
            if note is None:  # It was killed while it wrote the note, before anything moved.
                store.delete(join(root, STATE, "leaving", name))
                continue
            beside[parent(parent(parent(note.version)))] = None
            reports.append(_moved(session, store, root, name, note))
    for parts, table, version in _guarded(session):
        root = _root_of(session, parts, known)
        home = data_root(table, None, root)
        beside[home] = None
        name = f"{slug(parts[0])}.{slug(parts[1])}.json"
        reports.append(_moved(session, store, root, name, Departure(quoted(parts), version, join(home, parts[1]))))
    for folder in beside:
        reports += _swept(store, folder, force)
    if all(report.outcome == "published" for report in reports):
        for root in known:
            _without_state(store, root)
    return reports


def _guarded(session: Session) -> Iterator[tuple[tuple[str, str], StoredTable, str]]:
    """The tables that lie in a version directory, with it."""
    for database, *_ in session.rows("SHOW DATABASES"):
        for row in session.rows(f"SHOW TABLES IN {quoted((str(database),))}"):
            parts = (str(database), str(row[1]))
            if str(row[2]).lower() == "true" or parts[1].startswith(PREFIX):
                continue
            try:
                table = session.table(quoted(parts))
            except (AnalysisError, SparkFailure):
                continue  # A table that cannot be read, of another format, was not published by us.
            version = _version_of(table) if table is not None and table.kind == "table" else None
            if table is not None and version is not None:
                yield parts, table, version


def _version_of(table: StoredTable) -> str | None:
    location = decoded(table.location or "").rstrip("/")
    ours = parent(parent(location)).endswith(f"/{PREFIX}") and mark_of(location) is not None
    return location if ours else None


def _root_of(session: Session, parts: tuple[str, str], roots: list[str]) -> str:
    own = database_root(session, (parts[0],))
    return next((root for root in roots if within(own, root) and within(root, own)), own)


def _moved(session: Session, store: Store, root: str, name: str, note: Departure) -> Report:
    """Moves a table under its lock, or goes on with a move that was killed; `name` is the note's."""
    table, file = split_name(note.table)[-1], join(root, STATE, "leaving", name)
    try:
        held = lock.acquire(store, root, slug(table), f"leave_{uuid.uuid4().hex[:10]}", note.table)
    except lock.Locked as refusal:
        return _left(note.table, str(refusal), "PP604")
    try:
        return _carried(session, store, file, note)
    except (SparkFailure, AnalysisError) as failure:
        return _left(note.table, f"{failure}; run `planproof clean` again")
    finally:
        held.release()


def _carried(session: Session, store: Store, file: str, note: Departure) -> Report:
    """A killed move may have done some steps: each step looks first whether it is needed."""
    table = session.table(note.table)
    location = decoded(table.location or "") if table is not None else ""
    if not within(location, note.version) and not within(location, note.home):
        store.delete(file)
        return _left(note.table, "it was published anew, or dropped, since its move began; run `planproof clean` again")
    if store.exists(note.version):
        if store.names(note.home):
            return _left(note.table, f"{note.home}, its home, holds files that belong to no table; move or delete them")
        store.write(file, json.dumps(asdict(note)))
        store.delete(note.home)
        store.move(note.version, note.home)
    if not within(location, note.home):
        session.rows(f"ALTER TABLE {note.table} SET LOCATION {literal(note.home)}")
        session.rows(f"REFRESH TABLE {note.table}")
    if table is not None and table.partition_by:
        _repoint(session, store, note)
    mark, folder = mark_of(note.version), parent(note.version)
    for version in store.names(folder):
        if mark_of(version) == mark:
            store.delete(join(folder, version))
    store.delete(file)
    found = Finding(Verdict.WARNING, "PP610", "catalog", message=f"its files lie in {note.home} now")
    return Report(note.table.replace("`", ""), "published", (found,))


def _repoint(session: Session, store: Store, note: Departure) -> None:
    """Lets partitions that lay in the version directory follow it."""
    for old in partitions_of(session, note.table):
        new = join(note.home, old.partition)
        if old.partition and within(old.location, note.version) and store.exists(new):
            session.rows(f"ALTER TABLE {note.table} PARTITION ({spec(old.partition)}) SET LOCATION {literal(new)}")


def _swept(store: Store, data: str, force: bool) -> list[Report]:
    """Deletes planproof's folder in `data` where no version lies in it; with `force`, also where one does."""
    folder, reports = join(data, PREFIX), list[Report]()
    for table in store.names(folder):
        file = join(folder, table)
        if store.names(file) and not force:
            said = "holds versions of no table that this catalog knows; look at them, or `planproof clean --force`"
            reports.append(_left(file, f"{file} {said} deletes them"))
        else:
            store.delete(file)
    if not reports and store.exists(folder):
        store.delete(folder)
    return reports


def _without_state(store: Store, root: str) -> None:
    """Deletes the folder of journals and locks, where none is left that anybody needs."""
    busy = journal.publishes(store, root) or store.names(join(root, STATE, "locks"))
    if not busy and not _noted(store, root):
        store.delete(join(root, STATE))


def _noted(store: Store, root: str) -> list[str]:
    return [name for name in store.names(join(root, STATE, "leaving")) if name.endswith(".json")]


def _read(store: Store, file: str) -> Departure | None:
    try:
        return Departure(**json.loads(store.read(file) or ""))
    except (ValueError, TypeError):
        return None


def _left(name: str, why: str, code: str = "PP601") -> Report:
    found = Finding(Verdict.UNPROVED, code, "catalog", message=why)
    return Report(name.replace("`", ""), "failed", (found,), error=why)
