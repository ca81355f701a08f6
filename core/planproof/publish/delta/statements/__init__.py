"""Delta's room where SQL is all that reaches Spark: a model's rows are staged and audited, and a statement copies them.

What is staged lies in the folder of the target's database. Nothing is locked: Delta orders all commits by itself.
"""

from __future__ import annotations

from planproof.publish.delta.statements.publication import StatementPublication
from planproof.publish.delta.statements.quarantine import StatementQuarantine
from planproof.publish.delta.statements.writing import Change, Replacement, StagedRows
from planproof.publish.delta.written import LoggedFormat
from planproof.publish.materialize.materialization import Job, Materialization, is_incremental_run
from planproof.session import Session
from planproof.session.delta.statements import DeltaStatements


class ByStatements(LoggedFormat[StatementPublication]):
    """Delta tables of the session's own catalog; see `planproof.publish.protocol.Format`."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._tables = DeltaStatements(session)

    def find_obstacle(self) -> str | None:
        """Why no Delta table is published here, None where they are."""
        return self._tables.find_obstacle()

    def quarantine(self) -> StatementQuarantine:
        return StatementQuarantine(self._session, self._tables)

    def staged(self, job: Job, publication: StatementPublication) -> StagedRows:
        return StagedRows(job, publication)

    def materialization(self, job: Job, full_refresh: bool) -> Materialization[StatementPublication]:
        return Change(self._tables) if is_incremental_run(job, full_refresh) else Replacement(self._tables)
