"""What may be deleted: only what is certainly nobody's. `--force` changes nothing about that.

A folder is nobody's where no table and no partition that the catalog knows lies in it, or has it below its own
location. While a publish runs, its own staging and its own table's old versions are all that is deleted, and its table
is asked. Recovery and `clean` begin with what a file or a folder's name claims: they ask about every table of the
catalog."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping

from planproof.publish.transaction.names import (
    MARK,
    PREFIX,
    STATE,
    is_bound,
    is_same_place,
    is_within,
    join,
    make_slug,
    mark_of,
    parent,
    path_below,
)
from planproof.publish.transaction.partition import list_locations
from planproof.session import decode_uri, local
from planproof.session.protocol import Place, Session, SparkFailure
from planproof_engine import AnalysisError, RelationName, quote_parts

_STAMP = rf"{MARK}\.[0-9a-z_]+_\d+"


def find_neighbour(session: Session, target: RelationName, location: str) -> str | None:
    """Another table (quoted) of the session's own catalog that lies at a location: as far as the catalog tells by one
    call where many lie, and without partitions. Raises `SparkFailure`."""
    for database, *_ in session.rows("SHOW DATABASES"):
        for table, place in _places(session, str(database)).items():
            name, lies = RelationName((str(database), table)), decode_uri(place.location or "")
            if lies and name != target and is_same_place(lies, location):
                return name.quoted
    return None


class Holdings:
    """Where the tables and partitions lie that the session's own catalog knows, read once, when it is first asked."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: list[tuple[RelationName, str]] | None = None

    def holder(self, location: str, besides: Collection[RelationName] = ()) -> str | None:
        """The table (quoted) that has data at, below or around a location; None where it is nobody's.

        `besides` are tables that are not asked about. Raises `SparkFailure` where the
        catalog does not answer."""
        return self._first(besides, lambda lies: is_within(lies, location) or is_within(location, lies))

    def guest(self, location: str, besides: Collection[RelationName] = ()) -> str | None:
        """The table (quoted) that has data at or below a location, but for `besides`: all that there is to ask of a
        folder in which only planproof, or dbt, puts files. Raises `SparkFailure`."""
        return self._first(besides, lambda lies: is_within(lies, location))

    def sharer(self, version: str, besides: Collection[RelationName]) -> str | None:
        """The table (quoted) that has data in a version of the same mark, there or not: these are swept together. None
        where no table but `besides` has. Raises `SparkFailure`."""
        folder, mark = parent(version), mark_of(version)

        def is_shared(lies: str) -> bool:
            return is_within(lies, folder) and mark_of(join(folder, path_below(lies, folder).partition("/")[0])) == mark

        return self._first(besides, is_shared)

    def _first(self, besides: Collection[RelationName], is_meant: Callable[[str], bool]) -> str | None:
        if self._known is None:
            self._known = list(self._read())
        return next((table.quoted for table, lies in self._known if table not in besides and is_meant(lies)), None)

    def forget(self) -> None:
        """The catalog has changed since it was read."""
        self._known = None

    def _read(self) -> Iterator[tuple[RelationName, str]]:
        for name, place in relations(self._session):
            yield from ((name, location) for location in data_of(self._session, name.quoted, place))


def relations(session: Session) -> Iterator[tuple[RelationName, Place | None]]:
    """The tables and views of the session's own catalog, with their places where the catalog tells many at once."""
    for database, *_ in session.rows("SHOW DATABASES"):
        places = _places(session, str(database))
        for _, table, is_temporary, *_ in session.rows(f"SHOW TABLES IN {quote_parts((str(database),))}"):
            if str(is_temporary).lower() != "true":
                yield RelationName((str(database), str(table))), places.get(str(table))


def _places(session: Session, database: str) -> Mapping[str, Place]:
    try:
        return session.places(database)
    except (AnalysisError, SparkFailure):
        # One that cannot be read keeps the others from being told, too: each is asked for by itself, and is named.
        return {}


