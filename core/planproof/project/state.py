"""What a judged node leaves for the nodes that read it, as plain data: it goes between processes and into the cache."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from functools import lru_cache

from planproof.judge.doubts import Incomplete
from planproof.project import Known
from planproof.report import Report
from planproof_engine import Relation, record
from planproof_engine.types import DataType, from_json


class Unportable(Exception):
    """A relation whose types do not come back from their JSON form as they were."""


@record(frozen=True, slots=True)
class State:
    """The stored relation, as JSON, of a node that was visited (None: it is not known), and what is said of it.

    `unread` says why the relation is not known, `origin` where it is from; `incomplete` is what is not known of its
    columns, as JSON; `stale` says what changed since dbt compiled it.
    """

    relation: str | None = None
    unread: str | None = None
    origin: str | None = None
    incomplete: str | None = None
    stale: str | None = None

    @property
    def known(self) -> tuple[str, Known] | None:
        """The relation's name and columns."""
        return None if self.relation is None else _parse_relation(self.relation, self.origin or "")

    @property
    def unknown(self) -> Incomplete | None:
        """What is not known of the relation's columns."""
        return None if self.incomplete is None else _parse_incomplete(self.incomplete)

    @property
    def digest(self) -> str:
        return digest(json.dumps(self.to_list()).encode())

    def to_list(self) -> list[str | None]:
        return [getattr(self, f.name) for f in fields(self)]


@lru_cache(maxsize=10_000)
def _parse_incomplete(text: str) -> Incomplete:
    source, is_wider, columns = json.loads(text)
    return Incomplete(source, is_wider, tuple(columns))


@lru_cache(maxsize=10_000)
def _parse_relation(relation: str, origin: str) -> tuple[str, Known]:
    """Thousands of models may read the same thousands."""
    form = json.loads(relation)
    columns = tuple((name, _parse_type(text), nullable) for name, text, nullable in form["columns"])
    return form["name"], Known(columns, origin, form["evidence"], form["kind"])


def digest(content: bytes) -> str:
    """A digest of 16 bytes, in hexadecimal digits."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def convert_to_json(relation: Relation | None) -> str | None:
    """A relation as JSON, evidence included. Raises `Unportable`."""
    if relation is None:
        return None
    columns = [(f.name, _render_type(f.type), f.nullable) for f in relation.schema]
    evidence = {f.name: f.evidence for f in relation.schema if f.evidence}
    return json.dumps({"name": relation.name, "kind": relation.kind, "columns": columns, "evidence": evidence})


def digest_of_known(known: Known | None) -> str:
    """Two frozen relations of one digest are the same to whoever reads them."""
    if known is None:
        return ""
    columns = [(name, _render_type(data_type), nullable) for name, data_type, nullable in known.columns]
    return digest(json.dumps([known.kind, columns, dict(known.evidence), known.origin, known.complete]).encode())


@lru_cache(maxsize=20_000)
def _render_type(data_type: DataType) -> str:
    text = json.dumps(data_type.json)
    try:
        is_same = from_json(text) == data_type
    except ValueError:  # A type that no text may stand for.
        is_same = False
    if not is_same:
        raise Unportable(data_type.simple)
    return text


@lru_cache(maxsize=20_000)
def _parse_type(text: str) -> DataType:
    return from_json(text)


class Wanted(BaseException):
    """A text reads nodes that the manifest does not list among its parents, and that were not visited yet.

    No `Exception`: what catches planproof's own failures must not take it for one.
    """

    def __init__(self, *unique_ids: str) -> None:
        super().__init__(*unique_ids)
        self.unique_ids = unique_ids


@record(frozen=True, slots=True)
class Visit:
    """What one node's judgement came to: a model's report, what is left, and which names its text looked up.

    `listed` are the names that a message was looked through for, none where it was not.
    """

    report: Report | None
    state: State
    asked: tuple[tuple[str, ...], ...] = ()
    listed: tuple[str, ...] = ()
