"""`planproof run`: compile in the target, then every selected model through the guard, parents first."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planproof.cli import options, output
from planproof.project import Project, ProjectNode, selected
from planproof.project.functions import Loaded
from planproof.project.place import Place
from planproof.project.run import run_project, runnable
from planproof.report.model import Report
from planproof.report.run import run_report
from planproof.report.text import line

if TYPE_CHECKING:
    from rich.status import Status

    from planproof.guard import Guard

RECORD = Path("target") / "planproof" / "report.json"


@click.command()
@options.place
@options.selection
@options.outcome
@options.python_functions
@click.option("--vars", "given_vars", metavar="YAML", help="Variables for dbt, as for `dbt run --vars`.")
@click.option("--full-refresh", is_flag=True, help="Incremental models are built anew.")
def run(
    project_dir: Path,
    manifest: Path | None,
    profiles_dir: Path | None,
    target: str | None,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    fail_on: str | None,
    as_json: bool,
    html: Path | None,
    functions: tuple[str, ...],
    given_vars: str | None,
    full_refresh: bool,
) -> None:
    """Runs the selected models on Spark, and publishes each one only when its contract holds.

    Compiles the project first (`dbt compile`); with --manifest an older compile is taken, for tables and views only.
    """
    started = datetime.now(timezone.utc)
    known = Loaded.of(functions, project_dir)
    variables = options.variables(given_vars)
    place = Place(project_dir, manifest, profiles_dir, target)
    if manifest is not None and (given_vars or full_refresh):
        raise click.UsageError("--vars and --full-refresh change what dbt compiles; they do not go with --manifest")
    err = output.console(stderr=True)
    # dbt prints to standard output, which is the report's.
    with err.status("dbt compiles the project") if err.is_terminal else nullcontext(), redirect_stdout(sys.stderr):
        project = place.project() if manifest else place.compiled(select, exclude, variables, full_refresh)
    nodes = runnable(selected(project, select, exclude), fresh=manifest is None)
    remarks = project.remarks
    out = output.console()
    width = max((len(node.relation) for node in nodes), default=0)
    with err.status("Spark starts") if err.is_terminal else nullcontext() as status:
        session = place.open_session()
        reports = _run(
            project,
            nodes,
            known.guard(session),
            options.settings(fail_on),
            None if as_json else (out, width),
            status,
            full_refresh,
        )
    report = run_report("run", reports, started, project=project.name, remarks=remarks)
    record = (project.directory or project_dir) / RECORD
    output.finish(report, as_json=as_json, html=html, fail_on=fail_on, lines=False, record=record)


def _run(
    project: Project,
    nodes: Sequence[ProjectNode],
    guard: Guard,
    overrides: dict[str, Any],
    shown: tuple[Any, int] | None,
    status: Status | None,
    full_refresh: bool,
) -> list[Report]:
    done = 0

    def starting(node: ProjectNode) -> None:
        if status is not None:
            status.update(f"{node.relation} ({done + 1} of {len(nodes)})")

    def finished(report: Report) -> None:
        nonlocal done
        done += 1
        if shown is not None:
            shown[0].print(line(report, shown[1]), soft_wrap=True)

    return run_project(
        project,
        nodes,
        guard,
        overrides=overrides,
        session=guard.session,
        full_refresh=full_refresh,
        starting=starting,
        finished=finished,
    )
