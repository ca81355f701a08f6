"""One lock per table: a second writer is refused, and told who holds it; what a dead one held is taken over.

A lock is a file, `locks/<table>.<epoch>.json`, that is created exclusively. The highest epoch holds the table. Its
owner renews it while it works. Whoever finds a lock of an owner that it cannot see watches those renewals by its own
clock for the length of a lease, so that no two clocks are compared, and then takes the table over with the next epoch.
A take-over deletes the file of the owner that it evicts, and epochs go on from there (`.past`): that owner finds out
before its next step, whenever it wakes up (`Lock.fence`)."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from planproof.publish.transaction.deletion import describe_link, link_in_state
from planproof.publish.transaction.forms import read_form
from planproof.publish.transaction.names import STATE, Refused, join
from planproof.publish.transaction.owner import Owner, begin, note_end
from planproof.publish.transaction.states import Stopped
from planproof.session import SparkFailure, Store

LEASE = 60.0
"""For so many seconds the renewals of an owner that cannot be seen are watched before its lock is taken over."""
RENEWAL = 10.0
"""Every so many seconds an owner renews its locks."""
_POLL = 0.5
_FILE = re.compile(r"(?P<slug>[^.]+)(?:\.(?P<epoch>\d{1,9}))?\.(?:json|past)")


class Locked(Stopped):
    """Another run holds the table; `holder` is None where the lock file cannot be read."""

    end, transient = "locked", True

    def __init__(self, table: str, holder: Owner | None) -> None:
        who = str(holder) if holder else "an owner that cannot be read"
        super().__init__(f"{table} is being published by {who}")
        self.holder = holder


class Evicted(Stopped):
    """Another run took the table over while this one was at work. This one must not touch it any more."""

    end, transient = "evicted", True

    def __init__(self, table: str) -> None:
        super().__init__(f"evicted: another run, or `recover --force`, has taken {table} over")


@dataclass(slots=True)
class Lock:
    """A lock that this process holds on one table; `took_over`: from an owner who had not given it back."""

    store: Store
    root: str
    slug: str
    epoch: int
    owner: Owner
    table: str
    took_over: bool = False
    renewals: int = 0

    @property
    def location(self) -> str:
        return path(self.root, self.slug, self.epoch)

    def fence(self) -> None:
        """Raises `Evicted` where another run has taken the table over. Call it right before whatever cannot be undone:
        where the check and the call are far apart, a late call may follow a take-over."""
        taken_over = self.store.exists(path(self.root, self.slug, self.epoch + 1))
        # Its own file may be another's: epochs begin again once `clean` has removed the folder of locks.
        if taken_over or holder(self.store, self.location) != self.owner:
            raise Evicted(self.table)

    def wait_for(self, is_done: Callable[[], bool]) -> bool:
        """Whether it `is_done`. Who was evicted waits for that while another run is at work on the table, for the
        length of a lease at most."""
        until = time.monotonic() + LEASE
        while not (result := is_done()) and time.monotonic() < until and self._is_anothers():
            time.sleep(_POLL)
        return result

    def _is_anothers(self) -> bool:
        found = holder(self.store, path(self.root, self.slug, current_epoch(self.store, self.root, self.slug)))
        return found is not None and found != self.owner and not found.is_dead

    def renew(self) -> None:
        """Tells whoever watches that the owner is alive."""
        self.renewals += 1
        self.store.write(_renewal_file(self.location), f"{self.owner.run} {self.renewals}", lasting=False)

    def release(self) -> None:
        """Gives the table back, if it is still this owner's."""
        _renewed.remove(self)
        note_end(self.owner.run)
        if holder(self.store, self.location) == self.owner:
            if self.took_over:
                self.store.write(_past_file(self.location), "")
            self.store.delete(self.location)
        if self.renewals:
            self.store.delete(_renewal_file(self.location))


