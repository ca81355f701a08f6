"""What a killed publish of an Iceberg table leaves: files that no snapshot names, or a branch, and a note of them.

The note is written before the first file and deleted after the commit. Without it nobody could say whose the files
are. It decides nothing: the table itself tells whether a publish was committed. Where the commit may still be carried
out, and where the table is not found, everything stays as it lies.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from planproof.publish.iceberg.believed import verify
from planproof.publish.iceberg.note import Note, QuarantinedFiles
from planproof.publish.transaction.lock import Locked
from planproof.publish.transaction.names import STATE, join, literal, parent
from planproof.publish.transaction.owner import begin, end
from planproof.publish.transaction.recovery import Claim
from planproof.publish.transaction.recovery import settle as settle_found
from planproof.publish.transaction.states import STATES, Ending
from planproof.report.model import Report
from planproof.session.branches import Branches
from planproof.session.protocol import Session, SparkFailure, Transactional
from planproof.session.store import Store

_FOLDER = "staged"
_OF_RUN = "quarantine_run"
"""The column of a quarantine that holds the run, a partition of its own each."""
SETTLES = 3600
"""After so many seconds no catalog carries out a commit any more that it was asked for."""

_EVICTED = "evicted"


def folder(root: str) -> str:
    """Where the notes of open transactions lie, below a database's folder."""
    return join(root, STATE, _FOLDER)


@dataclass
class Notebook:
    """The note of one publish where it lies. A publish does not depend on it: where it cannot be written, files that a
    kill leaves are swept by Iceberg's `remove_orphan_files` only. A note that cannot be brought up to date is deleted:
    by an old one, files would be swept of which a commit may still be carried out."""

    store: Store
    root: str | None
    note: Note
    is_written: bool = field(default=False, init=False)

    @property
    def location(self) -> str:
        return join(folder(self.root or ""), f"{self.note.slug}.{self.note.owner.run}.json")

    def is_evicted(self) -> bool:
        """Whether a recovery has taken the table over: it has left its mark beside the note, or deleted the note.
        Raises `SparkFailure` where that cannot be seen."""
        if not self.is_written:
            return False
        there, name = self.store.names(folder(self.root or "")), self.location.rpartition("/")[2]
        return name not in there or mark(name) in there

    def write(self, **changes: Any) -> bool:
        """Whether the note says so now. Raises `SparkFailure` where it says something older, and stays."""
        self.note = replace(self.note, **changes)
        if self.root is None or self.is_evicted():
            return False
        begin(self.note.owner.run)
        for _ in range(2):  # Another publish may remove the folder just now.
            with suppress(SparkFailure):
                # Of rows that are quarantined it says what no catalog knows; else it names files that nobody reads.
                is_needed = self.note.quarantine is not None or self.note.staging is not None
                self.store.write(self.location, self.note.to_json(), lasting=is_needed)
                self.is_written = True
                return True
        if self.is_written:
            forget(self.store, self.location)
            self.is_written = False
        return False

    def delete(self) -> None:
        if self.is_written:
            with suppress(SparkFailure):  # A later recovery finds that there is nothing to do.
                forget(self.store, self.location)
            self.is_written = False
        self.end()

    def end(self) -> None:
        """This process is done with the publish; a note that is left is of one that nobody knows the end of."""
        end(self.note.owner.run)

    def sweep(self) -> None:
        """Deletes what the publish wrote, which is known not to be committed."""
        with suppress(SparkFailure):
            remove(self.store, self.note)
        self.delete()


def remove(store: Store, note: Note) -> None:
    """Deletes the note's files, and of a table that was never made the folders that are empty then."""
    for location in (*note.others, *([note.folder] if note.folder else [])):
        store.delete(location)
    if note.is_new:
        store.prune(note.location)


def forget(store: Store, location: str) -> None:
    """Deletes a note, and the folders that are empty then: to a Hadoop catalog they are namespaces."""
    store.delete(location)
    store.delete(mark(location))  # Without a note its owner is evicted as well.
    state = parent(parent(location))
    if store.names(state) == [_FOLDER]:
        store.prune(state)


