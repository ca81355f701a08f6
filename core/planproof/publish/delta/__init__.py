"""Delta's room: a model is written to a Delta table of its own in the target's folder, audited there, and what its log
says is committed to the target's log, by Delta's own transaction.

Nothing is locked or journaled: until the commit nobody sees a thing, and the commit is one step. A process that is
killed leaves the table as it was, and a folder that the next publish, or a recovery, deletes.
"""

from __future__ import annotations

from planproof.contract import Model
from planproof.publish.delta.change import Change
from planproof.publish.delta.publication import DeltaPublication
from planproof.publish.delta.quarantine import DeltaQuarantine
from planproof.publish.delta.statements import ByStatements
from planproof.publish.delta.table import Replacement
from planproof.publish.delta.written import LoggedFormat
from planproof.publish.materialize.materialization import Job, Materialization, is_incremental_run
from planproof.publish.transaction import Refused
from planproof.session import Session
from planproof.session.delta.protocol import DeltaTables


class DeltaLake(LoggedFormat[DeltaPublication]):
    """Delta tables of the session's own catalog; see `planproof.publish.protocol.Format`."""

    def __init__(self, session: Session, tables: DeltaTables) -> None:
        super().__init__(session)
        self._tables = tables

    @classmethod
    def over(cls, session: Session, model: Model) -> DeltaLake | ByStatements:
        """Raises `Refused` where this session's own catalog has no Delta tables."""
        tables = session.delta()
        if tables is None:
            by_statements = ByStatements(session)
            obstacle = by_statements.find_obstacle()
            if obstacle is not None:
                raise Refused(f"{model.name} is stored as delta, and {obstacle}")
            return by_statements
        if not tables.is_there:
            raise Refused(
                f"{model.name} is stored as delta, and the session's own catalog is not Delta's: set "
                "spark.sql.catalog.spark_catalog to org.apache.spark.sql.delta.catalog.DeltaCatalog"
            )
        return cls(session, tables)

    def quarantine(self) -> DeltaQuarantine:
        return DeltaQuarantine(self._session, self._tables)

    def materialization(self, job: Job, full_refresh: bool) -> Materialization[DeltaPublication]:
        return Change(self._tables) if is_incremental_run(job, full_refresh) else Replacement(self._tables)
