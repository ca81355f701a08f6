"""The data files of a snapshot of an Iceberg table, where each holds the table's own columns under their names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from planproof.session.iceberg.catalogs import Catalogs
from planproof.session.java import iterate
from planproof.session.snapshots import DataFile, Unlisted

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
