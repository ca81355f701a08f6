"""The plan that wrote a statement's rows: Adaptive Query Execution's final one, which no statement returns.

CREATE TABLE AS and INSERT build a query execution of their own; only a listener of the session is handed it. py4j's
callback server, which pyspark starts for `foreachBatch` too, carries it here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError

from planproof.schema import PhysicalSchema
from planproof.session.failures import quiet
from planproof.session.schemas import physical_schema

if TYPE_CHECKING:
    from planproof.session.classic import ClassicSession

_PATIENCE = 5_000
"""Milliseconds until a listener bus that is busy with other sessions' events is given up."""
_COMMAND = "InsertIntoHadoopFsRelationCommand"


class _Listener:
    """Keeps the query executions of this session that succeed while it is registered."""

    def __init__(self) -> None:
        self.executions: list[Any] = []

    def onSuccess(self, name: str, execution: Any, nanoseconds: int) -> None:
        self.executions.append(execution)

    def onFailure(self, name: str, execution: Any, error: Any) -> None:
        """A statement that fails raises where it was run."""

    class Java:
        implements = ("org.apache.spark.sql.util.QueryExecutionListener",)


@contextmanager
def written(session: ClassicSession, location: str) -> Iterator[list[PhysicalSchema]]:
    """After the block, the list holds the schema of each plan that wrote files to `location` in it, as it ran; none
    where Spark does not tell. The last part of a location is enough to know it by: staged ones bear a name of their
    own."""
    found: list[PhysicalSchema] = []
    listener = _registered(session)
    try:
        yield found
        if listener is not None:
            found += _told(session, listener, _last(location))
    finally:
        if listener is not None:
            _unregister(session, listener)


def _registered(session: ClassicSession) -> _Listener | None:
    from pyspark.java_gateway import ensure_callback_server_started

    listener = _Listener()
    try:
        with quiet():
            ensure_callback_server_started(session._gateway)
            session._java.listenerManager().register(listener)
    except (Py4JError, OSError):
        return None
    return listener


def _unregister(session: ClassicSession, listener: _Listener) -> None:
    try:
        with quiet():
            session._java.listenerManager().unregister(listener)
    except (Py4JError, OSError):
        pass


def _told(session: ClassicSession, listener: _Listener, place: str) -> list[PhysicalSchema]:
    try:
        with quiet():
            session.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(_PATIENCE)
            plans = [_writing(execution.executedPlan(), place) for execution in list(listener.executions)]
            return [physical_schema(plan.schema().json()) for plan in plans if plan is not None]
    except (Py4JError, OSError, ValueError):
        return []


def _writing(plan: Any, place: str) -> Any | None:
    """The plan whose rows are written, where this is a plan that writes to `place`."""
    writes = False
    while True:
        kind = str(plan.getClass().getSimpleName())
        if kind == "AdaptiveSparkPlanExec":
            plan = plan.executedPlan()
        elif kind == "ResultQueryStageExec":
            plan = plan.plan()
        elif kind == "DataWritingCommandExec":
            command = plan.cmd()
            if command.getClass().getSimpleName() != _COMMAND or _last(str(command.outputPath().toString())) != place:
                return None
            plan, writes = plan.children().apply(0), True
        elif kind == "WriteFilesExec":
            plan = plan.children().apply(0)
        else:
            return plan if writes else None


def _last(location: str) -> str:
    return location.rstrip("/").rsplit("/", 1)[-1].lower()
