"""What the operators that need Spark share: a connection, settings, one session per task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from airflow_planproof.connection import mask_secrets, spark_settings
from airflow_planproof.errors import PlanproofCannotRun
from airflow_planproof.operators.operator import PlanproofOperator
from airflow_planproof.work import Interpreter, SparkWork

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from planproof.project import ProjectNode
    from planproof.project.request import Request
    from planproof.report import Report
    from planproof.session import Session


class PlanproofSparkOperator(PlanproofOperator):
    """An operator whose work runs on Spark, in a thread beside the task's main thread or in another interpreter.

    The main thread waits and stays open for `execution_timeout` and a kill, and cancels the Spark job then.

    :param conn_id: a connection of type `spark`: its host is the master, extras named `spark.*` are settings. One of
        type `spark_connect` or `hiveserver2` is a server, for what does not run dbt. Without a connection Spark runs
        inside the task's process, as the dbt profile sets it up.
    :param spark_conf: Spark settings; they win over the connection's, and those over the profile's.
    :param python: another interpreter that has planproof and Spark (for a run also dbt); the work is done there, and
        the worker itself needs neither.
    """

    template_fields: Sequence[str] = ("conn_id", "spark_conf", "python", *PlanproofOperator.template_fields)
    template_fields_renderers = {**PlanproofOperator.template_fields_renderers, "spark_conf": "json"}

    def __init__(
        self,
        *,
        conn_id: str | None = None,
        spark_conf: Mapping[str, Any] | None = None,
        python: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.conn_id = conn_id
        self.spark_conf = spark_conf
        self.python = python
        self._running: SparkWork[list[Report]] | Interpreter | None = None

    def request(self) -> Request:
        """What is asked, as plain data. Raises `ProjectError` and `ContractError`."""
        raise NotImplementedError

    def spark_settings(self) -> dict[str, str]:
        """The connection's settings and `spark_conf`; values that look like secrets are masked in every log."""
        # Connections are looked up in the main thread: the task's supervisor speaks with that one.
        given = {key: str(value) for key, value in (self.spark_conf or {}).items()}
        settings = {**spark_settings(self.conn_id), **given}
        mask_secrets(settings)
        return settings

    def reports(self, context: Context) -> list[Report]:
        request = self.request()
        if self.python:
            interpreter = self._running = Interpreter(self.python, self.log)
            return interpreter.run(request, self.log_report, self.notes.append)
        thread = self._running = SparkWork(lambda spark: self._run_in_thread(spark, request))
        return thread.run()

    def log_report(self, report: Report) -> None:
        from planproof.report import join_lines, neutralize

        self.log.info("%s: %s, %s", neutralize(join_lines(report.model)), report.outcome, report.said)

    def on_kill(self) -> None:
        """Cancels the Spark job; Airflow calls this when the task is killed or its `execution_timeout` is over."""
        if self._running is not None:
            self.log.info("cancelling the Spark work")
            ended = self._running.cancel()
            self.log.info("the Spark work was cancelled%s", "" if ended else " and has not ended yet")

    def _run_in_thread(self, spark: SparkWork[list[Report]], request: Request) -> list[Report]:
        from planproof.project.request import Progress

        task = self

        class RunProgress(Progress):
            def on_model_begin(self, node: ProjectNode) -> None:
                spark.watch(session)

            def on_model_end(self, report: Report) -> None:
                task.log_report(report)
                spark.check()

            def on_remark(self, remark: str) -> None:
                task.notes.append(remark)

        with request_session(request) as session:
            spark.watch(session)
            self.log.info("Spark work begins on %s", session.capabilities.kind)
            return request.reports(session, RunProgress())


@contextmanager
def request_session(request: Request) -> Iterator[Session]:
    """The request's session; one that this task started is stopped at the end, one that it found is left as it was."""
    import planproof.session

    with ExitStack() as stack:
        found = planproof.session.find_running()
        if found is not None:
            stack.enter_context(found.preserve_settings())
        try:
            session = request.open_session()
        except ModuleNotFoundError as error:
            raise PlanproofCannotRun(f"planproof could not run: {error}; install planproof[spark]") from error
        if found is None or session.capabilities.kind == "thrift":
            stack.callback(session.stop)
        yield session
