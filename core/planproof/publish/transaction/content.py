"""Which files a publish audited, and whether they are still there; which of a table's files are another writer's."""

from __future__ import annotations

from dataclasses import dataclass

from planproof.publish.transaction.journal import Content
from planproof.publish.transaction.names import is_within, path_below
from planproof.publish.transaction.partition import partitions_of
from planproof.session import Session, SparkFailure, Store, StoredTable, decode_uri
from planproof_engine import AnalysisError


def list_content(store: Store, location: str) -> Content | None:
    """The data files of a folder; None where they cannot be listed from here."""
    try:
        return tuple(sorted(store.contents(location).items()))
    except SparkFailure:
        return None


@dataclass(frozen=True, slots=True)
class Remains:
    """What lies in a folder by now, of the files that a publish audited for it: those that are `missing` (or have
    another size), those that are `there`, and the `others`, which somebody has written since. Paths from the folder
    on."""

    missing: frozenset[str]
    there: frozenset[str]
    others: frozenset[str]

    @property
    def is_taken(self) -> bool:
        """Whether all that lies there is somebody else's."""
        return bool(self.others) and not self.there

    @property
    def is_final(self) -> bool:
        """Whether the folder is what a writer left there; else audited files are lost, and nothing has come instead."""
        return not self.missing or bool(self.others)


def look_for(store: Store, location: str, content: Content | None, below: str = "") -> Remains:
    """`below` is the folder of the content that lies at the location. Where the content is not known, whatever is
    there is taken for it."""
    found = store.contents(location)
    if content is None:
        return Remains(frozenset(), frozenset(found), frozenset())
    start = f"{below}/" if below else ""
    audited = {name.removeprefix(start): size for name, size in content if name.startswith(start)}
    there = frozenset(name for name, size in audited.items() if found.get(name) == size)
    return Remains(frozenset(audited) - there, there, frozenset(found) - frozenset(audited))


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The data files in a table's folder and in those of its partitions, each by its path from the table's folder on,
    or by its whole path where it lies outside. `own` are those that the table reads, `others` all that lie deeper."""

    own: frozenset[str]
    others: frozenset[str]


def list_table_files(session: Session, store: Store, table: StoredTable | None) -> TableFiles | None:
    """None where they cannot be told, or another format's log tells them."""
    if table is None or table.kind != "table" or table.has_log or table.location is None:
        return None
    root = decode_uri(table.location)
    try:
        folders = [root]
        if table.partition_by and table.tracked:
            folders = [part.location for part in partitions_of(session, table.name, table)]
        listed = [root, *(folder for folder in folders if not is_within(folder, root))]
        found = {path_from_root(f"{one}/{name}", root) for one in listed for name in store.contents(one)}
    except (SparkFailure, AnalysisError):
        return None
    if table.partition_by and not table.tracked:
        return TableFiles(frozenset(found), frozenset())
    read = {path_from_root(folder, root) for folder in folders}
    own = frozenset(name for name in found if name.rpartition("/")[0] in read)
    return TableFiles(own, frozenset(found - own))


def path_from_root(location: str, root: str) -> str:
    """The path of a location from a table's folder on; its whole path where it lies outside."""
    return path_below(location, root) if is_within(location, root) else location
