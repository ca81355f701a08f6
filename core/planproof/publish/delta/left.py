"""What a killed publish of a Delta table leaves: a staged table in the target's folder, and a note of it.

The note decides nothing: the target's log tells whether the publish was committed. Where it does not tell any more, and
where the table is not found, everything stays as it lies.
"""

from __future__ import annotations

from collections.abc import Sequence

from planproof.publish.delta.actions import LOG
from planproof.publish.delta.staging import PREFIX, forget_log, is_committed_since, is_made_by_publish, read_note_name
from planproof.publish.notes import Note, QuarantinedFiles, believed
from planproof.publish.notes.notebook import SETTLES, Found, Left, is_young, taken_mark
from planproof.publish.notes.quarantine import delete_rows, read_quarantine_time
from planproof.publish.transaction import STATES, Disbelieved, Target, database_root
from planproof.publish.transaction.names import join, parent
from planproof.session import Session, SparkFailure, Store, StoredTable, decode_uri, store_of
from planproof.session.delta.protocol import DeltaTables


def list_left(wanted: str | None = None) -> dict[str, Left]:
    """`wanted`: where the model asks for its table to lie, where it names a place."""

    def believe(session: Session, location: str, note: Note, is_chosen: bool) -> None:
        _verify(session, location, note, is_chosen, wanted)

    return {"delta": Left(believe, settle)}


def _verify(session: Session, location: str, note: Note, is_chosen: bool, wanted: str | None) -> None:
    """Raises `Disbelieved` with the first thing that is not as a publish would have it, and `SparkFailure`."""
    names = believed.verify_names(location, note)
    home = database_root(session, names.target.namespace)
    if not is_chosen:
        believed.refuse_other_home(location, home, note)
    if note.base is None or note.branch or note.staging or note.others:
        raise Disbelieved("base, branch, staging, others: no publish of a Delta table says this of them")
    table = _find_table(session, note.target)
    if table is not None:
        _verify_folder(note.location, note.folder, note.owner.run, (_place(table),))
    elif note.is_new:
        is_near = note.folder is not None and home is not None and believed.is_on_system_of(home, note.folder)
        said = read_note_name(store_of(session), str(note.folder)) if is_near else None
        claimed = note.location if said and believed.is_same_location(said, location) else None
        places = (wanted, claimed, _open_tables(session).place(note.target))
        _verify_folder(note.location, note.folder, note.owner.run, places)
    if note.quarantine is not None:
        believed.refuse_other_quarantine(names.target, note, note.quarantine)
        bad_rows = _find_table(session, note.quarantine.table)
        if bad_rows is not None:
            _verify_folder(_place(bad_rows), note.quarantine.folder, note.owner.run, (_place(bad_rows),))


def _verify_folder(location: str, folder: str | None, run: str, places: Sequence[str | None]) -> None:
    at = next((place for place in places if place is not None and believed.is_same_location(location, place)), None)
    if at is None:
        raise Disbelieved(f"location: {location} is not where the catalog has the table, or would put it")
    if folder is None or not believed.is_same_location(folder, join(at, PREFIX + run)):
        raise Disbelieved(f"folder: {folder} is not where this publish wrote")
    believed.refuse_links(folder, parent(at))


def _open_tables(session: Session) -> DeltaTables:
    tables = session.delta()
    if tables is None or not tables.is_there:
        raise SparkFailure("its log is read in the JVM of a classic session whose own catalog is Delta's")
    return tables


def _find_table(session: Session, name: str) -> StoredTable | None:
    found = session.registered_table(name)
    return found if found is not None and found.kind == "table" and found.format == "delta" else None


def _place(table: StoredTable) -> str:
    return decode_uri(table.location or "")


