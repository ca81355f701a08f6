"""Delta's room where SQL is all that reaches Spark: a model's rows are staged and audited, and a statement copies them.

What is staged lies in the folder of the target's database. Nothing is locked: Delta orders all commits by itself.
"""

from __future__ import annotations

from planproof.contract import Model
from planproof.publish.delta.statements.publication import StatementPublication
from planproof.publish.delta.statements.quarantine import StatementQuarantine
from planproof.publish.delta.statements.writing import Change, Replacement, StagedRows
from planproof.publish.materialize.materialization import Job, Materialization, is_incremental_run
from planproof.publish.notes.format import NotedFormat
from planproof.publish.transaction import Names
from planproof.session import Session, StoredTable
from planproof.session.delta.statements import DeltaStatements


class ByStatements(NotedFormat[StatementPublication]):
    """Delta tables of the session's own catalog; see `planproof.publish.protocol.Format`."""

    def __init__(self, session: Session) -> None:
        self._session, self._tables = session, DeltaStatements(session)

    def find_obstacle(self) -> str | None:
        """Why no Delta table is published here, None where they are."""
        return self._tables.find_obstacle()

    def names(self, model: Model, run: str, attempt: int) -> Names:
        return Names.of(model.name, self._session.namespace, run, attempt)

    def target(self, names: Names) -> StoredTable | None:
        return self._session.registered_table(names.target.quoted)

    def quarantine(self) -> StatementQuarantine:
        return StatementQuarantine(self._session, self._tables)

    def staged(self, job: Job, publication: StatementPublication) -> StagedRows:
        return StagedRows(job, publication)

    def materialization(self, job: Job, full_refresh: bool) -> Materialization[StatementPublication]:
        return Change(self._tables) if is_incremental_run(job, full_refresh) else Replacement(self._tables)

    def refuse_changed(self, publication: StatementPublication) -> None:
        publication.refuse_another()

    def is_published(self, publication: StatementPublication) -> bool:
        """Where bad rows were set apart, whoever was evicted has taken them back."""
        return publication.bad_rows is None and publication.is_committed()

    def find_late_rows(self, publication: StatementPublication) -> str:
        return "there" if publication.is_committed() else ""

    def is_exchanged(self, publication: StatementPublication) -> bool:
        return not publication.is_committed()


__all__ = ["ByStatements"]
