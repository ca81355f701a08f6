"""What the operators share: one settings table, one way to report, one way to fail."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import BaseOperator
from airflow.providers.common.compat.version_compat import AIRFLOW_V_3_0_PLUS

from airflow_planproof import message, xcom
from airflow_planproof.connection import mask_secrets
from airflow_planproof.errors import PlanproofCannotRun
from airflow_planproof.links import PlanproofReportLink

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from planproof.report import Report, RunReport


class PlanproofOperator(BaseOperator):
    """Checks models, and succeeds or fails by their contracts. A subclass says how to get the reports.

    The report is pushed to XCom under `planproof_report` before the task succeeds or fails, and returned on success;
    its `url` is the page that shows it, which the task's link opens.

    :param guard: `on`, `watch` (a model is published all the same, and the report says what would have stopped it), or
        `off` (the model is left to dbt).
    :param fail_on: the least verdict that fails the task: `violated`, `unproved`, `warning` or `never`. Where it is not
        given, each model's own `meta.planproof.fail_on` counts (`violated` where that says nothing either).
    :param enforce: the terms of a contract that count: `types`, `nullability`, `order`, `extra_columns`.
    :param allow: codes of findings that are accepted, such as `PP101`.
    :param planning: `warn` or `strict`: a difference between planproof's plan and Spark's is a warning, or a violation.
    :param unproved: `count` or `allow`: a promise that the audit cannot decide is a violation, or stays unproved.
    :param rewrite: `off`, `suggest` or `on`.
    :param batches: `off`, `sample` or `all`.
    :param changes: `off`, `counts` or `values`: what a publish reports of how the table changes.
    :param limits: bounds for the table as a publish would leave it, as in `meta.planproof.limits`.
    :param on_violation: `stop` or `quarantine`: rows that break the contract stop the publish, or go to the quarantine.
    :param quarantine: how many rows may be quarantined and how long they are kept, as in `meta.planproof.quarantine`.
    :param overflow: `count`, `warn` or `off`: what happens to casts and arithmetic that may lose a value with ANSI off.
    :param append_only: a column of an incremental model whose values grow with each load of its source.
    :param keep_rejected: keeps the staged rows of a model that was stopped.
    :param samples: `none`, `keys` or `rows`: what the report shows of rows that break a promise.
    :param tests: `before`: a model's data tests run over its staged rows, and a failure stops the publish; or `after`,
        which `answered` is here: it says how dbt's own test nodes are answered, and no operator runs these.
    :param on_internal_error: `fail` or `pass`: an error of planproof itself stops a dbt model, or leaves it to dbt.
    :param spark: the version of Spark for which an offline check answers, such as `3.5`.
    :param env: environment variables for dbt's `env_var()` and Spark, set while the task runs.

    A setting given here wins over the models' `meta.planproof`.
    """

    ui_color = "#dfe8f3"
    template_fields: Sequence[str] = ("env", "compiled_sql", "rewritten_sql")
    template_fields_renderers = {"env": "json", "compiled_sql": "sql", "rewritten_sql": "sql"}
    operator_extra_links = (PlanproofReportLink(),)
    # The compiled and the rewritten SQL of the models are known only after they ran.
    overwrite_rtif_after_execution = True

    def __init__(
        self,
        *,
        guard: str | None = None,
        fail_on: str | None = None,
        enforce: Sequence[str] | None = None,
        allow: Sequence[str] | None = None,
        planning: str | None = None,
        unproved: str | None = None,
        rewrite: str | None = None,
        batches: str | None = None,
        changes: str | None = None,
        limits: Mapping[str, Any] | None = None,
        on_violation: str | None = None,
        quarantine: Mapping[str, Any] | None = None,
        overflow: str | None = None,
        append_only: str | None = None,
        keep_rejected: bool | None = None,
        samples: str | None = None,
        tests: str | None = None,
        on_internal_error: str | None = None,
        spark: str | None = None,
        env: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        from planproof.settings import BY_NAME, Settings

        arguments = locals()
        self.settings: dict[str, Any] = {name: arguments[name] for name in BY_NAME if arguments[name] is not None}
        # A wrong setting is an error of the DAG file, so it is said when the file is parsed.
        Settings.of(self.settings, f"task {self.task_id}")
        self.env: Mapping[str, str] = {} if env is None else env
        self.compiled_sql = ""
        self.rewritten_sql = ""
        self.report: RunReport | None = None
        self.more: dict[str, Any] = {}
        self.notes: list[str] = []

    def render_template_fields(self, context: Any, jinja_env: Any = None) -> None:
        """As Airflow's; it stores what was rendered right after, and masks what it knows of."""
        super().render_template_fields(context, jinja_env)
        for name in ("env", "spark_conf", "vars"):
            given = getattr(self, name, None)
            mask_secrets(given if isinstance(given, Mapping) else None)

    @property
    def least(self) -> str | None:
        """The task's own `fail_on`; None leaves it to each model's."""
        return self.settings.get("fail_on")

    def reports(self, context: Context) -> list[Report]:
        """The reports of this task's models; called by `execute`."""
        raise NotImplementedError

    def execute(self, context: Context) -> dict[str, Any]:
        started = datetime.now(timezone.utc)
        self.notes = []
        with environment(self.env), failing_at_once():
            reports = self.reports(context)
        return self.conclude(context, reports, started, self.notes)

    def conclude(
        self, context: Context, reports: Sequence[Report], started: datetime, remarks: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Pushes the report, then returns it, or raises what the verdict asks for."""
        form = self.publish_report(context, reports, started, remarks)
        assert self.report is not None
        message.end_task(self.report, self.least, form["url"])
        return form

    def publish_report(
        self, context: Context, reports: Sequence[Report], started: datetime, remarks: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Logs the reports and pushes them, with the page's address, to XCom; returns what was pushed.

        Without `do_xcom_push` there is no page, and the address is None.
        """
        from planproof.report import neutralize, run_report

        project = str(getattr(self, "project_dir", None) or "")
        self.report = run_report(type(self).__name__, reports, started, project=project, remarks=remarks)
        form = xcom.report_form(self.report, context["ti"], self.more)
        for line in message.summary(reports):
            self.log.info(line)
        for remark in remarks:
            self.log.info("note: %s", neutralize(remark))
        self.compiled_sql = message.statements((r.model, r.sql) for r in reports)
        self.rewritten_sql = message.statements((r.model, r.executed_sql) for r in reports if r.executed_sql != r.sql)
        render_again(context["ti"])
        if not self.do_xcom_push:
            return {**form, "url": None}
        xcom.push(context["ti"], form)
        return form

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """What OpenLineage's listener asks for: schemas, column lineage and assertions of this task's models."""
        from airflow_planproof.openlineage import lineage_of

        return lineage_of(self.report)

    def get_openlineage_facets_on_failure(self, task_instance: Any) -> Any:
        return self.get_openlineage_facets_on_complete(task_instance)


@contextmanager
def environment(env: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for the length of a block; those that are named like secrets are masked in every log."""
    mask_secrets(env)
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
def failing_at_once() -> Iterator[None]:
    """Turns what a retry cannot mend into `PlanproofCannotRun`; everything else passes and is Airflow's to retry."""
    from planproof.project.request import is_lasting

    try:
        yield
    except Exception as error:
        if is_lasting(error):
            raise PlanproofCannotRun(f"planproof could not run: {error}") from error
        raise


def render_again(ti: Any) -> None:
    """Stores the template fields of a task instance's task as they are now."""
    if AIRFLOW_V_3_0_PLUS:
        return
    from airflow.models.renderedtifields import RenderedTaskInstanceFields
    from airflow.utils.session import create_session

    with create_session() as session:
        session.merge(RenderedTaskInstanceFields(ti, render_templates=False))
