"""What a publish is about to do, written before each step, so that another process can finish or undo it."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from planproof.judge.draft import Effect
from planproof.publish.transaction.forms import read_form
from planproof.publish.transaction.lock import Evicted
from planproof.publish.transaction.names import STATE, join
from planproof.publish.transaction.owner import Owner
from planproof.publish.transaction.states import STATES
from planproof.session import Store

FORM = 3
"""The version of an entry's form. Another version of planproof settles what another form says."""
Content = tuple[tuple[str, int], ...]
"""Files, by their path from one folder on, each with its bytes."""


class Swap(NamedTuple):
    """What a strategy does to its target. `renames`: the staging table takes the target's name; `repoints`: the target,
    or a partition of it, gets the staged folder as its location."""

    effect: Effect
    renames: bool = False
    repoints: bool = False


SWAPS = {
    "rename": Swap(Effect.REPLACES, renames=True),
    "location": Swap(Effect.REPLACES, repoints=True),
    "append": Swap(Effect.ADDS),
    "partitions": Swap(Effect.REPLACES_PARTITIONS, repoints=True),
    "view": Swap(Effect.DEFINES),
}
"""The strategies that an entry may name; `swaps.STRATEGIES` carries each out."""


@dataclass(frozen=True, slots=True)
class Prior:
    """The target as it was: `table`, `view` or `iceberg view` (one that steps aside), and its location, decoded."""

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
class QuarantinePartition:
    """A partition of a quarantine table (quoted), which holds the bad rows of one publish, and its place."""

    table: str
    partition: str
    location: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One try of one run at one target. Relations are dotted and quoted; locations are decoded.

    What recovery finds in a file is a claim: `verification` compares it with what the catalog and the names say.
    """

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
    moves: tuple[Move, ...] = ()
    partitions: tuple[PartitionSwap, ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    """Columns that the target gets with the delta: name and type."""
    catalog: str | None = None
    """The metastore in which it runs, where the session tells."""
    quarantine: QuarantinePartition | None = None
    """The partition of the quarantine that this publish adds; undoing the publish removes it."""
    content: Content | None = None
    """The files that were audited, from `stage_location` on; None where they could not be listed."""
    view_text: str | None = None
    """A digest of the query that a view gets."""
    form: int = FORM

    @property
    def swap(self) -> Swap:
        return SWAPS[self.strategy]

    @property
    def effect(self) -> Effect:
        return self.swap.effect

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Entry:
        """Raises ValueError where the text is no entry."""
        entry = read_form(cls, text, FORM)
        for field, known in (("strategy", SWAPS), ("step", STATES)):
            if getattr(entry, field) not in known:
                raise ValueError(f"it names no {field} of this planproof: {getattr(entry, field)!r}")
        return entry


_NAME = re.compile(r"(?P<publish>[^.]+\.[^.]+)\.(?P<number>\d+)\.json")


def folder(root: str) -> str:
    """Where the journal lies, below a database's folder."""
    return join(root, STATE, "journal")


def list_publishes(store: Store, root: str, slug: str | None = None) -> list[str]:
    """The publishes that have entries below `root`, of one table where `slug` is given."""
    found = {match["publish"] for name in store.names(folder(root)) if (match := _NAME.fullmatch(name))}
    return sorted(p for p in found if slug is None or p.startswith(f"{slug}."))


def read(store: Store, root: str, publish: str) -> Journal | None:
    """A publish's journal at its last whole entry; None where there is none. Raises ValueError where none is whole."""
    error: ValueError | None = None
    numbers = _list_numbers(store, root, publish)
    for number in reversed(numbers):
        text = store.read(join(folder(root), f"{publish}.{number}.json"))
        try:
            if text is not None:
                return Journal(store, Entry.from_json(text), numbers[-1])
        except ValueError as refusal:  # The writer died within it, before the step began.
            error = refusal
    if error is not None:
        raise error
    return None


def _list_numbers(store: Store, root: str, publish: str) -> list[int]:
    found = (_NAME.fullmatch(name) for name in store.names(folder(root)))
    return sorted(int(match["number"]) for match in found if match and match["publish"] == publish)


class Journal:
    """The entry of one publish, and the file that it lives in.

    Every step gets a new file, and only then the file of the step before is deleted. Not every file system can replace
    a file so that the old or the new one is always there.
    """

    def __init__(self, store: Store, entry: Entry, number: int = 0) -> None:
        self.store, self.entry, self.number = store, entry, number
        self.publish = f"{entry.slug}.{entry.run}_{entry.attempt}"

    @property
    def location(self) -> str:
        return self._file(self.number)

    def _file(self, number: int) -> str:
        return join(folder(self.entry.root), f"{self.publish}.{number}.json")

    def step(self, name: str, **changes: Any) -> None:
        """Writes that step `name` begins now."""
        entry, before, has_before = replace(self.entry, step=name, **changes), self.location, self.number > 0
        if not self.store.create(self._file(self.number + 1), entry.to_json()):
            raise Evicted(entry.model)  # Whoever settles this publish has written its own step.
        self.number += 1
        if has_before and not self.store.exists(before):
            # Whoever has settled the publish has deleted its entries, and would never learn of this one.
            self.store.delete(self.location)
            raise Evicted(entry.model)
        self.entry = entry
        self.store.delete(before)

    def note(self, name: str, **changes: Any) -> None:
        """Step `name` begins. It changes nothing that would have to be undone, so that no file is written."""
        self.entry = replace(self.entry, step=name, **changes)

    def is_closed(self) -> bool:
        """Whether the publish was settled, by whomever."""
        return not _list_numbers(self.store, self.entry.root, self.publish)

    def close(self) -> None:
        """Deletes every entry, the last one last."""
        for number in _list_numbers(self.store, self.entry.root, self.publish):
            self.store.delete(join(folder(self.entry.root), f"{self.publish}.{number}.json"))
