"""Finishes or undoes publishes that were killed: every table is then entirely old or entirely new."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field

from planproof.publish.iceberg.left import notes, sweep
from planproof.publish.swaps import Ending, settle
from planproof.publish.transaction import lock
from planproof.publish.transaction.deletion import Holdings, link_in_state
from planproof.publish.transaction.journal import Entry, folder, publishes, read
from planproof.publish.transaction.lock import Lock, Watch
from planproof.publish.transaction.names import STATE, Refused, join
from planproof.publish.transaction.places import database_root
from planproof.publish.transaction.publication import Publication
from planproof.publish.transaction.verification import Disbelieved, Verification
from planproof.report.model import Report
from planproof.session.branches import Branches
from planproof.session.protocol import Session, SparkFailure
from planproof.session.store import Store, decoded, store_of
from planproof_engine.finding import Finding, Verdict
from planproof_engine.origin import AnalysisError


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
            reports.append(linked(link))
            continue
        tables = sorted(
            {publish.partition(".")[0] for publish in publishes(store, root)}.union(lock.slugs(store, root))
        )
        for slug in tables:
            asked.watch.begin(store, lock.path(root, slug, lock.current(store, root, slug)))
        for slug in tables:
            reports += _table(asked, root, slug)
        reports += [sweep(session, store, note, force, is_chosen) for note in notes(store, root)]
    return reports


def recover_held(session: Session, held: Lock, is_chosen: bool) -> list[Report]:
    """The same for the one table whose lock this process holds."""
    asked = _Asked(session, held.store, False, is_chosen, Holdings(session))
    return [_one(asked, held, publish) for publish in publishes(held.store, held.root, held.slug)]


def roots(session: Session, root: str | None) -> list[str]:
    """Where state may lie: `root`, or else every database's location.

    The folders of the default database are looked into as well: an in-memory catalog forgets its databases.
    """
    if root is not None:
        return [root]
    store, tables = store_of(session), session.transactions()
    found = [decoded(at) for at in (tables or Branches(session)).namespace_locations()]
    if tables is None:  # What only the server reaches holds no notes: none could be written from here.
        found = [at for at in found if _is_reached(store, at)]
    for name, *_ in session.rows("SHOW DATABASES"):
        location = database_root(session, (str(name),))
        found.append(location)
        if name == "default":
            inner = [join(location, child) for child in store.names(location) if child.endswith(".db")]
            found += [place for place in inner if store.exists(join(place, STATE))]
    return list(dict.fromkeys(found))


def _is_reached(store: Store, location: str) -> bool:
    try:
        store.names(location)
    except SparkFailure:
        return False
    return True


@dataclass
class _Asked:
    """One recovery: what it was asked for, and what it has found out so far."""

    session: Session
    store: Store
    force: bool
    is_chosen: bool
    holdings: Holdings
    watch: Watch = field(default_factory=Watch)


def _table(asked: _Asked, root: str, slug: str) -> list[Report]:
    """What became of all publishes of one table that were found half way."""
    found = publishes(asked.store, root, slug)
    run = f"rescue_{uuid.uuid4().hex[:10]}"
    try:
        held = lock.acquire(asked.store, root, slug, run, slug, asked.force, asked.watch)
    except lock.Locked as refusal:
        return [_locked_out(asked, root, publish, refusal) for publish in found]
    except SparkFailure as failure:
        return [Report(slug, "failed", (), error=str(failure)) for _ in found]
    try:
        return [_one(asked, held, publish) for publish in found]
    finally:
        held.release()


def _locked_out(asked: _Asked, root: str, publish: str, refusal: lock.Locked) -> Report:
    try:
        journal = read(asked.store, root, publish)
    except (ValueError, SparkFailure):
        journal = None
    if journal is None:
        return Report(publish.partition(".")[0], "failed", (locked(str(refusal)),), error=str(refusal))
    said = str(lock.Locked(journal.entry.model, refusal.holder))
    return Report(journal.entry.model, "failed", (locked(said),), error=said, strategy=journal.entry.strategy)


def _one(asked: _Asked, held: Lock, publish: str) -> Report:
    session, store, root = asked.session, asked.store, held.root
    try:
        journal = read(store, root, publish)
    except (ValueError, SparkFailure) as error:
        said = f"{join(folder(root), publish)}.*.json: {error}; look at the table it names, then delete these files"
        return Report("?", "failed", (Finding(Verdict.UNPROVED, "PP601", "catalog", message=said),), error=said)
    if journal is None:
        return Report(publish.partition(".")[0], "skipped", error="settled by another process")
    entry = journal.entry
    try:
        Verification(session, asked.holdings, root, publish, entry, asked.is_chosen).verify()
        ending = settle(Publication(session, store, journal, held), asked.force)
        return _settled(entry, ending, asked)
    except Disbelieved as claim:
        said = (
            f"{journal.location} names what a publish of {entry.target} would not have named: {claim}. Nothing was "
            "touched. Find out who wrote this file, look at the table, and delete the file"
        )
        return Report("?", "failed", (Finding(Verdict.UNPROVED, "PP622", "catalog", message=said),), error=said)
    except lock.Evicted as eviction:
        return Report(entry.model, "failed", (locked(str(eviction)),), error=str(eviction), strategy=entry.strategy)
    except (SparkFailure, AnalysisError, Refused) as failure:
        said = f"{entry.model} could not be recovered from step {entry.step!r}: {failure}; run recover again"
        return Report(entry.model, "failed", (), error=said, strategy=entry.strategy)
    except Exception as error:  # One entry must not keep the others from being settled.
        said = f"internal error in planproof: {entry.model} could not be recovered from step {entry.step!r}: {error!r}"
        found = Finding(Verdict.UNPROVED, "PP901", "catalog", message=said)
        return Report(entry.model, "failed", (found,), error=said, strategy=entry.strategy)
    finally:
        asked.holdings.forget()


def _settled(entry: Entry, ending: Ending, asked: _Asked) -> Report:
    code, outcome, what = {
        "finished": ("PP603", "published", "finished"),
        "undone": ("PP602", "rejected", "undone"),
        "left": ("PP609", "rejected", f"this catalog does not know it; its files are left, {entry.stage_location} too"),
    }[ending]
    if ending == "undone" and entry.strategy == "view" and asked.session.registered(entry.target) is None:
        what = "there is no view now: run its model again"
    message = f"the publish of {entry.model} ({entry.strategy}) by {entry.owner} stopped at step {entry.step!r}; {what}"
    finding = Finding(Verdict.WARNING, code, "catalog", message=message)
    return Report(entry.model, outcome, (finding,), strategy=entry.strategy)


def linked(link: str) -> Report:
    """Planproof's folder of journals and notes is a link: what it leads to is nobody's journal."""
    said = (
        f"{link} is a link, where planproof keeps journals and notes. Nothing was touched. Find out who made it, and "
        "delete it"
    )
    return Report("?", "failed", (Finding(Verdict.UNPROVED, "PP622", "catalog", message=said),), error=said)


def locked(message: str) -> Finding:
    """The finding (PP604) that another run holds the lock."""
    return Finding(Verdict.UNPROVED, "PP604", "catalog", message=message)
