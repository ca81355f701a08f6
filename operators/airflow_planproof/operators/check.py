"""The offline gate: no Spark, seconds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_planproof import message
from airflow_planproof.errors import PlanproofViolation
from airflow_planproof.operators.project import PlanproofProjectOperator

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from planproof.project import Project, ProjectLocation
    from planproof.project.diff import SchemaChange
    from planproof.project.request import Request
    from planproof.report import Report


class PlanproofCheckOperator(PlanproofProjectOperator):
    """Checks the models of a compiled dbt project offline: contract, logical plan, rewritten plan.

    Needs the manifest that `dbt compile` wrote, neither Java nor Spark.

    :param state: the folder of an older manifest.json, for `state:` and `result:`.
    :param sources: a freeze file with the schemas of sources.
    :param base_manifest: the manifest before a change, such as the one in production; a change that breaks its readers
        (a column removed or narrowed, a NOT NULL dropped) fails the task, unless `fail_on` is `never`.

    The other arguments are those of `PlanproofProjectOperator`.
    """

    template_fields: Sequence[str] = ("state", "sources", "base_manifest", *PlanproofProjectOperator.template_fields)

    def __init__(
        self, *, state: str | None = None, sources: str | None = None, base_manifest: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if self.project_dir is None and self.manifest is None:
            raise ValueError(f"task {self.task_id}: give project_dir or manifest")
        self.state = state
        self.sources = sources
        self.base_manifest = base_manifest
        self.changes: Sequence[SchemaChange] = ()

    def conclude(
        self, context: Context, reports: Sequence[Report], started: datetime, remarks: Sequence[str] = ()
    ) -> dict[str, Any]:
        lines = [_describe_change(change) for change in self.changes]
        form = super().conclude(context, reports, started, [*remarks, *lines])
        breaking = [_describe_change(change) for change in self.changes if change.effect == "breaking"]
        if breaking and self.settings.get("fail_on") != "never":
            raise PlanproofViolation(message.describe_breaking(breaking, str(self.base_manifest), form["url"]), reports)
        return form

    def _find_changes(self, project: Project, location: ProjectLocation) -> Sequence[SchemaChange]:
        from planproof.project import read_project
        from planproof.project.diff import compare_projects

        if not self.base_manifest:
            return ()
        before = read_project(Path(self.base_manifest).expanduser())
        return compare_projects(before, project, location.conf(), self.sources).changes

    def reports(self, context: Context) -> list[Report]:
        from planproof.project.request import Progress

        request, task = self.request(), self

        class CheckProgress(Progress):
            def on_project(self, project: Project) -> None:
                task.changes = task._find_changes(project, request.location)

        found = request.reports(None, CheckProgress())
        self.more = {"changes": [change.to_dict() for change in self.changes]}
        return found

    def request(self) -> Request:
        """What is asked, as plain data."""
        from planproof.project.request import Request

        return Request("check", **self.list_project_fields(), state=self.state or None, sources=self.sources)


def _describe_change(change: SchemaChange) -> str:
    """One change: where, what, from what to what, and whom it reaches."""
    place = ".".join(part for part in (change.relation, change.column) if part)
    values = f" ({change.before or 'nothing'} -> {change.after or 'nothing'})" if change.before or change.after else ""
    reaches = f"; reaches {', '.join(change.reaches)}" if change.reaches else ""
    return f"{change.effect}: {place}: {change.what}{values}{reaches}"
