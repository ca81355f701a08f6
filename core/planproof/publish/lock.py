"""One lock file per table: a second writer is refused, and told who holds it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from planproof.publish.names import STATE, join
from planproof.publish.owner import Owner, begin, end
from planproof.session.store import Store


class Locked(Exception):
    """Another run holds the table; `holder` is None where the lock file cannot be read."""

    def __init__(self, table: str, holder: Owner | None) -> None:
        who = str(holder) if holder else "an owner that cannot be read"
        super().__init__(f"{table} is being published by {who}")
        self.holder = holder

    @property
    def is_dead(self) -> bool:
        return self.holder is not None and self.holder.is_dead


@dataclass(frozen=True, slots=True)
class Lock:
    store: Store
    location: str
    owner: Owner

    def release(self, keep: bool = False) -> None:
        """Gives the run up, and removes the lock if it is still this owner's; `keep` leaves it as a dead owner's."""
        end(self.owner.run)
        if not keep and holder(self.store, self.location) == self.owner:
            self.store.delete(self.location)


def path(root: str, slug: str) -> str:
    return join(root, STATE, "locks", f"{slug}.json")


def acquire(store: Store, root: str, slug: str, run: str, table: str) -> Lock:
    """The table's lock for `run`. Raises `Locked` where another run holds it."""
    owner, location = Owner.here(run), path(root, slug)
    begin(run)
    if store.create(location, json.dumps(owner.form())):
        return Lock(store, location, owner)
    end(run)
    raise Locked(table, holder(store, location))


def holder(store: Store, location: str) -> Owner | None:
    """Who holds the lock, None where there is none or it cannot be read."""
    text = store.read(location)
    try:
        return Owner.read(json.loads(text)) if text else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
