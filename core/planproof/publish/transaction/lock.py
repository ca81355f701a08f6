"""One lock file per table: a second writer is refused, and told who holds it.

Only one rescuer settles what a dead holder left: the one who claims it first. A claim is a file that is created
exclusively and named after the run that it inherits from. Where the rescuer dies, the next one claims its run in the
same way.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from planproof.publish.transaction.names import STATE, join
from planproof.publish.transaction.names import slug as slugged
from planproof.publish.transaction.owner import Owner, begin, end
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
    """A lock that this process holds on one target."""

    store: Store
    location: str
    owner: Owner

    def release(self, keep: bool = False) -> None:
        """Gives the run up, and removes the lock if it is still this owner's; `keep` leaves it as a dead owner's."""
        end(self.owner.run)
        if not keep and holder(self.store, self.location) == self.owner:
            self.store.delete(self.location)


def path(root: str, slug: str) -> str:
    """The file of a target's lock, below a database's folder."""
    return join(root, STATE, "locks", f"{slug}.json")


def acquire(store: Store, root: str, slug: str, run: str, table: str) -> Lock:
    """The table's lock for `run`. Raises `Locked` where another run holds it."""
    owner, location = Owner.here(run), path(root, slug)
    begin(run)
    try:
        if store.create(location, json.dumps(owner.form())):
            return Lock(store, location, owner)
    except BaseException:
        # If the file stays, it counts as a dead owner's.
        end(run)
        raise
    end(run)
    raise Locked(table, holder(store, location))


@contextmanager
def inherited(store: Store, root: str, slug: str, dead: Owner, table: str, force: bool = False) -> Iterator[None]:
    """Holds the right to settle what `dead` left; while it lasts, no other process has it.

    What was read before the block may have been settled since: read it again. `force` inherits from the living, too.
    Raises `Locked` where another rescuer is at work, or where `dead` may be alive.
    """
    me = Owner.here(f"rescue_{uuid.uuid4().hex[:10]}")
    begin(me.run)
    try:
        claims = _claims(store, join(root, STATE, "claims", slug), dead, me, table, force)
        try:
            yield
        except BaseException:
            store.delete(claims[-1])
            raise
        for claim in claims:
            store.delete(claim)
    finally:
        end(me.run)


def _claims(store: Store, prefix: str, dead: Owner, me: Owner, table: str, force: bool) -> list[str]:
    """The claims from the first dead owner's down to `me`, who claims from the last dead rescuer."""
    claims: list[str] = []
    last = dead
    while force or last.is_dead:
        claims.append(f"{prefix}.{slugged(last.run)}.json")
        if store.create(claims[-1], json.dumps(me.form())):
            return claims
        found = holder(store, claims[-1])
        if found is not None:
            last = found
        elif store.exists(claims[-1]):
            raise Locked(table, None)
        else:
            claims.pop()
    raise Locked(table, last)


def holder(store: Store, location: str) -> Owner | None:
    """Who holds the lock, None where there is none or it cannot be read."""
    text = store.read(location)
    try:
        return Owner.read(json.loads(text)) if text else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
