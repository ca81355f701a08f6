"""A fingerprint of a relation by its definition and files: it changes whenever anybody writes the relation."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator
from typing import Literal

from planproof.publish.transaction.partition import list_names, partitions_of
from planproof.session import Session, SparkFailure, StoredTable, decode_uri, local

MOST_PARTITIONS = 256
"""With more partitions than these, a look at all files costs more than a count of a column's nulls."""


def compute_fingerprint(
    session: Session,
    relation: str,
    stored: StoredTable | None = None,
    view: Literal["shown", "text", "unknown"] = "shown",
    without: Collection[str] = (),
) -> str | None:
    """A digest of a quoted relation's definition and, for a table, of each file's place, size and time of writing.

    `stored` is the table as it stands there, where that is known. A view is its text, its settings and the columns that
    it shows, for which Spark analyzes all of it. Its rows are those of other relations: who asks for them looks at
    these, too, and needs the `text` and settings alone; where these are not known, a view is `unknown`, None. None also
    where something cannot be read, or not cheaply: nothing that was proved of the relation then counts. `without`:
    files of a Parquet table that are left out.
    """
    if view != "shown":
        stored = session.registered_table(relation)
    elif stored is None or stored.kind != "table":
        stored = session.table(relation)
    if stored is None or stored.kind == "temporary view" or (stored.kind == "view" and view == "unknown"):
        return None
    if stored.format == "delta":
        return _version(session, stored)
    if stored.has_log:
        return _snapshot(stored)
    try:
        lines = list(
            _view(session, relation, stored) if stored.kind == "view" else _files(session, relation, stored, without)
        )
    except (SparkFailure, OSError):
        return None
    return hashlib.sha256("\n".join([stored.kind, str(stored.schema), *lines]).encode()).hexdigest()


def _snapshot(stored: StoredTable) -> str | None:
    """A snapshot's number is never used again, and the table's location tells it from one that was made anew."""
    number = stored.properties.get("current-snapshot-id", "none")
    if number == "none":
        return None
    return hashlib.sha256(f"{stored.location}\n{stored.schema}\n{number}".encode()).hexdigest()


def _version(session: Session, stored: StoredTable) -> str | None:
    """The number of a version of a log, and the id that a table gets with it when it is made or replaced."""
    tables = session.delta()
    if tables is None or not tables.is_there or stored.location is None:
        return None
    state = tables.state(decode_uri(stored.location))
    said = f"{stored.location}\n{stored.created}\n{state.metadata['id']}\n{state.version}"
    return hashlib.sha256(said.encode()).hexdigest()


def _view(session: Session, relation: str, stored: StoredTable) -> Iterator[str]:
    if stored.text is None:
        yield str(session.rows(f"SHOW CREATE TABLE {relation}")[0][0])
    else:
        # The properties hold the database and the settings with which the view's text is read.
        yield stored.text
        yield str(sorted(stored.properties.items()))


def _files(session: Session, relation: str, stored: StoredTable, without: Collection[str]) -> Iterator[str]:
    if stored.partition_by and len(list_names(session, relation)) > MOST_PARTITIONS:
        raise SparkFailure(f"{relation} has more than {MOST_PARTITIONS} partitions")
    for partition in partitions_of(session, relation, stored):
        path = local(partition.location)
        if path is None:
            raise SparkFailure(f"{partition.location} is not on this machine")
        yield f"{partition.partition} {path}"
        for file in (file for file in session.files(path) if file not in without):
            state = os.stat(file)
            yield f"{file} {state.st_size} {state.st_mtime_ns}"
