"""Which files a publish audited, and whether they are still there; which of a table's files are another writer's."""

from __future__ import annotations

from dataclasses import dataclass

from planproof.publish.transaction.journal import Content
from planproof.publish.transaction.names import is_within, path_below
from planproof.publish.transaction.partition import partitions_of
from planproof.session.protocol import Session, SparkFailure, StoredTable
from planproof.session.store import Store, decode_uri
from planproof_engine.origin import AnalysisError


def list_content(store: Store, location: str) -> Content | None:
    """The data files of a folder; None where they cannot be listed from here."""
    try:
        return tuple(sorted(store.contents(location).items()))
    except SparkFailure:
        return None


def is_whole(store: Store, location: str, content: Content | None) -> bool:
    """Whether every file of the content is in a folder, with its size. Files of others may lie beside them.

    True where it is not known what was there.
    """
    if content is None:
        return True
    found = store.contents(location)
    return all(found.get(name) == size for name, size in content)


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
