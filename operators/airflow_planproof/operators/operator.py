"""What the operators share: one settings table, one way to report, one way to fail."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import BaseOperator

from airflow_planproof.errors import PlanproofCannotRun, PlanproofRunFailed, PlanproofViolation

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from planproof.report import Report

XCOM_KEY = "planproof_report"


class PlanproofOperator(BaseOperator):
    """Checks models and ends as their contracts say; a subclass says how to obtain the reports.

    The report is pushed to XCom under `planproof_report` before the task succeeds or fails, and returned on success.

    :param fail_on: the least verdict that fails the task: `violated`, `unproved`, `warning` or `never`. Where it is not
        given, each model's own `meta.planproof.fail_on` counts (`violated` where that says nothing either).
    :param enforce: the terms of a contract that count: `types`, `nullability`, `order`, `extra_columns`.
    :param allow: codes that are accepted, such as `PP101`.
    :param planning: `warn` or `strict`.
    :param unproved: `count` or `allow`: what a declared term is that the audit could not decide.
    :param rewrite: `off`, `suggest` or `on`.
    :param batches: `off`, `sample` or `all`.
    :param keep_rejected: keeps the staged data of a model that was rejected.
    :param env: environment variables for dbt's `env_var()` and Spark, set while the task runs.

    Settings overrule the models' `meta.planproof`; one that is not given leaves it in force.
    """

    ui_color = "#dfe8f3"
    template_fields: Sequence[str] = ("env",)

    def __init__(
        self,
        *,
        fail_on: str | None = None,
        enforce: Sequence[str] | None = None,
        allow: Sequence[str] | None = None,
        planning: str | None = None,
        unproved: str | None = None,
        rewrite: str | None = None,
        batches: str | None = None,
        keep_rejected: bool | None = None,
        env: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        given = {
            "fail_on": fail_on,
            "enforce": enforce,
            "allow": allow,
            "planning": planning,
            "unproved": unproved,
            "rewrite": rewrite,
            "batches": batches,
            "keep_rejected": keep_rejected,
        }
        self.settings = {key: value for key, value in given.items() if value is not None}
        self.env = dict(env or {})
        _validate(self.settings, self.task_id)

    def reports(self, context: Context) -> list[Report]:
        """The reports of this task's models; called by `execute`."""
        raise NotImplementedError

    def execute(self, context: Context) -> dict[str, Any]:
        started = datetime.now(timezone.utc)
        with _environment(self.env), _failing_at_once():
            reports = self.reports(context)
        return self.conclude(context, reports, started)

    def conclude(self, context: Context, reports: Sequence[Report], started: datetime) -> dict[str, Any]:
        """Pushes the report, then returns it, or raises what the verdict asks for."""
        from airflow_planproof import message
        from planproof.report.run import run_report

        report = run_report(
            type(self).__name__, reports, started, project=str(getattr(self, "project_dir", None) or "")
        )
        form: dict[str, Any] = message.as_xcom(report.to_dict())
        for line in message.summary(reports):
            self.log.info(line)
        if self.do_xcom_push:
            context["ti"].xcom_push(key=XCOM_KEY, value=form)
        fail_on = self.settings.get("fail_on")
        failing = report.failing(fail_on)
        if failing:
            raise PlanproofViolation(message.violation(failing, reports), reports)
        failed = [r for r in reports if r.outcome == "failed"]
        if failed:
            raise PlanproofRunFailed(message.failure(failed, reports), reports)
        return form


def _validate(settings: Mapping[str, Any], task_id: str) -> None:
    """A wrong setting is an error of the DAG file, so it is said when the file is parsed."""
    from planproof.settings import Settings

    Settings.of(settings, f"task {task_id}")


@contextmanager
def _environment(env: Mapping[str, str]) -> Iterator[None]:
    before = {key: os.environ.get(key) for key in env}
    os.environ.update({key: str(value) for key, value in env.items()})
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


@contextmanager
def _failing_at_once() -> Iterator[None]:
    """Turns what a retry cannot mend into `PlanproofCannotRun`; everything else passes and is Airflow's to retry."""
    from planproof.contract import ContractError
    from planproof.project.errors import ProjectError
    from planproof.settings import SettingsError

    try:
        yield
    except (ProjectError, ContractError, SettingsError) as error:
        raise PlanproofCannotRun(f"planproof could not run: {error}") from error
    except Exception as error:
        if _is_dbts_refusal(error):
            raise PlanproofCannotRun(f"planproof could not run, because dbt compile failed: {error}") from error
        raise


def _is_dbts_refusal(error: Exception) -> bool:
    """True where dbt could not compile for a reason that stays: anything but trouble with the warehouse."""
    invoke = sys.modules.get("dbt_planproof.invoke")
    return invoke is not None and isinstance(error, invoke.CompileFailed) and "Database Error" not in str(error)
