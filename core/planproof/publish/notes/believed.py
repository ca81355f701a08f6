"""Which notes of a recovery are believed: what a note names is computed anew, and compared with what it says.

Whoever can write to a database's folder can write a note there. So the note's own file says which table and which run
it is about, the catalog says where that table lies, and planproof's names say what a publish puts there. A note that
names anything else is not followed.
"""

from __future__ import annotations

import re

from planproof.publish.notes import Note, QuarantinedFiles
from planproof.publish.transaction import Disbelieved
from planproof.publish.transaction.deletion import link_in
from planproof.publish.transaction.names import Names, is_within, make_slug, parent, quarantine_of
from planproof.session import local
from planproof_engine import RelationName

_RUN = re.compile(r"([0-9a-zA-Z]+)_(\d{1,9})")


def verify_names(location: str, note: Note) -> Names:
    """The names of the publish that the note tells of; `location` is the note's own. Raises `Disbelieved`."""
    run, target = _RUN.fullmatch(note.owner.run), RelationName.parse(note.target)
    if run is None or location.rpartition("/")[2] != f"{note.slug}.{note.owner.run}.json":
        raise Disbelieved(f"owner.run: {note.owner.run} is not the one of the file's name")
    if target.quoted != note.target or make_slug(target.last) != note.slug or len(target.parts) < 2:
        raise Disbelieved(f"target: {note.target} is not the table of the file's name")
    names = Names(target, run[1], int(run[2]))
    if note.staging is not None and (note.staging, note.away) != (names.staging.quoted, names.away.quoted):
        raise Disbelieved(f"staging, away: {note.staging} and {note.away} are not what this publish calls them")
    return names


def refuse_other_home(location: str, home: str | None, note: Note) -> None:
    """Raises `Disbelieved` for a note that lies in another folder than its table's database, `home`."""
    root = parent(parent(parent(location)))
    if home is None or not is_same_location(home, root):
        raise Disbelieved(f"target: {note.target} is a table of another database than the folder {root}")


def refuse_other_quarantine(target: RelationName, note: Note, bad_rows: QuarantinedFiles) -> None:
    """Raises `Disbelieved` where the bad rows are not those of the note's run, in the quarantine of `target`."""
    if bad_rows.table != quarantine_of(target).quoted or bad_rows.run != note.owner.run:
        said = f"{bad_rows.table} is not the one of {note.target}, or {bad_rows.run} another run"
        raise Disbelieved(f"quarantine: {said}")


def is_same_location(location: str, other: str) -> bool:
    """Whether two locations are spelt as one, and lead nowhere else."""
    is_plain = all(part not in ("..", ".") for one in (location, other) for part in one.split("/"))
    return is_plain and is_within(location, other) and is_within(other, location)


def is_on_system_of(home: str, location: str) -> bool:
    """Whether a location may be looked at before it is believed: one on another file system names a server, and whoever
    wrote the note would have it called."""
    systems = {"" if local(one) is not None else "/".join(one.split("/", 3)[:3]) for one in (home, location)}
    return len(systems) == 1


def refuse_links(location: str, above: str) -> None:
    """Raises `Disbelieved` where a location of this machine is a link, or lies behind one, below a folder that the
    catalog knows."""
    link = link_in(location, above)
    if link is not None:
        raise Disbelieved(f"{link} is a link")
