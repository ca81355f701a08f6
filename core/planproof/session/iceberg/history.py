"""What others have done to a change right after its commit, by the snapshots that the table has then."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError

from planproof.session.failures import silence_pyspark
from planproof.session.iceberg import placing
from planproof.session.iceberg.catalogs import Catalogs
from planproof.session.java import iterate

_KEPT = ("append", "replace")
"""The operations of snapshots that take no row away: `replace` only moves rows to other files."""


def find_undoing(catalogs: Catalogs, io: Any, own: set[str], ours: Any, base: Any | None, now: Any) -> str | None:
    """The snapshot by which others have taken back, or replaced, rows of a change; None where none has, or where
    snapshots in between were expired. `ours` is the state that was committed on `base`, `now` the table's own; `own`
    are the data files of the change."""
    wanted, last = ours.currentSnapshot(), now.currentSnapshot()
    number, at = (None if one is None else int(one.snapshotId()) for one in (wanted, last))
    said, later = "none" if at is None else str(at), []
    while at is not None and at != number:
        one = now.snapshot(at)
        if one is None:
            return None
        if base is not None and base.snapshot(at) is not None:
            return said  # Somebody went back to an older one.
        later.append(one)
        at = catalogs.form("Snapshot", one).get("parent-snapshot-id")
    if at != number:
        return said  # The table was made anew over ours.
    return None if wanted is None else _find_removal(catalogs, io, own, later)


def is_same_snapshot(one: Any, other: Any) -> bool:
    """Whether two states are of one table, with the same rows."""
    found = [None if (last := state.currentSnapshot()) is None else last.snapshotId() for state in (one, other)]
    return bool(one.uuid() == other.uuid()) and found[0] == found[1]


def list_partitions(snapshot: Any, io: Any) -> set[str]:
    """The partitions to which a snapshot has added files, as texts."""
    return {f"{file.specId()} {file.partition()}" for file in iterate(snapshot.addedDataFiles(io))}


def has_added_rows(catalogs: Catalogs, io: Any, base: Any | None, now: Any, among: set[str] | None) -> bool:
    """Whether others have added rows on the way from one state to a later one, which may be another table's that they
    have made in its place; `among`: in one of these partitions."""
    if base is None:
        return now.currentSnapshot() is not None
    added = (one for one, rows in placing.list_added(catalogs, base, now) if rows)
    return any(among is None or among & list_partitions(one, io) for one in added)


def is_expired(catalogs: Catalogs, own: set[str], base: Any | None, ours: Any, table: Any) -> bool:
    """Whether a table has a change and not its snapshot any more: others have gone on from it, and expired it. Its
    manifests are deleted then; `own` are its other files."""
    now, wanted = table.operations().current(), ours.currentSnapshot()
    is_as_before = base is not None and base.metadataFileLocation() == now.metadataFileLocation()
    if is_as_before or wanted is None or now.uuid() != ours.uuid() or now.snapshot(wanted.snapshotId()) is not None:
        return False
    return _is_above(catalogs, int(wanted.snapshotId()), now) or any(
        str(file.path()) in own
        for task in iterate(table.newScan().planFiles())
        for file in (task.file(), *iterate(task.deletes()))
    )


def _is_above(catalogs: Catalogs, number: int, now: Any) -> bool:
    """Whether a snapshot is one from which the table's last one comes, as far as its line is still there."""
    last = now.currentSnapshot()
    while last is not None:
        above = catalogs.form("Snapshot", last).get("parent-snapshot-id")
        if above == number:
            return True
        last = None if above is None else now.snapshot(above)
    return False


def _find_removal(catalogs: Catalogs, io: Any, own: set[str], later: list[Any]) -> str | None:
    taking = [one for one in reversed(later) if str(one.operation()) not in _KEPT]
    if not taking:
        return None
    refers = catalogs.static("org.apache.iceberg.util.ContentFileUtil", "referencedDataFile")
    try:
        with silence_pyspark():
            for one in taking:
                gone = {str(file.path()) for file in iterate(one.removedDataFiles(io))}
                gone |= {str(refers(file)) for file in iterate(one.addedDeleteFiles(io))}
                if own & gone:
                    return str(one.snapshotId())
    except Py4JJavaError as error:
        if not placing.is_missing(error):
            raise
    return None