def mark(location: str) -> str:
    """What lies beside a note once a recovery has taken its table from an owner that may be alive.

    >>> mark("orders.run_1.json")
    'orders.run_1.evicted'
    """
    return f"{location.removesuffix('.json')}.{_EVICTED}"


def notes(store: Store, root: str, slug: str | None = None) -> list[str]:
    """The locations of the notes below a root, of one table where `slug` is given."""
    found = [name for name in store.names(folder(root)) if name.endswith(".json")]
    return [join(folder(root), name) for name in found if slug is None or name.startswith(f"{slug}.")]


def settle(session: Session, store: Store, location: str, note: Note, force: bool) -> tuple[Ending, str]:
    """Sweeps what a dead publish left, where that is safe, and says what was done. Raises `SparkFailure`."""
    if note.branch is not None:
        return _without_branch(session, store, location, note, note.branch, force)
    tables = session.transactions()
    if tables is None:
        raise SparkFailure("it was made in Spark's driver, and is looked at there (in dbt: method: session)")
    if note.staging is not None:
        return _exchanged(session, tables, store, location, note)
    named = tables.names_any(note.target, note.folder, note.others)
    if named is False and store.exists(mark(location)):
        # Its owner may be at its commit. From here on the table refuses it, or has it by now.
        for table in (note.target, *([note.quarantine.table] if note.quarantine is not None else [])):
            tables.fence(table, note.owner.run)
        named = tables.names_any(note.target, note.folder, note.others)
    if named:
        forget(store, location)
        return "finished", "it had been committed"
    if named is None and not note.is_new:
        return _left(store, location, force, f"{note.target} is not there any more, or has another name")
    if named is None and _was_registered(store, note):
        return _left(store, location, force, f"no table {note.target} is there, and one was made at {note.location}")
    wait = _wait(store, location, note, named, force)
    if wait is not None:
        return "left", wait
    _taken_back(session, tables, store, note)
    remove(store, note)
    forget(store, location)
    return "undone", "no snapshot names its files, which were deleted"


def _exchanged(session: Session, tables: Transactional, store: Store, location: str, note: Note) -> tuple[Ending, str]:
    ending = settle_exchange(session, note)
    if ending == "undone":
        _taken_back(session, tables, store, note)
        remove(store, note)
    forget(store, location)
    return ending, "the view's place was taken" if ending == "finished" else "the view stands as it was"


def _wait(store: Store, location: str, note: Note, named: bool | None, force: bool) -> str | None:
    """Why nothing is deleted yet; None where nobody can commit it any more."""
    until = f"recover again in {SETTLES // 60} minutes"
    if named is None and _is_young(store, mark(location)):
        return f"its owner may still make the table; {until}"
    if STATES[note.step].late and _is_young(store, location) and not force:
        return f"its catalog may still carry out the commit; {until}"
    return None


def _is_young(store: Store, location: str) -> bool:
    at = store.modified(location)
    return at is not None and time.time() - at < SETTLES


def _without_branch(
    session: Session, store: Store, location: str, note: Note, branch: str, force: bool
) -> tuple[Ending, str]:
    """Drops the branch first: after that no server can carry out a commit that it was asked for."""
    tables = Branches(session)
    if tables.table(note.target) is None:
        return _left(store, location, force, f"{note.target} is not there any more, or has another name")
    tables.drop(note.target, branch)
    is_committed = note.snapshot is not None and tables.had(note.target, note.snapshot)
    forget(store, location)
    if is_committed:
        return "finished", f"it had been committed; its branch {branch} was dropped"
    return "undone", f"its branch {branch} was dropped; Iceberg expires what was written there"


def _taken_back(session: Session, tables: Transactional, store: Store, note: Note) -> None:
    if note.quarantine is not None:
        take_back(session, tables, store, note.quarantine)


