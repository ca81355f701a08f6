"""What a staged table's log holds, as actions that can be committed to the table in whose folder it lies.

A staged table is a Delta table of its own in a folder of the target's folder, so that its files need not move: they
are named from the target's folder. https://github.com/delta-io/delta/blob/master/PROTOCOL.md says what actions are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote

LOG = "_delta_log"
_UUID = 20
"""The characters of a deletion vector's id, by which its file is named; what stands before them is its folder."""
FileKey = tuple[str, str]
_OWN = ("baseRowId", "defaultRowCommitVersion")
"""What a commit assigns to each file."""


class Merge(NamedTuple):
    """What Delta's history says of a MERGE: the kinds of its clauses (those for matched rows, for others of the source,
    and for others of the target), and its counts by Delta's names."""

    clauses: tuple[tuple[str, ...], ...]
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Staged:
    """The net effect of a staged table's commits after the one that it began with. `added` are AddFile actions and
    those for readers of changes; `removals` the RemoveFile actions for the target's files that are replaced; `metadata`
    the last one; `merge` what the log says of a MERGE that wrote them.
    """

    added: tuple[dict[str, Any], ...]
    removals: tuple[dict[str, Any], ...]
    metadata: dict[str, Any] | None
    merge: Merge | None = None

    @property
    def files(self) -> list[dict[str, Any]]:
        return [action["add"] for action in self.added if "add" in action]

    @property
    def removed(self) -> tuple[str, ...]:
        return tuple(action["remove"]["path"] for action in self.removals)


def count_rows(files: Iterable[Mapping[str, Any]]) -> int | None:
    """How many rows stand in these files, as readers see them; None where the log does not say it of each."""
    counts = [_count_rows_of_file(form) for form in files]
    return None if None in counts else sum(filter(None, counts))


def count_for_history(written: Staged) -> dict[str, int]:
    """What Delta's own statements say of themselves in the table's history, by its names."""
    if written.merge is not None:
        return written.merge.counts
    rows, sizes = count_rows(written.files), [form["size"] for form in written.files]
    counted = {} if rows is None else {"numOutputRows": rows}
    return {"numFiles": len(sizes), "numOutputBytes": sum(sizes), **counted}


def _count_rows_of_file(form: Mapping[str, Any]) -> int | None:
    """Statistics are another writer's text, and may say anything."""
    try:
        rows = json.loads(form.get("stats") or "{}").get("numRecords")
        deleted = (form.get("deletionVector") or {}).get("cardinality", 0)
    except (ValueError, AttributeError, TypeError, RecursionError):
        return None
    return rows - deleted if type(rows) is int and type(deleted) is int and rows >= deleted >= 0 else None


class UnknownAction(Exception):
    """A commit holds an action that cannot be taken over into another table."""


def read(commits: Iterable[str], folder: str, location: str) -> Staged:
    """The commits of a staged table, as texts, the oldest first. `folder` is its name in the target's folder
    `location`. Raises `UnknownAction`, for what is no commit too."""
    try:
        return _sum_up(commits, folder, location)
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration, RecursionError) as error:
        raise UnknownAction(f"a commit of the staged rows is damaged ({error!r:.200})") from error


def _sum_up(commits: Iterable[str], folder: str, location: str) -> Staged:
    added: dict[FileKey, dict[str, Any]] = {}
    removed: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    metadata: dict[str, Any] | None = None
    merge: Merge | None = None
    for action in _parse_actions(commits):
        kind, form = next(iter(action.items()))
        if kind == "remove":
            if added.pop(_file_key(form), None) is None:
                removed.append({"remove": {**form, "path": relocate(form["path"], folder, location)}})
        elif kind == "add":
            added[_file_key(form)] = _make_add_action(form, folder, location)
        elif kind == "cdc":
            changes.append({"cdc": {**form, "path": relocate(form["path"], folder, location), "dataChange": False}})
        elif kind == "metaData":
            metadata = form
        elif kind == "commitInfo":
            merge = _read_merge(form) if form.get("operation") == "MERGE" else merge
        elif kind not in ("protocol", "txn"):
            raise UnknownAction(f"a commit of the staged rows holds {kind}")
    return Staged(tuple([{"add": form} for form in added.values()] + changes), tuple(removed), metadata, merge)


