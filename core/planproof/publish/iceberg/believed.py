"""Which notes about Iceberg's tables are believed: see `planproof.publish.notes.believed`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planproof.publish.notes.believed import (
    is_same_location,
    refuse_links,
    refuse_other_home,
    refuse_other_quarantine,
    verify_names,
)
from planproof.publish.notes.note import Note
from planproof.publish.transaction.names import Names, join, parent
from planproof.publish.transaction.verification import Disbelieved
from planproof.session.protocol import Changing, StoredTable
from planproof.session.store import decode_uri
from planproof_engine.catalog import RelationName

_BRANCH = re.compile("planproof_[0-9a-f]{32}")
_METADATA = re.compile(r"(snap-\d+-\d+-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-m\d+)?\.avro")
"""What Iceberg calls manifests, and lists of them."""
_DATA_PATHS = ("write.data.path", "write.folder-storage.path")


def verify(tables: Changing, location: str, note: Note, is_chosen: bool) -> None:
    """Raises `Disbelieved` with the first thing that is not as a publish would have it, and `SparkFailure`."""
    names = verify_names(location, note)
    complete = RelationName(tables.complete(names.target.quoted))
    home = tables.namespace_location(complete.namespace)
    home = None if home is None else decode_uri(home)
    if not is_chosen:
        refuse_other_home(location, home, note)
    if note.branch is not None:
        if not _BRANCH.fullmatch(note.branch) or note.folder or note.others or note.quarantine or note.staging:
            raise Disbelieved(f"branch: {note.branch}")
        return
    table = tables.table(complete.quoted)
    if table is None and note.staging is not None:
        table = tables.table(note.staging)
    # Nothing that the note says of another table's files is acted on.
    if table is not None and not is_another(table, note):
        _verify_files(table, note.owner.run, note.folder, note.others)
    elif table is None and note.is_new:
        _verify_new(names, home, note)
    if note.quarantine is not None:
        _verify_quarantine(tables, complete, note)


def is_another(table: StoredTable | None, note: Note) -> bool:
    """Whether the table of that name is another one than the publish began on, or was about to make. Its own one may
    have been renamed, and still need the files of the publish."""
    return table is not None and note.created is not None and table.created != note.created


def _verify_new(names: Names, home: str | None, note: Note) -> None:
    """No table is there: only what lies where its catalog would have put it is known to be this publish's."""
    own = (names.target.last, f"{names.target.last}_{names.stamp}", names.staging.last)
    at = next(
        (at for name in own if home is not None and is_same_location(note.location, at := join(home, name))), None
    )
    if at is None:
        raise Disbelieved(f"location: {note.location} is not where the catalog would put {note.target}")
    refuse_links(note.location, parent(at))
    _verify_places(join(at, "data"), join(at, "metadata"), note.owner.run, note.folder, note.others)


def _verify_quarantine(tables: Changing, complete: RelationName, note: Note) -> None:
    bad_rows = note.quarantine
    assert bad_rows is not None
    refuse_other_quarantine(complete, note, bad_rows)
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
        if not is_same_location(folder, join(data, f"planproof_{run}")):
            raise Disbelieved(f"folder: {folder} is not where this publish wrote")
        refuse_links(folder, parent(data))
    for other in others:
        if not is_same_location(parent(other), metadata) or not _METADATA.fullmatch(other.rpartition("/")[2]):
            raise Disbelieved(f"others: {other} is none of the table's own manifests")
        refuse_links(other, parent(metadata))
