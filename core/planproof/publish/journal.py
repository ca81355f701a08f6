"""What a publish is about to do, written before each step, so that another process can finish or undo it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from planproof.publish.names import STATE, join
from planproof.publish.owner import Owner
from planproof.session.store import Store


@dataclass(frozen=True, slots=True)
class Prior:
    """The target as it was: `table` or `view`, and its location, decoded."""

    kind: str
    managed: bool
    location: str | None
    partitioned: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """A file that goes from staging into the target."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class PartitionSwap:
    """A partition (Spark's spelling `d=2024-01-01/n=1`), where it lay (None: it is new) and where its new files lie."""

    partition: str
    old: str | None
    new: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One try of one run at one target. Relations are dotted and quoted; locations are decoded."""

    model: str
    target: str
    staging: str
    away: str
    strategy: str
    run: str
    attempt: int
    owner: Owner
    slug: str
    root: str
    native: str
    stage_location: str
    external: bool
    step: str = "begin"
    prior: Prior | None = None
    place: str | None = None
    statement: str | None = None
    moves: tuple[Move, ...] = ()
    partitions: tuple[PartitionSwap, ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    """Columns that the target gets with the delta: name and type."""

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Entry:
        """Raises ValueError where the text is no entry."""
        try:
            form: Mapping[str, Any] = json.loads(text)
            known = {f.name: form[f.name] for f in fields(cls) if f.name in form}
            known["owner"] = Owner.read(known["owner"])
            known["prior"] = Prior(**known["prior"]) if known.get("prior") else None
            known["moves"] = tuple(Move(**m) for m in known.get("moves", ()))
            known["partitions"] = tuple(PartitionSwap(**p) for p in known.get("partitions", ()))
            known["columns"] = tuple((str(name), str(kind)) for name, kind in known.get("columns", ()))
            return cls(**known)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a journal entry: {error!r}") from error


def folder(root: str) -> str:
    return join(root, STATE, "journal")


class Journal:
    """The entry of one publish, and the file that it lives in."""

    def __init__(self, store: Store, entry: Entry) -> None:
        self.store, self.entry = store, entry
        self.location = join(folder(entry.root), f"{entry.slug}.{entry.run}_{entry.attempt}.json")

    def step(self, name: str, **changes: Any) -> None:
        """Writes that step `name` begins now."""
        self.entry = replace(self.entry, step=name, **changes)
        self.store.write(self.location, self.entry.to_json())

    def close(self) -> None:
        self.store.delete(self.location)
