"""`planproof run`: compile in the target, then every selected model through the guard, parents first."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dbt_planproof.compiler import DBT
from planproof.cli import options, output
from planproof.cli.group import Interrupted
from planproof.project import Project, ProjectNode
from planproof.project.request import Progress, Request
from planproof.project.target_folder import target_folder
from planproof.report import Report, neutralize, run_report
from planproof.report.text import change_line, render_line
from planproof_engine import evolve

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

RECORD = Path("planproof") / "report.json"

_SETTLED = (
    "interrupted: no further model was begun, and a publish that was under way was finished or undone; where that was "
    "cut short, `planproof recover` does it"
)
_NOTHING = "interrupted before any model was begun: all tables are as they were"


@click.command(cls=options.Sectioned)
@options.project
@options.selection
@options.settings("run")
@options.report
@options.python_functions
@options.spark
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    help="How many independent models run at the same time. Default: as the profile says.",
)
@click.option("--vars", "given_vars", metavar="YAML", help="Variables for dbt, as for `dbt run --vars`.")
@click.option("--full-refresh", is_flag=True, help="Incremental models are built anew.")
@options.verbose
def run(
    settings: dict[str, Any],
    wanted: output.Wanted,
    conf: tuple[str, ...],
    threads: int | None,
    given_vars: str | None,
    full_refresh: bool,
    verbose: bool,
    **given: Any,
) -> None:
    """Runs the selected models on Spark, and publishes each one only when its contract holds.

    Compiles the project first (`dbt compile`). With --manifest, and where dbt 1 is not installed (dbt 2 is no Python
    package), what was compiled before is run as it is; an incremental model only where its text shows that it was
    compiled for its table as it is now.
    """
    started = datetime.now(timezone.utc)
    wanted = evolve(wanted, is_verbose=verbose)
    request = Request(
        "run",
        compiler=DBT,
        **options.convert_to_plain(given),
        settings=settings,
        spark=options.parse_conf(conf),
        vars=options.parse_vars(given_vars),
        full_refresh=full_refresh,
        threads=threads,
    )
    err, out = output.console(stderr=True), output.console()
    with err.status("reading the project") as status:
        shown = _RunProgress(status, err, out if wanted.is_text else None)
        # dbt prints to standard output, which is the report's.
        with redirect_stdout(sys.stderr):
            try:
                session = request.open_session(shown)
                reports = request.reports(session, shown)
            except KeyboardInterrupt as stop:
                raise Interrupted(_SETTLED if shown.total else _NOTHING) from stop
    project = shown.project
    report = run_report("run", reports, started, project=project.name if project else "", remarks=shown.remarks)
    directory = (project.directory if project else None) or Path(request.project_dir or ".")
    record = target_folder(directory, request.target_path) / RECORD
    output.finish(
        report, wanted, fail_on=settings.get("fail_on"), lines=False, record=record, project_dir=request.project_dir
    )


class _RunProgress(Progress):
    """Live on a terminal; elsewhere a line as each step and each model begins. Each model's end is a line of the
    report."""

    def __init__(self, status: Status, err: Console, out: Console | None) -> None:
        self.status, self.err, self.out = status, err, out
        self.project: Project | None = None
        self.remarks: list[str] = []
        self.total, self.width, self.begun, self.done = 0, 0, 0, 0

    def on_spark_start(self) -> None:
        self._step("Spark starts")

    def on_project(self, project: Project) -> None:
        self.project = project

    def on_compile(self) -> None:
        self._step("dbt compiles the project")

    def on_selection(self, nodes: Sequence[ProjectNode]) -> None:
        self.total = len(nodes)
        self.width = max((len(node.relation) for node in nodes), default=0)

    def on_model_begin(self, node: ProjectNode) -> None:
        self.begun += 1
        self._step(f"{self._format_counter(self.begun)} START {node.materialized} {node.relation}")

    def on_model_end(self, report: Report) -> None:
        self.done += 1
        if self.out is not None:
            counter = self._format_counter(self.done)
            self.out.print(render_line(report, self.width, counter), soft_wrap=True)
            changed = change_line(report)
            if changed is not None:
                self.out.print(changed, soft_wrap=True)

    def on_remark(self, remark: str) -> None:
        self.remarks.append(remark)

    def _format_counter(self, number: int) -> str:
        return f"{number:>{len(str(self.total))}} of {self.total}"

    def _step(self, said: str) -> None:
        from rich.markup import escape

        said = neutralize(said)
        if self.err.is_terminal:
            self.status.update(escape(said))
        else:
            self.err.print(said, markup=False, soft_wrap=True)
