"""The guarded run: compiled models through planproof's executor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_planproof.operators.place import place_of, words
from airflow_planproof.operators.spark import PlanproofSparkOperator

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from planproof.project.place import Place
    from planproof.report import Report
    from planproof.session import Session


class PlanproofRunOperator(PlanproofSparkOperator):
    """Runs the models of a dbt project on Spark, and publishes each one only when its contract holds.

    The project is compiled in the target when the task starts (`dbt compile`), and the compiled models run in DAG
    order. A model that breaks its contract leaves its table as it was; its children are skipped, other models run. The
    task then fails with `PlanproofViolation`, which Airflow does not retry. What Spark could not do is retried.

    :param project_dir: the dbt project.
    :param profiles_dir: where profiles.yml is; by default where dbt looks for it.
    :param target: the profile's target.
    :param select: models, as for `planproof run --select`; all of them where it is empty.
    :param exclude: models to leave out.
    :param full_refresh: builds incremental models anew.
    :param vars: variables for dbt, as for `dbt run --vars`.
    :param functions: Python functions for SQL, lambdas included, as `module:name`; as for `planproof run --functions`.
    :param outlets: assets; events go out only when the task succeeds and every selected model was published.

    The other arguments are those of `PlanproofSparkOperator` and `PlanproofOperator`.
    """

    template_fields: Sequence[str] = (
        "project_dir",
        "profiles_dir",
        "target",
        "select",
        "exclude",
        "vars",
        *PlanproofSparkOperator.template_fields,
    )
    template_fields_renderers = {"vars": "json", "spark_conf": "json", "env": "json"}

    def __init__(
        self,
        *,
        project_dir: str,
        profiles_dir: str | None = None,
        target: str | None = None,
        select: str | Sequence[str] = (),
        exclude: str | Sequence[str] = (),
        full_refresh: bool = False,
        vars: Mapping[str, Any] | None = None,
        functions: str | Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.project_dir = project_dir
        self.profiles_dir = profiles_dir
        self.target = target
        self.select = select
        self.exclude = exclude
        self.full_refresh = full_refresh
        self.vars = vars
        self.functions = functions

    def conclude(self, context: Context, reports: Sequence[Report], started: datetime) -> dict[str, Any]:
        form = super().conclude(context, reports, started)
        missing = [report.model for report in reports if report.outcome != "published"]
        if missing and self.outlets:
            self.log.warning("no asset event goes out, because these were not published: %s", ", ".join(missing))
            self.outlets = []
        return form

    def place(self) -> Place:
        return place_of(self)

    def work(self, session: Session, told: Callable[[Report], None]) -> list[Report]:
        from planproof.project import selected
        from planproof.project.functions import Loaded
        from planproof.project.run import run_project, runnable

        known = Loaded.of(words(self.functions), Path(self.project_dir))
        select, exclude = words(self.select), words(self.exclude)
        project = self.place().compiled(select, exclude, self.vars, self.full_refresh)
        return run_project(
            project,
            runnable(selected(project, select, exclude), fresh=True),
            known.guard(session),
            session=session,
            overrides=self.settings,
            full_refresh=self.full_refresh,
            finished=told,
        )
