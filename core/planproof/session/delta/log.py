"""A Delta table's log as it lies: its commits, read here, and its checkpoints, read by Spark.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md says what lies there, and how a table is made of it. A commit
never changes, and is there as a whole or not at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from planproof.session.delta.protocol import LOG, Action, LogState
from planproof.session.protocol import Session, SparkFailure
from planproof.session.schemas import declared_schema
from planproof.session.store import Store
from planproof_engine.origin import AnalysisError
from planproof_engine.quoting import quote_parts
from planproof_engine.schema import PhysicalSchema

_COMMIT = re.compile(r"([0-9]{20})\.json")
_CHECKPOINT = re.compile(r"([0-9]{20})\.checkpoint(?:\.[0-9]{10}\.([0-9]{10}))?\.parquet")
"""One file, or one of a number of them. Checkpoints of other names need a table feature, which `refuse` looks for."""


_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, StopIteration, RecursionError)
Kept = dict[str, tuple[float | None, list[dict[str, Any]]]]
"""What a checkpoint says beside its files, by its place, with the time at which it was written."""


class _Listing(NamedTuple):
    """The versions whose commits are there, and the files of each checkpoint that is whole."""

    commits: frozenset[int]
    checkpoints: Mapping[int, tuple[str, ...]]

    @property
    def newest(self) -> int:
        return max((*self.commits, *self.checkpoints), default=-1)


@dataclass(slots=True)
class Replayed:
    """A table at a version: its last actions of each kind, and what transactions it has seen. `files` are None where a
    checkpoint holds some of them that nobody asked for."""

    version: int
    metadata: dict[str, Any] = field(default_factory=dict)
    protocol: dict[str, Any] = field(default_factory=dict)
    transactions: set[str] = field(default_factory=set)
    files: dict[tuple[str, str], dict[str, Any]] | None = field(default_factory=dict)

    def apply(self, actions: Sequence[Action]) -> None:
        """One commit, or a part of a checkpoint."""
        files = self.files if self.files is not None else {}
        for action in actions:
            kind, form = next(iter(action.items()))
            if kind == "metaData":
                self.metadata = form
            elif kind == "protocol":
                self.protocol = form
            elif kind == "txn":
                self.transactions.add(form["appId"])
            elif kind == "add":
                files[_key(form)] = form
            elif kind == "remove":
                files.pop(_key(form), None)

    def state(self, location: str) -> LogState:
        """Raises `SparkFailure` where its schema, properties or partitions are none."""
        try:
            schema = declared_schema(self.metadata["schemaString"]) if self.metadata else PhysicalSchema(())
            found = LogState(location, self.version, schema, self.metadata, self.protocol)
            texts = [
                *found.partition_by,
                *found.features,
                *(part for pair in found.properties.items() for part in pair),
            ]
            if all(isinstance(text, str) for text in texts) and isinstance(self.metadata.get("id", ""), str):
                return found
        except (*_DAMAGED, AssertionError):
            pass
        raise SparkFailure(f"the log of {location} is damaged: its metadata describe no table")


def _key(form: Mapping[str, Any]) -> tuple[str, str]:
    """A file with another deletion vector is another one."""
    return form["path"], json.dumps(form.get("deletionVector"))


def parse_commit(text: str) -> list[dict[str, Any]]:
    """A commit's actions. A value may hold what else Unicode takes for the end of a line."""
    return [json.loads(line) for line in text.split("\n") if line.strip()]


class DeltaLog:
    """The log of the table in a folder. What is damaged, or cannot be read as a whole, is a `SparkFailure`."""

    def __init__(self, session: Session, store: Store, location: str, kept: Kept) -> None:
        self._session, self._store, self.location, self._kept = session, store, location, kept
        self._folder = f"{location.rstrip('/')}/{LOG}"

    def place(self, version: int) -> str:
        """Where the commit of a version lies."""
        return f"{self._folder}/{version:020}.json"

    def newest(self) -> int:
        """The last version, -1 where there is none."""
        return self._list().newest

    def has(self, version: int) -> bool:
        """Whether a version can be read."""
        there = self._list()
        return version in there.commits or version in there.checkpoints

    def read(self, version: int) -> str | None:
        """The text of a commit, None where it is not there."""
        return self._store.read(self.place(version))

    def replay(self, version: int | None = None, with_files: bool = False) -> Replayed:
        """The table as it is, or was at a version. `with_files`: those of a checkpoint too, which Spark reads."""
        there = self._list()
        wanted = there.newest if version is None else version
        start = max((v for v in there.checkpoints if v <= wanted), default=-1)
        found = Replayed(wanted)
        try:
            if start >= 0:
                found.files = {} if with_files else None
                for name in there.checkpoints[start]:
                    found.apply(self._read_checkpoint(name, with_files))
            for number in range(start + 1, wanted + 1):
                text = self.read(number)
                if text is None:
                    raise SparkFailure(f"the commit of version {number} is not in the log of {self.location}")
                found.apply(parse_commit(text))
            if wanted >= 0 and not (found.metadata and found.protocol):
                raise SparkFailure(f"the log of {self.location} says nothing of the table at version {wanted}")
        except _DAMAGED as error:
            raise SparkFailure(f"the log of {self.location} is damaged: {error!r:.200}") from error
        return found

    def _list(self) -> _Listing:
        names = self._store.names(self._folder)
        parts: dict[tuple[int, int], list[str]] = {}
        for found in filter(None, map(_CHECKPOINT.fullmatch, names)):
            parts.setdefault((int(found[1]), int(found[2] or 1)), []).append(found[0])
        whole = {version: tuple(files) for (version, number), files in parts.items() if len(files) == number}
        return _Listing(frozenset(int(found[1]) for found in map(_COMMIT.fullmatch, names) if found), whole)

    def _read_checkpoint(self, name: str, with_files: bool) -> list[dict[str, Any]]:
        place = f"{self._folder}/{name}"
        written = self._store.modification_time(place)
        if not with_files and written is not None and self._kept.get(place, (None, []))[0] == written:
            return self._kept[place][1]
        found = list(self._ask_for_checkpoint(place, with_files))
        if not with_files:
            self._kept[place] = (written, found)
        return found

    def _ask_for_checkpoint(self, place: str, with_files: bool) -> Iterator[dict[str, Any]]:
        kinds = ("metaData", "protocol", "txn", *(("add",) if with_files else ()))
        chosen = ", ".join(f"to_json({kind})" for kind in kinds)
        given = " OR ".join(f"{kind} IS NOT NULL" for kind in kinds)
        relation = quote_parts(("parquet", place))
        try:
            rows = self._session.rows(f"SELECT {chosen} FROM {relation} WHERE {given}")
        except AnalysisError as error:
            raise SparkFailure(f"the checkpoint {place} cannot be read: {error}") from error
        for row in rows:
            for kind, text in zip(kinds, row):
                if text is not None:
                    yield {kind: json.loads(text)}
