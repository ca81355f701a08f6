"""Waits until what is stored keeps its contract."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import BaseSensorOperator, PokeReturnValue

from airflow_planproof import message
from airflow_planproof.operators.audit import PlanproofAuditOperator
from airflow_planproof.operators.operator import environment, failing_at_once
from airflow_planproof.operators.spark import request_session
from airflow_planproof.work import SparkWork

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from planproof.project.request import Request
    from planproof.report import Report
    from planproof.session import Session


class PlanproofContractSensor(PlanproofAuditOperator, BaseSensorOperator):
    """Waits until every table or path is there and its contract holds.

    A table that exists and breaks its contract fails the task at once, without a retry; with `wait_on_violation` the
    sensor goes on waiting. In the mode `reschedule` each look starts Spark anew, and frees the worker between them; in
    the mode `poke` one Spark session serves all looks.

    :param wait_on_violation: a broken contract is something to wait out, as where a load is still under way.

    `tables`, `paths`, `contract`, `project_dir` and the rest are those of `PlanproofAuditOperator`; `poke_interval`,
    `timeout`, `mode`, `soft_fail` and the like are those of every sensor.
    """

    def __init__(self, *, wait_on_violation: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if self.python:
            raise ValueError(f"task {self.task_id}: the sensor looks in its own process; leave out python")
        self.wait_on_violation = wait_on_violation
        self._spark: Session | None = None
        self._at_the_end = ExitStack()

    def execute(self, context: Context) -> Any:
        with environment(self.env), self._at_the_end:
            return BaseSensorOperator.execute(self, context)

    def poke(self, context: Context) -> PokeReturnValue | bool:
        """One look: true with the report where all contracts hold."""
        started = datetime.now(timezone.utc)
        with failing_at_once():
            request = self.request()
            thread = self._running = SparkWork(lambda spark: self._look(spark, request))
            reports = thread.run()
        waiting = [report.model for report in reports if report.details.absent]
        from planproof.report.parts import is_failing

        broken = [report for report in reports if is_failing(report, self.least)]
        if broken and self.wait_on_violation:
            waiting += [f"{report.model} ({len(report.findings)} findings)" for report in broken]
        if waiting and (self.wait_on_violation or not broken):
            self.log.info("waiting for: %s", message.join_names(waiting))
            self.publish_report(context, reports, started)
            return False
        return PokeReturnValue(True, self.conclude(context, reports, started))

    def _look(self, spark: SparkWork[list[Report]], request: Request) -> list[Report]:
        if self._spark is None:
            self._spark = self._at_the_end.enter_context(request_session(request))
        session = self._spark
        spark.watch(session)
        from planproof.project.request import Progress

        class AuditProgress(Progress):
            def on_model_end(self, report: Report) -> None:
                spark.check()

        return [_mark_absent(session, report) for report in request.reports(session, AuditProgress())]


def _mark_absent(session: Session, report: Report) -> Report:
    """The report, marked where there is no such table or no such file yet."""
    from dataclasses import replace

    if report.outcome != "failed" or _is_there(session, report.model):
        return report
    return replace(report, outcome="skipped", details=replace(report.details, absent=True))


def _is_there(session: Session, name: str) -> bool:
    from planproof.session import SparkFailure
    from planproof_engine import AnalysisError

    try:
        return bool(session.files(name)) if "/" in name else session.table(name) is not None
    except (AnalysisError, SparkFailure):
        return True
