"""Partitions as Spark spells them (`d=2024-01-01/n=1`), and where their files lie."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from planproof.publish.transaction.names import refuse_unspeakable
from planproof.session import Session, StoredTable, decode_uri, local
from planproof_engine import quote_literal, quote_parts

NULL = "__HIVE_DEFAULT_PARTITION__"
"""How Hive and Spark spell a partition value that is NULL (ExternalCatalogUtils.DEFAULT_PARTITION_NAME)."""


@dataclass(frozen=True, slots=True)
class PartitionLocation:
    """`partition` is empty for an unpartitioned table."""

    partition: str
    location: str

    @property
    def local(self) -> str:
        """The location as `Session.files` lists it."""
        return local(self.location) or self.location


def parse_values(partition: str) -> list[tuple[str, str | None]]:
    """Column and value of each level; None for NULL.

    >>> parse_values("d=2024-01-01/p=a%2Fb/n=__HIVE_DEFAULT_PARTITION__")
    [('d', '2024-01-01'), ('p', 'a/b'), ('n', None)]
    """
    found = []
    for level in partition.split("/"):
        column, _, value = level.partition("=")
        found.append((unquote(column), None if value == NULL else unquote(value)))
    return found


def format_spec(partition: str) -> str:
    """The partition as a PARTITION clause holds it.

    >>> print(format_spec("d=2024-01-01/n=__HIVE_DEFAULT_PARTITION__"))
    `d` = '2024-01-01', `n` = null
    """
    return ", ".join(
        f"{quote_parts((column,))} = {'null' if value is None else quote_literal(value)}"
        for column, value in parse_values(partition)
    )


def refuse_partitions(session: Session, partitions: Iterable[str]) -> None:
    """Raises `Refused` for a partition that no PARTITION clause of this session can name."""
    refuse_unspeakable(
        session, (value for name in partitions for _, value in parse_values(name)), "a partition's value"
    )


def list_names(session: Session, table: str) -> list[str]:
    """The partitions that the catalog holds of a table."""
    stored = session.table(table)
    if stored is None or not stored.partition_by or not stored.tracked:
        return []
    return [str(row[0]) for row in session.rows(f"SHOW PARTITIONS {table}")]


def location_of(session: Session, table: str, partition: str) -> str:
    """The location of a table's partition, asked of the catalog. Raises `SparkFailure` for an unknown one."""
    rows = session.rows(f"DESCRIBE TABLE EXTENDED {table} PARTITION ({format_spec(partition)})")
    # Columns come first, and one of them may be named so; then the partition, then the table.
    start = max(i for i, row in enumerate(rows) if row[0] == "# Detailed Partition Information")
    return next(str(row[1]) for row in rows[start:] if row[0] == "Location")


def partitions_of(
    session: Session, table: str, stored: StoredTable | None = None, among: Iterable[str] | None = None
) -> list[PartitionLocation]:
    """Each partition of a table with its location, of those `among` the given ones only; the table itself, where it
    has no partition that the catalog holds."""
    stored = stored or session.table(table)
    if stored is None:
        return []
    if not stored.partition_by or not stored.tracked:
        return [PartitionLocation("", decode_uri(stored.location))] if stored.location else []
    asked = None if among is None else list(among)
    found = session.partitions(table, None if asked is None else [_catalog_values(name) for name in asked])
    if found is not None:
        return [PartitionLocation(name, decode_uri(location)) for name, location in found]
    # One statement per partition, for a session that has no other way.
    known = list_names(session, table)
    wanted = known if asked is None else [name for name in known if name in set(asked)]
    return [PartitionLocation(name, location_of(session, table, name)) for name in wanted]


def list_locations(session: Session, table: str) -> list[str]:
    """Where the partitions of a table lie."""
    found = session.partition_locations(table)
    return list(found) if found is not None else [part.location for part in partitions_of(session, table)]


def _catalog_values(partition: str) -> dict[str, str]:
    """A partition's values as the catalog holds them."""
    return {column: NULL if value is None else value for column, value in parse_values(partition)}
