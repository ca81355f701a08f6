"""The note in a version's folder: since when it is no table's, and which files it had then.

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
from planproof.session.protocol import SparkFailure
from planproof.session.store import Store


@dataclass(frozen=True, slots=True)
class VersionNote:
    """`files` are paths from the version's folder on; None of one that no table ever was pointed to, and that a call of
    an evicted owner may still point a table to. `since` is in seconds since 1970."""

    files: tuple[str, ...] | None = None
    since: float = 0.0


def write_note(store: Store, version: str, files: Iterable[str] | None) -> None:
    """Spark does not read a file whose name begins with `_`."""
    note = VersionNote(None if files is None else tuple(sorted(files)))
    store.write(_place(version), json.dumps(asdict(note)))


def read_note(store: Store, version: str) -> VersionNote | None:
    """None where there is none, or where it cannot be read."""
    with suppress(ValueError, SparkFailure):
        text, since = store.read(_place(version)), store.modification_time(_place(version))
        if text is not None and since is not None:
            return VersionNote(read_form(VersionNote, text).files, since)
    return None


def list_added(store: Store, version: str) -> list[str]:
    """The files that came into a version after it was replaced, as far as it has a note of that."""
    note = read_note(store, version)
    if note is None or note.files is None:
        return []
    return sorted(store.contents(version).keys() - {*note.files})


def _place(version: str) -> str:
    return join(version, "_planproof.json")
