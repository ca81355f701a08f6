"""Where a publish puts things: the folder of a database, and the one beside which new data are staged."""

from __future__ import annotations

import posixpath
import re

from planproof.publish.transaction.names import PREFIX, Refused, parent
from planproof.session import Session, StoredTable, decode_uri
from planproof.session.absence import verify_database_absence
from planproof_engine import AnalysisError, quote_parts

_PLACE = re.compile("(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(/.*)?$", re.DOTALL)
"""Scheme, host and path of a location."""


def database_root(session: Session, database: tuple[str, ...]) -> str:
    """The location of a database. Raises `Refused` where it does not exist, or its catalog gives it none."""
    try:
        found = session.database_location(quote_parts(database))
    except AnalysisError as error:
        verify_database_absence(error, quote_parts(database), session.rows)
        raise Refused(
            f"the database {'.'.join(database)} cannot be read: {error.message.splitlines()[0]} Create it first"
        ) from error
    if found is None:
        raise Refused(f"the database {'.'.join(database)} has no location; planproof publishes to Spark's own catalog")
    # A namespace's location is printed as a URI, a table's and a partition's as a path.
    return decode_uri(found)


def data_root(target: StoredTable | None, location_root: str | None, home: str) -> str:
    """The folder beside which new data are staged, so that a publish stays on one file system."""
    if target is not None and target.location:
        location = decode_uri(target.location)
        # `<root>/__planproof/<table>/<version>` for a version directory.
        found = re.match(rf"(.+)/{PREFIX}/[^/]+/[^/]+/?$", location)
        return found.group(1) if found else parent(location)
    return location_root.rstrip("/") if location_root else home


def is_moved(target: StoredTable | None, location_root: str | None) -> bool:
    """Whether a table that is made anew gets another place: the model's `location_root`, below which it does not lie.

    A root that leaves out its scheme or its host has those that Spark took for it, and a relative one lies where the
    catalog says: only what it says is compared.
    """
    if target is None or target.kind != "table" or not target.location or not location_root:
        return False
    given, now = _PLACE.match(location_root), _PLACE.match(data_root(target, None, ""))
    if given is None or now is None:
        return False
    said = any(one and one != other for one, other in zip(given.groups()[:2], now.groups()[:2]))
    root, folder = (posixpath.normpath(re.sub("/+", "/", found[3] or "/")) for found in (given, now))
    return target.managed or said or root != folder
