"""Finishes or undoes publishes that were killed: every table is then entirely old or entirely new."""

from __future__ import annotations

from collections.abc import Iterable

from planproof.origin import AnalysisError
from planproof.publish import lock
from planproof.publish.journal import Entry, folder
from planproof.publish.names import STATE, join
from planproof.publish.publication import Publication, database_root
from planproof.publish.strategies import settle
from planproof.report.model import Finding, Report, Verdict
from planproof.session.protocol import Session, SparkFailure
from planproof.session.store import Store, store_of


def recover(session: Session, store: Store, roots: Iterable[str], force: bool = False) -> list[Report]:
    """One report per publish that was found half way in the state folders of `roots` (databases' locations).

    A publish whose owner may be alive is left alone and reported as locked; `force` settles it all the same.
    """
    reports: list[Report] = []
    for root in dict.fromkeys(roots):
        reports += [_one(session, store, join(folder(root), name), force) for name in entries(store, root)]
        _unlock(store, root, force)
    return reports


def recover_table(session: Session, store: Store, root: str, slug: str) -> list[Report]:
    """The same for one table, whose lock's holder is known to be dead."""
    reports = [_one(session, store, join(folder(root), name), False) for name in entries(store, root, slug)]
    held = lock.holder(store, lock.path(root, slug))
    if held is not None and held.is_dead and not any(r.outcome == "failed" for r in reports):
        store.delete(lock.path(root, slug))
    return reports


def entries(store: Store, root: str, slug: str | None = None) -> list[str]:
    """The names of the journal entries below `root`, of one table where `slug` is given."""
    names = [name for name in store.names(folder(root)) if name.endswith(".json")]
    return names if slug is None else [name for name in names if name.startswith(f"{slug}.")]


def roots(session: Session, root: str | None) -> list[str]:
    """Where state may lie: `root`, or else every database's location.

    The folders of the default database are looked into as well: an in-memory catalog forgets its databases.
    """
    if root is not None:
        return [root]
    store, found = store_of(session), []
    for name, *_ in session.rows("SHOW DATABASES"):
        location = database_root(session, (str(name),))
        found.append(location)
        if name == "default":
            inner = [join(location, child) for child in store.names(location) if child.endswith(".db")]
            found += [place for place in inner if store.exists(join(place, STATE))]
    return found


def _one(session: Session, store: Store, location: str, force: bool) -> Report:
    try:
        entry = Entry.from_json(store.read(location) or "")
    except ValueError as error:
        said = f"{location}: {error}; look at the table it names, then delete the file"
        return Report("?", "failed", (Finding(Verdict.UNPROVED, "PP601", "catalog", message=said),), error=said)
    held = lock.holder(store, lock.path(entry.root, entry.slug))
    if not force and not entry.owner.is_dead:
        said = f"{entry.model} is being published by {entry.owner}"
        return Report(entry.model, "failed", (locked(said),), error=said, strategy=entry.strategy)
    try:
        finished = settle(Publication(session, store, entry))
    except (SparkFailure, AnalysisError) as failure:
        said = f"{entry.model} could not be recovered from step {entry.step!r}: {failure}; run recover again"
        return Report(entry.model, "failed", (), error=said, strategy=entry.strategy)
    if held is not None and held.run == entry.owner.run:
        store.delete(lock.path(entry.root, entry.slug))
    return _settled(entry, finished)


def _settled(entry: Entry, finished: bool) -> Report:
    code, what = ("PP603", "finished") if finished else ("PP602", "undone")
    message = f"the publish of {entry.model} ({entry.strategy}) by {entry.owner} stopped at step {entry.step!r}; {what}"
    finding = Finding(Verdict.WARNING, code, "catalog", message=message)
    return Report(entry.model, "published" if finished else "rejected", (finding,), strategy=entry.strategy)


def locked(message: str) -> Finding:
    return Finding(Verdict.UNPROVED, "PP604", "catalog", message=message)


def _unlock(store: Store, root: str, force: bool) -> None:
    """Removes locks that no publish stands behind: killed before their first step."""
    for name in store.names(join(root, STATE, "locks")):
        if not name.endswith(".json") or entries(store, root, name.removesuffix(".json")):
            continue
        location = join(root, STATE, "locks", name)
        held = lock.holder(store, location)
        if force or (held is not None and held.is_dead):
            store.delete(location)
