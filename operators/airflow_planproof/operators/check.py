"""The offline gate: no Spark, seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_planproof.operators.operator import PlanproofOperator
from airflow_planproof.operators.place import place_of, words

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from planproof.report import Report


class PlanproofCheckOperator(PlanproofOperator):
    """Checks the models of a compiled dbt project offline: contract, logical plan, rewritten plan.

    Needs the manifest that `dbt compile` wrote, neither Java nor Spark.

    :param project_dir: the dbt project; its `target/manifest.json` is read.
    :param manifest: a manifest.json in place of the project's own.
    :param select: models, as for `planproof check --select`; all of them where it is empty.
    :param exclude: models to leave out.
    :param sources: a freeze file with the schemas of sources.
    :param profiles_dir: where profiles.yml is, for the session's settings.
    :param target: the profile's target.

    The other arguments are those of `PlanproofOperator`.
    """

    template_fields: Sequence[str] = (
        "project_dir",
        "manifest",
        "select",
        "exclude",
        "sources",
        "profiles_dir",
        "target",
        *PlanproofOperator.template_fields,
    )

    def __init__(
        self,
        *,
        project_dir: str | None = None,
        manifest: str | None = None,
        select: str | Sequence[str] = (),
        exclude: str | Sequence[str] = (),
        sources: str | None = None,
        profiles_dir: str | None = None,
        target: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if project_dir is None and manifest is None:
            raise ValueError(f"task {self.task_id}: give project_dir or manifest")
        self.project_dir = project_dir
        self.manifest = manifest
        self.select = select
        self.exclude = exclude
        self.sources = sources
        self.profiles_dir = profiles_dir
        self.target = target

    def reports(self, context: Context) -> list[Report]:
        from planproof.project.offline import check_project

        place = place_of(self)
        return check_project(
            place.project(),
            words(self.select),
            words(self.exclude),
            place.conf(),
            frozen=self.sources,
            overrides=self.settings,
        )
