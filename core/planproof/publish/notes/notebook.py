"""Where the notes of publishes under way lie, and how one that was left is found and settled."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from planproof.publish.materialize.materialization import Job
from planproof.publish.notes.note import Note
from planproof.publish.transaction import Disbelieved, Ending, Locked
from planproof.publish.transaction.names import STATE, join, parent
from planproof.publish.transaction.owner import begin, note_end
from planproof.publish.transaction.recovery import Claim
from planproof.publish.transaction.recovery import settle as settle_found
from planproof.report import Report
from planproof.session import Session, SparkFailure, Store, store_of

_FOLDER = "staged"
_EVICTED = "evicted"
SETTLES = 3600
"""After so many seconds no catalog carries out a call any more that it was asked for, and an owner that was evicted
makes no table."""


def folder(root: str) -> str:
    """Where the notes of open transactions lie, below a database's folder."""
    return join(root, STATE, _FOLDER)


@dataclass
class Notebook:
    """The note of one publish where it lies. A publish does not depend on it: where it cannot be written, files that a
    kill leaves are swept by Iceberg's `remove_orphan_files` or Delta's VACUUM only. A note that cannot be brought up to
    date is deleted: by an old one, files would be swept of which a commit may still be carried out."""

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
        return name not in there or taken_mark(name) in there

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
        note_end(self.note.owner.run)

    def sweep(self) -> None:
        """Deletes what the publish wrote, which is known not to be committed."""
        with suppress(SparkFailure):
            remove(self.store, self.note)
        self.delete()


def remove(store: Store, note: Note) -> None:
    """Deletes the note's files, and of a table that was never made the folders that are empty then. What was written to
    a branch goes when Iceberg expires it."""
    if note.branch is not None:
        return
    for location in (*note.others, *([note.folder] if note.folder else [])):
        store.delete(location)
    if note.is_new:
        store.prune(note.location)


def forget(store: Store, location: str) -> None:
    """Deletes a note, and the folders that are empty then: to a Hadoop catalog they are namespaces."""
    store.delete(location)
    store.delete(taken_mark(location))  # Without a note its owner is evicted as well.
    tidy(store, parent(parent(parent(location))))


def tidy(store: Store, root: str) -> None:
    """Deletes the folders of notes below a database's folder where nothing lies in them: a publish that dies right
    after it has deleted its note leaves them."""
    state = join(root, STATE)
    if store.names(state) == [_FOLDER]:
        store.prune(state)


def taken_mark(location: str) -> str:
    """What lies beside a note once a recovery has taken its table from an owner that may be alive.

    >>> taken_mark("orders.run_1.json")
    'orders.run_1.evicted'
    """
    return f"{location.removesuffix('.json')}.{_EVICTED}"


def list_notes(store: Store, root: str, slug: str | None = None) -> list[str]:
    """The locations of the notes below a root, of one table where `slug` is given."""
    found = [name for name in store.names(folder(root)) if name.endswith(".json")]
    return [join(folder(root), name) for name in found if slug is None or name.startswith(f"{slug}.")]


Found = tuple[Ending | None, str]
"""What became of a dead publish, and why. Of one that is `undone` the files and the note go, of one that is `finished`
the note. `left`: both stay for now. None: nobody can tell, and only `recover --force` gives the note up."""


class Left(NamedTuple):
    """What one format makes of a note that was left. `verify` (session, location, note, is_chosen) raises `Disbelieved`
    where the note names what a publish would not have named; `settle` (session, store, location, note, force) finds out
    what became of a dead publish, ends it in the catalog, and says why (`Found`). Both raise `SparkFailure`."""

    verify: Callable[[Session, str, Note, bool], None]
    settle: Callable[[Session, Store, str, Note, bool], Found]


class Noted:
    """The note of one publish, of one of the formats `by`: a `recovery.Unfinished`. Without `force` that of an owner
    who may be alive is left. `is_chosen`: the user has named the folder in which notes lie; else it is the folder of
    one database, and its notes are about that database's tables."""

    def __init__(
        self,
        by: Mapping[str, Left],
        session: Session,
        store: Store,
        location: str,
        force: bool = False,
        is_chosen: bool = True,
    ) -> None:
        self._by, self._session, self._store = by, session, store
        self._force, self._is_chosen = force, is_chosen
        self.location = location

    def read(self) -> Note | None:
        return Note.from_json(self._store.read(self.location) or "")

    def claim(self, found: Note) -> Claim:
        return Claim(found.model, found.strategy, found.owner, found.step)

    def verify(self, found: Note) -> None:
        if found.format not in self._by:
            raise Disbelieved(f"format: {found.format}")
        self._by[found.format].verify(self._session, self.location, found, self._is_chosen)

    def settle(self, found: Note) -> tuple[str, str]:
        if not found.owner.is_dead:
            if not self._force:
                raise Locked(found.model, found.owner)
            self._store.create(taken_mark(self.location), found.owner.run)
        ending, said = self._by[found.format].settle(self._session, self._store, self.location, found, self._force)
        if ending is None:
            if not self._force:
                return "left", f"{said}; its files stay as they lie, until `recover --force` gives them up"
            said = f"{said}; given up, and its files stay as they lie"
        if ending == "undone":
            remove(self._store, found)
        if ending != "left":
            forget(self._store, self.location)
        return ending or "left", said


def settle_earlier(by: Mapping[str, Left], session: Session, store: Store, root: str, slug: str) -> list[Report]:
    """Settles what dead publishes of one table left, in the formats `by`."""
    reports: list[Report] = []
    with suppress(SparkFailure):  # Where no note can be read, none could be written.
        for location in list_notes(store, root, slug):
            with suppress(ValueError):
                note = Note.from_json(store.read(location) or "")
                if note.format in by and note.owner.is_dead:
                    reports.append(settle_found(Noted(by, session, store, location)))
    return reports


def sweep_earlier(by: Mapping[str, Left], job: Job, root: str) -> None:
    """Settles what dead publishes of the job's target have left, and says so."""
    for report in settle_earlier(by, job.session, store_of(job.session), root, job.names.slug):
        job.draft.add(report.findings)


def is_young(store: Store, location: str) -> bool:
    """Whether a note, or the mark beside one, was written so recently that what it tells of may still happen."""
    at = store.modification_time(location)
    return at is not None and _read_clock(store, location) - at < SETTLES


def _read_clock(store: Store, beside: str) -> float:
    """The store's own time, which may be hours from this machine's; this machine's where nothing can be written."""
    probe = f"{beside}.tmp"
    with suppress(SparkFailure):
        store.write(probe, "", lasting=False)
        now = store.modification_time(probe)
        store.delete(probe)
        if now is not None:
            return now
    return time.time()
