"""Iceberg's room: a model is written to an open transaction, audited there, and committed by compare and swap.

Nothing is locked or journaled: until the commit nobody sees a thing, and the commit is one step. A process that is
killed leaves the table as it was, and files that no snapshot names, which Iceberg's `remove_orphan_files` deletes.
"""

from __future__ import annotations

from planproof.contract import Model
from planproof.publish.iceberg.changes import Change
from planproof.publish.iceberg.commit import Commit
from planproof.publish.iceberg.exchange import OverView
from planproof.publish.iceberg.table import Replacement
from planproof.publish.materialize.materialization import Job, Materialization, is_delta
from planproof.publish.swaps import Ending
from planproof.publish.transaction.names import Names, Refused
from planproof.quoting import quoted
from planproof.session.protocol import Session, StoredTable, Transactional

SESSION_CATALOG = "spark_catalog"


class Iceberg:
    """Iceberg tables of any catalog that the session knows; see `planproof.publish.formats.Format`."""

    is_journaled = False

    def __init__(self, session: Session, tables: Transactional) -> None:
        self._session, self._tables = session, tables

    @classmethod
    def over(cls, session: Session, model: Model) -> Iceberg:
        """Raises `Refused` where this session opens no transaction."""
        tables = session.transactions()
        if tables is None:
            kind = session.capabilities.kind
            raise Refused(
                f"{model.name} is stored as iceberg, and this session is of kind {kind}: Iceberg's transactions are "
                "held open in the JVM of a classic session. Run it there (in dbt: method: session)"
            )
        reason = tables.refusal()
        if reason is not None:
            raise Refused(f"{model.name}: {reason}")
        if not tables.holds(model.name):
            catalog = tables.complete(model.name)[0]
            raise Refused(
                f"{model.name} is stored as iceberg, and the catalog {catalog} makes no such tables in this session; "
                f"set spark.sql.catalog.{catalog}, or name another catalog"
            )
        return cls(session, tables)

    def names(self, model: Model, run: str, attempt: int) -> Names:
        return Names.complete(self._tables.complete(model.name), run, attempt)

    def target(self, names: Names) -> StoredTable | None:
        name = quoted(names.target)
        return self._tables.table(name) or self._session.registered(name)

    def way(self, job: Job, full_refresh: bool) -> Materialization[Commit]:
        if is_delta(job, full_refresh):
            return Change(self._tables)
        return OverView(self._tables) if self._takes_a_views_place(job) else Replacement(self._tables)

    def _takes_a_views_place(self, job: Job) -> bool:
        """Spark renames views of its own catalog, where this is the current one."""
        is_view = job.target is not None and job.target.kind == "view"
        return is_view and job.names.target[0] == self._session.namespace[0] == SESSION_CATALOG

    def commit(self, publication: Commit) -> None:
        publication.commit()

    def settle(self, publication: Commit) -> Ending:
        return publication.settle()


__all__ = ["Iceberg"]
