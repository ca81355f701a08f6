"""Which files a publish audited, and whether they are still there; which of a table's files are another writer's."""

from __future__ import annotations

from collections.abc import Mapping

from planproof.publish.transaction.journal import Content
from planproof.publish.transaction.names import within
from planproof.publish.transaction.partition import partitions_of
from planproof.session.protocol import Session, SparkFailure, StoredTable
from planproof.session.store import Store, decoded
from planproof_engine.origin import AnalysisError


def content_of(store: Store, location: str) -> Content | None:
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


def files_of_table(session: Session, store: Store, table: StoredTable | None) -> Mapping[str, int] | None:
    """All data files of a Parquet table, with their bytes, by their whole path; None where they cannot be told."""
    if table is None or not table.is_plain_parquet or table.location is None:
        return None
    root = decoded(table.location)
    try:
        folders = [root]
        if table.partition_by and table.tracked:
            folders += [p.location for p in partitions_of(session, table.name, table) if not within(p.location, root)]
        return {f"{folder}/{name}": size for folder in folders for name, size in store.contents(folder).items()}
    except (SparkFailure, AnalysisError):
        return None