def data_of(session: Session, name: str, place: Place | None = None) -> list[str]:
    """The locations of a table and of its partitions; none of a view. Raises `SparkFailure`.

    `place` is what the catalog has said of it already."""
    place = place or _place_of(session, name)
    if place.location is None:
        return []
    return [decode_uri(place.location), *(list_locations(session, name) if place.is_partitioned else ())]


def _place_of(session: Session, name: str) -> Place:
    try:
        table = session.registered_table(name)
    except AnalysisError as error:
        raise SparkFailure(f"{name} cannot be read, so that its files are not known: {error.message}") from error
    if table is None or table.kind != "table" or not table.location:
        return Place(None, False)
    return Place(table.location, bool(table.partition_by) and not table.has_log)


def is_version_of(location: str, target: RelationName) -> bool:
    """Whether a location is spelt as a version of that table, which nobody but planproof makes:
    `.../__planproof/<table>/<mark>.<run>_<attempt>`, with nothing that leads out of it.

    >>> is_version_of("/lake/__planproof/orders/0a1b2c3d.0123456789_1", RelationName(("shop", "orders")))
    True
    >>> is_version_of("/lake/__planproof/orders/../0a1b2c3d.0123456789_1", RelationName(("shop", "orders")))
    False
    """
    if has_detour(location):
        return False
    return any(re.search(f"{re.escape(folder)}{_STAMP}/?$", location) for folder in _folders_of(target))


def is_own_version(session: Session, version: str, target: RelationName, root: str, *names: str) -> bool:
    """Whether a version is certainly this table's, and not one of another metastore's table of that name, of which this
    catalog knows nothing: it lies below `root`, where its publish is noted; or its mark was given there; or the table
    has its data in a version of that mark beside it, or one of `names` (quoted) has. Raises `SparkFailure`."""
    mark, folder = mark_of(version), parent(version)
    if is_within(version, root) or (mark is not None and is_bound(mark, root, target)):
        return True
    lies = [location for name in (target.quoted, *names) for location in data_of(session, name)]
    beside = (path_below(one, folder).partition("/")[0] for one in lies if is_within(one, folder))
    return mark is not None and any(mark_of(name) == mark for name in beside)


def is_in_versions_of(location: str, target: RelationName) -> bool:
    """Whether a location is spelt as one below the folder of that table's versions."""
    return any(folder in f"{location}/" for folder in _folders_of(target))


def _folders_of(target: RelationName) -> tuple[str, str]:
    names = make_slug(target.last), ".".join(map(make_slug, target.parts))
    return f"/{PREFIX}/{names[0]}/", f"/{PREFIX}/{names[1]}/"


def has_detour(location: str) -> bool:
    """Whether a location leads elsewhere than its beginning says.

    >>> has_detour("/lake/t/../u"), has_detour("/lake/t")
    (True, False)
    """
    return any(part in (".", "..") for part in location.split("/")) or "\0" in location


def link_in(location: str, above: str) -> str | None:
    """The first link at or above a location of this machine, below a folder that it lies in; None where there is none.

    Whoever may write to a database's folder can put a link there: what is deleted or moved behind it lies elsewhere.
    """
    path, known = local(location), local(above)
    if path is None or known is None:
        return None
    path, known, found = path.rstrip("/"), known.rstrip("/"), None
    while len(path) > len(known):
        found = path if os.path.islink(path) else found
        path = os.path.dirname(path)
    return found


def describe_link(link: str) -> str:
    """What is said of a link in the place of a folder of planproof's, with the next step."""
    return (
        f"{link} is a link, in the place of a folder of planproof's. Nothing behind it was touched. Find out who made "
        "it, and delete it"
    )


def link_in_state(root: str) -> str | None:
    """A link in the place of a folder of planproof's state below a database's folder."""
    folders = [join(root, STATE, *name) for name in ((), ("journal",), ("leaving",), ("locks",), ("staged",))]
    return next((link for folder in folders if (link := link_in(folder, root)) is not None), None)
