"""A journal entry is a claim, not an order: whoever can write below a database's folder can write one.

Recovery acts on an entry only where all that it names is what this planproof would have named: computed anew from the
file's own place and name, from the catalog, and from the names that a publish gives. Everything else is refused by
name, and nothing is touched. No statement is read from an entry and run."""

from __future__ import annotations

import re
from collections.abc import Iterable

from planproof.publish.transaction import deletion
from planproof.publish.transaction.journal import Entry
from planproof.publish.transaction.names import (
    PREFIX,
    Names,
    Refused,
    is_same_place,
    is_within,
    join,
    parent,
    quarantine_of,
)
from planproof.publish.transaction.places import database_root
from planproof.session import Session
from planproof_engine import RelationName

_RUN = re.compile(r"[0-9A-Za-z_]{1,64}")
_QUARANTINE = re.compile(r"quarantine_date=\d{4}-\d\d-\d\d/quarantine_run=([0-9A-Za-z_]+)")


class Disbelieved(Exception):
    """An entry names what the publish that it tells of would not have named."""


class Verification:
    """What one entry may name. `publish` and `root` are where it was found. `is_chosen`: the user named this root; else
    it is the folder of one database, and its entries are about that database's tables. `guest`, once it is verified, is
    a table of another name (quoted) that has its data where this publish wrote: most likely the target, renamed."""

    def __init__(
        self, session: Session, holdings: deletion.Holdings, root: str, publish: str, entry: Entry, is_chosen: bool
    ) -> None:
        self._session, self._holdings, self._entry = session, holdings, entry
        self._root, self._publish, self._is_chosen = root, publish, is_chosen
        self._target = RelationName.parse(entry.target)
        self._homes_known: list[str] = []
        self._links: dict[tuple[str, str], str | None] = {}
        self.guest: str | None = None

    def verify(self) -> None:
        """Raises `Disbelieved` with the first thing that is not as it would be, and `SparkFailure` where the catalog
        does not answer."""
        self._verify_names()
        link = deletion.link_in_state(self._root)
        if link is not None:
            raise Disbelieved(f"{link} is a link")
        self._homes_known = homes = self._homes()
        entry = self._entry
        self._expect_place("native", entry.native, (join(home, self._target.last.lower()) for home in homes))
        self._verify_staged(homes)
        self._verify_prior(homes)
        known = self._known_data()
        for move in entry.moves:
            self._expect_below("moves[].source", move.source, [entry.stage_location])
            self._expect_below("moves[].target", move.target, known)
            if move.source.rpartition("/")[2] != move.target.rpartition("/")[2]:
                raise Disbelieved(f"moves[].target: {move.target} has another name than what was staged")
        for swap in entry.partitions:
            self._expect_below("partitions[].new", swap.new, [entry.stage_location, *known])
            if swap.old is not None:
                own = parent_version(swap.old)
                is_own = deletion.is_version_of(own, self._target)
                self._expect_below("partitions[].old", swap.old, [own] if is_own else known)
                if is_own:
                    self._refuse_shared("partitions[].old", own)
        self._quarantine(homes)

    def _verify_names(self) -> None:
        entry = self._entry
        if not (_RUN.fullmatch(str(entry.run)) and str(entry.attempt).isdigit() and len(self._target.parts) in (2, 3)):
            raise Disbelieved("its run, attempt or target is none of planproof's")
        names = Names(self._target, entry.run, int(entry.attempt))
        self._expect("file", self._publish, [f"{names.slug}.{names.stamp}"])
        self._expect("slug", entry.slug, [names.slug])
        self._expect("staging", entry.staging, [names.staging.quoted])
        self._expect("away", entry.away, [names.away.quoted])
        if not (is_within(entry.root, self._root) and is_within(self._root, entry.root)):
            raise Disbelieved(f"root: {entry.root} is not where it lies")

    def _homes(self) -> list[str]:
        """Where the target's database may lie: as the catalog says, or, where it does not know the database, at the
        folder in which the entry was found."""
        try:
            home = database_root(self._session, self._target.namespace)
        except Refused:
            return [self._root]
        if not self._is_chosen and not (is_within(home, self._root) and is_within(self._root, home)):
            raise Disbelieved(f"target: {self._entry.target} is a table of another database than the entry's folder")
        return [home]

    def _verify_staged(self, homes: list[str]) -> None:
        entry, names = self._entry, Names(self._target, self._entry.run, int(self._entry.attempt))
        managed = [join(home, names.staging.last) for home in homes]
        is_version = deletion.is_version_of(entry.stage_location, self._target)
        if is_version and entry.stage_location.rstrip("/").endswith(f".{names.stamp}"):
            self._expect_own("stage_location", entry.stage_location)
        else:
            self._expect_place("stage_location", entry.stage_location, managed)
        self._refuse_link("stage_location", entry.stage_location, parent(entry.stage_location))
        self.guest = self._holdings.guest(entry.stage_location, self._list_own_names())
        if entry.place is not None:
            data = entry.stage_location.partition(f"/{PREFIX}/")[0]
            self._expect_place("place", entry.place, [join(data, self._target.last)])
            self.guest = self.guest or self._holdings.guest(entry.place, self._list_own_names())

    def _verify_prior(self, homes: list[str]) -> None:
        prior = self._entry.prior
        if prior is None or prior.location is None:
            return
        if prior.kind not in ("table", "view", "iceberg view"):
            raise Disbelieved(f"prior.kind: {prior.kind!r} is no kind of relation")
        if deletion.is_version_of(prior.location, self._target):
            self._refuse_shared("prior.location", prior.location)
        elif deletion.has_detour(prior.location) or deletion.is_in_versions_of(prior.location, self._target):
            raise Disbelieved(f"prior.location: {prior.location} is no version of {self._entry.target}")
        elif prior.managed:
            self._expect_below("prior.location", prior.location, homes)
            if any(is_within(home, prior.location) for home in homes):
                raise Disbelieved(f"prior.location: {prior.location} holds the whole database")
            self._refuse_held("prior.location", prior.location)

    def _known_data(self) -> list[str]:
        """Where the target's data may lie: as the catalog says of it, and where it would lie by default."""
        entry = self._entry
        found = [entry.native, entry.stage_location, *([entry.place] if entry.place else [])]
        for name in (entry.target, entry.away):
            found += deletion.data_of(self._session, name)
        prior = entry.prior
        return [*found, *([prior.location] if prior and prior.managed and prior.location else [])]

    def _quarantine(self, homes: list[str]) -> None:
        bad_rows = self._entry.quarantine
        if bad_rows is None:
            return
        table = quarantine_of(self._target)
        self._expect("quarantine.table", bad_rows.table, [table.quoted])
        named = _QUARANTINE.fullmatch(bad_rows.partition)
        if named is None or named[1] != f"{self._entry.run}_{self._entry.attempt}":
            raise Disbelieved(f"quarantine.partition: {bad_rows.partition} is no partition of this publish")
        lies = deletion.data_of(self._session, table.quoted)[:1] or [join(home, table.last.lower()) for home in homes]
        self._expect_place(
            "quarantine.location", bad_rows.location, (join(folder, bad_rows.partition) for folder in lies)
        )

    def _expect(self, field: str, said: str, allowed: Iterable[str]) -> None:
        if deletion.has_detour(said) or not any(
            said == one or ("/" in said and is_same_place(said, one)) for one in allowed
        ):
            raise Disbelieved(f"{field}: {said!r} is not what this publish would have named")

    def _expect_place(self, field: str, said: str, allowed: Iterable[str]) -> None:
        self._expect(field, said, allowed)
        self._refuse_link(field, said, parent(said))

    def _expect_below(self, field: str, said: str, allowed: Iterable[str]) -> None:
        folder = None if deletion.has_detour(said) else next((one for one in allowed if is_within(said, one)), None)
        if folder is None:
            raise Disbelieved(f"{field}: {said!r} lies outside of what this publish could touch")
        self._refuse_link(field, said, folder)

    def _refuse_held(self, field: str, location: str) -> None:
        """Nothing is deleted or moved that another table of the catalog has."""
        holder = self._holdings.holder(location, self._list_own_names())
        if holder is not None:
            raise Disbelieved(f"{field}: {location} holds data of {holder}")

    def _expect_own(self, field: str, version: str) -> None:
        own = (deletion.is_own_version(self._session, version, self._target, r, self._entry.away) for r in self._roots)
        if not any(own):
            raise Disbelieved(f"{field}: {version} may be a version of another metastore's table of that name")

    @property
    def _roots(self) -> list[str]:
        return [self._root, *self._homes_known]

    def _refuse_shared(self, field: str, version: str) -> None:
        """The versions of one mark are one table's, and swept together."""
        self._expect_own(field, version)
        holder = self._holdings.sharer(version, self._list_own_names())
        if holder is not None:
            raise Disbelieved(f"{field}: {version} is a version of {holder}")
        self._refuse_link(field, version, parent(version))

    def _list_own_names(self) -> list[RelationName]:
        entry = self._entry
        return [RelationName.parse(name) for name in (entry.target, entry.staging, entry.away)]

    def _refuse_link(self, field: str, location: str, folder: str) -> None:
        """A link in the place of a folder, or above it, leads out of where it is said to lie: below the database's
        folder, below the one that holds planproof's versions, or else below `folder`."""
        above = [home for home in self._homes_known if is_within(location, home)]
        head, found, _ = location.partition(f"/{PREFIX}/")
        link = self._find_link(location, (above or ([head] if found else []) or [folder])[0])
        if link is not None:
            raise Disbelieved(f"{field}: {link} is a link")

    def _find_link(self, location: str, above: str) -> str | None:
        """As `link_in`. Of many files in one folder, what is above them is looked at once."""
        folder = parent(location)
        if not is_within(folder, above):
            return deletion.link_in(location, above)
        if (folder, above) not in self._links:
            self._links[folder, above] = deletion.link_in(folder, above)
        return self._links[folder, above] or deletion.link_in(location, folder)


def parent_version(location: str) -> str:
    """The version folder that a partition's location lies in, else the location itself."""
    head, folder, rest = location.partition(f"/{PREFIX}/")
    parts = rest.split("/")
    return f"{head}{folder}{'/'.join(parts[:2])}" if folder and len(parts) > 1 else parent(f"{location}/")
