"""The quarantine of Parquet tables: the bad rows of a publish are one partition, which its catalog does not know while
the good rows are staged. It learns of it by one call just before the target changes."""

from __future__ import annotations

from datetime import datetime, timezone

from planproof.arrow.footers import FooterError, Undecodable
from planproof.claims import files
from planproof.invariants.count_queries import TERMS
from planproof.publish.bad_rows import AT, DATE, RUN, BadRows, Unquarantinable, format_name
from planproof.publish.materialize.materialization import Job
from planproof.publish.transaction import JournaledPublication
from planproof.publish.transaction.journal import QuarantinePartition
from planproof.publish.transaction.names import join
from planproof.publish.transaction.partition import format_spec, parse_values
from planproof.publish.transaction.partition import list_names as partition_names
from planproof.session import Session, SparkFailure, StoredTable, decode_uri, local, store_of
from planproof_engine import PhysicalSchema, evolve, quote_literal, quote_name, quote_parts


class QuarantinePartitions:
    """`publish.protocol.QuarantineTable` of Parquet tables."""

    stored_as = "parquet"

    def __init__(self, session: Session) -> None:
        self._session = session

    def refuse(self, raw: JournaledPublication) -> None:
        """Nothing: rows of each kind of publish can be told apart."""

    def find(self, name: str) -> StoredTable | None:
        table = self._session.registered_table(name)
        if table is not None and table.partition_by and not (table.tracked and table.location):
            raise Unquarantinable(f"the catalog does not hold the partitions of {format_name(name)}")
        return table

    def convert_types(self, schema: PhysicalSchema) -> PhysicalSchema:
        return schema

    def attach(self, bad: BadRows, raw: JournaledPublication, publication: JournaledPublication) -> None:
        table = self._session.registered_table(bad.table)
        if table is None or not table.location:
            raise SparkFailure(f"{format_name(bad.table)} is gone", outside=True)
        day = datetime.now(timezone.utc).date().isoformat()
        partition = f"{DATE}={day}/{RUN}={bad.names.stamp}"
        noted = QuarantinePartition(bad.table, partition, join(decode_uri(table.location), partition))
        # The lock is held under the first staging's name.
        publication.journal.entry = evolve(publication.entry, quarantine=noted, owner=raw.entry.owner)

    def write(self, bad: BadRows, job: Job, publication: JournaledPublication) -> None:
        columns = ", ".join(map(quote_name, (*bad.columns, TERMS)))
        publication.run(
            f"INSERT OVERWRITE DIRECTORY {quote_literal(_partition(publication).location)} USING parquet\n"
            f"SELECT {columns}, current_timestamp() AS {AT} {bad.source}"
        )

    def count(self, job: Job, publication: JournaledPublication) -> tuple[int, int]:
        bad, good = _count_rows_below(self._session, _partition(publication).location), job.draft.rows
        if good is None:
            publication.register()
            good = _count_rows(self._session, publication.entry.staging)
        return bad, good

    def publish(self, bad: BadRows, publication: JournaledPublication) -> None:
        partition = _partition(publication)
        publication.step("quarantine")
        publication.change(
            f"ALTER TABLE {partition.table} ADD IF NOT EXISTS PARTITION ({format_spec(partition.partition)})"
        )

    def expire(self, name: str, table: StoredTable, oldest: str) -> None:
        session, store = self._session, store_of(self._session)
        for partition in partition_names(session, name):
            day = dict(parse_values(partition)).get(DATE)
            if day is not None and day < oldest:
                session.rows(f"ALTER TABLE {name} DROP IF EXISTS PARTITION ({format_spec(partition)})")
                store.delete(join(decode_uri(table.location or ""), partition))


def _partition(publication: JournaledPublication) -> QuarantinePartition:
    partition = publication.entry.quarantine
    assert partition is not None, "it was attached"
    return partition


def _count_rows_below(session: Session, location: str) -> int:
    """By the footers, or by Spark's count where they are out of reach."""
    try:
        claim, _ = files.read(session.files(local(location) or location), session)
        known = claim.facts.rows
    except (FooterError, Undecodable, SparkFailure):
        known = None
    return _count_rows(session, f"parquet.{quote_parts((location,))}") if known is None else known


def _count_rows(session: Session, relation: str) -> int:
    return int(session.rows(f"SELECT count(*) FROM {relation}")[0][0])
