"""`@task.planproof`: a Python function that returns a DataFrame, which is published only when its contract holds."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import (
    DecoratedOperator,
    context_merge,
    determine_kwargs,
    task_decorator_factory,
)

from airflow_planproof.errors import PlanproofCannotRun
from airflow_planproof.events import announce
from airflow_planproof.operators.audit import read_inline_contract
from airflow_planproof.operators.spark import PlanproofSparkOperator, request_session
from airflow_planproof.work import SparkWork

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context, TaskDecorator

    from planproof.contract import Model
    from planproof.project.request import Request
    from planproof.report import Report

SPARK = "spark"


class PlanproofDecoratedOperator(DecoratedOperator, PlanproofSparkOperator):
    """Calls the function with `spark`, and publishes the DataFrame that it returns as `table`.

    :param table: the dotted name of the table.
    :param contract: as for `PlanproofAuditOperator`; None publishes without one.
    :param materialized: `table` or `incremental`.
    :param incremental_strategy: `append` or `insert_overwrite`.
    :param partition_by: the columns by which the table is partitioned.
    :param file_format: `parquet`, `iceberg` or `delta`; the last two need a Spark that has them.
    :param project_dir: a dbt project whose profile sets Spark up; without one Spark starts with its own defaults.
    :param profiles_dir: where profiles.yml is; by default where dbt looks for it.
    :param target: the profile's target.

    The other arguments are those of `PlanproofSparkOperator` and `PlanproofOperator`.
    """

    custom_operator_name = "@task.planproof"
    template_fields: Sequence[str] = (
        "table",
        "project_dir",
        "profiles_dir",
        "target",
        "op_args",
        "op_kwargs",
        *PlanproofSparkOperator.template_fields,
    )
    template_fields_renderers = {
        **DecoratedOperator.template_fields_renderers,
        **PlanproofSparkOperator.template_fields_renderers,
    }

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        op_args: Collection[Any] | None = None,
        op_kwargs: Mapping[str, Any] | None = None,
        table: str,
        contract: Any = None,
        materialized: str = "table",
        incremental_strategy: str = "append",
        partition_by: Sequence[str] = (),
        file_format: str = "parquet",
        project_dir: str | None = None,
        profiles_dir: str | None = None,
        target: str | None = None,
        **kwargs: Any,
    ) -> None:
        given = dict(op_kwargs or {})
        if SPARK in inspect.signature(python_callable).parameters:
            # The session is there only while the task runs; until then the parameter is bound to nothing.
            given.setdefault(SPARK, None)
        super().__init__(python_callable=python_callable, op_args=op_args, op_kwargs=given, **kwargs)
        if self.python:
            raise ValueError(f"task {self.task_id}: the function runs in its own process; leave out python")
        self.table = table
        self.contract = contract
        self.materialized = materialized
        self.incremental_strategy = incremental_strategy
        self.partition_by = tuple(partition_by)
        self.file_format = file_format
        self.project_dir = project_dir
        self.profiles_dir = profiles_dir
        self.target = target

    def execute(self, context: Context) -> dict[str, Any]:
        form = PlanproofSparkOperator.execute(self, context)
        announce(self, context)
        return form

    def reports(self, context: Context) -> list[Report]:
        from planproof.project.request import Request

        settings = self.spark_settings()
        if "thrift.host" in settings:
            raise PlanproofCannotRun(
                f"connection {self.conn_id!r} is a Thrift server, which gives no DataFrames; give one of type 'spark' "
                "or 'spark_connect', or none"
            )
        request = Request(
            "publish",
            project_dir=self.project_dir,
            profiles_dir=self.profiles_dir,
            target=self.target,
            settings=self.settings,
            spark=settings,
        )
        model = self.model()
        thread = self._running = SparkWork(lambda spark: [self._publish(spark, request, model, context)])
        return thread.run()

    def model(self) -> Model:
        """The table as a model without a query. Raises `ProjectError` and `ContractError`."""
        from planproof.contract import Model

        where = f"contract of task {self.task_id}"
        return Model(
            self.table,
            "",
            contract=read_inline_contract(self.contract, where) if self.contract is not None else None,
            materialized=self.materialized,
            incremental_strategy=self.incremental_strategy,
            partition_by=self.partition_by,
            file_format=self.file_format,
        )

    def _publish(self, work: SparkWork[list[Report]], request: Request, model: Model, context: Context) -> Report:
        from dataclasses import replace

        with request_session(request) as session:
            if session.capabilities.kind == "thrift":
                raise PlanproofCannotRun("the profile's target is a Thrift server, which gives no DataFrames")
            work.watch(session)
            frame = self._call_function(session, context)
            work.check()
            with self._as_view(session, frame) as view:
                return request.publish(session, replace(model, sql=f"select * from {view}"))

    def _call_function(self, session: Any, context: Context) -> Any:
        """What the function returns. Raises `PlanproofCannotRun` for anything but a DataFrame."""
        context_merge(context, self.op_kwargs, **{SPARK: session.spark})
        given = determine_kwargs(self.python_callable, self.op_args, context)
        frame = self.python_callable(*self.op_args, **given)
        if not hasattr(frame, "createOrReplaceTempView"):
            raise PlanproofCannotRun(
                f"{self.python_callable.__name__} returned {type(frame).__name__}; "
                "@task.planproof publishes a Spark DataFrame"
            )
        return frame

    @contextmanager
    def _as_view(self, session: Any, frame: Any) -> Iterator[str]:
        """The name of a temporary view over the DataFrame. Raises `PlanproofCannotRun` where Spark makes none."""
        from planproof.session.failures import translate_errors
        from planproof_engine import AnalysisError

        view = f"planproof_{uuid.uuid4().hex[:12]}"
        try:
            with translate_errors():
                frame.createOrReplaceTempView(view)
        except AnalysisError as error:
            name = self.python_callable.__name__
            raise PlanproofCannotRun(f"the DataFrame that {name} returned cannot be stored: {error}") from error
        try:
            yield view
        finally:
            session.spark.catalog.dropTempView(view)


def planproof_task(
    python_callable: Callable[..., Any] | None = None, multiple_outputs: bool | None = None, **kwargs: Any
) -> TaskDecorator:
    """The decorator; its arguments are those of `PlanproofDecoratedOperator`."""
    return task_decorator_factory(
        python_callable=python_callable,
        multiple_outputs=multiple_outputs,
        decorated_operator_class=PlanproofDecoratedOperator,
        **kwargs,
    )
