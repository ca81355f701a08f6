"""Which notes of a recovery are believed: what a note names is computed anew, and compared with what it says.

Whoever can write to a database's folder can write a note there. So the note's own file says which table and which run
it is about, the catalog says where that table lies, and planproof's names say what a publish puts there. A note that
names anything else is not followed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from planproof.publish.iceberg.note import Note
from planproof.publish.transaction.deletion import link_in
from planproof.publish.transaction.names import Names, join, parent, slug, within
from planproof.publish.transaction.verification import Disbelieved
from planproof.session.protocol import Changing, StoredTable
from planproof.session.store import decoded
from planproof_engine.catalog import split_name
from planproof_engine.quoting import quoted

_RUN = re.compile(r"([0-9a-zA-Z]+)_(\d{1,9})")
_BRANCH = re.compile("planproof_[0-9a-f]{32}")
_METADATA = re.compile(r"(snap-\d+-\d+-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-m\d+)?\.avro")
"""What Iceberg calls manifests, and lists of them."""
_DATA_PATHS = ("write.data.path", "write.folder-storage.path")
_SUFFIX = "__quarantine"


def verify(tables: Changing, location: str, note: Note, is_chosen: bool) -> None:
    """Raises `Disbelieved` with the first thing that is not as a publish would have it, and `SparkFailure`."""
    names = _names(location, note)
    complete = tables.complete(quoted(names.target))
    home = tables.namespace_location(complete[:-1])
    home = None if home is None else decoded(home)
    root = parent(parent(parent(location)))
    if not is_chosen and (home is None or not _same(home, root)):
        raise Disbelieved(f"target: {note.target} is a table of another database than the folder {root}")
    if note.branch is not None:
        if not _BRANCH.fullmatch(note.branch) or note.folder or note.others or note.quarantine or note.staging:
            raise Disbelieved(f"branch: {note.branch}")
        return
    table = tables.table(quoted(complete))
    if table is None and note.staging is not None:
        table = tables.table(note.staging)
    if table is not None:
        _verify_files(table, note.owner.run, note.folder, note.others)
    elif note.is_new:
        _verify_new(names, home, note)
    if note.quarantine is not None:
        _verify_quarantine(tables, complete, note)


def _names(location: str, note: Note) -> Names:
    run, parts = _RUN.fullmatch(note.owner.run), split_name(note.target)
    if run is None or location.rpartition("/")[2] != f"{note.slug}.{note.owner.run}.json":
        raise Disbelieved(f"owner.run: {note.owner.run} is not the one of the file's name")
    if quoted(parts) != note.target or slug(parts[-1]) != note.slug or len(parts) < 2:
        raise Disbelieved(f"target: {note.target} is not the table of the file's name")
    names = Names(parts, run[1], int(run[2]))
    if note.staging is not None and (note.staging, note.away) != (quoted(names.staging), quoted(names.away)):
        raise Disbelieved(f"staging, away: {note.staging} and {note.away} are not what this publish calls them")
    return names


def _verify_new(names: Names, home: str | None, note: Note) -> None:
    """No table is there: only what lies where its catalog would have put it is known to be this publish's."""
    own = (names.table, f"{names.table}_{names.stamp}", names.staging[-1])
    at = next((at for name in own if home is not None and _same(note.location, at := join(home, name))), None)
    if at is None:
        raise Disbelieved(f"location: {note.location} is not where the catalog would put {note.target}")
    _refuse_links(note.location, parent(at))
    _verify_places(join(at, "data"), join(at, "metadata"), note.owner.run, note.folder, note.others)


def _verify_quarantine(tables: Changing, complete: Sequence[str], note: Note) -> None:
    bad_rows = note.quarantine
    assert bad_rows is not None
    if bad_rows.table != quoted((*complete[:-1], f"{complete[-1]}{_SUFFIX}")) or bad_rows.run != note.owner.run:
        said = f"{bad_rows.table} is not the one of {note.target}, or {bad_rows.run} another run"
        raise Disbelieved(f"quarantine: {said}")
    table = tables.table(bad_rows.table)
    if table is not None:
        _verify_files(table, bad_rows.run, bad_rows.folder, bad_rows.others)


def _verify_files(table: StoredTable, run: str, folder: str | None, others: Sequence[str]) -> None:
    at, properties = decoded(table.location or ""), table.properties
    data = next((decoded(properties[key]) for key in _DATA_PATHS if properties.get(key)), join(at, "data"))
    metadata = decoded(properties.get("write.metadata.path") or join(at, "metadata"))
    _verify_places(data, metadata, run, folder, others)


def _verify_places(data: str, metadata: str, run: str, folder: str | None, others: Sequence[str]) -> None:
    if folder is not None:
        if not _same(folder, join(data, f"planproof_{run}")):
            raise Disbelieved(f"folder: {folder} is not where this publish wrote")
        _refuse_links(folder, parent(data))
    for other in others:
        if not _same(parent(other), metadata) or not _METADATA.fullmatch(other.rpartition("/")[2]):
            raise Disbelieved(f"others: {other} is none of the table's own manifests")
        _refuse_links(other, parent(metadata))


def _same(location: str, other: str) -> bool:
    """Whether two locations are spelt as one, and lead nowhere else."""
    is_plain = all(part not in ("..", ".") for one in (location, other) for part in one.split("/"))
    return is_plain and within(location, other) and within(other, location)


def _refuse_links(location: str, above: str) -> None:
    """Raises `Disbelieved` where a location of this machine is a link, or lies behind one, below a folder that the
    catalog knows."""
    link = link_in(location, above)
    if link is not None:
        raise Disbelieved(f"{link} is a link")