class Watch:
    """What was seen of owners and their renewals, and when, by this process's own clock."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str | None, str | None, float]] = {}

    def begin(self, store: Store, location: str) -> None:
        """The lease of this lock is watched from now on."""
        if location not in self._seen:
            self._seen[location] = (store.read(location), store.read(_renewal_file(location)), time.monotonic())

    def is_over(self, store: Store, location: str) -> bool:
        """Waits until the owner renews its lock, or gives it back, or its lease is over; True where the table is free
        then. An owner that came after the one that was watched has a lease of its own."""
        self.begin(store, location)
        owner, renewal, since = self._seen[location]
        while (now := store.read(location)) is not None:
            if now != owner or store.read(_renewal_file(location)) != renewal:
                del self._seen[location]
                return False
            left = since + LEASE - time.monotonic()
            if left <= 0:
                return True
            time.sleep(min(_POLL, left))
        return True


def acquire(
    store: Store, root: str, slug: str, run: str, table: str, force: bool = False, watch: Watch | None = None
) -> Lock:
    """The table's lock for `run`, taken over where its owner is dead or its lease is over; with `force` at once.

    Raises `Locked` where another run holds it, and `Refused` for a link in the place of a folder of planproof's.
    """
    link = link_in_state(root)
    if link is not None:
        raise Refused(describe_link(link))
    owner = Owner.here(run)
    begin(run)
    try:
        epoch, found, is_free = _look_at_newest(store, root, slug)
        if not (is_free or force):
            if not _is_over(store, path(root, slug, epoch), found, watch or Watch()):
                raise Locked(table, found)
            # While this waited, its owner may have given it back, and others may have begun.
            epoch, now, is_free = _look_at_newest(store, root, slug)
            if not is_free and now != found:
                raise Locked(table, now)
        lock = Lock(store, root, slug, epoch + 1, owner, table, took_over=not is_free)
        if not store.create(lock.location, json.dumps(owner.form())):
            raise Locked(table, holder(store, lock.location))
        if lock.took_over:
            _forget_older(lock)
        _renewed.add(lock)
    except BaseException:
        # If a file stays, it counts as a dead owner's.
        note_end(run)
        raise
    return lock


def path(root: str, slug: str, epoch: int) -> str:
    """The file of a lock, below a database's folder."""
    return join(root, STATE, "locks", f"{slug}.{epoch}.json" if epoch else f"{slug}.json")


def _look_at_newest(store: Store, root: str, slug: str) -> tuple[int, Owner | None, bool]:
    epoch = current_epoch(store, root, slug)
    return epoch, *_look(store, path(root, slug, epoch))


def list_slugs(store: Store, root: str) -> list[str]:
    """The tables that somebody holds, or may."""
    found = {match["slug"] for name in store.names(join(root, STATE, "locks")) if (match := _FILE.fullmatch(name))}
    return [slug for slug in sorted(found) if _may_be_held(store, path(root, slug, current_epoch(store, root, slug)))]


def _may_be_held(store: Store, location: str) -> bool:
    """What cannot be read, such as a pipe, keeps no other table's lock from being looked at."""
    try:
        return not _look(store, location)[1]
    except SparkFailure:
        return True


def current_epoch(store: Store, root: str, slug: str) -> int:
    """The epoch of the table's newest lock, 0 where it has none."""
    matches = (_FILE.fullmatch(name) for name in store.names(join(root, STATE, "locks")))
    return max((int(match["epoch"] or 0) for match in matches if match and match["slug"] == slug), default=0)


def holder(store: Store, location: str) -> Owner | None:
    """Who holds the lock, None where there is none or it cannot be read."""
    return _look(store, location)[0]


def _look(store: Store, location: str) -> tuple[Owner | None, bool]:
    """Who holds a lock, and whether it was given back or is not there."""
    text = store.read(location)
    if text is None:
        return None, True
    try:
        return read_form(Owner, text), False
    except ValueError:
        return None, False


def _is_over(store: Store, location: str, found: Owner | None, watch: Watch) -> bool:
    if found is not None and (found.is_dead or found.is_alive):
        return found.is_dead
    return watch.is_over(store, location)


def _forget_older(lock: Lock) -> None:
    """Removes the files of earlier epochs; an owner that was evicted misses its own, too."""
    for epoch in range(lock.epoch - 1, max(lock.epoch - 4, -1), -1):
        location = path(lock.root, lock.slug, epoch)
        for file in (location, _renewal_file(location), _past_file(location)):
            lock.store.delete(file)


def _past_file(location: str) -> str:
    """The file that says for good that the table was taken over."""
    return f"{location.removesuffix('.json')}.past"


def _renewal_file(location: str) -> str:
    return f"{location.removesuffix('.json')}.renewed"


class _Renewed:
    """The locks of this process, which a thread renews as long as there are any."""

    def __init__(self) -> None:
        self._locks: list[Lock] = []
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, lock: Lock) -> None:
        with self._changed:
            self._locks.append(lock)
            if self._thread is None:
                self._thread = threading.Thread(target=self._renew, name="planproof-locks", daemon=True)
                self._thread.start()

    def remove(self, lock: Lock) -> None:
        with self._changed:
            self._locks = [one for one in self._locks if one is not lock]
            self._changed.notify()

    def _renew(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: not self._locks, RENEWAL)
                held = list(self._locks)
                if not held:
                    self._thread = None
                    return
            for lock in held:
                # A store that does not answer now may do so in time for the next renewal.
                with suppress(Exception):
                    lock.renew()


_renewed = _Renewed()


def _after_fork() -> None:
    """A child holds nothing of what its parent holds."""
    global _renewed
    _renewed = _Renewed()


os.register_at_fork(after_in_child=_after_fork)