def _read_merge(info: Mapping[str, Any]) -> Merge:
    said, given = info.get("operationParameters") or {}, info.get("operationMetrics") or {}
    counts = {name: int(count) for name, count in given.items() if str(count).isdecimal()}
    counts["operationNumSourceRows"] = counts.setdefault("numSourceRows", 0)  # Delta 4 asks for it.
    kinds = ("matchedPredicates", "notMatchedPredicates", "notMatchedBySourcePredicates")
    return Merge(
        tuple(tuple(str(clause["actionType"]) for clause in json.loads(said.get(kind) or "[]")) for kind in kinds),
        counts,
    )


class Effects(NamedTuple):
    """The files whose rows a commit adds and removes; a file with another deletion vector is another one. Who only
    writes rows together (OPTIMIZE) has none."""

    added: frozenset[FileKey]
    removed: frozenset[FileKey]

    def are_undone_by(self, later: Effects) -> bool:
        """Whether a later commit takes away what this one added, or brings back what it removed."""
        return bool(self.added & later.removed or self.removed & later.added)


def read_effects(commit: str) -> Effects:
    """The effects of a commit, as far as it can be read."""
    found: dict[str, set[FileKey]] = {"add": set(), "remove": set()}
    for kind, form in list_changes(commit):
        found[kind].add(_file_key(form))
    return Effects(frozenset(found["add"]), frozenset(found["remove"]))


def list_changes(commit: str) -> list[tuple[str, dict[str, Any]]]:
    """The files that a commit adds or removes, with their rows: what can be read of it, as it may be another writer's
    text."""
    found: list[tuple[str, dict[str, Any]]] = []
    with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
        for action in _parse_actions([commit]):
            for kind in ("add", "remove"):
                if kind in action and action[kind]["dataChange"] and action[kind]["path"]:
                    found.append((kind, action[kind]))
    return found


def read_action(commit: str, kind: str) -> dict[str, Any]:
    """The one action of a kind in a commit. Raises `UnknownAction` for none."""
    try:
        return next(dict(action[kind]) for action in _parse_actions([commit]) if kind in action)
    except (ValueError, TypeError, AttributeError, StopIteration, RecursionError) as error:
        raise UnknownAction(f"a commit of the staged rows holds no {kind} ({error!r:.200})") from error


def list_added_paths(commit: str) -> list[str]:
    """The files that a commit adds, as the log spells them. Raises `UnknownAction`."""
    try:
        return [str(action["add"]["path"]) for action in _parse_actions([commit]) if "add" in action]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnknownAction(f"a commit of the staged rows is damaged ({error!r:.200})") from error


def list_lines(commit: str) -> list[str]:
    """A commit's actions as texts. A value may hold what else Unicode takes for the end of a line."""
    return commit.split("\n")


def _parse_actions(commits: Iterable[str]) -> Iterator[dict[str, Any]]:
    for text in commits:
        yield from (json.loads(line) for line in list_lines(text) if line.strip())


def _file_key(form: Mapping[str, Any]) -> FileKey:
    """A file with another deletion vector is another file to the log."""
    vector = form.get("deletionVector") or {}
    return form["path"], "".join(str(vector.get(key, "")) for key in ("storageType", "pathOrInlineDv", "offset"))


def _make_add_action(form: Mapping[str, Any], folder: str, location: str) -> dict[str, Any]:
    found = {key: value for key, value in form.items() if key not in _OWN}
    vector = form.get("deletionVector")
    if vector is not None and vector["storageType"] == "u":
        # Named from the folder of the table: `<folder><id>`.
        given = vector["pathOrInlineDv"]
        own = "/".join(filter(None, (folder, given[:-_UUID])))
        found["deletionVector"] = {**vector, "pathOrInlineDv": own + given[-_UUID:]}
    return {**found, "path": relocate(form["path"], folder, location), "dataChange": True}


def relocate(path: str, folder: str, location: str) -> str:
    """A path of the staged log as the target's log has it: its own files from the target's folder on, the target's as
    they were, others whole.

    >>> relocate("part-0.parquet", "planproof_1", "file:/lake/t")
    'planproof_1/part-0.parquet'
    >>> relocate("file:///my%20lake/t/d=%2541/part-0.parquet", "planproof_1", "file:/my lake/t")
    'd=%2541/part-0.parquet'
    """
    if not re.match("[a-z][a-z0-9+.-]*:|/", path):
        return "/".join(filter(None, (folder, path)))
    parts, outer = normalize_scheme(path).split("/"), normalize_scheme(location).rstrip("/").split("/")
    is_inside = len(parts) > len(outer) and unquote("/".join(parts[: len(outer)])) == "/".join(outer)
    return "/".join(parts[len(outer) :]) if is_inside else path


def normalize_scheme(location: str) -> str:
    """A location whose `file:` is spelt in one way."""
    return re.sub("^file:/+", "/", location)
