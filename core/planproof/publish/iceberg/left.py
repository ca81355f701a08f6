"""What a killed publish of an Iceberg table leaves: files that no snapshot names, or a branch, and a note of them.

The note is written before the first file and deleted after the commit. Without it nobody could say whose the files
are. It decides nothing: the table itself tells whether a publish was committed. Where the commit may still be carried
out, and where the table is not found, everything stays as it lies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from planproof.publish.notes import Note, QuarantinedFiles, believed
from planproof.publish.notes.notebook import SETTLES, Found, Left, is_young, taken_mark
from planproof.publish.notes.quarantine import delete_rows, read_quarantine_time
from planproof.publish.transaction import STATES, Disbelieved, Ending
from planproof.publish.transaction.names import Names, join, parent
from planproof.session import Store, decode_uri
from planproof.session.branches import Branches
from planproof.session.protocol import Changing, Session, SparkFailure, StoredTable, Transactional
from planproof_engine import RelationName, quote_parts


def settle(session: Session, store: Store, location: str, note: Note, force: bool) -> Found:
    """Raises `SparkFailure`."""
    if note.branch is not None:
        return _settle_branch(session, note, note.branch)
    tables = session.transactions()
    if tables is None:
        raise SparkFailure("it was made in Spark's driver, and is looked at there (in dbt: method: session)")
    if note.staging is not None:
        return _settle_exchange(session, tables, store, note)
    named = _is_committed(tables, store, location, note)
    if named:
        return "finished", "it had been committed"
    gone = _explain_gone(tables, store, note, named)
    if gone is not None:
        return None, gone
    wait = _explain_wait(store, location, note, named, force)
    if wait is not None:
        return "left", wait
    if named is False and _was_forgotten(session, tables, note):
        return None, f"{note.target} has no snapshot of that time any more"
    _take_back(session, tables, store, note)
    return "undone", "no snapshot names its files, which were deleted"


def _settle_exchange(session: Session, tables: Transactional, store: Store, note: Note) -> Found:
    ending = settle_exchange(session, note)
    if ending == "undone":
        _take_back(session, tables, store, note)
    return ending, "the view's place was taken" if ending == "finished" else "the view stands as it was"


def _is_committed(tables: Transactional, store: Store, location: str, note: Note) -> bool | None:
    """Whether the table of that name has the publish's files; None where there is no such table."""
    named = tables.has_files_in(note.target, note.folder, note.others)
    if named is False and store.exists(taken_mark(location)) and not is_another(tables.table(note.target), note):
        # Its owner may be at its commit. From here on the table refuses it, or has it by now.
        for table in (note.target, *([note.quarantine.table] if note.quarantine is not None else [])):
            tables.fence(table, note.owner.run)
        named = tables.has_files_in(note.target, note.folder, note.others)
    return named


def _explain_gone(tables: Transactional, store: Store, note: Note, named: bool | None) -> str | None:
    """Why the publish's own table may be there under another name; None where it is not."""
    if is_another(tables.table(note.target), note):
        return f"{note.target} is another table by now"
    if named is None and not note.is_new:
        return f"{note.target} is not there any more, or has another name"
    if named is None and _was_registered(store, note):
        return f"no table {note.target} is there, and one was made at {note.location}"
    return None


def _explain_wait(store: Store, location: str, note: Note, named: bool | None, force: bool) -> str | None:
    """Why nothing is deleted yet; None where nobody can commit it any more."""
    until = f"recover again in {SETTLES // 60} minutes"
    if named is None and is_young(store, taken_mark(location)):
        return f"its owner may still make the table; {until}"
    if STATES[note.step].late and is_young(store, location) and not force:
        return f"its catalog may still carry out the commit; {until}"
    return None


def _was_forgotten(session: Session, tables: Transactional, note: Note) -> bool:
    """A note is a claim. Where the snapshots are expired that the table had when rows of its run were quarantined,
    nothing says that the run was not committed, and its bad rows are evidence."""
    noted = note.quarantine
    at = None if noted is None or tables.table(noted.table) is None else read_quarantine_time(session, noted)
    if at is None:
        return False
    oldest = session.rows(f"SELECT min(committed_at) FROM {quote_parts((*tables.complete(note.target), 'snapshots'))}")[
        0
    ][0]
    return oldest is None or oldest > at


def _settle_branch(session: Session, note: Note, branch: str) -> Found:
    """Drops the branch first: after that no server can carry out a commit that it was asked for."""
    tables = Branches(session)
    if tables.table(note.target) is None:
        return None, f"{note.target} is not there any more, or has another name"
    tables.drop(note.target, branch)
    is_committed = note.snapshot is not None and tables.has_snapshot(note.target, note.snapshot)
    if is_committed:
        return "finished", f"it had been committed; its branch {branch} was dropped"
    return "undone", f"its branch {branch} was dropped; Iceberg expires what was written there"


def _take_back(session: Session, tables: Transactional, store: Store, note: Note) -> None:
    if note.quarantine is not None:
        take_back(session, tables, store, note.quarantine)


