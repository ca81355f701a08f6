"""Iceberg's room: a model is written to an open transaction, audited there, and committed by compare and swap.

Nothing is locked or journaled: until the commit nobody sees a thing, and the commit is one step. A process that is
killed leaves the table as it was, and files that no snapshot names, which Iceberg's `remove_orphan_files` deletes.
"""

from __future__ import annotations

from planproof.contract import Model
from planproof.publish.bad_rows import Unquarantinable
from planproof.publish.iceberg.changes import Change
from planproof.publish.iceberg.exchange import OverView
from planproof.publish.iceberg.publication import IcebergPublication, sweep_dead
from planproof.publish.iceberg.quarantine import IcebergQuarantine
from planproof.publish.iceberg.table import Replacement, RowsReplaced
from planproof.publish.materialize.materialization import Job, Materialization, is_incremental_run
from planproof.publish.notes import NotedFormat
from planproof.publish.transaction import Names, Refused
from planproof.session.branches import Branches
from planproof.session.protocol import Changing, Session, StoredTable, Transactional
from planproof_engine import SESSION_CATALOG, Finding, RelationName, Verdict, quote_parts


class _Committed(NotedFormat[IcebergPublication]):
    """What all Iceberg tables share of `publish.protocol.Format`: all but materializations and quarantine."""

    def __init__(self, session: Session, tables: Changing) -> None:
        self._session, self._tables = session, tables

    def names(self, model: Model, run: str, attempt: int) -> Names:
        return Names.complete(RelationName(self._tables.complete(model.name)), run, attempt)

    def target(self, names: Names) -> StoredTable | None:
        name = names.target.quoted
        return self._tables.table(name) or self._session.registered_table(name)

    def refuse_changed(self, publication: IcebergPublication) -> None:
        """Nothing: what was staged on another state is not committed (`Moved`)."""

    def is_published(self, publication: IcebergPublication) -> bool:
        """No: whoever is evicted sees it before the commit, which is one call."""
        return False

    def find_late_rows(self, publication: IcebergPublication) -> str:
        return ""

    def is_exchanged(self, publication: IcebergPublication) -> bool:
        return publication.transaction.is_exchanged()


class Iceberg(_Committed):
    """Iceberg tables of any catalog that the session knows; see `planproof.publish.protocol.Format`."""

    def __init__(self, session: Session, tables: Transactional) -> None:
        super().__init__(session, tables)
        self._transactions = tables

    @classmethod
    def over(cls, session: Session, model: Model) -> Iceberg | OnBranches:
        """Raises `Refused` where this session opens no transaction."""
        tables = session.transactions()
        if tables is None:
            return OnBranches.over(session, model)
        if not tables.is_in_catalog(model.name):
            catalog = tables.complete(model.name)[0]
            raise Refused(
                f"{model.name} is stored as iceberg, and the catalog {catalog} cannot make such tables in this "
                f"session; set spark.sql.catalog.{catalog}, or name another catalog"
            )
        return cls(session, tables)

    def materialization(self, job: Job, full_refresh: bool) -> Materialization[IcebergPublication]:
        if is_incremental_run(job, full_refresh):
            return Change(self._transactions)
        return OverView(self._transactions) if self._takes_a_views_place(job) else Replacement(self._transactions)

    def quarantine(self) -> IcebergQuarantine:
        return IcebergQuarantine(self._session, self._transactions)

    def _takes_a_views_place(self, job: Job) -> bool:
        """Spark renames views of its own catalog, where this is the current one."""
        is_view = job.target is not None and job.target.kind == "view"
        return is_view and job.names.target.parts[0] == self._session.namespace[0] == SESSION_CATALOG


class OnBranches(_Committed):
    """Iceberg tables over a session that hands over SQL and nothing else: rows change by way of a branch."""

    def __init__(self, session: Session, tables: Branches) -> None:
        super().__init__(session, tables)
        self._branches = tables

    @classmethod
    def over(cls, session: Session, model: Model) -> OnBranches:
        """Raises `Refused` for a table that is not there, and for rows that are to be quarantined."""
        tables, kind = Branches(session), session.capabilities.kind
        if tables.table(model.name) is None:
            raise Refused(
                f"{model.name} is stored as iceberg, there is no such Iceberg table yet, and this session is of kind "
                f"{kind}: the transactions that make one are held open in the JVM of a classic session. Run it there "
                "once (in dbt: method: session)"
            )
        return cls(session, tables)

    def materialization(self, job: Job, full_refresh: bool) -> Materialization[IcebergPublication]:
        if job.draft.settings.on_violation == "quarantine":
            kind = self._session.capabilities.kind
            raise Refused(
                f"{job.model.name}: rows of an Iceberg table are quarantined by two transactions, and this session is "
                f"of kind {kind}. Set on_violation: stop, or run it in a classic session (in dbt: method: session)"
            )
        sweep_dead(job, self._tables)
        job.draft.add(self._left(job))
        return Change(self._tables) if is_incremental_run(job, full_refresh) else RowsReplaced(self._tables)

    def quarantine(self) -> IcebergQuarantine:
        raise Unquarantinable("this session opens no transactions")

    def _left(self, job: Job) -> list[Finding]:
        """What publishes have left of which nobody here knows that they are dead, or others write now."""
        name = job.names.target.quoted
        return [
            Finding(
                Verdict.WARNING,
                "PP604",
                "catalog",
                message=f"{job.model.name} has the branch {branch}: another publish is under way, or has died. In the "
                f"latter case nobody needs it: ALTER TABLE {name} DROP BRANCH {quote_parts((branch,))}",
            )
            for branch in self._branches.list_branches(name)
        ]
