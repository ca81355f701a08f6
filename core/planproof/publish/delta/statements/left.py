"""What a killed publish by statements leaves: staged rows beside the target, and a note of them.

The note decides nothing: the table's history tells whether the statement was carried out.
"""

from __future__ import annotations

from planproof.publish.delta.statements.publication import AFTER, BAD, FORMAT
from planproof.publish.notes import Note, QuarantinedFiles, believed, delete_rows
from planproof.publish.notes.notebook import SETTLES, Found, Left, is_young
from planproof.publish.transaction import STATES, Disbelieved, database_root
from planproof.publish.transaction.deletion import Holdings
from planproof.publish.transaction.names import join, parent
from planproof.session import Session, SparkFailure, Store, decode_uri
from planproof.session.delta.statements import DeltaStatements


def _verify(session: Session, location: str, note: Note, is_chosen: bool) -> None:
    """Raises `Disbelieved` with the first thing that is not as a publish would have it, and `SparkFailure`."""
    names, home = believed.verify_names(location, note), parent(parent(parent(location)))
    if not is_chosen:
        believed.refuse_other_home(location, database_root(session, names.target.namespace), note)
    staged = join(home, names.staging.last)
    if note.base is None or note.branch or note.staging or note.is_new:
        raise Disbelieved("base, branch, staging, is_new: no such publish of a Delta table says this of them")
    if note.folder is None or not believed.is_same_location(note.folder, staged):
        raise Disbelieved(f"folder: {note.folder} is not where this publish wrote")
    if not all(believed.is_same_location(other, staged + AFTER) for other in note.others):
        raise Disbelieved(f"others: {', '.join(note.others)} is not where this publish wrote")
    table = session.registered_table(note.target)
    is_there = table is not None and believed.is_same_location(decode_uri(table.location or ""), note.location)
    if not is_there and (table is not None or not believed.is_on_system_of(home, note.location)):
        raise Disbelieved(f"location: {note.location} is not where the catalog has the table")
    if note.quarantine is not None:
        believed.refuse_other_quarantine(names.target, note, note.quarantine)
        if note.quarantine.folder is None or not believed.is_same_location(note.quarantine.folder, staged + BAD):
            raise Disbelieved(f"quarantine: {note.quarantine.folder} is not where this publish wrote")
    holdings = Holdings(session)
    for folder in (staged, staged + AFTER, staged + BAD):
        believed.refuse_links(folder, home)
        guest = holdings.guest(folder, ())
        if guest is not None:
            raise Disbelieved(f"folder: {guest} has its data in {folder}")


def _settle(session: Session, store: Store, location: str, note: Note, force: bool) -> Found:
    """Raises `SparkFailure`."""
    tables, run = DeltaStatements(session), note.owner.run
    assert note.folder is not None, "it was verified"
    assert note.base is not None, "it was verified"
    obstacle = tables.find_obstacle()
    if obstacle is not None:
        raise SparkFailure(obstacle)
    if note.base >= 0 and session.registered_table(note.target) is None:
        return None, f"{note.target} is not there any more, or has another name"
    if tables.find_version(note.location) < note.base:
        return None, f"{note.location} is not the table that it began on"
    # An owner that may be alive begins no commit any more, now that its mark is there; it may be at one.
    is_late = STATES[note.step].late or STATES[_read_step(store, location)].late
    if is_late:
        # A statement that Spark carries out late fails without its rows, unless it has read them.
        for folder in (note.folder, note.folder + BAD):
            store.delete(folder)
    try:
        # A note may name a later version than the one that it began on.
        found = tables.find_commit(note.location, note.base, run) or tables.find_mark(note.location, run)
    except SparkFailure as failure:
        if failure.condition is not None:
            raise
        return None, str(failure)
    if found is None:
        return _undo(session, store, location, note, is_late)
    if session.registered_table(note.target) is None:
        return _give_up(store, location, note)
    for folder in (note.folder, *note.others, note.folder + BAD):
        store.delete(folder)
    return "finished", "it had been committed"


def _read_step(store: Store, location: str) -> str:
    """The step that a note names by now."""
    try:
        return Note.from_json(store.read(location) or "").step
    except ValueError:
        return "begin"


def _give_up(store: Store, location: str, note: Note) -> Found:
    said = f"it had been committed to {note.location}, which the catalog does not call {note.target}"
    if is_young(store, location):
        return "left", f"{said}; recover again in {SETTLES // 60} minutes"
    return (None, said) if note.quarantine is not None else ("undone", f"{said}: the model's next run replaces it")


def _undo(session: Session, store: Store, location: str, note: Note, is_late: bool) -> Found:
    if is_late and is_young(store, location):
        return "left", f"Spark may still carry out its statement; recover again in {SETTLES // 60} minutes"
    if note.quarantine is not None:
        take_back(session, store, note.quarantine)
    return "undone", f"its commit is not in the history of {note.location}; what it had staged was deleted"


def take_back(session: Session, store: Store, bad_rows: QuarantinedFiles) -> None:
    """Removes what a run quarantined, committed or not; may be called again. Raises `SparkFailure`."""
    if bad_rows.folder is not None:
        store.delete(bad_rows.folder)
    if session.registered_table(bad_rows.table) is not None:
        delete_rows(session, bad_rows)


LEFT = {FORMAT: Left(_verify, _settle)}
