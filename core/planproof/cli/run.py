"""`planproof run`: compile in the target, then every selected model through the guard, parents first."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planproof.cli import options, output
from planproof.cli.spark import open_session
from planproof.project import Project, ProjectError, ProjectNode, read_project, selected
from planproof.project.run import run_project, runnable
from planproof.report.model import Report
from planproof.report.run import run_report
from planproof.report.text import line

if TYPE_CHECKING:
    from rich.status import Status

    from planproof.session.protocol import Session

RECORD = Path("target") / "planproof" / "report.json"


@click.command()
@options.place
@options.selection
@options.outcome
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
    given_vars: str | None,
    full_refresh: bool,
) -> None:
    """Runs the selected models on Spark, and publishes each one only when its contract holds.

    Compiles the project first (`dbt compile`); with --manifest an older compile is taken, for tables and views only.
    """
    started = datetime.now(timezone.utc)
    variables = options.variables(given_vars)
    place = options.Place(project_dir, manifest, profiles_dir, target)
    if manifest is not None and (given_vars or full_refresh):
        raise click.UsageError("--vars and --full-refresh change what dbt compiles; they do not go with --manifest")
    err = output.console(stderr=True)
    with err.status("dbt compiles the project") if err.is_terminal else nullcontext():
        project = place.project() if manifest else compiled(place, select, exclude, variables, full_refresh)
    nodes = runnable(selected(project, select, exclude), fresh=manifest is None)
    remarks = _remarks(project)
    out = output.console()
    width = max((len(node.relation) for node in nodes), default=0)
    with err.status("Spark starts") if err.is_terminal else nullcontext() as status:
        session = open_session(place)
        reports = _run(
            project, nodes, session, options.settings(fail_on), None if as_json else (out, width), status, full_refresh
        )
    report = run_report("run", reports, started, project=project.name, remarks=remarks)
    record = (project.directory or project_dir) / RECORD
    output.finish(report, as_json=as_json, html=html, fail_on=fail_on, lines=False, record=record)


def compiled(
    place: options.Place, select: Sequence[str], exclude: Sequence[str], variables: Any, full_refresh: bool
) -> Project:
    """The project after `dbt compile` in its target. Raises `ProjectError`."""
    try:
        invoke = importlib.import_module("dbt_planproof.invoke")
        importlib.import_module("dbt.cli.main")
    except ImportError as error:
        raise ProjectError(
            f"`planproof run` compiles with dbt, which is not installed ({error}): planproof[dbt]"
        ) from error
    profile = place.profile()
    manifest = invoke.compile_project(
        place.project_dir,
        profiles_dir=Path(str(profile.file)).parent,
        target=place.target,
        select=select,
        exclude=exclude,
        vars=variables,
        full_refresh=full_refresh,
    )
    project = read_project(manifest)
    return options.in_directory(project, place.project_dir)


def _run(
    project: Project,
    nodes: Sequence[ProjectNode],
    session: Session,
    overrides: dict[str, Any],
    shown: tuple[Any, int] | None,
    status: Status | None,
    full_refresh: bool,
) -> list[Report]:
    from planproof.guard import Guard

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
        Guard(session),
        overrides=overrides,
        session=session,
        full_refresh=full_refresh,
        starting=starting,
        finished=finished,
    )


def _remarks(project: Project) -> list[str]:
    if not project.operations:
        return []
    count = len(project.operations)
    return [f"the project has {count} on-run-start or on-run-end hook{'s' if count > 1 else ''}; only dbt runs hooks"]
