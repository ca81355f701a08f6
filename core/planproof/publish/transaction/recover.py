"""Finishes or undoes publishes that were killed: every table is then entirely old or entirely new."""

from __future__ import annotations

from collections.abc import Iterable

from planproof.origin import AnalysisError
from planproof.publish.iceberg.left import notes, sweep
from planproof.publish.swaps import Ending, settle
from planproof.publish.transaction import lock
from planproof.publish.transaction.journal import Entry, folder, publishes, read
from planproof.publish.transaction.names import STATE, join
from planproof.publish.transaction.publication import Publication, database_root
from planproof.report.model import Finding, Report, Verdict
from planproof.session.branches import Branches
from planproof.session.protocol import Session, SparkFailure
from planproof.session.store import Store, decoded, store_of


def recover(session: Session, store: Store, roots: Iterable[str], force: bool = False) -> list[Report]:
    """One report per publish that was found half way in the state folders of `roots` (databases' locations).

    A publish whose owner may be alive is left alone and reported as locked, and one that this catalog does not know
    fails; `force` settles the former all the same, and gives the latter up with its files as they lie.
    """
    reports: list[Report] = []
    for root in dict.fromkeys(roots):
        reports += [_one(session, store, root, publish, force) for publish in publishes(store, root)]
        reports += [sweep(session, store, note, force) for note in notes(store, root)]
        _unlock(store, root, force)
        _tidy(store, root)
    return reports


def recover_table(session: Session, store: Store, root: str, slug: str) -> list[Report]:
    """The same for one table, whose lock's holder is known to be dead."""
    reports = [_one(session, store, root, publish, False) for publish in publishes(store, root, slug)]
    if not any(r.outcome == "failed" for r in reports):
        _release(store, root, slug, slug, False)
    return reports


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


def _one(session: Session, store: Store, root: str, publish: str, force: bool) -> Report:
    try:
        journal = read(store, root, publish)
    except ValueError as error:
        said = f"{join(folder(root), publish)}.*.json: {error}; look at the table it names, then delete these files"
        return Report("?", "failed", (Finding(Verdict.UNPROVED, "PP601", "catalog", message=said),), error=said)
    if journal is None:
        return Report(publish.partition(".")[0], "skipped", error="settled by another process")
    entry = journal.entry
    try:
        with lock.inherited(store, entry.root, entry.slug, entry.owner, entry.model, force):
            return _inherited(session, store, root, publish, entry, force)
    except lock.Locked as refusal:
        return Report(entry.model, "failed", (locked(str(refusal)),), error=str(refusal), strategy=entry.strategy)
    except (SparkFailure, AnalysisError) as failure:
        said = f"{entry.model} could not be recovered from step {entry.step!r}: {failure}; run recover again"
        return Report(entry.model, "failed", (), error=said, strategy=entry.strategy)


def _inherited(session: Session, store: Store, root: str, publish: str, entry: Entry, force: bool) -> Report:
    journal = read(store, root, publish)
    if journal is None:
        return _settled(entry, None)
    entry = journal.entry
    ending = settle(Publication(session, store, journal), force)
    held = lock.holder(store, lock.path(entry.root, entry.slug))
    # A publish that sets rows aside has two entries: the lock goes with the last one.
    if held is not None and held.run == entry.owner.run and not publishes(store, entry.root, entry.slug):
        store.delete(lock.path(entry.root, entry.slug))
    return _settled(entry, ending)


def _settled(entry: Entry, ending: Ending | None) -> Report:
    """`ending` is None where another process had settled the publish in the meantime."""
    code, outcome, what = {
        "finished": ("PP603", "published", "finished"),
        "undone": ("PP602", "rejected", "undone"),
        "left": ("PP609", "rejected", f"this catalog does not know it; its files are left, {entry.stage_location} too"),
        None: ("PP605", "skipped", "settled by another process"),
    }[ending]
    message = f"the publish of {entry.model} ({entry.strategy}) by {entry.owner} stopped at step {entry.step!r}; {what}"
    finding = Finding(Verdict.WARNING, code, "catalog", message=message)
    return Report(entry.model, outcome, (finding,), strategy=entry.strategy)


def locked(message: str) -> Finding:
    """The finding (PP604) that another run holds the lock."""
    return Finding(Verdict.UNPROVED, "PP604", "catalog", message=message)


def _unlock(store: Store, root: str, force: bool) -> None:
    """Removes the locks of runs that were killed before the first step of their publish."""
    for name in store.names(join(root, STATE, "locks")):
        slug = name.removesuffix(".json")
        if name.endswith(".json") and not publishes(store, root, slug):
            _release(store, root, slug, slug, force)


def _tidy(store: Store, root: str) -> None:
    """Removes claims of dead rescuers that had settled all that there was."""
    claims = join(root, STATE, "claims")
    for name in store.names(claims):
        slug, location = name.partition(".")[0], join(claims, name)
        if publishes(store, root, slug) or store.exists(lock.path(root, slug)):
            continue
        held = lock.holder(store, location)
        if held is not None and held.is_dead:
            store.delete(location)


def _release(store: Store, root: str, slug: str, table: str, force: bool) -> None:
    """Deletes the lock of a dead owner, by the one rescuer that inherits from it; a living one's stays."""
    location = lock.path(root, slug)
    held = lock.holder(store, location)
    if held is None:
        # Nobody can be asked about a lock that cannot be read.
        if force:
            store.delete(location)
        return
    try:
        with lock.inherited(store, root, slug, held, table, force):
            if lock.holder(store, location) == held:
                store.delete(location)
    except lock.Locked:
        return
