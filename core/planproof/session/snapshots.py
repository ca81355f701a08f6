"""A version of a table, as its metadata describes it: a snapshot of Iceberg, and the data files of any format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from planproof_engine import PhysicalSchema, record
from planproof_engine.claim import Path

LOG_FORMATS = ("delta", "iceberg", "hudi", "paimon")
"""The formats whose tables have a log of their own."""


@record(frozen=True, slots=True)
class SnapshotField:
    """A place of the schema by Iceberg's field id. `enforced`: it is required, and was so in every schema of the table,
    so that each of its writers refused nulls there."""

    path: Path
    number: int
    required: bool
    enforced: bool


@record(frozen=True, slots=True)
class Counts:
    """What the manifests say of a snapshot's files.

    `nulls` has only the ids whose nulls every file with rows counts. The nulls of a struct's field include those of the
    struct. `rows` are the rows of the data files; `deletes` are the files that take rows away from them.
    """

    files: int = 0
    rows: int = 0
    deletes: int = 0
    nulls: Mapping[int, int] = field(default_factory=dict)


@record(frozen=True, slots=True)
class Snapshot:
    """One snapshot of a table. `number` is None where the table has no snapshot yet. `relation` reads the snapshot in a
    FROM clause. `partitions` and `sorting` are those that the table has now, as Spark prints them."""

    relation: str
    number: int | None
    schema: PhysicalSchema
    fields: tuple[SnapshotField, ...]
    partitions: tuple[str, ...]
    sorting: str | None
    counts: Counts

    @property
    def ids(self) -> dict[str, int]:
        """The field id of each column."""
        return {field.path[0]: field.number for field in self.fields if len(field.path) == 1}


class Unlisted(Exception):
    """Why the files of a table's version are not known, or not all that there is to know of its rows."""


@record(frozen=True, slots=True)
class DataFile:
    """A file of a table's rows, by its location, in which nothing is encoded, and the values of those columns that it
    does not hold: the columns of its partition, None for NULL."""

    path: str
    partition: tuple[tuple[str, str | None], ...] = ()