def settle(session: Session, store: Store, location: str, note: Note, force: bool) -> Found:
    """Raises `SparkFailure`."""
    tables = _open_tables(session)
    assert note.folder is not None, "it was verified"
    if _find_table(session, note.target) is None and not note.is_new:
        return None, f"{note.target} is not there any more, or has another name"
    named = _is_committed(tables, store, note)
    if named is False and store.exists(taken_mark(location)):
        # Its owner may be at its commit. From here on the table refuses it, or has it by now.
        _fence_bad_rows(session, tables, note)
        if store.exists(join(note.location, LOG)):
            tables.fence(note.location, PREFIX + note.owner.run)
            named = _is_committed(tables, store, note)
        elif is_young(store, taken_mark(location)):
            return "left", f"its owner may still make the table; recover again in {SETTLES // 60} minutes"
    if named is None:
        return None, "the log does not say any more whether it was committed"
    if not named and _was_forgotten(session, store, note):
        return None, "its staged log is gone, as if it had been committed"
    if STATES[note.step].late and STATES[note.step].target is Target.OLD:
        _fence_bad_rows(session, tables, note)
    if named or _is_committed_late(tables, store, note):
        _finish(session, tables, store, note)
        return "finished", "it had been committed"
    if note.quarantine is not None:
        take_back(session, store, note.quarantine)
    return "undone", "its commit is not in the log; what it had staged was deleted"


def _is_committed_late(tables: DeltaTables, store: Store, note: Note) -> bool:
    """A JVM may outlive its owner, and go on with the commit: from here on the table refuses it, or has it."""
    state = STATES[note.step]
    if not state.late or state.target is Target.OLD or not store.exists(join(note.location, LOG)):
        return False
    tables.fence(note.location, PREFIX + note.owner.run)
    return bool(_is_committed(tables, store, note))


def _fence_bad_rows(session: Session, tables: DeltaTables, note: Note) -> None:
    """From here on the quarantine's log refuses the publish's bad rows, or has them."""
    bad_rows = None if note.quarantine is None else _find_table(session, note.quarantine.table)
    if bad_rows is not None:
        tables.fence(_place(bad_rows), PREFIX + note.owner.run)


def _finish(session: Session, tables: DeltaTables, store: Store, note: Note) -> None:
    if note.is_new and session.registered_table(note.target) is None:
        tables.register(note.target, note.location, believed.is_same_location(note.location, tables.place(note.target)))
    noted = note.quarantine
    # Without its table, nothing has said that the folder of the bad rows is the publish's own.
    is_known = noted is not None and _find_table(session, noted.table) is not None
    for staged in (note.folder, noted.folder if noted is not None and is_known else None):
        if staged is not None:
            forget_log(store, staged)


def _was_forgotten(session: Session, store: Store, note: Note) -> bool:
    """Whether the publish was committed before the version that its note says it began on: a forged note may name a
    later one. A publish deletes its staged log once it is committed. Where that log is gone, its bad rows in the
    quarantine prove a commit, and so does a commit of its files in any version that the table still has."""
    assert note.folder is not None
    if store.exists(join(note.folder, LOG)):
        return False
    noted, log, own = note.quarantine, join(note.location, LOG), note.folder.rpartition("/")[2]
    if (
        noted is not None
        and _find_table(session, noted.table) is not None
        and read_quarantine_time(session, noted) is not None
    ):
        return True
    commits = [name for name in store.names(log) if name.endswith(".json") and name[:1].isdigit()]
    return store.exists(note.folder) and any(is_made_by_publish(store.read(join(log, name)), own) for name in commits)


def _is_committed(tables: DeltaTables, store: Store, note: Note) -> bool | None:
    """None where commits of that time are gone, and the table names no file of the publish."""
    assert note.folder is not None
    assert note.base is not None
    if not store.exists(join(note.location, LOG)):
        return False
    now, folder = tables.state(note.location), note.folder.rpartition("/")[2]
    found = is_committed_since(tables, store, note.location, note.base, folder)
    # A note is a claim: what the table names is never taken for a dead publish's.
    return True if found or tables.has_files_in(now, folder) else found


def take_back(session: Session, store: Store, bad_rows: QuarantinedFiles) -> None:
    """Removes what a run quarantined, committed or not; may be called again. Raises `SparkFailure`."""
    table, folder, base = _find_table(session, bad_rows.table), bad_rows.folder, bad_rows.base
    if table is None or folder is None or base is None:
        return
    found = is_committed_since(_open_tables(session), store, _place(table), base, folder.rpartition("/")[2])
    delete_rows(session, bad_rows)
    if found is not False:
        forget_log(store, folder)  # Older versions name its files, until VACUUM deletes them.
    elif store.exists(join(folder, LOG)):
        store.delete(folder)


LEFT = list_left()
