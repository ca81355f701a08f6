"""Rows that dbt deletes from its own table to insert others: both statements happen, or neither.

A delete waits for the statement that writes, whose rows are counted first. It cannot wait where another statement asks
for the table's rows in between. Then nothing stops the statement that follows.
"""

from __future__ import annotations

from dbt_planproof.statement_models import delta_name
from dbt_planproof.states import Run
from planproof_engine.sql.heads import Statement, names_in

_ABOUT_TABLES = ("describe", "desc", "show")


def is_own(run: Run, statement: Statement) -> bool:
    """Whether the node that dbt writes deletes from its own table. A hook before a delta that the guard publishes is
    not part of what it does."""
    is_written = run.is_dbts or run.delta is not None
    return is_written and statement.kind == "delete" and _names_target(run, statement)


def may_wait(run: Run) -> bool:
    """Whether a delete is put off: there is a contract to count by, and no drop before it."""
    return run.model.contract is not None and not run.deferred


def waiting(run: Run) -> bool:
    """Whether a DELETE of the node is held back until its INSERT comes."""
    return any(statement.kind == "delete" for _, statement in run.held)


def are_part(run: Run) -> bool:
    """Whether what the node writes belongs to a delete: a publish of the guard's, of the rows alone, could fail."""
    return run.has_deleted or waiting(run)


def goes_by(run: Run, statement: Statement, sql: str) -> bool:
    """Whether a delete may wait while this statement runs: the statement reads no rows of the table, and does not
    change what the delete does. A view of the new rows is only read by the statement that stores them."""
    if statement.kind == "temp_view":
        view = delta_name(run.target)
        return statement.relation[-1].lower() == view and not any(view in names_in(held) for held, _ in run.held)
    return statement.kind == "read" and sql.split(None, 1)[0].lower() in _ABOUT_TABLES


def _names_target(run: Run, statement: Statement) -> bool:
    return tuple(part.lower() for part in statement.relation[-2:]) == run.target
