"""The plan that wrote a statement's rows, as Adaptive Query Execution left it.

INSERT hands back its own execution. CREATE TABLE AS and INSERT OVERWRITE DIRECTORY run another one inside of theirs, to
which nothing leads: Spark forgets it at its end (`SQLExecution.executionIdToQueryExecution`), its status store keeps a
text without types, and a listener would need py4j's callback server, for every statement of the session.
"""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from planproof.schema import PhysicalSchema
from planproof.session.failures import quiet
from planproof.session.schemas import physical_schema


def written(execution: Any) -> PhysicalSchema | None:
    """The schema of the rows that a statement's execution wrote; None where it does not tell."""
    try:
        with quiet():
            result = execution.commandExecuted()
            if result.getClass().getSimpleName() != "CommandResult":
                return None
            plan = _writing(result.commandPhysicalPlan())
            return None if plan is None else physical_schema(plan.schema().json())
    except (Py4JError, PySparkException):
        return None


def _writing(plan: Any) -> Any | None:
    """The plan whose rows a plan writes; None where this one writes none."""
    writes = False
    while True:
        kind = str(plan.getClass().getSimpleName())
        if kind == "AdaptiveSparkPlanExec":
            plan = plan.executedPlan()
        elif kind == "ResultQueryStageExec":
            plan = plan.plan()
        elif kind in ("DataWritingCommandExec", "WriteFilesExec"):
            plan, writes = plan.children().apply(0), True
        else:
            return plan if writes else None