def take_back(session: Session, tables: Transactional, store: Store, bad_rows: QuarantinedFiles) -> None:
    """Removes what a run quarantined, committed or not; may be called again. Raises `SparkFailure`."""
    if tables.table(bad_rows.table) is None:
        if session.registered_table(bad_rows.table) is None:
            return
        raise SparkFailure(f"{bad_rows.table} is there, and cannot be loaded as a table of Iceberg's", outside=True)
    delete_rows(session, bad_rows)
    # Its older snapshots still name the files of rows that were committed.
    if tables.has_files_in(bad_rows.table, bad_rows.folder, bad_rows.others) is False:
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
    there = session.registered_table(note.target)
    is_made, is_aside = (session.registered_table(name) is not None for name in (note.staging, note.away))
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


def _was_registered(store: Store, note: Note) -> bool:
    return any(name.endswith(".metadata.json") for name in store.names(join(note.location, "metadata")))


def _believe(session: Session, location: str, note: Note, is_chosen: bool) -> None:
    verify(session.transactions() or Branches(session), location, note, is_chosen)


LEFT = {"iceberg": Left(_believe, settle)}


_BRANCH = re.compile("planproof_[0-9a-f]{32}")
_METADATA = re.compile(r"(snap-\d+-\d+-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-m\d+)?\.avro")
"""What Iceberg calls manifests, and lists of them."""
_DATA_PATHS = ("write.data.path", "write.folder-storage.path")


def verify(tables: Changing, location: str, note: Note, is_chosen: bool) -> None:
    """Raises `Disbelieved` with the first thing that is not as a publish would have it, and `SparkFailure`."""
    names = believed.verify_names(location, note)
    complete = RelationName(tables.complete(names.target.quoted))
    home = tables.namespace_location(complete.namespace)
    home = None if home is None else decode_uri(home)
    if not is_chosen:
        believed.refuse_other_home(location, home, note)
    if note.branch is not None:
        if not _BRANCH.fullmatch(note.branch) or note.folder or note.others or note.quarantine or note.staging:
            raise Disbelieved(f"branch: {note.branch}")
        return
    table = tables.table(complete.quoted)
    if note.staging is not None:
        # Where the view stands again its files are deleted, whatever else has its names by then.
        made = (table, tables.table(note.staging))
        table = next((one for one in made if one is not None and not is_another(one, note)), None)
    # Nothing that the note says of the files of another table, or of one that is gone, is acted on.
    if table is None and (note.is_new or note.staging is not None):
        _verify_new(names, home, note)
    elif table is not None and not is_another(table, note):
        _verify_files(table, note.owner.run, note.folder, note.others)
        if note.is_new and not believed.is_same_location(note.location, decode_uri(table.location or "")):
            raise Disbelieved(f"location: {note.location} is not where {note.target} lies")
    if note.quarantine is not None:
        _verify_quarantine(tables, complete, note)


def is_another(table: StoredTable | None, note: Note) -> bool:
    """Whether the table of that name is another one than the publish began on, or was about to make. Its own one may
    have been renamed, and still need the files of the publish."""
    return table is not None and note.created is not None and table.created != note.created


def _verify_new(names: Names, home: str | None, note: Note) -> None:
    """No table is there: only what lies where its catalog would have put it is known to be this publish's."""
    own = (names.target.last, f"{names.target.last}_{names.stamp}", names.staging.last)
    places = [join(home, name) for name in own] if home is not None else []
    at = next((place for place in places if believed.is_same_location(note.location, place)), None)
    if at is None:
        raise Disbelieved(f"location: {note.location} is not where the catalog would put {note.target}")
    believed.refuse_links(note.location, parent(at))
    _verify_places(join(at, "data"), join(at, "metadata"), note.owner.run, note.folder, note.others)


def _verify_quarantine(tables: Changing, complete: RelationName, note: Note) -> None:
    bad_rows = note.quarantine
    assert bad_rows is not None
    believed.refuse_other_quarantine(complete, note, bad_rows)
    table = tables.table(bad_rows.table)
    if table is not None:
        _verify_files(table, bad_rows.run, bad_rows.folder, bad_rows.others)


def _verify_files(table: StoredTable, run: str, folder: str | None, others: Sequence[str]) -> None:
    at, properties = decode_uri(table.location or ""), table.properties
    data = next((decode_uri(properties[key]) for key in _DATA_PATHS if properties.get(key)), join(at, "data"))
    metadata = decode_uri(properties.get("write.metadata.path") or join(at, "metadata"))
    _verify_places(data, metadata, run, folder, others)


def _verify_places(data: str, metadata: str, run: str, folder: str | None, others: Sequence[str]) -> None:
    if folder is not None:
        if not believed.is_same_location(folder, join(data, f"planproof_{run}")):
            raise Disbelieved(f"folder: {folder} is not where this publish wrote")
        believed.refuse_links(folder, parent(data))
    for other in others:
        if not believed.is_same_location(parent(other), metadata) or not _METADATA.fullmatch(other.rpartition("/")[2]):
            raise Disbelieved(f"others: {other} is none of the table's own manifests")
        believed.refuse_links(other, parent(metadata))
