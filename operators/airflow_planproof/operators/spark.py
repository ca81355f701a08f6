"""What the operators that need Spark share: a connection, settings, one session per task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from airflow_planproof.connection import spark_settings
from airflow_planproof.operators.operator import PlanproofOperator
from airflow_planproof.work import SparkWork

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from planproof.project.place import Place
    from planproof.report import Report
    from planproof.session import Session


class PlanproofSparkOperator(PlanproofOperator):
    """An operator whose work runs on Spark, in a thread beside the task's main thread.

    The main thread waits and stays open for `execution_timeout` and a kill, and cancels the Spark job then.

    :param conn_id: a connection of type `spark`: its host is the master, extras named `spark.*` are settings. Without
        it Spark runs inside the task's process, as the dbt profile sets it up.
    :param spark_conf: Spark settings; they win over the connection's, and those over the profile's.
    """

    template_fields: Sequence[str] = ("conn_id", "spark_conf", *PlanproofOperator.template_fields)

    def __init__(
        self, *, conn_id: str | None = None, spark_conf: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.conn_id = conn_id
        self.spark_conf = spark_conf
        self._work: SparkWork[list[Report]] | None = None

    def work(self, session: Session, told: Callable[[Report], None]) -> list[Report]:
        """The reports, made on `session`; `told` is called with each one, and ends the work after a cancel."""
        raise NotImplementedError

    def place(self) -> Place:
        """The dbt project whose profile the session is set up by; one without a directory has none."""
        raise NotImplementedError

    def spark_defaults(self) -> Mapping[str, str]:
        """Spark settings that the work itself asks for, where nobody says otherwise."""
        return {}

    def reports(self, context: Context) -> list[Report]:
        # Connections are looked up in the main thread: the task's supervisor speaks with that one.
        given = {key: str(value) for key, value in (self.spark_conf or {}).items()}
        settings = {**self.spark_defaults(), **spark_settings(self.conn_id), **given}
        self._work = SparkWork(lambda work: self._on_spark(work, settings))
        return self._work.run()

    def on_kill(self) -> None:
        """Cancels the Spark job; Airflow calls this when the task is killed or its `execution_timeout` is over."""
        if self._work is not None:
            ended = self._work.cancel()
            self.log.info("the Spark work was cancelled%s", "" if ended else " and has not ended yet")

    def _on_spark(self, work: SparkWork[list[Report]], settings: Mapping[str, str]) -> list[Report]:
        with self._session(settings) as session:
            work.watch(session)

            def told(report: Report) -> None:
                self.log.info("%s: %s, %s", report.model, report.outcome, report.verdict)
                work.check()

            return self.work(session, told)

    @contextmanager
    def _session(self, settings: Mapping[str, str]) -> Iterator[Session]:
        """The session; one that this task started is stopped at the end, one that it found is left as it was."""
        import planproof.session

        with ExitStack() as stack:
            found = planproof.session.running()
            if found is not None:
                stack.enter_context(found.unchanged())
            session = self.place().open_session(settings)
            if found is None:
                stack.callback(session.stop)
            yield session
