"""How a publish in steps begins: what stands at its target, where it stages, and why it may not."""

from __future__ import annotations

import re
from typing import Any

from planproof.judge.draft import Effect
from planproof.publish.transaction.content import list_table_files
from planproof.publish.transaction.deletion import Holdings, find_neighbour
from planproof.publish.transaction.journal import SWAPS, Entry, Journal, Prior
from planproof.publish.transaction.lock import Lock
from planproof.publish.transaction.names import (
    PREFIX,
    Names,
    Refused,
    is_within,
    join,
    make_version,
    parent,
    refuse_unspeakable,
    versions_folder,
)
from planproof.publish.transaction.owner import Owner
from planproof.publish.transaction.places import data_root
from planproof.publish.transaction.publication import JournaledPublication, prior_of
from planproof.session import Session, Store, StoredTable, store_of
from planproof_engine import RelationName, evolve, quote_parts


def begin_publication(
    session: Session,
    names: Names,
    target: StoredTable | None,
    strategy: str,
    root: str,
    options: dict[str, Any],
    lock: Lock | None,
    home: str | None = None,
    columns: tuple[tuple[str, str], ...] = (),
    moved: bool = False,
) -> JournaledPublication:
    """A publish of `target` (None: it does not exist) by the named strategy; nothing is written yet.

    `root` is where journal and locks lie, `lock` the target's, `home` the database's location where that is another
    one: below it Spark puts managed tables. `columns` (name, type) are what the target gets with the new rows. `moved`:
    the new table goes to the `location_root` of the options, wherever the old one lies."""
    assert lock is not None, "a publish in steps holds a lock"
    home = home or root
    location_root = options.get("location_root")
    prior = prior_of(target)
    native = join(home, names.target.last.lower())
    if strategy == "location" and _shares_folder(session, names, prior, native):
        strategy = "rename"
    kept = prior is not None and prior.kind == "table" and not moved
    swap = SWAPS[strategy]
    if target is None:
        _refuse_given_up(session, names)
    managed = swap.renames and (prior.managed if prior and kept else not location_root)
    data = data_root(target if kept else None, location_root, home)
    folder = names.slug if is_within(data, home) and is_within(home, data) else names.full_slug
    current = prior.location if prior else None
    identity = (session.catalog_id, *names.target.key, target.created if target is not None else None, current)
    place = make_version(versions_folder(data, folder), current, names, root, identity)
    staged = join(home, names.staging.last)
    entry = Entry(
        model=str(names.target),
        target=names.target.quoted,
        staging=names.staging.quoted,
        away=names.away.quoted,
        strategy=strategy,
        run=names.run,
        attempt=names.attempt,
        owner=Owner.here(names.stamp),
        slug=names.slug,
        root=root,
        native=native,
        stage_location=staged if managed else place,
        external=not managed,
        prior=prior,
        columns=columns,
        catalog=session.catalog_id,
    )
    store = store_of(session)
    if swap.effect is not Effect.DEFINES:
        folders = [entry.stage_location, entry.native, current, location_root]
        refuse_unspeakable(session, folders, f"the folder of {entry.model}")
    is_occupied = managed and _is_default_place_occupied(session, store, entry)
    journal = Journal(store, _place_first_table(store, entry, names.target.last, location_root))
    found = JournaledPublication(session, store, journal, lock, target)
    found.is_own, found.is_occupied = True, is_occupied
    if swap.effect is not Effect.ADDS:
        found.replaced = list_table_files(session, store, target)
        if not swap.repoints:
            _refuse_shared(found)
    return found


def _refuse_given_up(session: Session, names: Names) -> None:
    """A metastore may rename the old table after the publish that asked for it was given up."""
    place, prefix = quote_parts(names.target.parts[:-1]), f"{PREFIX}_{names.slug}_"
    wanted = re.compile(rf"{re.escape(prefix)}[0-9a-f]{{10}}_\d+_old")
    listed = [str(row[1]) for row in session.rows(f"SHOW TABLES IN {place} LIKE '{prefix}*_old'")]
    found = next((name for name in listed if wanted.fullmatch(name)), None)
    if found is not None:
        old = names.target.sibling(found).quoted
        raise Refused(
            f"{names.target} is not there, and {old} is what stood there: a publish that was given up had put it "
            f"aside. Give it its name back (ALTER TABLE {old} RENAME TO {names.target.quoted}), or drop it"
        )


def _shares_folder(session: Session, names: Names, prior: Prior | None, native: str) -> bool:
    """Whether another table lies where a managed one does, so that it needs the new files there: a new location would
    leave that folder for good, and empty it."""
    if prior is None or not prior.managed or prior.location is None or not is_within(prior.location, native):
        return False
    return find_neighbour(session, names.target, prior.location) is not None


def _refuse_shared(publication: JournaledPublication) -> None:
    """A managed table's folder goes with it, those of its partitions too, and with all that others have put there."""
    holdings, own = Holdings(publication.session), [RelationName.parse(publication.entry.target)]
    for location in _list_leaving(publication):
        holder = holdings.holder(location, own)
        if holder is not None:
            raise Refused(
                f"{location}, the folder of {publication.entry.model}, which it is about to leave, holds data of "
                f"{holder}, too: give {holder} a folder of its own"
            )


def _list_leaving(publication: JournaledPublication) -> list[str]:
    """The folders that a managed table is about to leave in which another table may have data: none that planproof
    made, nor its default place, as long as nothing lies there but its own files."""
    prior, replaced = publication.entry.prior, publication.replaced
    if prior is None or not prior.managed or prior.location is None or replaced is None:
        return []
    is_default = is_within(prior.location, publication.entry.native) and not replaced.others
    elsewhere = {parent(name) for name in replaced.own | replaced.others if re.match("[a-z][a-z0-9+.-]*:|/", name)}
    found = [*([] if is_default else [prior.location]), *sorted(elsewhere)]
    return [location for location in found if not publication.is_version(location)]


def _is_default_place_occupied(session: Session, store: Store, entry: Entry) -> bool:
    """Spark makes a table over an empty directory, but renames none onto a directory: it would refuse half way. An
    empty one that is no table's has to go before; raises `Refused` for any other."""
    if entry.prior is not None and entry.prior.location is not None and is_within(entry.prior.location, entry.native):
        return False
    if store.names(entry.native):
        raise Refused(
            f"{entry.native}, where Spark puts {entry.model}, holds files that belong to no table of that name; "
            "move or delete them"
        )
    is_there = store.exists(entry.native)
    if is_there:
        holder = Holdings(session).holder(entry.native, [RelationName.parse(entry.target)])
        if holder is not None:
            said = f"{entry.native}, where Spark puts {entry.model}, is {holder}'s"
            raise Refused(f"{said}: give {holder} another folder")
    return is_there


def _place_first_table(store: Store, entry: Entry, table: str, location_root: str | None) -> Entry:
    """A first external table goes where dbt would have put it, if that place is free."""
    if entry.prior is not None or not entry.swap.renames or not location_root:
        return entry
    place = join(location_root, table)
    return entry if store.exists(place) else evolve(entry, place=place)
