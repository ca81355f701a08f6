"""What others have done to a change of an Iceberg table right after its commit, by the snapshots that the table has
then; and the data files of a snapshot, where each holds the table's own columns under their names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JJavaError

from planproof.session.failures import silence_pyspark
from planproof.session.iceberg import placing
from planproof.session.iceberg.catalogs import Catalogs
from planproof.session.java import iterate
from planproof.session.snapshots import DataFile, Unlisted

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


class Own:
    """A snapshot that the transaction has made. What it lists is read once: a file costs a few calls."""

    def __init__(self, java: Any, number: int, form: Mapping[str, Any], io: Any) -> None:
        self.java, self.number, self._io = java, number, io
        summary = form.get("summary", {})
        self.rows, self.deleted = (int(summary.get(key, 0)) for key in ("added-records", "deleted-records"))
        # Where the list of its manifests lies; the first version of the format can do without one.
        self.listed: str | None = form.get("manifest-list")

    @cached_property
    def data(self) -> list[tuple[str, int]]:
        """The data files that it added, with their sizes."""
        return [(str(f.path()), int(f.fileSizeInBytes())) for f in iterate(self.java.addedDataFiles(self._io))]

    @cached_property
    def deletes(self) -> list[tuple[str, int]]:
        """The files that it added which take rows away."""
        return [(str(f.path()), int(f.fileSizeInBytes())) for f in iterate(self.java.addedDeleteFiles(self._io))]

    @cached_property
    def _manifests(self) -> list[tuple[str, int | None]]:
        own = [m for m in iterate(self.java.allManifests(self._io)) if m.snapshotId() == self.number]
        found: list[tuple[str, int | None]] = [(str(m.path()), int(m.length())) for m in own]
        return found if self.listed is None else [*found, (self.listed, None)]

    @property
    def manifests(self) -> list[str]:
        """The files of metadata that it wrote."""
        return [path for path, _ in self._manifests]

    @property
    def files(self) -> list[tuple[str, int | None]]:
        """Every file that it wrote, with its size where that is known; those that name others last."""
        return [*self.data, *self.deletes, *self._manifests]


_SAME_IN_FILES = re.compile(r"[^\W\d]\w*")
"""Names that a file spells as the table does (`AvroSchemaUtil.makeCompatibleName`)."""

_SHOWN = re.compile(r"(?:^\{|, )(\d+)=table \{(.*?)\n\}", re.DOTALL)
"""Schemas by their numbers, as Java shows them, where no column's comment looks like an end of one."""
_FLAG = re.compile(r": (optional|required) ")
_DELETED = "some of its files hold rows that were deleted"


def list_files(catalogs: Catalogs, table: Any, snapshot: Any | None, most: int, has_defaults: bool) -> list[DataFile]:
    """The files of a snapshot, None for a table that has none. `has_defaults`: columns may have a value in files that
    do not hold them. Raises `Unlisted`."""
    if snapshot is None:
        return []
    summary = catalogs.texts(snapshot.summary())
    number, deletes = (int(summary.get(f"total-{kind}-files", -1)) for kind in ("data", "delete"))
    if number > most:
        raise Unlisted(f"{number:,} files; at most {most} are looked at for this")
    if number < 0 or deletes:
        raise Unlisted(_DELETED if deletes > 0 else "its snapshot has no totals")
    _refuse_other_names(catalogs, table, has_defaults)
    tasks = table.newScan().useSnapshot(snapshot.snapshotId()).planFiles()
    try:
        return describe_files(_path_of(task) for task in iterate(tasks))
    finally:
        tasks.close()


def _path_of(task: Any) -> str:
    if not task.deletes().isEmpty():
        raise Unlisted(_DELETED)
    return str(task.file().path())


def describe_files(paths: Iterable[str]) -> list[DataFile]:
    """Files that hold all rows as they were written. Raises `Unlisted`."""
    found = [DataFile(path) for path in paths]
    if any(not file.path.endswith(".parquet") for file in found):
        raise Unlisted("its files are not all Parquet")
    return found


def refuse_other_spelling(names: Iterable[str]) -> None:
    """Raises `Unlisted` for columns that a file spells otherwise than the table does."""
    if not all(_SAME_IN_FILES.fullmatch(name) for name in names):
        raise Unlisted("its files spell a column's name otherwise")


def _refuse_other_names(catalogs: Catalogs, table: Any, has_defaults: bool) -> None:
    """A column is its number: a file keeps the name that the column had when the file was written."""
    schemas = table.schemas()
    text = str(schemas.toString())
    shown = _SHOWN.findall(text)
    # Most often a replacement made a schema of the same columns. To ask each schema costs many calls.
    is_plain = text == "{" + ", ".join(f"{number}=table {{{columns}\n}}" for number, columns in shown) + "}"
    if sorted(int(number) for number in ([n for n, _ in shown] if is_plain else schemas)) != [*range(len(schemas))]:
        raise Unlisted("it has forgotten columns that it had")
    if is_plain and not has_defaults and len({_FLAG.sub("", columns) for _, columns in shown}) == 1:
        return
    write, names = catalogs.static("org.apache.iceberg.SchemaParser", "toJson"), set()
    for schema in schemas.values():
        fields = json.loads(str(write(schema)))["fields"]
        if any(field.get("initial-default") is not None for field in fields):
            raise Unlisted("a column of it has a value in files that do not hold the column")
        names |= {(field["id"], field["name"].lower()) for field in fields}
    if len(names) != len(dict(names)) or len(names) != len({name for _, name in names}):
        raise Unlisted("a column of it has borne another name, or another column its name")
