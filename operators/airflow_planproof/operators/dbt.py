"""Any dbt command with planproof's plugin active, in this process or in another environment."""

from __future__ import annotations

import json
import shlex
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from airflow_planproof import message
from airflow_planproof.connection import mask_secrets
from airflow_planproof.dbt_command import DbtElsewhere, Ended, is_guarded_run, read_report, run_dbt_here
from airflow_planproof.errors import PlanproofCannotRun, PlanproofRunFailed
from airflow_planproof.events import announce
from airflow_planproof.operators.operator import PlanproofOperator, environment
from airflow_planproof.operators.project import parse_full_refresh, split_words
from airflow_planproof.work import SparkWork

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

OWN_REPORT = "PLANPROOF_REPORT"
"""Names the file that dbt's plugin writes its report to, too: another dbt may write the target directory's."""


class PlanproofDbtOperator(PlanproofOperator):
    """Runs a dbt command under planproof's guard, and brings the report home.

    `dbt build` and `dbt run` publish each model only when its contract holds. A broken contract fails the task with
    `PlanproofViolation`, which Airflow does not retry; whatever else fails is retried.

    :param command: `build`, `run`, `test`, ...: one text as in a shell, or a list of words.
    :param project_dir: the dbt project.
    :param profiles_dir: where profiles.yml is; by default where dbt looks for it.
    :param target: the profile's target.
    :param select: as for dbt's `--select`.
    :param exclude: as for dbt's `--exclude`.
    :param full_refresh: builds incremental models anew; a template may say so.
    :param vars: variables, as for dbt's `--vars`.
    :param dbt_executable_path: the `dbt` of another environment, which has planproof too; by default dbt runs in the
        task's process.
    :param outlets: assets; see `PlanproofRunOperator`.

    Of planproof's settings, `fail_on` decides how the task ends. While dbt runs, all of them are the models' own: one
    that dbt stopped fails the task, whatever `fail_on` says. The other arguments are those of `PlanproofOperator`.
    """

    template_fields: Sequence[str] = (
        "command",
        "project_dir",
        "profiles_dir",
        "target",
        "select",
        "exclude",
        "full_refresh",
        "vars",
        "dbt_executable_path",
        *PlanproofOperator.template_fields,
    )
    template_fields_renderers = {**PlanproofOperator.template_fields_renderers, "vars": "json"}

    def __init__(
        self,
        *,
        command: str | Sequence[str] = "build",
        project_dir: str,
        profiles_dir: str | None = None,
        target: str | None = None,
        select: str | Sequence[str] = (),
        exclude: str | Sequence[str] = (),
        full_refresh: bool | str = False,
        vars: Mapping[str, Any] | None = None,
        dbt_executable_path: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not command:
            raise ValueError(f"task {self.task_id}: command is empty; give what follows `dbt`, such as 'build'")
        self.command = command
        self.project_dir = project_dir
        self.profiles_dir = profiles_dir
        self.target = target
        self.select = select
        self.exclude = exclude
        self.full_refresh = full_refresh
        self.vars = vars
        self.dbt_executable_path = dbt_executable_path
        self._running: SparkWork[Ended] | DbtElsewhere | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        started = datetime.now(timezone.utc)
        if not (Path(self.project_dir).expanduser() / "dbt_project.yml").is_file():
            raise PlanproofCannotRun(f"{self.project_dir} is no dbt project: it has no dbt_project.yml")
        mask_secrets(self.vars or {})
        with TemporaryDirectory(prefix="planproof_") as folder, environment(self.env):
            own = Path(folder) / "report.json"
            with environment({OWN_REPORT: str(own)}):
                ended = self._run_dbt()
            report = read_report(own)
        reports = report.reports if report is not None else ()
        remarks = [] if reports or not is_guarded_run(self.arguments()) else [self._tell_of_nothing(report is None)]
        form = self.publish_report(context, reports, started, remarks)
        assert self.report is not None
        message.end_dbt_task(self.report, self.least, form["url"])
        if not ended.success:
            kind = PlanproofCannotRun if ended.lasting else PlanproofRunFailed
            raise kind(message.describe_dbt_failure(self.arguments()[0], ended.message, form["url"]), reports)
        announce(self, context)
        return form

    def arguments(self) -> list[str]:
        """The words after `dbt`."""
        found = shlex.split(self.command) if isinstance(self.command, str) else self.command
        flags = [*found, "--project-dir", str(Path(self.project_dir).expanduser())]
        flags += ["--profiles-dir", str(Path(self.profiles_dir).expanduser())] if self.profiles_dir else []
        flags += ["--target", self.target] if self.target else []
        flags += ["--vars", json.dumps(dict(self.vars))] if self.vars else []
        flags += ["--full-refresh"] if parse_full_refresh(self.full_refresh) else []
        flags += [word for name in split_words(self.select) for word in ("--select", name)]
        flags += [word for name in split_words(self.exclude) for word in ("--exclude", name)]
        return flags

    def on_kill(self) -> None:
        """Ends dbt and the Spark jobs of its models."""
        if self._running is not None:
            ended = self._running.cancel()
            self.log.info("dbt was cancelled%s", "" if ended else " and has not ended yet")

    def _tell_of_nothing(self, is_unknown: bool) -> str:
        if is_unknown and self.dbt_executable_path:
            return (
                f"no report came: no model went through planproof, or {self.dbt_executable_path} does not pass "
                f"{OWN_REPORT} on to dbt, or dbt cannot write to the folder that it names"
            )
        return "no model went through planproof"

    def _run_dbt(self) -> Ended:
        if self.dbt_executable_path:
            outside = self._running = DbtElsewhere(self.dbt_executable_path, self.log)
            return outside.run(self.arguments())
        inside = self._running = SparkWork(lambda work: run_dbt_here(self.arguments(), _make_tagger(work)))
        return inside.run()


def _make_tagger(work: SparkWork[Ended]) -> Callable[[Any], None]:
    """Called by dbt with each event, in the thread that runs the node: puts that thread's jobs under the work's tag."""
    # The number of a thread that ended is given to another one.
    here = threading.local()

    def log_event(event: Any) -> None:
        import planproof.session

        work.check()
        session = None if hasattr(here, "session") else planproof.session.find_running()
        if session is not None:
            here.session = session
            work.watch(session)

    return log_event
