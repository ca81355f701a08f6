"""How to leave planproof: every table's files move to where they would lie without it, and its folders are deleted.

A table that was published by its location lies in `__planproof/<table>/<version>`. Its home is the table's own folder
beside it. The files are copied there (on this machine they get a second name), and then the catalog is told by one
call. Only then the version is deleted: whoever reads or writes the table at any moment finds all of its rows, also
where the run was killed. A note is written before and deleted at the end, by which the next run finishes it.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass

from planproof.publish.notes.notebook import list_notes
from planproof.publish.transaction import journal, lock
from planproof.publish.transaction.deletion import (
    Holdings,
    data_of,
    has_detour,
    is_own_version,
    is_version_of,
    link_in,
    link_in_state,
    relations,
)
from planproof.publish.transaction.forms import read_form
from planproof.publish.transaction.names import (
    FOUND,
    PREFIX,
    STATE,
    Refused,
    is_within,
    join,
    make_slug,
    mark_of,
    parent,
    refuse_unspeakable,
)
from planproof.publish.transaction.partition import format_spec, partitions_of
from planproof.publish.transaction.places import data_root, database_root
from planproof.publish.transaction.recovery import Claim, report_link, settle
from planproof.publish.transaction.states import report_end
from planproof.publish.transaction.verification import Disbelieved
from planproof.publish.transaction.version_note import delete_note, list_added, read_note, write_note
from planproof.report import Report
from planproof.session import Session, SparkFailure, Store, StoredTable, decode_uri
from planproof_engine import AnalysisError, RelationName, evolve, quote_literal

_LASTING = (".past", ".renewed", ".tmp")
"""What locks leave, and writes that were killed: files that nobody needs where nobody is at work."""
_FORM = 2
"""The version of a note's form. Another version of planproof finishes what another form says."""


@dataclass(frozen=True, slots=True)
class Departure:
    """One table that moves: its name in backticks, the version directory it leaves, and its home, where dbt alone
    would put it. `files`: what is copied there, None where nothing is, or all of it was."""

    table: str
    version: str
    home: str
    files: tuple[str, ...] | None = None
    form: int = _FORM

    @property
    def name(self) -> RelationName:
        return RelationName.parse(self.table)


def move_back(session: Session, store: Store, roots: Iterable[str], force: bool = False) -> list[Report]:
    """Moves every table of the session's catalog to where dbt alone would put it, and deletes planproof's folders in
    `roots` (the databases' locations) and beside the tables. One report per table that moved or could not, and one per
    folder that was left.

    Call it after `recover`, while nobody publishes: a table that is being published is left, and says so. Old versions
    of a table that this catalog does not know may be another metastore's: only `force` deletes them. What a table or a
    partition of this catalog has its data in is never deleted.
    """
    known = list(dict.fromkeys(roots))
    reports, beside = [], dict.fromkeys(known)
    holdings = Holdings(session)
    for root in known:
        link = link_in_state(root)
        if link is not None:
            reports.append(report_link(link))
            continue
        for file in _list_moves(store, root):
            move = _Move(session, store, holdings, root, file)
            reports.append(settle(move, file))
            if move.version is not None:
                beside[_folder_beside(move.version)] = None
    for name, table, versions in list(_list_guarded(session)):
        root = _root_of(session, name, known)
        beside.update(dict.fromkeys(map(_folder_beside, versions)))
        note = Departure(name.quoted, versions[0], _home_of(table, data_root(table, None, root)))
        reports.append(settle(_Move(session, store, holdings, root, _file_of(name), note)))
    holdings.forget()
    for folder in beside:
        reports += _sweep_folder(store, holdings, folder, known, force)
    reports += [report for root in known for report in _report_found_files(store, root)]
    reports = [report for report in reports if report.outcome != "skipped"]
    if all(report.outcome == "moved" for report in reports):
        for root in known:
            _delete_state(store, root)
    return reports


