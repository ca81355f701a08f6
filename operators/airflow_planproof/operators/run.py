"""The guarded run: compiled models through planproof's executor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_planproof.connection import mask_secrets
from airflow_planproof.events import announce
from airflow_planproof.operators import project
from airflow_planproof.operators.spark import PlanproofSparkOperator

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from planproof.project.request import Request


class PlanproofRunOperator(project.PlanproofProjectOperator, PlanproofSparkOperator):
    """Runs the models of a dbt project on Spark, and publishes each one only when its contract holds.

    The project is compiled in the target when the task starts (`dbt compile`), and the compiled models run in DAG
    order. A model that breaks its contract leaves its table as it was; its children are skipped, other models run. The
    task then fails with `PlanproofViolation`, which Airflow does not retry. What Spark could not do is retried. A model
    that asks for what only dbt does (Jinja in a hook) is refused before anything runs, and named with it.

    :param project_dir: the dbt project.
    :param manifest: an older compile's manifest.json, which is run as it is in place of a new compile.
    :param state: the folder of an older manifest.json, for `state:` and `result:`.
    :param full_refresh: builds incremental models anew; a template may say so.
    :param vars: variables for dbt, as for `dbt run --vars`.
    :param functions: Python functions for SQL, as `module:name`; `name` holds functions by their names in SQL, or is
        one.
    :param threads: how many models that do not depend on each other run beside each other, in one Spark session; with
        None as the profile says.
    :param outlets: assets. The event of an asset that names a model (`shop.totals`, `x-shop://host/shop/totals`) goes
        out when that model was published; of any other, when every selected model was. Their `extra` says which
        contract, schema, rows and verdict.

    The other arguments are those of `PlanproofProjectOperator` and `PlanproofSparkOperator`.
    """

    template_fields: Sequence[str] = (
        "state",
        "full_refresh",
        "vars",
        *project.PROJECT_FIELDS,
        *PlanproofSparkOperator.template_fields,
    )
    template_fields_renderers = {**PlanproofSparkOperator.template_fields_renderers, "vars": "json"}

    def __init__(
        self,
        *,
        project_dir: str,
        state: str | None = None,
        full_refresh: bool | str = False,
        vars: Mapping[str, Any] | None = None,
        functions: str | Sequence[str] = (),
        threads: int | None = 4,
        **kwargs: Any,
    ) -> None:
        super().__init__(project_dir=project_dir, **kwargs)
        if threads is not None and threads < 1:
            raise ValueError(f"task {self.task_id}: threads is {threads}; it takes at least one")
        self.state = state
        self.full_refresh = full_refresh
        self.vars = vars
        self.functions = functions
        self.threads = threads

    def conclude(self, context: Context, *args: Any, **kwargs: Any) -> dict[str, Any]:
        form = super().conclude(context, *args, **kwargs)
        announce(self, context)
        return form

    def request(self) -> Request:
        from planproof.project.request import Request

        settings = self.spark_settings()
        mask_secrets(self.vars or {})
        return Request(
            "run",
            **self.list_project_fields(),
            state=self.state or None,
            spark=settings,
            vars=self.vars,
            full_refresh=project.parse_full_refresh(self.full_refresh),
            threads=self.threads,
            functions=project.split_words(self.functions),
        )
