"""Partitions as Spark spells them (`d=2024-01-01/n=1`), and where their files lie."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from planproof.publish.journal import PartitionSwap
from planproof.publish.names import literal, quoted
from planproof.session.protocol import Session
from planproof.session.store import decoded, local

NULL = "__HIVE_DEFAULT_PARTITION__"
"""How Hive and Spark spell a partition value that is NULL (ExternalCatalogUtils.DEFAULT_PARTITION_NAME)."""


@dataclass(frozen=True, slots=True)
class PartitionPlace:
    """`partition` is empty for an unpartitioned table."""

    partition: str
    location: str

    @property
    def local(self) -> str:
        """The location as `Session.files` lists it."""
        return local(self.location) or self.location

    @property
    def swap(self) -> PartitionSwap:
        return PartitionSwap(self.partition, None, self.location)


def values(partition: str) -> list[tuple[str, str | None]]:
    """Column and value of each level; None for NULL.

    >>> values("d=2024-01-01/p=a%2Fb/n=__HIVE_DEFAULT_PARTITION__")
    [('d', '2024-01-01'), ('p', 'a/b'), ('n', None)]
    """
    found = []
    for level in partition.split("/"):
        column, _, value = level.partition("=")
        found.append((unquote(column), None if value == NULL else unquote(value)))
    return found


def spec(partition: str) -> str:
    """The partition as a PARTITION clause holds it.

    >>> print(spec("d=2024-01-01/n=__HIVE_DEFAULT_PARTITION__"))
    `d` = '2024-01-01', `n` = null
    """
    return ", ".join(
        f"{quoted((column,))} = {'null' if value is None else literal(value)}" for column, value in values(partition)
    )


def names(session: Session, table: str) -> list[str]:
    """The table's partitions; none for an unpartitioned table."""
    stored = session.table(table)
    if stored is None or not stored.partition_by:
        return []
    return [str(row[0]) for row in session.rows(f"SHOW PARTITIONS {table}")]


def location_of(session: Session, table: str, partition: str) -> str:
    rows = session.rows(f"DESCRIBE TABLE EXTENDED {table} PARTITION ({spec(partition)})")
    # The partition's own location comes before the table's.
    return next(str(row[1]) for row in rows if row[0] == "Location")


def places(session: Session, table: str) -> list[PartitionPlace]:
    """Each partition of a table with its location; the table itself, where it is unpartitioned."""
    stored = session.table(table)
    if stored is None:
        return []
    if stored.partition_by:
        found = session.partitions(table)
        if found is not None:
            return [PartitionPlace(name, decoded(location)) for name, location in found]
        # One statement per partition: a route that has no other way.
        return [PartitionPlace(name, location_of(session, table, name)) for name in names(session, table)]
    return [PartitionPlace("", decoded(stored.location))] if stored.location else []