class _Move:
    """One table that moves back, or, without `note`, one whose move was killed, of which a note tells: a
    `recovery.Unfinished`."""

    def __init__(
        self, session: Session, store: Store, holdings: Holdings, root: str, name: str, note: Departure | None = None
    ) -> None:
        self.session, self.store, self.holdings, self.root, self.name = session, store, holdings, root, name
        self.note, self.location = note, join(root, STATE, "leaving", name)
        self.version: str | None = None
        """The version that was left, once its note is believed."""

    def read(self) -> Departure | None:
        if self.note is not None:
            return self.note
        text = self.store.read(self.location) or ""
        if not text.rstrip().endswith("}"):  # It was killed while it wrote the note, before anything moved.
            self.store.delete(self.location)
            return None
        return read_form(Departure, text, _FORM)

    def claim(self, found: Departure) -> Claim:
        return Claim(found.table.replace("`", ""), command="planproof clean")

    def verify(self, found: Departure) -> None:
        if self.note is None:
            refusal = _refusal(self.session, self.store, self.root, self.name, found)
            if refusal is not None:
                raise Disbelieved(refusal)

    def settle(self, found: Departure) -> tuple[str, str]:
        self.version = found.version
        run = f"leave_{uuid.uuid4().hex[:10]}"
        held = lock.acquire(self.store, self.root, make_slug(found.name.last), run, found.table)
        try:
            return _carry_home(self.session, self.store, self.holdings, self.location, found, held.fence)
        finally:
            held.release()
            self.holdings.forget()


def _file_of(table: RelationName) -> str:
    return f"{'.'.join(map(make_slug, table.parts))}.json"


def _folder_beside(version: str) -> str:
    """The folder in which the folder of versions lies."""
    return parent(parent(parent(version)))


def _home_of(table: StoredTable, data: str) -> str:
    """Where a table's own files lie without planproof: beside its versions, or where they lie already."""
    location = decode_uri(table.location or "")
    return join(data, RelationName.parse(table.name).last) if _version_of(location) is not None else location


def _refusal(session: Session, store: Store, root: str, name: str, note: Departure) -> str | None:
    """Why a note is not believed: whoever can write below a database's folder can write one."""
    table = note.name
    if len(table.parts) != 2 or name != _file_of(table):
        return f"it is no note of {note.table}"
    try:
        own = database_root(session, table.namespace)
    except Refused as refusal:
        return str(refusal)
    if not (is_within(own, root) and is_within(root, own)):
        return f"{note.table} is a table of another database"
    home = join(parent(parent(parent(note.version))), table.last)
    if not is_version_of(note.version, table) or has_detour(note.home):
        return f"{note.version} is no version of {note.table}"
    if not is_own_version(session, note.version, table, root):
        return f"{note.version} may be a version of another metastore's table of that name"
    lies = data_of(session, note.table)[:1]
    if note.home != home and not any(is_within(note.home, one) and is_within(one, note.home) for one in lies):
        return f"{note.home} is not where the files of {note.table} would lie"
    # A table that lies there already may be any one, and lose what is said to have been copied.
    if note.files is not None and any(is_within(one, note.home) for one in lies) and not _is_said_at_home(store, note):
        return f"{note.home} does not say that these files were copied there"
    copied = [join(note.home, name) for name in note.files or ()]
    if any(map(has_detour, copied)):
        return f"not all of its files lie in {note.home}"
    for location in (note.version, note.home, *copied):
        link = link_in(location, own if is_within(location, own) else parent(parent(parent(note.version))))
        if link is not None:
            return f"{link} is a link"
    return None


def _list_guarded(session: Session) -> Iterator[tuple[RelationName, StoredTable, list[str]]]:
    """The tables that lie in a version directory, or have partitions in some, with these directories."""
    for name, place in relations(session):
        if name.last.startswith(PREFIX):
            continue
        try:
            lies = data_of(session, name.quoted, place)
            versions = [version for one in lies if (version := _version_of(one)) is not None]
            table = session.table(name.quoted) if versions else None
        except (AnalysisError, SparkFailure):
            continue  # A table that cannot be read, of another format, was not published by us.
        if table is not None:
            yield name, table, list(dict.fromkeys(versions))


def _version_of(location: str) -> str | None:
    """The version directory in which a location lies."""
    head, folder, rest = location.rstrip("/").partition(f"/{PREFIX}/")
    names = rest.split("/")
    version = f"{head}{folder}{'/'.join(names[:2])}"
    return version if len(names) > 1 and mark_of(version) is not None else None


def _root_of(session: Session, table: RelationName, roots: list[str]) -> str:
    own = database_root(session, table.namespace)
    return next((root for root in roots if is_within(own, root) and is_within(root, own)), own)


