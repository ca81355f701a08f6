"""The plan that wrote rows, as Adaptive Query Execution left it; and a way to write files that shows this plan.

INSERT gives its own execution. CREATE TABLE AS and INSERT OVERWRITE DIRECTORY run a second execution inside of their
own, which cannot be reached: Spark forgets it when it ends (`SQLExecution.executionIdToQueryExecution`), the status
store keeps a text without types, and a listener would need py4j's callback server for every statement of the session.
So the command that `DataFrameWriter.parquet` runs is made here, of an analyzed plan, and is run as a statement is.
"""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from planproof.session import versions
from planproof.session.described import physical_schema
from planproof.session.failures import silence_pyspark
from planproof.session.protocol import Written
from planproof_engine import PhysicalSchema

_SOURCE = "org.apache.spark.sql.execution.datasources.DataSource"
_INTO_TABLES = ("AppendDataExec", "OverwriteByExpressionExec", "OverwritePartitionsDynamicExec")
"""Writes into tables of a catalog's own kind, such as Iceberg's."""


class FileWriter:
    """Writes a session's analyzed plans as Parquet files. What it needs of Spark is looked up once: each name in the
    JVM is a call or two, and each table would make a dozen of them."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        self._session = spark._jsparkSession
        scala = getattr(jvm, "org.apache.spark.api.python.PythonUtils")
        self._none, self._nil = getattr(jvm, "scala.Option").empty(), scala.toSeq([])
        self._map, self._source = scala.toScalaMap, getattr(jvm, _SOURCE)
        self._over = getattr(jvm, "org.apache.spark.sql.SaveMode").Overwrite
        self._run = versions.dataset_class(jvm).ofRows
        named: Any = versions.find_class(jvm, _SOURCE)
        self._takes = int(named.getConstructors()[0].getParameterCount())

    def write(self, analyzed: Any, location: str) -> Any | None:
        """The execution that wrote a plan's rows in place of what a folder holds. None, and nothing is written, where
        this version of Spark is told of it in another way. Raises `PySparkException`."""
        command = self._command(analyzed, location)
        return None if command is None else self._run(self._session, command).queryExecution()

    def _command(self, analyzed: Any, location: str) -> Any | None:
        none, nil, options = self._none, self._nil, self._map({"path": location})
        # Session, class, paths, schema, partition columns, buckets, options, table; later versions have more options.
        given = [self._session, "parquet", nil, none, nil, none, options, none]
        try:
            source = self._source(*given, *[none] * (self._takes - len(given)))
            return source.planForWriting(self._over, analyzed)
        except Py4JJavaError:
            raise
        except (Py4JError, TypeError):
            return None


def find_write_plans(execution: Any) -> Written | None:
    """The plans behind the rows that a statement's execution wrote; None where it does not tell."""
    try:
        with silence_pyspark():
            result = execution.commandExecuted()
            if result.getClass().getSimpleName() != "CommandResult":
                return None
            return _find_written(result.commandPhysicalPlan())
    except (Py4JError, PySparkException):
        return None


def _find_written(plan: Any) -> Written | None:
    """The plans whose rows a plan writes; None where this one writes none."""
    optimized, planned, writes, is_linked = None, None, False, False
    while True:
        kind = str(plan.getClass().getSimpleName())
        if kind == "AdaptiveSparkPlanExec":
            planned, plan = plan.initialPlan(), plan.executedPlan()
        elif kind == "ResultQueryStageExec":
            plan = plan.plan()
        elif kind in ("DataWritingCommandExec", "WriteFilesExec", *_INTO_TABLES):
            if kind == "DataWritingCommandExec":
                optimized = _optimized_schema(plan.cmd().query())
            plan, writes, is_linked = plan.children().apply(0), True, kind in _INTO_TABLES
        elif not writes:
            return None
        else:
            executed = physical_schema(plan.schema().json())
            if is_linked:
                top = planned or (plan.child() if kind == "WholeStageCodegenExec" else plan)
                optimized = _linked_schema(top, executed)
            return Written(optimized, executed)


def _optimized_schema(query: Any) -> PhysicalSchema:
    """A write's query as the optimizer left it, which `WriteFiles` stands over where writes are planned (V1Writes)."""
    if query.getClass().getSimpleName() == "WriteFiles":
        query = query.child()
    return physical_schema(query.schema().json())


def _linked_schema(planned: Any, executed: PhysicalSchema) -> PhysicalSchema | None:
    """The schema of the optimized plan that Spark has linked to the physical one that it made of it. A plan of other
    columns is one further down."""
    link = planned.logicalLink()
    if not link.isDefined():
        return None
    found = physical_schema(link.get().schema().json())
    return found if found.as_nullable() == executed.as_nullable() else None