def take_back(session: Session, tables: Transactional, store: Store, bad_rows: QuarantinedFiles) -> None:
    """Removes what a run quarantined, committed or not; may be called again. Raises `SparkFailure`."""
    if tables.table(bad_rows.table) is None:
        if session.registered(bad_rows.table) is None:
            return
        raise SparkFailure(f"{bad_rows.table} is there, and cannot be loaded as a table of Iceberg's", transient=True)
    if session.rows(f"SELECT 1 FROM {bad_rows.table} WHERE {_OF_RUN} = {literal(bad_rows.run)} LIMIT 1"):
        session.rows(f"DELETE FROM {bad_rows.table} WHERE {_OF_RUN} = {literal(bad_rows.run)}")
    # Its older snapshots still name the files of rows that were committed.
    if tables.names_any(bad_rows.table, bad_rows.folder, bad_rows.others) is False:
        for location in (*bad_rows.others, *([bad_rows.folder] if bad_rows.folder else [])):
            store.delete(location)


def change_places(session: Session, note: Note, check: Callable[[], None]) -> None:
    """The view steps aside, the table takes its name, the view is dropped; `check` is called before each."""
    for statement in (
        f"ALTER VIEW {note.target} RENAME TO {note.away}",
        f"ALTER TABLE {note.staging} RENAME TO {note.target}",
        f"DROP VIEW {note.away}",
    ):
        check()
        session.rows(statement)


def settle_exchange(session: Session, note: Note) -> Ending:
    """Goes on where the view is aside, and back where it still stands. May be called again. Raises `SparkFailure`,
    before it does anything, where the catalog cannot be believed about one of the three."""
    assert note.staging is not None
    assert note.away is not None
    there = session.registered(note.target)
    is_made, is_aside = (session.registered(name) is not None for name in (note.staging, note.away))
    if there is not None:
        if is_made:
            session.rows(f"DROP TABLE {note.staging} PURGE")
        if is_aside:
            session.rows(f"DROP VIEW {note.away}")
        return "finished" if there.kind == "table" and not is_made else "undone"
    if is_made:
        session.rows(f"ALTER TABLE {note.staging} RENAME TO {note.target}")
        if is_aside:
            session.rows(f"DROP VIEW {note.away}")
        return "finished"
    if is_aside:
        session.rows(f"ALTER VIEW {note.away} RENAME TO {note.target}")
    return "undone"


def _left(store: Store, location: str, force: bool, why: str) -> tuple[Ending, str]:
    if force:
        forget(store, location)
        return "left", f"{why}; given up, and its files stay as they lie"
    return "left", f"{why}; its files stay as they lie, until `recover --force` gives them up"


def _was_registered(store: Store, note: Note) -> bool:
    return any(name.endswith(".metadata.json") for name in store.names(join(note.location, "metadata")))


class Noted:
    """The note of one publish: a `recovery.Unfinished`. Without `force` that of an owner who may be alive is left.
    `is_chosen`: the user has named the folder in which notes lie; else it is the folder of one database, and its notes
    are about that database's tables."""

    def __init__(
        self, session: Session, store: Store, location: str, force: bool = False, is_chosen: bool = True
    ) -> None:
        self._session, self._store, self._force, self._is_chosen = session, store, force, is_chosen
        self.location = location

    def read(self) -> Note | None:
        return Note.from_json(self._store.read(self.location) or "")

    def claim(self, found: Note) -> Claim:
        return Claim(found.model, found.strategy, found.owner, found.step)

    def verify(self, found: Note) -> None:
        tables = self._session.transactions() or Branches(self._session)
        verify(tables, self.location, found, self._is_chosen)

    def settle(self, found: Note) -> tuple[str, str]:
        if not found.owner.is_dead:
            if not self._force:
                raise Locked(found.model, found.owner)
            self._store.create(mark(self.location), found.owner.run)
        return settle(self._session, self._store, self.location, found, self._force)


def earlier(session: Session, store: Store, root: str, slug: str) -> list[Report]:
    """Settles what dead publishes of one table left."""
    reports: list[Report] = []
    with suppress(SparkFailure):  # Where no note can be read, none could be written.
        for location in notes(store, root, slug):
            with suppress(ValueError):
                if Note.from_json(store.read(location) or "").owner.is_dead:
                    reports.append(settle_found(Noted(session, store, location)))
    return reports