def _carry_home(
    session: Session, store: Store, holdings: Holdings, file: str, note: Departure, fence: Callable[[], None]
) -> tuple[str, str]:
    """A killed move may have done some steps: each step looks first whether it is needed. `fence` raises `Evicted`
    where another run has taken the table over."""
    own, mark, folder = [note.name], mark_of(note.version), parent(note.version)
    versions = [name for name in store.names(folder) if mark_of(name) == mark]
    holder = holdings.sharer(note.version, own) or holdings.guest(note.version, own) or holdings.guest(note.home, own)
    if holder is None and is_within(_location(session, note.table), note.version):
        refuse_unspeakable(session, [note.home], "the folder where dbt would put it")
        if store.names(note.home) and not _is_copied(store, note):
            return "refused", f"{note.home} holds files that belong to no table; move or delete them"
        store.delete(note.home)
        note = evolve(note, files=tuple(store.contents(note.version)))
        store.write(file, json.dumps(asdict(note)))
        write_note(store, note.home, note.files or ())
        _copy(store, note.version, note.home, note.files or ())
        if is_within(_location(session, note.table), note.version):
            fence()
            session.rows(f"ALTER TABLE {note.table} SET LOCATION {quote_literal(note.home)}")
    if holder is not None or not is_within(_location(session, note.table), note.home):
        holdings.forget()
        if _is_copied(store, note) and holdings.guest(note.home) is None:
            store.delete(note.home)
        store.delete(file)
        if holder is not None:
            said = f"{note.version} or {note.home} holds data of {holder}"
            return "refused", f"{said}, too: drop it, or give it files of its own"
        return "refused", "it was published anew, or dropped, since its move began; run `planproof clean` again"
    if note.files is not None:
        _follow(store, note.version, note.home, note.files)
    store.write(file, json.dumps(asdict(evolve(note, files=None))))
    strays = _bring_partitions_home(session, store, holdings, note, fence)
    session.rows(f"REFRESH TABLE {note.table}")
    held = data_of(session, note.table)
    for place in (join(folder, version) for version in versions):
        # Of the version that was left just now all was copied; it may have a note of an earlier time.
        is_copied = is_within(place, note.version) or not list_added(store, place)
        if is_copied and not any(is_within(one, place) for one in held):
            fence()
            store.delete(place)
    delete_note(store, note.home)
    store.delete(file)
    if strays:
        said = "holds files that came after its partition had left it, and no table reads them"
        return (
            "refused",
            f"{strays[0]} {said}: add their rows to the table, delete them, and run `planproof clean` again",
        )
    return "moved back", f"its files lie in {note.home} now"


def _location(session: Session, name: str) -> str:
    """Where a table lies now; an empty text where there is none."""
    table = session.registered_table(name)
    return decode_uri(table.location or "") if table is not None else ""


def _copy(store: Store, version: str, home: str, names: Iterable[str]) -> None:
    for name in names:
        store.copy(join(version, name), join(home, name))


def _is_copied(store: Store, note: Departure) -> bool:
    """Whether no file lies in the home but what was copied there."""
    files = {*(note.files or ())}
    return note.files is not None and store.contents(note.home).keys() <= files and _is_said_at_home(store, note)


def _is_said_at_home(store: Store, note: Departure) -> bool:
    """Whether the home itself names the same files: who can write a note may have no right to write there."""
    said = read_note(store, note.home)
    return said is not None and said.files is not None and {*said.files} == {*(note.files or ())}


def _follow(store: Store, version: str, home: str, copied: Sequence[str]) -> None:
    """Does to the copy what others did to the version before the catalog knew of the copy."""
    if not store.exists(version):
        return
    there = store.contents(version)
    _copy(store, version, home, there.keys() - {*copied} - store.contents(home).keys())
    for name in {*copied} - there.keys():
        store.delete(join(home, name))


def _bring_partitions_home(
    session: Session, store: Store, holdings: Holdings, note: Departure, fence: Callable[[], None]
) -> list[str]:
    """Copies the partitions that lie in version directories below their table's home, and tells the catalog.

    A partition stays where it is, as does its version, where another table has data there, or a partition at its place,
    or where an INSERT has ended that was under way when the partition left: these places are returned. So does one
    whose place lies in another table's folder: Spark may not read that table any more with one folder more
    (CONFLICTING_DIRECTORY_STRUCTURES).
    """
    table, strays = session.table(note.table), list[str]()
    for old in partitions_of(session, note.table):
        new = join(note.home, old.partition)
        if not old.partition or _version_of(old.location) is None or is_within(old.location, note.home):
            continue
        if holdings.guest(old.location, [note.name]) is not None or holdings.holder(new, [note.name]) is not None:
            continue
        # What lies there was replaced, or is a copy that was not finished, if no partition of the table has it.
        if any(is_within(one, new) or is_within(new, one) for one in data_of(session, note.table)[1:]):
            continue
        copied = tuple(store.contents(old.location))
        if list_added(store, new, is_emptied=table is not None and table.managed):
            strays.append(new)
            continue
        fence()
        store.delete(new)
        write_note(store, new, copied)
        _copy(store, old.location, new, copied)
        fence()
        if old not in partitions_of(session, note.table, among=[old.partition]):
            continue  # Others have put it elsewhere, or dropped it: the copy is deleted by the next move.
        session.rows(
            f"ALTER TABLE {note.table} PARTITION ({format_spec(old.partition)}) SET LOCATION {quote_literal(new)}"
        )
        _follow(store, old.location, new, copied)
        fence()
        delete_note(store, new)
        store.delete(old.location)
    return strays


