"""The note in a folder that a table, or a partition, has left: since when, and which files it had then.

A statement of somebody else's that was under way at that moment may still write into the folder. Times are those of
the store, so that no two clocks are compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass

from planproof.publish.transaction.forms import read_form
from planproof.publish.transaction.names import join
from planproof.session import SparkFailure, Store


@dataclass(frozen=True, slots=True)
class VersionNote:
    """`files` are paths from the version's folder on; None of one that no table ever was pointed to, and that a call of
    an evicted owner may still point a table to. `since` is in seconds since 1970."""

    files: tuple[str, ...] | None = None
    since: float = 0.0


def write_note(store: Store, version: str, files: Iterable[str] | None) -> None:
    """Spark does not read a file whose name begins with `_`. No publish fails for its note: without one, what comes
    later is not told, and what an evicted owner has staged is kept for a shorter time."""
    note = VersionNote(None if files is None else tuple(sorted(files)))
    with suppress(SparkFailure):
        store.write(_place(version), json.dumps(asdict(note)), lasting=False)


def delete_note(store: Store, folder: str) -> None:
    """The folder is a table's again."""
    store.delete(_place(folder))


def read_note(store: Store, version: str) -> VersionNote | None:
    """None where there is none, or where it cannot be read."""
    with suppress(ValueError, SparkFailure):
        text, since = store.read(_place(version)), store.modification_time(_place(version))
        if text is not None and since is not None:
            return VersionNote(read_form(VersionNote, text).files, since)
    return None


def list_added(store: Store, folder: str, is_emptied: bool = False) -> list[str]:
    """The files that came into a folder after it was left, as far as it has a note of that; `is_emptied`: without a
    note, all that lies there came later."""
    note = read_note(store, folder)
    if note is None or note.files is None:
        return sorted(store.contents(folder)) if is_emptied and note is None else []
    return sorted(store.contents(folder).keys() - {*note.files})


def _place(version: str) -> str:
    return join(version, "_planproof.json")
