"""Finishes or undoes publishes that were killed: every table is then entirely old or entirely new."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from planproof.judge.draft import Effect
from planproof.publish.formats import LEFT
from planproof.publish.notes.notebook import Noted, list_notes, tidy
from planproof.publish.swaps import settle, tell_found
from planproof.publish.transaction import lock
from planproof.publish.transaction.deletion import Holdings, link_in_state
from planproof.publish.transaction.journal import Journal, folder, list_publishes, read
from planproof.publish.transaction.lock import Lock, Watch
from planproof.publish.transaction.names import STATE, Refused, join
from planproof.publish.transaction.places import database_root
from planproof.publish.transaction.publication import JournaledPublication
from planproof.publish.transaction.recovery import Claim, report_link
from planproof.publish.transaction.recovery import settle as settle_found
from planproof.publish.transaction.states import report_end
from planproof.publish.transaction.verification import Verification
from planproof.report import Report
from planproof.session import Session, SparkFailure, Store, decode_uri, store_of
from planproof.session.branches import Branches

_NO_CLIENT = "No FileSystem for scheme"
"""What Hadoop says of a scheme that none of its clients is for (`FileSystem.getFileSystemClass`)."""


def recover(
    session: Session, store: Store, roots: Iterable[str], force: bool = False, is_chosen: bool = False
) -> list[Report]:
    """One report per publish that was found half way in the state folders of `roots` (databases' locations, or one that
    the user has chosen: `is_chosen`).

    The lock of an owner that cannot be seen is watched for the length of its lease: a publish that goes on is left
    alone and reported as locked, and one that this catalog does not know fails. `force` takes the former over at once,
    and gives the latter up with its files as they lie.
    """
    reports: list[Report] = []
    asked = _Asked(session, store, force, is_chosen, Holdings(session))
    for root in dict.fromkeys(roots):
        link = link_in_state(root)
        if link is not None:
            reports.append(report_link(link))
            continue
        tables = sorted(
            {publish.partition(".")[0] for publish in list_publishes(store, root)}.union(lock.list_slugs(store, root))
        )
        for slug in tables:
            with suppress(SparkFailure):  # Its own report tells.
                asked.watch.begin(store, lock.path(root, slug, lock.current_epoch(store, root, slug)))
        for slug in tables:
            reports += _recover_table(asked, root, slug)
        reports += [
            settle_found(Noted(LEFT, session, store, note, force, is_chosen)) for note in list_notes(store, root)
        ]
        with suppress(SparkFailure):  # An empty folder harms nobody.
            tidy(store, root)
    return reports


def recover_held(session: Session, held: Lock, is_chosen: bool) -> list[Report]:
    """The same for the one table whose lock this process holds."""
    asked = _Asked(session, held.store, False, is_chosen, Holdings(session))
    return [settle_found(_Entry(asked, held, publish)) for publish in list_publishes(held.store, held.root, held.slug)]


def list_roots(session: Session, root: str | None) -> list[str]:
    """Where state may lie: `root`, or else every database's location.

    The folders of the default database are looked into as well: an in-memory catalog forgets its databases.
    """
    if root is not None:
        return [root]
    store, tables = store_of(session), session.transactions()
    found = [decode_uri(at) for at in (tables or Branches(session)).namespace_locations()]
    # What only the server reaches holds no notes, nor does a file system that Hadoop's client does not know: none could
    # be written from here. Any other failure is told when the place is looked at.
    unable = _NO_CLIENT if tables is not None else ""
    found = [at for at in found if not _is_unreadable(store, at, unable)]
    for name, *_ in session.rows("SHOW DATABASES"):
        location = database_root(session, (str(name),))
        found.append(location)
        if name == "default":
            inner = [join(location, child) for child in store.names(location) if child.endswith(".db")]
            found += [place for place in inner if store.exists(join(place, STATE))]
    return list(dict.fromkeys(found))


def _is_unreadable(store: Store, location: str, saying: str) -> bool:
    """Whether a place cannot be looked at, with such words."""
    try:
        store.names(location)
    except SparkFailure as failure:
        return saying in str(failure)
    return False


@dataclass
class _Asked:
    """One recovery: what it was asked for, and what it has found out so far."""

    session: Session
    store: Store
    force: bool
    is_chosen: bool
    holdings: Holdings
    watch: Watch = field(default_factory=Watch)


def _recover_table(asked: _Asked, root: str, slug: str) -> list[Report]:
    """What became of all publishes of one table that were found half way."""
    found = list_publishes(asked.store, root, slug)
    run = f"rescue_{uuid.uuid4().hex[:10]}"
    try:
        held = lock.acquire(asked.store, root, slug, run, slug, asked.force, asked.watch)
    except lock.Locked as refusal:
        return [_report_locked(asked, root, publish, refusal) for publish in found]
    except (SparkFailure, Refused) as failure:
        return [report_end("unanswered", slug, str(failure)) for _ in found]
    try:
        return [settle_found(_Entry(asked, held, publish)) for publish in found]
    finally:
        held.release()


def _report_locked(asked: _Asked, root: str, publish: str, refusal: lock.Locked) -> Report:
    model, strategy = publish.partition(".")[0], None
    with suppress(ValueError, SparkFailure):
        journal = read(asked.store, root, publish)
        if journal is not None:
            model, strategy = journal.entry.model, journal.entry.strategy
            refusal = lock.Locked(model, refusal.holder)
    return report_end("locked", model, str(refusal), strategy)


class _Entry:
    """The journal of one publish: a `recovery.Unfinished` whose table's lock is held."""

    def __init__(self, asked: _Asked, held: Lock, publish: str) -> None:
        self.asked, self.held, self.publish = asked, held, publish
        self.location = f"{join(folder(held.root), publish)}.*.json"
        self.guest: str | None = None

    def read(self) -> Journal | None:
        return read(self.asked.store, self.held.root, self.publish)

    def claim(self, found: Journal) -> Claim:
        return Claim(found.entry.model, found.entry.strategy, found.entry.owner, found.entry.step)

    def verify(self, found: Journal) -> None:
        asked = self.asked
        root, is_chosen = self.held.root, asked.is_chosen
        verification = Verification(asked.session, asked.holdings, root, self.publish, found.entry, is_chosen)
        verification.verify()
        self.guest = verification.guest

    def settle(self, found: Journal) -> tuple[str, str]:
        asked, entry = self.asked, found.entry
        publication = JournaledPublication(asked.session, asked.store, found, self.held)
        try:
            if self.guest is not None:
                waiting = publication.tell_prior()
                publication.leave()
                where = f"{self.guest} has its data where this publish wrote, as if somebody had renamed the table"
                return "left", f"{waiting}{where}: nothing of it was touched"
            ending = settle(publication, asked.force)
        finally:
            asked.holdings.forget()
        if ending == "left":
            return ending, f"this catalog does not know it; its files are left, {entry.stage_location} too"
        if (
            ending == "undone"
            and entry.effect is Effect.DEFINES
            and asked.session.registered_table(entry.target) is None
        ):
            return ending, "there is no view now: run its model again"
        waiting = publication.tell_prior() if ending == "undone" else ""
        said = f"{ending}; {waiting}another relation has its name" if waiting else ending
        lost = _tell_lost(publication) if ending == "finished" else ""
        return ending, "; ".join(filter(None, (said, lost, tell_found(publication))))


def _tell_lost(publication: JournaledPublication) -> str:
    """Says where audited files are missing from the folder of a table that was replaced as a whole; empty where none
    is."""
    location = publication.location(publication.entry.target)
    if location is None or publication.entry.effect is not Effect.REPLACES:
        return ""
    remains = publication.look_for_files(location)
    count = f"{len(remains.missing)} of the {len(remains.missing | remains.there)} files that were audited"
    return f"{count} are not there any more: somebody deleted or overwrote them" if remains.missing else ""