def _sweep_folder(store: Store, holdings: Holdings, data: str, roots: Sequence[str], force: bool) -> list[Report]:
    """Deletes planproof's folder in `data` where no version lies in it; with `force`, also where one does that is
    nobody's. What belongs to a table that is being published stays."""
    folder, reports = join(data, PREFIX), list[Report]()
    for table in store.names(folder):
        file = join(folder, table)
        link = link_in(file, data)
        if link is not None:
            reports.append(report_link(link))
            continue
        try:
            with _hold_lock(store, data, roots, table):
                reports += _sweep_versions(store, holdings, file, force)
        except lock.Locked as refusal:
            reports.append(report_end("locked", file, str(refusal)))
        except Refused as refusal:
            reports.append(report_end("refused", file, str(refusal)))
    if not reports:
        store.prune(folder)
    return reports


@contextmanager
def _hold_lock(store: Store, data: str, roots: Sequence[str], table: str) -> Iterator[None]:
    """Holds the lock of the table whose versions lie in a folder of `data`. With a `location_root`, that of each
    table of this name, as the folder does not tell in which database's location its lock lies. Raises `Locked`."""
    own = [root for root in roots if is_within(root, data) and is_within(data, root)]
    name = table.rpartition(".")[2]
    with ExitStack() as stack:
        for root in own or [root for root in roots if store.exists(join(root, STATE))]:
            held = lock.acquire(store, root, name, f"leave_{uuid.uuid4().hex[:10]}", table)
            stack.callback(store.prune, join(root, STATE))
            stack.callback(held.release)
        yield


def _sweep_versions(store: Store, holdings: Holdings, file: str, force: bool) -> list[Report]:
    for version in store.names(file):
        # What has no data file in it holds nothing but a marker of Spark's.
        place = join(file, version)
        if mark_of(version) is not None and not store.contents(place) and holdings.guest(place) is None:
            store.delete(place)
    if not store.names(file):
        store.prune(file)
        return []
    if force:
        holdings.forget()  # It may have been published since the catalog was read.
    holder = holdings.guest(file)
    if holder is not None:
        return [report_end("refused", file, f"{file} holds data of {holder}, which stay there")]
    if not force:
        said = "versions that no table of this catalog points to (any more)"
        if any(list_added(store, join(file, version)) for version in store.names(file)):
            said = "rows that another writer's statement brought after the table had left: they are in no table"
        return [
            report_end("refused", file, f"{file} holds {said}; look at them, or `planproof clean --force` deletes them")
        ]
    store.delete(file)
    return []


def _report_found_files(store: Store, root: str) -> list[Report]:
    """The folders of others' files that had come to a table's place while it was published: they are left."""
    named = re.compile(rf"{PREFIX}_.+_old{FOUND}")
    said = (
        "holds files that somebody put at a table's place while it was published; planproof never deletes them: add "
        "them to a table, or move them away"
    )
    folders = [join(root, name) for name in store.names(root) if named.fullmatch(name)]
    return [report_end("refused", folder, f"{folder} {said}") for folder in folders]


def _delete_state(store: Store, root: str) -> None:
    """Deletes the folder of journals and locks, where none is left that anybody needs. What a publish writes there that
    begins at this moment stays."""
    busy = (
        link_in_state(root)
        or journal.list_publishes(store, root)
        or lock.list_slugs(store, root)
        or list_notes(store, root)
    )
    if not busy and not _list_moves(store, root):
        for folder in ("locks", "journal", "leaving", "staged"):
            place = join(root, STATE, folder)
            for name in store.names(place):
                if name.endswith(_LASTING):
                    store.delete(join(place, name))
        store.prune(join(root, STATE))


def _list_moves(store: Store, root: str) -> list[str]:
    return [name for name in store.names(join(root, STATE, "leaving")) if name.endswith(".json")]
